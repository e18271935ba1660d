"""The columns that templates over arcs look at: plain ones, and functions of them, as strings and as interned codes.

A template joins atoms such as ``h.upos``, ``m.prefix(form, 5)[-1]`` and ``between.feat(Case)``: a role, a column expression
and perhaps an offset (`structopt.templates.arc_templates`). Here the expressions are computed; what is made of them is the
scorer's affair.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from structopt.errors import ConfigError, did_you_mean
from structopt.formats.string_arrays import pack_strings, unpack_strings
from structopt.formats.trees.treebank import COLUMNS, EMPTY, Trees
from structopt.kernels.waist.record import Array
from structopt.templates.arc_templates import ROLES, columns_of, parse
from structopt.templates.word_functions import shape

UNSEEN, BLANK, FIRST = 0, 1, 2
"""Codes of a value that training has not kept, of an empty cell, and of the first value."""

CALL = re.compile(r"(\w+)(?:\(([^,]*)(?:,(.*))?\))?")
EXAMPLES = {
    "lower": "lower(form)",
    "shape": "shape(form)",
    "prefix": "prefix(form, 5)",
    "suffix": "suffix(form, 3)",
    "feat": "feat(Case)",
}
LENGTH = re.compile("[1-9][0-9]?")


@dataclass(frozen=True)
class Expression:
    """A column, or a function of one.

    Attributes
    ----------
    text : str
        As templates have it, without white space: the column's name.
    base : str
        The plain column.
    function : callable
        A cell's value, from a cell that is not empty.
    """

    text: str
    base: str
    function: Callable[[str], str]


def column_names(features: Mapping[str, Any]) -> tuple[str, ...]:
    """Distinct column expressions of all templates, in order of first use, without white space.

    Raises
    ------
    ConfigError
        No template, a role that its parts lack, an unknown column or function, or arguments that are not the function's; the
        message names the template.
    """
    found: dict[str, None] = {}
    for section in ROLES:
        lines = features.get(section) or ()
        for line, template in zip(lines, parse(lines, section), strict=True):
            for name in columns_of([template]):
                try:
                    expression(name)
                except ConfigError as error:
                    raise ConfigError(f"features.{section}: in the template '{line}': {error}") from None
                found[name] = None
    return tuple(found)


def expression(text: str) -> Expression:
    """Parse a column expression without white space, such as ``upos``, ``prefix(form,5)`` or ``feat(Case)``."""
    found = CALL.fullmatch(text)
    if found is None:
        raise ConfigError(f"'{text}' is not a column: write one such as upos, or a function of one such as prefix(form, 5).")
    name, first, second = found.groups()
    if first is None:
        return Expression(text, _column(name), str)
    if name not in EXAMPLES:
        known = f"{did_you_mean(name, EXAMPLES)} Functions: {', '.join(EXAMPLES.values())}."
        raise ConfigError(f"there is no function '{name}'.{known}")
    if name == "feat":
        if not first or second is not None:
            raise ConfigError(f"'{text}' needs one name, as in {EXAMPLES[name]}.")
        return Expression(text, "feats", _Feature(first))
    if name in ("lower", "shape"):
        if second is not None:
            raise ConfigError(f"'{text}' needs one column, as in {EXAMPLES[name]}.")
        return Expression(text, _column(first), str.lower if name == "lower" else shape)
    if second is None or not LENGTH.fullmatch(second):
        raise ConfigError(f"'{text}' needs a column and a length from 1 to 99, as in {EXAMPLES[name]}.")
    length = int(second)
    return Expression(text, _column(first), _Part(slice(length) if name == "prefix" else slice(-length, None)))


def _column(name: str) -> str:
    if name not in COLUMNS:
        advice = f" It is a function: write {EXAMPLES[name]}." if name in EXAMPLES else did_you_mean(name, COLUMNS)
        raise ConfigError(f"there is no column '{name}'.{advice} Columns: {', '.join(COLUMNS)}.")
    return name


@dataclass(frozen=True)
class _Part:
    """Characters at the beginning or the end of a word; of a shorter one all."""

    part: slice

    def __call__(self, cell: str) -> str:
        return cell[self.part]


@dataclass(frozen=True)
class _Feature:
    """Value of a key among ``Case=Nom|Number=Sing``."""

    key: str

    def __call__(self, cell: str) -> str:
        for pair in cell.split("|"):
            key, equals, value = pair.partition("=")
            if equals and key == self.key:
                return value
        return EMPTY


class TreeColumns:
    """Interns the values of column expressions.

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
        """Values of a plain column in training; none where no template looks at the column itself."""
        known = (codes for codes, one in zip(self._codes, self.expressions, strict=True) if one.text == column)
        return [value for value in next(known, {}) if value != EMPTY]

    def value_names(self) -> list[str]:
        """All values, with the expressions that they are of, in the order of their codes."""
        pairs = zip(self.expressions, self._codes, strict=True)
        return [f"{one.text}={value}" for one, codes in pairs for value in codes if value != EMPTY]

    def missing(self, corpus: Trees) -> list[str]:
        """Plain columns that the expressions need and the corpus lacks."""
        return [base for base in self.bases if base not in corpus.cells]

    def fit(self, corpus: Trees, earlier: TreeColumns | None = None) -> Array:
        """Learn the values from the training corpus, and encode it: see `encode`.

        Values of `earlier` columns keep their codes, and those of the corpus that are new come after them: features are hashed
        from codes, so that a value must have the same one for its weights to be found again.
        """
        distinct = _Distinct(corpus)
        known = {} if earlier is None else dict(zip(earlier.names, earlier._codes, strict=True))
        for codes, one in zip(self._codes, self.expressions, strict=True):
            values, numbers = distinct.values(one)
            counts: dict[str, int] = {}
            for value, count in zip(values, np.bincount(numbers, minlength=len(values)).tolist(), strict=True):
                counts[value] = counts.get(value, 0) + count
            kept = sorted(value for value, count in counts.items() if count >= self.min_count and value != EMPTY)
            before = [value for value in known.get(one.text, {}) if value != EMPTY]
            codes.clear()
            codes.update(_numbered(list(dict.fromkeys([*before, *kept]))))
        return self._encode(distinct)

    def encode(self, corpus: Trees) -> Array:
        """Codes of the values, int32, shape (words, expressions): 0 unseen, 1 empty, from 2 the values sorted."""
        return self._encode(_Distinct(corpus))

    def state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Expressions and values."""
        arrays = {}
        for j, codes in enumerate(self._codes):
            arrays[f"column{j}.bytes"], arrays[f"column{j}.offsets"] = pack_strings(list(codes)[1:])
        return {"columns": list(self.names), "min_count": self.min_count}, arrays

    @classmethod
    def restore(cls, values: Mapping[str, Any], arrays: Mapping[str, Array]) -> TreeColumns:
        """Undo `state`."""
        columns = cls(values["columns"], values["min_count"])
        for j, codes in enumerate(columns._codes):
            codes.update(_numbered(unpack_strings(arrays[f"column{j}.bytes"], arrays[f"column{j}.offsets"])))
        return columns

    def _encode(self, distinct: _Distinct) -> Array:
        codes = np.empty((distinct.words, len(self.expressions)), np.int32)
        for j, one in enumerate(self.expressions):
            values, numbers = distinct.values(one)
            known = self._codes[j]
            codes[:, j] = np.array([known.get(value, UNSEEN) for value in values], np.int32)[numbers]
        return codes


class _Distinct:
    """The distinct cells of each plain column of a corpus, found once; a missing column is empty throughout."""

    def __init__(self, corpus: Trees) -> None:
        self.words = int(corpus.offsets[-1])
        self._cells, self._found = corpus.cells, dict[str, tuple[list[str], Array]]()

    def values(self, one: Expression) -> tuple[list[str], Array]:
        """Values of an expression on the distinct cells, not all different, and the number of each word's cell."""
        if one.base not in self._found:
            self._found[one.base] = self._numbered(one.base)
        distinct, numbers = self._found[one.base]
        return [cell if cell == EMPTY else one.function(cell) for cell in distinct], numbers

    def _numbered(self, base: str) -> tuple[list[str], Array]:
        if base not in self._cells:
            return [EMPTY], np.zeros(self.words, np.int64)
        cells = self._cells[base]
        place = {cell: number for number, cell in enumerate(dict.fromkeys(cells))}
        return list(place), np.fromiter(map(place.__getitem__, cells), np.int64, len(cells))


def _numbered(values: Sequence[str]) -> dict[str, int]:
    """Codes of an empty cell and of values."""
    return {EMPTY: BLANK} | {value: code for code, value in enumerate(values, FIRST)}
