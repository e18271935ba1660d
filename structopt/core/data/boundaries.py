"""Where instances end in a text that is read as it comes, line by line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Boundary:
    """What ends an instance in the text of a task.

    Attributes
    ----------
    end : str
        Regular expression of the line that ends an instance; it belongs to it.
    skipped : str
        Of lines that make no instance: blank ones, comments, marks of documents.
    brackets : str
        Regular expression of how an instance begins that goes on until all its brackets are closed;
        empty where none does.
    alone : bool
        Whether every instance must be read for itself, since what stands beside it says how it is
        read.
    heading : int
        Lines at the head of a written file, which belong to no instance.
    ending : str
        How the names of files of this format end, where readers and writers look at that.
    """

    end: str
    skipped: str = r"\s*"
    brackets: str = ""
    alone: bool = False
    heading: int = 0
    ending: str = ""


LINE = Boundary(r"[^\n]*\n?", r"\s*(#.*)?\s*")
"""An instance a line, beside empty lines and comments."""
JSON_LINE = Boundary(r"[^\n]*\n?")
"""An object, or any text, a line, beside empty lines."""
EMPTY_LINE = Boundary(r"\s*", r"\s*|-DOCSTART-.*\s*")
"""Instances of several lines, with empty lines between them."""


class Instances:
    """The instances of a text of which one piece comes after the other; no more than one unfinished
    instance is kept.

    Parameters
    ----------
    boundary : Boundary
    """

    def __init__(self, boundary: Boundary) -> None:
        patterns = (boundary.end, boundary.skipped, boundary.brackets)
        self._end, self._skipped, self._brackets = (
            re.compile(one.encode(), re.DOTALL) for one in patterns
        )
        self._line, self._pieces, self._lines = 1, list[bytes](), list[bytes]()
        self._counts, self._bracketed, self._depth = False, False, 0

    def of(self, data: bytes) -> Iterator[tuple[int, bytes]]:
        """Yield the instances that are complete with this piece: the line in which each begins,
        from 1, and its text.
        """
        self._pieces.append(data)
        if b"\n" not in data:
            return
        *lines, rest = b"".join(self._pieces).split(b"\n")
        self._pieces = [rest]
        for bare in lines:
            self._add(line := bare + b"\n")
            if self._counts and self._depth <= 0 and self._end.fullmatch(line):
                yield self._taken()

    def rest(self) -> Iterator[tuple[int, bytes]]:
        """Yield the last instance, where the text ends without its end."""
        self._add(b"".join(self._pieces))
        if self._counts:
            yield self._taken()

    def _add(self, line: bytes) -> None:
        """Add a line to the instance; the first one that counts says whether brackets matter."""
        if not self._counts and not self._skipped.fullmatch(line):
            self._counts = True
            self._bracketed = bool(self._brackets.pattern and self._brackets.match(line))
        if self._bracketed:
            self._depth += line.count(b"(") - line.count(b")")
        self._lines.append(line)

    def _taken(self) -> tuple[int, bytes]:
        """The instance that has ended."""
        first, text = self._line, b"".join(self._lines)
        self._line += len(self._lines)
        self._lines, self._counts, self._bracketed, self._depth = [], False, False, 0
        return first, text
