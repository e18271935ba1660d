"""Multi-label classification: a set of labels an instance, from Mulan's ARFF files or LIBSVM's
multi-label text.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, TypedDict

import numpy as np

from structopt.core import checks
from structopt.core.data.boundaries import LINE, Boundary
from structopt.core.data.encoded import EncodedGraphs
from structopt.core.data.file_sets import FileSet
from structopt.core.data.saved_state import SavedState
from structopt.core.data.table_schema import Column, Schema, vector_columns
from structopt.core.data.table_schema import vectors as vectors_of_table
from structopt.errors import ConfigError, DataError
from structopt.formats.in_memory.instances import shown
from structopt.formats.string_arrays import pack_strings, restored_strings
from structopt.formats.vectors import arff_writer, libsvm_multilabel, mulan
from structopt.formats.vectors.labelled_vectors import LabelledVectors, indicators
from structopt.formats.vectors.libsvm import label_order, plain_label
from structopt.formats.vectors.vectors_in_memory import FORM, named_values
from structopt.formats.vectors.vectors_in_memory import vectors as vectors_in_memory
from structopt.kernels.waist.record import Array
from structopt.metrics import label_sets
from structopt.metrics.instance_counts import InstanceCounts
from structopt.task.configuration_names import Configuration, of_edges, of_variables
from structopt.task.gold.lists import gold_sets
from structopt.task.key_checks import check_keys
from structopt.task.outputs_in_memory import GIVEN, kept_states, label_number
from structopt.task.split_files import checked_paths, files_of
from structopt.task.vector_attributes import AttributeColumns
from structopt.task.whole_outputs import WholeOutputs

log = logging.getLogger(__name__)

STATES = ("0", "1")


class Reading(TypedDict, total=False):
    """The keys of the config's node ``features`` that this task takes."""

    min_count: int
    bias: bool
    standardize: Literal["none", "columns"]
    normalize: Literal["none", "unit"]


class Multilabel(WholeOutputs):
    """Any number of labels an instance: one binary variable a label.

    All instances have the same variables, and each variable has its own weights, for the attributes
    of the instance and its two states. The factor graph decides about edges: with
    factor_graph.edges=complete, which this task's YAML chooses, there is one between every two
    labels, with its own weight for every pair of states; or there is none.

    Parameters
    ----------
    train, dev, test : str or None
        Files, plain or .gz. Without `train`, the small corpus shipped with the package is used for
        all three.
    limit : int or None
        Number of training instances to read.
    encoding : str
        Encoding of the files.
    format : str
        Format of the files: arff, libsvm, or auto (arff where the name ends in .arff or .arff.gz,
        else libsvm).
    labels : int, str or None
        Of ARFF training files: how many of the last columns are labels, or the XML file that names
        them; None: the XML file of the same name, with or without a last ``-train``, else the
        number that MEKA's ``-C`` gives.
        Other files have columns of the same names.
    most_frequent : int or None
        Number of labels to keep, the most frequent ones of the training data; None keeps all. The
        others are ignored, in scores too, and so are labels that only other files have; instances
        without a label are kept.
    default_C : float
        C for optimizers that are not given one.
    default_C_by : mapping or None
        The same for kinds of optimizers: ``optimum`` (those that reach it), ``gradient``. A kind
        that is left out takes `default_C`.
    partial : bool
        Whether the training file may leave labels open: ``?`` in a label column of ARFF; in
        LIBSVM's text ``?a`` for the label a, and ``?`` for all that the line does not name.
    features : mapping
        ``min_count``: attributes of fewer training instances are left out. ``bias``: whether each
        instance has one more attribute of value 1. ``standardize``: ``columns`` subtracts means and
        divides by deviations, ``none`` does not. ``normalize``: ``unit`` scales instances to length
        1, ``none`` does not.
    """

    reading = Reading

    columns = ("vector",)
    main_metric = "micro_f1"
    unit = "labels"
    labels = STATES
    output_schema = Schema((Column("labels", "string", 1),))

    def __init__(
        self,
        train: str | None = None,
        dev: str | None = None,
        test: str | None = None,
        limit: int | None = None,
        encoding: str = "utf8",
        format: Literal["auto", "arff", "libsvm"] = "auto",
        labels: int | str | None = None,
        most_frequent: int | None = None,
        default_C: float = 1.0,
        features: Mapping[str, Any] | None = None,
        default_C_by: Mapping[str, float] | None = None,
        partial: bool = False,
    ) -> None:
        self._paths = checked_paths(train, dev, test, limit)
        if most_frequent is not None and most_frequent < 1:
            raise ConfigError(
                "must be at least 1, or null for all.",
                parameter="task.most_frequent",
                value=most_frequent,
            )
        if isinstance(labels, int) and labels < 1:
            raise ConfigError(
                "must be at least 1, the path of an XML file, or null.",
                parameter="task.labels",
                value=labels,
            )
        features = dict(features or {})
        check_keys("features", features, Reading.__annotations__)
        self._attributes = AttributeColumns(**features)
        self.limit, self.encoding, self.default_C = limit, encoding, default_C
        self.default_C_by = dict(default_C_by or {})
        self.format, self.most_frequent, self._label_columns, self.partial = (
            format,
            most_frequent,
            labels,
            partial,
        )
        self.names: tuple[str, ...] = ()
        self._all_names: tuple[str, ...] = ()  # `names` and those that are less frequent
        self._header: tuple[str, ...] | None = None  # attributes in the order of an ARFF header

    @property
    def files(self) -> dict[str, Path | FileSet]:
        """The files by split (train, dev, test); those of the shipped corpus if no training file is
        typed.
        """
        return files_of(self._paths, "multilabel")

    def read(
        self, path: str | Path, limit: int | None = None, labelled: bool = True
    ) -> LabelledVectors:
        """Read a file; after training, it must have the training file's format, and labels have the
        same names.
        """
        if not self._is_arff(path):
            if self._header is not None:
                raise DataError(
                    path,
                    None,
                    "the model was trained on ARFF, whose attributes have names",
                    remedy="give an ARFF file.",
                )
            return libsvm_multilabel.read(path, limit, self.encoding, self.partial)
        if self.names and self._header is None:
            raise DataError(
                path,
                None,
                "the model was trained on LIBSVM's text, whose attributes have numbers",
                remedy="give a file of it.",
            )
        return mulan.read(
            path, limit, self._label_columns, self.names, labelled, self.encoding, self.partial
        )

    def subset(self, corpus: LabelledVectors, first: int, last: int) -> LabelledVectors:
        """Return the instances first <= i < last of a corpus."""
        return corpus.subset(first, last)

    def corpus(self, instances: Sequence[Any]) -> LabelledVectors:
        """Make an unlabelled corpus of mappings from attribute to value, or of rows of values.

        The values of a row are those of the columns of the ARFF file, without its labels; of
        LIBSVM's text the first has index 0 if training had an index 0, else index 1.
        """
        if self._header is not None:
            instances = [
                named_values(one, self._header, number)
                for number, one in enumerate(FORM.listed(instances), 1)
            ]
        vectors = vectors_in_memory(instances, first=0 if "0" in self._attributes.numbers else 1)
        arrays = vectors.offsets, vectors.indices, vectors.ids, vectors.values
        return LabelledVectors(vectors.path, *arrays, None, (), self._header is not None)

    def labelled(self, instances: Sequence[Any], outputs: Sequence[Any]) -> LabelledVectors:
        """Make a corpus of vectors, as `corpus` takes them, and lists of labels; before `fit`, as
        LIBSVM's text.
        """
        corpus = self.corpus(instances)
        sets = [tuple(map(plain_label, map(str, gold))) for gold in gold_sets(outputs, len(corpus))]
        names = tuple(sorted({name for labels in sets for name in labels}, key=label_order))
        order = {name: j for j, name in enumerate(names)}
        return replace(
            corpus,
            labels=[tuple(sorted(labels, key=order.__getitem__)) for labels in sets],
            names=names,
        )

    @property
    def input_schema(self) -> Schema:
        """Vectors by the numbers of their attributes, or by their names in ARFF files."""
        return (
            vector_columns("indices", "long")
            if self._header is None
            else vector_columns("attributes", "string")
        )

    def instances(self, table: Mapping[str, list[Any]]) -> list[Any]:
        """Return the vectors of a table: mappings from attribute to value."""
        return vectors_of_table(table)

    def input_example(self) -> dict[str, list[Any]]:
        """Return two vectors of attributes of the training data."""
        names = list(self._attributes.numbers)[:3] or ["1"]
        attributes: list[Any] = list(names if self._header is not None else map(int, names))
        return {
            next(iter(self.input_schema)).name: [attributes, attributes[:1]],
            "values": [[1.0] * len(attributes), [0.5]],
        }

    def output_table(self, outputs: Sequence[Sequence[str]]) -> dict[str, list[Any]]:
        """Return the labels of every vector, a list each."""
        return {"labels": [list(output) for output in outputs]}

    def fit(self, corpus: LabelledVectors, earlier: Multilabel | None = None) -> EncodedGraphs:
        """Learn labels and attributes from the training corpus, beside those of an `earlier` task,
        and encode it.

        If there are more than `most_frequent` labels, the most frequent ones in this corpus are
        kept.
        """
        if not corpus.names or corpus.labels is None:
            raise DataError(
                corpus.path,
                None,
                "no instance has a label",
                remedy="write label,label index:value index:value ....",
            )
        if not corpus.values.any():
            raise DataError(
                corpus.path, None, "no instance has a value other than 0: nothing tells them apart."
            )
        counts = Counter(name for labels in corpus.labels for name in labels)
        if earlier is not None and (earlier._header is not None) != corpus.declared:
            raise DataError(
                corpus.path,
                None,
                "the model of warm_start was trained on the other format, ARFF or LIBSVM's text.",
            )
        self._all_names = tuple(
            dict.fromkeys([*corpus.names, *(() if earlier is None else earlier.names)])
        )
        ranked = sorted(self._all_names, key=lambda name: -counts[name])[: self.most_frequent]
        self.names = tuple(name for name in self._all_names if name in set(ranked))
        self._header = tuple(corpus.attributes) if corpus.declared else None
        self._attributes.fit(corpus, None if earlier is None else earlier._attributes)
        if not self._attributes.names:
            raise ConfigError(
                "leaves no attribute, and features.bias=false no constant",
                parameter="features.min_count",
                remedy="lower min_count.",
            )
        encoded = self.encode(corpus)
        return encoded if corpus.unknown is None else self._with_sets(corpus, encoded)

    def encode(
        self, corpus: LabelledVectors, given: Sequence[int | None] | None = None
    ) -> EncodedGraphs:
        """Encode a corpus with the labels and attributes of the training data: a variable a label,
        no edges.

        The `given` states of variables are kept.
        """
        unknown = sorted(
            {name for labels in corpus.labels or () for name in labels} - set(self._all_names)
        )
        if unknown:
            log.warning(
                "%s: labels that training never shows are not scored: %s.",
                corpus.path,
                ", ".join(unknown[:10]),
            )
        m, d = len(corpus), len(self.names)
        gold = (
            None
            if corpus.labels is None
            else indicators(corpus.labels, self.names).astype(np.int32).ravel()
        )
        table, dense = self._attributes.tables(corpus)
        no_edges = np.zeros(m + 1, np.int64), np.zeros((0, 2), np.int32)
        allowed = None if given is None else kept_states(given, len(STATES))
        return EncodedGraphs(
            np.arange(m + 1, dtype=np.int64) * d,
            {"label": table},
            STATES,
            gold,
            allowed,
            dense={"label": dense},
            edges=no_edges,
            wide=True,
        )

    def kept_outputs(self, corpus: LabelledVectors, outputs: Sequence[Any]) -> list[int | None]:
        """Return the states of all labels, of mappings from label to True or False; labels that one
        lacks are open.
        """
        states: list[int | None] = []
        for number, output in enumerate(
            GIVEN.listed(outputs, len(corpus), "[{'a': True, 'b': False}, None]"), 1
        ):
            if not isinstance(output, (Mapping, type(None))):
                message = (
                    f"the given output is {shown(output)}. Give a mapping from label to True or "
                    "False, or None."
                )
                raise GIVEN.refused(number, message)
            known: list[int | None] = [None] * len(self.names)
            for name, state in (output or {}).items():
                if state not in (True, False, None):
                    message = (
                        f"the given state {shown(state)} of {shown(name)} is none of True, False "
                        "and None."
                    )
                    raise GIVEN.refused(number, message)
                known[label_number(name, self.names, checks.of_instance((number - 1,)))] = (
                    None if state is None else int(state)
                )
            states += known
        return states

    def marginal_columns(
        self, encoded: EncodedGraphs, index: int, choices: Mapping[str, Array]
    ) -> dict[str, Any]:
        """Return the columns ``label`` and ``probability``: that of being among the labels of the
        instance.
        """
        on = choices["label"] == 1
        names = [self.names[variable] for variable in choices["variable"][on].tolist()]
        return {"label": names, "probability": choices["probability"][on]}

    def _with_sets(self, corpus: LabelledVectors, encoded: EncodedGraphs) -> EncodedGraphs:
        """The training corpus with both states for the labels that it leaves open."""
        assert encoded.gold is not None and corpus.unknown is not None
        free = indicators(corpus.unknown, self.names).ravel()
        sets = np.arange(len(STATES)) == encoded.gold[:, None]
        sets[free] = True
        return replace(encoded, gold_sets=sets)

    def decode(self, encoded: EncodedGraphs, view: Array) -> list[list[str]]:
        """Return the labels of every instance, from the states of all variables."""
        states = view.reshape(len(encoded), len(self.names)).tolist()
        return [
            [name for name, state in zip(self.names, row, strict=True) if state] for row in states
        ]

    def outcomes(
        self, corpus: LabelledVectors, predicted: Sequence[Sequence[str]]
    ) -> InstanceCounts:
        """Return the counts of every instance that scores are made of."""
        return label_sets.outcomes(*self._compared(corpus, predicted))

    def report(self, corpus: LabelledVectors, predicted: Sequence[Sequence[str]]) -> str:
        """Return the scores as a table of text, a line a label, in per cent."""
        return label_sets.table(self.names, *self._compared(corpus, predicted))

    def boundary(self, probabilities: bool = False) -> Boundary | None:
        """An instance a line of LIBSVM's text, the names of probabilities at the head; ARFF is read
        as a whole.
        """
        return None if self.format == "arff" else replace(LINE, heading=int(probabilities))

    def write_outputs(
        self,
        corpus: LabelledVectors,
        target: str | Path,
        outputs: Sequence[Sequence[str]],
        probabilities: Sequence[Array] | None = None,
        ranked: Sequence[Sequence[tuple[float, Sequence[str]]]] | None = None,
        k_best: int = 1,
    ) -> None:
        """Write the file of a corpus again with predicted labels.

        Parameters
        ----------
        corpus : LabelledVectors
        target : str or Path
        outputs : sequence of sequences of str
            The labels of each instance.
        probabilities : sequence of float64 arrays of shape (labels, 2), or None
            Of the states of every label; `structopt.formats.vectors.libsvm_multilabel.write` and
            `structopt.formats.vectors.arff_writer.write` say where they are written.
        ranked : sequence, or None
            For every instance, the scores and labels of its best outputs.
        """
        write = arff_writer.write if corpus.declared else libsvm_multilabel.write
        write(corpus.path, target, outputs, self.names, probabilities, ranked, self.encoding)

    def vocabulary(self) -> dict[str, list[str]]:
        """Return the labels."""
        return {"labels": list(self.names)}

    def attribute_names(self, group: str = "label") -> list[str]:
        """Return the names of the attributes."""
        return self._attributes.names if group == "label" else []

    def configuration_names(self, group: str = "label") -> list[Configuration]:
        """Return names of the configurations of a part group: every label, and every pair of
        labels, has its own weights.
        """
        return (of_variables if group == "label" else of_edges)(self.names, STATES)

    def state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return labels, attributes, and the options for their values."""
        values, arrays = self._attributes.state()
        values |= {
            "names": list(self.names),
            "all_names": list(self._all_names),
            "declared": self._header is not None,
        }
        if self._header is not None:
            arrays["row_bytes"], arrays["row_offsets"] = pack_strings(self._header)
        return values, arrays

    def restore(self, values: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
        """Restore what `state` returned."""
        state = SavedState(values, arrays)
        self.names, self._all_names = (
            tuple(state.strings(key, least=1)) for key in ("names", "all_names")
        )
        if not set(self.names) <= set(self._all_names):
            state.refuse("names", "among all_names")
        self._header = tuple(restored_strings(state, "row_")) if state.flag("declared") else None
        self._attributes = AttributeColumns.restore(state)
        known = (
            all(map(str.isdecimal, self._attributes.numbers))
            if self._header is None
            else (set(self._attributes.numbers) <= set(self._header))
        )
        if not known:
            state.refuse_array(
                "attribute_bytes", "numbers" if self._header is None else "among those of row_bytes"
            )

    def _is_arff(self, path: str | Path) -> bool:
        if self.format == "auto":
            return str(path).lower().removesuffix(".gz").endswith(".arff")
        return self.format == "arff"

    def _compared(
        self, corpus: LabelledVectors, predicted: Sequence[Sequence[str]]
    ) -> tuple[Array, Array]:
        if corpus.labels is None:
            raise DataError(
                corpus.path,
                None,
                "has no labels to compare with.",
                remedy="Give a file with the labels of every instance.",
            )
        if corpus.unknown is not None:
            raise DataError(
                corpus.path,
                None,
                "leaves labels open (?).",
                remedy="Give a file with the labels of every instance.",
            )
        return indicators(corpus.labels, self.names), indicators(predicted, self.names)
