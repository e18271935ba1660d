"""Numbers for strings, in order of first use."""

from __future__ import annotations


class Numbering(dict[str, int]):
    """Strings and their numbers from 0; a string that is looked up for the first time gets the next number."""

    def __missing__(self, string: str) -> int:
        self[string] = number = len(self)
        return number
