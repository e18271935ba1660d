"""npz: files of numpy arrays by name, read without unpickling, so that nothing in them is run, and
replaced at once.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import prod
from pathlib import Path

import numpy as np
from numpy.lib import format as npy

from structopt.core.data.expansion import check_expansion
from structopt.core.data.file_sets import check_one_file
from structopt.errors import DataError, missing_file
from structopt.formats.durable_files import replace_file
from structopt.kernels.waist.record import Array


def read_arrays(
    path: str | Path, needed: Collection[str], known: Collection[str]
) -> dict[str, Array]:
    """Return the arrays of an npz that are known.

    Raises
    ------
    DataError
        A file that is missing, no npz, truncated, encrypted, compressed in an unknown way, holds
        Python objects, or lacks an array that is needed; an array whose header does not say what
        follows it, or that expands to more than it may.
    """
    check_one_file(path, "an npz")
    with _refusing(path), zipfile.ZipFile(path) as file:
        members = {info.filename.removesuffix(".npy"): info for info in file.infolist()}
        missing = [name for name in needed if name not in members]
        if missing:
            raise DataError(
                path,
                None,
                f"the array '{missing[0]}' is missing; the file has: "
                f"{', '.join(members) or 'none'}.",
            )
        return {name: _array(path, file, members[name], name) for name in known if name in members}


@contextmanager
def _refusing(path: str | Path) -> Iterator[None]:
    """Refuse a file at which numpy or zipfile fail, in whatever way: damaged headers make them
    raise nearly anything.
    """
    try:
        yield
    except (DataError, MemoryError):
        raise
    except FileNotFoundError:
        raise missing_file(path) from None
    except (IsADirectoryError, PermissionError) as error:
        raise DataError(
            path,
            None,
            f"the file cannot be read ({error.strerror})",
            remedy="check the path.",
        ) from error
    except Exception as error:
        raise DataError(
            path,
            None,
            f"this is no npz of plain arrays, or a truncated one ({error})",
            remedy="write it with numpy.savez_compressed.",
        ) from error


def _array(path: str | Path, file: zipfile.ZipFile, member: zipfile.ZipInfo, name: str) -> Array:
    """Read an array after its header, which must have the size that follows: numpy takes the memory
    before it reads.
    """
    check_expansion(path, member.compress_size, member.file_size)
    with file.open(member) as stream:
        version = npy.read_magic(stream)
        shape, _, kind = (
            npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        )(stream)
        size = prod(shape) * kind.itemsize
        if kind.hasobject or min(shape, default=0) < 0 or size != member.file_size - stream.tell():
            what = (
                "Python objects"
                if kind.hasobject
                else f"{kind} of shape {shape}, which is not what follows"
            )
            raise DataError(
                path,
                None,
                f"this is no npz of plain arrays: the header of '{name}' says {what}.",
                remedy="Write it with numpy.savez_compressed.",
            )
    with file.open(member) as stream:
        array: Array = npy.read_array(stream, allow_pickle=False)
        return array


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
    """Return the labellings in the ranking of every instance as columns, int32, shape (variables,
    k); -1 where it is shorter.
    """
    k = max(map(len, rankings), default=0)
    columns = [
        [*ranking, *[np.full(len(ranking[0]), -1, np.int32)] * (k - len(ranking))]
        for ranking in rankings
    ]
    return [np.stack(one, axis=1).astype(np.int32) for one in columns]
