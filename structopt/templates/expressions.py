"""Column expressions in templates over parts: columns, and functions of them such as ``prefix(form,
5)`` and ``feat(Case)``.

A template joins atoms such as ``h.upos``, ``m.prefix(form, 5)[-1]`` and ``between.feat(Case)``: a
role, a column expression and perhaps an offset (`structopt.templates.part_templates`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from structopt.errors import ConfigError, did_you_mean
from structopt.formats.trees.dependency_trees import EMPTY
from structopt.templates.part_templates import Language, columns_of
from structopt.templates.word_functions import initial, shape

CALL = re.compile(r"(\w+)(?:\(([^,]*)(?:,(.*))?\))?")
EXAMPLES = {
    "lower": "lower(form)",
    "shape": "shape(form)",
    "prefix": "prefix(form, 5)",
    "suffix": "suffix(form, 3)",
    "feat": "feat(Case)",
    "initial": "initial(form)",
    "backoff": "backoff(form, 15)",
}
PLAIN = {"lower": str.lower, "shape": shape, "initial": initial}
FEATS = "feats"
LENGTH = re.compile("[1-9][0-9]?")


@dataclass(frozen=True)
class Expression:
    """A column, or a function of one.

    Attributes
    ----------
    text : str
        As in the template, without white space: the name of the column of its values.
    base : str
        The plain column.
    candidates : callable
        From a cell that is not empty to the values that it may have: the first that training has
        kept is its value.
    least : int or None
        Training keeps values that so many words have as candidates; None: as many as for other
        columns.
    other : str
        The plain column whose cell is the last candidate; empty where there is none.
    """

    text: str
    base: str
    candidates: Callable[[str], Sequence[str]]
    least: int | None = None
    other: str = ""


def column_names(
    features: Mapping[str, Any], language: Language, columns: Collection[str]
) -> tuple[str, ...]:
    """Return the distinct column expressions of all templates, in order of first use, without white
    space.

    Parameters
    ----------
    features : mapping
        With the lists of templates.
    language : Language
    columns : collection of str
        The plain columns that there are.

    Raises
    ------
    ConfigError
        No template, a role that its parts lack, an unknown column or function, or wrong arguments
        of a function; the message names the template.
    """
    names: dict[str, None] = {}
    for section in language.roles:
        lines = features.get(section) or ()
        for line, template in zip(lines, language.parse(lines, section), strict=True):
            for name in columns_of([template]):
                try:
                    expression(name, columns)
                except ConfigError as error:
                    raise ConfigError(
                        f"features.{section}: in the template '{line}': {error}"
                    ) from None
                names[name] = None
    return tuple(names)


def expression(text: str, columns: Collection[str]) -> Expression:
    """Parse a column expression without white space, such as ``upos``, ``prefix(form,5)`` or
    ``feat(Case)``.
    """
    match = CALL.fullmatch(text)
    if match is None:
        plain = "upos" if "upos" in columns else next(iter(columns))
        example = _examples(columns)["prefix"]
        raise ConfigError(
            f"'{text}' is not a column",
            remedy=f"write one such as {plain}, or a function of one such as {example}.",
        )
    name, first, second = match.groups()
    examples = _examples(columns)
    if first is None:
        return Expression(text, _column(name, columns), _Single(str))
    if name not in examples:
        known = f"{did_you_mean(name, examples)} Functions: {', '.join(examples.values())}."
        raise ConfigError(f"there is no function '{name}'.{known}")
    if name == "feat":
        if not first or second is not None:
            raise ConfigError(f"'{text}' needs one name, as in {examples[name]}.")
        return Expression(text, FEATS, _Single(_Feature(first)))
    if name in PLAIN:
        if second is not None:
            raise ConfigError(f"'{text}' needs one column, as in {examples[name]}.")
        return Expression(text, _column(first, columns), _Single(PLAIN[name]))
    if name == "backoff" and second is not None and "," in second:
        number, _, other = second.partition(",")
        return _with_other(text, first, number, other, columns)
    return _with_length(text, name, first, second, columns)


def _with_length(
    text: str, name: str, column: str, length: str | None, columns: Collection[str]
) -> Expression:
    """A prefix, a suffix, or a column whose rare values are replaced by their suffixes."""
    what = "a number" if name == "backoff" else "a length"
    if length is None or not LENGTH.fullmatch(length):
        example = _examples(columns)[name]
        raise ConfigError(f"'{text}' needs a column and {what} from 1 to 99, as in {example}.")
    size, base = int(length), _column(column, columns)
    if name == "backoff":
        return Expression(text, base, with_suffixes, size)
    return Expression(
        text, base, _Single(_Affix(slice(size) if name == "prefix" else slice(-size, None)))
    )


def _with_other(
    text: str, column: str, number: str, other: str, columns: Collection[str]
) -> Expression:
    """A column whose rare values are replaced by those of another one."""
    if not LENGTH.fullmatch(number):
        raise ConfigError(f"'{text}' needs a column, a number from 1 to 99 and another column.")
    return Expression(
        text, _column(column, columns), _Single(str), int(number), _column(other, columns)
    )


def with_suffixes(word: str) -> tuple[str, ...]:
    """A word, then its suffixes, the longest first: ``-ouses`` of houses."""
    return (word, *(f"-{word[k:]}" for k in range(1, len(word))))


def _examples(columns: Collection[str]) -> dict[str, str]:
    """Functions, each with an example on these columns."""
    first = next(iter(columns))
    return {
        name: text.replace("form", first)
        for name, text in EXAMPLES.items()
        if name != "feat" or FEATS in columns
    }


def _column(name: str, columns: Collection[str]) -> str:
    if name not in columns:
        examples = _examples(columns)
        advice = (
            f" It is a function: write {examples[name]}."
            if name in examples
            else did_you_mean(name, columns)
        )
        raise ConfigError(f"there is no column '{name}'.{advice} Columns: {', '.join(columns)}.")
    return name


@dataclass(frozen=True)
class _Single:
    """The only candidate: the value of a function."""

    function: Callable[[str], str]

    def __call__(self, cell: str) -> tuple[str, ...]:
        return (self.function(cell),)


@dataclass(frozen=True)
class _Affix:
    """Characters at the beginning or the end of a word; all of a shorter one."""

    characters: slice

    def __call__(self, cell: str) -> str:
        return cell[self.characters]


@dataclass(frozen=True)
class _Feature:
    """The value of a key in a cell such as ``Case=Nom|Number=Sing``."""

    key: str

    def __call__(self, cell: str) -> str:
        for pair in cell.split("|"):
            key, equals, value = pair.partition("=")
            if equals and key == self.key:
                return value
        return EMPTY
