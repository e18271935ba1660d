"""Measure the benchmarks, write their times as JSON, and render the page of the documentation.

Usage::

    python -m tests.benchmarks --json docs/benchmarks.json     # about 8 minutes on an idle machine
    python -m tests.benchmarks --page docs/benchmarks.json     # docs/benchmarks.md and README.md
    python -m tests.benchmarks --quick --only sequences        # checks that a group runs

structopt and its peers take turns within each benchmark. Peers that are not installed are left out,
and the JSON file names them. Nothing else should run on the machine. STRUCTOPT_DATA names a folder
with CoNLL-2003; without it the shipped corpus is used.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests.benchmarks import end_to_end, kernel_cases, page
from tests.benchmarks.measurement import FULL, QUICK, Case, Row, Sizes, machine, measured, versions

GROUPS: dict[str, Callable[[Sizes, Path], Iterator[Case]]] = {
    "sequences": end_to_end.sequences,
    "words": end_to_end.words,
    "start": end_to_end.start,
    "compilation": end_to_end.compilation,
    "chains": kernel_cases.chains,
    "trees": kernel_cases.trees,
    "programs": kernel_cases.programs,
    "configurations": kernel_cases.configurations,
}
"""Benchmarks in the order in which they run: end to end first, then kernels."""


def rows(names: Sequence[str], sizes: Sizes) -> Iterator[Row]:
    """Measure groups; a group that fails ends with a row that has the error."""
    for name in names:
        with tempfile.TemporaryDirectory(prefix="benchmarks-") as scratch:
            try:
                for case in GROUPS[name](sizes, Path(scratch)):
                    yield from measured(name, case, sizes.warm)
            except Exception as error:  # the other groups are still worth their time
                printed = str(getattr(error, "stderr", None) or "").strip().splitlines()
                text = ": ".join([type(error).__name__, str(error), *printed[-1:]])
                yield Row(name, name, f"group {name}", error=text)


def measure(names: Sequence[str], sizes: Sizes, target: Path | None = None) -> dict[str, Any]:
    """Measure groups, print each row, and return the content of the JSON file.

    The file is written after each row, so that an interrupted command leaves its times.
    """
    report: dict[str, Any] = {
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "quick": sizes == QUICK,
        "machine": machine(),
        "versions": versions(),
        "rows": [],
    }
    began = time.monotonic()
    for row in map(asdict, rows(names, sizes)):
        report["rows"].append(row)
        seconds = time.monotonic() - began
        print(f"{seconds:6.0f} s  {row['group']}: {page.summary(row)}", flush=True)
        if target:
            text = json.dumps(report, indent=1, ensure_ascii=False)
            target.write_text(text + "\n", encoding="utf8")
    return report


def parser() -> argparse.ArgumentParser:
    """Describe the command line."""
    made = argparse.ArgumentParser(
        prog="python -m tests.benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("--json", type=Path, metavar="FILE", help="write the times to this file")
    made.add_argument(
        "--page", type=Path, metavar="FILE", help="render this JSON file; nothing is measured"
    )
    made.add_argument("--quick", action="store_true", help="smallest sizes, to check that they run")
    made.add_argument(
        "--only",
        nargs="+",
        choices=GROUPS,
        default=[*GROUPS],
        metavar="GROUP",
        help=", ".join(GROUPS),
    )
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit status is 1 if a group failed."""
    options = parser().parse_args(arguments)
    if options.page:
        page.write(json.loads(options.page.read_text(encoding="utf8")))
        return 0
    report = measure(options.only, QUICK if options.quick else FULL, options.json)
    return int(any(row["error"] for row in report["rows"]))


if __name__ == "__main__":
    sys.exit(main())
