"""The table at the end of a sweep: swept values, status and scores of each job, the best job, and
means over seeds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, stdev

from structopt.formats import tables
from structopt.run.records import (
    FAILED,
    FINISHED,
    JOB,
    KILLED,
    PRUNED,
    RunRecord,
    read_json,
    read_sweep,
)

SEED, LABEL = "seed", "label"


@dataclass(frozen=True)
class JobRow:
    """A job in the table.

    Attributes
    ----------
    number : int
    swept : mapping of key to value
        Values of the keys in which jobs differ.
    status : str
    metric : str
        The task's main metric; empty where the job did not come to its end.
    dev, test, objective : float or None
    seconds : float or None
        Wall time.
    error : str
    mendable : bool
        Whether the user can mend the error.
    """

    number: int
    swept: Mapping[str, str]
    status: str
    metric: str
    dev: float | None
    test: float | None
    objective: float | None
    seconds: float | None
    error: str
    mendable: bool


@dataclass(frozen=True)
class SweepTable:
    """The jobs of a sweep."""

    rows: tuple[JobRow, ...]

    @property
    def keys(self) -> list[str]:
        """The keys that were swept."""
        return list(dict.fromkeys(key for row in self.rows for key in row.swept))

    @property
    def metric(self) -> str:
        """The main metric of the jobs."""
        return next((row.metric for row in self.rows if row.metric), "score")

    @property
    def best(self) -> JobRow | None:
        """The finished job with the highest dev score."""
        scored = [row for row in self.rows if row.dev is not None and row.status == FINISHED]
        return max(scored, key=lambda row: row.dev or 0.0, default=None)

    def text(self) -> str:
        """Return the tables for a terminal."""
        best = self.best
        rows = [
            [f"{row.number}{' *' if row is best else '  '}", *_cells(row, self.keys)]
            for row in self.rows
        ]
        blocks = [tables.columns([["job", *self._columns], *rows], ">")]
        if means := self.means():
            blocks.append(tables.columns([self._mean_columns, *map(_mean_cells, means)], ">"))
        counts = [
            f"{n} {status.lower()}"
            for status in (FINISHED, PRUNED, FAILED, KILLED)
            if (n := self.count(status))
        ]
        jobs = "1 job" if len(self.rows) == 1 else f"{len(self.rows)} jobs"
        blocks.append(
            f"{jobs}: {', '.join(counts)}" + (f"; * best dev {self.metric}" if best else "")
        )
        return "\n\n".join(blocks)

    def markdown(self) -> str:
        """Return the tables in Markdown, the best job bold, and why jobs failed."""
        best = self.best
        rows = [
            [f"**{row.number}**" if row is best else f"{row.number}", *_cells(row, self.keys)]
            for row in self.rows
        ]
        blocks = [tables.markdown([["job", *self._columns], *rows])]
        if means := self.means():
            blocks.append(tables.markdown([self._mean_columns, *map(_mean_cells, means)]))
        if failed := [
            f"- Job {row.number} failed: {' '.join(row.error.split())}"
            for row in self.rows
            if row.error
        ]:
            blocks.append("\n".join(failed))
        return "\n\n".join(blocks) + "\n"

    def csv(self) -> str:
        """Return the jobs as CSV, with all digits."""
        scores = [f"dev.{self.metric}", f"test.{self.metric}"]
        lines: list[list[object]] = [
            ["job", *self.keys, "status", *scores, "objective", "seconds", "error"]
        ]
        for row in self.rows:
            swept = [row.swept.get(key, "") for key in self.keys]
            lines.append(
                [
                    row.number,
                    *swept,
                    row.status,
                    row.dev,
                    row.test,
                    row.objective,
                    row.seconds,
                    row.error,
                ]
            )
        return tables.comma_separated(lines)

    def means(self) -> list[tuple[list[str], int, list[tuple[float, float] | None]]]:
        """Return, of jobs that differ in their seed only: what was swept, how many, mean and
        deviation of dev, test, objective.

        Empty where no two finished jobs differ in their seed only.
        """
        keys = [key for key in self.keys if key != SEED]
        groups: dict[tuple[str, ...], list[JobRow]] = {}
        for row in self.rows:
            if SEED in row.swept and row.status == FINISHED:
                groups.setdefault(tuple(row.swept.get(key, "") for key in keys), []).append(row)
        if all(len(rows) < 2 for rows in groups.values()):
            return []
        return [
            (
                list(values),
                len(rows),
                [
                    _spread([getattr(row, name) for row in rows])
                    for name in ("dev", "test", "objective")
                ],
            )
            for values, rows in groups.items()
        ]

    def count(self, status: str) -> int:
        """Return how many jobs have a status."""
        return sum(row.status == status for row in self.rows)

    @property
    def _columns(self) -> list[str]:
        return [
            *self.keys,
            "status",
            f"dev {self.metric}",
            f"test {self.metric}",
            "objective",
            "seconds",
        ]

    @property
    def _mean_columns(self) -> list[str]:
        keys = [key for key in self.keys if key != SEED]
        return [*keys, "seeds", f"dev {self.metric}", f"test {self.metric}", "objective"]


def write_tables(folder: Path) -> SweepTable:
    """Read the jobs of a sweep and write ``table.md`` and ``table.csv``; of an experiment,
    ``jobs.md`` and ``jobs.csv``.
    """
    from structopt.formats.durable_files import write_bytes

    table = read_table(folder)
    name = "jobs" if (folder / "report.md").is_file() else "table"
    write_bytes(folder / f"{name}.md", table.markdown().encode())
    write_bytes(folder / f"{name}.csv", table.csv().encode())
    return table


def read_table(folder: Path) -> SweepTable:
    """Read the jobs of a sweep in the order of their numbers."""
    records = read_sweep(folder)
    keys = _swept_keys(records)
    return SweepTable(tuple(_row(record, keys) for record in records))


def summary(table: SweepTable) -> dict[str, float]:
    """Metrics of a sweep as a whole, by dotted name."""
    metrics = {"jobs": float(len(table.rows))}
    counts = {
        status.lower(): float(table.count(status)) for status in (FINISHED, FAILED, PRUNED, KILLED)
    }
    metrics |= {status: count for status, count in counts.items() if count}
    if table.best and table.best.dev is not None:
        metrics[f"best.dev.{table.metric}"] = table.best.dev
    return metrics


def _swept_keys(records: Sequence[RunRecord]) -> list[str]:
    """Return the keys whose values differ between jobs; the label alone where all jobs have
    different ones.
    """
    values: dict[str, list[str]] = {}
    for record in records:
        for key, value in map(_key_and_value, record.overrides):
            values.setdefault(key, []).append(value)
    labels = values.get(LABEL, [])
    if len(labels) == len(records) == len(set(labels)):
        return [LABEL]
    one_job, count = len(records) == 1, len(records)
    return [
        key for key, typed in values.items() if one_job or len(typed) < count or len(set(typed)) > 1
    ]


def _key_and_value(word: str) -> tuple[str, str]:
    key, _, value = word.partition("=")
    return key.lstrip("+~"), value.strip("'\"")


def _row(record: RunRecord, keys: Sequence[str]) -> JobRow:
    job = read_json(record.folder / JOB)
    metric, done = str(job.get("metric") or ""), record.status in (FINISHED, PRUNED)
    typed = dict(map(_key_and_value, record.overrides))
    return JobRow(
        int(job["number"]),
        {key: typed[key] for key in keys if key in typed},
        record.status,
        metric,
        record.metric(f"dev.{metric}") if done else None,
        record.metric(f"test.{metric}") if done else None,
        record.metric("train.objective") if done else None,
        job.get("seconds"),
        record.error,
        bool(job.get("mendable")),
    )


def _cells(row: JobRow, keys: Sequence[str]) -> list[str]:
    seconds = "" if row.seconds is None else f"{row.seconds:.1f}"
    swept = [row.swept.get(key, "") for key in keys]
    return [
        *swept,
        row.status,
        _percent(row.dev),
        _percent(row.test),
        _number(row.objective),
        seconds,
    ]


def _mean_cells(line: tuple[list[str], int, list[tuple[float, float] | None]]) -> list[str]:
    values, count, (dev, test, objective) = line
    shown = [
        "" if one is None else f"{100 * one[0]:.2f} ± {100 * one[1]:.2f}" for one in (dev, test)
    ]
    return [
        *values,
        str(count),
        *shown,
        "" if objective is None else f"{objective[0]:.6g} ± {objective[1]:.2g}",
    ]


def _spread(values: Sequence[float | None]) -> tuple[float, float] | None:
    """Mean and standard deviation."""
    known = [value for value in values if value is not None]
    return (mean(known), stdev(known) if len(known) > 1 else 0.0) if known else None


def _percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.2f}"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"
