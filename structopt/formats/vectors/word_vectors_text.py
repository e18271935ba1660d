"""Word vectors as text: a word and its numbers a line, after a line ``COUNT DIMENSIONS`` (word2vec,
fastText) or none (GloVe).

Numbers are divided by spaces or tabs. Words may have spaces in them, as some of GloVe's do: the
last numbers of a line, as many as every line has, are the vector, and the word is what stands
before.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from math import isfinite
from pathlib import Path
from typing import NamedTuple

from structopt.errors import DataError
from structopt.formats.vectors.word_vectors_bytes import header_of, lines
from structopt.formats.vectors.word_vectors_wanted import WantedWords
from structopt.kernels.waist.record import Array

DAMAGED = "the file is cut off or damaged here: copy or download it again"
FORMS = "a line 'COUNT DIMENSIONS' (word2vec, fastText) or a word and its numbers (GloVe)"


class Layout(NamedTuple):
    """How many numbers a line has; how many vectors a header announces, None where there is no
    header.
    """

    dimensions: int
    announced: int | None

    @property
    def headers(self) -> int:
        """How many lines are header: 0 or 1."""
        return 0 if self.announced is None else 1


def read_text_vectors(path: str | Path, stream: Iterator[bytes], wanted: WantedWords) -> Array:
    """Read the vectors of wanted words; O(bytes), of which one block and the vectors are held.

    Raises
    ------
    DataError
        A line with too few or too many numbers; a number of a wanted word that is none, or is not
        finite; more or fewer lines than the header says; a file that begins otherwise.
    """
    batches = lines(path, stream)
    opening = _opening(batches)
    if not any(line.strip() for line in opening):
        raise DataError(
            path,
            None,
            "the file is empty",
            remedy="check the path, or make the file again.",
        )
    layout = layout_of(path, opening)
    reader = _Reader(path, layout, wanted)
    reader.take(opening[layout.headers :])
    for batch in batches:
        reader.take(batch)
    reader.check_count()
    matrix = wanted.matrix(layout.dimensions)
    if fault := wanted.fault(matrix):
        raise DataError(path, fault.place, fault.message)
    return matrix


def numeric(field: bytes) -> bool:
    """Whether a field is a number, be it nan or infinite; ``1_0``, which Python would read, is
    none.
    """
    try:
        return b"_" not in field and float(field) is not None
    except ValueError:
        return False


def trailing_numbers(fields: Sequence[bytes]) -> int:
    """How many of the last fields are numbers."""
    return next(
        (count for count, field in enumerate(reversed(fields)) if not numeric(field)), len(fields)
    )


def layout_of(path: str | Path, opening: Sequence[bytes]) -> Layout:
    """Return the layout of a file by its first lines.

    A first line of two whole numbers is a header, unless the second line shows that all have one
    number.
    """
    header, second = header_of(opening[0]), opening[1].split() if len(opening) > 1 else []
    if header and (len(second) != 2 or header.dimensions == 1):
        if not header.dimensions:
            raise DataError(
                path,
                1,
                "the first line says that vectors have 0 numbers",
                remedy="make the file again.",
            )
        return Layout(header.dimensions, header.words)
    fields = opening[0].split()
    dimensions = trailing_numbers(fields[1:])
    if dimensions < 1:
        raise DataError(
            path,
            1,
            f"word vectors begin with {FORMS}, and this line is neither",
            remedy="check the path.",
        )
    before = fields[1:-dimensions]
    if any(map(numeric, before)):
        raise _no_number(path, 1, before[-1])
    return Layout(dimensions, None)


class _Reader:
    """Takes lines. Of each the separators are counted, which is quick; only the numbers of wanted
    words are read.

    Parameters
    ----------
    path : str or Path
        For messages.
    layout : Layout
    wanted : WantedWords
    """

    def __init__(self, path: str | Path, layout: Layout, wanted: WantedWords) -> None:
        self.path, self.layout, self.wanted = path, layout, wanted
        self.line, self.blank = layout.headers, 0

    def take(self, batch: Sequence[bytes]) -> None:
        """Take the next lines; DataError at one that is malformed."""
        dimensions, pending = self.layout.dimensions, self.wanted.pending
        for number, line in enumerate(batch, self.line + 1):
            if line.count(b" ") == dimensions:
                word = line[: line.find(b" ")]
            elif line:
                word = self._word(line, number)
            else:
                self.blank += 1
                continue
            if word in pending:
                self.wanted.add(word, self._numbers(line[len(word) :], number), number)
        self.line += len(batch)

    def check_count(self) -> None:
        """Raise DataError where the lines are not as many as the header says."""
        vectors, count = self.line - self.layout.headers - self.blank, self.layout.announced
        if count is None or vectors == count:
            return
        advice = (
            "the file is truncated; copy or download it again"
            if vectors < count
            else "correct it, or make the file again"
        )
        raise DataError(
            self.path,
            1,
            f"the line says that {count} vectors follow, and {vectors} do",
            remedy=f"{advice}.",
        )

    def _word(self, line: bytes, number: int) -> bytes:
        """The word of a line with more or fewer separators than numbers: it has spaces, or
        separators are doubled.
        """
        dimensions = self.layout.dimensions
        fields = line.rsplit(None, dimensions)
        if len(fields) == dimensions and line.startswith(b" "):
            return b""  # the word is a space
        if len(fields) <= dimensions:
            raise self._wrong_count(number, len(fields) - 1)
        inner = fields[0].split()[1:]
        if inner and numeric(inner[-1]) and isfinite(float(inner[-1])):
            raise self._wrong_count(number, dimensions + trailing_numbers(inner))
        return fields[0]

    def _numbers(self, text: bytes, number: int) -> array[float]:
        """The numbers of a line, without its word."""
        fields = text.split()
        if len(fields) != self.layout.dimensions:
            raise self._wrong_count(number, len(fields))
        try:
            if b"_" in text:
                raise ValueError
            return array("f", map(float, fields))
        except ValueError:
            wrong = next(field for field in fields if not numeric(field))
            raise _no_number(self.path, number, wrong) from None

    def _wrong_count(self, number: int, count: int) -> DataError:
        told = f"line 1 {'says' if self.layout.headers else 'has'} {self.layout.dimensions}"
        return DataError(
            self.path, number, f"numbers after the word: {count}, where {told}; {DAMAGED}."
        )


def _opening(batches: Iterator[list[bytes]]) -> list[bytes]:
    """The first lines, at least two if there are so many."""
    opening: list[bytes] = []
    for batch in batches:
        opening += batch
        if len(opening) > 1:
            break
    return opening


def _no_number(path: str | Path, line: int, field: bytes) -> DataError:
    text = field.decode("utf8", "replace")
    return DataError(path, line, f"{text!r} stands among the numbers, and is none: {DAMAGED}.")
