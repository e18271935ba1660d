"""Kummerfeld et al. (2015), Figure 1: of every method the run whose values are best on the dev split."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from structopt.experiment.kummerfeld2015 import METHODS, seed_noise
from structopt.experiment.runs import setting_of
from structopt.run.records import RunRecord

SCORES = {
    "ner": "f1", "dependency": "uas", "constituency": "bracket_f1_40", "coreference": "conll", "summarization": "rouge2_recall",
}  # fmt: skip
LEAST_NOISE = 0.2
"""Points: scores that differ by less than this, or by less than another seed changes them here, count as equal."""


@dataclass(frozen=True)
class Curve:
    """The tuned run of a method: its dev scores in points, and the seconds behind each pass."""

    method: str
    record: RunRecord
    key: str

    @cached_property
    def scores(self) -> list[float]:
        """Dev score after each pass, in points."""
        return [100 * score for score in self.record.curve(self.key)[1]]

    @cached_property
    def seconds(self) -> list[float]:
        """Seconds of training up to each pass."""
        return self.record.curve(self.key, "seconds")[0]

    @property
    def best(self) -> float:
        """The highest score."""
        return max(self.scores)

    @property
    def drop(self) -> float:
        """The largest fall from one pass to the next, the first pass aside."""
        later = self.scores[1:]
        return max((a - b for a, b in zip(later, later[1:], strict=False)), default=0.0)

    def passes_to(self, level: float) -> int | None:
        """Passes until the score is at least `level`."""
        return next((number for number, score in enumerate(self.scores, 1) if score >= level), None)

    def seconds_to(self, level: float) -> float | None:
        """Seconds until the score is at least `level`."""
        passes = self.passes_to(level)
        return None if passes is None else self.seconds[passes - 1]


@dataclass(frozen=True)
class Figure1:
    """The tuned curve of every method, and how far apart scores have to be to count as different."""

    curves: Mapping[str, Curve]
    noise: float

    @classmethod
    def of(cls, records: Sequence[RunRecord]) -> Figure1:
        """Take of every method the run with the highest dev score among those of the first seed."""
        keys = {record.name: f"dev.{SCORES.get(str(record.setting('task.name')), 'f1')}" for record in records}
        every = [Curve(setting_of(record), record, keys[record.name]) for record in records]
        every = [curve for curve in every if curve.scores]
        noise = seed_noise([curve.record for curve in every], {curve.record.name: curve.best for curve in every}, LEAST_NOISE)
        curves = {}
        for method in dict.fromkeys((*METHODS, *(curve.method for curve in every))):
            tried = [curve for curve in every if curve.method == method]
            seed = min((int(curve.record.setting("seed") or 0) for curve in tried), default=0)
            tried = [curve for curve in tried if int(curve.record.setting("seed") or 0) == seed]
            if tried:
                curves[method] = max(tried, key=lambda curve: curve.best)
        return cls(curves, noise)

    @property
    def best(self) -> float:
        """The highest score of any method."""
        return max((curve.best for curve in self.curves.values()), default=0.0)

    def peaks(self) -> dict[str, int]:
        """Passes until each method is as good as at its best, up to the noise."""
        return {name: curve.passes_to(curve.best - self.noise) or 0 for name, curve in self.curves.items()}

    def has(self, *methods: str) -> bool:
        """Whether every one of these methods has a curve."""
        return all(method in self.curves for method in methods)
