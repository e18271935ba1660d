"""Reports of experiments: our table or figure beside the paper's, and whether the paper's observations hold here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from structopt.formats import tables
from structopt.formats.durable_files import write_bytes
from structopt.run.records import RunRecord

Cell = str | float | int | None
Reporter = Callable[[Sequence[RunRecord], str], "Report"]
"""Makes a report of the finished runs of a sweep and the scale (small, full): entry-point group ``structopt.experiment``."""


@dataclass(frozen=True)
class Table:
    """A table; numbers are written with `digits` digits behind the point, None is an empty cell."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: str = ""
    digits: int = 2

    def markdown(self) -> str:
        """Return the table in Markdown."""
        table = tables.markdown(self._lines())
        return f"{self.caption}\n\n{table}" if self.caption else table

    def text(self) -> str:
        """Return the table for a terminal, in columns."""
        table = tables.columns(self._lines())
        return f"{self.caption}\n{table}" if self.caption else table

    def csv(self) -> str:
        """Return the table as CSV, with all digits."""
        return tables.comma_separated([self.columns, *self.rows])

    def _lines(self) -> list[Sequence[str]]:
        return [self.columns, *([self._text(cell) for cell in row] for row in self.rows)]

    def _text(self, cell: Cell) -> str:
        if isinstance(cell, float):
            return f"{cell:.{self.digits}f}"
        return "" if cell is None else str(cell)


@dataclass(frozen=True)
class Claim:
    """An observation of the paper, and whether it holds for these runs.

    Attributes
    ----------
    text : str
        The observation.
    held : bool or None
        Whether it holds here; None where these runs cannot tell.
    evidence : str
        The numbers that decide it.
    """

    text: str
    held: bool | None
    evidence: str

    @property
    def verdict(self) -> str:
        """``yes``, ``no`` or ``cannot be told``."""
        return "cannot be told" if self.held is None else "yes" if self.held else "no"


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
    """

    title: str
    source: str
    tables: tuple[Table, ...]
    claims: tuple[Claim, ...] = ()
    notes: tuple[str, ...] = ()
    draw: Callable[[Path], None] | None = None

    @property
    def verdict(self) -> str:
        """How many of the observations that can be judged hold."""
        judged = [claim.held for claim in self.claims if claim.held is not None]
        return f"{sum(judged)} of {len(judged)} observations hold"

    def markdown(self) -> str:
        """Return the report in Markdown; the figure, where there is one, is ``figure.png`` beside it."""
        blocks = [f"# {self.title}", self.source + ".", *(table.markdown() for table in self.tables)]
        blocks += ["![figure](figure.png)"] if self.draw else []
        if self.claims:
            rows = tuple((claim.text, claim.verdict, claim.evidence) for claim in self.claims)
            blocks.append(Table(("the paper says", "here", "numbers"), rows, f"{self.verdict}.").markdown())
        blocks += ["\n".join(f"- {note}" for note in self.notes)] if self.notes else []
        return "\n\n".join(blocks) + "\n"


def with_failures(report: Report, others: Sequence[RunRecord]) -> Report:
    """Add to the notes the runs that did not come to their end, and are therefore missing in the tables."""
    if not others:
        return report
    reasons = [f"{record.status.lower()}{': ' + record.error if record.error else ''}" for record in others]
    failures = "; ".join(f"{record.name} ({reason})" for record, reason in zip(others, reasons, strict=True))
    return replace(report, notes=(f"Missing here, because they did not come to their end: {failures}.", *report.notes))


def write(report: Report, folder: Path) -> Path:
    """Write ``report.md``, ``table.csv`` (further tables: ``table_2.csv``, ...) and ``figure.png``; return the first."""
    if report.draw:
        report.draw(folder / "figure.png")
    for number, table in enumerate(report.tables, 1):
        write_bytes(folder / ("table.csv" if number == 1 else f"table_{number}.csv"), table.csv().encode())
    write_bytes(folder / "report.md", report.markdown().encode())
    return folder / "report.md"
