"""Corpora of several files: folders, globs, ranges and archives, in one order; damaged archives,
and what does not exist.
"""

from __future__ import annotations

import io
import os
import tarfile
import zipfile
from pathlib import Path

import pytest

from structopt.core.data.expansion import expanding
from structopt.core.data.file_sets import FileSet, check_exists, check_one_file, data_path, digest
from structopt.errors import ConfigError, DataError

FILES = {
    "b/wsj_02.txt": b"two",
    "b/wsj_01.txt": b"one",
    "a/wsj_03.txt": b"three",
    "a/.hidden": b"no",
    ".git/x": b"no",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, data in FILES.items():
        file = tmp_path / "tb" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    with tarfile.open("tb.tar.gz", "w:gz") as packed, tarfile.open("tb.tar", "w") as plain:
        packed.add("tb")
        plain.add("tb", arcname=".")
    with zipfile.ZipFile("tb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name in FILES:
            archive.write(f"tb/{name}", f"tb/{name}")
    os.link("tb.tar.gz", "tb.tgz")
    return tmp_path


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("tb", ["tb/a/wsj_03.txt", "tb/b/wsj_01.txt", "tb/b/wsj_02.txt"]),
        ("tb/b/*", ["tb/b/wsj_01.txt", "tb/b/wsj_02.txt"]),
        ("tb/**/*.txt", ["tb/a/wsj_03.txt", "tb/b/wsj_01.txt", "tb/b/wsj_02.txt"]),
        ("tb/b/wsj_{02,01}.txt", ["tb/b/wsj_02.txt", "tb/b/wsj_01.txt"]),
        ("tb/?/wsj_{01..99}.txt", ["tb/b/wsj_01.txt", "tb/b/wsj_02.txt", "tb/a/wsj_03.txt"]),
        ("tb.tar.gz:wsj_{02..99}.txt", ["tb.tar.gz:tb/b/wsj_02.txt", "tb.tar.gz:tb/a/wsj_03.txt"]),
        ("tb.tgz:tb/b/*", ["tb.tgz:tb/b/wsj_01.txt", "tb.tgz:tb/b/wsj_02.txt"]),
        ("tb.tar:b/wsj_01.txt", ["tb.tar:b/wsj_01.txt"]),
        (
            "tb.zip:*.txt",
            ["tb.zip:tb/a/wsj_03.txt", "tb.zip:tb/b/wsj_01.txt", "tb.zip:tb/b/wsj_02.txt"],
        ),
        ("tb.zip", ["tb.zip:tb/a/wsj_03.txt", "tb.zip:tb/b/wsj_01.txt", "tb.zip:tb/b/wsj_02.txt"]),
    ],
)
def test_contents(folder: Path, pattern: str, names: list[str]) -> None:
    files = data_path(pattern)
    assert (
        isinstance(files, FileSet) and files.is_file() and str(files) == os.fspath(files) == pattern
    )
    contents = dict(files.contents())
    assert list(contents) == names
    assert all(
        data == FILES[next(name for name in FILES if path.endswith(name))]
        for path, data in contents.items()
    )


def test_names_for_messages(folder: Path) -> None:
    assert [data_path(path).name for path in ("x/tb.tar.gz:a/*.txt", "x/*.txt", "./tb")] == [
        "tb.tar.gz:a/*.txt",
        "*.txt",
        "tb",
    ]


def test_a_file_is_a_file(folder: Path) -> None:
    Path("odd[1]{a,b}*.txt").touch()
    for path in ("tb/b/wsj_01.txt", "odd[1]{a,b}*.txt", "nowhere", "a\0b", "a" * 300):
        assert data_path(path) == Path(path)


def test_digests_are_of_the_content(folder: Path) -> None:
    whole = {
        digest(FileSet(pattern))
        for pattern in ("tb", "tb.tar.gz:*.txt", "tb.zip:*.txt", "tb/**/*.txt")
    }
    assert len(whole) == 1
    assert (
        digest(FileSet("tb.tar.gz:wsj_01.txt"))
        == digest(Path("tb/b/wsj_01.txt"))
        != digest(FileSet("tb/b"))
    )


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (
            "tb/b/wsj_9.txt*",
            "tb/b/wsj_9.txt*: no file fits tb/b/wsj_9.txt*. The nearest of 2: tb/b/wsj_02.txt, "
            "tb/b/wsj_01.txt.",
        ),
        (
            "tb.tar.gz:wsj_04.txt",
            "tb.tar.gz:wsj_04.txt: no file fits wsj_04.txt. The nearest of 3: ",
        ),
        ("no.tar.gz:*.txt", "no.tar.gz: there is no such file: check the path."),
        ("empty", "empty: there is no file in this folder: check the path."),
        ("gone/*.txt", "gone/*.txt: no file fits gone/*.txt: there are no files."),
        (
            "text.zip:*",
            "text.zip: the archive cannot be read (File is not a zip file): copy or download it "
            "again, or unpack it ",
        ),
        ("text.tar:*", "text.tar: the archive cannot be read ("),
        ("cut.tar.gz:*", "cut.tar.gz: the gzip file is truncated: copy or download it again."),
    ],
)
def test_what_cannot_be_read(folder: Path, path: str, message: str) -> None:
    Path("empty").mkdir()
    for name in ("text.zip", "text.tar"):
        Path(name).write_text("no archive " * 100)
    Path("cut.tar.gz").write_bytes(Path("tb.tar.gz").read_bytes()[:-30])
    with pytest.raises(DataError) as caught:
        check_exists(data_path(path))
    assert str(caught.value).startswith(message)
    assert not data_path(path).is_file()


def test_a_file_that_is_missing(folder: Path) -> None:
    with pytest.raises(
        ConfigError,
        match="nowhere: there is no such file. Check `train`, `dev` and `test`.",
    ):
        check_exists(data_path("nowhere"))
    check_exists(data_path("tb/b/wsj_01.txt"))


@pytest.mark.nightly("rest")
def test_an_archive_of_zeros_is_refused_before_it_fills_memory(folder: Path) -> None:
    with zipfile.ZipFile("zeros.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zeros.txt", bytes(70 << 20))
    with tarfile.open("zeros.tgz", "w:gz") as packed:
        info = tarfile.TarInfo("zeros.txt")
        info.size = 70 << 20
        packed.addfile(info, io.BytesIO(bytes(70 << 20)))
    for pattern, name in (("zeros.zip:*", "zeros.zip"), ("zeros.tgz:*", "zeros.tgz")):
        with pytest.raises(DataError, match="it expands to over 100 times its size") as caught:
            list(FileSet(pattern).contents())
        assert str(caught.value).startswith(f"{name}: ")
    with expanding({"max_expansion": 10_000}):
        assert [len(data) for _, data in FileSet("zeros.zip:*").contents()] == [70 << 20]


def test_links_in_archives_are_left_out(folder: Path) -> None:
    with tarfile.open("links.tar", "w") as archive:
        link = tarfile.TarInfo("passwd")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    with pytest.raises(DataError, match="no file fits passwd: there are no files."):
        FileSet("links.tar:passwd").names()


def test_forms_that_are_one_file(folder: Path) -> None:
    check_one_file("tb/b/wsj_01.txt", "an npz")
    with pytest.raises(
        DataError,
        match="^tb/b: this names several files, and an npz is read from one: give its path.$",
    ):
        check_one_file("tb/b", "an npz")
