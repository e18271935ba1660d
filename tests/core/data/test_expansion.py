"""Compressed data: several members, what is damaged, and a bound on what they become."""

import gzip

import pytest

from structopt.core.data import expansion
from structopt.errors import DataError

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
        DataError, match=r"bomb.gz: it expands to over 100 times its size .*type max_expansion=1000"
    ):
        expansion.expanded("bomb.gz", bomb)
    with expansion.expanding({"max_expansion": 2000.0}):
        assert len(expansion.expanded("bomb.gz", bomb)) == 1_000_000
    with expansion.expanding({}), pytest.raises(DataError):
        expansion.expanded("bomb.gz", bomb)
    assert expansion.expanded("small.gz", gzip.compress(bytes(1000), mtime=0)) == bytes(1000)
