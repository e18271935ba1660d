"""Comparisons of runs: which runs are meant, what differs, the tables, significance, MLflow, and
what the user can mend.
"""

from __future__ import annotations

import csv
import json
import logging
import shutil
from collections.abc import Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

import structopt
from structopt.command import compare as command
from structopt.command import main
from structopt.errors import ConfigError
from structopt.report import chosen_runs, differences
from structopt.report.compare import compare
from structopt.report.comparison_tables import settings_table
from structopt.report.mlflow_store import Store
from structopt.run.records import RunRecord
from tests.stores import EmptyStores

CONFIG = {
    "task": {"name": "ner"},
    "optimizer": {"name": "dca", "C": 1.0},
    "loss": {"beta": 1.0},
    "seed": 0,
    "label": None,
}


def record(name: str, f1: float = 0.9, **config: Any) -> RunRecord:
    """A record of no run; dots in keys are written as two underscores."""
    nested = json.loads(json.dumps(CONFIG))
    for key, value in config.items():
        node, _, last = key.rpartition("__")
        (nested[node] if node else nested)[last] = value
    metrics: Mapping[str, Any] = {
        "train": {"objective": 2.5, "seconds": 1.25, "epochs": 3, "gap": None},
        "dev": {"f1": f1},
    }
    return RunRecord(Path("/sweep", name), name, (), nested, metrics)


def test_keys_in_which_runs_differ() -> None:
    assert differences.varying([record("0"), record("1", seed=1, loss__beta=float("inf"))]) == [
        "loss.beta",
        "seed",
    ]
    assert differences.varying([record("0", loss__beta=1), record("1", loss__beta=1.0)]) == []
    assert differences.varying([record("0", label="a", threads=2), record("1", label="b")]) == []
    assert differences.varying([record("0"), record("1", loss__gamma=1.0)]) == ["loss.gamma"]


def test_of_different_components_only_what_both_have_is_compared() -> None:
    dca = record("0", optimizer={"name": "dca", "C": 1.0, "variant": "max_loss"})
    sgd = record("1", optimizer={"name": "sgd", "C": 1.0, "eta": 0.1})
    assert differences.varying([dca, sgd]) == ["optimizer.name"]
    other = record("2", optimizer={"name": "sgd", "C": 0.5, "eta": 1.0})
    assert differences.varying([dca, sgd, other]) == [
        "optimizer.name",
        "optimizer.C",
        "optimizer.eta",
    ]


def test_titles() -> None:
    two = [record("0"), record("1", seed=1, loss__beta=float("inf"))]
    assert differences.titles(two) == ["beta=1, seed=0", "beta=inf, seed=1"]
    assert differences.titles([record("0", label="crf"), record("1", label="svm")]) == [
        "crf",
        "svm",
    ]
    assert differences.titles([record("0", label="a"), record("1", label="a", seed=1)]) == [
        "seed=0",
        "seed=1",
    ]
    assert differences.titles([record("0"), record("1")]) == ["0", "1"]
    assert differences.titles([record("0"), record("1"), record("2", seed=1)])[:2] == [
        "seed=0 (sweep/0)",
        "seed=0 (sweep/1)",
    ]


def test_table_of_runs() -> None:
    records = [record("0", 0.91, loss__beta=3.0), record("1", 0.9)]
    table = settings_table(records, [[0], [1]], ["a", "b"], ["dev.f1", "test.f1"])
    assert table.markdown().splitlines() == [
        "Metrics of dev and test in per cent; the best run is bold.",
        "",
        "| name  | loss.beta | dev.f1 | test.f1 | objective | gap | seconds | passes |",
        "| ----- | --------- | ------ | ------- | --------- | --- | ------- | ------ |",
        "| **a** | 3         | 91.00  | -       | 2.5       |     | 1.25    | 3      |",
        "| b     | 1         | 90.00  | -       | 2.5       |     | 1.25    | 3      |",
    ]
    assert table.csv().splitlines() == [
        "name,loss.beta,dev.f1,test.f1,objective,gap,seconds,passes,folder",
        "a,3,0.91,,2.5,,1.25,3,/sweep/0",
        "b,1,0.9,,2.5,,1.25,3,/sweep/1",
    ]


def test_seeds_of_a_setting_are_one_row() -> None:
    records = [record("0", 0.92, seed=1), record("1", 0.90), record("2", 0.5, loss__beta=3.0)]
    groups = differences.setting_groups(records)
    assert groups == [[1, 0], [2]]
    titles = differences.setting_titles(records, groups)
    assert titles == ["beta=1 (2 seeds)", "beta=3, seed=0"]
    table = settings_table(records, groups, titles, ["dev.f1"])
    assert table.markdown().splitlines() == [
        "Metrics of dev and test in per cent; means ± standard deviations over seeds; the best "
        "setting is bold.",
        "",
        "| name                 | loss.beta | seeds | dev.f1       | objective | gap | seconds  "
        "| passes |",
        "| -------------------- | --------- | ----- | ------------ | --------- | --- | -------- "
        "| ------ |",
        "| **beta=1 (2 seeds)** | 1         | 2     | 91.00 ± 1.41 | 2.5 ± 0   |     | 1.25 ± 0 "
        "| 3 ± 0  |",
        "| beta=3, seed=0       | 3         | 1     | 50.00        | 2.5       |     | 1.25     "
        "| 3      |",
    ]
    assert "dev.f1 deviation" in table.csv().splitlines()[0]


def test_repeated_runs_of_a_seed_are_rows_of_their_own() -> None:
    assert differences.setting_groups([record("0"), record("1"), record("2", seed=1)]) == [
        [0],
        [1],
        [2],
    ]
    labelled = [record("0", label="a"), record("1", label="a", seed=1), record("2", label="b")]
    groups = differences.setting_groups(labelled)
    assert differences.setting_titles(labelled[:2], [[0, 1]]) == ["a (2 seeds)"]
    assert groups == [[0], [1], [2]]  # labels are no settings, so seed 0 was run twice


RUNS = (
    ["task.limit=150", "optimizer.epochs=3"],
    ["task.limit=150", "optimizer.epochs=3", "seed=1"],
    ["task.limit=5", "optimizer.epochs=1"],
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three runs of one sweep: two seeds, and one on five sentences."""
    root = tmp_path_factory.mktemp("compare")
    for number, words in enumerate(RUNS):
        structopt.train(["task=ner", *words, "tracker=none"], root / "sweep" / str(number))
    return root


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory, empty_store: EmptyStores) -> Path:
    """The folder of the first run, which the store next to it has."""
    root = tmp_path_factory.mktemp("stored")
    uri = empty_store(root / "mlflow.db")
    more = [f"tracker.uri={uri}", "tracker.experiment=small"]
    structopt.train(["task=ner", *RUNS[0], *more], root / "0")
    return root / "0"


def store_of(run: Path) -> str:
    return f"sqlite:///{run.parent / 'mlflow.db'}"


def options(output: Path, **more: Any) -> dict[str, Any]:
    plain = {"experiment": "", "uri": "", "metric": "", "baseline": "", "samples": 200, "seed": 0}
    return {**plain, "significance": True, "output": str(output), **more}


def compare_and_record(words: list[str], output: Path, uri: str = "") -> None:
    compare(words, options(output, uri=uri)).record(chosen_runs.sweep_of(words), uri)


def rows(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf8") as stream:
        return list(csv.DictReader(stream))


@pytest.mark.nightly("sweeps")
def test_a_sweep(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "sweep" / "multirun.yaml").touch()
    words = ["compare", str(folder / "sweep"), f"output={tmp_path}", "samples=200", "log=false"]
    assert main.main(words) == 0
    printed = capsys.readouterr().out
    assert (
        printed.split("\ntables and curves")[0]
        == (tmp_path / "table.md").read_text(encoding="utf8").split("\n![")[0]
    )
    assert (tmp_path / "learning_curves.png").read_bytes().startswith(b"\x89PNG")
    table = rows(tmp_path / "table.csv")
    assert {row["name"]: row["seeds"] for row in table} == {
        "limit=150, epochs=3 (2 seeds)": "2",
        "limit=5, epochs=1, seed=0": "1",
    }
    best = table[0]["name"]
    assert f"Baseline: {best} (the best mean test.f1; baseline=RUN selects another one)" in printed
    runs = rows(tmp_path / "runs.csv")
    scores = {row["folder"]: float(row["test.f1"]) for row in runs}
    for number in "012":
        own = folder / "sweep" / number
        assert (
            scores[str(own)]
            == json.loads((own / "metrics.json").read_text(encoding="utf8"))["test"]["f1"]
        )
    pooled = fmean(scores[str(folder / "sweep" / number)] for number in "01")
    assert float(table[0]["test.f1"]) == pytest.approx(pooled)
    tested = {row["name"]: row for row in rows(tmp_path / "significance.csv")}
    assert len(tested) == 1
    worst = tested[table[-1]["name"]]
    assert float(worst["difference"]) == pytest.approx(
        float(table[-1]["test.f1"]) - float(table[0]["test.f1"]), abs=1e-12
    )
    assert float(worst["low"]) < float(worst["difference"]) < float(worst["high"]) < 0
    assert float(worst["p"]) == pytest.approx(1 / 201)
    assert float(worst["p (Holm)"]) == pytest.approx(1 / 201)


def test_baseline_and_metric(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen = [str(folder / "sweep" / number) for number in "02"]
    comparison = compare(chosen, options(tmp_path, metric="dev.precision", baseline=chosen[1]))
    assert "Differences in dev.precision to limit=5, epochs=1" in comparison.markdown()
    assert "Baseline: limit=5, epochs=1 (set by baseline=" in comparison.markdown()
    assert capsys.readouterr().out == ""
    assert [row["name"] for row in rows(tmp_path / "significance.csv")] == ["limit=150, epochs=3"]
    assert "dev.precision" in rows(tmp_path / "table.csv")[0]
    compare(chosen, options(tmp_path / "by_time", metric="train.seconds"))
    seconds = [float(row["seconds"]) for row in rows(tmp_path / "by_time" / "table.csv")]
    assert seconds == sorted(seconds)
    assert not (tmp_path / "by_time" / "significance.csv").exists()


def test_one_run(folder: Path, tmp_path: Path) -> None:
    compare([str(folder / "sweep" / "1")], options(tmp_path))
    assert len(rows(tmp_path / "table.csv")) == 1
    assert not (tmp_path / "significance.csv").exists()


def test_what_is_left_out(folder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for number in "02":
        shutil.copytree(folder / "sweep" / number, tmp_path / number)
    shutil.copytree(tmp_path / "0", tmp_path / "3")
    (tmp_path / "3" / "metrics.json").unlink()
    shutil.rmtree(tmp_path / "2" / "model")
    compare([str(tmp_path / number) for number in "023"], options(tmp_path / "out"))
    assert len(rows(tmp_path / "out" / "table.csv")) == 2
    warnings = "\n".join(caplog.messages)
    assert f"{tmp_path / '3'}: KILLED, left out." in warnings
    assert "has no model in it" in warnings


def test_different_test_files(
    folder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    task = structopt.load(folder / "sweep" / "1").task
    for number in "02":
        shutil.copytree(folder / "sweep" / number, tmp_path / number)
    config = tmp_path / "2" / ".hydra" / "config.yaml"
    files = {role: shutil.copy(path, tmp_path / path.name) for role, path in task.files.items()}
    with files["test"].open("a", encoding="utf8") as stream:
        stream.write("\nOslo NNP B-NP B-LOC\n")
    text = config.read_text(encoding="utf8")
    for role, path in files.items():
        text = text.replace(f"  {role}: null", f"  {role}: {path}")
    config.write_text(text, encoding="utf8")
    compare([str(tmp_path / number) for number in "02"], options(tmp_path / "out"))
    assert "no significance: the test files differ" in caplog.text
    assert not (tmp_path / "out" / "significance.csv").exists()


@pytest.mark.nightly("sweeps")
def test_mlflow(
    folder: Path,
    stored: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A run comes back from the store without its folder, model and all; the comparison is recorded
    beside it.
    """
    from mlflow import MlflowClient

    monkeypatch.chdir(tmp_path)
    caplog.set_level(logging.WARNING, "structopt")
    store = store_of(stored)
    client = MlflowClient(store)
    experiment = client.get_experiment_by_name("small").experiment_id
    (tracked,) = client.search_runs([experiment])
    monkeypatch.setattr(Store, "folder_of", lambda *_: None)
    words = [str(folder / "sweep" / "2"), f"runs:/{tracked.info.run_id}"]
    compare_and_record(words, tmp_path / "out", store)
    assert not caplog.messages
    assert len(rows(tmp_path / "out" / "significance.csv")) == 1
    assert (
        chosen_runs.find([], "small", Store(store), tmp_path / "again")[0].run_id
        == tracked.info.run_id
    )
    (comparison,) = [
        run for run in client.search_runs([experiment]) if run.info.run_name == "comparison"
    ]
    assert comparison.data.tags["compared_runs"] == tracked.info.run_id
    assert comparison.data.params["metric"] == "test.f1"
    tables = (tmp_path / "out" / "table.md").read_text(encoding="utf8").partition("![")[0]
    assert comparison.data.tags["mlflow.note.content"] == tables
    logged = {one.path for one in client.list_artifacts(comparison.info.run_id)}
    assert logged == {
        "table.md",
        "table.csv",
        "significance.csv",
        "learning_curves.png",
    }
    with pytest.raises(ConfigError, match=r"experiment=smal: .* has none. Did you mean 'small'\?"):
        chosen_runs.find([], "smal", Store(store), tmp_path / "again")


@pytest.mark.nightly("sweeps")
def test_predict_with_a_model_of_mlflow_writes_its_output_only(
    stored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = json.loads((stored / "tracking.json").read_text())["run_id"]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", store_of(stored))
    (tmp_path / "in.txt").write_text("Ann\nslept\n")
    words = [f"model=runs:/{run_id}/model", "input=in.txt", "output=out.txt"]
    assert main.main(["predict", *words]) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.txt", "out.txt"]


@pytest.mark.nightly("sweeps")
def test_a_store_that_is_gone_costs_a_warning(
    stored: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    compare_and_record([str(stored)], tmp_path, f"sqlite:///{tmp_path / 'none.db'}")
    assert "the comparison is not in MLflow" in caplog.text
    assert (tmp_path / "table.md").is_file()


def test_what_the_user_can_mend(folder: Path, tmp_path: Path) -> None:
    run = str(folder / "sweep" / "1")
    cases = {
        "nowhere": (
            ["nowhere"],
            {},
            "nowhere: there is no such folder. Name the folder of a run or of a sweep, or an "
            "MLflow",
        ),
        "no run": ([str(tmp_path)], {}, "this is not the folder of a run"),
        "metric": (
            [run],
            {"metric": "dev.f2"},
            r"metric=dev.f2 is not a metric of any run. Did you mean 'dev.f1'\? Metrics: train.",
        ),
        "bare metric": (
            [run],
            {"metric": "f2"},
            r"metric=f2 is not a metric of any run. Did you mean 'f1'\?",
        ),
        "baseline": ([run], {"baseline": "x"}, "baseline=x is not one of the compared runs"),
    }
    for words, more, message in cases.values():
        with pytest.raises(ConfigError, match=message):
            compare(words, options(tmp_path / "out", **more))
    (tmp_path / "unfinished" / ".hydra").mkdir(parents=True)
    shutil.copy(
        folder / "sweep" / "1" / ".hydra" / "config.yaml", tmp_path / "unfinished" / ".hydra"
    )
    with pytest.raises(ConfigError, match="None of these runs has finished"):
        compare([str(tmp_path / "unfinished")], options(tmp_path / "out"))
    other = shutil.copytree(run, tmp_path / "other")
    config = other / ".hydra" / "config.yaml"
    config.write_text(
        config.read_text(encoding="utf8").replace("name: ner", "name: dependency"), encoding="utf8"
    )
    with pytest.raises(ConfigError, match=r"different tasks \(dependency, ner\)"):
        compare([run, str(other)], options(tmp_path / "out"))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "compare needs runs. Usage: structopt compare RUN RUN"),
        (["run", "sampels=3"], r"compare has no option 'sampels'. Did you mean 'samples'\? Usage"),
        (["run", "samples=0"], "samples=0 must be at least 1"),
        (["run", "significance=maybe"], "significance=maybe is not a bool"),
    ],
)
def test_words_that_the_user_can_mend(words: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        command.run(words)


def test_a_folder_may_have_an_equals_sign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("loss.beta=1").mkdir()
    with pytest.raises(ConfigError, match="loss.beta=1: this is not the folder of a run"):
        command.run(["loss.beta=1", "log=false"])


@pytest.mark.nightly("sweeps")
def test_a_sweep_is_recorded_on_its_parent(stored: Path, tmp_path: Path) -> None:
    from mlflow import MlflowClient

    client = MlflowClient(store_of(stored))
    parent = client.create_run(client.get_experiment_by_name("small").experiment_id).info.run_id
    shutil.copytree(stored, tmp_path / "sweep" / "0")
    (tmp_path / "sweep" / "sweep.json").write_text(json.dumps({"parent": parent}), encoding="utf8")
    compare_and_record([str(tmp_path / "sweep")], tmp_path / "out")
    assert {one.path for one in client.list_artifacts(parent, "comparison")} == {
        "comparison/table.md",
        "comparison/table.csv",
        "comparison/learning_curves.png",
    }
    assert client.get_run(parent).data.tags["compared_runs"]
