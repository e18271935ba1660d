"""Extractive summaries: sentences of a text within a budget, learnt from reference summaries."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, TypedDict

import numpy as np

from structopt.core.data.boundaries import JSON_LINE, Boundary
from structopt.core.data.encoded import EncodedTexts
from structopt.core.data.file_sets import FileSet
from structopt.core.data.saved_state import SavedState
from structopt.core.data.table_schema import Column, Schema
from structopt.core.task import Ranked, Task
from structopt.errors import ConfigError
from structopt.formats.string_arrays import pack_strings, restored_strings
from structopt.formats.summaries import text_documents
from structopt.formats.summaries.texts import Texts
from structopt.formats.summaries.texts_in_memory import in_memory
from structopt.formats.tables import columns as aligned
from structopt.formats.text_files import AUTO, write_text
from structopt.kernels.waist.record import Array
from structopt.metrics import rouge
from structopt.metrics.instance_counts import InstanceCounts
from structopt.task.gold.extracts import gold_references
from structopt.task.key_checks import check_keys
from structopt.task.split_files import checked_paths, files_of
from structopt.task.summarization.attributes import (
    FREQUENCY,
    NUMBERS_OF_BIGRAMS,
    NUMBERS_OF_SENTENCES,
    OF_BIGRAMS,
    OF_SENTENCES,
    UNIT,
    Document,
    Templates,
)
from structopt.task.summarization.bigrams import document_bigrams, packed_holders, worth
from structopt.task.summarization.oracle import best_extract

log = logging.getLogger(__name__)

Extract = list[int]
"""A summary: the numbers of its sentences in the document, from 1, ascending."""
SENTENCE, BIGRAM = "sentence", "bigram"


class Reading(TypedDict, total=False):
    """The keys of the config's node ``features`` that this task takes."""

    bigrams: list[str]
    sentences: list[str]


class Summarization(Task):
    r"""The sentences of a text that make its summary, within a budget.

    Learning takes for gold the *best extract*: the sentences within the budget that cover most
    bigrams of the references (`structopt.task.summarization.oracle`). Scores are those of ROUGE
    against the references.

    Parameters
    ----------
    train, dev, test : str or None
        Files of texts: a file, a folder, a glob, or ``ARCHIVE.tar.gz:GLOB``. Without `train`, the
        small corpus shipped with the package is used for all three.
    references : str or None
        Where the reference summaries are, of all splits, if not beside the sentences in JSON lines.
    limit : int or None
        Number of training documents to read.
    encoding : str
        Encoding of the files; ``auto``: utf8 or cp1252, whichever each file is.
    format : str
        Format of the files: jsonl, conllu, text (a sentence a line, a document a file), or auto (as
        each file is named).
    budget : int
        What a summary may take.
    lengths : str
        The unit of the budget: ``words`` as ROUGE counts them (see `words`), or ``characters``.
    stem : bool
        Whether ROUGE stems words.
    words : str
        The words of bigrams, of the budget and of ROUGE. ``unicode``: runs of letters, digits and
        combining marks of any script; each character is a word in scripts without spaces (Chinese,
        Japanese, Thai). ``ascii``: runs of a-z and 0-9, as in the package rouge-score.
    over : str
        ROUGE's scores over several references: their ``mean``, or those of the ``best`` reference.
    default_C : float
        C for optimizers that are not given one.
    default_C_by : mapping or None
        The same for kinds of optimizers: ``optimum`` (those that reach it), ``gradient``.
    features : mapping
        ``bigrams`` and ``sentences``: templates on attributes of each, such as ``frequency`` of
        bigrams, which is a number. The other keys are the scorer's.

    Notes
    -----
    Gillick and Favre (2009); Berg-Kirkpatrick, Gillick and Klein (2011); Kummerfeld et al. (2015).
    """

    reading = Reading

    columns = ("sentences",)
    main_metric = "rouge2_recall"
    unit = "sentences"
    instance = "document"
    view = "selection"
    late = ("references", "encoding", "format", "budget", "lengths", "stem", "words", "over")
    labels: tuple[str, ...] = ("out", "in")
    output_schema = Schema((Column("extract", "long", 1),))

    def __init__(
        self,
        train: str | None = None,
        dev: str | None = None,
        test: str | None = None,
        references: str | None = None,
        limit: int | None = None,
        encoding: str = AUTO,
        format: Literal["auto", "jsonl", "conllu", "text"] = "auto",
        budget: int = 50,
        lengths: Literal["words", "characters"] = "words",
        stem: bool = True,
        over: Literal["mean", "best"] = "mean",
        default_C: float = 1.0,
        default_C_by: Mapping[str, float] | None = None,
        features: Mapping[str, Any] | None = None,
        words: rouge.Alphabet = "unicode",
    ) -> None:
        features = features or {}
        check_keys("features", features, Reading.__annotations__)
        if budget < 1:
            raise ConfigError(
                "leaves room for no sentence.",
                parameter="task.budget",
                value=budget,
                remedy=f"Give a number of {lengths} from 1 on.",
            )
        self._paths = checked_paths(train, dev, test, limit)
        self._references = references
        self.limit, self.encoding, self.format = limit, encoding, format
        self.budget, self.lengths, self.stem, self.over = budget, lengths, stem, over
        self.words = words
        self.default_C, self.default_C_by = default_C, dict(default_C_by or {})
        self._templates = {
            BIGRAM: Templates(
                "features.bigrams", features.get("bigrams") or (), OF_BIGRAMS, NUMBERS_OF_BIGRAMS
            ),
            SENTENCE: Templates(
                "features.sentences",
                features.get("sentences") or (),
                OF_SENTENCES,
                NUMBERS_OF_SENTENCES,
            ),
        }
        self._names: dict[str, list[str]] = {BIGRAM: [], SENTENCE: []}

    @property
    def unlearned(self) -> Mapping[str, Mapping[str, float]]:
        """Bigrams by the number of sentences that have them, if there are several: Gillick and
        Favre (2009).
        """
        return {BIGRAM: {FREQUENCY: UNIT}}

    @property
    def files(self) -> dict[str, Path | FileSet]:
        """The files by split (train, dev, test); those of the shipped corpus if no training file is
        typed.
        """
        return files_of(self._paths, "jsonl")

    def read(self, path: str | Path, limit: int | None = None, labelled: bool = True) -> Texts:
        """Read documents; those that are `labelled` need references."""
        corpus = text_documents.read(
            path, self.format, limit, self._references if labelled else None, self.encoding
        )
        if labelled and corpus.references is None:
            raise corpus.error(
                0,
                "it has no reference summary: set task.references, or give references in JSON "
                "lines.",
            )
        return self._fitting(corpus) if labelled else corpus

    def subset(self, corpus: Texts, first: int, last: int) -> Texts:
        """Return the instances first <= i < last of a corpus."""
        return corpus.subset(first, last)

    def corpus(self, instances: Sequence[Any]) -> Texts:
        """Make an unlabelled corpus of documents: lists of sentences, or mappings with
        ``sentences``.
        """
        return in_memory(instances)

    def labelled(self, instances: Sequence[Any], outputs: Sequence[Any]) -> Texts:
        """Make a corpus of documents, as `corpus` takes them, and of each its references, or an
        extract that stands for one.
        """
        corpus = self.corpus(instances)
        return self._fitting(
            replace(corpus, references=gold_references(corpus.documents(), outputs))
        )

    @property
    def input_schema(self) -> Schema:
        """The sentences of every document."""
        return Schema((Column("sentences", "string", 1),))

    def instances(self, table: Mapping[str, list[Any]]) -> list[Any]:
        """Return the documents of a table."""
        return self.input_schema.records(table)

    def input_example(self) -> dict[str, list[Any]]:
        """Return a document of two sentences."""
        return {
            "sentences": [["The rooms are clean.", "The beds are large and the rooms are clean."]]
        }

    def fit(self, corpus: Texts, earlier: Summarization | None = None) -> EncodedTexts:
        """Number the attributes of the training documents, after those of an `earlier` task; encode
        them.
        """
        documents = self._documents(corpus)
        for group, templates in self._templates.items():
            known = [] if earlier is None else earlier._names[group]
            names = templates.names((one, _size(one, group)) for one in documents)
            self._names[group] = list(dict.fromkeys([*known, *names]))
        return self._encoded(corpus, documents)

    def encode(self, corpus: Texts, given: Sequence[Any] | None = None) -> EncodedTexts:
        """Encode a corpus with the attributes of the training documents."""
        return self._encoded(corpus, self._documents(corpus))

    def decode(self, encoded: EncodedTexts, view: Array) -> list[Extract]:
        """Return the numbers of the sentences that are in, from 1."""
        return [
            (np.flatnonzero(view[a:b]) + 1).tolist() for a, b in pairwise(encoded.offsets.tolist())
        ]

    def outcomes(self, gold: Texts, predicted: Sequence[Extract]) -> InstanceCounts:
        """Return the scores of every summary, whose means are the corpus's; and as ``oracle_``
        those of the best extracts.
        """
        return rouge.outcomes(self._scored(gold, predicted), self._scores_of_best(gold))

    def report(self, corpus: Texts, predicted: Sequence[Extract]) -> str:
        """Return the scores as a table of text, and those of the best extracts, above which no
        summary is likely to come.
        """
        rows = [
            [
                "",
                *(
                    f"{name[:5].upper()}-{name[5:]} {part}"
                    for name in rouge.METRICS
                    for part in ("R", "P", "F1")
                ),
            ]
        ]
        for title, table in (
            ("summaries", self._scored(corpus, predicted)),
            ("best extracts", self._scores_of_best(corpus)),
        ):
            rows.append([title, *(f"{100 * score:.2f}" for score in table.mean(axis=0).tolist())])
        return aligned(rows)

    def output_table(self, outputs: Sequence[Extract]) -> dict[str, list[Any]]:
        """Return the numbers of the sentences of each summary, from 1."""
        return {"extract": [list(one) for one in outputs]}

    def boundary(self, probabilities: bool = False) -> Boundary | None:
        """JSON lines have a document each; other texts are documents as whole files."""
        return replace(JSON_LINE, ending=".jsonl") if self.format in ("auto", "jsonl") else None

    def write_outputs(
        self,
        corpus: Texts,
        target: str | Path,
        outputs: Sequence[Extract],
        probabilities: Sequence[Array] | None = None,
        ranked: Sequence[Ranked] | None = None,
        k_best: int = 1,
    ) -> None:
        """Write the summaries: a sentence a line and an empty line between two, or JSON lines where
        the target is named so.

        JSON has the document's name, the numbers of the sentences (from 1), the sentences, and what
        they take of the budget.

        Raises
        ------
        ConfigError
            For ranked outputs and probabilities, which such files have no place for.
        """
        if ranked is not None or probabilities is not None:
            raise ConfigError(
                "A file of summaries has one summary a document.",
                remedy="Leave k_best and probabilities out.",
            )
        chosen = summaries(corpus, outputs)
        if text_documents.JSONL_NAME.fullmatch(str(target)):
            rows = [
                {
                    "name": name,
                    "extract": numbers,
                    "summary": summary,
                    self.lengths: self._length_of(summary),
                    "budget": self.budget,
                }
                for name, numbers, summary in zip(corpus.names, outputs, chosen, strict=True)
            ]
            write_text(target, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
        else:
            write_text(
                target,
                "\n".join("".join(f"{sentence}\n" for sentence in summary) for summary in chosen),
            )

    def vocabulary(self) -> dict[str, list[str]]:
        """Return the attributes."""
        return {
            "labels": list(self.labels),
            "bigrams": self._names[BIGRAM],
            "sentences": self._names[SENTENCE],
        }

    def attribute_names(self, group: str = SENTENCE) -> list[str]:
        """Return the names of the attributes of bigrams or of sentences."""
        return list(self._names.get(group, ()))

    def state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return templates, and the names of the attributes."""
        arrays = {}
        for group, names in self._names.items():
            arrays[f"{group}_bytes"], arrays[f"{group}_offsets"] = pack_strings(names)
        return {
            group: list(templates.texts) for group, templates in self._templates.items()
        }, arrays

    def restore(self, values: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
        """Restore what `state` returned."""
        state = SavedState(values, arrays)
        self._names = {group: restored_strings(state, f"{group}_") for group in self._names}
        for group, templates in self._templates.items():
            try:
                self._templates[group] = Templates(
                    templates.key, state.strings(group), templates.columns, templates.numbers
                )
            except ConfigError as error:
                state.refuse(group, f"templates of {group}s ({error})")

    def _fitting(self, corpus: Texts) -> Texts:
        """The corpus; a warning tells of documents whose references are all beyond the budget."""
        for number, own in enumerate(corpus.references or ()):
            if not all(any(map(self._words_in, reference)) for reference in own):
                raise corpus.error(number, f"a reference summary has no word. {self._no_word}")
        long = [
            i
            for i, own in enumerate(corpus.references or ())
            if min(map(self._length_of, own)) > self.budget
        ]
        if long:
            message = (
                f"its references are all longer than task.budget={self.budget} {self.lengths} "
                f"({len(long)} such documents)."
            )
            log.warning("%s", corpus.error(long[0], message))
        return corpus

    def _length_of(self, sentences: Sequence[str]) -> int:
        """What sentences take of the budget."""
        if self.lengths == "characters":
            return sum(map(len, sentences))
        return sum(self._words_in(sentence) for sentence in sentences)

    def _words_in(self, sentence: str) -> int:
        """The number of words of a sentence."""
        return len(rouge.words_of(sentence, stem=False, words=self.words))

    @property
    def _no_word(self) -> str:
        """The remedy for a text without words."""
        if self.words == "ascii":
            return (
                "With task.words=ascii, words are runs of a-z and 0-9; set task.words=unicode for "
                "other scripts."
            )
        return "Give its text, or remove the document."

    def _scored(self, corpus: Texts, extracts: Sequence[Extract]) -> Array:
        """ROUGE of extracts, document by document."""
        assert corpus.references is not None
        return rouge.table_of(
            summaries(corpus, extracts),
            corpus.references,
            stem=self.stem,
            over=self.over,
            words=self.words,
        )

    def _scores_of_best(self, corpus: Texts) -> Array:
        """ROUGE of the best extracts; found once."""
        key = (
            "scores of the best extracts",
            self.stem,
            self.over,
            self.words,
            self.budget,
            self.lengths,
        )
        if key not in corpus.found:
            inside = np.split(self._best_extracts(corpus), corpus.offsets[1:-1])
            corpus.found[key] = self._scored(
                corpus, [(np.flatnonzero(one) + 1).tolist() for one in inside]
            )
        return np.asarray(corpus.found[key])

    def _best_extracts(self, corpus: Texts, documents: Sequence[Document] | None = None) -> Array:
        """Whether each sentence is in the best extract of its document, shape (sentences,); found
        once.
        """
        assert corpus.references is not None
        key = "best extracts", self.words, self.budget, self.lengths
        if key not in corpus.found:
            pairs = zip(documents or self._documents(corpus), corpus.references, strict=True)
            corpus.found[key] = np.concatenate([self._best_extract(*pair) for pair in pairs])
        return np.asarray(corpus.found[key])

    def _best_extract(self, document: Document, references: Sequence[Sequence[str]]) -> Array:
        bigrams = document.bigrams
        held, shares = packed_holders([bigrams]), worth(bigrams.names, references, self.words)
        return best_extract(np.array(document.lengths), self.budget, held, shares)

    def _documents(self, corpus: Texts) -> list[Document]:
        """What attributes are read from.

        Raises
        ------
        DataError
            A document without a word, or without a sentence within the budget.
        """
        documents = []
        for number, sentences in enumerate(corpus.documents()):
            if sentences and not any(map(self._words_in, sentences)):
                raise corpus.error(number, f"it has no word. {self._no_word}")
            lengths = [self._length_of([sentence]) for sentence in sentences]
            if lengths and min(lengths) > self.budget:
                message = (
                    f"its shortest sentence has {min(lengths)} {self.lengths}, and "
                    f"task.budget={self.budget}: give more."
                )
                raise corpus.error(number, message)
            documents.append(Document(document_bigrams(sentences, self.words), lengths))
        return documents

    def _encoded(self, corpus: Texts, documents: Sequence[Document]) -> EncodedTexts:
        tables = {
            group: templates.table(
                [(one, _size(one, group)) for one in documents],
                {name: j for j, name in enumerate(self._names[group])},
            )
            for group, templates in self._templates.items()
        }
        bigrams = [one.bigrams for one in documents]
        lengths = np.array([length for one in documents for length in one.lengths], np.int32)
        shares = None
        if corpus.references is not None:
            shares = [
                worth(one.names, own, self.words)
                for one, own in zip(bigrams, corpus.references, strict=True)
            ]
        gold = None if shares is None else self._best_extracts(corpus, documents).astype(np.int32)
        return EncodedTexts(
            corpus.offsets,
            tables,
            self.labels,
            gold,
            lengths=lengths,
            budgets=np.full(len(corpus), self.budget, np.int32),
            bigrams=np.cumsum([0, *(len(one.names) for one in bigrams)]),
            holders=packed_holders(bigrams),
            worth=None if shares is None else np.concatenate(shares),
        )


def summaries(corpus: Texts, extracts: Sequence[Extract]) -> list[list[str]]:
    """Return the sentences of extracts."""
    documents = zip(corpus.documents(), extracts, strict=True)
    return [[sentences[number - 1] for number in extract] for sentences, extract in documents]


def _size(document: Document, group: str) -> int:
    return len(document.bigrams.names) if group == BIGRAM else len(document.lengths)
