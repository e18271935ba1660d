"""LIBSVM's text of sparse vectors: ``label index:value index:value ...`` a line; what follows ``#`` is a comment.

A label is any word without a colon; whole numbers are written one way (``+1``, ``1.0`` and ``01`` are ``1``). Indices are
integers from 0 on, in any order, each at most once a line. Blank lines are skipped.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import nan
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structopt.core.data import ranges
from structopt.errors import ConfigError, DataError
from structopt.formats.instances import MEMORY, Form, shown
from structopt.formats.text_files import read_text, write_text

WHOLE = re.compile(r"[+-]?[0-9]+(\.0*)?")
INDEX = re.compile(r"0|[1-9][0-9]*")
NO_LABEL = ""
FORM = Form(
    "instance",
    "Give a list of instances, each a mapping from index to value: [{1: 0.5, 7: 2.0}], or a row of values: [[0.5, 0.0, 2.0]].",
)


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


def read(path: str | Path, limit: int | None = None, labelled: bool = True, encoding: str = "utf8") -> Vectors:
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
        A file that cannot be read or has no instances; a line without a label, with anything but ``index:value`` pairs after
        it, with an index twice, or with a value that is not a finite number or above 1e100 in absolute value.
    ConfigError
        A limit below 1, or an unknown encoding.
    """
    if limit is not None and limit < 1:
        raise ConfigError(f"limit={limit} reads no instance: give a number from 1 on, or null for all of them.")
    reader = _Reader(path, labelled)
    reader.read(read_text(path, encoding).split("\n"), limit)
    if not reader.labels:
        raise DataError(path, None, "the file has no instances: check the path, or make the file again.")
    return reader.result()


def vectors(instances: Sequence[Any], first: int = 1) -> Vectors:
    """Unlabelled vectors of instances in memory.

    Parameters
    ----------
    instances : sequence
        Each a mapping from index to value, or a sequence of the values at all indices from `first` on.
    first : int
        The index of a sequence's first value.

    Raises
    ------
    DataError
        An instance that is neither, an index that is neither integer nor name, or a value that is not a finite number or above
        1e100 in absolute value; ``line`` counts the instances from 1.
    """
    numbers, ids, values, ends = _Numbering(), array("i"), array("d"), array("q", [0])
    for line, instance in enumerate(FORM.listed(instances), 1):
        pairs = instance.items() if isinstance(instance, Mapping) else _dense_pairs(instance, first, line)
        for index, value in pairs:
            if not isinstance(index, (str, Integral)):
                raise FORM.refused(line, f"the index {shown(index)} is neither an integer nor a name")
            ids.append(numbers[str(index)])
            values.append(FORM.number(line, f"index {index}", value))
        ends.append(len(ids))
    return _vectors(MEMORY, ends, numbers, ids, values, [NO_LABEL] * (len(ends) - 1))


def label_order(label: str) -> tuple[bool, int, str]:
    """Key to sort labels by: whole numbers by size, then words by letters."""
    return (False, int(label), "") if WHOLE.fullmatch(label) else (True, 0, label)


def write(path: str | Path, rows: Sequence[Sequence[str]], encoding: str = "utf8") -> None:
    """Write rows of cells, parted by spaces, a line each; the file appears whole or not at all."""
    write_text(path, "".join(" ".join(row) + "\n" for row in rows), encoding)


def _dense_pairs(instance: Any, first: int, line: int) -> Iterator[tuple[int, float]]:
    """Indices and values that are not zero."""
    try:
        row = np.asarray(instance, np.float64)
    except (TypeError, ValueError):
        row = np.zeros(())
    if row.ndim != 1:
        raise FORM.refused(line, f"an instance is {shown(instance)}")
    places = np.flatnonzero(row)
    return zip((places + first).tolist(), row[places].tolist(), strict=True)


class _Numbering(dict[str, int]):
    """Index to number, in order of first use."""

    def __missing__(self, index: str) -> int:
        self[index] = number = len(self)
        return number


class _Indices(_Numbering):
    """As above; anything but a plain integer is refused, so that one index has one spelling."""

    def __missing__(self, index: str) -> int:
        if not INDEX.fullmatch(index):
            raise ValueError(index)
        return super().__missing__(index)


class _Reader:
    """Splits lines as fast as Python can; where a line is odd, `_complaint` looks at it pair by pair to say why."""

    def __init__(self, path: str | Path, labelled: bool) -> None:
        self.path, self.labelled = path, labelled
        self.indices, self.share = _Indices(), {NO_LABEL: NO_LABEL}
        self.labels: list[str] = []
        self.ids, self.values, self.ends = array("i"), array("d"), array("q", [0])

    def read(self, lines: Sequence[str], limit: int | None) -> None:
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
            if len(pairs) < len(fields) or "_" in text and _complaint(fields):  # Python would read 1_0 as 10
                raise DataError(self.path, line, _complaint(fields))
            self.labels.append(label)
            self.ends.append(len(self.ids))
            if len(self.labels) == limit:
                break
        self.check_values(lines)

    def label(self, fields: list[str], line: int) -> str:
        """Take the label off the fields."""
        if ":" in fields[0]:
            if self.labelled:
                message = f"the line begins with {fields[0]!r}, so it has no label: write label index:value index:value ...."
                raise DataError(self.path, line, message)
            return NO_LABEL
        given = fields.pop(0)
        name = self.share.get(given)
        if name is None:
            name = self.share[given] = str(int(given.partition(".")[0])) if WHOLE.fullmatch(given) else given
        return name

    def check_values(self, lines: Sequence[str]) -> None:
        """Refuse nan, inf and numbers too large."""
        if ranges.first_fault(np.array(self.values)) < 0:
            return
        for line, text in enumerate(lines, 1):
            complaint = _complaint([field for field in _fields(text) if ":" in field])
            if complaint:
                raise DataError(self.path, line, complaint)

    def result(self) -> Vectors:
        return _vectors(self.path, self.ends, self.indices, self.ids, self.values, self.labels)


def _vectors(
    path: str | Path, ends: array[int], indices: Mapping[str, int], ids: array[int], values: array[float], labels: list[str]
) -> Vectors:
    return Vectors(str(path), np.array(ends, np.int64), list(indices), np.array(ids, np.int32), np.array(values), labels)


def _fields(text: str) -> list[str]:
    return (text.partition("#")[0] if "#" in text else text).split()


def _complaint(fields: Sequence[str]) -> str:
    """Say what is wrong with the pairs of a line, and what to do; the empty string where nothing is."""
    seen: set[str] = set()
    for field in fields:
        index, _, value = field.partition(":")
        if index == "qid":
            return f"{field!r} is for ranking, which is not done here: remove the qid: of every line."
        if not index or not value or ":" in value:
            return f"{field!r} is not a pair: write index:value, such as 3:0.5, and no space within a pair or a label."
        if not INDEX.fullmatch(index):
            return f"the index {index!r} is not an integer from 0 on in plain digits: number the attributes, such as 3:0.5."
        if fault := _fault("" if "_" in value else value):
            return f"the value {value!r} of index {index} {fault}: write a number, or leave the pair out."
        if index in seen:
            return f"the index {index} stands twice in this line: keep one of them, or their sum."
        seen.add(index)
    return ""


def _fault(value: Any) -> str:
    """Say why this cannot be a value; the empty string where it can."""
    try:
        return ranges.fault(float(value))
    except (TypeError, ValueError, OverflowError):
        return ranges.fault(nan)
