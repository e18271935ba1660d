"""Labels of tokens whose attributes are in the file, in CRFsuite's attribute text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any, TypedDict

import numpy as np

from structopt.core.data.attribute_table import AttributeTable, Entries, EntryReader
from structopt.core.data.boundaries import EMPTY_LINE, Boundary
from structopt.core.data.encoded import Encoded
from structopt.core.data.in_memory import is_open
from structopt.core.data.saved_state import SavedState
from structopt.core.data.table_schema import Column, Schema
from structopt.core.storage.learner import Learner
from structopt.errors import ConfigError, DataError
from structopt.formats import crfsuite, tag_schemes, text_pieces
from structopt.formats.crfsuite import AttributeText
from structopt.formats.in_memory.attributes import TokenReader, attribute_text
from structopt.formats.in_memory.instances import MEMORY
from structopt.formats.string_arrays import pack_strings, restored_strings
from structopt.formats.text_pieces import Stretch
from structopt.kernels.waist.record import Array
from structopt.task import placeholders
from structopt.task.attribute_entries import numbers_of, renumbered_entries
from structopt.task.key_checks import check_keys
from structopt.task.token_labelling import TokenLabelling
from structopt.templates.attribute_hashes import (
    LEAST,
    MOST,
    check_bits,
    hashed_rows,
    hashes_of,
    slot_names,
    slots_of,
)

STRETCH = 1 << 20
"""Entries that are counted at a time."""


class Reading(TypedDict, total=False):
    """The keys of the config's node ``features`` that this task takes."""

    min_count: int
    hash_bits: int | None


class AttributeLabelling(TokenLabelling):
    """One label a token from the attributes in the file, ``label TAB attribute[:value] TAB ...``;
    learnt in the file's scheme.

    Parameters
    ----------
    train, dev, test, limit, encoding, valid_tags, default_C, default_C_by, partial, forbidden
        See `structopt.task.token_labelling.TokenLabelling`.
    scheme : str
        See `structopt.task.token_labelling.TokenLabelling`. It is used for scores and constraints
        only.
    features : mapping
        ``min_count``: attributes that occur less often in training are left out. ``hash_bits``:
        attributes are hashed into 2^hash_bits slots, without a vocabulary.
    """

    reading = Reading
    late = ("encoding",)
    reads_blocks = True

    shipped_format = "crfsuite"
    columns = ("attributes",)
    input_schema = Schema(
        (
            Column("tokens", "string", 2, alias="attributes"),
            Column("values", "double", 2, required=False, like="tokens", filler=1.0),
        )
    )

    def __init__(
        self,
        train: str | None = None,
        dev: str | None = None,
        test: str | None = None,
        limit: int | None = None,
        encoding: str = "utf8",
        scheme: str = "auto",
        valid_tags: bool = False,
        default_C: float = 1.0,
        features: Mapping[str, Any] | None = None,
        default_C_by: Mapping[str, float] | None = None,
        partial: bool = False,
        forbidden: Sequence[Sequence[str | None]] = (),
    ) -> None:
        super().__init__(
            train,
            dev,
            test,
            limit,
            encoding,
            scheme,
            "none",
            valid_tags,
            default_C,
            default_C_by,
            partial,
            forbidden,
        )
        check_keys("features", features or {}, Reading.__annotations__)
        self.min_count = int((features or {}).get("min_count", 1))
        if self.min_count < 1:
            raise ConfigError(
                "must be at least 1.",
                parameter="features.min_count",
                value=self.min_count,
            )
        self.hash_bits: int | None = (features or {}).get("hash_bits")
        check_bits(self.hash_bits, self.min_count)
        self._attributes: dict[str, int] = {}

    def read(
        self, path: str | Path, limit: int | None = None, labelled: bool = True
    ) -> AttributeText:
        """Read a file of attribute text."""
        corpus = crfsuite.read(path, limit, self.encoding, labelled)
        if labelled and not self.partial:
            placeholders.refuse_labels(path, corpus.lines, corpus.labels, self.labels)
        return corpus

    def blocks(
        self, path: str | Path | Stretch, limit: int | None = None
    ) -> Iterator[AttributeText]:
        """Read a training file, or a stretch of it, in blocks."""
        return crfsuite.read_blocks(path, limit, self.encoding)

    def stretches(self, path: str | Path) -> list[Stretch]:
        """Divide training files into stretches."""
        return text_pieces.stretches(path, self.encoding)

    def subset(self, corpus: AttributeText, first: int, last: int) -> AttributeText:
        """Return the instances first <= i < last of a corpus."""
        return corpus.subset(first, last)

    def corpus(self, instances: Sequence[Any]) -> AttributeText:
        """Make an unlabelled corpus: a sentence is a sequence of tokens, in the forms of
        `formats.in_memory`; or a matrix.

        Raises
        ------
        DataError
            See `structopt.formats.in_memory.attributes.attribute_text`.
        """
        return attribute_text(instances)

    def entry_reader(self, missing: Collection[str] = ()) -> EntryReader:
        """Return what reads lists of tokens; nothing for hashed attributes, and for subclasses,
        whose `corpus` may take other forms.
        """
        if not self._has_entries:
            return super().entry_reader(missing)
        return TokenReader(self._attributes)

    @property
    def _has_entries(self) -> bool:
        """Whether attributes are numbered, by the methods of this class."""
        return self.hash_bits is None and type(self) is AttributeLabelling

    def corpus_entries(
        self, corpus: AttributeText, most: int, missing: Collection[str] = ()
    ) -> Entries | None:
        """See `structopt.core.task.Task`."""
        if not self._has_entries or corpus.offsets[-1] > most:
            return None
        table = self._table(corpus)
        counts, starts = np.diff(table.offsets), corpus.offsets.tolist()
        return Entries(np.asarray(table.ids), table.values, counts, starts)

    def labelled(self, instances: Sequence[Any], outputs: Sequence[Any]) -> AttributeText:
        """Make a corpus of sentences, as `corpus` takes them, and lists of labels, one a token."""
        corpus = self.corpus(instances)
        return replace(corpus, labels=self._gold_cells(corpus.offsets, outputs))

    def instances(self, table: Mapping[str, list[Any]]) -> list[Any]:
        """Return the sentences of a table: lists of attributes for each token; with a column
        ``values``, mappings to values.
        """
        if "values" not in table:
            return list(table["tokens"])
        sentences = zip(table["tokens"], table["values"], strict=True)
        return [
            [_summed(*token) for token in zip(*sentence, strict=True)] for sentence in sentences
        ]

    def input_example(self) -> dict[str, list[Any]]:
        """Return two sentences of attributes of the training data."""
        names = list(self._attributes)[:5] or ["attribute"]
        tokens = [[[name] for name in names], [names]]
        return {
            "tokens": tokens,
            "values": [[[1.0] * len(token) for token in sentence] for sentence in tokens],
        }

    def fit(self, corpus: AttributeText, earlier: AttributeLabelling | None = None) -> Encoded:
        """Learn labels and attributes from the training corpus, beside those of an `earlier` task,
        and encode it.

        Raises
        ------
        DataError
            If no token of a file has an attribute.
        """
        if corpus.path != MEMORY and len(corpus.lines) and not len(corpus.ids):
            raise DataError(
                corpus.path,
                int(corpus.lines[0]),
                "no token of this file has an attribute. A line is a label and its attributes, "
                "separated by tabs.",
                remedy="Write tabs, or set task=ner or task=tagging for columns.",
            )
        self._fix_scheme(corpus, _labels_of_sentences(corpus), earlier)
        open_labels = self.partial and any(map(is_open, set(corpus.labels)))
        self._learn_labels(
            self._labels_in_target_scheme(corpus.labels) if open_labels else corpus.labels, earlier
        )
        number_of = None
        if self.hash_bits is None:
            number_of = self._number(
                corpus.attributes, _counts(corpus), () if earlier is None else earlier._attributes
            )
        tables = {"label": self._table(corpus, number_of)}
        if open_labels:
            return self._encoded_with_sets(corpus, tables, corpus.labels)
        self._check_tags(corpus, corpus.labels)
        return self._encoded(corpus, tables, self._gold_labels(corpus))

    def learner(
        self, first: AttributeText, earlier: AttributeLabelling | None = None
    ) -> AttributeLearner:
        """Return what learns as `fit` does."""
        return AttributeLearner(self, earlier)

    def _number(self, names: Sequence[str], counts: Array, known: Collection[str]) -> Array:
        """Number the attributes: those that are known, and then those that are frequent enough, the
        most frequent first.

        Most of what is read belongs to few attributes; rows of weights that stand side by side stay
        in the nearest caches. Returns the numbers of the names, int32; -1 for those that get none.
        """
        order = np.argsort(-counts, kind="stable")
        order = order[counts[order] >= self.min_count]
        kept = [names[j] for j in order.tolist()]
        numbered = dict.fromkeys([*known, *kept]) if known else kept
        self._attributes = dict(zip(numbered, range(len(numbered)), strict=True))
        if known:
            return numbers_of(self._attributes, names)
        number_of = np.full(len(names), -1, np.int32)
        number_of[order] = np.arange(len(order))
        return number_of

    def encode(self, corpus: AttributeText, given: Sequence[str] | None = None) -> Encoded:
        """Encode a corpus with the attributes of the training data; labels of `given` cells are
        kept.
        """
        allowed = None if given is None else self._allowed(corpus, given)
        return self._encoded(
            corpus, {"label": self._table(corpus)}, self._gold_labels(corpus), allowed
        )

    def given_labels(self, corpus: AttributeText) -> list[str] | None:
        """Return the cells of partially labelled input, in the file's scheme."""
        return corpus.labels or None

    def shown_tokens(self, corpus: AttributeText, index: int) -> list[str]:
        """Return the first attribute of every token; empty where it has none."""
        tokens, ends = slice(*corpus.offsets[index : index + 2].tolist()), corpus.attribute_offsets
        bounds = zip(ends[:-1][tokens].tolist(), ends[1:][tokens].tolist(), strict=True)
        return [corpus.attributes[corpus.ids[a]] if a < b else "" for a, b in bounds]

    def missing_columns(self, corpus: AttributeText) -> list[str]:
        """Return none: tokens may lack any attribute."""
        return []

    def boundary(self, probabilities: bool = False) -> Boundary | None:
        """Empty lines stand between sentences."""
        return EMPTY_LINE

    def write(
        self, source: str | Path, target: str | Path, added: Sequence[Sequence[Sequence[str]]]
    ) -> None:
        """Write the label of every token, and the cells to add."""
        crfsuite.write(source, target, added, self.encoding)

    def attribute_names(self, group: str = "label") -> list[str]:
        """Return the names of all attributes of a part group."""
        if group != "label":
            return []
        return list(self._attributes) if self.hash_bits is None else slot_names(self.hash_bits)

    @property
    def hashes_attributes(self) -> bool:
        """See `structopt.core.task.Task`."""
        return self.hash_bits is not None

    def pruned(self, kept: Mapping[str, Array]) -> tuple[AttributeLabelling, Mapping[str, Array]]:
        """See `structopt.core.task.Task`."""
        if "label" not in kept:
            return self, {}
        smaller = copy(self)
        names = [
            name
            for name, keep in zip(self._attributes, kept["label"].tolist(), strict=True)
            if keep
        ]
        smaller._attributes = {name: j for j, name in enumerate(names)}
        return smaller, {"label": kept["label"]}

    def state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return labels, scheme and attribute names."""
        packed, offsets = pack_strings(self._attributes)
        hashed = {} if self.hash_bits is None else {"hash_bits": self.hash_bits}
        return self._label_state() | hashed, {
            "attribute_bytes": packed,
            "attribute_offsets": offsets,
        }

    def restore(self, values: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
        """Restore what `state` returned."""
        state = SavedState(values, arrays)
        self._restore_labels(state)
        self.hash_bits = state.whole("hash_bits", LEAST, MOST) if "hash_bits" in values else None
        self._attributes = {name: j for j, name in enumerate(restored_strings(state, "attribute_"))}

    def _take_scheme(
        self, evidence: tag_schemes.SchemeEvidence, earlier: TokenLabelling | None = None
    ) -> None:
        super()._take_scheme(evidence, earlier)
        self.target_scheme = self.scheme  # labels are learnt as the file has them

    def _detected(
        self, evidence: tag_schemes.SchemeEvidence, earlier: TokenLabelling | None
    ) -> str:
        """The scheme of training tags: that of the earlier task if its prefixes contain theirs,
        because this task does not convert labels.
        """
        scheme = super()._detected(evidence, earlier)
        if earlier is None or earlier.scheme not in tag_schemes.PREFIXES or scheme == "none":
            return scheme
        known = set(tag_schemes.PREFIXES[earlier.scheme])
        if set(earlier.labels) != {"O"} and known >= set(tag_schemes.PREFIXES[scheme]):
            return earlier.scheme
        return scheme

    def _continues(self, earlier: TokenLabelling) -> bool:
        """Whether the labels of an earlier task are tags of the scheme, which may have more
        prefixes.
        """
        if super()._continues(earlier) or "none" in (earlier.scheme, self.scheme):
            return super()._continues(earlier)
        try:
            tag_schemes.check_tags(earlier.labels, self.scheme)
        except tag_schemes.TagError:
            return False
        return True

    def gold_outputs(self, corpus: AttributeText) -> list[list[str]]:
        """Return the gold label sequences of a corpus; DataError at a tag outside the scheme."""
        if not self._scheme_is_open:
            self._check_tags(corpus, corpus.labels)
        return super().gold_outputs(corpus)

    def _file_labels(self, corpus: AttributeText) -> list[str] | None:
        return corpus.labels or None

    def _gold_labels(self, corpus: AttributeText) -> list[str] | None:
        return self._file_labels(corpus)

    def _table(self, corpus: AttributeText, number_of: Array | None = None) -> AttributeTable:
        """The attributes of a corpus; `number_of` are the numbers of its names, where they are
        known already.
        """
        offsets, ids, values = corpus.attribute_offsets, corpus.ids, corpus.values
        if self.hash_bits is not None:
            slots = slots_of(hashes_of(corpus.attributes), self.hash_bits)
            return hashed_rows(offsets, slots[ids] if len(slots) else ids, values, self.hash_bits)
        if number_of is None:
            number_of = numbers_of(self._attributes, corpus.attributes)
        return AttributeTable(
            *renumbered_entries(number_of, offsets, ids, values), len(self._attributes)
        )


def _labels_of_sentences(corpus: AttributeText) -> list[list[str]]:
    bounds = corpus.offsets.tolist()
    return [corpus.labels[a:b] for a, b in zip(bounds[:-1], bounds[1:], strict=True)]


def _counts(corpus: AttributeText) -> Array:
    """How often each attribute of a corpus occurs; counted in stretches, of which each is copied as
    int64.
    """
    counts = np.zeros(len(corpus.attributes), np.int64)
    for begin in range(0, len(corpus.ids), STRETCH):
        counts += np.bincount(corpus.ids[begin : begin + STRETCH], minlength=len(counts))
    return counts


def _summed(names: Sequence[str], values: Sequence[float]) -> dict[str, float]:
    """Return the value of every attribute: the sum if it occurs twice, as in text."""
    sums: dict[str, float] = {}
    for name, value in zip(names, values, strict=True):
        sums[name] = sums.get(name, 0.0) + value
    return sums


class AttributeLearner(Learner):
    """Learns scheme, labels and attributes, in one round."""

    rounds = 1

    def __init__(self, task: AttributeLabelling, earlier: AttributeLabelling | None) -> None:
        self.task, self.earlier = task, earlier

    def gather(
        self, number: int, blocks: Iterable[AttributeText]
    ) -> tuple[tag_schemes.SchemeEvidence, set[str], Counter[str]]:
        """See `structopt.core.storage.learner.Learner`."""
        task, evidence, labels, counts = (
            self.task,
            tag_schemes.SchemeEvidence(),
            set[str](),
            Counter[str](),
        )
        for corpus in blocks:
            labels |= set(corpus.labels)
            if task.scheme == "auto":
                task._add_evidence(evidence, corpus, _labels_of_sentences(corpus))
            else:
                task._check_tags(corpus, corpus.labels)
            if task.hash_bits is None:
                counts.update(dict(zip(corpus.attributes, _counts(corpus).tolist(), strict=True)))
        return evidence, labels, counts

    def take(
        self,
        number: int,
        gathered: Iterable[tuple[tag_schemes.SchemeEvidence, set[str], Counter[str]]],
    ) -> None:
        """See `structopt.core.storage.learner.Learner`."""
        task, evidence, labels, counts = (
            self.task,
            tag_schemes.SchemeEvidence(),
            set[str](),
            Counter[str](),
        )
        for one, some, counted in gathered:
            evidence.merge(one)
            labels |= some
            counts.update(counted)
        task._take_scheme(evidence, self.earlier)
        task._learn_labels(sorted(labels), self.earlier)
        if task.hash_bits is None:
            numbers = np.fromiter(counts.values(), np.int64, len(counts))
            task._number(
                list(counts), numbers, () if self.earlier is None else self.earlier._attributes
            )
