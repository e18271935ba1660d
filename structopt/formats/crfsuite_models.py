"""Model files of CRFsuite: linear chains of order one with named attributes.

A file is little-endian: a header of 48 bytes; the chunk ``FEAT`` with a record of 20 bytes per
weight that is not 0; two databases of names ("CQDB"), of labels and of attributes; and the chunks
``LFRF`` and ``AFRF``, which list the features of each label and of each attribute. There are no
weights for the beginning and the end of a sequence. Source: CRFsuite 0.12, ``crf1d_model.c`` and
``cqdb.c``.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from structopt.errors import ModelError
from structopt.formats.durable_files import replace_file
from structopt.formats.string_arrays import pack_strings, unpack_strings
from structopt.formats.text_files import check_encoding, read_bytes
from structopt.kernels.waist import interruptible
from structopt.kernels.waist.record import Array

MAGIC, CHAIN, VERSION = b"lCRF", b"FOMC", 100
HEADER = struct.Struct("<4sI4s9I")
FEATURE = np.dtype([("kind", "<u4"), ("source", "<u4"), ("target", "<u4"), ("weight", "<f8")])
"""A weight: of attribute `source` and label `target`, or of label `target` after label `source`."""
STATE, TRANSITION = 0, 1
"""Kinds of features."""
CHUNK = struct.Struct("<4s2I")
"""The head of a chunk: its name, its bytes, and its entries."""
DATABASE = struct.Struct("<4s5I")
"""The head of a database: its name, its bytes, flags, the order of bytes, the number of names, and
the offset of the list of records by id.
"""
BYTE_ORDER = 0x62445371
RECORDS = DATABASE.size + 8 * 256
"""The offset of the first record in a database, behind 256 pairs (offset, slots) of its tables."""
UNUSED = 2
"""Entries of ``LFRF`` behind the labels, for the beginning and the end; CRFsuite leaves them 0."""
MOST_BYTES = (1 << 32) - 1
"""Offsets have 32 bits."""
DAMAGED = "The file is damaged: take it from a backup, or train again."
GIVE = "Give the file that CRFsuite wrote (crfsuite learn -m FILE)."
PICKLES = (b"\x80", b"PK\x03\x04")
"""The first bytes of pickles, and of the archives in which joblib and torch keep them."""


@dataclass(frozen=True, eq=False)
class ChainWeights:
    """The content of a model file.

    Attributes
    ----------
    labels, attributes : list of str
        Names by id.
    features : FEATURE array
        Weights, ascending by kind, source and target, each once.
    """

    labels: list[str]
    attributes: list[str]
    features: Array


def is_model_file(path: str | Path) -> bool:
    """Whether a path is a file that begins as CRFsuite's models do."""
    try:
        if not Path(path).is_file():
            return False
        with Path(path).open("rb") as stream:
            return stream.read(len(MAGIC)) == MAGIC
    except (OSError, ValueError):
        return False


def write(path: str | Path, model: ChainWeights, encoding: str = "utf8") -> None:
    """Write a model file; equal models give equal bytes.

    Raises
    ------
    ModelError
        If names are equal, have a NUL character, or cannot be written in the encoding; if the file
        would exceed 4 GiB.
    DataError
        If the file cannot be written.
    """
    check_encoding(encoding)
    replace_file(Path(path), encoded(model, encoding))


def encoded(model: ChainWeights, encoding: str = "utf8") -> bytes:
    """Return the bytes of a model file; errors as of `write`."""
    features = np.ascontiguousarray(model.features)
    state = int(np.count_nonzero(features["kind"] == STATE))
    size = CHUNK.size + features.nbytes
    parts = [CHUNK.pack(b"FEAT", size, len(features)), features.tobytes()]
    offsets = [HEADER.size, HEADER.size + size]
    for what, names in (("label", model.labels), ("attribute", model.attributes)):
        parts.append(_database(what, names, encoding))
        offsets.append(offsets[-1] + len(parts[-1]))
    padding = -offsets[-1] % 4
    parts.append(bytes(padding))
    offsets[-1] += padding
    labels, attributes = len(model.labels), len(model.attributes)
    for name, own, first, count, unused in (
        (b"LFRF", features["source"][state:], state, labels, UNUSED),
        (b"AFRF", features["source"][:state], 0, attributes, 0),
    ):
        parts.append(_references(name, own, first, count, unused, offsets[-1]))
        offsets.append(offsets[-1] + len(parts[-1]))
    total = offsets.pop()
    if total > MOST_BYTES:
        raise ModelError(
            f"The model would have {total:,} bytes, and files of CRFsuite have at most 4 GiB.",
            remedy="Train with a larger min_count, or with an l1 penalty.",
        )
    counts = VERSION, 0, labels, attributes  # CRFsuite writes 0 for the number of features too
    return b"".join([HEADER.pack(MAGIC, total, CHAIN, *counts, *offsets), *parts])


def _database(what: str, names: Sequence[str], encoding: str) -> bytes:
    """Return the database of names by id."""
    from structopt.kernels.text import name_tables as kernels

    packed, bounds = _packed(what, names, encoding)
    count, lengths = len(names), np.diff(bounds) + 1
    records = RECORDS + 8 * np.arange(count) + bounds[:-1] + np.arange(count)
    block = np.zeros(RECORDS + 9 * count + len(packed), np.uint8)
    _put_words(block, records, np.arange(count))
    _put_words(block, records + 4, lengths)
    kernels.copy_names(packed, bounds[:-1], lengths - 1, records + 8, block)
    hashes = np.empty(count, np.int64)
    interruptible.call(kernels.hash_names, block, records + 8, lengths, hashes)
    slots = 2 * np.bincount(hashes & 255, minlength=256)
    firsts = np.concatenate([[0], np.cumsum(slots)])
    table = np.zeros((2, 2 * count), np.int64)
    interruptible.call(kernels.fill_tables, hashes, records, firsts, table[0], table[1])
    behind = len(block)
    references = np.stack([np.where(slots > 0, behind + 8 * firsts[:-1], 0), slots], axis=1)
    by_id = behind + 8 * 2 * count
    size = by_id + 4 * count
    if size > MOST_BYTES:
        raise ModelError(f"The names of {count:,} {what}s exceed 4 GiB.")
    head = DATABASE.pack(b"CQDB", size, 0, BYTE_ORDER, count, by_id)
    block[: DATABASE.size] = np.frombuffer(head, np.uint8)
    block[DATABASE.size : RECORDS] = _words(references.ravel()).view(np.uint8)
    return b"".join([block.tobytes(), _words(table.T).tobytes(), _words(records).tobytes()])


def _packed(what: str, names: Sequence[str], encoding: str) -> tuple[Array, Array]:
    """Return the bytes of names one after the other, and their offsets."""
    try:
        packed, bounds = pack_strings(names, encoding)
    except UnicodeEncodeError as error:
        raise ModelError(
            f"The {what} {error.object!r} cannot be written as {encoding}.",
            remedy="Set encoding=utf8.",
        ) from None
    if (nul := np.flatnonzero(packed == 0)).size:
        name = names[int(np.searchsorted(bounds, nul[0], side="right")) - 1]
        raise ModelError(
            f"The {what} {name!r} has a NUL character, which ends names in files of CRFsuite.",
            remedy=f"Write the data without it, or with {what}s in another encoding than "
            f"{encoding}.",
        )
    if len(set(names)) < len(names):
        (twice, _), *_ = Counter(names).most_common(1)
        raise ModelError(
            f"Two {what}s have the name {twice!r}, and files of CRFsuite find {what}s by name."
        )
    return packed, bounds


def _references(
    name: bytes, sources: Array, first: int, count: int, unused: int, start: int
) -> bytes:
    """Return a chunk with a list of features for each source, ascending, at offset `start` of the
    file.
    """
    counts = np.bincount(sources, minlength=count) if count else np.zeros(0, np.int64)
    heads = np.arange(count) + np.cumsum(counts) - counts
    lists = np.empty(count + len(sources), np.int64)
    is_feature = np.ones(len(lists), bool)
    is_feature[heads] = False
    lists[heads], lists[is_feature] = counts, first + np.arange(len(sources))
    behind = CHUNK.size + 4 * (count + unused)
    offsets = np.concatenate([start + behind + 4 * heads, np.zeros(unused, np.int64)])
    size = behind + 4 * len(lists)
    head = CHUNK.pack(name, min(size, MOST_BYTES), count + unused)
    return b"".join([head, _words(offsets).tobytes(), _words(lists).tobytes()])


def _words(numbers: Array) -> Array:
    """Return numbers as 32 bits each; files with larger numbers are refused afterwards."""
    return np.ascontiguousarray(numbers).astype("<u4")


def _put_words(block: Array, offsets: Array, numbers: Array) -> None:
    block[offsets[:, None] + np.arange(4)] = _words(numbers).view(np.uint8).reshape(-1, 4)


def read(path: str | Path, encoding: str = "utf8") -> ChainWeights:
    """Read a model file; every offset, count, id and size is checked.

    Raises
    ------
    DataError
        If the file cannot be read.
    ModelError
        If it is not a model of CRFsuite, is truncated or damaged, or has names in another encoding.
    """
    check_encoding(encoding)
    if Path(path).is_dir():
        raise ModelError("is a folder, not a model file of CRFsuite.", where=str(path), remedy=GIVE)
    return _Reader(str(path), read_bytes(Path(path)), encoding).model()


class _Reader:
    """Reads the bytes of a model file, and refuses damaged ones."""

    def __init__(self, path: str, content: bytes, encoding: str) -> None:
        self.path, self.content, self.encoding = path, content, encoding
        self.data = np.frombuffer(content, np.uint8)

    def model(self) -> ChainWeights:
        """Return the content of the file."""
        _, size, kind, version, features, labels, attributes, *offsets = self._header()
        if kind != CHAIN or version != VERSION:
            self._refuse(
                f"is a model of the type {kind!r}, version {version}; structopt reads the type "
                f"{CHAIN!r}, version {VERSION}.",
                "Train a chain of order one with CRFsuite 0.12 or python-crfsuite.",
            )
        if size != len(self.content):
            self._refuse(f"has {len(self.content):,} bytes, and its header says {size:,}.")
        table = self._features(offsets[0], features)
        label_names = self._names("label", offsets[1], labels)
        attribute_names = self._names("attribute", offsets[2], attributes)
        if not labels:
            self._refuse("has no labels.")
        self._check_features(table, labels, attributes)
        self._check_references(b"LFRF", offsets[3], table, TRANSITION, labels, UNUSED)
        self._check_references(b"AFRF", offsets[4], table, STATE, attributes, 0)
        return ChainWeights(label_names, attribute_names, self._sorted(table))

    def _header(self) -> tuple[Any, ...]:
        if not self.content.startswith(MAGIC):
            if self.content.startswith(PICKLES):
                self._refuse(
                    "is a pickle or an archive, and not a model file of CRFsuite. structopt reads "
                    "no pickles, because they run code.",
                    "Copy the model file of the estimator instead: crf.modelfile.name.",
                )
            self._refuse(
                "is not a model file of CRFsuite, which begins with lCRF.",
                GIVE,
            )
        if len(self.content) < HEADER.size:
            self._refuse(f"ends within the header, after {len(self.content)} bytes.")
        return HEADER.unpack_from(self.content)

    def _features(self, offset: int, expected: int) -> Array:
        count, size = self._chunk(b"FEAT", offset)
        if size != CHUNK.size + FEATURE.itemsize * count or expected not in (0, count):
            self._refuse(f"counts {count:,} features in FEAT, which do not fit its size.")
        self._check_span(offset, size, "FEAT")
        return np.frombuffer(self.content, FEATURE, count, offset + CHUNK.size)

    def _names(self, what: str, offset: int, count: int) -> list[str]:
        """Return the names of a database by id."""
        from structopt.kernels.text import name_tables as kernels

        self._check_span(offset, RECORDS, f"the {what}s")
        name, size, _, order, number, by_id = DATABASE.unpack_from(self.content, offset)
        if name != b"CQDB" or order != BYTE_ORDER:
            self._refuse(f"has no database of {what}s at byte {offset}.")
        self._check_span(offset, size, f"the {what}s")
        if number != count:
            self._refuse(f"counts {count:,} {what}s, and their database has {number:,}.")
        if size < RECORDS or by_id + 4 * count > size:
            self._refuse(f"has a database of {what}s that is too short for {count:,} of them.")
        block = self.data[offset : offset + size]
        records = self._words_of(offset + by_id, count)
        self._check(records >= RECORDS, f"the offset of {what}", "lies outside the records.")
        self._check(records + 8 <= size, f"the offset of {what}", "lies outside the records.")
        ids, lengths = self._gathered(offset + records), self._gathered(offset + records + 4)
        self._check(ids == np.arange(count), f"the record of {what}", "has another id.")
        ends = records + 8 + lengths
        self._check((lengths > 0) & (ends <= size), f"the name of {what}", "has a wrong length.")
        if int(lengths.sum()) > size:
            self._refuse(f"has {what}s that share bytes.")
        self._check(block[ends - 1] == 0, f"the name of {what}", "does not end with NUL.")
        hashes = np.empty(count, np.int64)
        interruptible.call(kernels.hash_names, block, records + 8, lengths, hashes)
        self._check_tables(what, offset, block, hashes, records)
        bounds = np.concatenate([[0], np.cumsum(lengths - 1)])
        packed = np.empty(int(bounds[-1]), np.uint8)
        kernels.copy_names(block, records + 8, lengths - 1, bounds[:-1], packed)
        if (packed == 0).any():
            self._refuse(f"has a name of a {what} with a NUL character.")
        return self._decoded(what, packed, bounds)

    def _check_tables(
        self, what: str, offset: int, block: Array, hashes: Array, records: Array
    ) -> None:
        """Refuse tables by which CRFsuite would not find each name."""
        from structopt.kernels.text import name_tables as kernels

        begins, slots = self._words_of(offset + DATABASE.size, 512).reshape(256, 2).T.copy()
        expected = 2 * np.bincount(hashes & 255, minlength=256)
        fits = (slots == expected) & ((slots == 0) | (begins + 8 * slots <= len(block)))
        self._check(fits, f"the hash table of {what}s number", "has a wrong size.")
        lost = interruptible.call(kernels.first_lost, block, hashes, records, begins, slots)
        if lost >= 0:
            self._refuse(f"has a hash table that does not contain {what} {lost}.")

    def _decoded(self, what: str, packed: Array, bounds: Array) -> list[str]:
        try:
            names = unpack_strings(packed, bounds, self.encoding)
        except UnicodeDecodeError as error:
            self._refuse(
                f"has a name of a {what} that is not {self.encoding}: {bytes(error.object)!r}.",
                "Set task.encoding to the encoding of its training data, such as latin-1.",
            )
        if len(set(names)) < len(names):
            self._refuse(f"has two {what}s of the same name.")
        return names

    def _check_features(self, table: Array, labels: int, attributes: int) -> None:
        kinds, sources = table["kind"], table["source"]
        self._check(kinds <= TRANSITION, "feature", "has an unknown type.")
        limits = np.where(kinds == STATE, attributes, labels)
        known = (sources < limits) & (table["target"] < labels)
        self._check(known, "feature", "has an id that the file does not define.")
        self._check(np.isfinite(table["weight"]), "the weight of feature", "is not finite.")

    def _check_references(
        self, name: bytes, offset: int, table: Array, kind: int, count: int, unused: int
    ) -> None:
        """Refuse lists in which features of a kind are missing, doubled, or of another source."""
        entries, size = self._chunk(name, offset)
        text = name.decode()
        if entries != count + unused:
            self._refuse(f"has {entries:,} lists in {text}, and not {count + unused:,}.")
        starts = self._words_of(offset + CHUNK.size, count)
        self._check(starts + 4 <= len(self.data), f"list of {text}", "lies outside the file.")
        counts = self._gathered(starts)
        inside = starts + 4 + 4 * counts <= len(self.data)
        self._check(inside, f"list of {text}", "is longer than the file.")
        total = int(counts.sum())
        if total != int(np.count_nonzero(table["kind"] == kind)):
            self._refuse(f"lists {total:,} features in {text}, and has another number of them.")
        if size != CHUNK.size + 4 * (entries + count + total):
            self._refuse(f"has {size:,} bytes in {text}, which do not fit its lists.")
        owners = np.repeat(np.arange(count), counts)
        within = np.arange(total) - np.repeat(np.cumsum(counts) - counts, counts)
        features = self._gathered(starts[owners] + 4 + 4 * within)
        self._check(features < len(table), f"feature of {text}", "does not exist.")
        own = table[features]
        right = (own["kind"] == kind) & (own["source"] == owners)
        self._check(right, f"feature of {text}", "belongs to another list.")
        if (np.bincount(features, minlength=1) > 1).any():
            self._refuse(f"lists a feature twice in {text}.")

    def _sorted(self, table: Array) -> Array:
        ordered = table[np.lexsort((table["target"], table["source"], table["kind"]))]
        keys = ordered[["kind", "source", "target"]]
        if (keys[1:] == keys[:-1]).any():
            self._refuse("has two weights of one feature.")
        return ordered

    def _chunk(self, name: bytes, offset: int) -> tuple[int, int]:
        """Return the number of entries and of bytes of a chunk."""
        self._check_span(offset, CHUNK.size, name.decode())
        found, size, entries = CHUNK.unpack_from(self.content, offset)
        if found != name:
            self._refuse(f"has no chunk {name.decode()} at byte {offset}.")
        return entries, size

    def _check_span(self, offset: int, size: int, what: str) -> None:
        if offset + size > len(self.content):
            self._refuse(f"ends within {what}.")

    def _words_of(self, offset: int, count: int) -> Array:
        """Return consecutive numbers as int64."""
        self._check_span(offset, 4 * count, f"the list at byte {offset}")
        return np.frombuffer(self.content, "<u4", count, offset).astype(np.int64)

    def _gathered(self, offsets: Array) -> Array:
        """Return the numbers at offsets within the file as int64."""
        found = self.data[offsets[:, None] + np.arange(4)]
        return np.ascontiguousarray(found).view("<u4").ravel().astype(np.int64)

    def _check(self, right: Array, what: str, problem: str) -> None:
        if not right.all():
            self._refuse(f"is not consistent: {what} {int(np.argmin(right))} {problem}")

    def _refuse(self, problem: str, remedy: str = DAMAGED) -> NoReturn:
        raise ModelError(problem, where=self.path, remedy=remedy)


def chain_weights(
    labels: Iterable[str], attributes: Sequence[str], state: Array, transitions: Array
) -> ChainWeights:
    """Return the nonzero weights of tables, and the attributes that have one.

    Parameters
    ----------
    labels, attributes : sequence of str
    state : float64, shape (attributes, labels)
    transitions : float64, shape (labels, labels)
    """
    used = state.any(axis=1)
    names = [attributes[k] for k in np.flatnonzero(used).tolist()]
    tables = state[used], transitions
    parts = []
    for kind, table in enumerate(tables):
        sources, targets = np.nonzero(table)
        part = np.empty(len(sources), FEATURE)
        part["kind"], part["source"], part["target"] = kind, sources, targets
        part["weight"] = table[sources, targets]
        parts.append(part)
    return ChainWeights(list(labels), names, np.concatenate(parts))
