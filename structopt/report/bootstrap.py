"""Paired bootstrap over the instances of a corpus: whether the difference of two systems is more
than chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from structopt.kernels.waist.record import Array

LEVEL = 0.95
"""Share of the resamples within an interval."""


@dataclass(frozen=True)
class Difference:
    """A difference of two systems in a metric.

    Attributes
    ----------
    value : float
        The difference on the corpus itself.
    low, high : float
        Ends of its 95 % interval: the percentiles 2.5 and 97.5 of the differences on the resamples.
    p : float
        Two-sided p-value of there being no difference; see `difference`.
    """

    value: float
    low: float
    high: float
    p: float


def resampled(outcomes: Any, metric: str, samples: int, seed: int) -> Array:
    """Compute a metric on corpora of as many instances, drawn from this one with replacement.

    The metric is computed from the counts of all drawn instances together, as it is of a corpus,
    and is not a mean over instances. The same seed draws the same instances of every system with as
    many instances: that is the pairing.

    Parameters
    ----------
    outcomes : Outcomes
        As a task's ``outcomes`` returns them: an object with a length, and ``scores(times)`` of the
        corpus in which instance i is repeated ``times[i]`` times.
    metric : str
    samples : int
    seed : int

    Returns
    -------
    float64, shape (samples,)
        NaN where the drawn instances do not have the metric, such as the F1 of a type that none of
        them has.
    """
    generator, m = np.random.default_rng(seed), len(outcomes)
    values = np.empty(samples)
    for sample in range(samples):
        times = np.bincount(generator.integers(0, m, m), minlength=m)
        values[sample] = outcomes.scores(times).get(metric, np.nan)
    return values


def difference(value: float, resamples: Array) -> Difference:
    r"""Compute the interval and the p-value of a difference d, from the differences d*_b on
    resamples.

        p = (1 + #{b : |d*_b - d| >= |d|}) / (B + 1)

    The differences on resamples lie around d as d lies around the true difference; moved to lie
    around 0 they show what differences chance alone makes, of either sign. The ones count the
    corpus itself among its resamples: p is never 0.

    Parameters
    ----------
    value : float
        d.
    resamples : float64, shape (B,)
        d*_b; those that are NaN are left out.

    Notes
    -----
    Efron and Tibshirani, *An Introduction to the Bootstrap* (1993), ch. 13 (percentile interval)
    and 16 (tests by moving to the null hypothesis); for F1 and BLEU of sentences Koehn,
    *Statistical significance tests for machine translation evaluation* (2004), who counts how often
    d*_b has the sign of d, on one side.
    """
    known = resamples[np.isfinite(resamples)]
    if not len(known):
        return Difference(value, np.nan, np.nan, 1.0)
    # a sum in another order is not another value
    extreme = np.abs(known - value) >= abs(value) - 1e-12
    low, high = np.quantile(known, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Difference(value, float(low), float(high), float((1 + extreme.sum()) / (1 + len(known))))


def holm(p: Sequence[float]) -> list[float]:
    """Correct the p-values of several comparisons, so that the chance of any false alarm among them
    is below the level.

    The i-th smallest of k is multiplied by k - i + 1; none becomes smaller than one before it, or
    more than 1.

    Notes
    -----
    Holm, *A simple sequentially rejective multiple test procedure* (1979).
    """
    order = np.argsort(p, kind="stable")
    raised = np.array(p)[order] * np.arange(len(p), 0, -1)
    corrected = np.empty(len(p))
    corrected[order] = np.minimum(np.maximum.accumulate(raised), 1.0)
    return [float(one) for one in corrected]
