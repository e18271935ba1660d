"""Codes of the values of column expressions over the words of a corpus; templates over parts hash
them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from structopt.core.data.saved_state import SavedState
from structopt.formats.string_arrays import pack_strings, restored_strings
from structopt.formats.trees.dependency_trees import EMPTY
from structopt.kernels.waist.record import Array
from structopt.templates.expressions import Expression, expression

Cells = Mapping[str, Sequence[str]]
"""Plain columns: a cell a word."""
FEW_WORDS, MOST_REMEMBERED = 64, 1 << 12
"""Words of a corpus whose cells are looked up one by one, and cells whose codes are remembered."""
UNSEEN, BLANK, FIRST = 0, 1, 2
"""Codes of a value that training has not kept, of an empty cell, and of the first value."""


class CodedColumns:
    """The values of column expressions as codes.

    Parameters
    ----------
    names : sequence of str
        Expressions without white space.
    plain : sequence of str
        The plain columns that there may be.
    min_count : int
        Values that fewer words of the training corpus have count as unseen.
    """

    def __init__(self, names: Sequence[str], plain: Sequence[str], min_count: int = 1) -> None:
        self.expressions, self.min_count = [expression(name, plain) for name in names], min_count
        self._codes: list[dict[str, int]] = [{} for _ in names]
        self._remembered: list[dict[str | tuple[str, str], int]] = [{} for _ in names]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The expressions."""
        return tuple(one.text for one in self.expressions)

    @cached_property
    def bases(self) -> list[str]:
        """Plain columns that the expressions need."""
        return list(
            dict.fromkeys(
                base for one in self.expressions for base in (one.base, one.other) if base
            )
        )

    def values(self, column: str) -> list[str]:
        """Return the values of a plain column in training; none where no template looks at the
        column itself.
        """
        codes = (
            codes
            for codes, one in zip(self._codes, self.expressions, strict=True)
            if one.text == column
        )
        return [value for value in next(codes, {}) if value != EMPTY]

    def value_names(self) -> list[str]:
        """Return all values, each with its expression, in the order of their codes."""
        pairs = zip(self.expressions, self._codes, strict=True)
        return [f"{one.text}={value}" for one, codes in pairs for value in codes if value != EMPTY]

    @property
    def known_bases(self) -> list[str]:
        """Plain columns that the expressions need, and that had values in training."""
        known = {
            base
            for codes, one in zip(self._codes, self.expressions, strict=True)
            if len(codes) > (EMPTY in codes)
            for base in (one.base, one.other)
        }
        return [base for base in self.bases if base in known]

    def fit(self, cells: Cells, words: int, earlier: CodedColumns | None = None) -> Array:
        """Learn the values from the columns of the training corpus, and encode it: see `encode`.

        Values of `earlier` columns keep their codes, and new values get the codes after them:
        features are hashed from codes, so that weights belong to a value only as long as its code
        does not change.
        """
        distinct = _DistinctCells(cells, words)
        self._remembered = [{} for _ in self.expressions]
        known = {} if earlier is None else dict(zip(earlier.names, earlier._codes, strict=True))
        for codes, one in zip(self._codes, self.expressions, strict=True):
            values, numbers = distinct.candidates(one)
            counts: dict[str, int] = {}
            for several, count in zip(
                values, np.bincount(numbers, minlength=len(values)).tolist(), strict=True
            ):
                for value in several:
                    counts[value] = counts.get(value, 0) + count
            least = self.min_count if one.least is None else one.least
            kept = sorted(
                value for value, count in counts.items() if count >= least and value != EMPTY
            )
            before = [value for value in known.get(one.text, {}) if value != EMPTY]
            codes.clear()
            codes.update(_codes_of(list(dict.fromkeys([*before, *kept]))))
        return self._encode(distinct)

    def encode(self, cells: Cells, words: int) -> Array:
        """Return the codes of the values of so many words, int32, shape (words, expressions).

        0 unseen, 1 empty, from 2 the values sorted.
        """
        if words > FEW_WORDS:
            return self._encode(_DistinctCells(cells, words))
        columns = [self._column(j, cells, words) for j in range(len(self.expressions))]
        codes = np.array(columns, np.int32).reshape(len(columns), words)
        return np.ascontiguousarray(codes.T)

    def state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return expressions and values."""
        arrays = {}
        for j, codes in enumerate(self._codes):
            arrays[f"column{j}.bytes"], arrays[f"column{j}.offsets"] = pack_strings(list(codes)[1:])
        return {"columns": list(self.names), "min_count": self.min_count}, arrays

    @classmethod
    def restore(cls, state: SavedState, plain: Sequence[str], least: int = 1) -> CodedColumns:
        """Make columns, at least so many, of what `state` returned."""
        columns = cls(state.strings("columns", least=least), plain, state.whole("min_count", 1))
        for j, codes in enumerate(columns._codes):
            codes.update(_codes_of(restored_strings(state, f"column{j}.")))
        return columns

    def _encode(self, distinct: _DistinctCells) -> Array:
        codes = np.empty((distinct.words, len(self.expressions)), np.int32)
        for j, one in enumerate(self.expressions):
            values, numbers = distinct.candidates(one)
            found = (self._code(j, several) for several in values)
            codes[:, j] = np.fromiter(found, np.int32, len(values))[numbers]
        return codes

    def _code(self, j: int, candidates: Sequence[str]) -> int:
        """Return the code of the first candidate of column j that training has kept."""
        known = self._codes[j]
        return next((known[value] for value in candidates if value in known), UNSEEN)

    def _column(self, j: int, cells: Cells, words: int) -> list[int]:
        """Return the codes of a few words in column j; codes of frequent cells are remembered."""
        one, remembered = self.expressions[j], self._remembered[j]
        column: Sequence[Any] = cells[one.base] if one.base in cells else [EMPTY] * words
        if one.other:
            others = cells[one.other] if one.other in cells else [EMPTY] * words
            column = list(zip(column, others, strict=True))
        try:
            return [remembered[cell] for cell in column]
        except KeyError:
            candidates = _pair_candidates if one.other else _candidates
            codes = {cell: self._code(j, candidates(one, cell)) for cell in set(column)}
        if len(remembered) > MOST_REMEMBERED:
            remembered.clear()
        remembered.update(codes)
        return [codes[cell] for cell in column]


class _DistinctCells:
    """The distinct cells of each plain column of a corpus, computed once; a missing column has
    empty cells.
    """

    def __init__(self, cells: Cells, words: int) -> None:
        self.words = words
        self._cells, self._distinct = cells, dict[str, tuple[list[str], Array]]()

    def candidates(self, one: Expression) -> tuple[list[Sequence[str]], Array]:
        """Return the candidates of an expression on the distinct cells, and the number of each
        word's cell.
        """
        distinct, numbers = self._numbered(one.base)
        candidates: list[Sequence[str]] = [_candidates(one, cell) for cell in distinct]
        return (
            self._with_others(one.other, candidates, numbers)
            if one.other
            else (candidates, numbers)
        )

    def _with_others(
        self, other: str, candidates: list[Sequence[str]], numbers: Array
    ) -> tuple[list[Sequence[str]], Array]:
        """Candidates of the distinct pairs of a cell and that of another column, whose value comes
        last, marked as such.
        """
        others, other_numbers = self._numbered(other)
        pairs, numbers = np.unique(numbers * len(others) + other_numbers, return_inverse=True)
        return [
            (*candidates[pair // len(others)], f"<{others[pair % len(others)]}>")
            for pair in pairs.tolist()
        ], numbers

    def _numbered(self, base: str) -> tuple[list[str], Array]:
        """The distinct cells of a plain column, and the number of each word's cell."""
        if base not in self._distinct:
            self._distinct[base] = self._counted(base)
        return self._distinct[base]

    def _counted(self, base: str) -> tuple[list[str], Array]:
        if base not in self._cells:
            return [EMPTY], np.zeros(self.words, np.int64)
        cells = self._cells[base]
        numbers = {cell: number for number, cell in enumerate(dict.fromkeys(cells))}
        return list(numbers), np.fromiter(map(numbers.__getitem__, cells), np.int64, len(cells))


def _candidates(one: Expression, cell: str) -> Sequence[str]:
    """Return the values that an expression may have on a cell."""
    return (cell,) if cell == EMPTY else one.candidates(cell)


def _pair_candidates(one: Expression, pair: tuple[str, str]) -> Sequence[str]:
    """Return the values of an expression on a cell and the cell of its other column, whose value
    comes last, marked as such.
    """
    return (*_candidates(one, pair[0]), f"<{pair[1]}>")


def _codes_of(values: Sequence[str]) -> dict[str, int]:
    """The codes of an empty cell and of values."""
    return {EMPTY: BLANK} | {value: code for code, value in enumerate(values, FIRST)}
