"""Files of numpy arrays by name, read without running anything, and replaced at once."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import numpy as np

from structopt.errors import DataError
from structopt.formats.text_files import replace_file
from structopt.kernels.waist.record import Array


def read_arrays(path: str | Path, needed: Collection[str], known: Collection[str]) -> dict[str, Array]:
    """Return the arrays of an npz that are known.

    Raises
    ------
    DataError
        A file that is missing, no npz, truncated, holds Python objects, or lacks an array that is needed.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            missing = [name for name in needed if name not in file]
            if missing:
                there = ", ".join(file.files) or "none"
                raise DataError(path, None, f"the array '{missing[0]}' is missing; the file has: {there}.")
            return {name: file[name] for name in known if name in file}
    except (FileNotFoundError, IsADirectoryError, PermissionError) as error:
        raise DataError(path, None, f"the file cannot be read ({error.strerror}): check the path.") from error
    except (OSError, ValueError, EOFError, AttributeError, TypeError, zipfile.BadZipFile, zlib.error) as error:
        message = "this is no npz of plain arrays, or a truncated one: write it with numpy.savez_compressed."
        raise DataError(path, None, message) from error


def write_arrays(path: str | Path, arrays: Mapping[str, Array]) -> None:
    """Write an npz, replacing the file at once.

    Raises
    ------
    DataError
        The folder does not exist or cannot be written; nothing is left behind.
    """
    stream = io.BytesIO()
    np.savez_compressed(stream, allow_pickle=False, **arrays)
    replace_file(path, stream.getvalue())


def side_by_side(lists: Sequence[Sequence[Array]]) -> list[Array]:
    """For every instance its ranked labellings as columns, shape (variables, k), -1 in the last ones where it has fewer."""
    k = max(map(len, lists), default=0)
    return [np.stack([*own, *[np.full(len(own[0]), -1, np.int32)] * (k - len(own))], axis=1).astype(np.int32) for own in lists]
