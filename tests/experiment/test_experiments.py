"""Experiments: their files, the jobs in them, and small runs of all of Martins' and Bartlett's."""

import json
import math
from pathlib import Path

import pytest
from omegaconf import DictConfig, OmegaConf

from structopt.command.main import main
from structopt.config.composition import compose
from structopt.config.search_path import conf_folders
from structopt.config.validation import validate
from structopt.errors import ConfigError
from structopt.experiment.configuration import typed_command
from structopt.sweep.experiment_plan import Plan, key_of, setting
from structopt.sweep.experiment_sweeper import report_of

pytestmark = pytest.mark.nightly("experiments")

CONF = Path(__file__).parents[2] / "conf"
NAMES = (
    "martins2010_table1_ner",
    "martins2010_table1_parsing",
    "martins2010_figure3",
    "martins2010_figure4",
    "bartlett2004_figure4",
    "losses_on_constituents",
)
TREES = ("martins2010_table1_parsing", "martins2010_figure4")
WITHOUT_FIGURE = ("martins2010_table1_ner", "martins2010_table1_parsing", "losses_on_constituents")
NO_MORE = [[]]
"""No words were typed: one combination, which is empty."""


def plan(**changes):
    keys = {
        "title": "T",
        "report": "bartlett2004_figure4",
        "files": {"task.train": "a/train.gz"},
        "settings": {
            "DCA": ["optimizer=dca"],
            "SGD": {"overrides": ["optimizer=sgd"], "grid": {"optimizer.eta": [0.1]}},
        },
        "grid": {"optimizer.C": [1, math.inf]},
    }
    return Plan.read("trial", {**keys, **changes})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"titel": "T"}, "no key 'titel' here. Did you mean 'title'?"),
        ({"title": None}, "hydra.sweeper.title is missing"),
        ({"settings": {}}, "hydra.sweeper.settings is missing"),
        ({"settings": ["optimizer=dca"]}, "settings: this must be NAME: \\[override"),
        (
            {"settings": {"DCA": "optimizer=dca"}},
            "settings.DCA: this must be a list of overrides, or have",
        ),
        ({"settings": {"DCA": ["dca"]}}, "settings.DCA: 'dca' is no override"),
        ({"settings": {"DCA, fast": ["optimizer=dca"]}}, "cannot contain ', '"),
        (
            {"settings": {"DCA": {"override": []}}},
            "no key 'override' here. Did you mean 'overrides'?",
        ),
        ({"grid": {"optimizer.C": 1}}, "grid.optimizer.C: this must be a list of values"),
        ({"grid": {"optimizer.C": []}}, "grid.optimizer.C: this must be a list of values"),
        ({"files": ["a"]}, "files: this must be KEY: path"),
        ({"full": {"files": ["a"]}}, "full.files: this must be KEY: path"),
        ({"small": ["task.limit=3"]}, "small: this must have overrides"),
        ({"small": {"limit": 3}}, "small: there is no key 'limit'"),
    ],
)
def test_errors_in_an_experiment_s_file_say_where_they_are(changes, message):
    with pytest.raises(ConfigError, match=message):
        plan(**changes)


def test_only_names_settings_that_exist():
    with pytest.raises(
        ConfigError, match="small.only: there is no setting 'DCB'. Did you mean 'DCA'?"
    ):
        plan(small={"only": ["DCB"]}).chosen("small")


@pytest.mark.parametrize(
    ("typed", "data", "scale"),
    [(None, None, "small"), (None, "d", "full"), ("small", "d", "small"), ("full", "d", "full")],
)
def test_the_scale_is_full_where_there_is_data(typed, data, scale):
    assert plan().scale(typed, data) == scale


def test_scale_full_needs_data_and_scales_are_two():
    with pytest.raises(
        ConfigError, match="scale=full needs .* set data=DIR, the folder of a/train.gz"
    ):
        plan().scale("full", None)
    with pytest.raises(ConfigError, match="scale=smal: .* Did you mean 'small'"):
        plan().scale("smal", None)


def test_missing_files_are_named(tmp_path):
    trial = plan(settings={"Greek": {"files": {"task.dev": "b/dev.gz"}}})
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "train.gz").touch()
    with pytest.raises(ConfigError, match="not in that folder: b/dev.gz"):
        trial.check_files(str(tmp_path), "full")
    trial.check_files(None, "small")


def labels(jobs):
    return [
        word.partition("=")[2].strip("'") for job in jobs for word in job if key_of(word) == "label"
    ]


@pytest.mark.parametrize(
    "path", sorted((CONF / "experiment").glob("*.yaml")), ids=lambda path: path.stem
)
def test_published_experiments_do_not_depend_on_presets(path):
    """A preset of an optimizer may change: the published runs set its values themselves."""
    node = OmegaConf.load(path)
    if isinstance(node.defaults[0], str) and node.defaults[0] != "_self_":  # it extends another
        parent = OmegaConf.load(path.with_name(f"{node.defaults[0]}.yaml"))
        node = OmegaConf.merge(parent, node, {"defaults": parent.defaults})
    assert node.keep == "last"
    chosen = [entry.get("override /optimizer") for entry in node.defaults]
    base = next((name for name in chosen if name), "dca")
    for name, job in node.hydra.sweeper.settings.items():
        words = [*(job.overrides if isinstance(job, DictConfig) else job)]
        grid = job.get("grid", {}) if isinstance(job, DictConfig) else {}
        keys = {key_of(word) for word in words} | {*grid, *(node.hydra.sweeper.get("grid") or {})}
        keys |= {f"optimizer.{key}" for key in node.get("optimizer", {})}
        optimizer = next((word[10:] for word in words if word.startswith("optimizer=")), base)
        values = OmegaConf.load(CONF / "optimizer" / f"{optimizer}.yaml")
        pinned = {"C", "epochs", "average"} & set(values)
        pinned -= {"C"} if optimizer == "perceptron" else set()  # its steps do not depend on C
        assert {f"optimizer.{key}" for key in pinned} <= keys, name


def test_jobs_are_settings_times_grid_times_what_is_typed():
    typed = [
        [("seed=0", "seed=0"), ("optimizer.epochs=5", "")],
        [("seed=1", "seed=1"), ("optimizer.epochs=5", "")],
    ]
    # a typed seed replaces the plan's
    jobs = plan().jobs(None, "full", ["+experiment=trial"], typed)
    assert labels(jobs) == [
        *("DCA, C=1, seed=0", "DCA, C=1, seed=1", "DCA, C=inf, seed=0", "DCA, C=inf, seed=1"),
        *("SGD, eta=0.1, seed=0", "SGD, eta=0.1, seed=1"),
    ]
    own = ["optimizer=dca", "label='DCA, C=inf, seed=0'", "optimizer.C=inf"]
    assert jobs[2] == ["+experiment=trial", *own, "seed=0", "optimizer.epochs=5"]
    assert setting(labels(jobs)[0]) == "DCA"


def test_the_later_of_two_overrides_is_the_only_one():
    trial = plan(small={"overrides": ["task.limit=40", "optimizer.epochs=2"]}, grid={})
    jobs = trial.jobs(None, "small", [], [[("optimizer.epochs=5", ""), ("optimizer=mira", "")]])
    assert [word for word in jobs[0] if key_of(word) != "label"] == [
        "task.limit=40",
        "optimizer.epochs=5",
        "optimizer=mira",
    ]


def test_overrides_replace_the_grid_and_are_in_the_labels():
    """One value leaves one job per setting; several values replace those of the grid."""
    one = plan().jobs(None, "small", [], [[("optimizer.C=3", "")]])
    assert labels(one) == ["DCA, C=3", "SGD, eta=0.1"]
    assert [[word for word in job if key_of(word) == "optimizer.C"] for job in one] == [
        ["optimizer.C=3"],
        ["optimizer.C=3"],
    ]
    several = [[("optimizer.C=3", "C=3")], [("optimizer.C=4", "C=4")]]
    assert labels(plan().jobs(None, "small", [], several)) == [
        *("DCA, C=3", "DCA, C=4"),
        *("SGD, eta=0.1, C=3", "SGD, eta=0.1, C=4"),
    ]
    other = plan().jobs(None, "small", [], [[("optimizer=dca", "")]])
    assert labels(other) == ["DCA, C=1", "DCA, C=inf", "SGD, eta=0.1, optimizer=dca"]


def test_files_are_given_where_there_is_data_and_a_setting_s_own_come_first():
    trial = plan(settings={"EN": [], "EL": {"files": {"task.train": "b/el.gz"}}}, grid={})
    with_data, without = (
        trial.jobs("my data", "small", [], NO_MORE),
        trial.jobs(None, "small", [], NO_MORE),
    )
    assert [job[0] for job in with_data] == [
        "task.train='my data/a/train.gz'",
        "task.train='my data/b/el.gz'",
    ]
    assert without == [["label='EN'"], ["label='EL'"]]


def test_a_key_may_have_several_named_files(tmp_path):
    lists = {"places": "lists/places.txt", "names": "it's/names.txt"}
    trial = plan(settings={"DCA": []}, grid={}, full={"files": {"features.lists": lists}})
    job = trial.jobs("d", "full", [], [[("seed=0", "")]])[0]
    assert job[:2] == [
        "task.train='d/a/train.gz'",
        "features.lists={places: 'd/lists/places.txt', names: 'd/it\\'s/names.txt'}",
    ]
    assert trial.jobs("d", "small", [], NO_MORE)[0][:2] == [
        "task.train='d/a/train.gz'",
        "label='DCA'",
    ]
    with pytest.raises(ConfigError, match="not in that folder: a/train.gz, lists/places.txt, it's"):
        trial.check_files(str(tmp_path), "full")


def test_a_scale_replaces_settings_grid_and_files():
    settings = {"SGD": ["optimizer=sgd"], "Pegasos": ["optimizer=pegasos"]}
    trial = plan(small={"settings": settings, "only": ["SGD", "Pegasos"], "grid": {}})
    assert labels(trial.jobs(None, "small", [], NO_MORE)) == ["SGD", "Pegasos"]
    assert labels(trial.jobs(None, "full", [], [[("seed=7", "")]])) == [
        "DCA, C=1",
        "DCA, C=inf",
        "SGD, eta=0.1",
    ]


def test_seeds_are_three_at_full_scale_and_those_of_the_plan_where_it_has_some():
    trial = plan(settings={"DCA": [], "AP": {"grid": {"seed": [5]}}}, grid={})
    assert labels(trial.jobs(None, "full", [], NO_MORE)) == [
        "DCA, seed=0",
        "DCA, seed=1",
        "DCA, seed=2",
        "AP, seed=5",
    ]
    assert labels(trial.jobs(None, "small", [], NO_MORE)) == ["DCA", "AP, seed=5"]
    assert plan(seeds=[3, 4]).seeds_of("full") == (3, 4)
    assert plan(seeds=[3, 4]).seeds_of("small") == (0,)
    assert plan(small={"seeds": [1, 2]}).seeds_of("small") == (1, 2)
    with pytest.raises(
        ConfigError, match=r"hydra.sweeper.seeds: this must be a list of integers from 0"
    ):
        plan(seeds=3)


FILES = {"task.train": "train", "task.dev": "dev", "task.test": "test"}


def test_values_are_chosen_on_the_tail_at_full_scale_unless_there_is_a_test_file(tmp_path):
    trial = plan(settings={"DCA": []}, grid={}, files=FILES)
    for name in ("train", "dev"):
        (tmp_path / name).touch()
    trial.check_files(str(tmp_path), "full")  # the test file need not be there
    assert trial.tuning(None, str(tmp_path), "full") == "tail"
    assert trial.tuning(None, str(tmp_path), "small") == "dev"
    assert trial.tuning("dev", str(tmp_path), "full") == "dev"
    files = [f"task.train='{tmp_path}/train'", f"task.dev='{tmp_path}/dev'"]
    tail, dev = (
        trial.jobs(str(tmp_path), "small", [], NO_MORE, tuning)[0] for tuning in ("tail", "dev")
    )
    assert tail == [*files, "tail=0.2", "label='DCA'"]
    assert dev == [*files, "label='DCA'"]
    (tmp_path / "test").touch()
    assert trial.tuning(None, str(tmp_path), "full") == "dev"
    assert trial.jobs(str(tmp_path), "small", [], NO_MORE)[0] == [
        *files,
        f"task.test='{tmp_path}/test'",
        "label='DCA'",
    ]
    assert trial.jobs(str(tmp_path), "small", [], NO_MORE, "tail")[0] == tail


def test_what_chooses_nothing_has_no_tail(tmp_path):
    assert plan().tuning(None, str(tmp_path), "full") == "dev"
    with pytest.raises(
        ConfigError, match="tuning=tail: trial chooses nothing by scores and trains on whole files"
    ):
        plan().tuning("tail", str(tmp_path), "full")
    with pytest.raises(ConfigError, match=r"tuning=foo: there is no such part. Parts: tail, dev."):
        plan().tuning("foo", None, "small")


def test_unknown_reports_are_refused():
    with pytest.raises(ConfigError, match="Did you mean 'bartlett2004_figure4'?"):
        report_of("bartlett2004_figure_4")


def test_reports_of_both_groups_are_found(tmp_path, monkeypatch):
    """Plugins bring reports in structopt.experiment; the group's earlier name is read too, and the
    new one goes first.
    """
    info = tmp_path / "published-0.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: published\nVersion: 0.1\n")
    (info / "entry_points.txt").write_text(
        "[structopt.experiment]\nnow = published:now\nboth = published:now\n"
        "[structopt.report]\nearlier = published:earlier\nboth = published:earlier\n"
    )
    (tmp_path / "published.py").write_text(
        "def now(records, scale):\n    pass\n\n\ndef earlier(records, scale):\n    pass\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    names = {name: report_of(name).__name__ for name in ("now", "earlier", "both")}
    assert names == {"now": "now", "earlier": "earlier", "both": "now"}
    with pytest.raises(
        ConfigError,
        match=r"entry points of the group structopt\.experiment: .*both, earlier, .*, now\.",
    ):
        report_of("nowhere")


@pytest.mark.parametrize("name", NAMES)
def test_every_setting_of_an_experiment_is_a_config_that_can_be_run(name):
    from omegaconf import OmegaConf

    file = next(
        path
        for folder in conf_folders()
        if (path := folder / "experiment" / f"{name}.yaml").is_file()
    )
    trial = Plan.read(name, OmegaConf.to_container(OmegaConf.load(file).hydra.sweeper))
    assert callable(report_of(trial.report))
    for scale in ("small", "full"):
        jobs = trial.jobs(None, scale, [f"+experiment={name}"], NO_MORE)
        assert len(set(labels(jobs))) == len(jobs)
        first = {
            setting(label): job
            for label, job in reversed(list(zip(labels(jobs), jobs, strict=True)))
        }
        for job in first.values():
            validate(compose(job))


@pytest.mark.parametrize("name", NAMES)
def test_an_experiment_runs_on_the_shipped_corpora_and_reports(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = [
        f"+experiment={name}",
        "tracker=none",
        "task.limit=12",
        "optimizer.epochs=2",
        "hydra.sweep.dir=sweep",
    ]
    # the default is for treebanks, not for a dozen sentences
    trees = ["features.hash_bits=14"] if name in TREES else []
    assert main([*words, *trees]) == 0
    shown, sweep = capsys.readouterr().out, tmp_path / "sweep"
    text = (sweep / "report.md").read_text()
    assert "observations hold" in text
    assert "observations hold, " in shown
    # of one seed nothing can
    assert "undecided. At scale=small this says nothing about the paper" in shown
    assert len((sweep / "table.csv").read_text().splitlines()) > 2
    figure = None if name in WITHOUT_FIGURE else sweep / "figure.png"
    assert (figure is None) or figure.read_bytes().startswith(b"\x89PNG")
    assert ("![figure]" in text) == (figure is not None)


def test_commands_in_reports_name_no_folders():
    typed = [
        "data=/home/me/corpora",
        "features.vectors=/home/me/vectors.txt",
        "optimizer.epochs=3",
        "hydra.sweep.dir=/tmp/x",
    ]
    command = typed_command("martins2010_figure3", typed)
    assert command.endswith(
        " +experiment=martins2010_figure3 data=DIR features.vectors=vectors.txt optimizer.epochs=3"
    )


def test_tuning_and_seeds_of_an_experiment_that_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = [
        "+experiment=martins2010_table1_ner",
        "tracker=none",
        "task.limit=12",
        "optimizer.epochs=1",
        "optimizer.C=1",
    ]
    assert main([*words, "tuning=tail", "seed=0,1", "hydra.sweep.dir=sweep"]) == 0
    shown, report = (
        capsys.readouterr().out,
        json.loads((tmp_path / "sweep" / "report.json").read_text()),
    )
    assert "the difference that decides it is at least 2 standard errors" in " ".join(shown.split())
    assert " ± " in shown
    assert report["experiment"] == "martins2010_table1_ner"
    assert report["scale"] == "small"
    assert report["command"] == (
        "python -m structopt +experiment=martins2010_table1_ner task.limit=12 optimizer.epochs=1 "
        "optimizer.C=1 tuning=tail "
        "seed=0,1"
    )
    assert report["tables"][0]["rows"][0][1].keys() == {"mean", "sd", "seeds"}
    assert {claim["verdict"] for claim in report["claims"]} <= {
        "holds",
        "does not hold",
        "within noise",
        "undecided",
    }
    common, first = report["configuration"][0][1], dict(report["configuration"])["CRF"]
    assert "optimizer.epochs=1" in common
    assert "tail=0.2" in common
    assert "seed=0,1" in first
    assert "the last 20% of the training file" in " ".join(report["notes"])
    assert main([*words, "tuning=foo", "hydra.sweep.dir=no"]) == 2
    assert "tuning=foo" in capsys.readouterr().err


def test_runs_that_fail_are_named_and_the_rest_is_reported(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = [
        "+experiment=martins2010_figure3",
        "tracker=none",
        "task.limit=12",
        "optimizer.epochs=1,-1",
        "hydra.sweep.dir=sweep",
    ]
    assert main(words) == 2
    text = (tmp_path / "sweep" / "report.md").read_text()
    assert (
        "Missing here, because they did not come to their end: DCA, C=1, epochs=-1 (failed: "
        in text
    )
    assert "| L-BFGS C=1 |" in text
    assert "report:" in capsys.readouterr().out


def test_files_that_are_missing_end_the_command_before_anything_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert (
        main(
            [
                "+experiment=martins2010_figure4",
                "tracker=none",
                f"data={tmp_path}",
                "hydra.sweep.dir=sweep",
            ]
        )
        == 2
    )
    message = capsys.readouterr().err
    assert "ud/tr_imst-ud-train.conllu.gz" in message
    assert "Traceback" not in message
    assert not list(tmp_path.glob("sweep/*/"))
