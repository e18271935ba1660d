"""The pages of all experiments, and the observations that are judged over several sweeps."""

import json

import pytest

from structopt.command.main import main
from structopt.experiment import kummerfeld2015_curves
from structopt.experiment import kummerfeld2015_observations as joint
from structopt.experiment import kummerfeld2015_robustness as robustness
from structopt.experiment.noise import Sample, Verdict
from structopt.experiment.page import duration, read_report, write_pages
from structopt.experiment.report import Claim, Origin, Report, Table, write
from structopt.run.history import History
from structopt.run.records import RunRecord

pytestmark = pytest.mark.nightly("experiments")

COMMAND = "python -m structopt +experiment=martins2010_figure3 data=DIR"


@pytest.fixture
def sweeps(tmp_path):
    """A folder with the sweep of an experiment at full scale, and one at small scale."""
    table = Table(("", "F1"), (("DCA", Sample({0: 90.0, 1: 91.0})),))
    claims = (Claim("DCA is better", Verdict.NOISE, "90.50, 90.40"),)
    source = "Martins et al. (2010), Figure 3; CoNLL-2003"
    report = Report("Curves", source, (table,), claims, (), lambda path: path.write_bytes(b"png"))
    for folder, name, scale in (
        ("a/1", "martins2010_figure3", "full"),
        ("a/2", "meshi2010_figure1_yeast", "small"),
    ):
        place = tmp_path / "sweeps" / folder
        place.mkdir(parents=True)
        write(report, place, Origin(name, scale, COMMAND, 2, 3723.0))
    return tmp_path / "sweeps"


@pytest.fixture
def readings(tmp_path):
    folder = tmp_path / "docs" / "readings"
    folder.mkdir(parents=True)
    (folder / "introduction.md").write_text("# Title\n")
    (folder / "order.txt").write_text("old_table1\nmartins2010_figure3\n")
    (folder / "martins2010_figure3.md").write_text("**Reading.** By hand.\n")
    (folder / "old_table1.earlier.md").write_text(
        "Old and Older (1999), Table 1.\n\n| the paper says | here | numbers |\n"
        "| --- | --- | --- |\n| It was so | yes | 1 |\n"
    )
    (folder / "old_table1.md").write_text("**Explanation.** Long ago.\n")
    return folder


def test_finished_reports_become_pages_and_readings_stay(sweeps, readings, capsys):
    page = readings.parent / "experiments.md"
    words = ["experiments", f"folder={sweeps}", f"output={page}"]
    assert main(words) == 0
    assert "within noise: DCA is better (90.50, 90.40)" in capsys.readouterr().out
    text, screen = page.read_text(), (readings.parent / "observations.md").read_text()
    assert text.startswith("# Title\n\n**Criterion.** Numbers are means over seeds")
    assert (
        "\n\n## Old and Older (1999)\n\n### old_table1\n\n*From an earlier version: one seed"
        in text
    )
    assert (
        "| It was so | yes | 1 |\n\n**Explanation.** Long ago.\n\n## Martins et al. (2010)\n\n"
        "### martins2010_figure3\n\nFigure 3; " in text
    )
    assert COMMAND not in text  # the introduction has it
    assert "Figure 3; CoNLL-2003. 2 runs, 1:02:03 of training." in text
    assert "| DCA | 90.50 ± 0.71 |" in text
    assert text.count("at least 2 standard errors") == 1
    assert "![martins2010_figure3](images/experiments/martins2010_figure3.png)" in text
    assert text.endswith("**Reading.** By hand.\n")
    assert (
        readings.parent / "images" / "experiments" / "martins2010_figure3.png"
    ).read_bytes() == b"png"
    lines = screen.splitlines()
    assert "| paper | table | observation | verdict | command |" in lines
    assert (
        "| Old and Older (1999) | [Table 1](experiments.md#old_table1) | It was so | yes "
        "(earlier) | " in screen
    )
    row = (
        "| Martins et al. (2010) | [Figure 3](experiments.md#martins2010_figure3): Curves | "
        "DCA is better | **within noise** | "
    )
    assert f"{row}`{COMMAND}` |" in lines
    assert lines[-1] == "1:02:03 of training in all."
    assert "meshi" not in text
    before = {path: path.read_bytes() for path in readings.parent.rglob("*") if path.is_file()}
    assert main(words) == 0
    write_pages(page)
    assert {
        path: path.read_bytes() for path in readings.parent.rglob("*") if path.is_file()
    } == before


def test_reports_that_a_folder_lacks_are_kept_from_the_last_time(sweeps, readings):
    page = readings.parent / "experiments.md"
    assert main(["experiments", f"folder={sweeps}", f"output={page}"]) == 0
    assert main(["experiments", f"folder={sweeps}", f"output={page}", "scale=small"]) == 0
    assert "### martins2010_figure3" in page.read_text()
    assert "### meshi2010_figure1_yeast" in page.read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["folder={}/nowhere"],
            "there is no finished sweep of an experiment at scale=full in it, which has a "
            "report.json",
        ),
        (
            ["folder={}", "report=observations"],
            "report=observations: there is no such report over sweeps",
        ),
        (["folder={}", "report=kummerfeld2015_observations"], "and the folder has none"),
        (["folder={}", "scale=large"], "scale=large is none of: full, small"),
        ([], "experiments needs folder=..."),
    ],
)
def test_mistakes_are_said(words, message, sweeps, capsys):
    assert main(["experiments", *(word.format(sweeps) for word in words)]) == 2
    assert message in capsys.readouterr().err


def test_reports_that_cannot_be_read_are_named(sweeps, capsys):
    (sweeps / "a" / "1" / "report.json").write_text("{}")
    assert main(["experiments", f"folder={sweeps}"]) == 2
    assert "report.json: the entry experiment is missing. Delete it" in capsys.readouterr().err
    (sweeps / "a" / "1" / "report.json").write_text("{")
    assert main(["experiments", f"folder={sweeps}"]) == 2
    assert "report.json: this is not JSON" in capsys.readouterr().err


def test_the_pages_of_the_project_are_those_of_its_readings(tmp_path):
    import shutil
    from pathlib import Path

    docs = Path(__file__).parents[2] / "docs"
    shutil.copytree(docs / "readings", tmp_path / "readings")
    write_pages(tmp_path / "experiments.md")
    for name in ("experiments.md", "observations.md"):
        assert (tmp_path / name).read_text(encoding="utf8") == (docs / name).read_text(
            encoding="utf8"
        )


def test_durations():
    assert duration(59.6) == "0:01:00"
    assert duration(7325) == "2:02:05"


# Observations over several sweeps.


def curves(folder, task, scores):
    """Finished runs of Figure 1 with three seeds: scores, in points, of every pass by setting."""
    records = []
    for setting, points in scores.items():
        place = folder / f"{task} {setting}"
        place.mkdir(parents=True)
        history = History(place / "history.csv")
        for number, point in enumerate(points, 1):
            history.append({"epoch": number, "seconds": float(number), "dev.f1": point / 100})
        records += [
            RunRecord(place, f"{setting}, seed={seed}", (), {"task": {"name": "ner"}, "seed": seed})
            for seed in range(3)
        ]
    return records


GOOD = {
    "AP": (88, 89, 89, 89, 89),
    "MIRA": (88, 89.5, 89.5, 89.5, 89.5),
    "CP": (60, 85, 75, 89, 89),
    "OCP": (80, 85, 88, 89.6, 89.6),
    "OPS l2": (89, 90, 90, 90, 90),
    "likelihood": (88, 89, 89, 89, 89),
}
BAD = {**GOOD, "likelihood": (92, 92, 92, 92), "AP": (92, 92, 92, 92)}


def judged(task, scores, folder):
    """The report of a task's curves, as JSON values."""
    name = f"kummerfeld2015_figure1_{task}"
    (place := folder / name).mkdir(parents=True)
    report = getattr(kummerfeld2015_curves, f"figure1_{task}")(
        curves(folder / "runs", task, scores), "full"
    )
    write(
        report,
        place,
        Origin(name, "full", f"python -m structopt +experiment={name} data=DIR", 18, 60.0),
    )
    return read_report(place / "report.json")


def test_observations_are_judged_over_all_tasks(tmp_path):
    tasks = {
        "ner": GOOD,
        "mst_projective": GOOD,
        "parser": BAD,
        "coreference": BAD,
        "summarization": GOOD,
    }
    reports = {
        f"kummerfeld2015_figure1_{task}": judged(task, scores, tmp_path)
        for task, scores in tasks.items()
    }
    report = joint.observations(reports, "full")
    claims = {claim.text.partition(" (here")[0]: claim for claim in report.claims}
    assert claims["1: margin methods equal or surpass likelihood"].judged is Verdict.HOLDS
    assert (
        claims["1: margin methods equal or surpass likelihood"].evidence
        == "of 4 tasks: holds 3, does not hold 1"
    )
    assert (
        claims["1: margin methods equal or surpass the perceptron"].evidence
        == "of 4 tasks: holds 3, does not hold 1"
    )
    assert (
        claims["1: coreference is an exception, likelihood surpasses margin methods"].judged
        is Verdict.HOLDS
    )
    assert (
        claims["2: both cutting plane methods take more iterations to their peak"].judged
        is Verdict.HOLDS
    )
    assert (
        claims["3: the perceptron has difficulty with real-valued features"].evidence
        == "of 1 task: holds 1"
    )
    assert claims["4: OPS is effective"].judged is Verdict.HOLDS
    # there is no such sweep
    assert claims["5: larger batches speed OPS up"].judged is Verdict.UNKNOWN
    assert report.tables[0].columns == (
        "observation",
        "NER",
        "MST Proj.",
        "Span Parser",
        "Summ.",
        "Coref",
        "all",
    )
    worse = {**tasks, "ner": BAD, "mst_projective": BAD}
    reports = {
        f"kummerfeld2015_figure1_{task}": judged(task, scores, tmp_path / "worse")
        for task, scores in worse.items()
    }
    assert joint.observations(reports, "full").claims[0].judged is Verdict.FAILS
    # in three of four tasks OPS would have to be beaten, and it still rises at its last epoch
    rising = {**BAD, "OPS l2": (60, 70, 80, 85, 90)}
    tasks |= dict.fromkeys(("ner", "mst_projective"), rising)
    reports = {
        f"kummerfeld2015_figure1_{task}": judged(task, scores, tmp_path / "rising")
        for task, scores in tasks.items()
    }
    claim = joint.observations(reports, "full").claims[0]
    assert claim.answer == (
        "undecided: OPS l2 has a score that still rises at the last epoch (NER, MST Proj.)"
    )


def test_every_observation_is_one_that_reports_judge(tmp_path):
    reports = [
        judged(task, GOOD, tmp_path)["claims"] for task in ("ner", "coreference", "summarization")
    ]
    texts = {claim["text"] for claims in reports for claim in claims}
    texts |= {
        claim.text for claim in (*robustness.observation4({}), *robustness.observation5({}, {}))
    }
    assert texts == {one.claim for one in joint.OBSERVATIONS}


def test_pages_judge_over_the_tasks_that_they_have_from_earlier_times(tmp_path, readings):
    """One sweep is in the folder, one report was kept; a third is of an earlier version, and has
    its own rows.
    """
    (readings / "kummerfeld2015_figure1_ner.json").write_text(
        json.dumps(judged("ner", GOOD, tmp_path / "old"))
    )
    (readings / "kummerfeld2015_figure1_parser.earlier.md").write_text(
        "Kummerfeld and others (2015), Figure 1.\n\n| the paper says | here | numbers |\n"
        "| --- | --- | --- |\n"
        "| Parsing too | no | 1 |\n"
    )
    page = readings.parent / "experiments.md"
    judged("mst_projective", GOOD, tmp_path / "sweeps")
    assert main(["experiments", f"folder={tmp_path / 'sweeps'}", f"output={page}"]) == 0
    report = read_report(readings / "kummerfeld2015_observations.json")
    assert (report["runs"], report["seconds"]) == (36, 120.0)
    assert report["tables"][0]["columns"] == ["observation", "NER", "MST Proj.", "all"]
    # the rows of a task whose numbers are columns of its table are in the table of verdicts only
    text = page.read_text()
    assert text.count("2: both cutting plane methods take more iterations to their peak") == 1
    assert text.count("; [all verdicts](#kummerfeld2015_observations).") == 2
    assert text.count("| 4: OPS is effective | ") == 2
    screen = (readings.parent / "observations.md").read_text()
    assert "| 4: OPS is effective (here: in most tasks) | **holds** |" in screen
    assert "OPS is effective: within" not in screen
    assert "| Parsing too | no (earlier) |" in screen


def test_the_observations_of_sweeps_that_ran(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = [
        "tracker=none",
        "task.limit=20",
        "optimizer.epochs=1",
        "seed=0,1",
        "hydra.sweep.dir=sweeps/ner",
    ]
    assert main(["+experiment=kummerfeld2015_figure1_ner", *words]) == 0
    capsys.readouterr()
    assert (
        main(["experiments", "folder=sweeps", "scale=small", "report=kummerfeld2015_observations"])
        == 0
    )
    assert "1: margin methods equal or surpass likelihood" in capsys.readouterr().out
    report = json.loads(
        (tmp_path / "sweeps" / "kummerfeld2015_observations" / "report.json").read_text()
    )
    assert report["runs"] == 14
    assert report["tables"][0]["columns"] == ["observation", "NER", "all"]
