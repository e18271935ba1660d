"""Rows of the benchmark report: their times, the turns of the programs, and the machine."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter
from typing import Any

OURS = "structopt"
PACKAGES = ("structopt-trainer", "numpy", "scipy", "numba", "llvmlite")
PEERS = ("python-crfsuite", "ufal.chu-liu-edmonds")
"""Distributions that are timed next to structopt if they are installed."""
NOT_INSTALLED = "not installed"
BUDGET = 30.0
"""Seconds for the turns of one case. Later turns are left out, except the second and the third."""
Seconds = Mapping[str, list[float]]
"""Times by the name of their row."""


@dataclass(frozen=True)
class Sizes:
    """How much is measured.

    Attributes
    ----------
    training, development : int
        Sentences of real data, at most.
    iterations : int
        Iterations of a fit.
    turns : int
        Turns of each program in a case.
    calls : int
        Calls that predict one sentence.
    configuration : str
        A regular expression: the benchmarks of `tools/comparison.yaml` that are timed.
    warm : bool
        Whether each program has one turn before those that count.
    """

    training: int = 3000
    development: int = 3000
    iterations: int = 30
    turns: int = 5
    calls: int = 500
    configuration: str = "^(?!help|small-run|one-sentence|batch-prediction)"
    warm: bool = True


FULL = Sizes()
QUICK = Sizes(30, 10, 2, 1, 5, "^grid-adagrad-ad3$", warm=False)


@dataclass(frozen=True)
class Case:
    """Programs that do the same work, and take turns.

    Attributes
    ----------
    titles : mapping of str to str
        The rows: name, and description in the report.
    programs : mapping of str to callable
        By the name of the program: does the work once, and returns the times of its rows.
    turns : int
    warm : bool
        Whether a turn before those that count is of use.
    """

    titles: Mapping[str, str]
    programs: Mapping[str, Callable[[], Seconds]]
    turns: int
    warm: bool = True


@dataclass
class Row:
    """A row of the report.

    Attributes
    ----------
    group, name, title : str
    programs : dict
        By program: ``median``, ``low`` and ``high`` (quartiles) in seconds, and ``repeats``.
    error : str
        Why the row has no times; empty otherwise.
    """

    group: str
    name: str
    title: str
    programs: dict[str, dict[str, float]] = field(default_factory=dict)
    error: str = ""


def seconds_of(work: Callable[[], object]) -> float:
    """Time one call."""
    began = perf_counter()
    work()
    return perf_counter() - began


def timer(name: str, work: Callable[[], object]) -> Callable[[], Seconds]:
    """Return the program of a case with one row: it times one call."""
    return lambda: {name: [seconds_of(work)]}


def measured(group: str, case: Case, warm: bool = True) -> Iterator[Row]:
    """Let the programs of a case take turns, and yield its rows."""
    times: dict[str, dict[str, list[float]]] = {
        name: {program: [] for program in case.programs} for name in case.titles
    }
    if case.warm and warm:
        for work in case.programs.values():
            work()
    began = perf_counter()
    for turn in range(case.turns):
        if turn >= 3 and perf_counter() - began > BUDGET:
            break
        for program, work in case.programs.items():
            for name, seconds in work().items():
                times[name][program] += seconds
    for name, title in case.titles.items():
        programs = {
            program: summary(seconds) for program, seconds in times[name].items() if seconds
        }
        yield Row(group, name, title, programs)


def summary(seconds: list[float]) -> dict[str, float]:
    """Summarise times: median, quartiles and count, with four significant digits."""
    low, _, high = quantiles(seconds, n=4, method="inclusive") if len(seconds) > 1 else seconds * 3
    numbers = {"median": median(seconds), "low": low, "high": high}
    return {key: float(f"{number:.4g}") for key, number in numbers.items()} | {
        "repeats": len(seconds)
    }


def machine() -> dict[str, Any]:
    """Describe the processor, its cores, the system and the load before the first measurement."""
    model = platform.processor() or platform.machine()
    with suppress(OSError, StopIteration):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf8").splitlines()
        model = next(line.partition(":")[2].strip() for line in lines if line[:10] == "model name")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    return {
        "cpu": model,
        "cores": cores,
        "system": f"{platform.system()} {platform.machine()}",
        "load": None if load is None else round(load, 2),
    }


def versions() -> dict[str, str]:
    """Return the versions of Python, of structopt and its main dependencies, and of the peers."""
    return {"python": platform.python_version()} | {
        name: installed(name) for name in (*PACKAGES, *PEERS)
    }


def installed(distribution: str) -> str:
    """Return the version of a distribution, or ``not installed``."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return NOT_INSTALLED
