"""Shards in files: written, read back, and known by their digests."""

import sys

import pytest

from structopt.errors import ConfigError
from structopt.executor.shard_files import ShardFile, ShardFiles


def test_what_is_written_is_read_and_then_removed(tmp_path):
    files = ShardFiles(f"{tmp_path}/shared/")
    written = [files.write(f"0-{shard}.pickle", bytes([shard])) for shard in range(2)]
    assert [one.read() for one in written] == [b"\x00", b"\x01"]
    assert len(list((tmp_path / "shared").glob("structopt-*/*"))) == 2
    files.remove()
    assert list((tmp_path / "shared").iterdir()) == []


def test_two_runs_may_share_a_folder(tmp_path):
    one, other = ShardFiles(str(tmp_path)), ShardFiles(str(tmp_path))
    first, second = one.write("0-0.pickle", b"one"), other.write("0-0.pickle", b"other")
    one.remove()
    assert second.read() == b"other"
    with pytest.raises(
        ConfigError,
        match=r"a worker cannot read its shard .*0-0\.pickle: No such file.* all machines see",
    ):
        first.read()


def test_urls(tmp_path):
    pytest.importorskip("fsspec", reason="fsspec is optional")
    files = ShardFiles(f"file://{tmp_path}")
    (tmp_path / files.folder.rpartition("/")[2]).mkdir()
    written = files.write("0-0.pickle", b"data")
    assert written.path.startswith("file://")
    assert written.read() == b"data"
    files.remove()
    assert not list(tmp_path.rglob("*.pickle"))


def test_what_goes_wrong(tmp_path, monkeypatch):
    written = ShardFiles(str(tmp_path)).write("0-0.pickle", b"data")
    with pytest.raises(
        ConfigError, match=r"0-0\.pickle is not what was written there\. Start the run again"
    ):
        ShardFile(written.path, "0" * 64).read()
    (tmp_path / "file").touch()
    with pytest.raises(
        ConfigError, match=r"`folder`: cannot write .*/file/structopt-.*: Not a directory"
    ):
        ShardFiles(str(tmp_path / "file")).write("0-0.pickle", b"data")
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(
        ConfigError, match="a URL, which needs fsspec. Run: pip install fsspec, or name a path"
    ):
        ShardFiles("s3://bucket").write("0-0.pickle", b"data")
