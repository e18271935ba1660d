"""Words whose vectors are wanted, and what a file has of them."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable
from typing import NamedTuple

import numpy as np

from structopt.core.data.ranges import finite
from structopt.errors import ConfigError
from structopt.kernels.waist.record import Array


class Fault(NamedTuple):
    """A number of a vector that is not finite: its word, the place of the vector, its column from
    1, and itself.
    """

    word: str
    place: int
    column: int
    value: float

    @property
    def message(self) -> str:
        """What is wrong, and what to do."""
        what = f"number {self.column} of the vector of {self.word!r} is {self.value:g}"
        return (
            f"{what}, and numbers must be finite in single precision: make the file again, or "
            "leave this word out of it."
        )


class WantedWords:
    """Collects the vectors of wanted words; of words that a file has more than once, the first.

    Parameters
    ----------
    words : collection of str
    encoding : str
        In which the file writes them; words that it cannot write are never found.

    Attributes
    ----------
    pending : dict of bytes to str
        The words that were not found so far, by how the file writes them.
    numbers : dict of str to int
        The rows of those that were.

    Raises
    ------
    ConfigError
        An encoding that is unknown, or writes spaces, digits and line ends otherwise than ASCII.
    """

    def __init__(self, words: Collection[str], encoding: str = "utf8") -> None:
        _check(encoding)
        self.pending = {written: word for word in words if (written := _written(word, encoding))}
        self.numbers: dict[str, int] = {}
        self._values, self._places = array("f"), array("q")

    def add(self, written: bytes, values: Iterable[float], place: int) -> None:
        """Take the vector of a pending word; the place, such as the number of its line, is for
        messages.
        """
        self.numbers[self.pending.pop(written)] = len(self._places)
        self._values.extend(values)
        self._places.append(place)

    def matrix(self, dimensions: int) -> Array:
        """Return the vectors that were found, float32, shape (words, dimensions)."""
        if not self.numbers:
            return np.zeros((0, dimensions), np.float32)
        return np.frombuffer(self._values, np.float32).reshape(-1, dimensions)

    def fault(self, matrix: Array) -> Fault | None:
        """Return the first number of the matrix that is not finite; None where all are."""
        if finite(matrix):
            return None
        row, column = divmod(int(np.isfinite(matrix).argmin()), matrix.shape[1])
        word = next(word for word, number in self.numbers.items() if number == row)
        return Fault(word, self._places[row], column + 1, float(matrix[row, column]))


def _check(encoding: str) -> None:
    sample = "a 0.5\n"
    try:
        plain = sample.encode(encoding) == sample.encode("ascii")
    except (LookupError, ValueError):
        plain = False
    if not plain:
        advice = "Convert the file to utf8, in which word vectors usually are."
        raise ConfigError(
            "is none that writes digits and spaces as ASCII does.",
            parameter="encoding",
            value=encoding,
            remedy=advice,
        )


def _written(word: str, encoding: str) -> bytes:
    """A word as the file writes it; empty where it cannot."""
    try:
        return word.encode(encoding)
    except UnicodeEncodeError:
        return b""
