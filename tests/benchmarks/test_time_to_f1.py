"""Seconds to a dev F1 of .9043 on the attribute file, reading included: `adagrad`, and `pa`, the
best learner of CRFsuite.

Both have a weight for every pair of attribute and label; scoring the dev part is not counted.
Nothing here decides whether the tests pass.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
import pytest

from structopt.metrics import entities
from structopt.process.garbage import rarely_collected
from tests.benchmarks.attribute_file import (
    component,
    dev_f1,
    peer,
    problem,
    read_sentences,
    sentences,
    timed,
    training,
)

pycrfsuite = pytest.importorskip(
    "pycrfsuite", reason="python-crfsuite is the peer to compare with (extra: dev)"
)
without_file = "STRUCTOPT_ATTRIBUTES" not in os.environ
pytestmark = [
    pytest.mark.benchmark,
    pytest.mark.skipif(
        without_file, reason="the F1 is one of the file that STRUCTOPT_ATTRIBUTES names"
    ),
]
GOAL, MOST = 0.9043, 6
ALL_PAIRS = {"feature.possible_states": 1, "feature.possible_transitions": 1}
PASSES = (10, 20, 30, 35, 40, 50, 60)


def ours() -> tuple[float, int, float]:
    """Seconds, passes and F1 of `adagrad` until it reaches the goal."""
    optimizer = component("optimizer", "adagrad", C=1.0, eta=0.05)
    made = problem("svm", 1.0, optimizer, support="all")  # no second is charged for the compiler
    optimizer.step(made, optimizer.init(made, np.zeros(made.dimension)))
    begin = time.perf_counter()
    made = problem("svm", 1.0, optimizer, training()[1], support="all")
    states = [optimizer.init(made, np.zeros(made.dimension))]
    spent, passes, found = time.perf_counter() - begin, 0, 0.0
    while found < GOAL and passes < MOST:
        spent += timed(lambda: states.append(optimizer.step(made, states.pop())[0]))
        passes, found = passes + 1, dev_f1(made, optimizer.weights(states[0]))
    return spent, passes, found


def theirs(model: str) -> float:
    """Seconds of CRFsuite's `pa`, with the first of a few numbers of passes after which it reaches
    the goal.
    """
    for passes in PASSES:
        spent = timed(
            lambda passes=passes: peer("pa", passes, read_sentences(0), **ALL_PAIRS).train(model)
        )  # type: ignore[misc]
        tagger = pycrfsuite.Tagger()
        tagger.open(model)
        found = entities.score(
            [labels for _, labels in sentences(1)], [tagger.tag(items) for items, _ in sentences(1)]
        )["f1"]
        print(f"pa, {passes} passes: {spent:.1f} s, F1 {found:.4f}")
        if found >= GOAL:
            break
    return spent


def test_time_to_f1(tmp_path: Path) -> None:
    print()
    with rarely_collected():  # as in every command
        spent, passes, found = ours()
        print(f"adagrad, {passes} passes: {spent:.2f} s, F1 {found:.4f}")
        print(f"ratio {theirs(str(tmp_path / 'model')) / spent:.1f}")
