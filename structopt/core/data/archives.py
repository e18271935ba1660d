"""The files in an archive, tar (plain or gzip) or zip, read in memory within the bound of
expansion; nothing is written.
"""

from __future__ import annotations

import io
import lzma
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from structopt.core.data.expansion import CHUNK, Expansion, expanded
from structopt.errors import DataError, missing_file


@contextmanager
def opened(path: Path) -> Iterator[Mapping[str, Callable[[], bytes]]]:
    """Give the files of an archive while this lasts: by name, sorted, a function that reads it.
    Links and folders are left out. The bound of expansion is for all members together.

    Raises
    ------
    DataError
        An archive that is missing, damaged, encrypted, or expands to more than it may.
    """
    try:
        data = path.read_bytes()
        with (
            _zip(path, data) if path.name.lower().endswith(".zip") else _tar(path, data) as members
        ):
            yield dict(sorted(members.items()))
    except FileNotFoundError:
        raise missing_file(path) from None
    except (
        tarfile.TarError,
        zipfile.BadZipFile,
        zlib.error,
        RuntimeError,
        NotImplementedError,
        EOFError,
        OSError,
        # raised by zipfile for damaged directories: negative places, short records
        ValueError,
        LookupError,
        OverflowError,
        struct.error,
        lzma.LZMAError,
    ) as error:
        raise DataError(
            path,
            None,
            f"the archive cannot be read ({error})",
            remedy="copy or download it again, or unpack it and give the folder.",
        ) from error


@contextmanager
def _tar(path: Path, data: bytes) -> Iterator[dict[str, Callable[[], bytes]]]:
    total = Expansion(path, len(data))
    with tarfile.open(fileobj=io.BytesIO(expanded(path, data)), mode="r:") as archive:
        yield {
            info.name.removeprefix("./"): partial(_tar_member, archive, info, total)
            for info in archive
            if info.isreg()
        }


def _tar_member(archive: tarfile.TarFile, info: tarfile.TarInfo, total: Expansion) -> bytes:
    total.add(info.size)  # a sparse file may be larger than the archive
    stream = archive.extractfile(info)
    assert stream is not None
    return stream.read()


@contextmanager
def _zip(path: Path, data: bytes) -> Iterator[dict[str, Callable[[], bytes]]]:
    total = Expansion(path, len(data))
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        yield {
            info.filename: partial(_zip_member, archive, info, total)
            for info in archive.infolist()
            if not info.is_dir()
        }


def _zip_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, total: Expansion) -> bytes:
    chunks = []
    with archive.open(info) as stream:
        while chunk := stream.read(CHUNK):
            chunks.append(chunk)
            total.add(len(chunk))
    return b"".join(chunks)
