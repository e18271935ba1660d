"""MLflow tracker: what it records, that it never raises, and that it never waits long."""

import json
import logging
import math
import os
import shutil
import socket
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from structopt.command import main
from structopt.core.data.splits import SplitPath
from structopt.core.data.table_schema import Column, Schema
from structopt.core.tracker import Run
from structopt.tracker.facts import params
from structopt.tracker.logged_model import download_model
from structopt.tracker.mlflow import MLflowTracker
from structopt.tracker.recorder import NotRecordedError
from structopt.tracker.stores import experiment_id, store_address

CONFIG = {
    "task": {"name": "ner", "train": None, "check": True},
    "loss": {"beta": math.inf, "gamma": 0},
    "optimizer": {"C": 1.5, "sizes": [1, 2], "long": "x" * 9000},
    "empty": {},
}


TOKENS, POS = Column("tokens", "string", 1), Column("pos", "string", 1, required=False)
TABLES = {
    "input": Schema((TOKENS, POS)).state(),
    "output": Schema((Column("labels", "string", 1),)).state(),
    "example": {"tokens": [["Ann"]], "pos": [["NNP"]]},
}


class FakeModel:
    """Labels a token O, or B where its pos is NNP."""

    def predict_table(self, columns):
        assert set(columns) == {"tokens", "pos"}
        return {"labels": [["B" if tag == "NNP" else "O" for tag in row] for row in columns["pos"]]}


def make_run(folder: Path) -> Run:
    """A run folder as training leaves it."""
    folder.mkdir(parents=True)
    for name in ("model", "plots", ".hydra"):
        (folder / name).mkdir()
    (folder / "model" / "weights.safetensors").write_bytes(b"weights")
    (folder / "model" / "schema.json").write_text(json.dumps(TABLES))
    (folder / "plots" / "curve.png").write_bytes(b"png")
    (folder / ".hydra" / "config.yaml").write_text("a: 1\n")
    for name in ("history.csv", "metrics.json", "train.log"):
        (folder / name).write_text("x\n")
    data = folder.parent / f"{folder.name}.train.txt"
    data.write_text("w O\n")
    return Run(folder, CONFIG, {"train": data, "dev": folder / "missing"}, "ner-dca")


@pytest.fixture(scope="module")
def store(tmp_path_factory, empty_store, trained):
    """A recorded run in a temporary sqlite store: client, run, tracker, run folder."""
    root = tmp_path_factory.mktemp("store")
    patch = pytest.MonkeyPatch()
    patch.setenv("STRUCTOPT_PARENT_RUN", "abc123")
    tracker = MLflowTracker(uri=empty_store(root / "deep" / "mlflow.db"), experiment="exp")
    run = make_run(root / "run")
    # the oldest supported MLflow loads a model when it logs it
    shutil.copytree(trained("ner") / "model", run.folder / "model", dirs_exist_ok=True)
    begun = time.monotonic()
    tracker.start(run)
    tracker.log_epoch(1, {"primal": 3.0, "dual": math.inf, "dev.f1": 0.5})
    tracker.log_epoch(2, {"primal": 2.0, "dual": math.nan, "dev.f1": 0.75})
    queued = time.monotonic() - begun
    tracker.log_model(run.folder / "model")
    tracker.tag("pruned", "true")
    tracker.finish("FINISHED", {"dev.f1": 0.75, "test.f1": 0.25, "train.gap": math.inf})
    patch.undo()
    from mlflow import MlflowClient

    client = MlflowClient(tracking_uri=tracker.uri)
    return SimpleNamespace(
        client=client, run=client.get_run(tracker.run_id), tracker=tracker, root=root, queued=queued
    )


def test_start_does_not_wait_for_the_import(store):
    assert store.queued < 1.0


def test_params_are_dotted_strings(store):
    params = store.run.data.params
    assert params["loss.beta"] == "inf"
    assert "task.train" not in params
    assert params["task.check"] == "true"
    assert params["optimizer.sizes"] == "[1,2]"
    assert len(params["optimizer.long"]) == 500


def test_epoch_metrics_have_steps_and_are_finite(store):
    history = store.client.get_metric_history(store.tracker.run_id, "primal")
    assert [(point.step, point.value) for point in history] == [(1, 3.0), (2, 2.0)]
    assert len(store.client.get_metric_history(store.tracker.run_id, "dev.f1")) == 2
    final = {"primal": 2.0, "dev.f1": 0.75, "test.f1": 0.25}
    assert store.run.data.metrics == final | {"dev/f1": 0.75, "test/f1": 0.25}


def test_metrics_stand_in_groups_too(store):
    """MLflow's pages group metrics by what stands before a slash: those of passes, and the same of
    the test split.
    """
    history = store.client.get_metric_history(store.tracker.run_id, "dev/f1")
    assert [(point.step, point.value) for point in history] == [(1, 0.5), (2, 0.75)]
    assert len(store.client.get_metric_history(store.tracker.run_id, "test/f1")) == 1


def test_an_experiment_is_one_of_model_training(store):
    assert (
        store.client.get_experiment(store.run.info.experiment_id).tags["mlflow.experimentKind"]
        == "custom_model_development"
    )
    store.client.create_experiment("older")
    experiment_id(store.client, "older", None)
    assert (
        store.client.get_experiment_by_name("older").tags["mlflow.experimentKind"]
        == "custom_model_development"
    )
    store.client.set_experiment_tag(
        store.client.create_experiment("agents"), "mlflow.experimentKind", "genai_development"
    )
    experiment_id(store.client, "agents", None)
    assert (
        store.client.get_experiment_by_name("agents").tags["mlflow.experimentKind"]
        == "genai_development"
    )


def test_the_model_is_linked_to_parameters_metrics_and_data(store):
    (model,) = store.client.search_logged_models(
        [store.run.info.experiment_id], f"source_run_id = '{store.tracker.run_id}'"
    )
    assert (model.name, model.status.value) == ("model", "READY")
    assert model.params == store.run.data.params
    linked = {
        metric.key: (metric.value, metric.dataset_name, metric.run_id) for metric in model.metrics
    }
    assert linked == {
        "dev.f1": (0.75, None, store.tracker.run_id),
        "test.f1": (0.25, None, store.tracker.run_id),
    }
    (output,) = store.run.outputs.model_outputs
    assert (output.model_id, output.step) == (model.model_id, 2)


def test_the_model_has_a_card_and_its_code(store):
    """Or the reason why it does not have the code: structopt may be imported from elsewhere."""
    folder = download_model(f"runs:/{store.tracker.run_id}/model", store.tracker.uri)
    card = (folder / "README.md").read_text()
    assert "cd MODEL && pip install -r requirements.txt" in card
    requirements = (folder / "requirements.txt").read_text().splitlines()
    (core,) = [line for line in requirements if "structopt" in line]
    named = core.startswith("code/") and (folder / core).is_file()
    assert named != ("The wheel of structopt-trainer is missing: " in card)


def test_a_missing_wheel_is_logged(store, tmp_path, caplog):
    tracker = MLflowTracker(uri=store.tracker.uri, experiment="exp")
    tracker.start(make_run(tmp_path / "run"))
    call = tracker._line.call
    reasons = {"log_model": ["The wheel of a is missing: b."]}
    tracker._line.call = lambda name, *rest: reasons[name] if name in reasons else call(name, *rest)
    with caplog.at_level(logging.INFO, "structopt.tracker"):
        tracker.log_model(tmp_path / "run" / "model")
        tracker.finish("FINISHED", {})
    (record,) = caplog.records
    assert record.getMessage() == (
        "The logged model cannot be installed by itself. The wheel of a is missing: b."
    )


def test_metrics_are_linked_to_the_data_they_were_measured_on(store, tmp_path):
    tracker = MLflowTracker(uri=store.tracker.uri, experiment="linked", group_metrics=False)
    run = make_run(tmp_path / "run")
    tracker.start(
        replace(
            run, files={"train": run.files["train"], "dev": SplitPath("dev", run.files["train"])}
        )
    )
    tracker.log_epoch(1, {"train.loss": 2.0, "dev.f1": 0.5})
    tracker.log_model(run.folder / "model")
    tracker.finish("FINISHED", {"train.loss": 2.0, "dev.f1": 0.5})
    stored = store.client.get_run(tracker.run_id)
    contexts = {one.tags[0].value: one.dataset for one in stored.inputs.dataset_inputs}
    assert {role: one.name for role, one in contexts.items()} == {
        "training": "run.train.txt",
        "validation": "run.train.txt#dev",
    }
    (model,) = store.client.search_logged_models([stored.info.experiment_id])
    linked = {metric.key: (metric.dataset_name, metric.dataset_digest) for metric in model.metrics}
    training, dev = contexts["training"], contexts["validation"]
    assert linked == {
        "train.loss": (training.name, training.digest),
        "dev.f1": (dev.name, dev.digest),
    }
    assert len(store.client.get_metric_history(tracker.run_id, "dev.f1")) == 1
    assert set(stored.data.metrics) == {"train.loss", "dev.f1"}


def test_the_note_of_a_run_is_gone_when_it_goes_on(store, tmp_path):
    run = make_run(tmp_path / "run")
    first = MLflowTracker(uri=store.tracker.uri, experiment="exp")
    first.start(run)
    first.describe("**Failed**")
    first.finish("FAILED", {})
    assert store.client.get_run(first.run_id).data.tags["mlflow.note.content"] == "**Failed**"
    again = MLflowTracker(uri=store.tracker.uri, experiment="exp")
    again.start(replace(run, resumed=True))
    again.finish("FINISHED", {})
    assert again.run_id == first.run_id
    assert "mlflow.note.content" not in store.client.get_run(first.run_id).data.tags
    store.client.set_tag(first.run_id, "mlflow.note.content", "the user's")
    third = MLflowTracker(uri=store.tracker.uri, experiment="exp")
    third.start(replace(run, resumed=True))
    third.finish("FINISHED", {})
    assert store.client.get_run(first.run_id).data.tags["mlflow.note.content"] == "the user's"


def test_a_store_that_breaks_in_mid_run(store, tmp_path, caplog):
    """The run goes on, and at its end it is said what is not recorded."""

    def broken(operation, *arguments):
        if operation != "terminate":
            raise NotRecordedError("ConnectionError: gone")

    tracker = MLflowTracker(uri=store.tracker.uri, experiment="exp")
    tracker.start(make_run(tmp_path / "run"))
    tracker.log_epoch(1, {"dev.f1": 0.5})
    tracker._worker.put(lambda: setattr(tracker._line, "call", broken), 60.0)
    for epoch in range(2, 5):
        tracker.log_epoch(epoch, {"dev.f1": 0.75})
    tracker.log_model(tmp_path / "run" / "model")
    tracker.finish("FINISHED", {"test.f1": 1.0})
    first, last = [
        record.getMessage() for record in caplog.records if record.name == "structopt.tracker"
    ]
    folder, uri = tmp_path / "run", tracker.uri
    assert (
        first
        == f"tracking stopped: {uri}: ConnectionError: gone; the run goes on, everything is in "
        f"{folder}"
    )
    assert last == (
        f"{uri} does not have all of this run. Not recorded: passes 2 to 4, model, final "
        f"metrics, files. They are in {folder}."
    )
    assert len(store.client.get_metric_history(tracker.run_id, "dev.f1")) == 1


def test_tags_and_status(store):
    tags = store.run.data.tags
    assert store.run.info.status == "FINISHED"
    assert store.run.info.run_name == "ner-dca"
    assert tags["mlflow.parentRunId"] == "abc123"
    assert tags["pruned"] == "true"
    assert {"version.structopt", "version.python", "version.numpy", "version.numba"} <= set(tags)


def test_params_hold_no_noise(store, tmp_path):
    run = make_run(tmp_path / "run")
    config = {
        "tracker": {"name": "mlflow"},
        "sweep": {"resume": True},
        "resume": None,
        "label": None,
        "seed": 3,
    }
    tracker = MLflowTracker(uri=store.tracker.uri, experiment="exp")
    tracker.start(replace(run, config=config, parent="of a sweep", job=7))
    tracker.finish("FINISHED", {})
    found = store.client.get_run(tracker.run_id).data
    assert found.params == {"seed": "3"}
    assert (found.tags["mlflow.parentRunId"], found.tags["job"]) == ("of a sweep", "7")


def test_a_run_that_goes_on_stays_one_run(store, tmp_path):
    run = make_run(tmp_path / "run")
    first = MLflowTracker(uri=store.tracker.uri, experiment="exp")
    first.start(run)
    first.log_epoch(1, {"f1": 0.5})
    first._worker.close(60.0)  # as if it had been killed
    assert store.client.get_run(first.run_id).info.status == "RUNNING"
    again = MLflowTracker(uri=store.tracker.uri, experiment="exp")
    again.start(
        replace(run, config={**CONFIG, "loss": {"beta": math.inf, "gamma": 1}}, resumed=True)
    )
    again.log_epoch(2, {"f1": 0.75})
    again.finish("FINISHED", {})
    found = store.client.get_run(first.run_id)
    assert (again.run_id, found.info.status) == (first.run_id, "FINISHED")
    assert [point.value for point in store.client.get_metric_history(first.run_id, "f1")] == [
        0.5,
        0.75,
    ]
    assert (found.data.params["loss.gamma"], found.data.tags["resumed.loss.gamma"]) == ("0", "1")
    anew = MLflowTracker(uri=store.tracker.uri, experiment="exp")
    anew.start(run)
    anew.finish("FINISHED", {})
    assert anew.run_id != first.run_id


def test_the_run_of_a_sweep(store, tmp_path):
    def tracker():
        return MLflowTracker(uri=store.tracker.uri, experiment="exp")

    parent = tracker().open_sweep("sweep of seed", tmp_path, "structopt seed=0,1")
    child = tracker()
    child.start(replace(make_run(tmp_path / "run"), parent=parent, job=0))
    child._worker.close(60.0)  # as if it had been killed
    assert tracker().open_sweep("sweep of seed", tmp_path, "structopt seed=0,1", parent) == parent
    ended = store.client.get_run(child.run_id)
    assert (
        ended.info.status == "KILLED"
        and "`sweep.resume=true`" in ended.data.tags["mlflow.note.content"]
    )
    (tmp_path / "table.csv").write_text("x\n")
    tracker().close_sweep(parent, "FINISHED", {"jobs": 1.0}, [tmp_path / "table.csv"])
    found = store.client.get_run(parent)
    assert (found.info.status, found.info.run_name, found.data.metrics) == (
        "FINISHED",
        "sweep of seed",
        {"jobs": 1.0},
    )
    assert [file.path for file in store.client.list_artifacts(parent)] == ["table.csv"]
    tracker().drop_sweep(parent)
    assert store.client.get_run(parent).info.lifecycle_stage == "deleted"
    assert tracker().open_sweep("sweep of seed", tmp_path, "structopt seed=0,1", parent) != parent


def test_a_sweep_without_its_store(tmp_path, caplog):
    tracker = MLflowTracker(uri="http://127.0.0.1:9", timeout=1.0)
    assert tracker.open_sweep("sweep of seed", tmp_path, "structopt seed=0,1") == ""
    (warned,) = [
        record.getMessage()
        for record in caplog.records
        if "tracking stopped" in record.getMessage()
    ]
    assert str(tmp_path) in warned


def test_data_files_are_inputs(store):
    (only,) = store.run.inputs.dataset_inputs
    assert only.dataset.name == "run.train.txt"
    assert only.tags[0].value == "training"
    digest = store.run.data.tags["data.train.sha256"]
    assert len(digest) == 64 and digest.startswith(only.dataset.digest)
    assert json.loads(only.dataset.profile)["size"] == 4
    assert store.run.data.tags["data.train.size"] == "4"


def test_artifacts_lie_beside_the_store(store):
    listed = {file.path for file in store.client.list_artifacts(store.tracker.run_id)}
    assert {".hydra", "plots", "history.csv", "metrics.json", "train.log"} <= listed
    assert (store.root / "deep" / "mlartifacts").is_dir()


def test_model_holds_no_pickle(store):
    files = [
        path.name for path in (store.root / "deep" / "mlartifacts").rglob("*") if path.is_file()
    ]
    assert "weights.safetensors" in files and "MLmodel" in files
    assert not [name for name in files if name.endswith((".pkl", ".pickle", ".cloudpickle"))]


def test_model_reloads_and_labels(store, monkeypatch):
    import mlflow
    import pandas as pd

    import structopt

    loaded = []
    monkeypatch.setattr(
        structopt, "load", lambda path: loaded.append(path) or FakeModel(), raising=False
    )
    monkeypatch.setenv("MLFLOW_TRACKING_URI", store.tracker.uri)
    model = mlflow.pyfunc.load_model(f"runs:/{store.tracker.run_id}/model")
    source = store.root / "run" / "model" / "weights.safetensors"
    assert (Path(loaded[0]) / source.name).read_bytes() == source.read_bytes()
    frame = pd.DataFrame({"tokens": [["Ann", "sleeps"], ["ok"]], "pos": [["NNP", "VBZ"], ["JJ"]]})
    assert model.predict(frame)["labels"].tolist() == [["B", "O"], ["O"]]


def test_model_can_be_left_out_and_run_fails(tmp_path, store):
    tracker = MLflowTracker(
        uri=store.tracker.uri, experiment="exp", run_name="mine", log_model=False
    )
    tracker.start(make_run(tmp_path / "run"))
    tracker.log_model(tmp_path / "run" / "model")
    tracker.finish("FAILED", {})
    run = store.client.get_run(tracker.run_id)
    assert (run.info.status, run.info.run_name, run.outputs.model_outputs) == ("FAILED", "mine", [])


def test_a_model_that_cannot_be_logged_costs_nothing_else(tmp_path, store, caplog):
    tracker, run = (
        MLflowTracker(uri=store.tracker.uri, experiment="exp"),
        make_run(tmp_path / "run"),
    )
    (run.folder / "model" / "schema.json").write_text("{")
    tracker.start(run)
    tracker.log_model(run.folder / "model")
    tracker.finish("FINISHED", {"test.f1": 1.0})
    stored = store.client.get_run(tracker.run_id)
    assert (stored.info.status, stored.data.metrics["test.f1"]) == ("FINISHED", 1.0)
    assert "history.csv" in {file.path for file in store.client.list_artifacts(tracker.run_id)}
    first, last = [
        record.getMessage() for record in caplog.records if record.name == "structopt.tracker"
    ]
    assert "JSONDecodeError" in first and last.endswith(
        f"Not recorded: model. They are in {run.folder}."
    )


def test_failure_while_running_warns_once_and_closes_the_run(tmp_path, store, caplog):
    tracker = MLflowTracker(uri=store.tracker.uri, experiment="exp")
    tracker.start(make_run(tmp_path / "run"))
    tracker.log_epoch(1, {"f1": 10**400})  # no float can hold it
    tracker.log_epoch(2, {"f1": 0.75})
    tracker.finish("FINISHED", {"test.f1": 1.0})
    warned = [
        record.getMessage()
        for record in caplog.records
        if "tracking stopped" in record.getMessage()
    ]
    assert len(warned) == 1 and "OverflowError" in warned[0] and str(tmp_path / "run") in warned[0]
    assert store.client.get_run(tracker.run_id).info.status == "FINISHED"


UNREACHABLE = (
    "the server cannot be reached (it refuses connections)",
    "the store does not answer",
    "(no answer in time)",
)


@pytest.mark.nightly("rest")
@pytest.mark.parametrize(
    "uri", ["http://127.0.0.1:9", "silent", "nonsense://x", "sqlite:////proc/nowhere/x.db"]
)
def test_broken_store_costs_seconds(tmp_path, uri, caplog):
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(8)
        address = f"http://127.0.0.1:{listener.getsockname()[1]}" if uri == "silent" else uri
        begun = time.monotonic()
        tracker = MLflowTracker(uri=address, timeout=1.0)
        tracker.start(make_run(tmp_path / "run"))
        tracker.log_epoch(1, {"f1": 0.5})
        tracker.finish("FINISHED", {"f1": 0.5})
    assert time.monotonic() - begun < 20
    assert tracker.run_id is None
    first, last = [
        record.getMessage() for record in caplog.records if record.name == "structopt.tracker"
    ]
    assert first.startswith(f"tracking stopped: {address}: ") and first.endswith(
        f"everything is in {tmp_path / 'run'}"
    )
    assert any(text in first for text in UNREACHABLE) == address.startswith("http")
    assert last == f"{address} has nothing of this run. Everything is in {tmp_path / 'run'}."


PROCESS = """
import sys
from pathlib import Path
from structopt.core.data.splits import SplitPath
from structopt.core.data.table_schema import Column, Schema
from structopt.core.tracker import Run
from structopt.tracker.mlflow import MLflowTracker
tracker = MLflowTracker()
folder = Path(sys.argv[1])
(folder / "model").mkdir(parents=True)
(folder / "model" / "schema.json").write_text(sys.argv[2])
tracker.start(Run(folder, {"seed": 1}, {}, "job"))
tracker.log_epoch(1, {"f1": 0.5})
tracker.log_model(folder / "model")
tracker.finish("FINISHED", {})
print(tracker.run_id)
"""


@pytest.mark.nightly("rest")
def test_two_processes_make_one_store(tmp_path):
    root = str(Path(__file__).parents[2])
    environment = {**os.environ, "PYTHONPATH": root}
    commands = [
        [sys.executable, "-c", PROCESS, str(tmp_path / name), json.dumps(TABLES)] for name in "ab"
    ]
    jobs = [
        subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=-1, stderr=-1, text=True)
        for command in commands
    ]
    results = [job.communicate(timeout=55) for job in jobs]
    assert [stderr for _, stderr in results] == ["", ""]
    from mlflow import MlflowClient

    client = MlflowClient(tracking_uri=f"sqlite:///{tmp_path}/outputs/mlflow.db")
    assert all(client.get_run(stdout.strip()).data.metrics == {"f1": 0.5} for stdout, _ in results)
    assert (tmp_path / "outputs" / "mlartifacts").as_uri() in client.get_experiment_by_name(
        "structopt"
    ).artifact_location


def test_addresses_do_not_depend_on_the_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://elsewhere:5000")
    assert store_address(None) == "http://elsewhere:5000"
    assert store_address("sqlite:///a.db") == f"sqlite:///{tmp_path}/a.db"
    monkeypatch.delenv("MLFLOW_TRACKING_URI")
    assert store_address(None) == f"sqlite:///{tmp_path}/outputs/mlflow.db"
    assert store_address("sqlite:///a.db") == f"sqlite:///{tmp_path}/a.db"
    assert store_address("http://host:5000") == "http://host:5000"


def test_params_keep_empty_groups():
    assert params({"a": {"b": {"c": 1e-3}}, "d": {}}) == {"a.b.c": "0.001", "d": "{}"}


def test_finish_without_start_returns():
    begun = time.monotonic()
    tracker = MLflowTracker(uri="http://127.0.0.1:9")
    tracker.finish("FAILED", {})
    tracker.finish("FAILED", {})
    assert time.monotonic() - begun < 1.0


def test_interpreter_ends_cleanly_while_mlflow_is_imported(tmp_path):
    code = (
        "import sys; from structopt.tracker.mlflow import MLflowTracker; MLflowTracker(); "
        "sys.exit(2)"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (2, "")


@pytest.mark.parametrize("before", [None, "sqlite:///own.db"])
def test_looking_up_a_model_leaves_the_address_of_the_process(store, monkeypatch, before):
    import mlflow

    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    mlflow.set_tracking_uri(before)
    address = mlflow.get_tracking_uri()
    download_model(f"runs:/{store.tracker.run_id}/model", store.tracker.uri)
    assert mlflow.get_tracking_uri() == address
    mlflow.set_tracking_uri(None)


@pytest.mark.parametrize("uri", [None, "runs.db", "file:runs", "runs"])
def test_looking_up_a_model_creates_no_store(tmp_path, monkeypatch, uri, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    if uri:
        uri = f"sqlite:///{tmp_path}/{uri}" if uri.endswith(".db") else uri
        monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    (tmp_path / "in.txt").write_text("Ann\n")
    words = ["model=runs:/0123456789abcdef/model", "input=in.txt", "output=out.txt"]
    assert main.main(["predict", *words]) == 2
    assert main.main(["compare", "runs:/0123456789abcdef"]) == 2
    assert capsys.readouterr().err.count("this store does not exist") == 2
    assert [path.name for path in tmp_path.iterdir()] == ["in.txt"]
