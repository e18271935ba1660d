"""Column expressions in templates over arcs: columns, and functions of them such as ``prefix(form, 5)`` and ``feat(Case)``.

A template joins atoms such as ``h.upos``, ``m.prefix(form, 5)[-1]`` and ``between.feat(Case)``: a role, a column expression
and perhaps an offset (`structopt.templates.arc_templates`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from structopt.errors import ConfigError, did_you_mean
from structopt.formats.trees.dependency_trees import COLUMNS, EMPTY
from structopt.templates.arc_templates import ROLES, columns_of, parse
from structopt.templates.word_functions import shape

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
        As in the template, without white space: the name of the column of its values.
    base : str
        The plain column.
    function : callable
        From a cell that is not empty to its value.
    """

    text: str
    base: str
    function: Callable[[str], str]


def column_names(features: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the distinct column expressions of all templates, in order of first use, without white space.

    Raises
    ------
    ConfigError
        No template, a role that its parts lack, an unknown column or function, or wrong arguments of a function; the
        message names the template.
    """
    names: dict[str, None] = {}
    for section in ROLES:
        lines = features.get(section) or ()
        for line, template in zip(lines, parse(lines, section), strict=True):
            for name in columns_of([template]):
                try:
                    expression(name)
                except ConfigError as error:
                    raise ConfigError(f"features.{section}: in the template '{line}': {error}") from None
                names[name] = None
    return tuple(names)


def expression(text: str) -> Expression:
    """Parse a column expression without white space, such as ``upos``, ``prefix(form,5)`` or ``feat(Case)``."""
    match = CALL.fullmatch(text)
    if match is None:
        raise ConfigError(f"'{text}' is not a column: write one such as upos, or a function of one such as prefix(form, 5).")
    name, first, second = match.groups()
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
    return Expression(text, _column(first), _Affix(slice(length) if name == "prefix" else slice(-length, None)))


def _column(name: str) -> str:
    if name not in COLUMNS:
        advice = f" It is a function: write {EXAMPLES[name]}." if name in EXAMPLES else did_you_mean(name, COLUMNS)
        raise ConfigError(f"there is no column '{name}'.{advice} Columns: {', '.join(COLUMNS)}.")
    return name


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
