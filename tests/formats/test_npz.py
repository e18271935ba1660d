"""Damaged npz files: headers, shapes, compression, encryption."""

import io
import re
import zipfile

import numpy as np
import pytest

from structopt.core.data import expansion
from structopt.errors import DataError
from structopt.formats.npz import read_arrays


def npy(shape, kind="<f8", data=bytes(64)):
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        stream, {"descr": kind, "fortran_order": False, "shape": shape}
    )
    return stream.getvalue() + data


def archive(path, member, compression=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", compression) as file:
        file.writestr("a.npy", member)
    return path


@pytest.mark.parametrize(
    ("member", "text"),
    [
        (
            npy((10**12,)),
            "the header of 'a' says float64 of shape (1000000000000,), which is not what follows",
        ),
        (npy((2**62, 4)), "which is not what follows"),
        (npy((-8,)), "which is not what follows"),
        (npy((7,)), "which is not what follows"),
        (npy((8,), "|O"), "the header of 'a' says Python objects"),
        (b"\x93NUMPY\x09\x00", "or a truncated one"),
        (npy((8,))[:40], "or a truncated one"),
        (npy((8,)).replace(b"'shape': (8,)", b"'shape': (8$)"), "or a truncated one"),
        (npy((8,)).replace(b"<f8", b"[[["), "or a truncated one"),
        (b"", "or a truncated one"),
    ],
)
def test_headers(tmp_path, member, text):
    with pytest.raises(DataError, match=re.escape(text)) as refused:
        read_arrays(archive(tmp_path / "a.npz", member), ["a"], ["a"])
    assert str(refused.value).startswith(f"{tmp_path / 'a.npz'}: this is no npz of plain arrays")


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ({8: 99, 9: 0}, {10: 99, 11: 0}, "compression method is not supported"),
        ({6: 1}, {8: 1}, "encrypted"),
        ({}, {6: 250}, "zip file version"),
    ],
)
def test_archives(tmp_path, old, new, text):
    """Bytes of the member's own header, and of its entry in the directory: its method, its flags,
    the version it needs.
    """
    data = bytearray(archive(tmp_path / "a.npz", npy((8,))).read_bytes())
    for begin, changes in ((0, old), (data.index(b"PK\x01\x02"), new)):
        for place, byte in changes.items():
            data[begin + place] = byte
    (tmp_path / "a.npz").write_bytes(data)
    with pytest.raises(DataError, match=text):
        read_arrays(tmp_path / "a.npz", ["a"], ["a"])


def test_expansion(tmp_path, monkeypatch):
    monkeypatch.setattr(expansion, "ALWAYS", 1000)
    path = archive(tmp_path / "a.npz", npy((100_000,), data=bytes(800_000)), zipfile.ZIP_DEFLATED)
    with pytest.raises(DataError, match="max_expansion=1000"):
        read_arrays(path, ["a"], ["a"])
    with expansion.expanding({"max_expansion": 1100.0}):
        assert read_arrays(path, ["a"], ["a"])["a"].shape == (100_000,)
