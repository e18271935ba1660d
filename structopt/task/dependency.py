"""Dependency trees: a head and a relation for every word, from CoNLL-U, CoNLL-X or Penn columns."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np

from structopt.core.data.boundaries import EMPTY_LINE, Boundary
from structopt.core.data.encoded import EncodedTrees
from structopt.core.data.file_sets import FileSet
from structopt.core.data.saved_state import SavedState
from structopt.core.data.table_schema import Column, Schema, example_sentences
from structopt.core.task import Task
from structopt.errors import ConfigError
from structopt.formats.text_files import write_text
from structopt.formats.trees import dependency_trees, tree_files
from structopt.formats.trees.dependency_trees import COLUMNS, EMPTY, Arc, Trees
from structopt.formats.trees.tree_checks import numbers_of, positions, with_heads
from structopt.formats.trees.tree_picture import draw
from structopt.kernels.waist.record import Array
from structopt.metrics import attachment
from structopt.metrics.instance_counts import InstanceCounts
from structopt.task import kept_arcs, placeholders, sentence_lengths
from structopt.task.dense.dense_columns import DenseColumns, DenseReading, Tokens
from structopt.task.gold.arcs import gold_arcs
from structopt.task.key_checks import check_keys
from structopt.task.split_files import checked_paths, files_of
from structopt.templates.arc_templates import ARCS
from structopt.templates.column_codes import CodedColumns
from structopt.templates.expressions import column_names

log = logging.getLogger(__name__)


class Reading(DenseReading, total=False):
    """The keys of the config's node ``features`` that this task takes, for the columns of the
    templates and word vectors.
    """

    min_count: int
    templates: list[str]
    labels: list[str]
    siblings: list[str]
    grandparents: list[str]


class Dependency(Task):
    """A tree over the words of every sentence: the head of each word is another word, or the root.

    Parameters
    ----------
    train, dev, test : str or None
        Files, plain or .gz. Without `train`, the small corpus shipped with the package is used for
        all three.
    limit : int or None
        Number of training sentences to read.
    max_words : int
        Sentences with more words are refused, before memory is allocated for their arcs.
    encoding : str
        Encoding of the files.
    format : str
        Format of the files: conllu, conllx, penn (word, tag, head), or auto (detected for each
        file).
    punctuation : str
        Which words the scores without punctuation leave out: those tagged PUNCT (upos), those made
        of Unicode's punctuation characters (unicode), none, or auto (upos where the file has that
        tag, else unicode).
    default_C : float
        C for optimizers that are not given one.
    default_C_by : mapping or None
        The same for kinds of optimizers: ``optimum`` (those that reach it), ``gradient``. A kind
        that is left out takes `default_C`.
    partial : bool
        Whether words of the training file may have no head, or a head and no relation (``_``).
    missing : str
        Whether input without a column that the templates read, and training had, is refused
        (``refuse``), or the column counts as empty (``pad``).
    features : mapping
        ``templates`` of arcs, ``labels`` of relations, ``siblings`` and ``grandparents``, on
        columns such as ``form`` and ``upos``; ``min_count``: values of columns that fewer words of
        the training data have count as unseen; ``vectors``, a file of word vectors, with
        ``vectors_lower`` and ``vectors_unknown``; ``dense``, numeric columns and .npy files;
        ``standardize``, ``columns`` or ``none``. The other keys are the scorer's.
    """

    reading = Reading
    late = ("missing",)

    columns = COLUMNS
    main_metric = "uas"
    unit = "words"
    instance = "sentence"
    view = "heads"
    pictures = True
    output_schema = Schema(
        (Column("heads", "long", 1, like="tokens"), Column("relations", "string", 1, like="tokens"))
    )

    def __init__(
        self,
        train: str | None = None,
        dev: str | None = None,
        test: str | None = None,
        limit: int | None = None,
        encoding: str = "utf8",
        format: Literal["auto", "conllu", "conllx", "penn"] = "auto",
        punctuation: Literal["auto", "upos", "unicode", "none"] = "auto",
        default_C: float = 1.0,
        features: Mapping[str, Any] | None = None,
        default_C_by: Mapping[str, float] | None = None,
        partial: bool = False,
        missing: Literal["refuse", "pad"] = "refuse",
        max_words: int = 1000,
    ) -> None:
        self.missing = missing
        features = features or {}
        check_keys("features", features, Reading.__annotations__)
        min_count = int(features.get("min_count", 1))
        if min_count < 1:
            raise ConfigError(
                "must be at least 1.",
                parameter="features.min_count",
                value=min_count,
            )
        self.max_words = sentence_lengths.checked_bound(max_words)
        self._paths = checked_paths(train, dev, test, limit)
        self.limit, self.encoding, self.default_C = limit, encoding, default_C
        self.default_C_by = dict(default_C_by or {})
        self.format, self.punctuation, self.partial = format, punctuation, partial
        self.labels: tuple[str, ...] = ()
        self._columns = CodedColumns(
            column_names(features, ARCS, COLUMNS) or COLUMNS, COLUMNS, min_count
        )
        self._numbers = DenseColumns.of(features)

    @property
    def files(self) -> dict[str, Path | FileSet]:
        """The files by split (train, dev, test); those of the shipped corpus if no training file is
        typed.
        """
        return files_of(self._paths, "conllu")

    def read(self, path: str | Path, limit: int | None = None, labelled: bool = True) -> Trees:
        """Read a file; its heads only if it must be `labelled`."""
        return tree_files.read(path, self.format, limit, labelled, self.encoding, self.partial)

    def subset(self, corpus: Trees, first: int, last: int) -> Trees:
        """Return the instances first <= i < last of a corpus."""
        return corpus.subset(first, last)

    def corpus(self, instances: Sequence[Any]) -> Trees:
        """Make an unlabelled corpus of sentences: sequences of words, of tuples of cells, or
        mappings from column to cells.
        """
        sentences, matrices = self._numbers.separated(instances, COLUMNS)
        corpus = dependency_trees.in_memory(sentences)
        return replace(corpus, matrices=matrices) if matrices else corpus

    def labelled(self, instances: Sequence[Any], outputs: Sequence[Any]) -> Trees:
        """Make a corpus of sentences, as `corpus` takes them, and trees: a head, or a pair (head,
        relation), for every word.
        """
        corpus = self.corpus(instances)
        return with_heads(corpus, *gold_arcs(corpus, outputs), self.partial)

    @property
    def input_schema(self) -> Schema:
        """The forms as ``tokens``, and the further columns that the templates look at: each a list
        of strings.
        """
        further = [name for name in self._columns.bases if name != "form"]
        columns = (
            Column(name, "string", 1, name in self.needed_columns, like="tokens", filler="")
            for name in further
        )
        return Schema(
            (
                Column("tokens", "string", 1, alias="form"),
                *columns,
                *self._numbers.schema_columns("tokens"),
            )
        )

    def instances(self, table: Mapping[str, list[Any]]) -> list[Any]:
        """Return the sentences of a table: mappings from column name to cells."""
        return self.input_schema.records(table)

    def input_example(self) -> dict[str, list[Any]]:
        """Return two sentences of values of the training data."""
        matrices = self._numbers.examples()
        values = {
            column.name: self._columns.values(column.task_name)[:6] or [column.task_name]
            for column in self.input_schema
            if column.name not in matrices
        }
        return example_sentences(values) | matrices

    def fit(self, corpus: Trees, earlier: Dependency | None = None) -> EncodedTrees:
        """Learn relations and the values of columns from the training corpus, beside those of an
        `earlier` task; encode it.
        """
        placeholders.report_columns(corpus.path, corpus.cells, [*self._columns.bases, "deprel"])
        relations = set(corpus.relations)
        if self.partial and len(relations) > 1:
            relations.discard(EMPTY)
        self.labels = tuple(sorted({*relations, *(() if earlier is None else earlier.labels)}))
        known = None if earlier is None else earlier._columns
        self._numbers.fit(
            self._tokens(corpus),
            self.limit is not None,
            None if earlier is None else earlier._numbers,
        )
        encoded = self._encoded(
            corpus, self._columns.fit(corpus.cells, int(corpus.offsets[-1]), known)
        )
        return self._with_sets(corpus, encoded) if self.partial else encoded

    def encode(
        self, corpus: Trees, given: Sequence[kept_arcs.KeptArc] | None = None
    ) -> EncodedTrees:
        """Encode a corpus with the relations and values of the training data; `given` heads and
        relations are kept.
        """
        encoded = self._encoded(corpus, self._columns.encode(corpus.cells, int(corpus.offsets[-1])))
        return encoded if given is None else kept_arcs.restricted(encoded, given)

    def decode(self, encoded: EncodedTrees, view: Array) -> list[list[Arc]]:
        """Return trees, one `Arc` a word, from heads (from 1; 0 the root) and relation numbers (-1:
        none), shape (words, 2).
        """
        names = [*self.labels, None]  # None is also at -1
        arcs = [Arc(head, names[relation]) for head, relation in view.tolist()]
        return [arcs[a:b] for a, b in pairwise(encoded.offsets.tolist())]

    def outcomes(self, gold: Trees, predicted: Sequence[Sequence[Arc]]) -> InstanceCounts:
        """Return the counts of every sentence that scores are made of."""
        return attachment.outcomes(attachment.compare(gold, predicted, self.punctuation))

    def report(self, corpus: Trees, predicted: Sequence[Sequence[Arc]]) -> str:
        """Return the scores as a table of text."""
        return attachment.table(attachment.compare(corpus, predicted, self.punctuation))

    def output_table(self, outputs: Sequence[Sequence[Arc]]) -> dict[str, list[list[Any]]]:
        """Return heads (from 1; 0 the root) and relations (empty where none are predicted), a list
        a sentence.
        """
        return {
            "heads": [[arc.head for arc in output] for output in outputs],
            "relations": [[arc.relation or "" for arc in output] for output in outputs],
        }

    def given_labels(self, corpus: Trees) -> list[kept_arcs.KeptArc]:
        """Return the heads and relations of the words of a file, None where it has ``_``."""
        return kept_arcs.of_cells(corpus, self.labels)

    def kept_outputs(self, corpus: Trees, outputs: Sequence[Any]) -> list[kept_arcs.KeptArc]:
        """Return the heads and relations of all words, of lists with an `Arc`, a head or None for
        every word.
        """
        return kept_arcs.of_outputs(corpus, outputs, self.labels)

    def marginal_columns(
        self, encoded: EncodedTrees, index: int, choices: Mapping[str, Array]
    ) -> dict[str, Any]:
        """Return the columns ``modifier`` and ``head``, from 1 (0: the root), ``relation`` (None
        without) and ``probability``.
        """
        names = [*self.labels, None]  # None is also at -1
        relations = [names[label] for label in choices["label"].tolist()]
        ends = {name: choices[name] for name in ("modifier", "head")}
        return {**ends, "relation": relations, "probability": choices["probability"]}

    def missing_columns(self, corpus: Trees) -> list[str]:
        """Return the columns that the templates read, training had and the corpus lacks.

        In CoNLL-U a word without ``upos`` has ``_`` there, as if the file had no such column.
        """
        if not corpus.offsets[-1]:
            return []
        untagged = set(corpus.cells.get("upos", ())) <= {EMPTY}
        return [
            name
            for name in self._columns.known_bases
            if name not in corpus.cells or (name == "upos" and untagged)
        ]

    @property
    def needed_columns(self) -> tuple[str, ...]:
        """The form, and unless `missing` is ``pad`` the columns of `missing_columns`."""
        further = self._columns.known_bases if self.missing == "refuse" else []
        return tuple(dict.fromkeys(["form", *further]))

    def boundary(self, probabilities: bool = False) -> Boundary | None:
        """Empty lines stand between trees."""
        return EMPTY_LINE

    def write_outputs(
        self,
        corpus: Trees,
        target: str | Path,
        outputs: Sequence[Sequence[Arc]],
        probabilities: Sequence[Array] | None = None,
        ranked: Sequence[tree_files.Ranked] | None = None,
        k_best: int = 1,
    ) -> None:
        """Write the file of a corpus again with predicted heads and relations: see
        `structopt.formats.trees.tree_files.write`.
        """
        tree_files.write(corpus, target, outputs, probabilities, ranked, self.encoding)
        if (stale := tree_files.stale_cells(corpus, outputs)) is not None:
            log.warning("%s", stale)

    def write_picture(
        self,
        corpus: Trees,
        sentence: int,
        target: str | Path,
        outputs: Sequence[Sequence[Arc]],
        probabilities: Sequence[Array] | None = None,
    ) -> None:
        """Draw the tree of a sentence (from 1) as SVG; wrong arcs are marked where the file has
        heads.

        Raises
        ------
        DataError
            The corpus has no such sentence, or the file cannot be written.
        """
        index = self.drawn(corpus, sentence)
        tokens, output = slice(*corpus.offsets[index : index + 2].tolist()), outputs[index]
        words = corpus.cells["form"][tokens]
        tags = corpus.cells.get("upos", [""] * int(corpus.offsets[-1]))[tokens]
        gold = (
            numbers_of(corpus.cells["head"][tokens]) if "head" in corpus.cells else np.array([-1])
        )
        svg = draw(
            words,
            tags,
            [arc.head for arc in output],
            None if probabilities is None else probabilities[index],
            gold.tolist() if ((gold >= 0) & (gold <= len(words))).all() else None,
            [arc.relation or "" for arc in output],
        )
        write_text(target, svg)

    def vocabulary(self) -> dict[str, list[str]]:
        """Return the relations, and the values of all columns, whose numbers features are hashed
        from.
        """
        return {"labels": list(self.labels), "values": self._columns.value_names()}

    def attribute_names(self, group: str = "label") -> list[str]:
        """Return none: features are hashed, and have no names."""
        return []

    def state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return relations, and columns with their values."""
        (values, arrays), (numbers, dense) = self._columns.state(), self._numbers.stored()
        return values | {"labels": list(self.labels)} | numbers, arrays | dense

    def restore(self, values: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
        """Restore what `state` returned."""
        state = SavedState(values, arrays)
        self.labels, self._columns = (
            tuple(state.strings("labels", least=1)),
            CodedColumns.restore(state, COLUMNS),
        )
        self._numbers = DenseColumns.restored(state)

    def _encoded(self, corpus: Trees, codes: Array) -> EncodedTrees:
        sentence_lengths.check(
            corpus.path,
            np.diff(corpus.offsets),
            self.max_words,
            lambda sentence: int(corpus.lines[corpus.offsets[sentence]]),
        )
        heads = gold = None
        if corpus.heads is not None:
            words = positions(corpus.offsets)
            heads = (np.where(corpus.heads <= 0, words, corpus.heads) - 1).astype(np.int32)
            numbers = {relation: y for y, relation in enumerate(self.labels)}
            gold = np.array([numbers.get(relation, -1) for relation in corpus.relations], np.int32)
        tokens = self._tokens(corpus)
        dense = self._numbers.of_words(tokens, self.limit is not None)
        return EncodedTrees(
            corpus.offsets,
            {},
            self.labels,
            gold,
            dense=dense,
            words=tokens.words,
            columns=self._columns.names,
            codes=codes,
            heads=heads,
        )

    def read_features_from(self, sources: Mapping[str, Any]) -> None:
        """Take files of word vectors, or matrices: see
        `structopt.task.dense.dense_columns.DenseColumns.read_from`.
        """
        self._numbers.read_from(sources)

    def _tokens(self, corpus: Trees) -> Tokens:
        words = corpus.cells.get("form", [])
        return Tokens(corpus.path, corpus.offsets, corpus.lines, words, {}, corpus.matrices)

    def _with_sets(self, corpus: Trees, encoded: EncodedTrees) -> EncodedTrees:
        """The training corpus with any head and any relation allowed where it leaves them open."""
        assert encoded.gold is not None and corpus.heads is not None
        free_heads, free_relations = corpus.heads < 0, encoded.gold < 0
        if not (free_heads | free_relations).any():
            return encoded
        sets = np.arange(len(self.labels)) == encoded.gold[:, None]
        sets[free_relations] = True
        gold = np.maximum(encoded.gold, 0).astype(np.int32)
        return replace(encoded, gold=gold, gold_sets=sets, free_heads=free_heads)
