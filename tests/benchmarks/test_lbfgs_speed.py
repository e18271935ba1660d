"""L-BFGS against CRFsuite's on one attribute file, in one run: `pytest
tests/benchmarks/test_lbfgs_speed.py -s`.

Seconds per evaluation of loss and gradient on one thread and on two, and what an iteration adds to
them. The peer's seconds per iteration are the difference of two runs, and contain its line searches
as ours do. Nothing here decides whether the tests pass.
"""

from __future__ import annotations

from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pytest

from structopt.executor.threads import Threads
from tests.benchmarks.attribute_file import component, peer_pass, problem, timed

pytest.importorskip("pycrfsuite", reason="python-crfsuite is the peer to compare with (extra: dev)")
pytestmark = pytest.mark.benchmark

# of which the first is not counted: it evaluates the start, too, and finds room for its vectors
ITERATIONS = 25


def test_evaluations_and_iterations(tmp_path: Path) -> None:
    made = problem("crf", 1.0)
    runs = {workers: _run(made, workers) for workers in (1, 2)}
    # sum of L + c2 ||theta||^2: C = 1/(2 c2)
    theirs = peer_pass("lbfgs", str(tmp_path / "model"), 5, 5 + ITERATIONS, c2=0.5)
    print(
        f"\n{made.m} instances, {made.scorer.count} weights; crfsuite lbfgs {theirs:.3f} s an "
        "iteration"
    )
    for workers, (seconds, evaluations) in runs.items():
        each, count = sum(evaluations, ()), len(seconds)
        evaluation, iteration, beside = (
            median(each),
            np.mean(seconds),
            (sum(seconds) - sum(each)) / count,
        )
        print(
            f"{workers} thread(s): {evaluation:.3f} s an evaluation, ratio "
            f"{evaluation / theirs:.2f}; ",
            end="",
        )
        print(f"{iteration:.3f} s an iteration, ratio {iteration / theirs:.2f}; ", end="")
        print(f"{len(each) / count:.2f} evaluations an iteration, {beside:.4f} s beside them")


def _run(made: Any, workers: int) -> tuple[list[float], list[tuple[float, ...]]]:
    """Seconds of every iteration but the first, and of the evaluations in each."""
    made.executor = Threads(workers)
    optimizer = component("optimizer", "lbfgs", C=1.0)
    state = optimizer.init(made, np.zeros(made.dimension))
    evaluations = []

    def step() -> None:
        evaluations.append(optimizer.step(made, state)[1].evaluations)

    seconds = [timed(step) for _ in range(1 + ITERATIONS)]
    return seconds[1:], evaluations[1:]
