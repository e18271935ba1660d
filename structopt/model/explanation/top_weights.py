"""The weights that say most: by label, by pair of labels, or by part group, the highest and the
lowest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np

from structopt.core.scorer import SparseFeatures
from structopt.core.weights.coordinates import Coordinate, Named, Occurring, unnamed
from structopt.formats import html_pages, tables
from structopt.kernels.waist.record import Array
from structopt.model.explanation.explanation import Explanation, signed
from structopt.model.explanation.naming import (
    ModelNames,
    WeightRows,
    linear,
    shared_weights,
    weight_rows,
)
from structopt.model.predictor import Predictor

MOST_TABLES = 100
"""Configurations that have a table each; where there are more, a part group has one for all."""
WIDE = 120
"""Letters of two names beside each other, at most."""
ASKED = 20
"""How many times the weights that are asked for are looked up, since the largest of a model may all
be of one part group.
"""


class Weight(NamedTuple):
    """A weight and its name; `others` are further features that share it."""

    weight: float
    feature: Coordinate
    others: tuple[Coordinate, ...] = ()

    def name(self, apart: bool) -> str:
        """All features that have it; without their configuration, where the table is of one."""
        features = (self.feature, *self.others)
        return " or ".join(
            dict.fromkeys(one.attribute or "always" if apart else str(one) for one in features)
        )


@dataclass(frozen=True)
class Table:
    """The highest and the lowest weights of a part group, or of one of its configurations.

    Attributes
    ----------
    title : str
        The group, and the configuration where there is one.
    positive, negative : list of Weight
        Weights above 0, the highest first; below 0, the lowest first.
    count : int
        Weights that are not 0, these and others; 0 where that is not known.
    apart : bool
        Whether it is of one configuration, which its title names.
    """

    title: str
    positive: list[Weight]
    negative: list[Weight]
    count: int = 0
    apart: bool = False


@dataclass(frozen=True)
class TopWeights(Explanation):
    """Tables of the weights of a model."""

    title: str
    tables: list[Table]
    remarks: list[str]

    def text(self) -> str:
        """Each table with its highest weights beside its lowest."""
        return (
            "\n\n".join(_text(table) for table in self.tables if table.positive or table.negative)
            or "All weights are 0."
        )

    def data(self) -> dict[str, Any]:
        """Titles, counts and rows of all tables."""
        tables = [
            {
                "title": table.title,
                "count": table.count,
                "positive": _rows(table.positive),
                "negative": _rows(table.negative),
            }
            for table in self.tables
        ]
        return {"kind": "weights", "tables": tables, "remarks": self.remarks}

    def body(self) -> Iterator[str]:
        """A heading, and two tables with bars, for each table."""
        largest = max(
            (
                abs(row.weight)
                for table in self.tables
                for row in (*table.positive, *table.negative)
            ),
            default=0.0,
        )
        for table in self.tables:
            if table.positive or table.negative:
                yield f"<h2>{escape(_heading(table))}</h2>"
                yield '<div class="pair">'
                yield from (
                    _html(rows, largest, table.apart)
                    for rows in (table.positive, table.negative)
                    if rows
                )
                yield "</div>"


def _heading(table: Table) -> str:
    return f"{table.title} ({table.count} weights)" if table.count else table.title


def _text(table: Table) -> str:
    """Highest weights on the left, lowest on the right; below each other, where names are long."""
    sides = [
        [["weight", "feature"], *([signed(row.weight), row.name(table.apart)] for row in rows)]
        for rows in (table.positive, table.negative)
        if rows
    ]
    if sum(max(len(name) for _, name in side) for side in sides) > WIDE:
        return "\n".join([_heading(table), *(tables.columns(side, sides="><") for side in sides)])
    beside = [
        [cell for k, cells in enumerate(pair) for cell in ([""] * (k > 0) + cells)]
        for pair in zip_longest(*sides, fillvalue=["", ""])
    ]
    return f"{_heading(table)}\n{tables.columns(beside, sides='><<><')}"


def _rows(weights: list[Weight]) -> list[dict[str, Any]]:
    return [
        {
            "weight": row.weight,
            **row.feature._asdict(),
            "others": [other._asdict() for other in row.others],
        }
        for row in weights
    ]


def _html(weights: list[Weight], largest: float, apart: bool) -> str:
    rows = [
        [signed(row.weight), html_pages.bar(row.weight, largest, 80), escape(row.name(apart))]
        for row in weights
    ]
    return html_pages.table(["weight", "", "feature"], rows, numbers=[0])


def top_weights(
    model: Predictor, top: int, occurring: Sequence[Occurring] = (), source: str = ""
) -> TopWeights:
    """The `top` highest and lowest weights of a model.

    Parameters
    ----------
    model : Predictor
    top : int
        At least 1.
    occurring : sequence of Occurring
        Parts whose features give hashed weights their names.
    source : str
        What these are of, to a reader.

    Raises
    ------
    ConfigError
        Where scores are no sums of weights.
    """
    scorer, names = linear(model.scorer), ModelNames(model.task, model.graph)
    title = f"The {top} highest and lowest weights"
    if not shared_weights(scorer):
        groups = (
            _of_group(scorer, model.weights, names, rows, top)
            for rows in weight_rows(names, scorer, np.arange(scorer.dimension), absent=-1)
        )
        return TopWeights(title, [table for group in groups for table in group], [])
    return TopWeights(title, *_of_shared(scorer, model.weights, names, top, occurring, source))


def _of_group(
    scorer: SparseFeatures, weights: Array, names: ModelNames, rows: WeightRows, top: int
) -> Iterator[Table]:
    """Of a group with attributes a table for each configuration; else, or where these are many, one
    for all.
    """
    group, numbers = rows.group, rows.table
    attributes, width = numbers.shape
    configurations = names.configurations(group, width)
    apart = attributes > 1 and width <= MOST_TABLES
    for column in range(width) if apart else [slice(None)]:
        title = (
            f"{group} {configurations[column]}"
            if isinstance(column, int) and configurations[column]
            else group
        )
        indices = numbers[:, column].ravel()
        indices = indices[indices >= 0]
        high, low = _extremes(weights, indices, top)
        named = scorer.named(np.unique(np.concatenate([high, low])), names)
        positive, negative = (
            [_weight(weights, k, named[k]) for k in own.tolist()] for own in (high, low)
        )
        yield Table(title, positive, negative, int(np.count_nonzero(weights[indices])), apart)


def _of_shared(
    scorer: SparseFeatures,
    weights: Array,
    names: ModelNames,
    top: int,
    occurring: Sequence[Occurring],
    source: str,
) -> tuple[list[Table], list[str]]:
    """Tables by part group of the features that have names; those without are a table of their
    own.
    """
    high, low = _extremes(weights, np.arange(len(weights)), ASKED * top)
    indices = np.unique(np.concatenate([high, low]))
    named = _joined(
        [scorer.named(indices, names), *(scorer.named(indices, names, one) for one in occurring)]
    )
    groups = list(dict.fromkeys(names[0].group for names in named.values() if names))
    found = []
    for group in [*groups, ""]:
        rows = [
            [
                _weight(weights, k, named[k])
                for k in own.tolist()
                if (named[k][0].group if named[k] else "") == group
            ]
            for own in (high, low)
        ]
        if any(rows):
            found.append(Table(group or "weights without a name", rows[0][:top], rows[1][:top]))
    return found, list(_remarks(named, source))


def _joined(several: Sequence[Named]) -> Named:
    """The names of the same weights that several corpora give, each once."""
    return {
        k: list(dict.fromkeys(name for named in several for name in named[k])) for k in several[0]
    }


def _remarks(named: dict[int, list[Coordinate]], source: str) -> Iterator[str]:
    """Where names come from, and how many are missing or shared."""
    counts = Counter(min(len(names), 2) for names in named.values())
    if not source:
        yield (
            "Weights are hashed, and have no names of their own: give a file whose features are "
            "to name them."
        )
        return
    yield (
        f"Hashed weights are named by the features of {source}: of the {len(named)} largest "
        f"{counts[0]} have none there."
    )
    if counts[2]:
        yield f"{counts[2]} of them are shared by several features, all of which are named."


def _extremes(weights: Array, indices: Array, top: int) -> tuple[Array, Array]:
    """Those indices whose weights are the highest above 0, and the lowest below 0; the first of
    equal ones come first.
    """
    values = weights[indices]
    order = np.argsort(-values, kind="stable")
    positive, negative = (
        order[: np.count_nonzero(values > 0)],
        order[::-1][: np.count_nonzero(values < 0)],
    )
    return indices[positive[:top]], indices[negative[:top]]


def _weight(weights: Array, index: int, names: Sequence[Coordinate]) -> Weight:
    first, *others = names or [unnamed(index)]
    return Weight(float(weights[index]), first, tuple(others))
