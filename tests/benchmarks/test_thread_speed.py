"""Verbs with several threads next to one: `pytest tests/benchmarks/test_thread_speed.py -s`.

Use an idle machine. Nothing here decides whether the tests pass but the agreement of the bits.
"""

from __future__ import annotations

from statistics import median

import numpy as np
import pytest

import structopt as so
from structopt.verbs.given_scores import cores
from tests.benchmarks.measurement import seconds_of

pytestmark = pytest.mark.benchmark

TURNS = 15


@pytest.mark.parametrize(
    ("instances", "tokens", "labels"), [(1000, 50, 45), (1000, 20, 45), (64, 32, 45), (64, 32, 9)]
)
def test_chains(instances: int, tokens: int, labels: int) -> None:
    generator = np.random.default_rng(0)
    batch = so.LinearChain().batch(lengths=[tokens] * instances, labels=labels)
    s = batch.scores(
        label=generator.normal(size=(instances, tokens, labels)),
        transition=generator.normal(size=(labels, labels)),
    )
    counts = sorted({1, 2, cores(), 4 * cores()})
    seconds: dict[int, list[float]] = {count: [] for count in counts}
    expected = so.marginals(s).flat
    for count in counts:
        assert np.array_equal(so.marginals(s, threads=count).flat, expected)
    for _ in range(TURNS):  # in turns, since the speed of a machine changes
        for count in counts:
            seconds[count].append(seconds_of(lambda count=count: so.marginals(s, threads=count)))
    print(f"\n{instances} chains, {tokens} tokens, {labels} labels, {cores()} cores:", end="")
    for count in counts:
        ratio = min(seconds[1]) / min(seconds[count])
        print(f" {count} threads {1e3 * min(seconds[count]):.2f} ms", end="")
        print(f" (median {1e3 * median(seconds[count]):.2f}, {ratio:.2f} times as fast);", end="")
    print()
