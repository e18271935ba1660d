"""Attribute tables of sparse vectors: which attributes are kept, and how their values are
standardised and normalised.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from structopt.core.data.attribute_table import AttributeTable
from structopt.core.data.dense_table import DenseTable
from structopt.core.data.saved_state import SavedState
from structopt.errors import ConfigError
from structopt.formats.string_arrays import pack_strings, restored_strings
from structopt.formats.vectors.labelled_vectors import LabelledVectors
from structopt.kernels.waist.record import Array
from structopt.task.attribute_entries import (
    DENSE,
    columns_apart,
    dense_flag,
    is_dense,
    known_entries,
    unit_rows,
    with_bias,
)

NORMS = ("none", "unit")
STANDARDS = ("none", "columns")
BIAS = "bias"


class AttributeColumns:
    r"""The attributes of a training corpus, numbered; values standardised and normalised.

        v'_a = (v_a - mean_a) / deviation_a,    v'' = v' / ||v'||

    the first where values are standardised (by `columns`), the second where they are normalised (to
    `unit` length); the bias is added after that, with the value 1. Corpora in which less than half
    of the values are nonzero keep their zeros: there mean_a = 0 in the first formula, and
    deviation_a is still that from the mean. A constant column is not divided.

    Parameters
    ----------
    min_count : int
        Attributes of fewer training instances are left out.
    bias : bool
        Whether every instance has one more attribute, of the value 1.
    standardize : {"none", "columns"}
    normalize : {"none", "unit"}
    """

    def __init__(
        self,
        min_count: int = 1,
        bias: bool = True,
        standardize: Literal["none", "columns"] = "none",
        normalize: Literal["none", "unit"] = "none",
    ) -> None:
        if min_count < 1:
            raise ConfigError(
                "must be at least 1.",
                parameter="features.min_count",
                value=min_count,
            )
        _check("standardize", standardize, STANDARDS)
        _check("normalize", normalize, NORMS)
        self.min_count, self.bias, self.standardize, self.normalize = (
            min_count,
            bias,
            standardize,
            normalize,
        )
        self.numbers: dict[str, int] = {}
        self.means, self.deviations = np.zeros(0), np.zeros(0)
        self.dense = False

    @property
    def names(self) -> list[str]:
        """Names of the attributes; the bias first where the others are a dense table, else last."""
        bias = [BIAS] if self.bias else []
        return [*bias, *self.numbers] if self.dense else [*self.numbers, *bias]

    def fit(self, corpus: LabelledVectors, earlier: AttributeColumns | None = None) -> None:
        """Learn attributes, and their means and deviations, from the training corpus.

        Those of `earlier` columns are kept, with their means and deviations, since their weights
        are for values scaled by these.
        """
        known = {} if earlier is None else earlier.numbers
        counts = np.bincount(
            corpus.ids[corpus.values != 0.0], minlength=len(corpus.attributes)
        ).tolist()
        kept = [
            name
            for name, count in zip(corpus.attributes, counts, strict=True)
            if count >= self.min_count
        ]
        kept = list(dict.fromkeys([*known, *kept]))
        if not corpus.declared:
            kept.sort(key=int)
        self.numbers = {name: j for j, name in enumerate(kept)}
        self.dense = is_dense(len(self._known(corpus)[1]), len(corpus), len(self.numbers))
        if self.standardize == "columns":
            self._measure(corpus)
            if earlier is not None and earlier.standardize == "columns":
                numbers = [self.numbers[name] for name in known]
                self.means[numbers], self.deviations[numbers] = earlier.means, earlier.deviations

    def tables(self, corpus: LabelledVectors) -> tuple[AttributeTable, tuple[DenseTable, ...]]:
        """Return the `table`, and none; or, where at least half of the values in training are not
        0, the bias, and the others.
        """
        table = self.table(corpus)
        return columns_apart(table, self.bias) if self.dense else (table, ())

    def table(self, corpus: LabelledVectors) -> AttributeTable:
        """Return the rows of known attributes, one an instance; O(entries), or O(instances x
        attributes) with means.
        """
        offsets, ids, values = self._known(corpus)
        if self.standardize == "columns":
            offsets, ids, values = self._standardised(offsets, ids, values)
        if self.normalize == "unit":
            values = unit_rows(offsets, values)
        if self.bias:
            offsets, ids, values = with_bias(offsets, ids, values, len(self.numbers))
        return AttributeTable(
            offsets, ids, None if (values == 1.0).all() else values, len(self.numbers) + self.bias
        )

    def state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return attributes, their means and deviations, and the options."""
        packed, offsets = pack_strings(self.numbers)
        values = {
            "bias": self.bias,
            "standardize": self.standardize,
            "normalize": self.normalize,
            "dense": self.dense,
        }
        arrays = {"attribute_bytes": packed, "attribute_offsets": offsets}
        if self.standardize == "columns":
            arrays |= {"means": self.means, "deviations": self.deviations}
        return values, arrays

    @classmethod
    def restore(cls, state: SavedState) -> AttributeColumns:
        """Make columns of what `state` returned."""
        standardize, normalize = (
            state.string("standardize", STANDARDS),
            state.string("normalize", NORMS),
        )
        columns = cls(1, state.flag("bias"), standardize, normalize)  # type: ignore[arg-type]
        columns.dense = dense_flag(state)
        columns.numbers = {name: j for j, name in enumerate(restored_strings(state, "attribute_"))}
        if columns.standardize == "columns":
            columns.means, columns.deviations = (
                state.array(name, np.float64, (len(columns.numbers),))
                for name in ("means", "deviations")
            )
            if (columns.deviations <= 0).any():
                state.refuse_array("deviations", "above 0")
        return columns

    def _known(self, corpus: LabelledVectors) -> tuple[Array, Array, Array]:
        """Offsets, attribute numbers and values of known attributes."""
        offsets, ids, values = known_entries(
            self.numbers, corpus.attributes, corpus.offsets, corpus.ids, corpus.values
        )
        assert values is not None
        return offsets, ids, values

    def _measure(self, corpus: LabelledVectors) -> None:
        """Compute the means and deviations of the numbered attributes."""
        _, ids, values = self._known(corpus)
        rows, size = len(corpus), len(self.numbers)
        means = np.bincount(ids, values, size) / rows
        zeros = rows - np.bincount(ids, minlength=size)
        squares = np.bincount(ids, (values - means[ids]) ** 2, size) + zeros * means**2
        deviations = np.sqrt(squares / rows)
        flat = deviations <= 1e-12 * np.abs(means)  # constant but for rounding
        self.deviations = np.where(flat, 1.0, deviations)
        self.means = means if len(ids) >= DENSE * rows * size else np.zeros(size)

    def _standardised(
        self, offsets: Array, ids: Array, values: Array
    ) -> tuple[Array, Array, Array]:
        if not self.means.any():
            return offsets, ids, values / self.deviations[ids]
        rows, size = len(offsets) - 1, len(self.means)
        full = np.tile(-self.means / self.deviations, (rows, 1))
        full[np.repeat(np.arange(rows), np.diff(offsets)), ids] = (
            values - self.means[ids]
        ) / self.deviations[ids]
        return (
            np.arange(rows + 1, dtype=np.int64) * size,
            np.tile(np.arange(size, dtype=np.int32), rows),
            full.ravel(),
        )


def _check(key: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        raise ConfigError(
            f"is none of: {', '.join(known)}.",
            parameter=f"features.{key}",
            value=value,
        )
