"""The paired bootstrap: calibrated where nothing differs, sensitive where something does; Holm's
correction by hand.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import pytest

from structopt.kernels.waist.record import Array
from structopt.metrics.entities import outcomes, score
from structopt.report.bootstrap import difference, holm, resampled

pytestmark = pytest.mark.nightly("rest")


@dataclass(frozen=True)
class Counts:
    """Right, predicted and gold entities of every instance."""

    table: Array

    def __len__(self) -> int:
        return len(self.table)

    def scores(self, times: Array | None = None) -> dict[str, float]:
        right, predicted, gold = self.table.sum(axis=0) if times is None else times @ self.table
        return {"f1": 2 * right / (predicted + gold)}


def two_systems(
    generator: np.random.Generator, instances: int, first: float, second: float
) -> tuple[Counts, Counts]:
    """Two systems that find an entity with given chances, on the same instances."""
    gold = generator.integers(1, 6, instances)
    tables = [
        np.stack([generator.binomial(gold, chance), gold, gold], axis=1).astype(float)
        for chance in (first, second)
    ]
    return Counts(tables[0]), Counts(tables[1])


def p_value(first: Counts, second: Counts, samples: int = 200, seed: int = 0) -> float:
    drawn = [resampled(one, "f1", samples, seed) for one in (first, second)]
    return difference(second.scores()["f1"] - first.scores()["f1"], drawn[1] - drawn[0]).p


def test_p_is_uniform_where_the_systems_do_not_differ() -> None:
    stats = pytest.importorskip("scipy.stats")
    generator = np.random.default_rng(0)
    values = [p_value(*two_systems(generator, 150, 0.8, 0.8), seed=trial) for trial in range(300)]
    assert stats.kstest(values, "uniform").pvalue > 0.01
    assert 0.02 < np.mean(np.array(values) < 0.05) < 0.09


def test_a_real_difference_is_found_and_lies_in_its_interval() -> None:
    generator = np.random.default_rng(1)
    values, covered = [], []
    for trial in range(60):
        first, second = two_systems(generator, 300, 0.80, 0.87)
        drawn = resampled(second, "f1", 300, trial) - resampled(first, "f1", 300, trial)
        one = difference(second.scores()["f1"] - first.scores()["f1"], drawn)
        values.append(one.p)
        covered.append(one.low < 0.07 < one.high)
    assert np.mean(np.array(values) < 0.05) > 0.9  # by the normal approximation 0.98 of them
    assert np.mean(covered) > 0.85


def test_pairing_makes_the_difference_of_like_systems_small() -> None:
    """Two systems that are wrong on the same sentences but one: an unpaired test would drown it."""
    first, _ = two_systems(np.random.default_rng(2), 400, 0.8, 0.8)
    second = Counts(first.table.copy())
    few = np.flatnonzero(second.table[:, 0] < second.table[:, 2])[:20]
    second.table[few, 0] += 1
    assert p_value(first, second, 500) < 0.01
    # other instances: not paired
    drawn = resampled(second, "f1", 500, 0) - resampled(first, "f1", 500, 1)
    assert difference(second.scores()["f1"] - first.scores()["f1"], drawn).p > 0.05


def test_equal_systems_and_the_least_p() -> None:
    first, _ = two_systems(np.random.default_rng(3), 50, 0.8, 0.8)
    assert p_value(first, first) == 1.0
    perfect = Counts(first.table[:, [2, 1, 2]])
    assert p_value(first, perfect, 199) == pytest.approx(1 / 200)


def test_samples_without_the_metric_are_left_out() -> None:
    one = difference(0.5, np.array([0.4, np.nan, 0.6, -0.1]))
    assert one.p == pytest.approx((1 + 1) / (1 + 3))
    assert difference(0.5, np.array([np.nan])).p == 1.0


def test_resamples_are_scored_as_corpora() -> None:
    """F1 from summed counts of the drawn sentences, as conlleval's of a corpus made of them."""
    generator = np.random.default_rng(4)
    tags = ["O", "O", "B-PER", "I-PER", "B-LOC"]
    gold = [
        [str(tag) for tag in generator.choice(tags, size)] for size in generator.integers(1, 12, 40)
    ]
    predicted = [
        [tag if generator.random() < 0.7 else str(generator.choice(tags)) for tag in one]
        for one in gold
    ]
    by_counts = outcomes(gold, predicted)
    again = np.random.default_rng(7)
    expected = []
    for _ in range(20):
        drawn = again.integers(0, 40, 40)
        expected.append(score([gold[i] for i in drawn], [predicted[i] for i in drawn])["f1"])
    assert resampled(by_counts, "f1", 20, 7).tolist() == expected


def test_a_thousand_samples_of_a_corpus_take_well_under_a_second() -> None:
    gold = [["B-PER", "I-PER", "O", "O", "B-LOC", "O"] * 2] * 3250
    predicted = [["B-PER", "O", "O", "O", "B-LOC", "O"] * 2] * 3250
    counts = outcomes(gold, predicted)
    begin = time.perf_counter()
    resampled(counts, "f1", 1000, 0)
    assert time.perf_counter() - begin < 2.0  # 0.3 s on a quiet machine


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.6]) == [1.0, 1.0]
    assert holm([]) == []
    assert holm([0.02]) == [0.02]


def test_holm_agrees_with_statsmodels() -> None:
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    p = np.random.default_rng(0).random(20) ** 3
    assert holm(p.tolist()) == pytest.approx(multitest.multipletests(p, method="holm")[1].tolist())
