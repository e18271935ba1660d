"""Paths that no file system takes, and damaged files, from Python: always a StructoptError."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import structopt
from structopt.core.data import file_sets
from structopt.errors import StructoptError
from structopt.formats import durable_files, text_files
from structopt.formats.npz import read_arrays
from structopt.formats.vectors import matrices
from structopt.model.folder import find_model
from structopt.process import folder_lock

LONG, MANY = "x" * 300, "/".join(["x" * 200] * 30)
PATHS = {
    "long": LONG,
    "long path": MANY,
    "NUL": "a\0b",
    "NUL in a folder": "a\0b/c",
    "long pattern": f"{LONG}*",
    "NUL in a pattern": "a\0*",
    "NUL in a folder of a pattern": "a\0b/*.txt",
    "range": "[z-a]*",
    "range of members": "ARCHIVE:[z-a]*",
    "range in braces": "{a,[z-a]}",
    "folder that is a file": "FILE/x",
    "pattern below a file": "FILE/*",
    "surrogate": "a\udcff",
    "long archive": f"{LONG}.zip:*",
    "NUL in an archive": "a\0b.tar:*",
}


def _locked(path: str) -> None:
    with folder_lock.locked(Path(path)):
        pass


TRAIN = ("task=ner", "tracker=none", "task.limit=5", "optimizer.epochs=1")
USES: dict[str, Callable[[str], Any]] = {
    "text": text_files.read_text,
    "pieces": lambda path: list(text_files.read_each(path)),
    "exists": lambda path: file_sets.check_exists(file_sets.data_path(path)),
    "matrix": lambda path: matrices.read_matrix(path, 1, partial=False),
    "npz": lambda path: read_arrays(path, ["a"], ["a"]),
    "model": lambda path: structopt.load(find_model(path)),
}
WRITES: dict[str, Callable[[str], Any]] = {
    "written": lambda path: durable_files.replace_file(path, b""),
    "lock": _locked,
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
def test_reading(path: str, use: Callable[[str], Any], tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    text_files.write_text(tmp_path / "archive.gz", "a")
    path = path.replace("FILE", str(tmp_path / "file")).replace("ARCHIVE", "archive.zip")
    with pytest.raises(StructoptError):
        use(path)


@pytest.mark.parametrize("use", WRITES.values(), ids=WRITES)
@pytest.mark.parametrize("path", [LONG, MANY, "a\0b", "a\0b/c"])
def test_writing(path: str, use: Callable[[str], Any], tmp_path: Path) -> None:
    with pytest.raises(StructoptError):
        use(f"{tmp_path}/{path}")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("path", [LONG, "a\0b", "[z-a]*"])
@pytest.mark.parametrize("key", ["task.train", "features.vectors"])
def test_settings(path: str, key: str, tmp_path: Path) -> None:
    with pytest.raises(StructoptError):
        structopt.train([*TRAIN, f"{key}={path}"], tmp_path / "run")
    assert not list(tmp_path.iterdir())


@pytest.mark.filterwarnings("ignore:invalid escape sequence")
@pytest.mark.parametrize("use", ["matrix", "npz"])
def test_damaged_headers(use: str, tmp_path: Path) -> None:
    """Any damage is read as other numbers or refused; a header may end in the midst of a token."""
    path, draws = tmp_path / "a", random.Random(57)
    np.save(tmp_path / "a.npy", np.ones((1, 3), np.float32))
    np.savez(tmp_path / "a.npz", a=np.ones((1, 3), np.float32))
    data = (tmp_path / ("a.npy" if use == "matrix" else "a.npz")).read_bytes()
    texts = [data.replace(b"(1, 3)", new) for new in (b"(1, 3\n", b"('''3)", b"(-1,3)", b"9**999")]
    for _ in range(400):
        damaged = bytearray(data)
        for _ in range(draws.randint(1, 3)):
            damaged[draws.randrange(len(data))] = draws.choice(b"\0\1\x7f\xff(['\"\\\n{0")
        texts.append(bytes(damaged[: draws.choice((len(data), draws.randrange(len(data))))]))
    for text in texts:
        path.write_bytes(text)
        try:
            USES[use](str(path))
        except StructoptError as error:
            assert str(path) in str(error)
