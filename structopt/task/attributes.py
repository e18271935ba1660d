"""Labels of tokens whose attributes are in the file, in CRFsuite's attribute text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict

import numpy as np

from structopt.core.data.attribute_table import AttributeTable
from structopt.core.data.encoded import Encoded
from structopt.core.data.saved_state import SavedState
from structopt.core.data.table_schema import Column, Schema
from structopt.errors import ConfigError
from structopt.formats import crfsuite, tag_schemes
from structopt.formats.crfsuite import AttributeText
from structopt.formats.instances_in_memory import MEMORY, Form, shown
from structopt.formats.string_arrays import pack_strings, restored_strings
from structopt.kernels.waist.record import Array
from structopt.task.attribute_entries import known_entries
from structopt.task.key_checks import check_keys
from structopt.task.partial_labels import is_open
from structopt.task.token_labelling import TokenLabelling
from structopt.templates.attribute_hashes import LEAST, MOST, check_bits, hashed_rows, hashes_of, slot_names, slots_of

FORM = Form(
    "sentence",
    "Give a list of sentences, each a list of tokens, each a list of attributes: [[['word=Ann', 'upper'], ['word=slept']]], "
    "or a mapping from attribute to value: [[{'word=Ann': 1.0, 'length': 3.0}]].",
)


class Reading(TypedDict, total=False):
    """The keys of the config's node ``features`` that this task takes."""

    min_count: int
    hash_bits: int | None


class AttributeLabelling(TokenLabelling):
    """One label a token from the attributes in the file, ``label TAB attribute[:value] TAB ...``; learnt in the file's scheme.

    Parameters
    ----------
    train, dev, test, limit, encoding, scheme, valid_tags, default_C, default_C_by, partial
        See `structopt.task.token_labelling.TokenLabelling`; the scheme matters to scores and constraints only.
    features : mapping
        ``min_count``: attributes that occur less often in training are left out. ``hash_bits``: attributes are hashed into
        2^hash_bits slots, without a vocabulary.
    """

    reading = Reading
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
    ) -> None:
        super().__init__(train, dev, test, limit, encoding, scheme, "none", valid_tags, default_C, default_C_by, partial)
        check_keys("features", features or {}, Reading.__annotations__)
        self.min_count = int((features or {}).get("min_count", 1))
        if self.min_count < 1:
            raise ConfigError(f"features.min_count={self.min_count} must be at least 1.")
        self.hash_bits: int | None = (features or {}).get("hash_bits")
        check_bits(self.hash_bits, self.min_count)
        self._attributes: dict[str, int] = {}

    def read(self, path: str | Path, limit: int | None = None, labelled: bool = True) -> AttributeText:
        """Read a file of attribute text."""
        return crfsuite.read(path, limit, self.encoding)

    def blocks(self, path: str | Path, limit: int | None = None) -> Iterator[AttributeText]:
        """Read a training file in blocks."""
        return crfsuite.read_blocks(path, limit, self.encoding)

    def corpus(self, instances: Sequence[Any]) -> AttributeText:
        """Make an unlabelled corpus: a sentence is a sequence of tokens, a token a list of names or a mapping to values.

        Raises
        ------
        DataError
            A string for a sentence or a token, a name that is no string, a value that is no finite number.
        """
        sentences = [_tokens(sentence, number) for number, sentence in enumerate(FORM.listed(instances), 1)]
        tokens = [token for sentence in sentences for token in sentence]
        names = {name: j for j, name in enumerate(dict.fromkeys(name for token in tokens for name in token))}
        values = np.array([value for token in tokens for value in token.values()])
        return AttributeText(
            path=MEMORY,
            offsets=np.cumsum([0, *map(len, sentences)]).astype(np.int64),
            attribute_offsets=np.cumsum([0, *map(len, tokens)]).astype(np.int64),
            attributes=list(names),
            ids=np.array([names[name] for token in tokens for name in token], np.int32),
            values=None if (values == 1.0).all() else values,
            labels=[],
            lines=np.arange(1, len(tokens) + 1),
        )

    def instances(self, table: Mapping[str, list[Any]]) -> list[Any]:
        """Return the sentences of a table: lists of attributes for each token; with a column ``values``, mappings to values."""
        if "values" not in table:
            return list(table["tokens"])
        sentences = zip(table["tokens"], table["values"], strict=True)
        return [[dict(zip(*token, strict=True)) for token in zip(*sentence, strict=True)] for sentence in sentences]

    def input_example(self) -> dict[str, list[Any]]:
        """Return two sentences of attributes of the training data."""
        names = list(self._attributes)[:5] or ["attribute"]
        tokens = [[[name] for name in names], [names]]
        return {"tokens": tokens, "values": [[[1.0] * len(token) for token in sentence] for sentence in tokens]}

    def fit(self, corpus: AttributeText, earlier: AttributeLabelling | None = None) -> Encoded:
        """Learn labels and attributes from the training corpus, beside those of an `earlier` task, and encode it."""
        bounds = corpus.offsets.tolist()
        self._fix_scheme([corpus.labels[a:b] for a, b in zip(bounds[:-1], bounds[1:], strict=True)], earlier)
        if self.scheme != "none":
            self.target_scheme = self.scheme
        open_labels = self.partial and any(map(is_open, set(corpus.labels)))
        self._learn_labels(self._labels_in_target_scheme(corpus.labels) if open_labels else corpus.labels, earlier)
        counts: Counter[str] = Counter()
        if self.hash_bits is None:
            self._count(corpus, counts)
        self._number(counts, () if earlier is None else earlier._attributes)
        if open_labels:
            return self._encoded_with_sets(corpus, {"label": self._table(corpus)}, corpus.labels)
        return self.encode(corpus)

    def learn(self, blocks: Callable[[], Iterator[AttributeText]]) -> None:
        """Learn what `fit` learns, of one block after the other."""
        evidence, labels, counts = tag_schemes.SchemeEvidence(), set[str](), Counter[str]()
        for corpus in blocks():
            labels |= set(corpus.labels)
            if self.scheme == "auto":
                bounds = corpus.offsets.tolist()
                evidence.add([corpus.labels[a:b] for a, b in zip(bounds[:-1], bounds[1:], strict=True)])
            if self.hash_bits is None:
                self._count(corpus, counts)
        self._take_scheme(evidence)
        if self.scheme != "none":
            self.target_scheme = self.scheme
        self._learn_labels(sorted(labels))
        self._number(counts, ())

    def _count(self, corpus: AttributeText, counts: Counter[str]) -> None:
        """Count the attributes of a corpus; the counter has them in the order of their first occurrences."""
        numbers = np.bincount(corpus.ids, minlength=len(corpus.attributes)).tolist()
        counts.update(dict(zip(corpus.attributes, numbers, strict=True)))

    def _number(self, counts: Mapping[str, int], known: Iterable[str]) -> None:
        """Number the attributes that are known or frequent enough."""
        kept = (name for name, count in counts.items() if count >= self.min_count)
        self._attributes = {name: j for j, name in enumerate(dict.fromkeys([*known, *kept]))}

    def encode(self, corpus: AttributeText, given: Sequence[str] | None = None) -> Encoded:
        """Encode a corpus with the attributes of the training data; labels of `given` cells are kept."""
        allowed = None if given is None else self._allowed(corpus, given)
        return self._encoded(corpus, {"label": self._table(corpus)}, self._gold_labels(corpus), allowed)

    def given_labels(self, corpus: AttributeText) -> list[str] | None:
        """Return the cells of partially labelled input, in the file's scheme."""
        return corpus.labels or None

    def missing_columns(self, corpus: AttributeText) -> list[str]:
        """Return none: tokens may lack any attribute."""
        return []

    def write(self, source: str | Path, target: str | Path, added: Sequence[Sequence[Sequence[str]]]) -> None:
        """Write the label of every token, and the cells to add."""
        crfsuite.write(source, target, added, self.encoding)

    def attribute_names(self, group: str = "label") -> list[str]:
        """Return the names of all attributes of a part group."""
        if group != "label":
            return []
        return list(self._attributes) if self.hash_bits is None else slot_names(self.hash_bits)

    def state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return labels, scheme and attribute names."""
        packed, offsets = pack_strings(self._attributes)
        hashed = {} if self.hash_bits is None else {"hash_bits": self.hash_bits}
        return self._label_state() | hashed, {"attribute_bytes": packed, "attribute_offsets": offsets}

    def restore(self, values: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
        """Restore what `state` returned."""
        state = SavedState(values, arrays)
        self._restore_labels(state)
        self.hash_bits = state.whole("hash_bits", LEAST, MOST) if "hash_bits" in values else None
        self._attributes = {name: j for j, name in enumerate(restored_strings(state, "attribute_"))}

    def _file_labels(self, corpus: AttributeText) -> list[str] | None:
        return corpus.labels or None

    def _gold_labels(self, corpus: AttributeText) -> list[str] | None:
        return self._file_labels(corpus)

    def _table(self, corpus: AttributeText) -> AttributeTable:
        offsets, ids, values = corpus.attribute_offsets, corpus.ids, corpus.values
        if self.hash_bits is not None:
            slots = slots_of(hashes_of(corpus.attributes), self.hash_bits)
            return hashed_rows(offsets, slots[ids] if len(slots) else ids, values, self.hash_bits)
        return AttributeTable(*known_entries(self._attributes, corpus.attributes, offsets, ids, values), len(self._attributes))


def _tokens(sentence: Any, number: int) -> list[dict[str, float]]:
    """Attributes and values of the tokens of a sentence in memory."""
    if isinstance(sentence, Mapping):
        raise FORM.refused(number, f"a sentence is one mapping, {shown(sentence)}")
    tokens = []
    for token in FORM.elements(number, sentence):
        values = token if isinstance(token, Mapping) else dict.fromkeys(FORM.elements(number, token, "token"), 1.0)
        FORM.strings(number, "attributes", values)
        tokens.append({name: FORM.number(number, f"'{name}'", value) for name, value in values.items()})
    return tokens
