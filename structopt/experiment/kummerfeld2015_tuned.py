"""Kummerfeld et al. (2015), Figure 1: of every method the runs, one a seed, whose values are best
on the dev split.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from operator import le

from structopt.experiment.kummerfeld2015 import METHODS
from structopt.experiment.noise import Arrival, Sample
from structopt.experiment.runs import Parts, arrival, highest, over_seeds, sample_of, setting_of
from structopt.run.records import RunRecord, mean_curve

SCORES = {
    "ner": "f1",
    "dependency": "uas",
    "constituency": "bracket_f1_40",
    "coreference": "conll",
    "summarization": "rouge2_recall",
}
PEAK = 0.2
"""Points below its best at which a method is said to have come to its peak."""
VALUES = {
    "mira": ("C",),
    "cutting_plane": ("C",),
    "online_cutting_plane": ("C",),
    "adagrad": ("C", "eta"),
    "adadelta": ("C", "epsilon"),
    "sgd": ("eta",),
}
"""The values of each optimizer that have to be tuned. The perceptron has none; as a gradient
method, it has the length of its steps.
"""


def metric_of(record: RunRecord) -> str:
    """Return the metric by which the paper scores a run's task; with relations that is LAS."""
    if record.setting("factor_graph.labeled"):
        return "las"
    return SCORES.get(str(record.setting("task.name")), "f1")


@dataclass(frozen=True)
class Curve:
    """The tuned runs of a method, one a seed.

    Attributes
    ----------
    method : str
    label : str
        Their label, without a seed.
    runs : sequence of RunRecord
    metric : str
    parts : Parts
        What chose the values, and what reports.
    tried : sequence of sequences of RunRecord
        The runs of all settings of the method, one sequence per setting.
    """

    method: str
    label: str
    runs: Sequence[RunRecord]
    metric: str
    parts: Parts
    tried: Sequence[Sequence[RunRecord]] = ()

    @property
    def untuned(self) -> str:
        """The values that the method has to tune and that never changed, in words; empty if there
        are none. ``auto`` is tuned by the optimizer.
        """
        keys = VALUES.get(str(self.runs[0].setting("optimizer.name")), ())
        found = {key: {of[0].setting(f"optimizer.{key}") for of in self.tried} for key in keys}
        alone = [
            f"{key}={value:g}"
            for key, values in found.items()
            for value in values
            if len(values) == 1 and isinstance(value, int | float)
        ]
        if not alone:
            return ""
        if len(self.tried) == 1:
            return f"one untuned setting ({', '.join(alone)})"
        return f"one untuned value ({', '.join(alone)})"

    @property
    def rises(self) -> str:
        """Words for runs that end before their peak is known: a seed comes within `PEAK` points of
        its best at the last epoch only. Empty for all others.
        """
        last = {run.setting("seed"): float(len(run.curve(self.key)[1])) for run in self.runs}
        ends = any(self.peak.values[seed] == epochs > 1 for seed, epochs in last.items())
        return "a score that still rises at the last epoch" if ends else ""

    @property
    def doubts(self) -> str:
        """Words for a method whose scores tuning or more epochs could change; empty for others."""
        found = " and ".join(text for text in (self.untuned, self.rises) if text)
        return f"{self.method} has {found}" if found else ""

    @cached_property
    def key(self) -> str:
        """The column of the history that is shown."""
        return self.parts.curve(self.metric, self.runs)

    @cached_property
    def scores(self) -> list[float]:
        """Score after each pass, in points: the mean over seeds."""
        return mean_curve(self.runs, self.key, times=100.0)[1]

    @cached_property
    def seconds(self) -> list[float]:
        """Seconds of training up to each pass: the mean over seeds."""
        return mean_curve(self.runs, self.key, "seconds")[0]

    @cached_property
    def best(self) -> Sample:
        """The reported score after the pass that is best on the dev split."""
        return self._sample(lambda run: self.parts.best(run, self.metric))

    @cached_property
    def chosen_by(self) -> float:
        """The highest dev score of any pass, by which values are chosen: the mean over seeds."""
        return self._sample(lambda run: highest(run, self.metric)).mean

    @cached_property
    def drop(self) -> Sample:
        """The largest fall from one pass to the next, the first pass aside."""
        return self._sample(
            lambda run: _fall([100 * score for score in run.curve(self.key)[1][1:]])
        )

    @cached_property
    def peak(self) -> Sample:
        """Passes until the score is within `PEAK` of the best of any pass."""
        return self._sample(lambda run: _passes_to_peak(run.curve(self.key)[1]))

    def arrival(self, level: float) -> Arrival:
        """Seconds until the score is at least `level`."""
        at = arrival(self.runs, self.key, partial(le, level / 100), "seconds")
        assert at is not None
        return at

    def _sample(self, value: Callable[[RunRecord], float | None]) -> Sample:
        values = sample_of(self.runs, value)
        assert values is not None
        return values


def _fall(scores: Sequence[float]) -> float:
    return max(
        (before - after for before, after in zip(scores, scores[1:], strict=False)), default=0.0
    )


def _passes_to_peak(scores: Sequence[float]) -> float:
    level = max(scores) - PEAK / 100
    return float(next(number for number, score in enumerate(scores, 1) if score >= level))


@dataclass(frozen=True)
class Figure1:
    """The tuned curve of every method."""

    curves: Mapping[str, Curve]

    @classmethod
    def of(cls, records: Sequence[RunRecord], suffix: str = "") -> Figure1:
        """Take of every method the values whose highest dev score, the mean over seeds, is the
        highest.

        Methods are the names of settings, without the `suffix` that all of them have.
        """
        parts = Parts.of(records)
        scored = [record for record in records if record.curve(f"dev.{metric_of(record)}")[1]]
        tried = [
            Curve(setting_of(runs[0]).removesuffix(suffix), label, runs, metric_of(runs[0]), parts)
            for label, runs in over_seeds(scored).items()
        ]
        curves = {}
        for method in dict.fromkeys((*METHODS, *(curve.method for curve in tried))):
            if own := [curve for curve in tried if curve.method == method]:
                best = max(own, key=lambda curve: curve.chosen_by)
                curves[method] = replace(best, tried=[curve.runs for curve in own])
        return cls(curves)

    def of_methods(self, *methods: str) -> list[Curve]:
        """The curves of some methods, as far as they have runs."""
        return [self.curves[method] for method in methods if method in self.curves]

    @property
    def best(self) -> float:
        """The highest reported score of any method."""
        return max((curve.best.mean for curve in self.curves.values()), default=0.0)

    def first(self, *methods: str) -> Curve | None:
        """The best of some methods by the dev split; None where none of them has runs."""
        return max(self.of_methods(*methods), key=lambda curve: curve.chosen_by, default=None)

    def has(self, *methods: str) -> bool:
        """Whether every one of these methods has a curve."""
        return all(method in self.curves for method in methods)
