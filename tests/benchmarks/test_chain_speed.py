"""Ratios against CRFsuite on one attribute file, in one run and one thread: `pytest
tests/benchmarks -s`.

Nothing here decides whether the tests pass.
"""

from __future__ import annotations

from pathlib import Path
from statistics import median

import numpy as np
import pytest

from structopt.config import registry
from structopt.objective.decoding import best_outputs
from tests.benchmarks.attribute_file import component, dev, peer_pass, problem, sentences, timed

pycrfsuite = pytest.importorskip(
    "pycrfsuite", reason="python-crfsuite is the peer to compare with (extra: dev)"
)
pytestmark = pytest.mark.benchmark

PASSES = {"dca": ("crf", "l2sgd"), "perceptron": ("perceptron", "ap"), "mira": ("svm", "pa")}


@pytest.mark.parametrize("name", PASSES)
def test_passes(name: str, tmp_path: Path) -> None:
    loss, algorithm = PASSES[name]
    optimizer = component("optimizer", name, C=0.1)
    made = problem(loss, 0.1, optimizer)
    state = optimizer.init(made, np.zeros(made.dimension))
    ours = [timed(lambda: optimizer.step(made, state)) for _ in range(9)]
    theirs = peer_pass(algorithm, str(tmp_path / "model"))
    mine = float(np.mean(ours[3:]))
    print(
        f"\none pass, the mean of the 4th to the 9th: {name} {mine:.3f} s, crfsuite {algorithm} "
        f"{theirs:.3f} s, ",
        end="",
    )
    print(f"ratio {mine / theirs:.2f} (median pass {median(ours):.3f} s)")


def test_decoding(tmp_path: Path) -> None:
    model = str(tmp_path / "model")
    peer_pass("l2sgd", model)
    tagger = pycrfsuite.Tagger()
    tagger.open(model)
    optimizer = component("optimizer", "dca", C=0.1)
    made = problem("crf", 0.1)
    state, _ = optimizer.step(made, optimizer.init(made, np.zeros(made.dimension)))
    items = [words for words, _ in sentences(1)]
    tokens, held_out, serial = (
        sum(map(len, items)),
        dev(made),
        registry.create("executor", {"name": "serial"}),
    )
    theirs = timed(lambda: [tagger.tag(words) for words in map(pycrfsuite.ItemSequence, items)])
    packed = [pycrfsuite.ItemSequence(words) for words in items]
    theirs_packed = min(timed(lambda: [tagger.tag(words) for words in packed]) for _ in range(3))
    mine = min(
        timed(lambda: best_outputs(held_out, made.kernels, optimizer.weights(state), serial))
        for _ in range(3)
    )
    print(
        f"\ndecoding: {tokens / mine:,.0f} tokens/s, crfsuite {tokens / theirs_packed:,.0f} on "
        "packed items"
    )
    print(
        f"ratio {theirs_packed / mine:.1f} ({theirs / mine:.1f} where its items are packed as "
        "they come)"
    )
