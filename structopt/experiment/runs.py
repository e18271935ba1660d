"""Scores and curves of an experiment's runs: those of one setting that differ in their seed only are averaged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from statistics import fmean
from typing import TypeVar

from structopt.experiment.report import Claim
from structopt.run.records import RunRecord, mean_curve
from structopt.sweep.experiment_plan import setting

Key = TypeVar("Key")
Points = tuple[list[float], list[float]]
Groups = dict[str, list[RunRecord]]
"""Runs by the name of their setting."""
SMALL = (
    "This is the experiment at scale=small, which shows that it runs. Its numbers and verdicts say nothing about the paper: "
    "for those, type data=DIR."
)


def grouped(records: Iterable[RunRecord], key: Callable[[RunRecord], Key]) -> dict[Key, list[RunRecord]]:
    """Return the runs of every key, keys in the order in which they come first."""
    groups: dict[Key, list[RunRecord]] = {}
    for record in records:
        groups.setdefault(key(record), []).append(record)
    return groups


def setting_of(record: RunRecord) -> str:
    """Return the name of a run's setting: its label up to the first comma."""
    return setting(record.name)


def mean(runs: Sequence[RunRecord], metric: str, times: float = 1.0) -> float | None:
    """Return the mean of a metric over runs, times a factor; None where no run has it."""
    known = [value for run in runs if (value := run.metric(metric)) is not None]
    return times * fmean(known) if known else None


def with_curve(groups: Groups, metric: str) -> Groups:
    """Return the groups of runs whose history has a metric."""
    return {name: runs for name, runs in groups.items() if mean_curve(runs, metric)[0]}


def at(points: Points, x: float) -> float | None:
    """Return the last value of a curve at or before `x`; None where it has none."""
    return next((value for here, value in reversed(list(zip(*points, strict=True))) if here <= x), None)


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
    """Return on how many instances these runs trained, such as ``3,000``, or ``3,000 to 14,041``."""
    counts = sorted({int(count) for record in records if (count := record.metric("train.instances")) is not None})
    return " to ".join(f"{count:,}" for count in dict.fromkeys(counts[:1] + counts[-1:])) or "no"
