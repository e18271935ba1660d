"""Shards as files that all machines see, so that every worker opens its own."""

from __future__ import annotations

from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

from structopt.errors import ConfigError


class ShardFile(NamedTuple):
    """Where the data of a shard are, and the SHA-256 by which they are known."""

    path: str
    digest: str

    def read(self) -> bytes:
        """The data.

        Raises
        ------
        ConfigError
            If there is no such file here, or another one.
        """
        try:
            with _opened(self.path, "rb") as stream:
                data: bytes = stream.read()
        except OSError as error:
            raise ConfigError(
                f"`folder`: a worker cannot read its shard {self.path}: {error.strerror or error}.",
                remedy="Name a folder that all machines see.",
                kinds={"folder": "executor"},
            ) from error
        if sha256(data).hexdigest() != self.digest:
            raise ConfigError(
                f"`folder`: {self.path} is not what was written there.",
                remedy="Start the run again.",
                kinds={"folder": "executor"},
            )
        return data


class ShardFiles:
    """Writes shards to a folder of the run's own inside another one, and deletes it at the end.

    Parameters
    ----------
    folder : str
        A path on a file system that all machines share, or a URL that fsspec understands
        (``s3://bucket/folder``).
    """

    def __init__(self, folder: str) -> None:
        self.folder = f"{folder.rstrip('/')}/structopt-{uuid4().hex}"
        self._written: list[str] = []

    def write(self, name: str, data: bytes) -> ShardFile:
        """Write the data of a shard.

        Raises
        ------
        ConfigError
            If nothing can be written there.
        """
        path = f"{self.folder}/{name}"
        try:
            if not _is_url(path):
                Path(self.folder).mkdir(parents=True, exist_ok=True)
            with _opened(path, "wb") as stream:
                stream.write(data)
        except OSError as error:
            raise ConfigError(
                f"`folder`: cannot write {path}: {error.strerror or error}.",
                kinds={"folder": "executor"},
            ) from error
        self._written.append(path)
        return ShardFile(path, sha256(data).hexdigest())

    def remove(self) -> None:
        """Delete what was written; what is gone already is none of our concern."""
        for path in self._written:
            with suppress(OSError):
                if _is_url(path):
                    _fsspec().open(path).fs.rm(path)
                else:
                    Path(path).unlink()
        if self._written and not _is_url(self.folder):
            with suppress(OSError):
                Path(self.folder).rmdir()
        self._written.clear()


def _is_url(path: str) -> bool:
    return "://" in path


def _opened(path: str, mode: str) -> Any:
    """Open a file, or what a URL names."""
    return _fsspec().open(path, mode) if _is_url(path) else open(path, mode)


def _fsspec() -> Any:
    """The library that opens URLs."""
    try:
        import fsspec
    except ImportError:
        raise ConfigError(
            "is a URL, which needs fsspec.",
            parameter="folder",
            remedy="Run: pip install fsspec, or name a path.",
            kinds={"folder": "executor"},
        ) from None
    return fsspec
