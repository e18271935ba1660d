"""Compressed data: several members, what is damaged, and a bound on what they become."""

import contextlib
import gzip
import io
import random
import tarfile
import zipfile

import pytest

from structopt.core.data import expansion
from structopt.errors import DataError, StructoptError
from structopt.formats import text_files

LINES = b"Oslo LOC\n" * 1000


def test_members_and_padding():
    packed = (
        gzip.compress(LINES, mtime=0)
        + gzip.compress(b"", mtime=0)
        + gzip.compress(b"end\n", mtime=0)
    )
    assert expansion.expanded("a", packed) == LINES + b"end\n"
    assert expansion.expanded("a", packed + bytes(100)) == LINES + b"end\n"
    assert expansion.expanded("a", LINES) == LINES


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (gzip.compress(LINES, mtime=0)[:-9], "the gzip file is truncated"),
        (gzip.compress(LINES, mtime=0)[:5], "the gzip file is truncated"),
        (
            gzip.compress(LINES, mtime=0) + b"trailing",
            "the gzip file is damaged (Not a gzipped file",
        ),
        (
            gzip.compress(LINES, mtime=0)[:-8] + bytes(8),
            "the gzip file is damaged (CRC check failed",
        ),
        (gzip.compress(LINES, mtime=0)[:10] + b"\xff" * 20, "the gzip file is damaged (Error -3"),
    ],
)
def test_damaged(data, text):
    with pytest.raises(DataError) as refused:
        expansion.expanded("a.gz", data)
    assert str(refused.value).startswith(f"a.gz: {text}")


def test_a_bound_that_is_raised(monkeypatch):
    monkeypatch.setattr(expansion, "ALWAYS", 1000)
    bomb = gzip.compress(bytes(1_000_000), mtime=0)
    with pytest.raises(
        DataError, match=r"bomb.gz: it expands to over 100 times its size .*set max_expansion=1000"
    ):
        expansion.expanded("bomb.gz", bomb)
    with expansion.expanding({"max_expansion": 2000.0}):
        assert len(expansion.expanded("bomb.gz", bomb)) == 1_000_000
    with expansion.expanding({}), pytest.raises(DataError):
        expansion.expanded("bomb.gz", bomb)
    assert expansion.expanded("small.gz", gzip.compress(bytes(1000), mtime=0)) == bytes(1000)


def _tar(path, members):
    with tarfile.open(path, "w") as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))


def _zip(path, members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)


ZEROS = {f"{number}.txt": bytes(30_000) for number in range(10)}
PACKED = {f"{name}.gz": gzip.compress(data, mtime=0) for name, data in ZEROS.items()}


@pytest.mark.parametrize(
    ("name", "write", "members"),
    [
        ("bomb.zip", _zip, ZEROS),
        ("bomb.zip", _zip, PACKED),
        ("bomb.tar", _tar, PACKED),
    ],
)
def test_members_share_one_bound(name, write, members, tmp_path, monkeypatch):
    """No member is too large, and all of them together are."""
    monkeypatch.setattr(expansion, "ALWAYS", 40_000)
    write(tmp_path / name, members)
    with expansion.expanding({"max_expansion": 2.0}):
        for pattern in ("*", "[0-3]*"):
            with pytest.raises(DataError, match=f"{name}.* expands to over 2 times its size"):
                list(text_files.read_each(f"{tmp_path / name}:{pattern}"))
        assert len(list(text_files.read_each(f"{tmp_path / name}:3*"))) == 1


def test_sparse_members_share_one_bound(tmp_path, monkeypatch):
    """A file with holes takes few bytes."""
    monkeypatch.setattr(expansion, "ALWAYS", 40_000)
    holes = {"GNU.sparse.map": "30000,0", "GNU.sparse.size": "30000"}
    with tarfile.open(tmp_path / "bomb.tar", "w", format=tarfile.PAX_FORMAT) as archive:
        for name in ZEROS:
            info = tarfile.TarInfo(name)
            info.pax_headers = holes
            archive.addfile(info)
    with expansion.expanding({"max_expansion": 1.0}):
        with pytest.raises(DataError, match="bomb.tar: it expands to over 1 times its size"):
            list(text_files.read_each(tmp_path / "bomb.tar"))
        (only,) = text_files.read_each(f"{tmp_path}/bomb.tar:3*")
    assert only[1] == "\0" * 30_000


DAMAGE = {
    "directory": lambda data: data[:-6] + b"\xff\xff\xff\x7f" + data[-2:],
    "sizes": lambda data: data.replace(b"PK\x01\x02", b"PK\x01\x03"),
    "local header": lambda data: data.replace(b"PK\x03\x04", b"PK\x03\x05"),
    "extra fields": lambda data: data[:28] + b"\xff\xff" + data[30:],
    "end": lambda data: data[:-10],
    "begin": lambda data: data[40:],
    "method": lambda data: data[:8] + b"\x63\x00" + data[10:],
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_damaged_zip_directories(damage, tmp_path):
    _zip(tmp_path / "a.zip", {"a.txt": LINES})
    data = damage((tmp_path / "a.zip").read_bytes())
    (tmp_path / "a.zip").write_bytes(data)
    try:
        assert list(text_files.read_each(tmp_path / "a.zip"))[0][1] == LINES.decode()
    except DataError as refused:
        assert "a.zip: the archive cannot be read" in str(refused)


@pytest.mark.nightly("fuzzing")
def test_a_zip_with_any_damage_is_read_or_refused(tmp_path):
    _zip(tmp_path / "a.zip", {"a.txt": b"a O\n", "b.txt": b"b O\n"})
    data, draws = (tmp_path / "a.zip").read_bytes(), random.Random(57)
    for _ in range(500):
        damaged = bytearray(data)
        for _ in range(draws.randint(1, 4)):
            damaged[draws.randrange(len(data))] = draws.choice((0, 1, 127, 128, 255))
        (tmp_path / "b.zip").write_bytes(damaged[: draws.randint(len(data) // 2, len(data))])
        with contextlib.suppress(StructoptError):
            list(text_files.read_each(tmp_path / "b.zip"))
