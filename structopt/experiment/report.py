"""Reports of experiments: our table or figure beside the paper's, and whether the paper's
observations hold here.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from structopt.experiment.noise import CRITERION, Sample, Verdict, written
from structopt.formats import tables
from structopt.formats.durable_files import write_bytes
from structopt.run.records import RunRecord

REPORT = "report.json"
"""The name of the file with a report in JSON."""
Cell = str | float | int | Sample | None
Reporter = Callable[[Sequence[RunRecord], str], "Report"]
"""Makes a report of the finished runs of a sweep and the scale (small, full): entry-point group
``structopt.experiment``.
"""


@dataclass(frozen=True)
class Table:
    """A table; numbers are written with `digits` digits behind the point, samples as mean ±
    deviation; None is an empty cell. Pages of several reports leave out tables that are a `detail`.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: str = ""
    digits: int = 2
    detail: bool = False

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Table:
        """Return the table that a report in JSON has; samples are texts."""
        digits = int(values["digits"])
        rows = tuple(
            tuple(
                written(cell["mean"], cell["sd"], cell["seeds"], digits)
                if isinstance(cell, Mapping)
                else cell
                for cell in row
            )
            for row in values["rows"]
        )
        detail = bool(values.get("detail", False))
        return cls(tuple(values["columns"]), rows, values["caption"], digits, detail)

    def markdown(self, rule: str = " --- ") -> str:
        """Return the table in Markdown."""
        table = tables.markdown(self._lines(), rule=rule)
        return f"{self.caption}\n\n{table}" if self.caption else table

    def text(self) -> str:
        """Return the table for a terminal, in columns."""
        table = tables.columns(self._lines())
        return f"{self.caption}\n{table}" if self.caption else table

    def csv(self) -> str:
        """Return the table as CSV, with all digits; a column of samples is two, of means and of
        standard deviations.
        """
        sampled = [
            any(isinstance(row[j], Sample) for row in self.rows) for j in range(len(self.columns))
        ]
        heads = [
            name
            for column, two in zip(self.columns, sampled, strict=True)
            for name in ([column, f"{column} sd"] if two else [column])
        ]
        lines = [
            [value for cell, two in zip(row, sampled, strict=True) for value in _values(cell, two)]
            for row in self.rows
        ]
        return tables.comma_separated([heads, *lines])

    def _lines(self) -> list[Sequence[str]]:
        return [self.columns, *([self._text(cell) for cell in row] for row in self.rows)]

    def _text(self, cell: Cell) -> str:
        if isinstance(cell, Sample):
            return cell.text(self.digits)
        if isinstance(cell, float):
            return f"{cell:.{self.digits}f}"
        return "" if cell is None else str(cell)


def _values(cell: Cell, two: bool) -> list[str | float | int | None]:
    """A cell in as many columns of CSV as it has."""
    if isinstance(cell, Sample):
        return [cell.mean, cell.sd if cell.n > 1 else None]
    return [cell, None] if two else [cell]


@dataclass(frozen=True)
class Claim:
    """An observation of the paper, and whether it holds for these runs.

    Attributes
    ----------
    text : str
        The observation.
    held : Verdict, bool or None
        Whether it holds here; a truth value where there is no noise, None where these runs cannot
        tell.
    evidence : str
        The numbers that decide it.
    reason : str
        Why it is undecided, if runs of both sides exist: what tuning or more epochs could change.
    """

    text: str
    held: Verdict | bool | None
    evidence: str
    reason: str = ""

    @property
    def judged(self) -> Verdict:
        """The verdict."""
        if isinstance(self.held, Verdict):
            return self.held
        return (
            Verdict.UNKNOWN if self.held is None else Verdict.HOLDS if self.held else Verdict.FAILS
        )

    @property
    def verdict(self) -> str:
        """``holds``, ``does not hold``, ``within noise`` or ``undecided``."""
        return self.judged.value

    @property
    def answer(self) -> str:
        """The verdict, and why it is undecided."""
        return with_reason(self.verdict, self.reason)


@dataclass(frozen=True)
class Report:
    """Tables, judged observations and a figure of an experiment.

    Attributes
    ----------
    title : str
    source : str
        Paper, table or figure.
    tables : tuple of Table
        Ours beside the paper's.
    claims : tuple of Claim
    notes : tuple of str
        Differences from the paper and their reasons: data, features, machine.
    draw : callable or None
        Draws the figure into a file.
    configuration : tuple of pairs of str
        Of all runs and of each setting, what ran; the sweep adds it.
    """

    title: str
    source: str
    tables: tuple[Table, ...]
    claims: tuple[Claim, ...] = ()
    notes: tuple[str, ...] = ()
    draw: Callable[[Path], None] | None = None
    configuration: tuple[tuple[str, str], ...] = ()

    @property
    def verdict(self) -> str:
        """How many of the observations hold, and how many are within noise or cannot be told."""
        counts = Counter(claim.judged for claim in self.claims)
        rest = [
            f"{counts[one]} {one.value}" for one in (Verdict.NOISE, Verdict.UNKNOWN) if counts[one]
        ]
        return ", ".join(
            [f"{counts[Verdict.HOLDS]} of {len(self.claims)} observations hold", *rest]
        )

    def markdown(self, figure: str = "figure.png", level: str = "#") -> str:
        """Return the report in Markdown; the figure, where there is one, is ``figure.png`` beside
        it.
        """
        blocks = [
            f"{level} {self.title}",
            *self.blocks(f"![figure]({figure})" if self.draw else ""),
        ]
        return "\n\n".join(blocks) + "\n"

    def blocks(self, figure: str = "") -> list[str]:
        """Return the paragraphs below the title."""
        blocks = [
            self.source + ".",
            *(table.markdown() for table in self.tables),
            *([figure] if figure else []),
        ]
        if self.claims:
            rows = [(claim.text, claim.answer, claim.evidence) for claim in self.claims]
            blocks += [claims_table(self.verdict, rows).markdown(), CRITERION]
        blocks += ["\n".join(f"- {note}" for note in self.notes)] if self.notes else []
        if self.configuration:
            blocks.append(
                Table(
                    ("runs", "configuration"),
                    tuple((name, f"`{words}`") for name, words in self.configuration),
                    "What ran:",
                ).markdown()
            )
        return blocks


def with_reason(verdict: str, reason: str) -> str:
    """Return a verdict with the reason why it is undecided, if there is one."""
    return f"{verdict}: {reason}" if reason else verdict


def claims_table(verdict: str, claims: Iterable[tuple[str, str, str]]) -> Table:
    """Return the table of observations: text, verdict and the numbers that decide it."""
    return Table(("the paper says", "here", "numbers"), tuple(claims), f"{verdict}.")


def with_failures(report: Report, others: Sequence[RunRecord]) -> Report:
    """Add to the notes the runs that did not come to their end, and are therefore missing in the
    tables.
    """
    if not others:
        return report
    reasons = [
        f"{record.status.lower()}{': ' + record.error if record.error else ''}" for record in others
    ]
    failures = "; ".join(
        f"{record.name} ({reason})" for record, reason in zip(others, reasons, strict=True)
    )
    return replace(
        report,
        notes=(f"Missing here, because they did not come to their end: {failures}.", *report.notes),
    )


@dataclass(frozen=True)
class Origin:
    """Where a report comes from.

    Attributes
    ----------
    experiment, scale, command : str
        Its name, the scale, and what was typed, with DIR for the folder of the data.
    runs : int
        How many came to their end.
    seconds : float
        Of training, of all runs together.
    """

    experiment: str
    scale: str
    command: str
    runs: int
    seconds: float


def write(report: Report, folder: Path, origin: Origin | None = None) -> Path:
    """Write ``report.md``, ``report.json``, ``table.csv`` (further tables: ``table_2.csv``, ...)
    and ``figure.png``.

    Returns the path of the first.
    """
    if report.draw:
        report.draw(folder / "figure.png")
    for number, table in enumerate(report.tables, 1):
        write_bytes(
            folder / ("table.csv" if number == 1 else f"table_{number}.csv"), table.csv().encode()
        )
    if origin is not None:
        write_bytes(
            folder / REPORT,
            (json.dumps(_plain(report, origin), indent=1, ensure_ascii=False) + "\n").encode(),
        )
    write_bytes(folder / "report.md", report.markdown().encode())
    return folder / "report.md"


def _plain(report: Report, origin: Origin) -> dict[str, Any]:
    """A report as JSON values: cells that are samples as their mean, standard deviation and number
    of seeds.
    """
    tables = [
        {
            "caption": one.caption,
            "digits": one.digits,
            "detail": one.detail,
            "columns": one.columns,
            "rows": [[_cell(cell) for cell in row] for row in one.rows],
        }
        for one in report.tables
    ]
    claims = [
        {
            "text": one.text,
            "verdict": one.verdict,
            "numbers": one.evidence,
            **({"reason": one.reason} if one.reason else {}),
        }
        for one in report.claims
    ]
    return {
        **asdict(origin),
        "title": report.title,
        "source": report.source,
        "verdict": report.verdict,
        "criterion": CRITERION,
        "claims": claims,
        "tables": tables,
        "notes": report.notes,
        "configuration": report.configuration,
        "figure": report.draw is not None,
    }


def _cell(cell: Cell) -> Any:
    return {"mean": cell.mean, "sd": cell.sd, "seeds": cell.n} if isinstance(cell, Sample) else cell
