"""Files that are whole or not there."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

from structopt.core.data import file_sets
from structopt.errors import ModelError
from structopt.formats import durable_files


def test_arrays_and_notes(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    arrays = {
        "b": np.arange(6.0).reshape(2, 3).T,
        "a": np.zeros(0, np.int32),
        "bits": np.array([1, 255], np.uint8),
    }
    durable_files.write_arrays(
        path, arrays, {"n": np.int64(3), "low": float("-inf"), "list": (1, 2)}
    )
    found, notes = durable_files.read_arrays(path)
    assert notes == {"n": 3, "low": "-inf", "list": [1, 2]}
    assert set(found) == set(arrays)
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].dtype == array.dtype
    data = path.read_bytes()
    durable_files.write_arrays(
        path, dict(reversed(arrays.items())), {"list": [1, 2], "low": float("-inf"), "n": 3}
    )
    assert path.read_bytes() == data
    assert [p.name for p in tmp_path.iterdir()] == ["a.safetensors"]


@pytest.mark.parametrize("data", [b"", b"{}", b"\x00" * 100, b"\xff" * 100])
def test_damage(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a").write_bytes(data)
    with pytest.raises(ModelError, match="truncated or damaged"):
        durable_files.read_arrays(tmp_path / "a")


def test_missing(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="there is no such file; the folder is not complete"):
        durable_files.read_arrays(tmp_path / "a")


def test_json(tmp_path: Path) -> None:
    durable_files.write_json(
        tmp_path / "a.json",
        {"é": np.float64(1.5), "inf": float("inf"), "list": (np.int32(1), None, True)},
    )
    text = (tmp_path / "a.json").read_text(encoding="utf8")
    assert "é" in text and text.endswith("\n")
    assert json.loads(text) == {"é": 1.5, "inf": "inf", "list": [1, None, True]}
    assert file_sets.digest(tmp_path / "a.json") == hashlib.sha256(text.encode()).hexdigest()


def test_a_write_that_fails_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a"
    durable_files.write_bytes(path, b"old")

    def full(descriptor: int) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(durable_files.os, "fsync", full)
    with pytest.raises(OSError, match="no space"):
        durable_files.write_bytes(path, b"new")
    assert path.read_bytes() == b"old"


def test_large_arrays_are_written_one_by_one_to_the_same_bytes(tmp_path, monkeypatch):
    arrays = {
        "b": np.arange(5, dtype=np.int32),
        "a": np.zeros((2, 3)),
        "c": np.array([True, False]),
        "none": np.zeros((1, 0)),
        "z": np.arange(3),
        "bytes": np.frombuffer(b"xyz", np.uint8),
        "single": np.ones(3, np.float32),
    }
    durable_files.write_arrays(tmp_path / "small", arrays, {"é": [1]})
    monkeypatch.setattr(durable_files, "SMALL", 0)
    durable_files.write_arrays(tmp_path / "large", arrays, {"é": [1]})
    read, notes = durable_files.read_arrays(tmp_path / "large")
    assert notes == {"é": [1]} and {name: array.tolist() for name, array in read.items()} == {
        name: array.tolist() for name, array in arrays.items()
    }
    assert (tmp_path / "large").read_bytes() == (tmp_path / "small").read_bytes()
