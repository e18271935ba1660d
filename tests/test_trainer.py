"""The loop over passes, with an optimizer that counts."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from structopt.core.protocols import Report
from structopt.errors import ModelError
from structopt.history import read
from structopt.trainer import Trainer


class Counting:
    """Adds one to its only weight a pass, in place."""

    def __init__(self, epochs: int) -> None:
        self.epochs = epochs

    def init(self, problem: Any, weights: Any) -> dict[str, Any]:
        return {"theta": weights.copy(), "count": 0}

    def step(self, problem: Any, state: dict[str, Any]) -> tuple[dict[str, Any], Report]:
        state["theta"] += 1
        state["count"] += 1
        return state, Report(loss=1.0 / state["count"], negative_losses=1)

    def weights(self, state: dict[str, Any]) -> Any:
        return state["theta"]


def trainer(folder: Path, epochs: int, scores: tuple[float, ...] = (), dimension: int = 1, **options: Any) -> Trainer:
    rows = SimpleNamespace(dimension=dimension, expand=lambda array: array, compress=lambda array: array)
    problem: Any = SimpleNamespace(examples=SimpleNamespace(rows=rows), objective=lambda weights, executor: float(weights[0]))
    develop = (lambda weights: {"f1": scores[int(weights[0]) - 1]}) if scores else None
    return Trainer(problem, Counting(epochs), None, folder, develop, **options)  # type: ignore[arg-type]


def test_passes(tmp_path: Path) -> None:
    one = trainer(tmp_path, 3, objective_every=2)
    one.start(np.zeros(1))
    assert one.run().tolist() == [3.0]
    assert [(row["epoch"], row["primal"]) for row in read(tmp_path / "history.csv")] == [(1, None), (2, 2.0), (3, 3.0)]
    assert (one.progress.epoch, one.progress.negative_losses, len(one.progress.passes)) == (3, 3, 3)


def test_no_passes(tmp_path: Path) -> None:
    one = trainer(tmp_path, 0)
    one.start(np.full(1, 7.0))
    assert one.run().tolist() == [7.0]
    assert not one.resume()


@pytest.mark.parametrize(("patience", "passes", "best"), [(1, 2, 1.0), (2, 5, 3.0), (3, 6, 3.0), (None, 8, 8.0)])
def test_patience(tmp_path: Path, patience: int | None, passes: int, best: float) -> None:
    """The best weights are kept as they were, though the optimizer goes on in the same array."""
    one = trainer(tmp_path, 8, (0.5, 0.4, 0.6, 0.6, 0.1, 0.2, 0.3, 0.4), patience=patience)
    one.start(np.zeros(1))
    assert (one.run().tolist(), one.progress.epoch) == ([best], passes)
    assert bool(one.progress.stopped) == (patience is not None)
    two = trainer(tmp_path, 9, (1.0,) * 9, patience=patience)
    assert two.resume() and two.weights().tolist() == [best]
    assert two.run().tolist() == [best if patience else 9.0]


def test_start_forgets(tmp_path: Path) -> None:
    one = trainer(tmp_path, 2, (0.1, 0.2), patience=5)
    one.start(np.zeros(1))
    one.run()
    one.start(np.zeros(1))
    assert (one.progress.epoch, one.best_weights, read(tmp_path / "history.csv")) == (0, None, [])
    assert not trainer(tmp_path, 2).resume()


def test_a_checkpoint_of_other_data(tmp_path: Path) -> None:
    one = trainer(tmp_path, 1)
    one.start(np.zeros(1))
    one.run()
    with pytest.raises(ModelError, match="not a checkpoint of this run"):
        trainer(tmp_path, 1, dimension=2).resume()
