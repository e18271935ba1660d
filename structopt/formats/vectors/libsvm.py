"""LIBSVM's text of sparse vectors: ``label index:value index:value ...`` a line; what follows ``#``
is a comment.

A label is any word without a colon; whole numbers, of at most 100 digits, are written one way
(``1`` for ``+1`` and ``1.0``). Indices are integers from 0 on of at most 18 digits, in any order,
each at most once a line. Blank lines are skipped.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from structopt.core.data import ranges
from structopt.errors import DataError
from structopt.formats.numbering import Numbering
from structopt.formats.text_files import check_limit, read_text, write_text

WHOLE = re.compile(r"[+-]?[0-9]{1,100}(\.0*)?")
INDEX = re.compile(r"0|[1-9][0-9]{0,17}")
NO_LABEL = ""


@dataclass(frozen=True)
class Vectors:
    """The sparse vectors of a file, and their labels.

    Attributes
    ----------
    path : str
        The file.
    offsets : int64, shape (instances + 1,)
        Where the entries of each instance begin in `ids` and `values`.
    indices : list of str
        The distinct indices, in order of first occurrence.
    ids : int32, shape (entries,)
        Numbers into `indices`.
    values : float64, shape (entries,)
    labels : list of str, length instances
        `NO_LABEL` where the line has none.
    """

    path: str
    offsets: NDArray[np.int64]
    indices: list[str]
    ids: NDArray[np.int32]
    values: NDArray[np.float64]
    labels: list[str]

    def __len__(self) -> int:
        """Number of instances."""
        return len(self.offsets) - 1

    def subset(self, first: int, last: int) -> Vectors:
        """Return the instances first <= i < last; indices that they lack keep their numbers."""
        begin, end = int(self.offsets[first]), int(self.offsets[last])
        offsets, labels = self.offsets[first : last + 1] - begin, self.labels[first:last]
        return replace(
            self,
            offsets=offsets,
            ids=self.ids[begin:end],
            values=self.values[begin:end],
            labels=labels,
        )


def read(
    path: str | Path, limit: int | None = None, labelled: bool = True, encoding: str = "utf8"
) -> Vectors:
    """Read a file, plain or gzip, or its first `limit` instances; O(characters).

    Parameters
    ----------
    path : str or Path
    limit : int or None
    labelled : bool
        Whether every line must have a label.
    encoding : str

    Raises
    ------
    DataError
        A file that cannot be read or has no instances; a line without a label, with anything but
        ``index:value`` pairs after it, with an index twice, or with a value that is not a finite
        number or above 1e100 in absolute value.
    ConfigError
        A limit below 1, or an unknown encoding.
    """
    check_limit(limit, "instances")
    reader = _Reader(path, labelled)
    reader.read(read_text(path, encoding).split("\n"), limit)
    if not reader.labels:
        raise DataError(
            path,
            None,
            "the file has no instances",
            remedy="check the path, or make the file again.",
        )
    return reader.result()


def label_order(label: str) -> tuple[bool, int, str]:
    """Return the key to sort labels by: whole numbers by size, then words by letters."""
    return (False, int(label), "") if WHOLE.fullmatch(label) else (True, 0, label)


def plain_label(label: str) -> str:
    """Return a label with whole numbers written one way: ``1`` for ``+1``, ``1.0`` and ``01``."""
    return str(int(label.partition(".")[0])) if WHOLE.fullmatch(label) else label


def write(path: str | Path, rows: Sequence[Sequence[str]], encoding: str = "utf8") -> None:
    """Write rows of cells, separated by spaces, a line each; the file is replaced at once."""
    write_text(path, "".join(" ".join(row) + "\n" for row in rows), encoding)


class _Indices(Numbering):
    """Indices of attributes, numbered; anything but a plain integer is refused, so that one index
    has one spelling.
    """

    def __missing__(self, index: str) -> int:
        if not INDEX.fullmatch(index):
            raise ValueError(index)
        return super().__missing__(index)


class _Reader:
    """Collects the instances of a file. Lines are split as fast as Python can; `_complaint` finds
    the fault of those that fail.

    Parameters
    ----------
    path : str or Path
        For messages.
    labelled : bool
        Whether every line must have a label.
    """

    def __init__(self, path: str | Path, labelled: bool) -> None:
        self.path, self.labelled = path, labelled
        self.indices, self.share = _Indices(), {NO_LABEL: NO_LABEL}
        self.labels: list[str] = []
        self.ids, self.values, self.ends = array("i"), array("d"), array("q", [0])

    def read(self, lines: Sequence[str], limit: int | None) -> None:
        """Read lines, or those of the first `limit` instances; DataError at a line that is
        malformed.
        """
        number_of = self.indices.__getitem__
        for line, text in enumerate(lines, 1):
            fields = _fields(text)
            if not fields:
                continue
            label = self.label(fields, line)
            try:
                pairs = dict([field.split(":") for field in fields])
                self.ids.extend(map(number_of, pairs))
                self.values.extend(map(float, pairs.values()))
            except ValueError:
                raise DataError(self.path, line, _complaint(fields)) from None
            # see `ranges.number`
            if (
                len(pairs) < len(fields)
                or ("_" in text or not text.isascii())
                and _complaint(fields)
            ):
                raise DataError(self.path, line, _complaint(fields))
            self.labels.append(label)
            self.ends.append(len(self.ids))
            if len(self.labels) == limit:
                break
        self.check_values(lines)

    def label(self, fields: list[str], line: int) -> str:
        """Take the label off the fields of a line, and return it; equal labels are one string."""
        if ":" in fields[0]:
            if self.labelled:
                raise DataError(
                    self.path,
                    line,
                    f"the line begins with {fields[0]!r}, so it has no label",
                    remedy="write label index:value index:value ....",
                )
            return NO_LABEL
        written = fields.pop(0)
        name = self.share.get(written)
        if name is None:
            name = self.share[written] = plain_label(written)
        return name

    def check_values(self, lines: Sequence[str]) -> None:
        """Raise DataError at the first value that is nan, infinite or too large."""
        if ranges.first_fault(np.array(self.values)) < 0:
            return
        for line, text in enumerate(lines, 1):
            complaint = _complaint([field for field in _fields(text) if ":" in field])
            if complaint:
                raise DataError(self.path, line, complaint)

    def result(self) -> Vectors:
        """Return the instances that were read, as arrays."""
        return vectors_of(self.path, self.ends, self.indices, self.ids, self.values, self.labels)


def vectors_of(
    path: str | Path,
    ends: array[int],
    indices: Mapping[str, int],
    ids: array[int],
    values: array[float],
    labels: list[str],
) -> Vectors:
    """Make vectors of buffers: where the entries of each instance end (after a 0), indices by
    number, entries, labels.
    """
    return Vectors(
        str(path),
        np.array(ends, np.int64),
        list(indices),
        np.array(ids, np.int32),
        np.array(values),
        labels,
    )


def _fields(text: str) -> list[str]:
    return (text.partition("#")[0] if "#" in text else text).split()


def _complaint(fields: Sequence[str]) -> str:
    """What is wrong with the pairs of a line, and what to do; the empty string where nothing is."""
    seen: set[str] = set()
    for field in fields:
        index, _, value = field.partition(":")
        if index == "qid":
            return (
                f"{field!r} is for ranking, which is not done here: remove the qid: of every line."
            )
        if not index or not value or ":" in value:
            return (
                f"{field!r} is not a pair: write index:value, such as 3:0.5, and no space within "
                "a pair or a label."
            )
        if not INDEX.fullmatch(index):
            return (
                f"the index {index!r} is not an integer from 0 on in plain digits: number the "
                "attributes, such as 3:0.5."
            )
        if fault := ranges.fault(ranges.number(value)):
            return (
                f"the value {value!r} of index {index} {fault}: write a number, or leave the "
                "pair out."
            )
        if index in seen:
            return f"the index {index} stands twice in this line: keep one of them, or their sum."
        seen.add(index)
    return ""
