"""Training runs from words to a folder: what they leave, resume, interrupts, early stopping, seeds,
threads.
"""

from __future__ import annotations

import csv
import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import structopt
from structopt import datasets
from structopt.command import main
from structopt.config.composition import compose
from structopt.config.validation import validate
from structopt.errors import ConfigError
from structopt.formats import durable_files
from structopt.learning.guarded import Guarded
from structopt.objective.problem import Problem
from structopt.run import history, stages
from structopt.run.held_out import HeldOut
from structopt.run.training_run import TrainingRun
from structopt.tracker.none import NoTracker
from tests.interrupts import hear_interrupts

QUICK = ("task=ner", "task.limit=60", "tracker=none")
MODEL = ("config.json", "manifest.json", "schema.json", "vocabulary.json", "weights.safetensors")
LAST = 12  # pass; more than are done before a signal arrives, on a slow machine too
BIG = ["task=ner", "tracker=none", f"optimizer.epochs={LAST}"]


def train(folder: Path, *words: str) -> Any:
    return structopt.train([*QUICK, "optimizer.epochs=3", *words], folder)


def model_bytes(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((folder / "model").iterdir())}


def weights_bytes(folder: Path) -> bytes:
    return (folder / "model/weights.safetensors").read_bytes()


def metrics(folder: Path) -> dict[str, dict[str, Any]]:
    return json.loads((folder / "metrics.json").read_text())


def failed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main.main(words) == 2
    error = capsys.readouterr().err
    assert "Traceback" not in error
    last = error.splitlines()[-1]  # what was decided about the columns may stand before it
    assert last.startswith("structopt: ")
    return last.removeprefix("structopt: ")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of three passes, started as a user would."""
    folder = tmp_path_factory.mktemp("run") / "made"
    assert main.main([*QUICK, "optimizer.epochs=3", f"hydra.run.dir={folder}"]) == 0
    return folder


def test_what_a_run_leaves(run: Path) -> None:
    names = {path.relative_to(run).as_posix() for path in run.rglob("*") if path.is_file()}
    assert {
        "metrics.json",
        "history.csv",
        "plots/learning_curve.png",
        ".hydra/config.yaml",
        ".hydra/overrides.yaml",
        "structopt.log",
        *(f"model/{name}" for name in MODEL),
    } <= names
    assert {name for name in names if name.startswith("model/")} == {
        f"model/{name}" for name in MODEL
    }
    assert any(name.startswith("checkpoint/") for name in names)
    assert not [name for name in names if name.endswith((".partial", ".tmp"))]
    assert (run / "plots/learning_curve.png").read_bytes().startswith(b"\x89PNG")
    assert "pass epoch 3" in (run / "structopt.log").read_text()


def test_metrics(run: Path) -> None:
    found = metrics(run)
    assert set(found) == {"train", "dev", "test"}
    assert set(found["train"]) == {
        "objective",
        "dual",
        "gap",
        "epochs",
        "kept_epoch",
        "seconds",
        "seconds_per_epoch",
        "seconds_per_evaluation",
        "overhead_per_epoch",
        "instances",
        "features",
        "featurize_seconds",
        "negative_losses",
    }
    assert (
        found["train"]["epochs"],
        found["train"]["instances"],
        found["train"]["negative_losses"],
    ) == (3, 60, 0)
    for part in ("dev", "test"):
        assert {"f1", "precision", "recall", "accuracy"} <= set(found[part])
        assert all(0 <= value <= 1 for value in found[part].values())


def test_history(run: Path) -> None:
    with (run / "history.csv").open() as stream:
        header = next(csv.reader(stream))
    assert header[:7] == ["epoch", "seconds", "inference_seconds", "loss", "primal", "dual", "gap"]
    assert all(name.startswith("dev.") for name in header[7:]) and "dev.f1" in header
    rows, found = history.read(run / "history.csv"), metrics(run)
    assert [row["epoch"] for row in rows] == [1, 2, 3]
    assert rows[-1]["primal"] == pytest.approx(found["train"]["objective"], rel=1e-12)
    assert rows[-1]["dev.f1"] == found["dev"]["f1"]
    assert rows[-1]["seconds"] == found["train"]["seconds"]
    seconds = [row["seconds"] for row in rows]
    assert seconds == sorted(seconds)
    assert rows[-1]["primal"] < rows[0]["primal"]


def test_equal_runs_give_equal_bytes(run: Path, tmp_path: Path) -> None:
    first = tmp_path / "elsewhere" / "a much longer name"
    copies = {part: tmp_path / f"copy-{part}.conll" for part in datasets.SPLITS}
    for part, copy in copies.items():
        shutil.copy(datasets.path(part, "conll"), copy)
    train(first, *(f"task.{part}={copy}" for part, copy in copies.items()))
    assert model_bytes(first) == model_bytes(run)
    assert set(model_bytes(first)) == set(MODEL)
    everything = b"".join(model_bytes(first).values())
    for trace in (str(tmp_path), str(run.parent), str(Path.home()), "copy-train", "/tmp", "/work"):
        assert trace.encode() not in everything


def test_seeds(run: Path, tmp_path: Path) -> None:
    train(tmp_path / "other", "seed=1")
    assert weights_bytes(tmp_path / "other") != weights_bytes(run)
    assert model_bytes(tmp_path / "other")["vocabulary.json"] == model_bytes(run)["vocabulary.json"]


def test_threads_change_nothing(run: Path, tmp_path: Path) -> None:
    model = train(tmp_path, "threads=2")
    assert weights_bytes(tmp_path) == weights_bytes(run)
    one, two = metrics(run), metrics(tmp_path)
    assert (two["dev"], two["test"]) == (one["dev"], one["test"])
    assert two["train"]["objective"] == pytest.approx(one["train"]["objective"], rel=1e-9)
    words = [["Jan", "von", "Purnman", "visited", "Klelville", "."]]
    assert model.predict(words) == structopt.load(run).predict(words)


def test_without_a_dev_part(tmp_path: Path) -> None:
    train(tmp_path, f"task.train={datasets.path('train', 'conll')}")
    assert set(metrics(tmp_path)) == {"train"}
    assert list(history.read(tmp_path / "history.csv")[0]) == [
        "epoch",
        "seconds",
        "inference_seconds",
        "loss",
        "primal",
        "dual",
        "gap",
    ]
    assert (tmp_path / "plots/learning_curve.png").is_file()


@pytest.mark.parametrize(("every", "guarded"), [("auto", True), (1, True), (2, False), (0, False)])
def test_epochs_are_guarded_if_the_objective_is_known_after_each(
    every: int | str, guarded: bool
) -> None:
    words = [*QUICK, "optimizer=sgd", "optimizer.eta=0.1", f"objective_every={every}"]
    config = validate(compose(words))
    run = TrainingRun(config, stages.make_components(config))
    data: Any = SimpleNamespace(
        problem=SimpleNamespace(m=60, loss=run.components.loss), beginning=None
    )
    assert isinstance(run.optimizer(data), Guarded) == guarded


@pytest.mark.parametrize(
    ("value", "problem"), [("-1", "must be at least 0"), ("often", "auto"), ("1.5", "auto")]
)
def test_values_of_objective_every_are_refused(value: str, problem: str) -> None:
    with pytest.raises(ConfigError, match="objective_every") as error:
        validate(compose([*QUICK, f"objective_every={value}"]))
    assert problem in str(error.value)


def test_scores_that_epochs_computed_are_not_computed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P after epochs 1, 2, 4 and 5, and of the result; a resumed run, which trains nothing, computes
    the same.
    """
    counts = {"objective": 0, "scores": 0}

    def counted(name: str, evaluate: Any) -> Any:
        def evaluation(*arguments: Any, **named: Any) -> Any:
            counts[name] += 1
            return evaluate(*arguments, **named)

        return evaluation

    monkeypatch.setattr(Problem, "objective", counted("objective", Problem.objective))
    monkeypatch.setattr(HeldOut, "scores", counted("scores", HeldOut.scores))
    words = [f"task.{part}={datasets.path(part, 'conll')}" for part in ("train", "dev")]
    train(tmp_path, *words, "optimizer.epochs=5", "keep=last")
    assert counts == {"objective": 5, "scores": 5}
    found = metrics(tmp_path)
    monkeypatch.undo()
    stages.resume(tmp_path, ["tracker=none"])
    again = metrics(tmp_path)
    assert (again["train"]["objective"], again["dev"]) == (
        found["train"]["objective"],
        found["dev"],
    )


@pytest.mark.nightly("runs")
def test_objective_at_the_end_only(run: Path, tmp_path: Path) -> None:
    train(tmp_path, "objective_every=0")
    primal = [row["primal"] for row in history.read(tmp_path / "history.csv")]
    assert primal[:2] == [None, None]
    assert primal[2] == history.read(run / "history.csv")[2]["primal"]


@pytest.mark.nightly("runs")
def test_early_stopping_returns_the_best_pass(tmp_path: Path) -> None:
    train(tmp_path / "stopped", "optimizer.epochs=40", "patience=1")
    rows = history.read(tmp_path / "stopped/history.csv")
    scores = [row["dev.f1"] for row in rows]
    assert len(rows) < 40
    assert scores[-1] <= max(scores[:-1]) == scores[-2]
    train(tmp_path / "best", f"optimizer.epochs={len(rows) - 1}")
    assert weights_bytes(tmp_path / "stopped") == weights_bytes(tmp_path / "best")
    assert metrics(tmp_path / "stopped")["dev"]["f1"] == max(scores)
    train(tmp_path / "last", "optimizer.epochs=40", "patience=1", "optimizer.average=false")
    rows = history.read(tmp_path / "last/history.csv")
    assert (
        metrics(tmp_path / "last")["dev"]["f1"]
        == max(row["dev.f1"] for row in rows)
        > rows[-1]["dev.f1"]
    )
    before = model_bytes(tmp_path / "stopped")
    assert main.main([f"resume={tmp_path / 'stopped'}"]) == 0
    assert model_bytes(tmp_path / "stopped") == before


class Stops:
    """Prunes a trial after its first epoch."""

    verdict = ""

    def __call__(self, row: Any) -> str:
        self.verdict = "pruned: dev f1 is hopeless"
        return self.verdict


def test_a_pruned_trial_is_tagged_and_keeps_no_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tags, folder = [], tmp_path / "run"
    (folder / "model").mkdir(parents=True)  # of an interrupted attempt
    monkeypatch.setattr(NoTracker, "tag", lambda self, *tag: tags.append(tag))
    monkeypatch.setattr(NoTracker, "log_model", lambda self, folder: tags.append(folder))
    config = validate(compose([*QUICK, "optimizer.epochs=3"]))
    stages.train(config, folder, judge=Stops(), pictures=False)
    assert tags == [("pruned", "true")]
    assert not (folder / "model").exists() and not (folder / "checkpoint").exists()
    assert len(history.read(folder / "history.csv")) == 1 and metrics(folder)["dev"]


def test_patience_needs_a_dev_split(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [
        *QUICK,
        f"task.train={datasets.path('train', 'conll')}",
        "patience=2",
        f"hydra.run.dir={tmp_path}",
    ]
    assert failed(capsys, *words).startswith("patience=2 needs a dev split")


def test_one_folder_twice(run: Path, tmp_path: Path) -> None:
    """A run into the folder of an earlier one begins anew, and does not go on from that one's
    checkpoint.
    """
    train(tmp_path, "seed=5", "optimizer.epochs=4")
    assert main.main([*QUICK, "optimizer.epochs=0", f"hydra.run.dir={tmp_path}"]) == 0
    assert not structopt.load(tmp_path).weights.any()
    assert main.main([f"resume={tmp_path}", "optimizer.epochs=3"]) == 0
    assert weights_bytes(tmp_path) == weights_bytes(run)
    assert len(history.read(tmp_path / "history.csv")) == 3


# Resuming


def test_a_finished_run_says_so(
    run: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(stages, "train", lambda config, folder, resuming: None)
    stages.resume(run, ["optimizer.epochs=4"])
    assert not caplog.messages
    stages.resume(run, [])
    assert caplog.messages == [
        f"structopt: {run} has made its 3 passes; for more of them: optimizer.epochs=N"
    ]


def test_resume_of_a_finished_run(run: Path, tmp_path: Path) -> None:
    shutil.copytree(run, tmp_path / "same")
    assert main.main([f"resume={tmp_path / 'same'}"]) == 0
    assert model_bytes(tmp_path / "same") == model_bytes(run)
    train(tmp_path / "longer", "optimizer.epochs=5")
    assert main.main([f"resume={tmp_path / 'same'}", "optimizer.epochs=5", "threads=2"]) == 0
    assert weights_bytes(tmp_path / "same") == weights_bytes(tmp_path / "longer")
    keep = ("epoch", "loss", "dev.f1")
    rows = [
        [{k: row[k] for k in keep} for row in history.read(tmp_path / name / "history.csv")]
        for name in ("same", "longer")
    ]
    assert rows[0] == rows[1]


def test_resume_before_the_first_pass(run: Path, tmp_path: Path) -> None:
    shutil.copytree(run / ".hydra", tmp_path / ".hydra")
    assert main.main([f"resume={tmp_path}"]) == 0
    assert model_bytes(tmp_path) == model_bytes(run)


@pytest.mark.nightly("rest")
def test_resume_with_a_history_ahead_of_the_checkpoint(run: Path, tmp_path: Path) -> None:
    """Killed between the row and the checkpoint of a pass, or within a row."""
    train(tmp_path, "optimizer.epochs=2")
    with (tmp_path / "history.csv").open("a") as stream:
        stream.write((run / "history.csv").read_text().splitlines()[3] + "\n3,0.1,,4")
    assert main.main([f"resume={tmp_path}", "optimizer.epochs=3"]) == 0
    assert weights_bytes(tmp_path) == weights_bytes(run)
    assert [row["epoch"] for row in history.read(tmp_path / "history.csv")] == [1, 2, 3]


@pytest.mark.nightly("runs")
def test_resume_with_patience(tmp_path: Path) -> None:
    """The best weights so far are part of the checkpoint."""
    train(tmp_path / "whole", "optimizer.epochs=6", "patience=5")
    train(tmp_path / "parts", "optimizer.epochs=4", "patience=5")
    assert main.main([f"resume={tmp_path / 'parts'}", "optimizer.epochs=6"]) == 0
    assert weights_bytes(tmp_path / "parts") == weights_bytes(tmp_path / "whole")


@pytest.mark.parametrize(
    "word", ["seed=1", "optimizer.C=2", "task.limit=3", "loss=svm", "optimizer=sgd", "patience=2"]
)
def test_resume_refuses(run: Path, capsys: pytest.CaptureFixture[str], word: str) -> None:
    before = (run / "history.csv").read_bytes()
    message = failed(capsys, f"resume={run}", word)
    key = word.partition("=")[0]
    assert message.startswith(
        f"'{word}' is refused: a run that goes on keeps its saved config, which has {key}="
    )
    assert (run / "history.csv").read_bytes() == before


def test_resume_of_no_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "this is no run folder. Name the folder that holds checkpoint/ and .hydra/." in failed(
        capsys, f"resume={tmp_path}"
    )


@pytest.mark.parametrize("kept", [0.0, 0.01, 0.5, 0.99])
def test_a_truncated_checkpoint(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], kept: float
) -> None:
    folder = shutil.copytree(run, tmp_path / "run")
    checkpoint = folder / "checkpoint/state.safetensors"
    data = checkpoint.read_bytes()
    checkpoint.write_bytes(data[: int(kept * len(data))])
    message = failed(capsys, f"resume={folder}", "optimizer.epochs=4")
    assert message.startswith(f"{checkpoint}: truncated or damaged")
    assert weights_bytes(folder) == weights_bytes(run)


@pytest.mark.nightly("runs")
def test_a_checkpoint_of_something_else(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A checkpoint that is whole but not of this run: other data, or no checkpoint at all."""
    folder = shutil.copytree(run, tmp_path / "run")
    checkpoint = folder / "checkpoint/state.safetensors"
    train(tmp_path / "other", "task.limit=20")
    shutil.copy(tmp_path / "other/checkpoint/state.safetensors", checkpoint)
    assert str(checkpoint) in failed(capsys, f"resume={folder}", "optimizer.epochs=4")
    durable_files.write_arrays(checkpoint, {"weights": np.zeros(3)})
    assert str(checkpoint) in failed(capsys, f"resume={folder}", "optimizer.epochs=4")


def start(folder: Path, words: list[str]) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "structopt", *words, f"hydra.run.dir={folder}"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(
        command, cwd=folder.parent, text=True, preexec_fn=hear_interrupts, **pipes
    )


def stop_after(
    process: subprocess.Popen[str], folder: Path, passes: int, number: signal.Signals
) -> None:
    """Send a signal once the history has so many rows."""
    end = time.monotonic() + 120
    while time.monotonic() < end and process.poll() is None:
        path = folder / "history.csv"
        if path.exists() and path.read_bytes().count(b"\n") > passes:
            break
        time.sleep(0.002)
    process.send_signal(number)


@pytest.fixture(scope="module")
def long_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("long")
    structopt.train(BIG, folder)
    return folder


@pytest.mark.nightly("storms")
def test_killed_and_resumed(long_run: Path, tmp_path: Path) -> None:
    folder = tmp_path / "killed"
    process = start(folder, BIG)
    stop_after(process, folder, 2, signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert not (folder / "metrics.json").exists()
    assert 2 <= len(history.read(folder / "history.csv")) < LAST
    assert main.main([f"resume={folder}"]) == 0
    assert model_bytes(folder) == model_bytes(long_run)
    assert (metrics(folder)["dev"], metrics(folder)["test"]) == (
        metrics(long_run)["dev"],
        metrics(long_run)["test"],
    )
    assert metrics(folder)["train"]["epochs"] == LAST


@pytest.mark.nightly("storms")
def test_interrupted_and_resumed(long_run: Path, tmp_path: Path) -> None:
    folder = tmp_path / "interrupted"
    process = start(folder, BIG)
    stop_after(process, folder, 2, signal.SIGINT)
    error = process.communicate()[1]
    assert process.returncode == 130, error
    assert f"resume={folder}" in error
    assert "Traceback" not in error
    found = structopt.load(folder).evaluate(datasets.path("dev", "conll"))
    assert found == metrics(folder)["dev"]
    assert 1 <= metrics(folder)["train"]["epochs"] < LAST
    assert len(history.read(folder / "history.csv")) == metrics(folder)["train"]["epochs"]
    assert main.main([f"resume={folder}"]) == 0
    assert model_bytes(folder) == model_bytes(long_run)


def test_interrupted_in_the_first_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The evaluation of the first pass is interrupted: nothing is finished, and the model is the
    start.
    """

    def interrupt(self: HeldOut, split: str, weights: Any) -> dict[str, float]:
        monkeypatch.undo()
        raise KeyboardInterrupt

    monkeypatch.setattr(HeldOut, "scores", interrupt)
    assert main.main([*QUICK, f"hydra.run.dir={tmp_path}"]) == 130
    assert metrics(tmp_path)["train"]["epochs"] == 0
    assert metrics(tmp_path)["train"]["seconds_per_epoch"] is None
    assert not structopt.load(tmp_path).weights.any()
