"""Matrices with a row a token, in numpy's .npy: mapped, not read."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from structopt.core.data.file_sets import check_one_file
from structopt.errors import DataError, missing_file
from structopt.kernels.waist.record import Array

CHUNK = 1 << 16
"""Rows whose numbers are checked at a time."""


def read_matrix(path: str | Path, rows: int, partial: bool) -> Array:
    """Return the matrix of a .npy file, float32, shape (rows, dimensions): a memory map where the
    file is of that type.

    Parameters
    ----------
    path : str or Path
    rows : int
        How many it must have.
    partial : bool
        Whether it may have more, of which the first are taken.

    Raises
    ------
    DataError
        A file that is missing, no .npy, or holds Python objects; a matrix of other types, axes or
        numbers of rows; numbers that are not finite in single precision.
    """
    check_one_file(path, "a matrix")
    try:
        matrix = np.load(path, mmap_mode="c", allow_pickle=False)
    except FileNotFoundError:
        raise missing_file(path, "check features.dense.") from None
    except Exception as error:  # damaged headers make numpy raise nearly anything
        raise DataError(
            path,
            None,
            f"not a .npy file of numbers ({error}).",
            remedy="Write it with numpy.save.",
        ) from None
    if (
        not isinstance(matrix, np.ndarray)
        or matrix.ndim != 2
        or matrix.dtype.kind not in "fiu"
        or not matrix.shape[1]
    ):
        kind = (
            f"{matrix.dtype} of shape {matrix.shape}"
            if isinstance(matrix, np.ndarray)
            else "an archive"
        )
        raise DataError(
            path, None, f"a matrix of numbers with a row a token is needed, and this is {kind}."
        )
    if len(matrix) < rows or (len(matrix) > rows and not partial):
        message = (
            f"it has {len(matrix)} rows, and the data have {rows} tokens: give the matrix of "
            "these data"
        )
        raise DataError(path, None, f"{message}; a * in its name stands for that of the data file.")
    return _checked(path, matrix[:rows])


def _checked(path: str | Path, matrix: Array) -> Array:
    """The matrix in single precision, all numbers of which are finite."""
    with np.errstate(over="ignore"):
        single = matrix if matrix.dtype == np.float32 else matrix.astype(np.float32)
    for first in range(0, len(single), CHUNK):
        wrong = ~np.isfinite(single[first : first + CHUNK])
        if wrong.any():
            row, column = (int(index[0]) for index in np.nonzero(wrong))
            place = f"row {first + row + 1}, column {column + 1}"
            raise DataError(
                path,
                None,
                f"{place}: {matrix[first + row, column]} is no finite number in single precision.",
            )
    return np.asarray(single)
