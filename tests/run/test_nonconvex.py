"""Runs with ramp and risk from words to a folder: the convex start, warm starts, resuming across
the two.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from structopt.command import main
from structopt.run import history

QUICK = ["keep=last", "task=ner", "task.limit=150", "tracker=none"]


def metrics(folder: Path) -> dict[str, dict[str, Any]]:
    return json.loads((folder / "metrics.json").read_text())


def run(folder: Path, *words: str) -> dict[str, dict[str, Any]]:
    assert main.main([*QUICK, *words, f"hydra.run.dir={folder}"]) == 0
    return metrics(folder)


RAMP = (
    "loss=ramp",
    "optimizer=sgd",
    "optimizer.epochs=3",
    "loss.convex_passes=3",
    "objective_every=1",
)


@pytest.fixture(scope="module")
def convex(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of ten passes of dual coordinate ascent on the hinge loss."""
    folder = tmp_path_factory.mktemp("convex") / "run"
    run(folder, "loss=svm", "optimizer.epochs=10")
    return folder


@pytest.fixture(scope="module")
def ramp(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three passes of the hinge loss and three of the ramp loss."""
    folder = tmp_path_factory.mktemp("ramp") / "run"
    run(folder, *RAMP)
    return folder


@pytest.mark.nightly("runs")
@pytest.mark.parametrize(("loss", "optimizer"), [("risk", "sgd"), ("ramp", "adagrad")])
def test_from_zero_weights(
    loss: str, optimizer: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """F1 was 0: one label everywhere."""
    found = run(tmp_path / "run", f"loss={loss}", f"optimizer={optimizer}", "optimizer.epochs=5")
    assert found["dev"]["f1"] > 0.6
    assert (found["train"]["convex_passes"], found["train"]["epochs"]) == (10, 15)
    begins = "svm (beta=inf, gamma=1)" if loss == "ramp" else "softmax_margin (beta=1, gamma=1)"
    shown = capsys.readouterr()
    assert f"convex loss {begins}" in shown.out
    log = (tmp_path / "run/structopt.log").read_text()
    assert f"is not convex: 10 passes of {begins} come first (loss.convex_passes)." in log


def test_history_says_which_passes_are_which(ramp: Path, tmp_path: Path) -> None:
    """`primal` is the objective of the ramp loss in every row, also where the hinge loss is
    minimised.
    """
    rows = history.read(ramp / "history.csv")
    assert [row["convex_pass"] for row in rows] == [1, 2, 3, None, None, None]
    assert all(row["dual"] is None and row["gap"] is None for row in rows)
    primal = [row["primal"] for row in rows]
    assert primal[-1] == metrics(ramp)["train"]["objective"]
    assert primal[-1] < primal[2]
    hinge = run(tmp_path / "hinge", "loss=svm", "optimizer=sgd", "optimizer.epochs=3")["train"][
        "objective"
    ]
    assert primal[2] < hinge  # of the same weights


@pytest.mark.nightly("rest")
def test_resumes_to_the_same_bits(ramp: Path, tmp_path: Path) -> None:
    """From passes on both sides of the boundary, and from the boundary itself."""
    for passes in (2, 3, 4):
        folder = tmp_path / str(passes)
        stopped(folder, passes, [*QUICK, *RAMP])
        assert len(history.read(folder / "history.csv")) == passes
        assert main.main([f"resume={folder}"]) == 0
        weights = "model/weights.safetensors"
        assert (folder / weights).read_bytes() == (ramp / weights).read_bytes()
        resumed, whole = (history.read(one / "history.csv") for one in (folder, ramp))
        assert [without_times(row) for row in resumed] == [without_times(row) for row in whole]


def without_times(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if "seconds" not in name}


def stopped(folder: Path, passes: int, words: list[str]) -> None:
    """A run that is cut off after some passes."""
    from structopt.config import composition, saved_config, validation
    from structopt.run import stages

    class Cut(Exception):
        pass

    config = validation.validate(composition.compose(words))
    saved_config.save(config, folder)

    def cut(row: Any) -> str:
        if row["epoch"] > passes:
            raise Cut
        return ""

    with pytest.raises(Cut):
        stages.train(config, folder, cut)


@pytest.mark.nightly("runs")
def test_a_warm_start_is_the_start(convex: Path, tmp_path: Path) -> None:
    found = run(
        tmp_path / "run", "loss=ramp", "optimizer=sgd", f"warm_start={convex}", "optimizer.epochs=2"
    )
    assert "convex_passes" not in found["train"]
    assert "convex_pass" not in history.read(tmp_path / "run/history.csv")[0]


@pytest.mark.nightly("runs")
@pytest.mark.parametrize("optimizer", ["adagrad", "sgd"])
def test_gains_over_a_warm_start(optimizer: str, convex: Path, tmp_path: Path) -> None:
    """AdaGrad fell from 91.2 to 10.6."""
    start = run(
        tmp_path / "start",
        "loss=ramp",
        f"optimizer={optimizer}",
        f"warm_start={convex}",
        "optimizer.epochs=0",
    )
    found = run(
        tmp_path / "run",
        "loss=ramp",
        f"optimizer={optimizer}",
        f"warm_start={convex}",
        "optimizer.epochs=5",
    )
    assert found["train"]["objective"] < start["train"]["objective"]
    assert found["dev"]["f1"] > start["dev"]["f1"] - 0.02


@pytest.mark.nightly("runs")
def test_repeated_passes_are_counted(
    convex: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [
        "loss=ramp",
        "optimizer=adagrad",
        "optimizer.eta=5",
        f"warm_start={convex}",
        "optimizer.epochs=2",
    ]
    found = run(tmp_path / "run", *words)
    count = found["train"]["repeated_passes"]
    assert count > 0
    line = f"epochs that raised the objective and were repeated with shorter steps: {count}"
    assert line in capsys.readouterr().out
    assert (
        "raised the objective; repeated with shorter steps"
        in (tmp_path / "run/structopt.log").read_text()
    )
    unguarded = run(tmp_path / "other", *words, "objective_every=0")
    assert "repeated_passes" not in unguarded["train"]
    assert unguarded["train"]["objective"] > found["train"]["objective"]
