"""Multiclass classification of sparse vectors: one class an instance, from LIBSVM's files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, TypedDict

import numpy as np

from structopt.core import checks
from structopt.core.data.attribute_table import AttributeTable
from structopt.core.data.boundaries import LINE, Boundary
from structopt.core.data.encoded import Encoded
from structopt.core.data.file_sets import FileSet
from structopt.core.data.in_memory import is_missing
from structopt.core.data.saved_state import SavedState
from structopt.core.data.table_schema import Column, Schema, vector_columns, vectors
from structopt.errors import ConfigError, DataError
from structopt.formats.string_arrays import pack_strings, restored_strings
from structopt.formats.vectors import libsvm
from structopt.formats.vectors.libsvm import NO_LABEL, Vectors, label_order, plain_label
from structopt.formats.vectors.vectors_in_memory import vectors as vectors_in_memory
from structopt.kernels.waist.record import Array
from structopt.metrics.f1 import class_counts, class_table, macro_f1
from structopt.metrics.instance_counts import RIGHT, InstanceCounts, label_events
from structopt.task.attribute_entries import (
    columns_apart,
    dense_flag,
    is_dense,
    known_entries,
    unit_rows,
    with_bias,
)
from structopt.task.key_checks import check_keys
from structopt.task.outputs_in_memory import GIVEN, GOLD, kept_states, label_number
from structopt.task.split_files import checked_paths, files_of
from structopt.task.whole_outputs import WholeOutputs

NORMS = ("none", "unit")
BIAS = "bias"


class Reading(TypedDict, total=False):
    """The keys of the config's node ``features`` that this task takes."""

    min_count: int
    bias: bool
    normalize: Literal["none", "unit"]


class Multiclass(WholeOutputs):
    """One class an instance from its attributes, ``class index:value index:value ...`` (LIBSVM's
    format).

    Parameters
    ----------
    train, dev, test : str or None
        Files, plain or .gz. Without `train`, the small corpus shipped with the package is used for
        all three.
    limit : int or None
        Number of training instances to read.
    encoding : str
        Encoding of the files.
    default_C : float
        C for optimizers that are not given one.
    default_C_by : mapping or None
        The same for kinds of optimizers: ``optimum`` (those that reach it), ``gradient``. A kind
        that is left out takes `default_C`.
    features : mapping
        ``min_count``: attributes that occur in fewer training instances are left out. ``bias``: an
        attribute that every instance has. ``normalize``: none, or unit (every vector, the bias
        apart, is divided by its Euclidean norm).
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
        self.min_count, self.bias = (
            int(features.get("min_count", 1)),
            bool(features.get("bias", True)),
        )
        self.normalize = str(features.get("normalize", "none"))
        if self.min_count < 1:
            raise ConfigError(
                "must be at least 1.",
                parameter="features.min_count",
                value=self.min_count,
            )
        if self.normalize not in NORMS:
            raise ConfigError(
                f"is none of: {', '.join(NORMS)}.",
                parameter="features.normalize",
                value=self.normalize,
            )
        self.labels: tuple[str, ...] = ()
        self._attributes: dict[str, int] = {}
        self._dense = False

    @property
    def files(self) -> dict[str, Path | FileSet]:
        """The files by split (train, dev, test); those of the shipped corpus if no training file is
        typed.
        """
        return files_of(self._paths, "libsvm")

    def read(self, path: str | Path, limit: int | None = None, labelled: bool = True) -> Vectors:
        """Read a file of LIBSVM's text."""
        return libsvm.read(path, limit, labelled, self.encoding)

    def subset(self, corpus: Vectors, first: int, last: int) -> Vectors:
        """Return the instances first <= i < last of a corpus."""
        return corpus.subset(first, last)

    def corpus(self, instances: Sequence[Any]) -> Vectors:
        """Make an unlabelled corpus of mappings from index to value, or of rows of values.

        The first value of a row has index 0 if training had an index 0, else index 1.
        """
        return vectors_in_memory(instances, first=0 if "0" in self._attributes else 1)

    def labelled(self, instances: Sequence[Any], outputs: Sequence[Any]) -> Vectors:
        """Make a corpus of vectors, as `corpus` takes them, and classes, one an instance."""
        corpus = self.corpus(instances)
        classes = GOLD.listed(outputs, len(corpus), "['sport', 'law']")
        if unknown := [
            number
            for number, label in enumerate(classes, 1)
            if is_missing(label) or str(label) == NO_LABEL
        ]:
            raise GOLD.refused(unknown[0], "the instance has no class. Give one.")
        return replace(corpus, labels=[plain_label(str(label)) for label in classes])

    def instances(self, table: Mapping[str, list[Any]]) -> list[Any]:
        """Return the vectors of a table: mappings from index to value."""
        return vectors(table)

    def input_example(self) -> dict[str, list[Any]]:
        """Return two vectors of indices of the training data."""
        indices = [int(index) for index in list(self._attributes)[:3]] or [1]
        return {"indices": [indices, indices[:1]], "values": [[1.0] * len(indices), [0.5]]}

    def output_table(self, outputs: Sequence[str]) -> dict[str, list[Any]]:
        """Return the class of every vector."""
        return {"labels": list(outputs)}

    def fit(self, corpus: Vectors, earlier: Multiclass | None = None) -> Encoded:
        """Learn classes and attributes from the training corpus, beside those of an `earlier` task,
        and encode it.
        """
        if not len(corpus.ids):
            advice = (
                "write label index:value index:value ..., or check that this is LIBSVM's format."
            )
            raise DataError(
                corpus.path,
                None,
                "no line has an index:value pair",
                remedy=advice,
            )
        labels, known = (
            ((), ()) if earlier is None else (earlier.labels, tuple(earlier._attributes))
        )
        self.labels = tuple(sorted({*corpus.labels, *labels}, key=label_order))
        counts = np.bincount(corpus.ids, minlength=len(corpus.indices)).tolist()
        kept = [
            index
            for index, count in zip(corpus.indices, counts, strict=True)
            if count >= self.min_count
        ]
        self._attributes = {index: j for j, index in enumerate(sorted({*kept, *known}, key=int))}
        entries = len(
            known_entries(self._attributes, corpus.indices, corpus.offsets, corpus.ids, None)[1]
        )
        self._dense = is_dense(entries, len(corpus), len(self._attributes))
        return self.encode(corpus)

    def encode(self, corpus: Vectors, given: Sequence[int | None] | None = None) -> Encoded:
        """Encode a corpus with the classes and attributes of the training data; `given` classes are
        kept.
        """
        numbers = {label: y for y, label in enumerate(self.labels)}
        gold = (
            np.array([numbers.get(label, -1) for label in corpus.labels], np.int32)
            if _labelled(corpus)
            else None
        )
        allowed = None if given is None else kept_states(given, len(self.labels))
        table, offsets = self._table(corpus), np.arange(len(corpus) + 1, dtype=np.int64)
        table, dense = columns_apart(table, self.bias) if self._dense else (table, ())
        return Encoded(
            offsets, {"label": table}, self.labels, gold, allowed, dense={"label": dense}
        )

    def kept_outputs(self, corpus: Vectors, outputs: Sequence[Any]) -> list[int | None]:
        """Return the numbers of classes, None where they are open."""
        entries = enumerate(GIVEN.listed(outputs, len(corpus), "['1', None]"))
        return [
            None if label is None else label_number(label, self.labels, checks.of_instance((i,)))
            for i, label in entries
        ]

    def marginal_columns(
        self, encoded: Encoded, index: int, choices: Mapping[str, Array]
    ) -> dict[str, Any]:
        """Return the columns ``label`` and ``probability``."""
        columns = super().marginal_columns(encoded, index, choices)
        return {name: columns[name] for name in ("label", "probability")}

    def decode(self, encoded: Encoded, view: Array) -> list[str]:
        """Return classes from their numbers, one an instance."""
        return [self.labels[y] for y in view.tolist()]

    def outcomes(self, corpus: Vectors, predicted: Sequence[str]) -> InstanceCounts:
        """Return the counts of every instance: 1, and for its classes right, predicted and gold."""
        return self._class_outcomes(corpus, predicted)[1]

    def report(self, corpus: Vectors, predicted: Sequence[str]) -> str:
        """Return the scores as a table of text, a line a class, in per cent."""
        classes, outcomes = self._class_outcomes(corpus, predicted)
        scores, width = outcomes.scores(), max(map(len, ["class", *classes]))
        lines = [
            f"{len(predicted)} instances; accuracy: {100 * scores['accuracy']:.2f}%; macro F1: "
            f"{100 * scores['macro_f1']:.2f}",
            f"{'class':>{width}}  precision  recall      F1   found    gold",
        ]
        for name, counts in zip(
            classes, class_counts(class_table(outcomes.totals(), 1)), strict=True
        ):
            lines.append(
                f"{name:>{width}}  {counts.percentages()}  {counts.predicted:6}  {counts.gold:6}"
            )
        return "\n".join(lines) + "\n"

    def boundary(self, probabilities: bool = False) -> Boundary | None:
        """An instance a line; the names of probabilities stand at the head."""
        return replace(LINE, heading=int(probabilities))

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

        With probabilities a first line ``labels a b c`` names their order, and each class is
        followed by them; then come the `ranked` classes from the best on.
        """
        rows = [[label] for label in outputs]
        for row, table in zip(rows, probabilities or [], strict=False):
            row.extend(f"{p:g}" for p in table[0])
        for row, best in zip(rows, ranked or [], strict=False):
            row.extend(label for _, label in best)
        header = [] if probabilities is None else [["labels", *self.labels]]
        libsvm.write(target, header + rows, self.encoding)

    def vocabulary(self) -> dict[str, list[str]]:
        """Return the classes."""
        return {"labels": list(self.labels)}

    def attribute_names(self, group: str = "label") -> list[str]:
        """Return the indices of the attributes; the bias first where the others are a dense table,
        else last.
        """
        if group != "label":
            return []
        bias = [BIAS] if self.bias else []
        return [*bias, *self._attributes] if self._dense else [*self._attributes, *bias]

    def state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return classes, indices, and the options for vectors."""
        packed, offsets = pack_strings(self._attributes)
        values = {
            "labels": list(self.labels),
            "bias": self.bias,
            "normalize": self.normalize,
            "dense": self._dense,
        }
        return values, {"index_bytes": packed, "index_offsets": offsets}

    def restore(self, values: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
        """Restore what `state` returned."""
        state = SavedState(values, arrays)
        self.labels = tuple(state.strings("labels", least=1))
        self.bias, self.normalize = state.flag("bias"), state.string("normalize", NORMS)
        self._attributes = {name: j for j, name in enumerate(restored_strings(state, "index_"))}
        self._dense = dense_flag(state)

    def _table(self, corpus: Vectors) -> AttributeTable:
        """Rows of known attributes, the bias last; vectors are normalised with all attributes that
        they have in the file.
        """
        values = (
            unit_rows(corpus.offsets, corpus.values) if self.normalize == "unit" else corpus.values
        )
        offsets, ids, known = known_entries(
            self._attributes, corpus.indices, corpus.offsets, corpus.ids, values
        )
        assert known is not None
        if self.bias:
            offsets, ids, known = with_bias(offsets, ids, known, len(self._attributes))
        return AttributeTable(
            offsets, ids, None if (known == 1.0).all() else known, len(self._attributes) + self.bias
        )

    def _class_outcomes(
        self, corpus: Vectors, predicted: Sequence[str]
    ) -> tuple[list[str], InstanceCounts]:
        """The classes that are gold or predicted, in order, and the counts of every instance."""
        gold = self._gold(corpus)
        classes = sorted({*gold, *predicted}, key=label_order)
        numbers = {label: y for y, label in enumerate(classes)}
        events = label_events(
            np.arange(len(gold)),
            *(np.array([numbers[y] for y in one], np.int64) for one in (gold, predicted)),
        )
        return classes, InstanceCounts.of_classes(
            np.ones((len(gold), 1)), events, len(classes), _scores
        )

    def _gold(self, corpus: Vectors) -> list[str]:
        if not _labelled(corpus):
            raise DataError(
                corpus.path,
                None,
                "has no labels to compare with.",
                remedy="Give a file with a label on every line.",
            )
        return corpus.labels


def _labelled(corpus: Vectors) -> bool:
    return NO_LABEL not in corpus.labels


def _scores(totals: Array) -> dict[str, float]:
    classes = class_table(totals, 1)
    return {"accuracy": float(classes[:, RIGHT].sum() / totals[0]), "macro_f1": macro_f1(classes)}
