"""Text files: encodings that are none, and messages that a terminal can show."""

import pytest

from structopt.errors import ConfigError, DataError
from structopt.formats.text_files import read_text, write_text

FILE = "a.txt"


@pytest.mark.parametrize("encoding", ["rot13", "hex", "base64", "zlib", "idna", "punycode", "undefined", "unicode_escape"])
def test_codecs_that_are_no_encoding(make, encoding):
    with pytest.raises(ConfigError, match=f"task.encoding='{encoding}' is a codec of Python, but no encoding of text files"):
        read_text(make("a b\n"), encoding)
    with pytest.raises(ConfigError, match="no encoding of text files"):
        write_text(make("a b\n"), "a", encoding)


@pytest.mark.parametrize("encoding", ["", "utf9", "mbcs", "oem", "a\0b", "\ud800", "../os", "x" * 1000])
def test_names_that_are_no_encoding(make, encoding):
    with pytest.raises(ConfigError, match="is not an encoding Python knows"):
        read_text(make("a b\n"), encoding)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "utf-8-sig", "utf-7", "shift_jis", "cp1252", "UTF8", "Latin1"])
def test_encodings(make, encoding):
    assert read_text(make("a \u00a7\r\nb\n".encode(encoding)), encoding) == "a \u00a7\nb\n"


def test_another_encoding(make):
    with pytest.raises(DataError, match=r"a.txt:1: the bytes ff are not ascii .*set task.encoding"):
        read_text(make("a b\n".encode("utf-16")), "ascii")
    with pytest.raises(DataError, match="set task.encoding"):
        read_text(make(b"a\0b\0c"), "utf-16")
