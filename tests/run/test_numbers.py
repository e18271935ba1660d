"""Numbers that overflow, and proofs that are none: refused at reading, stopped in training, never
saved as a model.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import structopt
from structopt.command import main
from structopt.core.data import ranges
from structopt.errors import DataError, ModelError, NumericalError
from structopt.formats import durable_files
from structopt.formats.labelled_images import images_of, read_images
from structopt.loss.family import LossFamily
from structopt.optimizer.sgd import SGD
from structopt.run import history
from structopt.task.attributes import AttributeLabelling
from structopt.task.synthetic import Synthetic
from tests.stores import EmptyStores

pytestmark = pytest.mark.nightly("runs")

VECTORS = ["task=multiclass", "tracker=none"]
SMALL = "1 1:1 2:0.5\n2 1:-1 2:2\n1 1:1 3:1\n2 2:1\n"


def failed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main.main(words) == 2
    error = capsys.readouterr().err
    assert "Traceback" not in error and "Warning" not in error
    return error.removeprefix("structopt: ").strip()


@pytest.mark.parametrize(
    ("task", "name", "text", "message"),
    [
        (
            "attributes",
            "x.txt",
            "A\ta:1e300\n",
            ":1: the value '1e300' of attribute 'a' is above 1e+100 in absolute value",
        ),
        (
            "attributes",
            "x.txt",
            "A\ta\nB\tb:-1e101\n",
            ":2: the value '-1e101' of attribute 'b' is above 1e+100",
        ),
        (
            "multiclass",
            "x.txt",
            "1 1:1\n2 1:1e300\n",
            ":2: the value '1e300' of index 1 is above 1e+100 in absolute value",
        ),
        (
            "multilabel",
            "x.txt",
            "1,2 1:1\n2 1:2 2:-1e300\n",
            ":2: the value '-1e300' of index 2 is above 1e+100",
        ),
        (
            "multilabel",
            "x.arff",
            "@relation r\n@attribute a numeric\n@attribute l {0,1}\n@data\n1,0\n1e300,1\n",
            ":6: '1e300' is above 1e+100 in absolute value, too large to compute with, which 'a' "
            "needs: write a number.",
        ),
    ],
)
def test_files(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    task: str,
    name: str,
    text: str,
    message: str,
) -> None:
    path = tmp_path / name
    path.write_text(text)
    words = ["task.labels=1"] if name.endswith("arff") else []
    found = failed(
        capsys,
        f"task={task}",
        "tracker=none",
        f"task.train={path}",
        f"hydra.run.dir={tmp_path / 'run'}",
        *words,
    )
    assert found.startswith(f"{path}{message}")


def test_values_at_the_bound_are_read(tmp_path: Path) -> None:
    from structopt.formats.vectors import libsvm

    (tmp_path / "x").write_text("1 1:1e100 2:-1e100\n")
    assert libsvm.read(tmp_path / "x").values.tolist() == [1e100, -1e100]


def test_images(tmp_path: Path) -> None:
    pixels = np.array([0.0, 1e300])
    arrays = {"pixels": pixels, "shapes_x": np.array([[1, 1], [1, 1]]), "labels": np.array([0, 1])}
    np.savez(tmp_path / "x.npz", **arrays)
    with pytest.raises(
        DataError,
        match=r"x\.npz: 'pixels' must be finite numbers: 1e\+300 in image 2 is above 1e\+100",
    ):
        read_images(tmp_path / "x.npz")
    with pytest.raises(
        DataError, match=r"^<memory>:1: the pixel 1e\+300 of an image is above 1e\+100"
    ):
        images_of([np.full((1, 1), 1e300)])


def test_instances_in_memory() -> None:
    from structopt.formats.vectors.vectors_in_memory import vectors

    with pytest.raises(
        DataError, match=r"^<memory>:2: the value 1e\+300 of index 3 is above 1e\+100"
    ):
        vectors([{1: 1.0}, {3: 1e300}])
    with pytest.raises(DataError, match=r"^<memory>:2: the value 1e\+300 of 'a' is above 1e\+100"):
        AttributeLabelling().corpus([[["a"]], [{"a": 1e300}]])
    with pytest.raises(DataError, match=r"^<memory>:2: the value inf of x1 is not a finite number"):
        Synthetic(variables=2).corpus([[0.0, 1.0], [0.0, np.inf]])


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_first_fault(dtype: type) -> None:
    assert ranges.first_fault(np.array([1.0, -2.0], dtype)) == -1
    assert ranges.first_fault(np.array([1.0, np.inf], dtype)) == 1
    assert ranges.first_fault(np.array([np.nan, 1.0], dtype)) == 0


def test_finite_takes_sums_that_overflow() -> None:
    assert ranges.finite(np.array([1e308, 1e308])) and ranges.finite(np.zeros(0))
    assert not ranges.finite(np.array([np.inf, -np.inf])) and not ranges.finite(
        np.array([0.0, np.nan])
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["loss.beta=1e160"],
            r"loss.beta=1e+160 must be in (0, inf]: from 1e-12 to 1e+12, or inf.",
        ),
        (
            ["loss.gamma=1e13"],
            "loss.gamma=10000000000000.0 must be at least 0 and finite: from 0 to 1e+12.",
        ),
        (
            ["optimizer.C=1e-13"],
            "optimizer.C=1e-13 must be greater than 0 and finite: from 1e-12 to 1e+12.",
        ),
        (
            ["optimizer=sgd", "optimizer.eta=1e200"],
            "optimizer.eta=1e+200 must be greater than 0 and finite: from 1e-12",
        ),
        (
            ["optimizer=eg", "optimizer.initial=1e200"],
            "optimizer.initial=1e+200 must be a number from -1e+12 to 1e+12, auto or smo.",
        ),
        (
            ["loss.cost=weighted", "loss.cost_weights={O: 1e200}"],
            "loss.cost_weights.O=1e+200 must be at least 0 and finite: from 0 to 1e+12.",
        ),
    ],
)
def test_ranges(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    assert failed(capsys, "tracker=none", f"hydra.run.dir={tmp_path}", *words).startswith(message)


def test_ranges_reach_their_ends() -> None:
    for beta in (1e-12, 1e12, np.inf):
        LossFamily(beta=beta, gamma=1e12)
    SGD(eta=1e-12)


@pytest.fixture
def overflowing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sgd whose second pass leaves weights that are not numbers."""
    step = SGD.step

    def spoilt(self: SGD, problem: Any, state: Any) -> Any:
        state, report = step(self, problem, state)
        if state.epoch == 2:
            state.theta[:] = np.nan
        return state, report

    monkeypatch.setattr(SGD, "step", spoilt)


@pytest.mark.usefixtures("overflowing")
def test_an_overflow_stops_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No model is left, the checkpoint of the pass before is, and the message says what to do."""
    (tmp_path / "x").write_text(SMALL)
    words = [
        *VECTORS,
        f"task.train={tmp_path / 'x'}",
        f"hydra.run.dir={tmp_path / 'run'}",
        "optimizer=sgd",
        "optimizer.eta=0.1",
    ]
    assert failed(capsys, *words) == (
        "pass 2: the weights came out as nan, so that training cannot go on. Set a smaller "
        "optimizer.eta, or a smaller "
        "optimizer.C, which regularises more, or scale the features down "
        "(features.normalize=unit). "
        f"{tmp_path / 'run/checkpoint'} holds pass 1."
    )
    assert not (tmp_path / "run/model").exists() and not (tmp_path / "run/metrics.json").exists()
    assert (
        durable_files.read_arrays(tmp_path / "run/checkpoint/state.safetensors")[1]["progress"][
            "epoch"
        ]
        == 1
    )


@pytest.mark.usefixtures("overflowing")
def test_an_overflow_is_tracked_as_failed(tmp_path: Path, empty_store: EmptyStores) -> None:
    from mlflow import MlflowClient

    (tmp_path / "x").write_text(SMALL)
    store = empty_store(tmp_path / "store.db")
    words = [
        "task=multiclass",
        f"task.train={tmp_path / 'x'}",
        "optimizer=sgd",
        "optimizer.eta=0.1",
        f"tracker.uri={store}",
    ]
    with pytest.raises(NumericalError):
        structopt.train([*words, "tracker.experiment=overflow"], tmp_path / "run")
    client = MlflowClient(store)
    experiment = client.get_experiment_by_name("overflow")
    assert experiment is not None
    assert [run.info.status for run in client.search_runs([experiment.experiment_id])] == ["FAILED"]


def test_a_model_that_overflowed_is_told_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As earlier versions saved them."""
    (tmp_path / "x").write_text(SMALL)
    model = structopt.train(
        [*VECTORS, f"task.train={tmp_path / 'x'}", "optimizer.epochs=1"], tmp_path / "run"
    )
    model.weights[0] = np.nan
    model.save(tmp_path / "bad")
    with pytest.raises(
        ModelError,
        match=r"weights\.safetensors: 1 of \d+ weights are not finite numbers: the training of "
        r"this model",
    ):
        structopt.load(tmp_path / "bad")
    words = [
        "predict",
        f"model={tmp_path / 'bad'}",
        f"input={tmp_path / 'x'}",
        f"output={tmp_path / 'y'}",
    ]
    assert "weights are not finite numbers" in failed(capsys, *words)


def test_a_dual_above_the_objective(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    """Features so large that rounding is larger than the objective: nothing is certified, and
    nothing stops.
    """
    numbers, lines = random.Random(0), []
    for _ in range(12):
        tokens = numbers.randrange(1, 5)
        lines += [
            f"{numbers.choice('AB')}\tw={numbers.randrange(5)}:1e8\n" for _ in range(tokens)
        ] + ["\n"]
    (tmp_path / "x").write_text("".join(lines))
    words = [
        "task=attributes",
        f"task.train={tmp_path / 'x'}",
        "tracker=none",
        "optimizer=eg",
        "loss=crf",
    ]
    words += ["optimizer.epochs=12", "optimizer.eta=1", "optimizer.initial=-3", "optimizer.C=0.1"]
    assert (
        main.main([*words, "optimizer.tolerance=0.001", f"hydra.run.dir={tmp_path / 'run'}"]) == 0
    )
    said, rows = capsys.readouterr(), history.read(tmp_path / "run/history.csv")
    assert rows[-1]["primal"] < rows[-1]["dual"] and rows[-1]["gap"] is None and len(rows) == 12
    train = json.loads((tmp_path / "run/metrics.json").read_text())["train"]
    assert (
        train["gap"] is None
        and train["impossible_duals"] >= 1
        and train["dual"] == rows[-1]["dual"]
    )
    assert "above the minimum" not in said.out and "stopped" not in said.out
    assert (
        f"no bound of its minimum: in {train['impossible_duals']} epochs the dual was above the "
        "objective" in said.out
    )
    assert (said.err + caplog.text).count("which rounding alone does not explain") >= 1
    assert (
        durable_files.read_arrays(tmp_path / "run/checkpoint/state.safetensors")[1]["progress"][
            "gap"
        ]
        is None
    )
