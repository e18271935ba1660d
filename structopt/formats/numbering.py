"""Numbers for strings, in order of first use."""

from __future__ import annotations

from collections.abc import Iterable


class Numbering(dict[str, int]):
    """Strings and their numbers from 0; a string that is looked up for the first time gets the next
    number.
    """

    def __missing__(self, string: str) -> int:
        self[string] = number = len(self)
        return number


def repeated(strings: Iterable[str]) -> str | None:
    """Return the first string that occurred before; None where all differ."""
    seen: set[str] = set()
    for string in strings:
        if string in seen:
            return string
        seen.add(string)
    return None
