"""The page docs/benchmarks.md and the table in README.md, rendered from a JSON file of times."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.benchmarks.measurement import NOT_INSTALLED, OURS, PEERS

ROOT = Path(__file__).resolve().parents[2]
PAGE, README = ROOT / "docs" / "benchmarks.md", ROOT / "README.md"
SECTIONS = {
    "End to end": ("sequences", "words", "start", "compilation"),
    "Epochs and kernels": ("chains", "trees", "programs", "configurations"),
}
IN_README = ("fit", "batch", "one sentence")
"""Rows that README.md repeats."""
TABLE = re.compile(r"^\| end to end \|.*\n(?:\|.*\n)+", re.MULTILINE)
INTRODUCTION = """# Benchmarks

`python -m tests.benchmarks --json FILE` measures the times on this page, and `python -m tests.benchmarks --page docs/benchmarks.json` renders
it. Other pages state no speeds, except in the output of commands and in dated records. Programs take turns within each row. A cell has the
median and, in brackets, the quartiles. The last column is the ratio of the medians: below 1 structopt is faster.
"""
EXPLANATIONS = {
    "End to end": """
structopt runs with one thread, its default. Both programs get the same Python objects: feature dicts, or lists of attributes for the start
of a process. The penalty is c2 = 1, without feature selection.
""",
    "Epochs and kernels": """
Epochs of chains have the sentences and features of the first table. The time of an epoch of CRFsuite is the difference of two runs. Trees
and linear programs have random scores. Rows in code type are configurations of `tools/comparison.yaml`, which `tools/faster.py` compares
between revisions; their names give task and optimizer.
""",
}


def render(report: Mapping[str, Any]) -> str:
    """Render the page."""
    text = [INTRODUCTION, _machine(report)]
    for title, groups in SECTIONS.items():
        chosen = [row for row in report["rows"] if row["group"] in groups]
        head = "| | structopt | peer | structopt / peer |\n|---|---|---|---|\n"
        text.append(f"## {title}\n{EXPLANATIONS[title]}\n{head}{''.join(map(_line, chosen))}")
    return "\n".join(text)


def readme_table(report: Mapping[str, Any]) -> str:
    """Render the rows of README.md."""
    rows = {row["name"]: row for row in report["rows"]}
    head = "| end to end | structopt | python-crfsuite | ratio |\n|---|---|---|---|\n"
    lines = []
    for name in IN_README:
        programs = rows[name]["programs"]
        ours, theirs = (
            _duration(programs[one]["median"]) if one in programs else "not installed"
            for one in (OURS, "python-crfsuite")
        )
        ratio = _ratio(rows[name], "python-crfsuite")
        lines.append(f"| {_lowered(rows[name]['title'])} | {ours} | {theirs} | {ratio} |\n")
    return head + "".join(lines)


def write(report: Mapping[str, Any]) -> None:
    """Write the page, and replace the table in README.md."""
    PAGE.write_text(render(report), encoding="utf8")
    text = README.read_text(encoding="utf8")
    README.write_text(TABLE.sub(lambda _: readme_table(report), text), encoding="utf8")


def summary(row: Mapping[str, Any]) -> str:
    """Describe a row in one line."""
    if row["error"]:
        return f"{row['name']}: failed: {row['error']}"
    times = (f"{one} {_duration(times['median'])}" for one, times in row["programs"].items())
    return f"{row['name']}: {', '.join(times)}"


def _machine(report: Mapping[str, Any]) -> str:
    machine, versions = report["machine"], report["versions"]
    present = [f"{name} {one}" for name, one in versions.items() if one != NOT_INSTALLED]
    missing = [name for name in PEERS if versions.get(name) == NOT_INSTALLED]
    lines = [
        f"Measured on {report['date']} on {machine['cpu']}, {machine['cores']} cores, {machine['system']}, "
        f"with a load of {machine['load']} before the first measurement.",
        f"Versions: {', '.join(present)}.",
        *([f"Not installed: {', '.join(missing)}."] if missing else []),
    ]
    return "\n".join(lines) + "\n"


def _line(row: Mapping[str, Any]) -> str:
    if row["error"]:
        return f"| {row['title']} | failed: {row['error'].splitlines()[0]} | | |\n"
    peers = [name for name in row["programs"] if name != OURS]
    ours = _cell(row["programs"][OURS])
    if not peers:
        return f"| {row['title']} | {ours} | | |\n"
    cells = "; ".join(f"{name} {_cell(row['programs'][name])}" for name in peers)
    return f"| {row['title']} | {ours} | {cells} | {_ratio(row, peers[0])} |\n"


def _ratio(row: Mapping[str, Any], peer: str) -> str:
    programs = row["programs"]
    if peer not in programs or not programs[peer]["median"]:
        return ""
    ratio = programs[OURS]["median"] / programs[peer]["median"]
    return f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.2g}"


def _cell(times: Mapping[str, float]) -> str:
    text = _duration(times["median"])
    if times["repeats"] > 1:
        unit = text.split(" ")[1]
        text += f" ({_duration(times['low'], unit)} to {_duration(times['high'], unit)})"
    return text


UNITS = {"s": 1.0, "ms": 1e-3, "µs": 1e-6}


def _duration(seconds: float, unit: str = "") -> str:
    """Format seconds with three significant digits; in a given unit, without its name."""
    chosen = unit or next((one for one, size in UNITS.items() if seconds >= size), "µs")
    number = seconds / UNITS[chosen]
    digits = f"{number:.0f}" if number >= 100 else f"{number:#.3g}"
    return digits if unit else f"{digits} {chosen}"


def _lowered(text: str) -> str:
    return text[:1].lower() + text[1:]
