"""Reports of experiments: tables, and verdicts on runs made up so that every observation holds, and
so that none does.
"""

import csv
import math
from dataclasses import replace

import pytest

from structopt.experiment import bartlett2004, martins2010, martins2010_figure3, martins2010_figure4
from structopt.experiment.curves import apart
from structopt.experiment.noise import Verdict
from structopt.experiment.report import Claim, Report, Table, with_failures, write
from structopt.experiment.runs import at, at_pass, first_reaching, sample
from structopt.run.records import FAILED, RunRecord, mean_curve

PASSES = range(1, 101)


@pytest.fixture
def run(tmp_path):
    """Make a run's record, with a history where columns are given."""

    def made(name, config=None, metrics=None, seed=0, **columns):
        folder = tmp_path / f"{name} {seed}"
        folder.mkdir()
        if columns:
            names = [key.replace("_", ".", 1) if key.startswith("dev") else key for key in columns]
            rows = [
                [epoch, *values]
                for epoch, values in enumerate(zip(*columns.values(), strict=True), 1)
            ]
            with (folder / "history.csv").open("w", newline="") as stream:
                csv.writer(stream, lineterminator="\n").writerows([["epoch", *names], *rows])
        return RunRecord(folder, name, (), {"seed": seed, **(config or {})}, metrics or {})

    return made


TRUTH = {Verdict.HOLDS: True, Verdict.FAILS: False, Verdict.UNKNOWN: None, Verdict.NOISE: "noise"}


def verdicts(report):
    return [TRUTH[claim.judged] for claim in report.claims]


def thrice(records):
    """The same numbers with three seeds."""
    return [
        replace(record, config={**record.config, "seed": seed})
        for record in records
        for seed in (0, 1, 2)
    ]


def table1_runs(run, scores, C=1.0, seed=0):
    return [
        run(
            f"{beta} {gamma} C={C}",
            {"loss": {"beta": beta, "gamma": gamma}, "optimizer": {"C": C, "epochs": 30}},
            {"dev": {"f1": score / 100, "uas_nopunct": score / 100}},
            seed,
        )
        for (beta, gamma), score in zip(martins2010.MEMBERS, scores, strict=True)
    ]


@pytest.mark.parametrize("reporter", [martins2010.table1_ner, martins2010.table1_parsing])
@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ((90.6, 90.75, 90.8, 90.8, 90.75, 90.75, 90.6), [True, True, True, True]),
        ((90.6, 90.45, 90.61, 90.63, 90.45, 90.45, 90.6), ["noise", "noise", False, True]),
        ((91.2, 90.8, 90.8, 90.8, 90.8, 90.8, 90.6), [False, False, False, False]),
    ],
)
def test_table1_is_judged_by_the_losses_between(run, reporter, scores, expected):
    records = table1_runs(run, scores)
    assert verdicts(reporter(thrice(records), "full")) == expected
    assert verdicts(reporter(records, "full")) == [None] * 4  # of one seed the noise is unknown


def test_table1_takes_the_best_C_and_the_mean_over_seeds(run):
    records = table1_runs(run, [90.0] * 7, 0.1)
    records += table1_runs(run, [91.0] * 7, 1.0) + table1_runs(run, [92.0] * 7, 1.0, seed=1)
    report = martins2010.table1_ner(records, "full")
    table = report.tables[0]
    assert table.columns == (
        "β, γ",
        "C = 0.1",
        "C = 1",
        "chosen C",
        "F1 at that C",
        "paper: best C",
        "paper: F1 on eng.testb (test)",
    )
    assert table.rows[0][1].mean == pytest.approx(90.0)
    assert str(table.rows[0][4]) == "91.50 ± 0.71"
    assert table.rows[0][3] == "1"
    assert "91.50 ± 0.71" in table.markdown()
    assert table.csv().splitlines()[0].startswith('"β, γ",C = 0.1,C = 0.1 sd,C = 1,C = 1 sd,')
    assert [row[-1] for row in table.rows] == [85.48, 85.54, 85.65, 85.72, 85.55, 85.48, 85.41]
    assert "Every number is the mean over 2 seeds." in report.notes


def test_table1_has_rows_of_MIRA_that_decide_no_claim(run):
    family = table1_runs(run, [90.6, 90.75, 90.8, 90.8, 90.75, 90.75, 90.6])
    config = {
        "loss": {"beta": math.inf, "gamma": 1.0},
        "optimizer": {"name": "mira", "C": 0.1, "epochs": 30},
        "features": {"lists": {"towns": "towns.txt"}},
    }
    mira = [
        run(f"{name}, C=0.1", config, {"dev": {"f1": score, "uas_nopunct": score}})
        for name, score in (("5-best MIRA", 0.99), ("prediction-based MIRA", 0.2))
    ]
    report = martins2010.table1_ner(thrice([*family, *mira]), "full")
    assert verdicts(report) == [True] * 4
    rows = report.tables[0].rows[-2:]
    assert [(row[0], row[3], row[-2:]) for row in rows] == [
        ("5-best MIRA", "0.1", (None, None)),
        ("prediction-based MIRA", "0.1", (None, None)),
    ]
    assert [row[4].mean for row in rows] == pytest.approx([99.0, 20.0])
    assert rows[0][2] is None  # C = 1
    assert report.source.endswith("and variants of MIRA")
    notes = " ".join(report.notes)
    assert "1 word lists (towns)" in notes and "footnote 7" in notes
    assert "MIRA" not in " ".join(martins2010.table1_ner(thrice(family), "full").notes)


def test_table1_without_the_SVM_tells_nothing(run):
    report = martins2010.table1_ner(table1_runs(run, [90.0] * 7)[:-1], "full")
    assert set(verdicts(report)) == {None}
    assert report.verdict == "0 of 4 observations hold, 4 undecided"


def test_C_is_chosen_on_the_dev_split_and_the_test_split_reports(run):
    def at(C, dev, test):
        config = {
            "loss": {"beta": 1.0, "gamma": 0.0},
            "optimizer": {"C": C, "epochs": 30},
            "tail": 0.2,
        }
        return run(f"CRF, C={C}", config, {"dev": {"f1": dev}, "test": {"f1": test}})

    report = martins2010.table1_ner(thrice([at(0.1, 0.9, 0.8), at(1.0, 0.85, 0.82)]), "full")
    row = report.tables[0].rows[0]
    assert row[3] == "0.1"
    assert row[4].mean == pytest.approx(80.0)
    assert "Values are chosen on the last 20% of the training file" in report.markdown()


@pytest.mark.parametrize(
    ("tail", "reported", "caption"),
    [
        (0.2, "eng.testa (development)", "the last 20% of the training file"),
        (None, "eng.testb (test)", "the dev split"),
    ],
)
def test_captions_name_the_scored_file_and_its_part(run, tail, reported, caption):
    config = {
        "loss": {"beta": 1.0, "gamma": 0.0},
        "optimizer": {"C": 1.0, "epochs": 30},
        "tail": tail,
        "task": {"dev": "conll2003/eng.testa.gz", "test": "conll2003/eng.testb.gz"},
    }
    runs = [run("CRF, C=1", config, {"dev": {"f1": 0.9}, "test": {"f1": 0.8}})]
    table = martins2010.table1_ner(thrice(runs), "full").tables[0]
    assert table.caption == f"F1 in percent on {reported}; C chosen on {caption}"


def rising(last, half, passes=PASSES):
    """A curve that has come half the way from 0 to `last` after so many passes."""
    return [last * (1 - 2 ** (-epoch / half)) for epoch in passes]


def learning(run, name, last, half, C=1.0, passes=20, metric="dev_f1", **metrics):
    values = [value / 100 for value in rising(last, half, range(1, passes + 1))]
    seconds = [float(epoch) for epoch in range(1, passes + 1)]
    config = {"optimizer": {"C": C}}
    return run(
        f"{name}, C={C:g}",
        config,
        {"train": {"seconds_per_epoch": 1.0, **metrics}},
        seconds=seconds,
        **{metric: values},
    )


@pytest.mark.parametrize(
    ("sgd", "sgd10", "batch", "expected"),
    [
        ((90, 2), (85, 2), (89, 8), [True, True, True, True]),
        ((92, 0.5), (92, 0.5), (92, 0.5), [False, False, False, False]),
    ],
)
def test_figure3_is_judged_by_best_scores_and_passes(run, sgd, sgd10, batch, expected):
    records = [
        learning(run, "DCA", 91, 1),
        learning(run, "DCA", 91, 1, 10.0),
        learning(run, "SGD", *sgd),
        learning(run, "SGD", *sgd10, 10.0),
        learning(run, "L-BFGS", *batch, passes=60),
    ]
    alone = martins2010_figure3.figure3(thrice(records), "full").claims[0]
    if expected[0]:
        assert alone.answer == "undecided: L-BFGS has one untuned setting (C=1)"
    else:
        assert alone.judged is Verdict.FAILS
    records.append(learning(run, "L-BFGS", *batch, 10.0, passes=60))
    report = martins2010_figure3.figure3(thrice(records), "full")
    assert verdicts(report) == expected
    assert [row[0] for row in report.tables[0].rows] == [
        "DCA C=1",
        "DCA C=10",
        "SGD C=1",
        "SGD C=10",
        "L-BFGS C=1",
        "L-BFGS C=10",
    ]
    assert report.tables[0].rows[-1][-1] == 90.53


def test_figure3_of_dca_alone_says_nothing_about_the_baselines(run):
    report = martins2010_figure3.figure3([learning(run, "DCA", 91, 1)], "full")
    assert set(verdicts(report)) == {None}


def parsed(run, name, last, half, negative=0):
    counts = {"negative_losses": negative, "epochs": 6, "instances": 100}
    record = learning(run, name, last, half, passes=6, metric="dev_uas_nopunct", **counts)
    return RunRecord(record.folder, name, (), record.config, record.metrics)


@pytest.mark.parametrize(
    ("first", "second", "negative", "bound", "expected"),
    [
        ((80, 2), 84, 90, 83, [True, True, True, True]),
        ((80, 0.5), 80, 6, 80, [False, False, False, False]),
    ],
)
def test_figure4_is_judged_by_orders(run, first, second, negative, bound, expected):
    records = [
        record
        for language in ("Turkish", "Greek", "Hungarian")
        for record in (
            parsed(run, f"{language} first DCA", 80, 1),
            parsed(run, f"{language} first SGD", *first),
            parsed(run, f"{language} second DCA", 81, 1, negative),
            parsed(run, f"{language} second SGD", second, 1),
            parsed(run, f"{language} second DCA-TRW", bound, 1),
        )
    ]
    report = martins2010_figure4.figure4(thrice(records), "full")
    assert verdicts(report) == expected
    shares = [row[-2] for row in report.tables[0].rows[:5]]
    assert shares == [None, None, f"{negative / 6:.1f} ± 0.0 %", None, "0.0 ± 0.0 %"]


def dual(run, name, values):
    return run(name, {}, {"train": {"instances": 1000.0}}, dual=[value / 1000 for value in values])


@pytest.mark.parametrize(
    ("smo", "eg", "hybrid", "expected"),
    [
        (rising(10, 2), rising(12, 8), [*rising(10, 2)[:5], *rising(12, 2)[5:]], [True] * 6),
        (rising(11.9, 30), rising(10, 1), rising(5, 2), [False] * 6),
        (rising(11.5, 2), rising(12, 8), rising(9, 2), [True, True, True, True, False, False]),
    ],
)
def test_bartlett_s_figure_is_judged_by_dual_objectives(run, smo, eg, hybrid, expected):
    records = [
        dual(run, "SMO", smo),
        dual(run, "EG η=1 θ=-3", eg),
        dual(run, "EG after SMO", hybrid),
        dual(run, "optimum (SDCA)", rising(12.1, 1)),
    ]
    report = bartlett2004.figure4(thrice(records), "full")
    assert verdicts(report) == expected
    assert report.tables[0].rows[0][-1].mean == pytest.approx(smo[-1])


def test_bartlett_s_figure_judges_edge_features_apart(run):
    curves = {"SMO": rising(10, 2), "EG η=1 θ=-3": rising(12, 8), "optimum (SDCA)": rising(12.1, 1)}
    others = {"SMO": rising(9, 2), "EG η=1 θ=-3": rising(8, 8), "optimum (SDCA)": rising(12.1, 1)}
    records = [dual(run, name, values) for name, values in curves.items()]
    records += [dual(run, f"{name} with edge features", value) for name, value in others.items()]
    report = bartlett2004.figure4(thrice(records), "full")
    assert len(report.claims) == 12
    plain, edges = report.claims[:6], report.claims[6:]
    assert [f"{one.text}, with edge features" for one in plain] == [one.text for one in edges]
    assert verdicts(report)[3] is True
    assert verdicts(report)[9] is False


def test_bartlett_s_figure_without_smo_tells_nothing(run):
    report = bartlett2004.figure4([dual(run, "EG η=1 θ=-3", rising(10, 2))], "small")
    assert set(verdicts(report)) == {None}
    assert report.notes[0].startswith("This is the experiment at scale=small")


def test_curves_are_averaged_over_seeds_as_far_as_all_go(run):
    runs = [run("a", loss=[4.0, 2.0, 1.0]), run("a", None, None, 1, loss=[2.0, 1.0])]
    assert mean_curve(runs, "loss", times=2.0) == ([1.0, 2.0], [6.0, 3.0])
    assert sample(runs, "dev.f1") is None


def test_curves_are_averaged_at_the_epochs_that_all_runs_evaluated(run):
    """Not by the position in a column, which lacks the epochs that were not evaluated."""
    runs = [
        run("a", primal=[8.0, 4.0, None, 2.0, 1.0]),
        run("a", None, None, 1, primal=[6.0, 4.0, 3.0, None, 2.0]),
    ]
    assert mean_curve(runs, "primal") == ([1.0, 2.0, 5.0], [7.0, 4.0, 1.5])
    assert mean_curve([], "primal") == ([], [])


def test_values_of_a_curve():
    points = [1.0, 2.0, 4.0], [5.0, 7.0, 9.0]
    assert (at(points, 3), at(points, 0)) == (7.0, None)
    assert (at_pass(points, 4), at_pass(points, 3)) == (9.0, None)
    assert (first_reaching(points, 6.0), first_reaching(points, 10.0)) == (2.0, None)


@pytest.mark.parametrize(
    "heights", [[0.5, 0.5, 0.5], [0.97, 0.98, 0.99], [0.1, 0.9], [0.02] * 20, []]
)
def test_labels_stay_apart_in_order_and_inside(heights):
    moved, least = apart(heights, 0.06), min(0.06, 1 / max(len(heights), 1))
    assert all(
        after - before > least - 1e-9 for before, after in zip(moved, moved[1:], strict=False)
    )
    assert all(-1e-9 <= height <= 1 for height in moved)


def test_tables_for_documents_terminals_and_spreadsheets():
    table = Table(("", "F1"), (("a|b", 90.123), ("long name", None)), "Caption", 1)
    assert (
        table.markdown()
        == "Caption\n\n|  | F1 |\n| --- | --- |\n| a\\|b | 90.1 |\n| long name |  |"
    )
    assert table.text() == "Caption\n           F1\na|b        90.1\nlong name"
    assert table.csv() == ",F1\na|b,90.123\nlong name,\n"


def test_a_report_is_written_with_its_verdict_and_its_failures(tmp_path):
    claims = (Claim("A", True, "1"), Claim("B", False, "2"), Claim("C", None, "3"))
    tables = (Table(("x",), ((1,),)), Table(("y",), ((math.pi,),)))
    report = Report("T", "S", tables, claims, ("note",), lambda path: path.write_bytes(b"png"))
    failed = RunRecord(tmp_path, "SGD, C=1", status=FAILED, error="C must be positive")
    text = write(with_failures(report, [failed]), tmp_path).read_text()
    assert "1 of 3 observations hold, 1 undecided." in text
    assert "at least 2 standard errors" in text
    assert "| C | undecided | 3 |" in text
    assert (
        "- Missing here, because they did not come to their end: SGD, C=1 (failed: C must be "
        "positive)." in text
    )
    assert (tmp_path / "table_2.csv").read_text() == f"y\n{math.pi}\n"
    assert (tmp_path / "figure.png").read_bytes() == b"png"
    assert with_failures(report, []) is report
