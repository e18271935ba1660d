"""Time the same benchmarks in two revisions, in turn, and print the ratios of their times.

Usage::

    python tools/faster.py main                # main with the working tree
    python tools/faster.py v0.1 main --only ner --repeats 3
    python tools/faster.py main --check        # exit status 1 if a limit is exceeded

A ratio is the median time of HEAD divided by that of BASE. The spread shows the quartiles of the
ratios of consecutive runs. `tools/comparison.yaml` lists the benchmarks and their limits. Each
revision has one process, which has loaded its compiled kernels before the first timed run. Nothing
else should run on the machine. Revisions are exported as by `tools/equal.py`.
"""

from __future__ import annotations

import argparse
import csv
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from statistics import median, quantiles

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # if this file runs as a script
from tools.checkouts import Checkout, Configuration, Failed, Worker, configurations
from tools.grow_corpus import grow

SENTENCE = {
    "word": ["Ann", "Falk", "visited", "Oslo", "on", "Friday", "with", "her", "brother", "."],
    "pos": ["NNP", "NNP", "VBD", "NNP", "IN", "NNP", "IN", "PRP$", "NN", "."],
    "chunk": ["B-NP", "I-NP", "B-VP", "B-NP", "B-PP", "B-NP", "B-PP", "B-NP", "I-NP", "O"],
}
CALLS = 200
"""Predictions of this sentence per run."""
SHIPPED = "train.conll"


class Clock:
    """Runs one benchmark in one checkout.

    Parameters
    ----------
    benchmark : Configuration
    worker : Worker
        Whose process is used again for the next benchmark.
    folder : Path
        For its files.
    """

    def __init__(self, benchmark: Configuration, worker: Worker, folder: Path) -> None:
        self.worker, self.measure, self.run = worker, benchmark.measure, folder / "run"
        self.file = worker.ask("corpus", SHIPPED)
        if benchmark.grow > 1:
            self.file, source = str(folder / "grown.conll"), Path(self.file)
            folder.mkdir(parents=True, exist_ok=True)
            grow(source, Path(self.file), benchmark.grow)
            settings = {**benchmark.settings, "task.train": self.file}
            benchmark = replace(benchmark, settings=settings)
        self.words = [*benchmark.words(worker), f"hydra.run.dir={self.run}"]
        if self.measure in ("sentence", "batch"):
            worker.ask("command", self.words)

    def seconds(self) -> float:
        """Run once, and return the time that is measured."""
        return median(self.times())

    def times(self) -> list[float]:
        """Run once, and return the times of its epochs or calls; other measures have one time."""
        times: list[float] = getattr(self, f"_{self.measure}")()
        return times

    def _epoch(self) -> list[float]:
        self._train()
        with (self.run / "history.csv").open(encoding="utf8", newline="") as stream:
            ends = [float(row["seconds"]) for row in csv.DictReader(stream)]
        return [later - earlier for earlier, later in pairwise(ends)]

    def _evaluation(self) -> list[float]:
        self._train()
        metrics = json.loads((self.run / "metrics.json").read_text(encoding="utf8"))
        return [float(metrics["train"]["seconds_per_evaluation"])]

    def _sentence(self) -> list[float]:
        return list(self.worker.ask("predict_seconds", str(self.run), SENTENCE, CALLS))

    def _batch(self) -> list[float]:
        output = f"output={self.run.parent / 'predicted'}"
        words = ["predict", f"model={self.run}", f"input={self.file}", output, "quiet=true"]
        return [float(self.worker.ask("command", words))]

    def _start(self) -> list[float]:
        return [self._process(self.words)]

    def _help(self) -> list[float]:
        return [self._process(["--help"])]

    def _train(self) -> None:
        """Train in an empty folder."""
        shutil.rmtree(self.run, ignore_errors=True)
        self.worker.ask("command", self.words)

    def _process(self, words: Sequence[str]) -> float:
        """Time a whole command in a process of its own."""
        shutil.rmtree(self.run, ignore_errors=True)
        command, began = [sys.executable, "-P", "-m", "structopt", *words], time.perf_counter()
        done = subprocess.run(
            command,
            env=self.worker.checkout.environment,
            cwd=self.run.parents[1],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise Failed(f"exit status {done.returncode}: {done.stderr.strip()[-300:]}")
        return time.perf_counter() - began


def compare(clocks: Sequence[Clock], repeats: int) -> tuple[list[float], list[float]]:
    """Return the times of base and head in turn, after one run of each that is not counted."""
    times: tuple[list[float], list[float]] = ([], [])
    for repeat in range(repeats + 1):
        for clock, seconds in zip(clocks, times, strict=True):
            measured = clock.seconds()
            if repeat:
                seconds.append(measured)
    return times


def line(
    benchmark: Configuration, base: Sequence[float], head: Sequence[float]
) -> tuple[str, bool]:
    """Write a benchmark's row; also return whether its ratio exceeds the limit."""
    ratio = median(head) / median(base)
    ratios = [b / a for a, b in zip(base, head, strict=True)]
    low, _, high = quantiles(ratios, n=4) if len(ratios) > 1 else ratios * 3
    exceeded = ratio > benchmark.limit
    return (
        f"{benchmark.name:32} {1e3 * median(base):10.3f} {1e3 * median(head):10.3f} {ratio:7.3f} "
        f"  {low:.3f} to {high:.3f}   {benchmark.limit:.2f}{' exceeded' if exceeded else ''}",
        exceeded,
    )


def parser() -> argparse.ArgumentParser:
    """Describe the command line."""
    made = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("base", help="git revision, or folder of a checkout")
    made.add_argument("head", nargs="?", default="", help="the same; default: the working tree")
    made.add_argument("--only", default="", metavar="PATTERN", help="regular expression of names")
    made.add_argument("--repeats", type=int, default=9, help="timed runs of each (default: 9)")
    made.add_argument(
        "--check",
        action="store_true",
        help="exit with status 1 if a ratio exceeds its limit or a benchmark fails",
    )
    return made


def run(options: argparse.Namespace, scratch: Path) -> bool:
    """Time the benchmarks and print their rows; return whether all are within their limits."""
    sides = [scratch / "base", scratch / "head"]
    checkouts = [
        Checkout.of(revision, side / "metadata")
        for revision, side in zip((options.base, options.head), sides, strict=True)
    ]
    workers = [Worker(one, side) for one, side in zip(checkouts, sides, strict=True)]
    within = True
    print(f"{'':32} {'base ms':>10} {'head ms':>10} {'ratio':>7}   {'spread':14}   limit")
    try:
        for benchmark in configurations("benchmarks", options.only):
            if benchmark.lacks_data:
                print(f"{benchmark.name:32} skipped: STRUCTOPT_DATA is not set")
                continue
            try:
                clocks = [
                    Clock(benchmark, worker, side / benchmark.name)
                    for worker, side in zip(workers, sides, strict=True)
                ]
                text, exceeded = line(benchmark, *compare(clocks, options.repeats))
            except Failed as error:
                text, exceeded = f"{benchmark.name:32} failed: {error}", True
            print(text, flush=True)
            within = within and not exceeded
    finally:
        for worker in workers:
            worker.close()
    return within


def main(arguments: Sequence[str] | None = None) -> int:
    """Time, print, and return the exit status."""
    options = parser().parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="faster-") as scratch:
        try:
            within = run(options, Path(scratch))
        except Failed as error:
            print(f"faster: {error}", file=sys.stderr)
            return 2
    return int(options.check and not within)


if __name__ == "__main__":
    sys.exit(main())
