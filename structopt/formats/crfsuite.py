r"""CRFsuite's attribute text: ``label TAB attribute[:value] TAB ...`` a token, a blank line between
sentences.

A literal colon is written ``\:`` and a backslash ``\\``; an unescaped colon separates an attribute
from its value (1 if none).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from math import inf
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from structopt.core.data import ranges
from structopt.errors import DataError
from structopt.formats.conll_writer import check_counts
from structopt.formats.string_arrays import unpack_strings
from structopt.formats.text_files import check_limit, read_utf8, write_text
from structopt.formats.text_pieces import Stretch, read_pieces
from structopt.kernels.waist import interruptible

BLANK = re.compile(r"^[^\S\n]+$", re.MULTILINE)
WIDE_SPACES = [
    space.encode()
    for space in "\x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008"
    "\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
]
"""White space beyond ASCII, in UTF-8."""
NO_SENTENCES = "the file has no sentences: check the path, or make the file again."


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
            self,
            offsets=self.offsets[first : last + 1] - begin,
            attribute_offsets=self.attribute_offsets[begin : end + 1] - entries.start,
            ids=self.ids[entries],
            values=None if self.values is None else self.values[entries],
            labels=self.labels[begin:end],
            lines=self.lines[begin:end],
        )


def read(
    path: str | Path, limit: int | None = None, encoding: str = "utf8", labelled: bool = False
) -> AttributeText:
    """Read a file, plain or gzip, or its first `limit` sentences; O(characters).

    A file without a tab that is `labelled`, or has white space within lines, is refused.

    Raises
    ------
    DataError
        A file that cannot be read or has no sentences, a line without a label, a value that is not
        a finite number; a file of columns.
    ConfigError
        A limit below 1, or an unknown encoding.
    """
    check_limit(limit)
    found = _Scan(path, read_utf8(path, encoding), limit).result()
    if not len(found):
        raise DataError(path, None, NO_SENTENCES)
    if labelled and not len(found.ids):
        raise _no_tab(found, 0)
    return found


def _no_tab(found: AttributeText, token: int) -> DataError:
    """The error for a file that has no tab, which shows the line of a token."""
    return DataError(
        found.path,
        int(found.lines[token]),
        f"no line has a tab, and so no token has an attribute: {found.labels[token]!r} is read as "
        "a label. Are these columns, such as word and label?",
        remedy="Set task=ner, chunking or tagging for columns, or write label TAB attribute TAB "
        "....",
    )


def read_blocks(
    path: str | Path | Stretch, limit: int | None = None, encoding: str = "utf8"
) -> Iterator[AttributeText]:
    """Yield the sentences that `read` reads, block by block, each with attributes of its own; the
    errors of `read`.
    """
    check_limit(limit)
    left, empty = limit, True
    for piece in read_pieces(path, encoding):
        found = _Scan(
            piece.path, piece.text.encode("utf8", "surrogatepass"), left, piece.line
        ).result()
        if not len(found):
            continue
        empty = False
        yield found
        if left is not None and (left := left - len(found)) == 0:
            return
    if empty and not isinstance(path, Stretch):
        raise DataError(path, None, NO_SENTENCES)


def write(
    source: str | Path,
    target: str | Path,
    added: Sequence[Sequence[Sequence[str]]],
    encoding: str = "utf8",
) -> None:
    """Write the label of each token of `source` and the added cells, tab-separated, a blank line
    after each sentence.

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
    found = _Scan(source, read_utf8(source, encoding), None).result()
    offsets, lines = found.offsets.tolist(), found.lines.tolist()
    check_counts(source, offsets, lines, added)
    rows = []
    for start, sentence in zip(offsets, added, strict=False):
        rows += [
            "\t".join((found.labels[start + i], *cells)) + "\n" for i, cells in enumerate(sentence)
        ]
        rows.append("\n")
    write_text(target, "".join(rows), encoding)


class _Scan:
    """The strings of a text, and of every token, attribute and value which string it is, as
    numbers.

    Parameters
    ----------
    path : str or Path
        For messages.
    text : bytes
        In UTF-8.
    limit : int or None
        Sentences to read; None: all.
    begin : int
        The number of the first line.
    """

    def __init__(self, path: str | Path, text: bytes, limit: int | None, begin: int = 1) -> None:
        from structopt.kernels.text import attribute_lines as kernels

        data, most = np.frombuffer(_without_wide_spaces(text), np.uint8), np.zeros(3, np.int64)
        kernels.count(data, most)
        fields, tokens, colons = int(most[0]), int(most[1]) + 1, int(most[2])
        strings = fields + tokens + colons
        store, kinds, starts = (
            np.empty(len(data), np.uint8),
            np.empty(strings, np.uint8),
            np.empty(strings + 1, np.int64),
        )
        labels, ids, values = (np.empty(size, np.int32) for size in (tokens, fields, colons))
        lines, ends, sentences, valued = (
            np.empty(size, np.int64) for size in (tokens, tokens, tokens, colons)
        )
        counts = np.zeros(kernels.COUNTS, np.int64)
        arrays = (store, kinds, starts, labels, lines, ends, sentences, ids, valued, values, counts)
        interruptible.call(kernels.scan, data, -1 if limit is None else limit, *arrays)
        tokens, closed, entries, with_value, strings, stored, fault, *_ = counts.tolist()
        self.path, self.without_label = str(path), begin + fault - 1 if fault else None
        self.labels, self.lines, self.ends = (
            labels[:tokens],
            lines[:tokens] + (begin - 1),
            ends[:tokens],
        )
        self.sentences, self.ids = sentences[:closed], ids[:entries]
        self.valued, self.values = valued[:with_value], values[:with_value]
        self.kinds, self.strings = (
            kinds[:strings],
            unpack_strings(store[:stored], starts[: strings + 1]),
        )
        self.names, self.numbers = self.kinds == kernels.NAME, self.kinds == kernels.VALUE

    def result(self) -> AttributeText:
        """The sentences as arrays; DataError at the first line that is malformed."""
        values = self._values()
        self._check_labels()
        names, labels = (
            list(compress(self.strings, self.names)),
            [self.strings[n] for n in self.labels.tolist()],
        )
        ids = (np.cumsum(self.names, dtype=np.int32) - 1)[self.ids] if names else self.ids
        found = AttributeText(
            self.path,
            np.append(0, self.sentences),
            np.append(0, self.ends),
            names,
            ids,
            values,
            labels,
            self.lines,
        )
        if not len(ids):
            token = next((i for i, label in enumerate(labels) if len(label.split()) > 1), None)
            if token is not None:
                raise _no_tab(found, token)
        return found

    def _values(self) -> NDArray[np.float64] | None:
        """Values of all entries, 1 where the file has none; None where all are 1."""
        read, faults = np.ones(len(self.strings)), {}
        for n in np.flatnonzero(self.numbers).tolist():
            read[n] = ranges.number(self.strings[n])
            if fault := ranges.fault(read[n]):
                faults[n] = fault
        if faults:
            self._refuse_value(faults)
        if not np.any(read != 1):
            return None
        values = np.ones(len(self.ids))
        values[self.valued] = read[self.values]
        return values

    def _refuse_value(self, faults: Mapping[int, str]) -> None:
        """Refuse the first value that is no number, or out of range, unless a line before it has no
        label.
        """
        at = np.flatnonzero(np.isin(self.values, list(faults)))[0]
        entry = self.valued[at]
        line = int(self.lines[np.searchsorted(self.ends, entry, side="right")])
        self._check_labels(line)
        value, name = self.strings[self.values[at]], self.strings[self.ids[entry]]
        advice = r"write attribute:number, and a colon that belongs to the name as \:"
        raise DataError(
            self.path,
            line,
            f"the value {value!r} of attribute {name!r} {faults[self.values[at]]}",
            remedy=f"{advice}.",
        )

    def _check_labels(self, before: float = inf) -> None:
        """Refuse the first line before another one that has no label, or weighs a sentence."""
        weights = [
            n for n in np.unique(self.labels).tolist() if self.strings[n].startswith("@weight")
        ]
        weighing = self.lines[np.isin(self.labels, weights)].tolist()
        if weighing and weighing[0] < min(before, self.without_label or inf):
            raise DataError(
                self.path,
                weighing[0],
                "instance weights (@weight) are not supported",
                remedy="remove the line.",
            )
        if self.without_label and self.without_label < before:
            raise DataError(
                self.path,
                self.without_label,
                "the line begins with a tab, so it has no label",
                remedy="write label TAB attribute TAB ....",
            )


def _without_wide_spaces(text: bytes) -> bytes:
    """A text in UTF-8, in which lines of white space that is not ASCII, which kernels do not know,
    are empty.
    """
    if text.isascii() or not any(space in text for space in WIDE_SPACES):
        return text
    return BLANK.sub("", text.decode("utf8", "surrogatepass")).encode("utf8", "surrogatepass")
