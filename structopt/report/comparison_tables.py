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


def settings_table(
    records: Sequence[RunRecord],
    groups: Sequence[Sequence[int]],
    titles: Sequence[str],
    metrics: Sequence[str],
) -> Table:
    """Return a table with one row per setting: its name, the values in which settings differ, the
    number of seeds, and means and standard deviations (of n - 1) over the seeds.

    Settings that a run's components do not have are left empty. The name of the first row, the
    best, is bold.
    """
    pooled = any(len(group) > 1 for group in groups)
    keys = [key for key in varying(records) if not (pooled and key == "seed")]
    measures = {metric: metric for metric in metrics} | FACTS
    rows: list[dict[str, Cell]] = []
    texts = []
    for group, title in zip(groups, titles, strict=True):
        members = [records[number] for number in group]
        values = settings(members[0])
        named = {key: text(values[key]) for key in keys if key in values}
        row: dict[str, Cell] = {"name": title, **named}
        written = {"name": title if rows else f"**{title}**", **named}
        if pooled:
            row["seeds"], written["seeds"] = len(group), str(len(group))
        for name, key in measures.items():
            known = [value for one in members if (value := one.metric(key)) is not None]
            row[name] = None if not known else known[0] if len(known) == 1 else fmean(known)
            written[name] = _cell(name, key, known)
            if len(known) > 1:
                row[f"{name} deviation"] = stdev(known)
        row["folder"] = "; ".join(str(one.folder) for one in members)
        rows.append(row)
        texts.append(written)
    seeds = ("seeds",) if pooled else ()
    return Table(("name", *keys, *seeds, *measures), rows, texts, _units(metrics, pooled))


def _cell(name: str, key: str, values: Sequence[float]) -> str:
    """Write the mean of some runs, with its standard deviation if there are several."""
    if not values:
        return "" if name in FACTS else "-"
    mean, times = fmean(values), 100 if is_fraction(key) else 1
    form = _FORMS.get(name, ".2f" if is_fraction(key) else ".6g")
    spread = ".2f" if is_fraction(key) else ".2g"
    deviation = f" ± {times * stdev(values):{spread}}" if len(values) > 1 else ""
    return f"{times * mean:{form}}{deviation}"


def _units(metrics: Sequence[str], pooled: bool) -> str:
    """Return the caption of a table."""
    units = "Metrics of dev and test in per cent; " if any(map(is_fraction, metrics)) else ""
    means = "means ± standard deviations over seeds; " if pooled else ""
    caption = f"{units}{means}the best {'setting' if pooled else 'run'} is bold."
    return caption[0].upper() + caption[1:]


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
