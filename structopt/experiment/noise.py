"""Whether a difference is more than noise: means over seeds, differences with their standard
errors, and verdicts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from math import exp, log, sqrt
from statistics import fmean, stdev
from typing import Any

ERRORS = 2.0
"""Standard errors that a difference must have to count."""
LEAST = 0.05
"""Points: the standard error of a difference of two held-out scores is taken to be at least this,
since seeds may agree by luck, and another sample of sentences would have other scores.
"""
CRITERION = (
    "Numbers are means over seeds ± standard deviations. An observation *holds* or *does not "
    "hold* if the difference that decides it is at least "
    f"{ERRORS:g} standard errors away from the bound with which it is compared; otherwise it is "
    "*within noise*. The standard error is that of the mean difference seed by seed if both "
    "sides ran the same seeds, and √(s₁²/n₁ + s₂²/n₂) otherwise. "
    f"For scores on held-out data it is at least {LEAST:g} points. "
    "With one seed the noise is unknown, and the observation is *undecided*. So it is if tuning or "
    "more epochs of one of the methods could change the verdict."
)
"""The criterion for all verdicts."""


class Verdict(Enum):
    """Whether an observation holds."""

    HOLDS = "holds"
    FAILS = "does not hold"
    NOISE = "within noise"
    UNKNOWN = "undecided"

    def __invert__(self) -> Verdict:
        """The verdict on the contrary."""
        return {Verdict.HOLDS: Verdict.FAILS, Verdict.FAILS: Verdict.HOLDS}.get(self, self)


@dataclass(frozen=True)
class Sample:
    """A number by seed; in tables its mean ± standard deviation.

    Attributes
    ----------
    values : mapping of seed to float
        At least one.
    """

    values: Mapping[Any, float]

    @property
    def mean(self) -> float:
        """The mean over seeds."""
        return fmean(self.values.values())

    @property
    def sd(self) -> float:
        """The standard deviation over seeds, of n - 1 degrees of freedom; 0 of one seed."""
        return stdev(self.values.values()) if len(self.values) > 1 else 0.0

    @property
    def n(self) -> int:
        """Number of seeds."""
        return len(self.values)

    @property
    def exact(self) -> bool:
        """Whether all seeds give the same number."""
        return self.n > 1 and self.sd == 0.0

    def text(self, digits: int) -> str:
        """The mean and, of several seeds, the standard deviation: ``90.32 ± 0.08``."""
        return written(self.mean, self.sd, self.n, digits)

    def __str__(self) -> str:
        return self.text(2)

    def constant(self, value: float) -> Sample:
        """A number that is the same for all its seeds: a bound to compare it with."""
        return Sample(dict.fromkeys(self.values, value))

    def logarithm(self) -> Sample:
        """The logarithms of positive numbers, whose differences are those of ratios."""
        return Sample({seed: log(value) for seed, value in self.values.items()})


def written(mean: float, deviation: float, seeds: int, digits: int) -> str:
    """A mean over seeds and, of several seeds, the standard deviation: ``90.32 ± 0.08``."""
    return f"{mean:.{digits}f}" + (f" ± {deviation:.{digits}f}" if seeds > 1 else "")


@dataclass(frozen=True)
class Difference:
    """A difference of two samples' means, and its standard error; None where a sample of one seed
    does not tell it.
    """

    value: float
    error: float | None

    def above(self, bound: float = 0.0) -> Verdict:
        """Whether the difference is above a bound."""
        if self.error is None:
            return Verdict.UNKNOWN
        lead = self.value - bound
        if abs(lead) < ERRORS * self.error or lead == 0.0:
            return Verdict.NOISE
        return Verdict.HOLDS if lead > 0 else Verdict.FAILS

    def within(self, low: float, high: float) -> Verdict:
        """Whether the difference lies between two bounds."""
        return every([self.above(low), ~self.above(high)])

    def __str__(self) -> str:
        return f"{self.value:+.2f}" + ("" if self.error is None else f" ± {self.error:.2f}")


def average(samples: Iterable[Sample]) -> Sample:
    """Average samples seed by seed, over the seeds that all of them have."""
    listed = list(samples)
    seeds = [seed for seed in listed[0].values if all(seed in one.values for one in listed)]
    return Sample({seed: fmean(one.values[seed] for one in listed) for seed in seeds})


def difference(first: Sample, second: Sample, least: float = 0.0) -> Difference:
    r"""Compute the difference of two means and its standard error.

        d = mean(a) - mean(b),    error² = var(a_s - b_s) / n  where both have the seeds s,  else
        var(a)/n_a + var(b)/n_b

    Parameters
    ----------
    first, second : Sample
    least : float
        The least standard error; `LEAST` of scores on held-out data in points.
    """
    value = first.mean - second.mean
    if first.n < 2 or second.n < 2:
        return Difference(value, None)
    if set(first.values) == set(second.values):
        error = stdev(one - second.values[seed] for seed, one in first.values.items()) / sqrt(
            first.n
        )
    else:
        error = sqrt(first.sd**2 / first.n + second.sd**2 / second.n)
    return Difference(value, max(error, least))


def higher(first: Sample, second: Sample, by: float = 0.0) -> Verdict:
    """Whether the first of two held-out scores, in points, is above the second by more than
    `by`.
    """
    return difference(first, second, LEAST).above(by)


def larger(first: Sample, second: Sample, times: float = 1.0) -> Verdict:
    """Whether the first of two positive quantities, such as seconds, is more than so many times the
    second.
    """
    return difference(first.logarithm(), second.logarithm()).above(log(times))


def ratio(first: Sample, second: Sample) -> float:
    """How many times as large the first of two positive quantities is: the ratio of geometric
    means.
    """
    return exp(first.logarithm().mean - second.logarithm().mean)


def every(verdicts: Iterable[Verdict]) -> Verdict:
    """Whether all hold: one that does not decides; else one within noise, or one that cannot be
    told, leaves it open.
    """
    known = list(verdicts)
    for one in (Verdict.FAILS, Verdict.UNKNOWN, Verdict.NOISE):
        if one in known:
            return one
    return Verdict.HOLDS if known else Verdict.UNKNOWN


def some(verdicts: Iterable[Verdict]) -> Verdict:
    """Whether at least one holds."""
    return ~every([~one for one in verdicts])


def at_least(least: int, verdicts: Iterable[Verdict]) -> Verdict:
    """Whether so many hold: what is within noise or cannot be told leaves it open where it could
    decide.
    """
    known = list(verdicts)
    holding = known.count(Verdict.HOLDS)
    if holding >= least:
        return Verdict.HOLDS
    if len(known) - known.count(Verdict.FAILS) < least:
        return Verdict.FAILS
    return Verdict.NOISE if holding + known.count(Verdict.NOISE) >= least else Verdict.UNKNOWN


def most(verdicts: Iterable[Verdict]) -> Verdict:
    """Whether more than half of them hold."""
    known = list(verdicts)
    return at_least(len(known) // 2 + 1, known) if known else Verdict.UNKNOWN


def settled(verdict: Verdict, holds: Sequence[str], fails: Sequence[str]) -> tuple[Verdict, str]:
    """Return a verdict that tuning or more epochs cannot change, or that it is undecided and why.

    Parameters
    ----------
    verdict : Verdict
    holds, fails : sequence of str
        Doubts about methods, empty if there are none: `holds` could change *holds*, `fails` could
        change *does not hold*.
    """
    doubts = {Verdict.HOLDS: holds, Verdict.FAILS: fails}.get(verdict, ())
    known = [doubt for doubt in dict.fromkeys(doubts) if doubt]
    return (Verdict.UNKNOWN, "; ".join(known)) if known else (verdict, "")


@dataclass(frozen=True)
class Arrival:
    """When runs came to a level, by seed: seconds or passes; of a run that did not come there, when
    it ended.

    Attributes
    ----------
    at : Sample
    arrived : bool
        Whether all runs came there; else `at` is a lower bound.
    """

    at: Sample
    arrived: bool

    def text(self, digits: int = 2, unit: str = " s") -> str:
        """When, or until when not."""
        return f"{'' if self.arrived else 'not in '}{self.at.text(digits)}{unit}"


def sooner(quick: Arrival, late: Arrival, times: float = 1.0) -> Verdict:
    """Whether one arrives before another, which takes more than so many times as long; of bounds
    only what they imply.
    """
    verdict = larger(late.at, quick.at, times)
    if quick.arrived and late.arrived:
        return verdict
    implied = Verdict.HOLDS if quick.arrived else Verdict.FAILS if late.arrived else None
    return verdict if verdict is implied else Verdict.UNKNOWN
