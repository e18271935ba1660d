"""Patterns of file names: ``*``, ``?``, ``[abc]``, ``**`` for any folders, lists ``{a,b}`` and
ranges ``{0001..0160}``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from functools import reduce
from itertools import islice
from typing import NamedTuple

from structopt.errors import COMPARED, DataError

SIGNS = re.compile(r"[*?\[{]")
"""What makes a pattern of a name."""
BRACES = re.compile(r"\{([^{}]*(?:,|\.\.)[^{}]*)\}")
RANGE = re.compile(r"(\d+)\.\.(\d+)")
TOKENS = re.compile(r"\*\*/|\*\*|\*|\?|\[!?\]?[^\]]*\]|.", re.DOTALL)
REPEATED = re.compile(r"(?:\*\*/){2,}")
"""Stands for one ``**/``."""
CHARACTERS = re.compile(r"(.)(?:(-)(.))?", re.DOTALL)
"""A character, or a range, in brackets."""
WILDCARDS = {"**/": r"(?:.*/)?", "**": ".*", "*": "[^/]*"}
"""Tokens that fit any number of characters, as regular expressions."""
FEW, SHORT = 3, 256
"""Wildcards of a pattern, and characters of a name, up to which a regular expression is fast."""
MOST = 1_000_000
"""Names that braces may stand for."""


class Alternative(NamedTuple):
    """A pattern without braces; `ranged`: a number of a range is in it, so that no file need have
    it.
    """

    pattern: str
    ranged: bool


def alternatives(pattern: str) -> list[Alternative]:
    """Return the patterns that braces stand for, in their order: a list's, a range's, where a zero
    in front pads.

    Raises
    ------
    DataError
        More than a million.
    """
    parts = BRACES.split(pattern)  # plain text, braces, plain text, ...
    choices = [
        _choices(part) if number % 2 else [Alternative(part, False)]
        for number, part in enumerate(parts)
    ]
    if reduce(lambda product, one: product * len(one), choices, 1) > MOST:
        raise DataError(
            pattern,
            None,
            f"these braces stand for more than {MOST:,} names",
            remedy="give a narrower range.",
        )
    texts = [Alternative("", False)]
    for choice in choices:
        texts = [
            Alternative(a.pattern + b.pattern, a.ranged or b.ranged) for a in texts for b in choice
        ]
    return texts


def _choices(braces: str) -> list[Alternative]:
    """What stands in braces: names divided by commas, each perhaps a range."""
    found: list[Alternative] = []
    for text in braces.split(","):
        if not (ends := RANGE.fullmatch(text)):
            found.append(Alternative(text, False))
            continue
        first, last = int(ends[1]), int(ends[2])
        if abs(last - first) > MOST:
            raise DataError(
                f"{{{braces}}}",
                None,
                f"this range has more than {MOST:,} numbers",
                remedy="give a narrower one.",
            )
        width = (
            max(map(len, ends.groups()))
            if any(end.startswith("0") and len(end) > 1 for end in ends.groups())
            else 0
        )
        step = 1 if last >= first else -1
        found += [
            Alternative(f"{number:0{width}d}", True) for number in range(first, last + step, step)
        ]
    return found


class Names:
    """Paths among which patterns are looked for.

    Parameters
    ----------
    names : sequence of str
        Divided by ``/``.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.sorted = sorted(names)
        self._by_end: dict[str, list[str]] = {}
        for name in self.sorted:
            self._by_end.setdefault(name.rpartition("/")[2], []).append(name)

    def fitting(self, pattern: str) -> list[str]:
        """Return the names that a pattern without braces fits, sorted; one without ``/`` fits the
        end of a path.
        """
        anywhere = "/" not in pattern
        if not SIGNS.search(pattern):
            return [
                name
                for name in self._by_end.get(pattern.rpartition("/")[2], [])
                if anywhere or name == pattern
            ]
        tokens = (["**/"] if anywhere else []) + TOKENS.findall(REPEATED.sub("**/", pattern))
        matches = _matcher(pattern, tokens)
        return [name for name in self.sorted if matches(name)]


def _matcher(pattern: str, tokens: Sequence[str]) -> Callable[[str], bool]:
    """Return a function that matches a name: in time |name| x |pattern|, or a regular expression.

    A regular expression with n wildcards takes |name|^n steps on names that it does not fit.
    """
    expressions = [_expression(pattern, token) for token in tokens]
    compiled = re.compile("".join(expressions), re.DOTALL)
    single = {
        token: re.compile(expression, re.DOTALL)
        for token, expression in zip(tokens, expressions, strict=True)
        if token not in WILDCARDS
    }
    few = sum(token in WILDCARDS for token in tokens) <= FEW

    def matches(name: str) -> bool:
        if few and len(name) <= SHORT:
            return compiled.fullmatch(name) is not None
        return _simulated(tokens, single, name)

    return matches


def _simulated(tokens: Sequence[str], single: Mapping[str, re.Pattern[str]], name: str) -> bool:
    """Match a name by the set of all tokens that may come next, after each character."""
    last = len(tokens)

    def with_skips(states: Iterable[int]) -> set[int]:
        """Add the tokens after wildcards, which fit nothing too."""
        reached = set(states)
        for state in sorted(reached):
            while state < last and tokens[state] in WILDCARDS:
                state += 1
                reached.add(state)
        return reached

    states, within = with_skips([0]), set[int]()  # within: begun folders of **/
    for character in name:
        folders = {state for state in states if state < last and tokens[state] == "**/"} | within
        following = {state + 1 for state in folders} if character == "/" else set[int]()
        for state in states:
            if state == last or tokens[state] == "**/":
                continue
            token = tokens[state]
            if token == "**" or (token == "*" and character != "/"):
                following.add(state)
            elif token != "*" and single[token].fullmatch(character):
                following.add(state + 1)
        states, within = with_skips(following), folders
    return last in states


def _expression(pattern: str, token: str) -> str:
    """Return the regular expression of a token of a pattern."""
    plain = {**WILDCARDS, "?": "[^/]"}.get(token)
    if plain is None and token.startswith("[") and len(token) > 2:
        inside = token[1:-1]
        negated = inside[0] in "!^"
        return f"[{'^' if negated else ''}{_characters(pattern, inside[negated:])}]"
    return plain or re.escape(token)


def _characters(pattern: str, inside: str) -> str:
    """Return characters and ranges in brackets as a regular expression has them."""
    parts = []
    for character, _, end in CHARACTERS.findall(inside):
        if end and end < character:
            raise DataError(
                pattern,
                None,
                f"the range [{character}-{end}] is empty",
                remedy=f"write [{end}-{character}].",
            )
        parts.append(re.escape(character) + (f"-{re.escape(end)}" if end else ""))
    return "".join(parts)


def chosen(
    pattern: str, fitting: Callable[[str], list[str]], names: Callable[[], Sequence[str]]
) -> list[str]:
    """Return the names that a pattern with braces fits, once each, in the order of its braces and
    sorted within.

    Parameters
    ----------
    pattern : str
    fitting : callable
        The names that a pattern without braces fits.
    names : callable
        All names, of which the nearest are shown where none fits.

    Raises
    ------
    DataError
        Nothing fits the pattern, or one of the names of a list; numbers of a range may be missing.
    """
    fits = [(alternative, fitting(alternative.pattern)) for alternative in alternatives(pattern)]
    unfit = [
        alternative.pattern for alternative, files in fits if not files and not alternative.ranged
    ]
    if unfit or not any(files for _, files in fits):
        text = unfit[0] if unfit else pattern
        raise DataError(
            pattern,
            None,
            f"no file fits {text}{_nearest(fits[0][0].pattern if not unfit else text, names())}",
        )
    return list(dict.fromkeys(name for _, files in fits for name in files))


def _nearest(pattern: str, names: Sequence[str]) -> str:
    """The end of a message: the names that are most like a pattern."""
    if not names:
        return ": there are no files."
    last = pattern.rpartition("/")[2]
    shown = {
        name if "/" in pattern else name.rpartition("/")[2]: name
        for name in islice(names, COMPARED)
    }
    near = (
        get_close_matches(pattern if "/" in pattern else last, shown, n=3, cutoff=0.3)
        or sorted(shown)[:3]
    )
    return f". The nearest of {len(names)}: {', '.join(shown[name] for name in near)}."
