r"""CRFsuite's attribute text: ``label TAB attribute[:value] TAB ...`` a token, a blank line between sentences.

A literal colon is written ``\:`` and a backslash ``\\``; an unescaped colon separates an attribute from its value (1 if none).
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from structopt.core.data import ranges
from structopt.errors import DataError
from structopt.formats.conll_writer import check_counts
from structopt.formats.numbering import Numbering
from structopt.formats.text_files import check_limit, read_text, write_text
from structopt.formats.text_pieces import Stretch, read_pieces

ESCAPED = re.compile(r"\\([:\\])")
NAME_AND_VALUE = re.compile(r"((?:[^\\:]|\\.|\\$)*)(?::(.*))?", re.DOTALL)


@dataclass(frozen=True)
class AttributeText:
    """The sentences of a file in CRFsuite's attribute text.

    Attributes
    ----------
    path : str
        The file.
    offsets : int64, shape (sentences + 1,)
        Where each sentence begins and ends in the tokens.
    attribute_offsets : int64, shape (tokens + 1,)
        Where the attributes of each token begin and end in `ids`.
    attributes : list of str
        The distinct attribute names, unescaped, in order of first occurrence.
    ids : int32, shape (entries,)
        Attribute numbers into `attributes`.
    values : float64, shape (entries,), or None
        Values of the attributes; None when every value is 1.
    labels : list of str, length tokens
        The labels.
    lines : int64, shape (tokens,)
        The line of each token, from 1.
    """

    path: str
    offsets: NDArray[np.int64]
    attribute_offsets: NDArray[np.int64]
    attributes: list[str]
    ids: NDArray[np.int32]
    values: NDArray[np.float64] | None
    labels: list[str]
    lines: NDArray[np.int64]

    def __len__(self) -> int:
        """Number of sentences."""
        return len(self.offsets) - 1

    def subset(self, first: int, last: int) -> AttributeText:
        """Return the sentences first <= i < last; attributes that they lack keep their numbers."""
        begin, end = int(self.offsets[first]), int(self.offsets[last])
        entries = slice(int(self.attribute_offsets[begin]), int(self.attribute_offsets[end]))
        return replace(
            self, offsets=self.offsets[first : last + 1] - begin,
            attribute_offsets=self.attribute_offsets[begin : end + 1] - entries.start, ids=self.ids[entries],
            values=None if self.values is None else self.values[entries], labels=self.labels[begin:end],
            lines=self.lines[begin:end],
        )  # fmt: skip


def read(path: str | Path, limit: int | None = None, encoding: str = "utf8") -> AttributeText:
    """Read a file, plain or gzip, or its first `limit` sentences; O(characters).

    Raises
    ------
    DataError
        A file that cannot be read or has no sentences, a line without a label, a value that is not a finite number.
    ConfigError
        A limit below 1, or an unknown encoding.
    """
    check_limit(limit)
    reader = _Reader(path)
    lines = read_text(path, encoding).split("\n")
    reader.read(lines, limit)
    if not reader.labels:
        raise DataError(path, None, "the file has no sentences: check the path, or make the file again.")
    return reader.result()


def read_blocks(path: str | Path | Stretch, limit: int | None = None, encoding: str = "utf8") -> Iterator[AttributeText]:
    """Yield the sentences that `read` reads, block by block, each with attributes of its own; the errors of `read`."""
    check_limit(limit)
    left, empty = limit, True
    for piece in read_pieces(path, encoding):
        reader = _Reader(piece.path, piece.line)
        reader.read(piece.text.split("\n"), left)
        if not reader.labels:
            continue
        empty = False
        yield reader.result()
        if left is not None and (left := left - len(reader.offsets) + 1) == 0:
            return
    if empty and not isinstance(path, Stretch):
        raise DataError(path, None, "the file has no sentences: check the path, or make the file again.")


def write(source: str | Path, target: str | Path, added: Sequence[Sequence[Sequence[str]]], encoding: str = "utf8") -> None:
    """Write the label of each token of `source` and the added cells, tab-separated, a blank line after each sentence.

    Parameters
    ----------
    source, target : str or Path
        The files; the target is gzip if its name ends in ``.gz``, and is replaced at once.
    added : sequence over sentences, over tokens, over cells
        What follows the label, in the order of the source.
    encoding : str
        Of both files.

    Raises
    ------
    DataError
        As in `read`; `added` does not match the source; the target cannot be written.
    """
    labels, offsets, lines = _labels(source, encoding)
    check_counts(source, offsets, lines, added)
    rows = []
    for start, sentence in zip(offsets, added, strict=False):
        rows += ["\t".join((labels[start + i], *cells)) + "\n" for i, cells in enumerate(sentence)]
        rows.append("\n")
    write_text(target, "".join(rows), encoding)


class _Reader:
    """Collects the tokens of a file line by line; `result` makes arrays of them.

    Parameters
    ----------
    path : str or Path
        For messages.
    begin : int
        The number of the first line.
    """

    def __init__(self, path: str | Path, begin: int = 1) -> None:
        self.path, self.begin = path, begin
        self.numbers = Numbering()
        self.share: dict[str, str] = {}
        self.labels: list[str] = []
        self.lines, self.offsets, self.ends = array("q"), array("q", [0]), array("q", [0])
        self.ids, self.valued, self.values = array("i"), array("q"), array("d")

    def read(self, lines: Sequence[str], limit: int | None) -> None:
        """Read lines, or those of the first `limit` sentences; DataError at a line that is malformed."""
        ids, number_of = self.ids, self.numbers.__getitem__
        for number, line in enumerate(lines, self.begin):
            if not line or line.isspace():
                self.end_sentence()
                if limit is not None and len(self.offsets) > limit:
                    return
                continue
            label, *fields = line.split("\t")
            if "\\" in line or ":" in line or "\t\t" in line or line[-1] == "\t":
                self.add_fields(fields, number)
            else:
                ids.extend(map(number_of, fields))
            self.add_label(label, number)
        self.end_sentence()

    def end_sentence(self) -> None:
        """Close the sentence, unless it has no tokens."""
        if len(self.labels) > self.offsets[-1]:
            self.offsets.append(len(self.labels))

    def add_label(self, label: str, line: int) -> None:
        """Add the label of a token whose attributes have been added; equal labels become one string."""
        name = self.share.get(label)
        if name is None:
            name = self.share[label] = _label(self.path, label, line)
        self.labels.append(name)
        self.lines.append(line)
        self.ends.append(len(self.ids))

    def add_fields(self, fields: Sequence[str], line: int) -> None:
        """Add attributes that may be empty, escaped or have values, one by one."""
        for field in fields:
            if not field:
                continue
            name, value = field, None
            if "\\" in field:
                name, value = _unescaped(field)
            elif ":" in field:
                name, _, value = field.partition(":")
            if value is not None:
                self.valued.append(len(self.ids))
                self.values.append(self.number_of(value, name, line))
            self.ids.append(self.numbers[name])

    def number_of(self, value: str, name: str, line: int) -> float:
        """The number that an attribute's value is; DataError where it is none, or out of range."""
        number = ranges.number(value)
        if fault := ranges.fault(number):
            advice = r"write attribute:number, and a colon that belongs to the name as \:"
            raise DataError(self.path, line, f"the value {value!r} of attribute {name!r} {fault}: {advice}.")
        return number

    def result(self) -> AttributeText:
        """The sentences that were read, as arrays."""
        offsets, ends, lines = (np.array(a, np.int64) for a in (self.offsets, self.ends, self.lines))
        names, ids = list(self.numbers), np.array(self.ids, np.int32)
        return AttributeText(str(self.path), offsets, ends, names, ids, self.all_values(), self.labels, lines)

    def all_values(self) -> NDArray[np.float64] | None:
        """Values of all entries, 1 where the file has none; None where all are 1."""
        written = np.array(self.values, np.float64)
        if not np.any(written != 1):
            return None
        values = np.ones(len(self.ids))
        values[np.array(self.valued, np.int64)] = written
        return values


def _labels(path: str | Path, encoding: str) -> tuple[list[str], array[int], array[int]]:
    reader = _Reader(path)
    reader.read([line.partition("\t")[0] if not line.isspace() else "" for line in read_text(path, encoding).split("\n")], None)
    return reader.labels, reader.offsets, reader.lines


def _label(path: str | Path, label: str, line: int) -> str:
    if not label:
        raise DataError(path, line, "the line begins with a tab, so it has no label: write label TAB attribute TAB ....")
    if label.startswith("@weight"):
        raise DataError(path, line, "instance weights (@weight) are not supported: remove the line.")
    return _unescape(label)


def _unescape(text: str) -> str:
    return ESCAPED.sub(r"\1", text) if "\\" in text else text


def _unescaped(field: str) -> tuple[str, str | None]:
    match = NAME_AND_VALUE.match(field)
    assert match is not None
    return _unescape(match[1]), match[2]
