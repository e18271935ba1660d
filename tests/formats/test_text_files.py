"""Text files: encodings that are none, and messages that a terminal can show."""

import gzip

import numpy as np
import pytest

from structopt import datasets
from structopt.errors import ConfigError, DataError, line_name
from structopt.formats import conll_reader, crfsuite, text_files
from structopt.formats.text_files import read_text, read_utf8, write_text
from structopt.formats.trees import tree_files
from structopt.formats.vectors import libsvm, libsvm_multilabel
from tests.messages import raises

FILE = "a.txt"


@pytest.mark.parametrize(
    "encoding",
    ["rot13", "hex", "base64", "zlib", "idna", "punycode", "undefined", "unicode_escape"],
)
def test_codecs_that_are_no_encoding(make, encoding):
    with raises(ConfigError, parameter="task.encoding", value=encoding):
        read_text(make("a b\n"), encoding)
    with raises(ConfigError, parameter="task.encoding", value=encoding):
        write_text(make("a b\n"), "a", encoding)


@pytest.mark.parametrize(
    "encoding", ["", "utf9", "mbcs", "oem", "a\0b", "\ud800", "../os", "x" * 1000]
)
def test_names_that_are_no_encoding(make, encoding):
    with raises(ConfigError, parameter="task.encoding", value=encoding):
        read_text(make("a b\n"), encoding)


@pytest.mark.parametrize(
    "encoding", ["utf-16", "utf-32", "utf-8-sig", "utf-7", "shift_jis", "cp1252", "UTF8", "Latin1"]
)
@pytest.mark.parametrize("text", ["a \u00a7\r\nb\n", "ascii\nalone\n", "ascii\r\n", "+AKc-\n"])
def test_encodings(make, encoding, text):
    file = make(text.encode(encoding))
    assert read_text(file, encoding) == text.replace("\r\n", "\n")
    assert read_utf8(file, encoding) == text.replace("\r\n", "\n").encode()


def test_a_text_as_utf8(make):
    assert read_utf8(make("\ufeffa\n".encode())) == b"a\n"
    with pytest.raises(DataError, match=r"a.txt:2: the bytes ff are not utf8"):
        read_utf8(make(b"a\n\xff\n"))
    with pytest.raises(DataError, match="the file is empty"):
        read_utf8(make(b" \n"))
    with raises(ConfigError, parameter="task.encoding", value="utf9"):
        read_utf8(make(b"a\n"), "utf9")


def test_another_encoding(make):
    with pytest.raises(DataError, match=r"a.txt:1: the bytes ff are not ascii .*set task.encoding"):
        read_text(make("a b\n".encode("utf-16")), "ascii")
    with pytest.raises(DataError, match="set task.encoding"):
        read_text(make(b"a\0b\0c"), "utf-16")


class TestSeveralFiles:
    """One text of several files: an empty line between two, and errors that name the file."""

    @pytest.mark.parametrize(
        ("contents", "whole"),
        [
            (["a\nb", "c\n"], "a\nb\n\nc\n"),
            (["a\n\n", "c"], "a\n\nc"),
            (["\ufeffa\r\n\r\n", "\ufeffc\r\n"], "a\n\nc\n"),
            (["a", " \n", "c"], "a\n\nc"),  # an empty file is left out
        ],
    )
    def test_text(self, tmp_path, contents, whole):
        for number, content in enumerate(contents):
            (tmp_path / f"{number}.txt").write_bytes(content.encode())
        assert (
            text_files.read_text(tmp_path, "utf8")
            == text_files.read_text(f"{tmp_path}/*.txt")
            == whole
        )
        assert text_files.read_verbatim(tmp_path).removeprefix("\ufeff").replace("\r", "") == whole

    def test_lines_of_errors(self, tmp_path):
        (tmp_path / "a.txt").write_text("1\n2\n")
        (tmp_path / "b.txt.gz").write_bytes(gzip.compress(b"1\n2\n3"))
        (tmp_path / "c.txt").write_text("1")
        assert text_files.read_text(tmp_path).split("\n") == ["1", "2", "", "1", "2", "3", "", "1"]
        places = [
            str(DataError(tmp_path, line, "x")).removeprefix(f"{tmp_path}/")
            for line in (1, 3, 4, 6, 8)
        ]
        assert places == [
            "a.txt:1: x",
            "a.txt:3: x",
            "b.txt.gz:1: x",
            "b.txt.gz:3: x",
            "c.txt:1: x",
        ]
        assert str(DataError(tmp_path, None, "x")) == f"{tmp_path}: x"
        assert (
            line_name(tmp_path, 1, 2) == "1" and line_name(tmp_path, 2, 8) == f"{tmp_path}/a.txt:2"
        )

    def test_a_file_of_another_encoding(self, tmp_path):
        (tmp_path / "a.txt").write_bytes(b"a\n")
        (tmp_path / "b.txt").write_bytes(b"b\n\xe9\n")
        with pytest.raises(DataError, match=r"b.txt:2: the bytes e9 are not utf8"):
            text_files.read_text(tmp_path)

    def test_only_empty_files(self, tmp_path):
        (tmp_path / "a.txt").write_bytes(b"\n")
        with pytest.raises(
            DataError, match="all these files are empty: check the path, or make them again."
        ):
            text_files.read_text(tmp_path)

    @pytest.mark.parametrize(
        ("read", "kind", "end"),
        [
            (lambda path: conll_reader.read(path, {"word": 0, "tag": -1}), "conll", "\n\n"),
            (crfsuite.read, "crfsuite", "\n\n"),
            (tree_files.read, "conllu", "\n\n"),
            (libsvm.read, "libsvm", "\n"),
            (libsvm_multilabel.read, "multilabel", "\n"),
        ],
    )
    def test_formats(self, tmp_path, read, kind, end):
        instances = datasets.path("dev", kind).read_text().strip("\n").split(end)[:20]
        (tmp_path / "parts").mkdir()
        for number, part in enumerate((instances[:7], instances[7:12], instances[12:])):
            (tmp_path / "parts" / f"{number}.txt").write_text(end.join(part) + "\n")
        (tmp_path / "whole.txt").write_text(end.join(instances) + "\n")
        whole, parts = read(tmp_path / "whole.txt"), read(f"{tmp_path}/parts/{{0..2}}.txt")
        assert len(whole.offsets) == len(parts.offsets) > 12
        for name in ("offsets", "cells", "heads", "labels", "ids", "values", "attributes"):
            if hasattr(whole, name):
                np.testing.assert_equal(getattr(parts, name), getattr(whole, name))
