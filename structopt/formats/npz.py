"""npz: files of numpy arrays by name, read without unpickling, so that nothing in them is run, and replaced at once."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import numpy as np

from structopt.errors import DataError
from structopt.formats.durable_files import replace_file
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
                names = ", ".join(file.files) or "none"
                raise DataError(path, None, f"the array '{missing[0]}' is missing; the file has: {names}.")
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


def ranked_columns(rankings: Sequence[Sequence[Array]]) -> list[Array]:
    """Return the labellings in the ranking of every instance as columns, int32, shape (variables, k); -1 where it is shorter."""
    k = max(map(len, rankings), default=0)
    columns = [[*ranking, *[np.full(len(ranking[0]), -1, np.int32)] * (k - len(ranking))] for ranking in rankings]
    return [np.stack(one, axis=1).astype(np.int32) for one in columns]
