"""Numbers that come with sentences in memory: matrices with one row per token, and cells of columns
of numbers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from structopt.core import checks
from structopt.errors import ArgumentError
from structopt.formats.in_memory.sentences import form_of_sentences
from structopt.kernels.waist.record import Array

KEY = "dense"
"""The key of the first matrix of a sentence; further matrices have the keys dense2, dense3, ..."""
Matrices = Mapping[str, Sequence[Any]]
"""The matrices of all sentences, by key."""


def key_of_matrix(number: int) -> str:
    """Return the key of a matrix of a sentence, counted from 0."""
    return f"{KEY}{number + 1}" if number else KEY


def separated(
    instances: Iterable[Any], keys: Sequence[str], columns: Collection[str], names: Sequence[str]
) -> tuple[Iterable[Any], Matrices]:
    """Separate matrices from sentences, and write the numbers in columns of numbers as text.

    Parameters
    ----------
    instances : iterable of sentences
        In the forms that `structopt.formats.in_memory.sentences.sentence_columns` takes. Mappings
        may also have `keys`.
    keys : sequence of str
        The keys of matrices that the model reads.
    columns : collection of str
        The columns whose cells may be numbers.
    names : sequence of str
        All columns, the word first.

    Returns
    -------
    sentences : iterable
    matrices : mapping of key to list
        The matrix of every sentence; empty if no sentence has one.

    Raises
    ------
    ArgumentError
        For a sentence without a matrix if others have one.
    """
    if not keys and not columns:
        return instances, {}
    sentences = form_of_sentences(names).listed(instances)
    numeric = {index for index, name in enumerate(names) if name in columns}
    matrices = {
        key: [one.get(key) if isinstance(one, Mapping) else None for one in sentences]
        for key in keys
        if any(isinstance(one, Mapping) and key in one for one in sentences)
    }
    for key, values in matrices.items():
        absent = next((index for index, value in enumerate(values) if value is None), None)
        if absent is not None:
            raise ArgumentError(
                "is missing, and other sentences have a matrix.",
                parameter=key,
                where=checks.of_instance((absent,)),
                remedy="Give a matrix with one row per token for every sentence.",
            )
    return [_texts(one, keys, columns, numeric) for one in sentences], matrices


def stacked(key: str, matrices: Sequence[Any], offsets: Array, dimensions: int) -> Array:
    """Return the rows of all tokens, float32, shape (tokens, dimensions).

    Parameters
    ----------
    key : str
    matrices : sequence of array-like
        One matrix per sentence, with one row per token.
    offsets : int64, shape (sentences + 1,)
    dimensions : int
        The number of columns; 0: that of the first matrix.

    Raises
    ------
    ArgumentError
        For another shape, and for numbers that are not finite in single precision.
    """
    found = []
    for index, (matrix, length) in enumerate(zip(matrices, np.diff(offsets).tolist(), strict=True)):
        place = checks.in_instance(index)
        try:
            rows = checks.floats(key, matrix, place=place)
        except ArgumentError as error:
            error.where = error.where or checks.of_instance((index,))
            raise
        if not length and not rows.size:
            continue
        width = dimensions or (rows.shape[1] if rows.ndim == 2 else 0)
        if rows.shape != (length, width) or not width:
            raise ArgumentError(
                f"must have one row per token and {width or 'the same number of'} columns, so the "
                f"shape ({length}, {width or 'columns'}), but has the shape {rows.shape}.",
                parameter=key,
                where=checks.of_instance((index,)),
            )
        with np.errstate(over="ignore"):
            single = rows.astype(np.float32)
        if not np.isfinite(single).all():
            position = tuple(int(axis[0]) for axis in np.nonzero(~np.isfinite(single)))
            raise ArgumentError(
                "must be within the range of single precision.",
                parameter=key,
                value=float(rows[position]),
                where=place(position),
            )
        dimensions = width
        found.append(single)
    return np.concatenate(found) if found else np.zeros((0, max(dimensions, 1)), np.float32)


def _texts(
    sentence: Any, keys: Sequence[str], columns: Collection[str], numeric: Collection[int]
) -> Any:
    """A sentence without matrices, whose numbers are text."""
    if isinstance(sentence, Mapping):
        return {
            name: list(map(_text, cells))
            if name in columns and isinstance(cells, Iterable) and not isinstance(cells, str)
            else cells
            for name, cells in sentence.items()
            if name not in keys
        }
    if not numeric or isinstance(sentence, (str, bytes)) or not isinstance(sentence, Iterable):
        return sentence
    return [
        tuple(_text(cell) if index in numeric else cell for index, cell in enumerate(word))
        if isinstance(word, (tuple, list))
        else word
        for word in sentence
    ]


def _text(cell: Any) -> Any:
    number = isinstance(cell, (int, float, np.integer, np.floating)) and not isinstance(cell, bool)
    return repr(float(cell)) if number else cell
