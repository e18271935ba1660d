r"""word2vec's binary files: a line ``COUNT DIMENSIONS``, then of every word its bytes, a space, and
its numbers.

Numbers are float32, little-endian. Some writers put ``\n`` after every vector, others do not: it is
no part of the next word.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from structopt.errors import DataError
from structopt.formats.vectors.word_vectors_bytes import header_of
from structopt.formats.vectors.word_vectors_wanted import WantedWords
from structopt.kernels.waist.record import Array

LONGEST_WORD = 1 << 16
"""Bytes of a word, at most."""
NUMBER = 4
"""Bytes of a number."""


def read_binary_vectors(path: str | Path, stream: Iterator[bytes], wanted: WantedWords) -> Array:
    """Read the vectors of wanted words; O(bytes), of which one block and the vectors are held.

    Raises
    ------
    DataError
        A file that ends before all words that its header announces, or goes on after them; words
        without end; numbers of wanted words that are not finite.
    """
    line, _, data = next(stream).partition(b"\n")
    header = header_of(line)
    assert header is not None
    if not header.dimensions:
        raise DataError(
            path,
            1,
            "the first line says that vectors have 0 numbers",
            remedy="make the file again.",
        )
    _Records(path, data, stream).read(header.words, header.dimensions * NUMBER, wanted)
    matrix = wanted.matrix(header.dimensions)
    if fault := wanted.fault(matrix):
        raise DataError(path, None, f"vector {fault.place}: {fault.message}")
    return matrix


class _Records:
    """Cuts a stream into words and their vectors.

    Parameters
    ----------
    path : str or Path
        For messages.
    data : bytes
        What was read of the stream after the header.
    stream : iterator of bytes
        The rest.
    """

    def __init__(self, path: str | Path, data: bytes, stream: Iterator[bytes]) -> None:
        self.path, self.data, self.stream = path, data, stream

    def read(self, count: int, size: int, wanted: WantedWords) -> None:
        """Read so many vectors, each of `size` bytes."""
        data, begin, pending = self.data, 0, wanted.pending
        for number in range(1, count + 1):
            space = data.find(b" ", begin)
            while space < 0 or space + size >= len(data):
                self._check_word(space < 0, len(data) - begin, number)
                data, begin = data[begin:] + self._more(number, count), 0
                space = data.find(b" ")
            end = space + 1 + size
            word = data[begin:space].lstrip(b"\n")
            if word in pending:
                numbers = np.frombuffer(data[space + 1 : end], "<f4")
                wanted.add(word, numbers.tolist(), number)
            begin = end
        self._check_end(data[begin:], count)

    def _more(self, number: int, count: int) -> bytes:
        block = next(self.stream, b"")
        if not block:
            message = (
                f"the first line says that {count} vectors follow, and the file ends in vector "
                f"{number}"
            )
            raise DataError(
                self.path, None, f"{message}: it is truncated; copy or download it again."
            )
        return block

    def _check_word(self, endless: bool, size: int, number: int) -> None:
        if endless and size > LONGEST_WORD:
            message = (
                f"vector {number} has a word of over {LONGEST_WORD} bytes, so the first line "
                "does not fit what follows"
            )
            raise DataError(
                self.path,
                None,
                message,
                remedy="copy or download the file again.",
            )

    def _check_end(self, rest: bytes, count: int) -> None:
        rest += next(self.stream, b"")
        if rest.strip():
            message = (
                f"the first line says that {count} vectors follow, and there is more after them"
            )
            raise DataError(
                self.path,
                None,
                f"{message}: the line is wrong, or the file damaged; copy or make it again.",
            )
