"""Scores and curves of an experiment's runs: those of one setting that differ in their seed only
are averaged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from structopt.experiment.noise import Arrival, Sample
from structopt.experiment.report import Claim
from structopt.run.records import RunRecord, mean_curve
from structopt.sweep.experiment_plan import SEPARATOR, setting

Key = TypeVar("Key")
Points = tuple[list[float], list[float]]
Groups = dict[str, list[RunRecord]]
"""Runs by the name of their setting."""
SMALL = (
    "This is the experiment at scale=small, which shows that it runs. Its numbers and verdicts "
    "say nothing about the paper: "
    "for those, set data=DIR."
)


def grouped(
    records: Iterable[RunRecord], key: Callable[[RunRecord], Key]
) -> dict[Key, list[RunRecord]]:
    """Return the runs of every key, keys in the order in which they come first."""
    groups: dict[Key, list[RunRecord]] = {}
    for record in records:
        groups.setdefault(key(record), []).append(record)
    return groups


def setting_of(record: RunRecord) -> str:
    """Return the name of a run's setting: its label up to the first comma."""
    return setting(record.name)


@dataclass(frozen=True)
class Parts:
    """The splits by which values are chosen and on which they are reported.

    Attributes
    ----------
    reporting : str
        ``test`` where all runs have such scores, else ``dev``. What is chosen is chosen on ``dev``.
    tail : float or None
        The share of the training file that the dev split is.
    files : tuple of str
        The names of the files with the scores that are reported, such as ``eng.testa``; none if
        the runs name none.
    """

    reporting: str = "dev"
    tail: float | None = None
    files: tuple[str, ...] = ()

    @classmethod
    def of(cls, records: Sequence[RunRecord]) -> Parts:
        """The splits of an experiment's runs."""
        test = bool(records) and all(record.metrics.get("test") for record in records)
        shares = {record.setting("tail") for record in records}
        tail = max((share for share in shares if share), default=None)
        # with a tail, the dev split is the tail and the test split is the development file
        key = "task.dev" if tail is not None or not test else "task.test"
        paths = dict.fromkeys(record.setting(key) for record in records)
        files = tuple(file_name(path) for path in paths if isinstance(path, str))
        return cls("test" if test else "dev", tail, files)

    def place(self, key: str) -> str:
        """Return the files that a dotted metric scores and the part of the corpus that they are,
        for the caption of a table.
        """
        split = key.partition(".")[0]
        if split == "dev" and self.tail is not None:
            return f"the last {self.tail:.0%} of the training file"
        known = split == self.reporting and self.files
        if not known:
            return f"the {split} split"
        part = "test" if split == "test" and self.tail is None else "development"
        return f"{', '.join(self.files)} ({part})"

    def score(self, name: str) -> str:
        """The dotted name of a metric on the part that reports."""
        return f"{self.reporting}.{name}"

    def curve(self, name: str, runs: Sequence[RunRecord]) -> str:
        """The same in histories: that of the part that reports, where it was scored after every
        pass.
        """
        key = self.score(name)
        return key if runs and all(run.curve(key)[0] for run in runs) else f"dev.{name}"

    @property
    def note(self) -> str:
        """What chose and what reported, in a sentence."""
        if self.reporting == "dev":
            return "Values are chosen and scores reported on the same dev split."
        if self.tail is None:
            return "Values are chosen on the dev split and scores reported on the test split."
        return (
            f"Values are chosen on the last {self.tail:.0%} of the training file, on which "
            "nothing is trained; scores are reported on the development file."
        )

    def best(self, run: RunRecord, name: str, times: float = 100.0) -> float | None:
        """The reported score of a run after the pass that is best by the dev score, times a
        factor.
        """
        chosen, reported = (
            run.curve(f"dev.{name}"),
            dict(zip(*run.curve(self.curve(name, [run])), strict=True)),
        )
        known = [(score, epoch) for epoch, score in zip(*chosen, strict=True) if epoch in reported]
        return times * reported[max(known, key=lambda one: one[0])[1]] if known else None


def file_name(path: str) -> str:
    """Return the name of a file of data without folders and endings of compression."""
    return path.rpartition("/")[2].removesuffix(".gz").removesuffix(".xz").removesuffix(".bz2")


def highest(run: RunRecord, name: str, times: float = 100.0) -> float | None:
    """The highest dev score of any pass, times a factor, by which values are chosen; None where
    there is none.
    """
    return max((times * score for score in run.curve(f"dev.{name}")[1]), default=None)


def at_passes(
    runs: Sequence[RunRecord], key: str, epoch: int | None, times: float = 100.0
) -> Sample | None:
    """A column of the history after a pass, or the last one where that is None, by seed."""

    def value(run: RunRecord) -> float | None:
        points = run.curve(key)
        known = (points[1][-1] if points[1] else None) if epoch is None else at_pass(points, epoch)
        return None if known is None else times * known

    return sample_of(runs, value)


def arrival(
    runs: Sequence[RunRecord], key: str, reached: Callable[[float], bool], against: str = "epoch"
) -> Arrival | None:
    """When the runs first have a value that is good enough, in passes or seconds; None where they
    have no curve.
    """
    at: dict[Any, float] = {}
    arrived = True
    for run in runs:
        xs, ys = run.curve(key, against)
        if xs:
            first = next((x for x, y in zip(xs, ys, strict=True) if reached(y)), None)
            arrived = arrived and first is not None
            at[run.setting("seed")] = xs[-1] if first is None else first
    return Arrival(Sample(at), arrived) if at else None


def sample(runs: Sequence[RunRecord], metric: str, times: float = 1.0) -> Sample | None:
    """Return a metric by seed, times a factor; None where no run has it."""
    return sample_of(
        runs, lambda run: None if (value := run.metric(metric)) is None else times * value
    )


def sample_of(
    runs: Sequence[RunRecord], value: Callable[[RunRecord], float | None]
) -> Sample | None:
    """Return a number of every run by its seed; None where no run has one."""
    known = {run.setting("seed"): number for run in runs if (number := value(run)) is not None}
    return Sample(known) if known else None


def without_seed(label: str) -> str:
    """Return a label without its seed."""
    return SEPARATOR.join(word for word in label.split(SEPARATOR) if not word.startswith("seed="))


def over_seeds(records: Sequence[RunRecord]) -> dict[str, list[RunRecord]]:
    """Return the runs that differ in their seed only, by their label without it."""
    return grouped(records, lambda record: without_seed(record.name))


def with_curve(groups: Groups, metric: str) -> Groups:
    """Return the groups of runs whose history has a metric."""
    return {name: runs for name, runs in groups.items() if mean_curve(runs, metric)[0]}


def at(points: Points, x: float) -> float | None:
    """Return the last value of a curve at or before `x`; None where it has none."""
    return next(
        (value for here, value in reversed(list(zip(*points, strict=True))) if here <= x), None
    )


def at_pass(points: Points, epoch: int) -> float | None:
    """Return a curve's value after a pass; None where it has no such pass."""
    return dict(zip(*points, strict=True)).get(float(epoch))


def first_reaching(points: Points, value: float) -> float | None:
    """Return where a curve first reaches a value; None where it does not."""
    return next((x for x, y in zip(*points, strict=True) if y >= value), None)


def cannot_tell(text: str, missing: str) -> Claim:
    """Return an observation that these runs cannot decide, since some are missing."""
    return Claim(text, None, f"these runs have no {missing}")


def several_seeds(records: Sequence[RunRecord]) -> list[str]:
    """Return a note of how many seeds every number is the mean of; none where there is one seed."""
    seeds = {record.setting("seed") for record in records}
    return [f"Every number is the mean over {len(seeds)} seeds."] if len(seeds) > 1 else []


def instances(records: Sequence[RunRecord]) -> str:
    """Return on how many instances these runs trained, such as ``3,000``, or ``3,000 to
    14,041``.
    """
    counts = sorted(
        {
            int(count)
            for record in records
            if (count := record.metric("train.instances")) is not None
        }
    )
    return " to ".join(f"{count:,}" for count in dict.fromkeys(counts[:1] + counts[-1:])) or "no"
