"""Reading and writing text files, plain or gzip, in any encoding; their errors name the file and
line and say what to do.
"""

from __future__ import annotations

import gzip
from bisect import bisect_right
from codecs import lookup
from collections.abc import Iterator
from functools import cache
from itertools import accumulate
from pathlib import Path

from structopt.core.data.expansion import Expansion, expanded
from structopt.core.data.file_sets import FileSet, data_path
from structopt.errors import ConfigError, DataError, did_you_mean, missing_file, name_lines
from structopt.formats.durable_files import replace_file
from structopt.formats.file_format import format_of
from structopt.formats.in_memory.texts import held

BYTE_ORDER_MARK = "\ufeff"
ENCODINGS = ("utf8", "utf-8", "latin-1", "ascii", "utf-16", "cp1252", "iso8859-15")
EXTENSIONS_OF_ASCII = ("utf-8", "ascii", "iso8859-1", "iso8859-15", "cp1252")
"""Encodings in which the bytes of ASCII are its characters, by Python's names."""
AUTO = "auto"
NO_CP1252 = b"\x81\x8d\x8f\x90\x9d"
"""Bytes that are no character of cp1252."""
OF_NO_FILES = ("idna", "punycode", "undefined", "unicode-escape", "raw-unicode-escape")
"""Codecs of host names and string literals, which Python counts among the encodings of text."""


def read_text(path: str | Path, encoding: str = "utf8") -> str:
    r"""Return the whole text of a file, plain or gzip, with ``\n`` for every ``\r\n`` and without a
    byte order mark.

    Several files (see `structopt.core.data.file_sets`) are one text, with an empty line between
    two; errors in it name the file.

    Raises
    ------
    DataError
        A file that is missing, unreadable, empty, a truncated or damaged gzip, or not in this
        encoding.
    ConfigError
        An unknown encoding.
    """
    return plain(_decode(path, encoding))


def read_utf8(path: str | Path, encoding: str = "utf8") -> bytes:
    """Return the text that `read_text` returns as UTF-8; of one file that is ASCII alone, no text
    is made in between.
    """
    check_encoding(encoding)
    if not isinstance(data_path(path), FileSet) and lookup(encoding).name in EXTENSIONS_OF_ASCII:
        data = _bytes_of_file(path)
        if data.isascii() and b"\r" not in data and format_of(path) is None:
            return data
        text = plain(_decoded(path, data, encoding))
    else:
        text = read_text(path, encoding)
    return text.encode("utf8", "surrogatepass")


def read_verbatim(path: str | Path, encoding: str = "utf8") -> str:
    """Return the whole text of a file with its line ends as they are; the errors of `read_text`."""
    return _decode(path, encoding)


def plain(text: str) -> str:
    r"""Return a text as `read_text` does: without a byte order mark, and with ``\n`` for every
    ``\r\n``.
    """
    text = text.removeprefix(BYTE_ORDER_MARK)
    # finding one character is faster by far than finding two
    return text.replace("\r\n", "\n") if "\r" in text else text


def read_each(path: str | Path, encoding: str = AUTO) -> Iterator[tuple[str, str]]:
    """Yield the path of every file, or of every member, and its text, which may be empty; see
    `read_text`.

    The encoding ``auto`` is utf8 for a file that is that, else cp1252, in which any bytes are a
    text.

    Raises
    ------
    DataError, ConfigError
        See `read_text`.
    """
    if encoding != AUTO:
        check_encoding(encoding)
    files = data_path(path)
    for name, data in (
        _contents(files) if isinstance(files, FileSet) else [(str(path), read_bytes(path))]
    ):
        yield name, plain(_decoded(name, data, encoding))


def write_text(
    path: str | Path, text: str, encoding: str = "utf8", source: str | Path | None = None
) -> None:
    """Replace a file at once (write, sync, rename); gzip where the name ends in ``.gz``; equal
    texts give equal bytes.

    Parameters
    ----------
    path, text, encoding
    source : str or Path or None
        The file whose changed CoNLL-U the text is. If `path` has a `FileFormat`, the written file
        is the source with the annotations of the text.

    Raises
    ------
    DataError
        The folder does not exist or cannot be written; nothing is left behind. A file of a
        `FileFormat` without a source of this format.
    """
    form = format_of(path)
    if form is None:
        data = _encoded(path, text, encoding)
    elif source is None or format_of(source) is not form or isinstance(data_path(source), FileSet):
        raise DataError(
            path,
            None,
            "predictions are written in this format only if the input is one file that has it",
            remedy="give the output the ending of the input.",
        )
    else:
        data = form.annotated(_bytes_of_file(source), text, str(path))
    replace_file(path, gzip.compress(data, mtime=0) if str(path).endswith(".gz") else data)


def check_limit(limit: int | None, what: str = "sentences", parameter: str = "limit") -> None:
    """Raise ConfigError unless `limit` is None or at least 1; it counts `what`."""
    if limit is not None and limit < 1:
        raise ConfigError(
            f"must be at least 1, or null for all {what}.", parameter=parameter, value=limit
        )


USUAL = "Usual ones: utf8, latin-1."


@cache
def check_encoding(encoding: str) -> None:
    """Raise ConfigError for an encoding that Python does not know, or that is of no text."""
    try:
        name = lookup(encoding).name
    except (LookupError, ValueError):  # ValueError: a name with a NUL character or a lone surrogate
        raise ConfigError(
            f"is not an encoding Python knows.{did_you_mean(encoding, ENCODINGS)}",
            parameter="task.encoding",
            value=encoding,
            remedy=USUAL,
        ) from None
    if name in OF_NO_FILES or not _is_of_text(encoding):
        raise ConfigError(
            "is a codec of Python, not an encoding of text files.",
            parameter="task.encoding",
            value=encoding,
            remedy=USUAL,
        )


def _is_empty(data: bytes) -> bool:
    return not data or data.isspace()


def _is_of_text(encoding: str) -> bool:
    """Whether a codec makes text of bytes; others, such as rot13 and hex, are refused with
    LookupError.
    """
    try:
        return "".encode(encoding).decode(encoding) == ""
    except LookupError:
        return False


def _decode(path: str | Path, encoding: str) -> str:
    check_encoding(encoding)
    if held(path) is None and isinstance(files := data_path(path), FileSet):
        return _joined(files, encoding)
    return _decoded(path, _bytes_of_file(path), encoding)


def _bytes_of_file(path: str | Path) -> bytes:
    data = read_bytes(path)
    if _is_empty(data):
        raise DataError(
            path,
            None,
            "the file is empty",
            remedy="check the path, or make the file again.",
        )
    return data


def _joined(files: FileSet, encoding: str) -> str:
    """The texts of several files, an empty line between two; files that are empty are left out."""
    texts = [
        (name, _decoded(name, data, encoding))
        for name, data in _contents(files)
        if not _is_empty(data)
    ]
    if not texts:
        raise DataError(
            str(files),
            None,
            "all these files are empty",
            remedy="check the path, or make them again.",
        )
    parts = [
        text.removeprefix(BYTE_ORDER_MARK) if number else text
        for number, (_, text) in enumerate(texts)
    ]
    parts[:-1] = map(_with_empty_line, parts[:-1])
    names, begins = (
        [name for name, _ in texts],
        list(accumulate((text.count("\n") for text in parts[:-1]), initial=0)),
    )

    def place(line: int) -> tuple[str, int]:
        file = bisect_right(begins, line - 1) - 1
        return names[file], line - begins[file]

    name_lines(files, place)
    return "".join(parts)


def _contents(files: FileSet) -> Iterator[tuple[str, bytes]]:
    """The path of every file and its bytes, unpacked; members of an archive within one bound."""
    total = Expansion(str(files), files.packed_size) if files.is_archive else None
    for name, data in files.contents():
        text = expanded(name, data)
        if total is not None and text is not data:
            total.add(len(text))
        yield name, text


def _with_empty_line(text: str) -> str:
    """The text with an empty line at its end, where it has none."""
    text = text if text.endswith("\n") else f"{text}\n"
    return text if text.endswith(("\n\n", "\n\r\n")) else f"{text}\n"


def _recognised(data: bytes) -> str:
    """Text in utf8; where it is not that, in cp1252, of which five bytes have no character: they
    count as latin-1's.
    """
    try:
        return data.decode("utf8")
    except UnicodeDecodeError:
        return "".join(
            bytes([byte]).decode("latin-1" if byte in NO_CP1252 else "cp1252") for byte in data
        )


def _decoded(path: str | Path, data: bytes, encoding: str) -> str:
    if (form := format_of(path)) is not None:
        text = form.to_conllu(data, str(path))
        _name_documents(path, text)
        return text
    if encoding == AUTO:
        return _recognised(data)
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise _undecodable(path, data, encoding, error) from error
    except UnicodeError as error:
        raise DataError(
            path,
            None,
            f"the file is not {encoding} ({error})",
            remedy="set task.encoding to its encoding.",
        ) from error


def _name_documents(path: str | Path, text: str) -> None:
    """Let errors name the document of a file, and the line of its CoNLL-U."""
    lines = text.split("\n")
    begins = [number for number, line in enumerate(lines, 1) if line.startswith("# newdoc")]

    def place(line: int) -> tuple[str, int]:
        document = bisect_right(begins, line)
        return f"{path}, document {document}", line - begins[document - 1]

    name_lines(path, place)


def _undecodable(
    path: str | Path, data: bytes, encoding: str, error: UnicodeDecodeError
) -> DataError:
    line = data.count(b"\n", 0, error.start) + 1
    shown = " ".join(
        f"{byte:02x}" for byte in data[error.start : max(error.end, error.start + 1)][:4]
    )
    advice = "set task.encoding to the file's encoding, for example task.encoding=latin-1"
    return DataError(
        path,
        line,
        f"the bytes {shown} are not {encoding} ({error.reason})",
        remedy=f"{advice}.",
    )


def read_bytes(path: str | Path) -> bytes:
    """Return the bytes of a file, expanded where it is gzip; DataError where it cannot be read."""
    if (data := held(path)) is not None:
        return data
    try:
        if Path(path).exists() and not Path(path).is_file():
            raise DataError(
                path,
                None,
                "this is a pipe or a device, and input is read more than once",
                remedy="save it to a file, and give that.",
            )
        data = Path(path).read_bytes()
    except FileNotFoundError:
        raise missing_file(path) from None
    except (OSError, ValueError) as error:  # ValueError: a name with a NUL character
        reason = error.strerror if isinstance(error, OSError) else error
        raise DataError(
            path,
            None,
            f"the file cannot be read ({reason})",
            remedy="check the path and its permissions.",
        ) from error
    return expanded(path, data)


def _encoded(path: str | Path, text: str, encoding: str) -> bytes:
    check_encoding(encoding)
    try:
        return text.encode(encoding)
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        characters = text[error.start : error.end]
        raise DataError(
            path,
            line,
            f"{characters!r} cannot be written as {encoding}",
            remedy="set task.encoding=utf8.",
        ) from error
