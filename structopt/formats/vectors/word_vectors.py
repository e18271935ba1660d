"""Vectors of words, from the files that word2vec, GloVe and fastText write, and from matrices with
a list of words.

Forms, plain or gzip; they are told apart by what is in the file:

- text, a word and its numbers a line, after a line ``COUNT DIMENSIONS`` (word2vec, fastText's
  ``.vec``) or none (GloVe);
- word2vec's binary files: the same header, then words and float32 numbers;
- a matrix in numpy's ``.npy``, not packed, with the words of its rows, one a line, in ``NAME.txt``
  or ``NAME.vocab`` beside it.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from structopt.errors import DataError
from structopt.formats.vectors.word_vectors_binary import NUMBER, read_binary_vectors
from structopt.formats.vectors.word_vectors_bytes import blocks, check_is_file, header_of
from structopt.formats.vectors.word_vectors_npy import read_matrix_vectors
from structopt.formats.vectors.word_vectors_text import read_text_vectors, trailing_numbers
from structopt.formats.vectors.word_vectors_wanted import WantedWords
from structopt.kernels.waist.record import Array

MATRIX = b"\x93NUMPY"
AS_TEXT = "write the vectors as text: in gensim, vectors.save_word2vec_format('vectors.txt')"
AS_MATRIX = "write its matrix with numpy.save, and its words, one a line, beside it"
OTHERS = (
    (
        re.compile(rb"\xba\x16\x4f\x2f"),
        "a model of fastText",
        "give the .vec file that fastText writes beside it",
    ),
    (
        re.compile(rb"PK\x03\x04"),
        "an archive, an .npz or a model of PyTorch",
        f"unpack it, or {AS_TEXT}",
    ),
    (
        re.compile(rb"\x80[\x02-\x05]"),
        "a pickle (gensim, PyTorch), which may run programs when it is read",
        AS_TEXT,
    ),
    (re.compile(rb".{7}\x00\{\"", re.DOTALL), "a safetensors file, which has no words", AS_MATRIX),
    (re.compile(rb"\x89HDF"), "an HDF5 file", AS_TEXT),
)
"""How files begin that are not read, what they are, and what to do."""
CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f]")
"""Bytes that numbers have in binary, and not in text."""


class WordVectors(NamedTuple):
    """Vectors of words.

    Attributes
    ----------
    numbers : dict of str to int
        The rows of the words that were wanted and are in the file.
    matrix : float32, shape (rows, dimensions)
        May have further rows, where it is a memory map.
    """

    numbers: dict[str, int]
    matrix: Array


def read_word_vectors(
    path: str | Path, wanted: Collection[str], encoding: str = "utf8"
) -> WordVectors:
    """Return the vectors of the wanted words that a file has; O(bytes), in one pass that holds a
    block and these vectors.

    Words are compared as bytes, and case counts. Files of this kind have some words that are broken
    in their encoding; nobody wants these, so that they are passed over. Of a word that is there
    more than once the first vector counts.

    Parameters
    ----------
    path : str or Path
    wanted : collection of str
    encoding : str
        How the file writes words.

    Raises
    ------
    DataError
        A file that is missing, empty, truncated or damaged, or of another form, a pickle among
        them; a line with too few or too many numbers, or vectors of another number than the header
        says; of wanted words, fields that are no numbers, and numbers that are not finite in single
        precision. Text is refused with the line.
    ConfigError
        An encoding that is unknown, or does not write digits and spaces as ASCII does.
    """
    words = WantedWords(wanted, encoding)
    check_is_file(path)
    stream = blocks(path)
    head = next(stream, b"")
    if not head:
        raise DataError(
            path,
            None,
            "the file is empty",
            remedy="check the path, or make the file again.",
        )
    _refuse_others(path, head)
    if head.startswith(MATRIX) or str(path).endswith(".npy"):
        matrix = read_matrix_vectors(path, words)
    elif _is_binary(path, head):
        matrix = read_binary_vectors(path, chain([head], stream), words)
    else:
        matrix = read_text_vectors(path, chain([head], stream), words)
    return WordVectors(words.numbers, matrix)


def _refuse_others(path: str | Path, head: bytes) -> None:
    for signature, form, advice in OTHERS:
        if signature.match(head):
            raise DataError(path, None, f"this is {form}; {advice}.")


def _is_binary(path: str | Path, head: bytes) -> bool:
    """Whether binary vectors follow the header; DataError at what is neither binary vectors nor
    text.
    """
    first, _, rest = head.partition(b"\n")
    header = header_of(first)
    if header is None:
        if b"\0" in head[:1000]:
            message = (
                "this is neither text nor a binary file of word2vec, which begins with COUNT "
                f"DIMENSIONS: {AS_TEXT}."
            )
            raise DataError(path, None, message)
        return False
    fields = rest.partition(b"\n")[0].split()
    if trailing_numbers(fields[1:]) >= header.dimensions:
        return False
    vector = rest.partition(b" ")[2][: header.dimensions * NUMBER]
    return (
        Path(path).name.removesuffix(".gz").endswith(".bin") or CONTROL.search(vector) is not None
    )
