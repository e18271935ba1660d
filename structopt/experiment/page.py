"""The pages of all experiments: the reports of finished sweeps, explanations, and a table of all
verdicts.
"""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from structopt.errors import ConfigError
from structopt.experiment import kummerfeld2015_observations as joint
from structopt.experiment.noise import CRITERION
from structopt.experiment.report import REPORT, Origin, Table, claims_table, with_reason, write
from structopt.formats import tables
from structopt.formats.durable_files import write_bytes

READINGS, IMAGES, OBSERVATIONS = "readings", "images/experiments", "observations.md"
"""Beside the page: what it is made of, its pictures, and the page of one screen."""
INTRODUCTION, ORDER, EARLIER = "introduction.md", "order.txt", ".earlier.md"
OTHERS = "others.md"
"""Observations without an experiment, and differences from the papers: the end of that page."""
MARK = (
    "*From an earlier version: one seed, values chosen and scores reported on the dev split. The "
    "command makes it anew.*"
)
KEYS = (
    *("experiment", "scale", "title", "command", "source", "verdict", "claims", "tables", "notes"),
    *("seconds", "runs", "figure"),
)
ROW = re.compile(r"^\| (?P<text>.+?) \| (?P<verdict>yes|no|cannot be told) \|", re.MULTILINE)
SOURCE = re.compile(
    r"(?P<paper>[A-Z][\w-]+(?:(?:, | and )[A-Z][\w-]+)*(?: et al\.)? \(\d{4}\)), "
    r"(?:(?:EMNLP|ICML), )?(?P<place>[^;.|\n]*)(?P<rest>[^|\n]*)"
)
"""How reports name their paper, and the table or figure in it."""
COMMAND = "python -m structopt +experiment={} data=DIR"
"""The command of most experiments, which the introduction has: sections have only others."""
STATED = ("Every number is the mean over ", "Values are chosen on the last ")
"""How notes begin that repeat the introduction and the criterion."""
COLUMN = 'column "'
"""How the numbers of a claim begin if they are a column of the table above it."""
JOINT = f"python -m structopt experiments folder=SWEEPS report={joint.NAME}"


@dataclass(frozen=True)
class Sweep:
    """A finished sweep: its folder, and its report as JSON values."""

    folder: Path
    report: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The name of its experiment."""
        return str(self.report["experiment"])


def finished(folder: Path, scale: str) -> dict[str, Sweep]:
    """Find the finished sweeps in a folder and the folders in it, by experiment; of several the
    latest.

    Raises
    ------
    ConfigError
        If there is none of the scale, or a report cannot be read.
    """
    reports = sorted(folder.glob(f"**/{REPORT}"), key=lambda path: path.stat().st_mtime)
    every = [Sweep(path.parent, read_report(path)) for path in reports]
    sweeps = {
        sweep.name: sweep
        for sweep in every
        if sweep.report["scale"] == scale and sweep.name != joint.NAME
    }
    if not sweeps:
        others = f" There are {len(every)} of another scale." if every else ""
        raise ConfigError(
            f"folder={folder}: there is no finished sweep of an experiment at scale={scale} in "
            f"it, which has a {REPORT}.{others} "
            "Give the folder of sweeps, such as outputs/multirun."
        )
    return sweeps


def read_report(path: Path) -> dict[str, Any]:
    """Read a report in JSON; ConfigError where it is none."""
    try:
        values = json.loads(path.read_text(encoding="utf8"))
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"this is not JSON ({error}).",
            where=str(path),
            remedy="Delete it, and run the experiment again.",
        ) from None
    missing = [key for key in KEYS if not isinstance(values, dict) or key not in values]
    if missing:
        raise ConfigError(
            f"the entry {missing[0]} is missing.",
            where=str(path),
            remedy="Delete it, and run the experiment again.",
        )
    report: dict[str, Any] = values
    return report


def kept(page: Path, scale: str) -> dict[str, Mapping[str, Any]]:
    """The reports of a scale that the folder beside a page has from earlier times, by
    experiment.
    """
    reports = map(read_report, sorted((page.parent / READINGS).glob("*.json")))
    return {str(report["experiment"]): report for report in reports if report["scale"] == scale}


def observations(reports: Mapping[str, Mapping[str, Any]], scale: str, target: Path) -> Sweep:
    """Judge the observations of Kummerfeld et al. (2015) over all tasks; the report is written into
    a folder.

    Raises
    ------
    ConfigError
        If none of the reports is of that paper.
    """
    own = {name: report for name, report in reports.items() if joint.wanted(name)}
    if not own:
        sought = f"{joint.FIGURE1}... and {joint.ROBUSTNESS}..."
        raise ConfigError(
            f"judges the finished sweeps of {sought}, and the folder has none.",
            parameter="report",
            value=joint.NAME,
        )
    runs, seconds = (sum(report[key] for report in own.values()) for key in ("runs", "seconds"))
    target.mkdir(parents=True, exist_ok=True)
    write(joint.observations(own, scale), target, Origin(joint.NAME, scale, JOINT, runs, seconds))
    return Sweep(target, read_report(target / REPORT))


def collect(sweeps: Sequence[Sweep], page: Path) -> None:
    """Take the reports and figures of sweeps over into the folders beside a page."""
    readings, images = page.parent / READINGS, page.parent / IMAGES
    readings.mkdir(parents=True, exist_ok=True)
    for sweep in sweeps:
        shutil.copyfile(sweep.folder / REPORT, readings / f"{sweep.name}.json")
        if sweep.report["figure"]:
            images.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(sweep.folder / "figure.png", images / f"{sweep.name}.png")


def write_pages(page: Path) -> None:
    """Write the page and the page of all verdicts from the folder of readings: the same readings
    give the same bytes.

    An experiment has ``NAME.json``, its report, or ``NAME.earlier.md``, a section of an earlier
    version, which is marked; and perhaps ``NAME.md``, an explanation, which no command changes.
    The experiments of a paper have a heading, below which are the notes that several of them have.
    """
    readings = page.parent / READINGS
    blocks = [_text(readings / INTRODUCTION), f"**Criterion.** {CRITERION}"]
    for paper, names in groupby(_names(readings), lambda name: _origin(readings, name).paper):
        blocks += _paper(readings, paper, list(names))
    write_bytes(page, ("\n\n".join(blocks).lstrip() + "\n").encode())
    write_bytes(page.parent / OBSERVATIONS, screen(readings, page.name).encode())


def _names(readings: Path) -> list[str]:
    """The experiments, in the order of the file that says it, others after them."""
    known = {path.name.removesuffix(".json") for path in readings.glob("*.json")}
    known |= {path.name.removesuffix(EARLIER) for path in readings.glob(f"*{EARLIER}")}
    order = _text(readings / ORDER).split()
    return [name for name in order if name in known] + sorted(known - set(order))


def _text(path: Path) -> str:
    return path.read_text(encoding="utf8").strip("\n") if path.is_file() else ""


class _Origin(NamedTuple):
    """The source of an experiment: the paper, the place in it, and the rest of the text."""

    paper: str
    place: str
    rest: str


def _origin(readings: Path, name: str) -> _Origin:
    path = readings / f"{name}.json"
    earlier = readings / f"{name}{EARLIER}"
    source = str(read_report(path)["source"]) if path.is_file() else _text(earlier)
    found = SOURCE.search(" ".join(source.split()))
    return (
        _Origin(found["paper"], found["place"], found["rest"]) if found else _Origin(name, "", "")
    )


def _paper(readings: Path, paper: str, names: Sequence[str]) -> list[str]:
    """The section of a paper: the notes that several experiments have, and the experiments."""
    paths = (readings / f"{name}.json" for name in names)
    every = [note for path in paths if path.is_file() for note in _notes(read_report(path))]
    shared = [note for note, count in Counter(every).items() if count > 1]
    heading = [f"## {paper}", *(["\n".join(f"- {note}" for note in shared)] if shared else [])]
    return heading + [_section(readings, name, shared) for name in names]


def _notes(report: Mapping[str, Any]) -> list[str]:
    """Return the notes of a report that do not repeat the introduction."""
    return [note for note in report["notes"] if not note.startswith(STATED)]


def _section(readings: Path, name: str, shared: Sequence[str]) -> str:
    """Write the section of an experiment, without the notes that are shared.

    If the observations of several experiments are judged together, the table of verdicts there has
    the rows whose numbers are in the table above or missing.
    """
    said, report = _text(readings / f"{name}.md"), readings / f"{name}.json"
    if not report.is_file():
        earlier = _text(readings / f"{name}{EARLIER}")
        return "\n\n".join(block for block in (f"### {name}", MARK, earlier, said) if block)
    values, origin = read_report(report), _origin(readings, name)
    size = f"{values['runs']} runs, {duration(values['seconds'])} of training."
    tables = [Table.of(one) for one in values["tables"]]
    claims = [
        (one["text"], with_reason(one["verdict"], one.get("reason", "")), one["numbers"])
        for one in values["claims"]
    ]
    verdict = str(values["verdict"])
    if name == joint.NAME:  # its table has these verdicts
        claims = []
    elif joint.wanted(name):
        claims = [(joint.SHORT.get(text, text), *rest) for text, *rest in claims]
        if (readings / f"{joint.NAME}.json").is_file():
            claims = [one for one in claims if one[2] and not one[2].startswith(COLUMN)]
            verdict += f"; [all verdicts](#{joint.NAME})"
    blocks = (
        f"### {name}",
        f"    {values['command']}" if values["command"] != COMMAND.format(name) else "",
        f"{_sentence(origin.place + origin.rest)} {size}".lstrip(),
        *(table.markdown("---") for table in tables if not table.detail),
        f"![{name}]({IMAGES}/{name}.png)" if values["figure"] else "",
        claims_table(verdict, claims).markdown("---") if claims else "",
        "\n".join(f"- {note}" for note in _notes(values) if note not in shared),
        said,
    )
    return "\n\n".join(block for block in blocks if block)


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}." if text else ""


def screen(readings: Path, page: str) -> str:
    """The page of one screen: paper and table, observation, verdict and command.

    Reports whose observations are judged over all tasks together have no rows of their own where
    that is done.
    """
    rows: list[list[str]] = []
    seconds = 0.0
    together = (readings / f"{joint.NAME}.json").is_file()
    for name in _names(readings):
        path = readings / f"{name}.json"
        earlier = _text(readings / f"{name}{EARLIER}")
        if path.is_file():
            values = read_report(path)
            seconds += 0.0 if name == joint.NAME else float(values["seconds"])
            claims = [
                (one["text"], with_reason(f"**{one['verdict']}**", one.get("reason", "")))
                for one in values["claims"]
            ]
            claims = [] if together and joint.wanted(name) else claims
            command, title = str(values["command"]), f": {values['title']}"
        else:
            claims = [
                (found["text"], f"{found['verdict']} (earlier)") for found in ROW.finditer(earlier)
            ]
            command, title = COMMAND.format(name), ""
        paper, place, _ = _origin(readings, name)
        first, last = [paper, f"[{place or name}]({page}#{name}){title}"], [f"`{command}`"]
        rows += [
            [*(["", ""] if number else first), text, verdict, *([""] if number else last)]
            for number, (text, verdict) in enumerate(claims)
        ]
    head = (
        "# The papers' observations\n\nThe observations of the papers, and whether they hold "
        "for structopt. Numbers, the criterion and explanations are in "
        f"[Experiments]({page})."
    )
    if any("(earlier)" in row[3] for row in rows):
        head += " *(earlier)* marks verdicts of one seed, by the criteria of an earlier version."
    total = f"\n\n{duration(seconds)} of training in all.\n" if seconds else "\n"
    others = _text(readings / OTHERS)
    return (
        f"{head}\n\n"
        + tables.markdown([["paper", "table", "observation", "verdict", "command"], *rows])
        + total
        + (f"\n{others}\n" if others else "")
    )


def duration(seconds: float) -> str:
    """Seconds as hours, minutes and seconds: ``1:02:03``."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}"
