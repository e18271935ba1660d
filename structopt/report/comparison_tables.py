"""The tables of a comparison: runs, means over seeds, differences to a baseline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from structopt.formats import tables
from structopt.report.bootstrap import Difference
from structopt.report.differences import settings, text, varying
from structopt.run.plots import LOWER_IS_BETTER
from structopt.run.records import RunRecord

Cell = str | float | int | None
FACTS = {
    "objective": "train.objective",
    "gap": "train.gap",
    "seconds": "train.seconds",
    "passes": "train.epochs",
}
"""Columns after those of the metrics, and the metrics of a run that they show."""
_FORMS = {"objective": ".6g", "gap": ".2g", "seconds": ".2f", "passes": ".0f"}


@dataclass(frozen=True)
class Table:
    """A table whose cells are raw numbers in CSV and text in Markdown.

    Attributes
    ----------
    columns : tuple of str
    rows : list of mappings from column to value
    texts : list of mappings from column to what Markdown shows
    caption : str
    """

    columns: tuple[str, ...]
    rows: list[dict[str, Cell]]
    texts: list[dict[str, str]]
    caption: str = ""

    def markdown(self) -> str:
        """Return the table in Markdown, its columns aligned."""
        rows = [[text.get(name, "") for name in self.columns] for text in self.texts]
        table = tables.markdown([self.columns, *rows], aligned=True)
        return f"{self.caption}\n\n{table}" if self.caption else table

    def csv(self) -> str:
        """Return the table as CSV, with all digits."""
        keys = list(dict.fromkeys(key for row in self.rows for key in row))
        columns = [key for key in self.columns if key in keys] + [
            key for key in keys if key not in self.columns
        ]
        return tables.comma_separated(
            [columns, *([row.get(key) for key in columns] for row in self.rows)]
        )


def is_lower_better(metric: str) -> bool:
    """Whether a lower value of a metric is the better one."""
    return metric.endswith(LOWER_IS_BETTER) or metric in FACTS.values()


def is_fraction(metric: str) -> bool:
    """Whether a metric is shown in per cent."""
    return metric.startswith(("dev.", "test."))


def shown(metric: str, value: float | None) -> str:
    """Write a metric: fractions in per cent."""
    if value is None:
        return "-"
    return f"{100 * value:.2f}" if is_fraction(metric) else f"{value:.6g}"


def runs_table(
    records: Sequence[RunRecord], titles: Sequence[str], metrics: Sequence[str], best: int
) -> Table:
    """One row a run: its name, the settings in which runs differ, metrics, objective, gap, seconds,
    passes.

    Settings that a run's components do not have are left empty. The best run's name is bold.
    """
    keys = varying(records)
    rows: list[dict[str, Cell]] = []
    texts = []
    for number, (record, title) in enumerate(zip(records, titles, strict=True)):
        values = settings(record)
        named = {key: text(values[key]) for key in keys if key in values}
        measured = {metric: record.metric(metric) for metric in metrics}
        facts = {name: record.metric(key) for name, key in FACTS.items()}
        rows.append({"name": title, **named, **measured, **facts, "folder": str(record.folder)})
        written = {metric: shown(metric, value) for metric, value in measured.items()}
        written |= {
            name: "" if value is None else format(value, _FORMS[name])
            for name, value in facts.items()
        }
        texts.append({"name": f"**{title}**" if number == best else title, **named, **written})
    return Table(("name", *keys, *metrics, *FACTS), rows, texts, _units(metrics))


def _units(metrics: Sequence[str]) -> str:
    return (
        "Metrics of dev and test in per cent; the best run is bold."
        if any(map(is_fraction, metrics))
        else ""
    )


def seeds_table(
    records: Sequence[RunRecord], groups: Sequence[Sequence[int]], metrics: Sequence[str]
) -> Table:
    """One row for every group of runs that differ in the seed only: means and standard deviations
    (of n - 1).
    """
    keys = [key for key in varying(records) if key != "seed"]
    measures = {
        **{metric: metric for metric in metrics},
        "objective": FACTS["objective"],
        "seconds": FACTS["seconds"],
    }
    rows: list[dict[str, Cell]] = []
    texts = []
    for group in groups:
        members = [records[number] for number in group]
        named = {key: text(value) for key, value in settings(members[0]).items() if key in keys}
        named["seeds"] = ",".join(str(member.config.get("seed")) for member in members)
        row: dict[str, Cell] = dict(named)
        written = dict(named)
        for name, key in measures.items():
            values = [value for member in members if (value := member.metric(key)) is not None]
            if len(values) > 1:
                row |= {name: fmean(values), f"{name} deviation": stdev(values)}
                written[name] = _spread(name, key, values)
        rows.append(row)
        texts.append(written)
    columns = (*keys, "seeds", *measures)
    return Table(columns, rows, texts, "Means and standard deviations over seeds.")


def _spread(name: str, key: str, values: Sequence[float]) -> str:
    if is_fraction(key):
        return f"{100 * fmean(values):.2f} ± {100 * stdev(values):.2f}"
    form = _FORMS.get(name, ".6g")
    return f"{fmean(values):{form}} ± {stdev(values):.2g}"


def significance_table(differences: Mapping[str, tuple[Difference, float]], caption: str) -> Table:
    """One row for every run that was compared with the baseline: difference in points, interval,
    p-values.
    """
    rows: list[dict[str, Cell]] = []
    texts = []
    for title, (difference, corrected) in differences.items():
        rows.append(
            {
                "name": title,
                "difference": difference.value,
                "low": difference.low,
                "high": difference.high,
                "p": difference.p,
                "p (Holm)": corrected,
            }
        )
        texts.append(
            {
                "name": title,
                "difference": f"{100 * difference.value:+.2f}",
                "95 % interval": f"{100 * difference.low:+.2f} to {100 * difference.high:+.2f}",
                "p": f"{difference.p:.3f}",
                "p (Holm)": f"{corrected:.3f}",
            }
        )
    return Table(("name", "difference", "95 % interval", "p", "p (Holm)"), rows, texts, caption)
