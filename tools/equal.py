"""Train the same configurations in two revisions, and compare weights, predictions and metrics.

Usage::

    python tools/equal.py main                 # main with the working tree
    python tools/equal.py v0.1 main --only dependency
    python tools/equal.py main --jobs 2 --tolerance 1e-9

A revision is exported into ``.cache/compare`` and stays there, so that later runs find its compiled
kernels. `tools/comparison.yaml` lists the configurations. Both revisions run in the environment of
this Python. The exit status is 1 if a configuration differs or fails.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import queue
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # if this file runs as a script
from tools.checkouts import Checkout, Configuration, Failed, Worker, configurations

TIMES = "seconds"
"""Metrics and columns of the history with this in their names are times, which are not compared."""
OTHER_TIMES = ("overhead_per_epoch",)
PREDICTIONS = "predictions"


@dataclass(frozen=True)
class Difference:
    """One thing that differs between two runs.

    Attributes
    ----------
    what : str
    how : str
    size : float
        Relative to the larger value; for predictions, the share of the lines that differ; inf if
        only one run has it.
    """

    what: str
    how: str
    size: float

    def __str__(self) -> str:
        return f"{self.what}: {self.how}"


def compare(base: Path, head: Path) -> list[Difference]:
    """Compare two run folders and what was predicted into them."""
    return [
        *_weights(base / "run", head / "run"),
        *_predictions(base / PREDICTIONS, head / PREDICTIONS),
        *_numbers("metrics", _metrics(base / "run"), _metrics(head / "run")),
        *_numbers("history", _history(base / "run"), _history(head / "run")),
    ]


def _weights(base: Path, head: Path) -> Iterator[Difference]:
    """Compare the arrays of all safetensors files of the models."""
    arrays = [
        {
            f"{path.relative_to(run)}:{name}": array
            for path in sorted((run / "model").rglob("*.safetensors"))
            for name, array in load_file(path).items()
        }
        for run in (base, head)
    ]
    yield from _one_sided("", *arrays)
    for name in arrays[0].keys() & arrays[1].keys():
        a, b = arrays[0][name], arrays[1][name]
        if a.shape != b.shape or a.dtype != b.dtype:
            sides = [f"{one.dtype}{list(one.shape)}" for one in (a, b)]
            yield Difference(name, " / ".join(sides), np.inf)
        elif a.tobytes() != b.tobytes():
            yield _arrays(name, a, b)


def _arrays(name: str, a: np.ndarray, b: np.ndarray) -> Difference:
    """Describe how two arrays of one shape differ."""
    with np.errstate(invalid="ignore"):
        distances = np.abs(a.astype(float) - b.astype(float))
    largest = float(distances.max())
    scale = float(max(np.abs(a).max(), np.abs(b).max()))
    relative = largest / scale if scale else 0.0
    size = relative if np.isfinite(largest) else np.inf
    rows = [np.ascontiguousarray(one).reshape(-1, 1).view(np.uint8) for one in (a, b)]
    count = int((rows[0] != rows[1]).any(axis=1).sum())
    how = f"{count} of {a.size} values, by {largest:.2g} at most, relative {relative:.2g}"
    return Difference(name, how, size)


def _predictions(base: Path, head: Path) -> Iterator[Difference]:
    """Compare two predicted files line by line."""
    texts = [path.read_bytes().splitlines() if path.exists() else [] for path in (base, head)]
    longest = max(map(len, texts))
    same = sum(a == b for a, b in zip(*texts, strict=False))
    if same < longest:
        yield Difference(PREDICTIONS, f"{longest - same} of {longest} lines", 1 - same / longest)


def _metrics(run: Path) -> dict[str, Any]:
    """Read the metrics of a run by dotted name, without times."""
    splits = json.loads((run / "metrics.json").read_text(encoding="utf8"))
    return {
        f"{split}.{name}": value
        for split, values in splits.items()
        for name, value in values.items()
        if _is_compared(name)
    }


def _history(run: Path) -> dict[str, Any]:
    """Read the history of a run by column and epoch, without times."""
    with (run / "history.csv").open(encoding="utf8", newline="") as stream:
        return {
            f"{name}[{row['epoch']}]": float(cell) if cell else None
            for row in csv.DictReader(stream)
            for name, cell in row.items()
            if _is_compared(name)
        }


def _is_compared(name: str) -> bool:
    return TIMES not in name and name not in OTHER_TIMES


def _numbers(
    where: str, base: Mapping[str, float | None], head: Mapping[str, float | None]
) -> Iterator[Difference]:
    """Compare numbers by name."""
    yield from _one_sided(f"{where} ", base, head)
    for name in base.keys() & head.keys():
        a, b = base[name], head[name]
        if a == b or (a != a and b != b):
            continue
        size = np.inf
        if a is not None and b is not None and np.isfinite(a - b):
            size = abs(a - b) / max(abs(a), abs(b))
        yield Difference(f"{where} {name}", f"{a} / {b}, relative {size:.2g}", size)


def _one_sided(
    where: str, base: Mapping[str, Any], head: Mapping[str, Any]
) -> Iterator[Difference]:
    """List the names that only one side has."""
    for side, names in (("base", base.keys() - head.keys()), ("head", head.keys() - base.keys())):
        for name in sorted(names):
            yield Difference(f"{where}{name}", f"only in {side}", np.inf)


class Side:
    """The worker processes of one checkout, each of which serves one thread at a time."""

    def __init__(self, checkout: Checkout, folder: Path) -> None:
        self.checkout, self.folder = checkout, folder
        self._idle: queue.SimpleQueue[Worker] = queue.SimpleQueue()

    @contextmanager
    def worker(self) -> Iterator[Worker]:
        """Borrow an idle process, or start one."""
        try:
            worker = self._idle.get_nowait()
        except queue.Empty:
            worker = Worker(self.checkout, self.folder)
        try:
            yield worker
        finally:
            if worker.alive:
                self._idle.put(worker)

    def run(self, configuration: Configuration) -> tuple[Path, float]:
        """Train and predict; return the folder of the results, and the seconds."""
        folder, began = self.folder / configuration.name, time.perf_counter()
        with self.worker() as worker:
            words = configuration.words(worker)
            worker.ask("command", [*words, f"hydra.run.dir={folder / 'run'}"])
            if configuration.predict:
                options = dict(configuration.predict, model=str(folder / "run"), quiet=True)
                options["output"] = str(folder / PREDICTIONS)
                options["input"] = data_file(options["input"], worker)
                worker.ask("command", ["predict", *(f"{k}={v}" for k, v in options.items())])
        return folder, time.perf_counter() - began

    def close(self) -> None:
        """End the idle processes."""
        while not self._idle.empty():
            self._idle.get().close()


def data_file(name: str, worker: Worker) -> str:
    """Return the path of a file of STRUCTOPT_DATA, or of the shipped corpus."""
    return os.path.expandvars(name) if name.startswith("$") else str(worker.ask("corpus", name))


def _largest(differences: Sequence[Difference]) -> Iterator[str]:
    """Write the two largest differences of each file of a run, and how many others it has."""
    for _, group in groupby(differences, key=lambda one: re.split("[: ]", one.what)[0]):
        first, *others = sorted(group, key=lambda one: -one.size)
        yield from map(str, [first, *others[:1]])
        if others[1:]:
            yield f"    and {len(others) - 1} more"


@dataclass
class Report:
    """Prints one line per configuration, and counts the outcomes."""

    tolerance: float
    counts: dict[str, int]

    def skipped(self, configuration: Configuration, reason: str) -> None:
        """Report a configuration that is not run."""
        self._print("skipped", configuration, reason)

    def compared(self, configuration: Configuration, runs: Sequence[Future[Any]]) -> None:
        """Wait for the two runs of a configuration, and report how they differ."""
        failures, results = [], []
        for side, run in zip(("base", "head"), runs, strict=True):
            try:
                results.append(run.result())
            except Failed as error:
                failures.append(f"{side}: {error}")
        if failures:
            self._print("failed", configuration, "\n".join(failures))
            return
        (base, base_seconds), (head, head_seconds) = results
        differences = compare(base, head)
        outcome = "equal" if not differences else "within"
        if any(one.size > self.tolerance for one in differences):
            outcome = "differs"
        elif not differences:
            shutil.rmtree(base)
            shutil.rmtree(head)
        times = f"{base_seconds:.1f} s / {head_seconds:.1f} s"
        self._print(outcome, configuration, "\n".join([times, *_largest(differences)]))

    def _print(self, outcome: str, configuration: Configuration, text: str) -> None:
        self.counts[outcome] = self.counts.get(outcome, 0) + 1
        first, *rest = text.splitlines()
        print(f"{outcome:8} {configuration.name:34} {first}", flush=True)
        for line in rest:
            print(f"         {line}", flush=True)


def run(base: Side, head: Side, chosen: Sequence[Configuration], report: Report, jobs: int) -> None:
    """Run configurations in both checkouts, and report each as soon as both runs ended."""
    with ThreadPoolExecutor(jobs) as pool:
        pending = []
        for one in chosen:
            reason = "STRUCTOPT_DATA is not set" if one.lacks_data else ""
            if not reason and (lacking := base.checkout.lacks(one.settings)):
                reason = f"{base.checkout.name} does not have {', '.join(lacking)}"
            runs = [] if reason else [pool.submit(side.run, one) for side in (base, head)]
            pending.append((one, reason, runs))
        try:
            for one, reason, runs in pending:
                if reason:
                    report.skipped(one, reason)
                else:
                    report.compared(one, runs)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def parser() -> argparse.ArgumentParser:
    """Describe the command line."""
    made = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("base", help="git revision, or folder of a checkout")
    made.add_argument("head", nargs="?", default="", help="the same; default: the working tree")
    made.add_argument("--only", default="", metavar="PATTERN", help="regular expression of names")
    made.add_argument(
        "--tolerance",
        type=float,
        default=0.0,
        help="greatest relative difference, and greatest share of different predicted lines, that "
        "does not count (default: 0, bit-identical)",
    )
    made.add_argument("--jobs", type=int, default=2, help="runs at a time (default: 2)")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare, print, and return the exit status."""
    options = parser().parse_args(arguments)
    began, scratch = time.perf_counter(), Path(tempfile.mkdtemp(prefix="equal-"))
    try:
        base, head = (
            Side(Checkout.of(revision, scratch / f"{side}-metadata"), scratch / side)
            for side, revision in (("base", options.base), ("head", options.head))
        )
    except Failed as error:
        print(f"equal: {error}", file=sys.stderr)
        return 2
    chosen, report = configurations("configurations", options.only), Report(options.tolerance, {})
    try:
        run(base, head, chosen, report, options.jobs)
    finally:
        base.close()
        head.close()
    summary = ", ".join(f"{count} {outcome}" for outcome, count in sorted(report.counts.items()))
    print(f"{summary or 'no such configuration'} in {time.perf_counter() - began:.0f} s")
    if {"differs", "failed", "within"} & report.counts.keys():
        print(f"The run folders that are not equal: {scratch}")
    else:
        shutil.rmtree(scratch)
    return int(bool({"differs", "failed"} & report.counts.keys()) or not report.counts)


if __name__ == "__main__":
    sys.exit(main())
