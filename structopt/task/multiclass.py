"""Multiclass classification of sparse vectors: one label an instance, from LIBSVM's files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypedDict

import numpy as np

from structopt.core.data.attribute_table import AttributeTable
from structopt.core.data.encoded import Encoded
from structopt.core.data.table_schema import Column, Schema, vector_columns, vectors
from structopt.errors import ConfigError, DataError
from structopt.formats.string_arrays import pack_strings, unpack_strings
from structopt.formats.vectors import libsvm
from structopt.formats.vectors.libsvm import NO_LABEL, Vectors, label_order
from structopt.kernels.waist.record import Array
from structopt.metrics.outcomes import RIGHT, Outcomes, classes_of, label_events, macro_f1
from structopt.task.labelling import check_keys
from structopt.task.split_files import checked_paths, files_of
from structopt.task.vector_attributes import unit_rows
from structopt.task.whole_inputs import WholeInputs

NORMS = ("none", "unit")
BIAS = "bias"


class Reading(TypedDict, total=False):
    """Keys of the node ``features`` that are read here."""

    min_count: int
    bias: bool
    normalize: Literal["none", "unit"]


class Multiclass(WholeInputs):
    """One class an instance from its attributes, ``class index:value index:value ...`` (LIBSVM's format).

    Parameters
    ----------
    train, dev, test : str or None
        Files, plain or .gz. Without `train`, the small corpus shipped with the package takes the place of all three.
    limit : int or None
        Number of training instances to read.
    encoding : str
        Encoding of the files.
    default_C : float
        C for optimizers that are not given one.
    default_C_by : mapping or None
        The same for kinds of optimizers: ``optimum`` (those that reach it), ``gradient``. A kind that is left out takes
        `default_C`.
    features : mapping
        ``min_count``: attributes that occur in fewer training instances are left out. ``bias``: an attribute that every
        instance has. ``normalize``: none, or unit (every vector, the bias apart, is divided by its Euclidean norm).
    """

    reading = Reading

    columns = ("vector",)
    input_schema = vector_columns("indices", "long")
    output_schema = Schema((Column("labels", "string"),))
    main_metric = "accuracy"
    unit = "instances"

    def __init__(
        self,
        train: str | None = None,
        dev: str | None = None,
        test: str | None = None,
        limit: int | None = None,
        encoding: str = "utf8",
        default_C: float = 1.0,
        features: Mapping[str, Any] | None = None,
        default_C_by: Mapping[str, float] | None = None,
    ) -> None:
        features = features or {}
        check_keys("features", features, Reading.__annotations__)
        self._paths = checked_paths(train, dev, test, limit)
        self.limit, self.encoding, self.default_C = limit, encoding, default_C
        self.default_C_by = dict(default_C_by or {})
        self.min_count, self.bias = int(features.get("min_count", 1)), bool(features.get("bias", True))
        self.normalize = str(features.get("normalize", "none"))
        if self.min_count < 1:
            raise ConfigError(f"features.min_count={self.min_count} must be at least 1.")
        if self.normalize not in NORMS:
            raise ConfigError(f"features.normalize={self.normalize} is none of: {', '.join(NORMS)}.")
        self.labels: tuple[str, ...] = ()
        self._attributes: dict[str, int] = {}

    @property
    def files(self) -> dict[str, Path]:
        """Files by role (train, dev, test), the shipped corpus where none is given."""
        return files_of(self._paths, "libsvm")

    def read(self, path: str | Path, limit: int | None = None, labelled: bool = True) -> Vectors:
        """Read a file of LIBSVM's text."""
        return libsvm.read(path, limit, labelled, self.encoding)

    def corpus(self, instances: Sequence[Any]) -> Vectors:
        """Make an unlabelled corpus of mappings from index to value, or of rows of values.

        The first value of a row has index 0 if training had an index 0, else index 1.
        """
        return libsvm.vectors(instances, first=0 if "0" in self._attributes else 1)

    def instances(self, table: Mapping[str, list[Any]]) -> list[Any]:
        """Vectors from a table: mappings from index to value."""
        return vectors(table)

    def input_example(self) -> dict[str, list[Any]]:
        """Two vectors of indices that training has shown."""
        indices = [int(index) for index in list(self._attributes)[:3]] or [1]
        return {"indices": [indices, indices[:1]], "values": [[1.0] * len(indices), [0.5]]}

    def output_table(self, outputs: Sequence[str]) -> dict[str, list[Any]]:
        """The class of every vector."""
        return {"labels": list(outputs)}

    def fit(self, corpus: Vectors, earlier: Multiclass | None = None) -> Encoded:
        """Learn classes and attributes from the training corpus, beside those of an `earlier` task, and encode it."""
        if not len(corpus.ids):
            advice = "write label index:value index:value ..., or check that this is LIBSVM's format."
            raise DataError(corpus.path, None, f"no line has an index:value pair: {advice}")
        labels, known = ((), ()) if earlier is None else (earlier.labels, tuple(earlier._attributes))
        self.labels = tuple(sorted({*corpus.labels, *labels}, key=label_order))
        counts = np.bincount(corpus.ids, minlength=len(corpus.indices)).tolist()
        kept = [index for index, count in zip(corpus.indices, counts, strict=True) if count >= self.min_count]
        self._attributes = {index: j for j, index in enumerate(sorted({*kept, *known}, key=int))}
        return self.encode(corpus)

    def encode(self, corpus: Vectors, given: Sequence[str] | None = None) -> Encoded:
        """Encode a corpus with the attributes seen in training."""
        self._refuse_given(given)
        numbers = {label: y for y, label in enumerate(self.labels)}
        gold = np.array([numbers.get(label, -1) for label in corpus.labels], np.int32) if _labelled(corpus) else None
        return Encoded(np.arange(len(corpus) + 1, dtype=np.int64), {"label": self._table(corpus)}, self.labels, gold)

    def decode(self, encoded: Encoded, view: Array) -> list[str]:
        """Classes from their numbers, one an instance."""
        return [self.labels[y] for y in view.tolist()]

    def outcomes(self, corpus: Vectors, predicted: Sequence[str]) -> Outcomes:
        """What every instance adds to the scores: itself, and that its class is right, found and gold."""
        gold = self._gold(corpus)
        numbers = {label: y for y, label in enumerate(sorted({*gold, *predicted}, key=label_order))}
        classes = [np.array([numbers[label] for label in labels], np.int64) for labels in (gold, predicted)]
        events = label_events(np.arange(len(gold)), *classes)
        return Outcomes.of_classes(np.ones((len(gold), 1)), events, len(numbers), _scores)

    def report(self, corpus: Vectors, predicted: Sequence[str]) -> str:
        """Scores as a table to read, a line a class, in per cent."""
        metrics, gold = self.evaluate(corpus, predicted), Counter(corpus.labels)
        found, width = Counter(predicted), max(map(len, ["class", *gold, *predicted]))
        lines = [
            f"{len(predicted)} instances; accuracy: {100 * metrics['accuracy']:.2f}%; macro F1: {100 * metrics['macro_f1']:.2f}",
            f"{'class':>{width}}  precision  recall      F1   found    gold",
        ]
        for label, (precision, recall, f1) in _f1_scores(self._gold(corpus), predicted).items():
            scores = f"{100 * precision:9.2f}  {100 * recall:6.2f}  {100 * f1:6.2f}"
            lines.append(f"{label:>{width}}  {scores}  {found[label]:6}  {gold[label]:6}")
        return "\n".join(lines) + "\n"

    def write_outputs(
        self,
        corpus: Vectors,
        target: str | Path,
        outputs: Sequence[str],
        probabilities: Sequence[Array] | None = None,
        ranked: Sequence[Sequence[tuple[float, str]]] | None = None,
        k_best: int = 1,
    ) -> None:
        """Write the class of every instance, a line each, as LIBSVM's svm-predict does.

        With probabilities a first line ``labels a b c`` names their order, and each class is followed by them; then come
        the `ranked` classes from the best on.
        """
        rows = [[label] for label in outputs]
        for row, table in zip(rows, probabilities or [], strict=False):
            row.extend(f"{p:g}" for p in table[0])
        for row, best in zip(rows, ranked or [], strict=False):
            row.extend(label for _, label in best)
        header = [] if probabilities is None else [["labels", *self.labels]]
        libsvm.write(target, header + rows, self.encoding)

    def vocabulary(self) -> dict[str, list[str]]:
        """The classes."""
        return {"labels": list(self.labels)}

    def attribute_names(self, group: str = "label") -> list[str]:
        """Indices of the attributes, and the bias at the end."""
        return [*self._attributes, *([BIAS] if self.bias else [])] if group == "label" else []

    def state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Classes, indices, and what is done to vectors."""
        packed, offsets = pack_strings(self._attributes)
        values = {"labels": list(self.labels), "bias": self.bias, "normalize": self.normalize}
        return values, {"index_bytes": packed, "index_offsets": offsets}

    def restore(self, values: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
        """Take back what `state` gave."""
        self.labels = tuple(values["labels"])
        self.bias, self.normalize = values["bias"], values["normalize"]
        names = unpack_strings(arrays["index_bytes"], arrays["index_offsets"])
        self._attributes = {name: j for j, name in enumerate(names)}

    def _table(self, corpus: Vectors) -> AttributeTable:
        """Rows of known attributes, normalised as they stand in the file, the bias at the end of each."""
        numbers = np.array([self._attributes.get(index, -1) for index in corpus.indices], np.int32)
        ids = numbers[corpus.ids] if len(numbers) else corpus.ids
        values = unit_rows(corpus.offsets, corpus.values) if self.normalize == "unit" else corpus.values
        known = ids >= 0
        before = np.concatenate([[0], np.cumsum(known)]).astype(np.int64)
        offsets, ids, values = before[corpus.offsets], ids[known], values[known]
        if self.bias:
            ends, offsets = offsets[1:], offsets + np.arange(len(offsets))
            ids, values = np.insert(ids, ends, len(self._attributes)), np.insert(values, ends, 1.0)
        return AttributeTable(offsets, ids, None if (values == 1.0).all() else values, len(self._attributes) + self.bias)

    def _gold(self, corpus: Vectors) -> list[str]:
        if not _labelled(corpus):
            raise DataError(corpus.path, None, "has no labels to compare with; give a file with a label on every line.")
        return corpus.labels


def _labelled(corpus: Vectors) -> bool:
    return NO_LABEL not in corpus.labels


def _scores(totals: Array) -> dict[str, float]:
    classes = classes_of(totals, 1)
    return {"accuracy": float(classes[:, RIGHT].sum() / totals[0]), "macro_f1": macro_f1(classes)}


def _f1_scores(gold: Sequence[str], predicted: Sequence[str]) -> dict[str, tuple[float, float, float]]:
    """Precision, recall and F1 of each class that is gold or predicted somewhere; 0/0 is 0."""
    wanted, found = Counter(gold), Counter(predicted)
    right = Counter(a for a, b in zip(gold, predicted, strict=True) if a == b)
    return {
        label: (
            right[label] / max(found[label], 1),
            right[label] / max(wanted[label], 1),
            2 * right[label] / (found[label] + wanted[label]),
        )
        for label in sorted(wanted | found, key=label_order)
    }
