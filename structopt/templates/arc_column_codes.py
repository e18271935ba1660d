"""Codes of the values of column expressions over a corpus of trees; templates over arcs hash them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from structopt.core.data.saved_state import SavedState
from structopt.formats.string_arrays import pack_strings, restored_strings
from structopt.formats.trees.dependency_trees import EMPTY, Trees
from structopt.kernels.waist.record import Array
from structopt.templates.arc_expressions import Expression, expression

UNSEEN, BLANK, FIRST = 0, 1, 2
"""Codes of a value that training has not kept, of an empty cell, and of the first value."""


class TreeColumns:
    """The values of column expressions as codes.

    Parameters
    ----------
    names : sequence of str
        Expressions without white space.
    min_count : int
        Values that fewer words of the training corpus have count as unseen.
    """

    def __init__(self, names: Sequence[str], min_count: int = 1) -> None:
        self.expressions, self.min_count = [expression(name) for name in names], min_count
        self._codes: list[dict[str, int]] = [{} for _ in names]

    @property
    def names(self) -> tuple[str, ...]:
        """The expressions."""
        return tuple(one.text for one in self.expressions)

    @property
    def bases(self) -> list[str]:
        """Plain columns that the expressions need."""
        return list(dict.fromkeys(one.base for one in self.expressions))

    def values(self, column: str) -> list[str]:
        """Return the values of a plain column in training; none where no template looks at the column itself."""
        codes = (codes for codes, one in zip(self._codes, self.expressions, strict=True) if one.text == column)
        return [value for value in next(codes, {}) if value != EMPTY]

    def value_names(self) -> list[str]:
        """Return all values, each with its expression, in the order of their codes."""
        pairs = zip(self.expressions, self._codes, strict=True)
        return [f"{one.text}={value}" for one, codes in pairs for value in codes if value != EMPTY]

    def missing(self, corpus: Trees) -> list[str]:
        """Return the plain columns that the expressions need and the corpus lacks."""
        return [base for base in self.bases if base not in corpus.cells]

    def fit(self, corpus: Trees, earlier: TreeColumns | None = None) -> Array:
        """Learn the values from the training corpus, and encode it: see `encode`.

        Values of `earlier` columns keep their codes, and new values get the codes after them: features are hashed from codes, so
        that weights belong to a value only as long as its code does not change.
        """
        distinct = _DistinctCells(corpus)
        known = {} if earlier is None else dict(zip(earlier.names, earlier._codes, strict=True))
        for codes, one in zip(self._codes, self.expressions, strict=True):
            values, numbers = distinct.values(one)
            counts: dict[str, int] = {}
            for value, count in zip(values, np.bincount(numbers, minlength=len(values)).tolist(), strict=True):
                counts[value] = counts.get(value, 0) + count
            kept = sorted(value for value, count in counts.items() if count >= self.min_count and value != EMPTY)
            before = [value for value in known.get(one.text, {}) if value != EMPTY]
            codes.clear()
            codes.update(_codes_of(list(dict.fromkeys([*before, *kept]))))
        return self._encode(distinct)

    def encode(self, corpus: Trees) -> Array:
        """Return the codes of the values, int32, shape (words, expressions): 0 unseen, 1 empty, from 2 the values sorted."""
        return self._encode(_DistinctCells(corpus))

    def state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return expressions and values."""
        arrays = {}
        for j, codes in enumerate(self._codes):
            arrays[f"column{j}.bytes"], arrays[f"column{j}.offsets"] = pack_strings(list(codes)[1:])
        return {"columns": list(self.names), "min_count": self.min_count}, arrays

    @classmethod
    def restore(cls, state: SavedState) -> TreeColumns:
        """Make columns of what `state` returned."""
        columns = cls(state.strings("columns", least=1), state.whole("min_count", 1))
        for j, codes in enumerate(columns._codes):
            codes.update(_codes_of(restored_strings(state, f"column{j}.")))
        return columns

    def _encode(self, distinct: _DistinctCells) -> Array:
        codes = np.empty((distinct.words, len(self.expressions)), np.int32)
        for j, one in enumerate(self.expressions):
            values, numbers = distinct.values(one)
            known = self._codes[j]
            codes[:, j] = np.array([known.get(value, UNSEEN) for value in values], np.int32)[numbers]
        return codes


class _DistinctCells:
    """The distinct cells of each plain column of a corpus, computed once; a missing column has empty cells."""

    def __init__(self, corpus: Trees) -> None:
        self.words = int(corpus.offsets[-1])
        self._cells, self._distinct = corpus.cells, dict[str, tuple[list[str], Array]]()

    def values(self, one: Expression) -> tuple[list[str], Array]:
        """Return the values of an expression on the distinct cells, some perhaps equal, and the number of each word's cell."""
        if one.base not in self._distinct:
            self._distinct[one.base] = self._numbered(one.base)
        distinct, numbers = self._distinct[one.base]
        return [cell if cell == EMPTY else one.function(cell) for cell in distinct], numbers

    def _numbered(self, base: str) -> tuple[list[str], Array]:
        if base not in self._cells:
            return [EMPTY], np.zeros(self.words, np.int64)
        cells = self._cells[base]
        numbers = {cell: number for number, cell in enumerate(dict.fromkeys(cells))}
        return list(numbers), np.fromiter(map(numbers.__getitem__, cells), np.int64, len(cells))


def _codes_of(values: Sequence[str]) -> dict[str, int]:
    """The codes of an empty cell and of values."""
    return {EMPTY: BLANK} | {value: code for code, value in enumerate(values, FIRST)}
