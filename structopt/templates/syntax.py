"""The syntax of feature templates: strings such as ``prefix(lower(word), 1..4)[-1..1] & pos``
become tuples of terms.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sized
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod

from structopt.errors import ConfigError, did_you_mean

BIAS = "bias"
ARGUMENTS: dict[str, str | None] = {
    "lower": None,
    "prefix": "number",
    "suffix": "number",
    "shape": None,
    "collapsed": None,
    "length": None,
    "digits": None,
    "kind": None,
    "list": "list",
}
"""The functions of views, and their argument besides the view: none, a number (or a range of them),
a word list.
"""

_TOKEN = re.compile(
    r"\s*(?:(?P<number>[+-]?\d+)|(?P<name>[^\W\d][\w-]*)|(?P<mark>\.\.|[()\[\],&])|(?P<other>\S))"
)

LARGEST, DIGITS, DEEPEST, MOST = 9999, 20, 20, 10_000
"""Bounds on the numbers of a line, on the digits that are read, on functions within each other, on
the templates of a line.
"""

Argument = str | int | None


@dataclass(frozen=True)
class View:
    """A column seen through functions, innermost first: ``prefix(lower(word), 3)`` is word, then
    lower, then prefix 3.
    """

    column: str
    steps: tuple[tuple[str, Argument], ...] = ()

    @property
    def word_list(self) -> str | None:
        """The name of the word list that the view looks words up in; None for other views."""
        return str(self.steps[-1][1]) if self.steps and self.steps[-1][0] == "list" else None

    @cached_property
    def _hash(self) -> int:
        return hash((self.column, self.steps))

    def __hash__(self) -> int:
        """Return the hash, which is computed once: views are keys of many tables."""
        return self._hash

    @cached_property
    def inner(self) -> View:
        """The view without its outermost function."""
        return View(self.column, self.steps[:-1])

    def __str__(self) -> str:
        name = self.column
        for function, argument in self.steps:
            name = f"{function}({name})" if argument is None else f"{function}({name}, {argument})"
        return name


@dataclass(frozen=True)
class Term:
    """A view at an offset from the current token."""

    view: View
    offset: int

    def __str__(self) -> str:
        return f"{self.view}[{self.offset}]"


Template = tuple[Term, ...]
"""A conjunction of terms; the empty one is the bias."""


def parse(text: str) -> list[Template]:
    """Expand one line of templates.

    Parameters
    ----------
    text : str
        ``bias``, or terms joined by ``&``.

    Returns
    -------
    list of Template
        One for every combination of the numbers in its ranges, the last range running fastest;
        without repetitions.

    Raises
    ------
    ConfigError
        If the line does not follow the syntax, names an unknown function, or has an empty range.
    """
    if not isinstance(text, str):
        raise ConfigError(
            f"template {text!r}: expected a string such as 'word[-2..2]'; quote it in the YAML "
            "file."
        )
    if text.strip() == BIAS:
        return [()]
    parser = _Parser(text)
    choices = parser.template()
    parser.check_count(*choices)
    return list(dict.fromkeys(tuple(dict.fromkeys(terms)) for terms in product(*choices)))


class _Parser:
    """Recursive descent over the tokens of one line; ranges give lists of choices, of which `parse`
    makes all combinations.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = [
            (str(match.lastgroup), match[str(match.lastgroup)]) for match in _TOKEN.finditer(text)
        ]
        self.index = 0

    def template(self) -> list[list[Term]]:
        """Parse the line: the choices for each of its terms."""
        terms = [self.term()]
        while self.accept("&"):
            terms.append(self.term())
        if self.index < len(self.tokens):
            raise self.expected("'&' and another term, an offset such as [-1], or the end")
        return terms

    def term(self) -> list[Term]:
        """Parse a view and its offset."""
        views = self.view(0)
        offsets = [0]
        if self.accept("["):
            offsets = list(self.numbers("an offset such as -1, or a range such as -2..2"))
            self.require("]")
        self.check_count(views, offsets)
        return [Term(view, offset) for view in views for offset in offsets]

    def view(self, depth: int) -> list[View]:
        """Parse a column, or a function of a view, within `depth` functions."""
        name = self.take("name", "a column such as word, or a function such as lower(word)")
        if not self.accept("("):
            return [View(name)]
        self.check_function(name)
        if depth == DEEPEST:
            raise self.error(f"more than {DEEPEST} functions stand within each other")
        views = self.view(depth + 1)
        if any(view.word_list is not None for view in views):
            raise self.error("list(...) can only be the outermost function")
        arguments = self.arguments(name)
        self.require(")")
        self.check_count(views, arguments)
        return [
            View(view.column, (*view.steps, (name, argument)))
            for view in views
            for argument in arguments
        ]

    def check_function(self, name: str) -> None:
        if name not in ARGUMENTS:
            known = ", ".join(ARGUMENTS)
            raise self.error(
                f"unknown function '{name}'; the functions are "
                f"{known}.{did_you_mean(name, ARGUMENTS)}"
            )

    def arguments(self, function: str) -> list[Argument]:
        """Parse what a function takes besides the view."""
        kind = ARGUMENTS[function]
        if kind is None:
            return [None]
        if not self.accept(","):
            what = "a number of characters" if kind == "number" else "the name of a word list"
            raise self.expected(f"', ' and {what} for {function}")
        if kind == "list":
            return [self.take("name", "the name of a word list, one of those under 'lists'")]
        return list(self.lengths(function))

    def lengths(self, function: str) -> Iterator[int]:
        numbers = self.numbers("a number of characters such as 3, or a range such as 1..4")
        if numbers[0] < 1:
            raise self.error(f"{function} takes at least 1 character, not {numbers[0]}")
        return iter(numbers)

    def numbers(self, what: str) -> range:
        first = last = self.number(what)
        if self.accept(".."):
            last = self.number("the last number of the range")
        if last < first:
            raise self.error(
                f"the range {first}..{last} is empty; write the smaller number first: "
                f"{last}..{first}"
            )
        return range(first, last + 1)

    def number(self, what: str) -> int:
        digits = self.take("number", what)
        if len(digits) > DIGITS or abs(int(digits)) > LARGEST:
            raise self.error(f"the number {digits} is too large; the largest is {LARGEST}")
        return int(digits)

    def check_count(self, *choices: Sized) -> None:
        if (count := prod(map(len, choices))) > MOST:
            raise self.error(
                f"its ranges make {count} templates; one line may have {MOST}, so write narrower "
                "ranges"
            )

    def accept(self, mark: str) -> bool:
        """Go past a mark, if it is next."""
        accepted = self.index < len(self.tokens) and self.tokens[self.index] == ("mark", mark)
        self.index += accepted
        return accepted

    def require(self, mark: str) -> None:
        """Go past a mark, which must be next."""
        if not self.accept(mark):
            raise self.expected(f"'{mark}'")

    def take(self, kind: str, what: str) -> str:
        """Return the next token, which must be of a kind; `what` describes it in the message."""
        if self.index >= len(self.tokens) or self.tokens[self.index][0] != kind:
            raise self.expected(what)
        self.index += 1
        return self.tokens[self.index - 1][1]

    def expected(self, what: str) -> ConfigError:
        actual = f"'{self.tokens[self.index][1]}'" if self.index < len(self.tokens) else "the end"
        return self.error(f"expected {what}, found {actual}")

    def error(self, message: str) -> ConfigError:
        return ConfigError(f"template '{self.text}': {message}")
