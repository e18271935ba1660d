"""Word vectors as a matrix of numpy's .npy, which is mapped and not read, with the words of its
rows in a text file beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from structopt.core.data.ranges import finite
from structopt.errors import DataError
from structopt.formats.vectors.word_vectors_bytes import blocks, is_packed, lines
from structopt.formats.vectors.word_vectors_text import trailing_numbers
from structopt.formats.vectors.word_vectors_wanted import Fault, WantedWords
from structopt.kernels.waist.record import Array

SUFFIXES = (".txt", ".vocab")
"""Of the file of words: NAME.txt or NAME.vocab beside NAME.npy."""
CHUNK = 1 << 14
"""Rows that are checked at a time."""


def read_matrix_vectors(path: str | Path, wanted: WantedWords) -> Array:
    """Return a matrix in which the numbers of the wanted words are rows: the memory map where it is
    float32, else these alone.

    Raises
    ------
    DataError
        What is no matrix of floating-point numbers, or holds Python objects; no file of words
        beside it, or one of another length; numbers of wanted words that are not finite in single
        precision.
    """
    matrix = _mapped(path)
    _find(path, len(matrix), wanted)
    words = list(wanted.numbers)
    rows = np.fromiter(wanted.numbers.values(), np.int64, len(words))
    if matrix.dtype == np.float32:
        used, at = matrix, rows
    else:
        with np.errstate(over="ignore"):  # what overflows is refused
            used, at = matrix[rows].astype(np.float32), np.arange(len(rows))
        wanted.numbers = {word: number for number, word in enumerate(words)}
    for first in range(0, len(words), CHUNK):
        chunk = slice(first, first + CHUNK)
        _check(path, used[at[chunk]], words[chunk], rows[chunk])
    return used


def _mapped(path: str | Path) -> Array:
    """The matrix as a memory map."""
    if is_packed(path):
        raise DataError(
            path, None, "a packed matrix cannot be mapped into memory: unpack it with gunzip."
        )
    try:
        matrix = np.load(path, mmap_mode="c", allow_pickle=False)
    except MemoryError:
        raise
    except Exception as error:  # damaged headers make numpy raise nearly anything
        raise DataError(
            path,
            None,
            f"this is no .npy file of numbers, or a truncated one ({error})",
            remedy="write it with numpy.save.",
        ) from error
    if (
        not isinstance(matrix, np.ndarray)
        or matrix.ndim != 2
        or matrix.dtype.kind != "f"
        or 0 in matrix.shape
    ):
        kind = (
            f"{matrix.dtype} of shape {matrix.shape}"
            if isinstance(matrix, np.ndarray)
            else "an archive"
        )
        message = (
            "word vectors are a matrix of floating-point numbers with a row a word, and this is "
            f"{kind}"
        )
        raise DataError(
            path,
            None,
            message,
            remedy="write it with numpy.save.",
        )
    return matrix


def _find(path: str | Path, rows: int, wanted: WantedWords) -> None:
    """Look for wanted words in the file of words."""
    names = [Path(path).with_suffix(suffix) for suffix in SUFFIXES]
    name = next((name for name in names if name.is_file()), None)
    if name is None:
        places = f"{names[0].name} or {names[1].name} beside it"
        raise DataError(
            path,
            None,
            "the words of its rows are missing",
            remedy=f"write them, a word a line, to {places}.",
        )
    number = last = 0
    for number, word in enumerate(_words(name), 1):
        last = number if word else last
        if word in wanted.pending:
            wanted.numbers[wanted.pending.pop(word)] = number - 1
    if not last <= rows <= number:
        raise DataError(
            name,
            None,
            f"it has {last} words, and the matrix {Path(path).name} has {rows} rows",
            remedy="write the word of every row in a line.",
        )


def _words(path: Path) -> Iterator[bytes]:
    """The lines of a file of words; where its first line has nothing but numbers after a word, such
    as a count, first fields.
    """
    followed = None
    for batch in lines(path, blocks(path)):
        if followed is None:
            fields = batch[0].split()
            followed = len(fields) > 1 and trailing_numbers(fields) >= len(fields) - 1
        yield from (line.partition(b" ")[0] for line in batch) if followed else batch


def _check(path: str | Path, vectors: Array, words: Sequence[str], rows: Array) -> None:
    if finite(vectors):
        return
    row, column = divmod(int(np.isfinite(vectors).argmin()), vectors.shape[1])
    fault = Fault(words[row], int(rows[row]) + 1, column + 1, float(vectors[row, column]))
    raise DataError(path, None, f"row {fault.place}: {fault.message}")
