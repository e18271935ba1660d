"""Checks of instances in memory, the same for all tasks: what is refused, in one line that shows the right form."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import nan
from typing import Any

from structopt.core.data import ranges
from structopt.errors import DataError, did_you_mean

MEMORY = "<memory>"


@dataclass(frozen=True)
class Form:
    """The form of the instances of a task.

    Attributes
    ----------
    unit : str
        What one instance is called: sentence, image.
    advice : str
        How the instances are written, with an example; the end of every message.
    """

    unit: str
    advice: str

    def refused(self, number: int | None, message: str) -> DataError:
        """Return the error for an instance, counted from 1, or for all of them (None)."""
        return DataError(MEMORY, number, f"{message}{'' if message.endswith('?') else '.'} {self.advice}")

    def listed(self, instances: Iterable[Any]) -> list[Any]:
        """Return the instances as a list.

        Raises
        ------
        DataError
            A string or a mapping, which is no list of instances, or what cannot be iterated over.
        """
        if isinstance(instances, (str, bytes)):
            raise self.refused(None, f"the instances are one string, {shown(instances)}")
        if isinstance(instances, Mapping):
            raise self.refused(None, f"the instances are one mapping, of {_keys(instances)}")
        return self._iterated(None, instances, "the instances are")

    def elements(self, number: int, instance: Any, unit: str = "") -> list[Any]:
        """Return the elements of an instance, or of a `unit` of it, as a list; a string is no list of its letters.

        Raises
        ------
        DataError
            A string, or what cannot be iterated over.
        """
        unit = unit or self.unit
        if isinstance(instance, (str, bytes)):
            raise self.refused(number, f"a {unit} is one string, {shown(instance)}")
        return self._iterated(number, instance, f"a {unit} is")

    def number(self, number: int, name: str, value: Any) -> float:
        """Return the value of an attribute; DataError where it is no number that can be computed with."""
        try:
            converted = float(value)
        except (TypeError, ValueError, OverflowError):
            converted = nan
        if fault := ranges.fault(converted):
            raise self.refused(number, f"the value {shown(value)} of {name} {fault}")
        return converted

    def strings(self, number: int, name: str, cells: Iterable[Any]) -> list[str]:
        """Return the cells of a column, or names of attributes, as a list; DataError where one is no string."""
        column = self.elements(number, cells, f"column '{name}'")
        for cell in column:
            if not isinstance(cell, str):
                raise self.refused(number, f"{shown(cell)} in '{name}' is not a string")
        return column

    def _iterated(self, number: int | None, instance: Any, what: str) -> list[Any]:
        try:
            return list(instance)
        except TypeError:
            raise self.refused(number, f"{what} {shown(instance)}, which is no list") from None


def sentences(names: Sequence[str]) -> Form:
    """The form of sentences with the named columns, the word first."""
    first, *others = names
    cells = ", ".join([f"'{first}': ['Ann', 'slept']", *(f"'{name}': [...]" for name in others)])
    return Form("sentence", f"Give a list of sentences, each a list of words: [['Ann', 'slept']], or of columns: [{{{cells}}}].")


def columns_of(sentence: Any, number: int, names: Sequence[str], ignored: Collection[str] = ()) -> dict[str, list[str]]:
    """Return the columns of a sentence by name.

    Parameters
    ----------
    sentence : sequence of str, sequence of tuples of str, or mapping of str to sequence of str
        Words; a tuple of cells for each word, in the order of `names`; or columns by name.
    number : int
        The number of the sentence, from 1.
    names : sequence of str
        The columns that there may be, the word first. The others may be missing.
    ignored : collection of str
        Further keys that a mapping may have; a tuple may have one more cell for them.

    Raises
    ------
    DataError
        A string for a sentence, an unknown column, no words, columns of different lengths, a cell that is no string.
    """
    form = sentences(names)
    if isinstance(sentence, Mapping):
        columns = _columns_of_mapping(sentence, number, names, ignored, form)
    else:
        words = form.elements(number, sentence)
        tuples = bool(words) and isinstance(words[0], (tuple, list))
        columns = _columns_of_tuples(words, number, names, form) if tuples else {names[0]: words}
    cells = {name: form.strings(number, name, column) for name, column in columns.items()}
    size = len(cells[names[0]])
    for name, column in cells.items():
        if len(column) != size:
            raise form.refused(number, f"the column '{name}' has {len(column)} cells for {size} words")
    return cells


def _columns_of_mapping(
    sentence: Mapping[str, Any], number: int, names: Sequence[str], ignored: Collection[str], form: Form
) -> dict[str, Any]:
    for name in sentence:
        if name not in names and name not in ignored:
            hint = did_you_mean(str(name), names)
            known = f"{', '.join(names)}{'.' if hint else ''}{hint}"
            raise form.refused(number, f"there is no column {shown(name)}; the columns are {known}")
    if names[0] not in sentence:
        raise form.refused(number, f"the sentence has no words (column '{names[0]}')")
    return {name: sentence[name] for name in names if name in sentence}


def _columns_of_tuples(words: Sequence[Any], number: int, names: Sequence[str], form: Form) -> dict[str, list[Any]]:
    """Columns of a sentence with a tuple for each word, which may have one cell more, for the label."""
    for word in words:
        if not isinstance(word, (tuple, list)):
            raise form.refused(number, f"{shown(word)} stands among words that are tuples of cells")
    widths = {len(word) for word in words}
    if len(widths) > 1 or max(widths) > len(names) + 1 or not min(widths):
        counts = " to ".join(map(str, sorted({min(widths), max(widths)})))
        raise form.refused(number, f"the words have {counts} cells, where the columns are {', '.join(names)}")
    return {name: list(column) for name, column in zip(names, zip(*words, strict=True), strict=False)}


def _keys(mapping: Mapping[Any, Any]) -> str:
    return ", ".join(map(shown, list(mapping)[:4])) + (", ..." if len(mapping) > 4 else "")


def shown(value: object) -> str:
    """Return the first 30 characters of a value's `repr`, in one line."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 30 else f"{text[:30]}..."
