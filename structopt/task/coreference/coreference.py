"""Coreference: entities, as clusters of mentions, of documents in CoNLL-2012's columns or
CoNLL-U.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, TypedDict

import numpy as np

from structopt.core.data.boundaries import Boundary
from structopt.core.data.encoded import EncodedMentions
from structopt.core.data.file_sets import FileSet
from structopt.core.data.saved_state import SavedState
from structopt.core.data.table_schema import Column, Schema
from structopt.core.task import Ranked, Task
from structopt.errors import ConfigError, DataError, line_name
from structopt.formats.coreference import coreference_files
from structopt.formats.coreference.conll_columns import END
from structopt.formats.coreference.document_picture import draw
from structopt.formats.coreference.documents import Documents
from structopt.formats.coreference.documents_in_memory import FORM, in_memory
from structopt.formats.coreference.entity_files import with_entities
from structopt.formats.coreference.link_table import link_table
from structopt.formats.in_memory.instances import MEMORY
from structopt.formats.text_files import write_text
from structopt.kernels.waist.record import Array
from structopt.metrics import coreference
from structopt.metrics.instance_counts import InstanceCounts
from structopt.task.coreference.mention_columns import COLUMNS, mention_cells, numbered
from structopt.task.coreference.noun_phrases import shared_mentions, with_noun_phrases
from structopt.task.gold.entities import entity_numbers, gold_entities, with_mentions
from structopt.task.key_checks import check_keys
from structopt.task.split_files import checked_paths, files_of
from structopt.templates.column_codes import CodedColumns
from structopt.templates.expressions import Expression, column_names, expression
from structopt.templates.mention_templates import LINKS, SAME, parsed

log = logging.getLogger(__name__)

Span = tuple[int, int]
Clusters = list[list[Span]]
"""The entities of a document: of each its mentions, by first word and the one after the last, from
0 within the document.
"""


class Reading(TypedDict, total=False):
    """The keys of the config's node ``features`` that this task takes."""

    min_count: int
    new: list[str]
    links: list[str]
    joined: list[str]


class Coreference(Task):
    """The entities of a document's mentions: each mention has an antecedent, an earlier mention of
    its entity, or none.

    Parameters
    ----------
    train, dev, test : str or None
        Files of documents: a file, a folder, a glob, or ``ARCHIVE.tar.gz:GLOB``. Without `train`,
        the small corpus shipped with the package is used for all three.
    limit : int or None
        Number of training documents to read.
    encoding : str
        Encoding of the files.
    format : str
        Format of the files: conll, conllu, or auto (detected for each file).
    mentions : str
        The mentions that choose antecedents. ``given``: the mentions of the file. ``phrases``: all
        noun phrases and pronouns, by trees or dependencies. In training, a phrase with the words of
        a mention has its entity; scores compare with the entities of the file. ``auto``: the
        mentions of the file, or phrases for input without mentions.
    singletons : bool
        Whether the main score counts entities with one mention.
    default_C : float
        C for optimizers that are not given one.
    default_C_by : mapping or None
        The same for kinds of optimizers: ``optimum`` (those that reach it), ``gradient``.
    features : mapping
        ``new``, ``links`` and ``joined``: templates, of which the task reads the columns, such as
        ``head``, ``type`` and ``text`` of a mention; ``min_count``: values of columns that fewer
        mentions of the training data have count as unseen. The other keys are the scorer's.
    discontinuous : str
        Whether discontinuous mentions of CoNLL-U are refused (``refuse``), or read from their first
        word to their last (``hull``).
    entities : str or None
        Files with the entities of all splits, in CoNLL columns named as the documents, if not those
        of the documents' own files: for example another scheme of annotation.
    """

    reading = Reading
    late = ("discontinuous", "entities")

    columns = ("sentences", "mentions")
    unit = "mentions"
    instance = "document"
    view = "antecedents"
    pictures = True
    open_gold = "task=coreference"
    output_schema = Schema((Column("clusters", "long", 3),))
    labels: tuple[str, ...] = ("new", "link")

    def __init__(
        self,
        train: str | None = None,
        dev: str | None = None,
        test: str | None = None,
        limit: int | None = None,
        encoding: str = "utf8",
        format: Literal["auto", "conll", "conllu"] = "auto",
        mentions: Literal["auto", "given", "phrases"] = "auto",
        singletons: bool = True,
        default_C: float = 1.0,
        default_C_by: Mapping[str, float] | None = None,
        features: Mapping[str, Any] | None = None,
        discontinuous: Literal["refuse", "hull"] = "refuse",
        entities: str | None = None,
    ) -> None:
        self.discontinuous, self._entities = discontinuous, entities
        features = features or {}
        check_keys("features", features, Reading.__annotations__)
        min_count = int(features.get("min_count", 1))
        if min_count < 1:
            raise ConfigError(
                "must be at least 1.",
                parameter="features.min_count",
                value=min_count,
            )
        self._paths = checked_paths(train, dev, test, limit)
        self.limit, self.encoding, self.format, self.mentions = limit, encoding, format, mentions
        self.singletons, self.default_C, self.default_C_by = (
            singletons,
            default_C,
            dict(default_C_by or {}),
        )
        column_names(features, LINKS, COLUMNS)  # refuses what is no column
        lists = parsed({which: features.get(which) or () for which in LINKS.roles})
        atoms = [
            atom
            for templates in lists.values()
            for one in templates
            for atom in one.atoms
            if atom.column
        ]
        coded = dict.fromkeys(atom.column for atom in atoms if atom.role != SAME)
        self._columns = CodedColumns(tuple(coded), COLUMNS, min_count)
        self._compared = _expressions(
            dict.fromkeys(atom.column for atom in atoms if atom.role == SAME)
        )

    @property
    def main_metric(self) -> str:
        """The mean of the F1 of MUC, B3 and CEAFe."""
        return "conll" if self.singletons else "conll_no_singletons"

    @property
    def files(self) -> dict[str, Path | FileSet]:
        """The files by split (train, dev, test); those of the shipped corpus if no training file is
        typed.
        """
        return files_of(self._paths, "coref")

    def read(self, path: str | Path, limit: int | None = None, labelled: bool = True) -> Documents:
        """Read documents, with the mentions that `mentions` says; `labelled` ones have entities."""
        own = labelled and self._entities is None
        documents = coreference_files.read(
            path, self.format, limit, own, self.encoding, self.discontinuous
        )
        _count_markup(documents, labelled)
        if documents.crossing:
            pairs, (first, other) = len(documents.crossing), documents.crossing[0]
            second = line_name(documents.path, other, first)
            message = (
                f"the mentions that begin here and in line {second} cross ({pairs} such pairs "
                "here): both are kept."
            )
            log.warning("%s", DataError(documents.path, first, message))
        if labelled and self._entities is not None:
            documents, repeated = with_entities(documents, self._entities)
            if repeated:
                log.warning(
                    "%s: %d mentions of the words of another mention are left out.",
                    self._entities,
                    repeated,
                )
        unmarked = not labelled and not len(documents.mentions)
        if not (self.mentions == "phrases" or (self.mentions == "auto" and unmarked)):
            return documents
        found = with_noun_phrases(documents)
        log.warning(
            "%s: %d noun phrases and pronouns are taken for mentions%s.",
            path,
            len(found.mentions),
            ""
            if found.key is None
            else "; {} of the {} marked ones are among them".format(*shared_mentions(found)),
        )
        return found

    def subset(self, corpus: Documents, first: int, last: int) -> Documents:
        """Return the instances first <= i < last of a corpus."""
        return corpus.subset(first, last)

    def corpus(self, instances: Sequence[Any]) -> Documents:
        """Make an unlabelled corpus of documents: mappings with ``sentences``, lists of words, and
        ``mentions``, pairs.
        """
        return in_memory(instances)

    def labelled(self, instances: Sequence[Any], outputs: Sequence[Any]) -> Documents:
        """Make a corpus of documents, as `corpus` takes them, and entities, which stand for
        ``mentions`` where there are none.
        """
        documents = FORM.listed(instances)
        entities = gold_entities(outputs, len(documents))
        corpus = in_memory(with_mentions(documents, entities))
        return replace(corpus, clusters=entity_numbers(corpus, entities))

    @property
    def input_schema(self) -> Schema:
        """The words of every sentence, the mentions (first word and the one after the last, from 0
        within the document), tags.
        """
        return Schema(
            (
                Column("sentences", "string", 2),
                Column("mentions", "long", 2),
                Column("xpos", "string", 2, required=False, like="sentences", filler=""),
            )
        )

    def instances(self, table: Mapping[str, list[Any]]) -> list[Any]:
        """Return the documents of a table: mappings from column name to lists."""
        return self.input_schema.records(table)

    def input_example(self) -> dict[str, list[Any]]:
        """Return a document of two sentences."""
        sentences = [["Ann", "met", "Bob", "."], ["She", "greeted", "him", "."]]
        return {"sentences": [sentences], "mentions": [[[0, 1], [2, 3], [4, 5], [6, 7]]]}

    def fit(self, corpus: Documents, earlier: Coreference | None = None) -> EncodedMentions:
        """Learn the values of columns from the training documents, beside those of an `earlier`
        task; encode them.
        """
        if corpus.path != MEMORY and not corpus.cells.keys() & {"upos", "xpos"}:
            log.warning(
                "%s: no word has a part-of-speech tag, so features of tags are constant.",
                corpus.path,
            )
        cells = mention_cells(corpus)
        codes = self._columns.fit(
            cells, len(corpus.mentions), None if earlier is None else earlier._columns
        )
        return self._encoded(corpus, cells, codes)

    def encode(self, corpus: Documents, given: Sequence[Any] | None = None) -> EncodedMentions:
        """Encode a corpus with the values of the training data."""
        cells = mention_cells(corpus)
        return self._encoded(corpus, cells, self._columns.encode(cells, len(corpus.mentions)))

    def decode(self, encoded: EncodedMentions, view: Array) -> list[Clusters]:
        """Return the entities of every document, from the antecedent of every mention (-1: it
        starts an entity).
        """
        outputs = []
        for a, b in pairwise(encoded.offsets.tolist()):
            clusters: Clusters = []
            own: list[int] = []
            for antecedent, (first, end) in zip(
                view[a:b].tolist(), encoded.spans[a:b].tolist(), strict=True
            ):
                if antecedent < 0:
                    own.append(len(clusters))
                    clusters.append([])
                else:
                    own.append(own[antecedent])
                clusters[own[-1]].append((first, end))
            outputs.append(clusters)
        return outputs

    def outcomes(self, gold: Documents, predicted: Sequence[Clusters]) -> InstanceCounts:
        """Return the counts of every document that scores are made of."""
        return coreference.outcomes(_gold(gold), predicted)

    def report(self, corpus: Documents, predicted: Sequence[Clusters]) -> str:
        """Return the scores as a table of text: over all documents, and of each."""
        return coreference.table(corpus.names, _gold(corpus), predicted)

    def output_table(self, outputs: Sequence[Clusters]) -> dict[str, list[Any]]:
        """Return the entities of each document: lists of mentions, each its first word and the one
        after the last, from 0.
        """
        return {
            "clusters": [
                [[list(span) for span in cluster] for cluster in clusters] for clusters in outputs
            ]
        }

    def marginal_columns(
        self, encoded: Any, index: int, choices: Mapping[str, Array]
    ) -> dict[str, Any]:
        """Return the columns ``mention`` and ``antecedent``, from 1 (0: it starts an entity), and
        ``probability``.
        """
        return dict(choices)

    def boundary(self, probabilities: bool = False) -> Boundary | None:
        """Documents of CoNLL-2012 have an end; links with probabilities are a file of their own."""
        return None if probabilities or self.format == "conllu" else Boundary(rf"{END.pattern}\n?")

    def write_outputs(
        self,
        corpus: Documents,
        target: str | Path,
        outputs: Sequence[Clusters],
        probabilities: Sequence[Array] | None = None,
        ranked: Sequence[Ranked] | None = None,
        k_best: int = 1,
    ) -> None:
        """Write the file of a corpus again with the entities filled in; the probabilities of links
        beside it, as a table.

        Raises
        ------
        ConfigError
            For ranked outputs: a file has one column for them.
        """
        if ranked is not None:
            raise ConfigError(
                f"k_best={k_best}: a file of documents has one column of entities.",
                remedy="Leave k_best out, or ask from Python: model.predict_k_best(documents, k).",
            )
        numbers = _entity_numbers(corpus, outputs)
        for message in coreference_files.write(corpus, target, numbers, self.encoding):
            log.warning("%s", message)
        if probabilities is not None:
            write_text(f"{target}.links.tsv", link_table(corpus, probabilities), self.encoding)

    def write_picture(
        self,
        corpus: Documents,
        number: int,
        target: str | Path,
        outputs: Sequence[Clusters],
        probabilities: Sequence[Array] | None = None,
    ) -> None:
        """Draw a document (from 1) as HTML, its entities in colours; links that are wrong are
        marked where the file has entities.

        Raises
        ------
        DataError
            The corpus has no such document, or the file cannot be written.
        """
        index = self.drawn(corpus, number)
        write_text(
            target,
            draw(
                corpus,
                index,
                outputs[index],
                None if probabilities is None else probabilities[index],
            ),
        )

    def vocabulary(self) -> dict[str, list[str]]:
        """Return the values of all columns, whose numbers features are hashed from."""
        return {"labels": list(self.labels), "values": self._columns.value_names()}

    def attribute_names(self, group: str = "label") -> list[str]:
        """Return none: features are hashed, and have no names."""
        return []

    def missing_columns(self, corpus: Documents) -> list[str]:
        """Return none: what a file lacks counts as empty."""
        return []

    def state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return the columns with their values, and those that are compared."""
        values, arrays = self._columns.state()
        return values | {"compared": [one.text for one in self._compared]}, arrays

    def restore(self, values: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
        """Restore what `state` returned."""
        state = SavedState(values, arrays)
        self._columns = CodedColumns.restore(state, COLUMNS, least=0)
        self._compared = _expressions(state.strings("compared"))

    def _encoded(
        self, corpus: Documents, cells: Mapping[str, Sequence[str]], codes: Array
    ) -> EncodedMentions:
        compared = [
            numbered([one.candidates(cell)[0] for cell in cells[one.base]])
            for one in self._compared
        ]
        sentence = np.searchsorted(corpus.sentences, corpus.mentions[:, 0], side="right") - 1
        counts = np.diff(corpus.offsets)
        document = np.searchsorted(corpus.sentences, corpus.documents[:-1], side="left")
        return EncodedMentions(
            corpus.offsets,
            {},
            self.labels,
            corpus.clusters,
            columns=self._columns.names,
            codes=codes,
            compared_columns=tuple(one.text for one in self._compared),
            compared=np.stack(compared, axis=1)
            if compared
            else np.zeros((len(corpus.mentions), 0), np.int32),
            sentences=(sentence - np.repeat(document, counts)).astype(np.int32),
            spans=(corpus.mentions - np.repeat(corpus.documents[:-1], counts)[:, None]).astype(
                np.int32
            ),
        )


def _expressions(names: Sequence[str] | Mapping[str, Any]) -> list[Expression]:
    return [expression(name, COLUMNS) for name in names]


def _gold(corpus: Documents) -> list[Clusters]:
    """The entities of a corpus, or DataError where it has none."""
    return [corpus.entities(i) for i in range(len(corpus))]


def _count_markup(documents: Documents, labelled: bool) -> None:
    """Log how many mentions of a file are left out or read as their hulls."""
    hulls = sum(markup.hulls for markup in documents.markup)
    kept = sum(len(markup.kept) for markup in documents.markup)
    if hulls:
        log.warning("%s: %d discontinuous mentions are read as their hulls.", documents.path, hulls)
    if kept and labelled:
        log.warning(
            "%s: %d mentions without words of their own (such as empty nodes) are left out.",
            documents.path,
            kept,
        )


def _entity_numbers(corpus: Documents, outputs: Sequence[Clusters]) -> Array:
    """The number of every mention's entity within its document, in the order of first mentions."""
    numbers = np.zeros(len(corpus.mentions), np.int64)
    begins = zip(
        corpus.documents[:-1].tolist(), pairwise(corpus.offsets.tolist()), outputs, strict=True
    )
    for begin, (a, b), clusters in begins:
        entity = {
            span: number for number, cluster in enumerate(clusters) for span in map(tuple, cluster)
        }
        spans = (corpus.mentions[a:b] - begin).tolist()
        numbers[a:b] = [entity[first, end] for first, end in spans]
    return numbers
