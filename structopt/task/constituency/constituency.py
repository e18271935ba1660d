"""Constituency: a tree of phrases over every sentence, from the brackets of treebanks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from structopt.core.data.boundaries import JSON_LINE, Boundary
from structopt.core.data.constituents import Bracketings
from structopt.core.data.encoded import EncodedConstituents
from structopt.core.data.file_sets import FileSet
from structopt.core.data.saved_state import SavedState
from structopt.core.data.table_schema import Column, Schema, example_sentences
from structopt.core.task import Ranked, Task
from structopt.errors import ConfigError, DataError, first_few
from structopt.formats.text_files import write_text
from structopt.formats.trees import constituent_picture, treebank
from structopt.formats.trees.dependency_trees import EMPTY
from structopt.formats.trees.penn import Node
from structopt.formats.trees.treebank import BRACKETS, Treebank
from structopt.kernels.waist.record import Array
from structopt.metrics import brackets
from structopt.metrics.instance_counts import InstanceCounts
from structopt.task import sentence_lengths
from structopt.task.constituency.lexicon import Lexicon
from structopt.task.constituency.phrases import Phrases, phrases_of, trees_with
from structopt.task.dense.dense_columns import DenseColumns, DenseReading, Tokens
from structopt.task.key_checks import check_keys
from structopt.task.outputs_in_memory import GOLD
from structopt.task.split_files import checked_paths, files_of
from structopt.templates.anchored_templates import ANCHORED
from structopt.templates.column_codes import CodedColumns
from structopt.templates.expressions import column_names

COLUMNS = ("word", "tag")
"""The columns that templates may look at."""


class Reading(DenseReading, total=False):
    """The keys of the config's node ``features`` that this task takes."""

    min_count: int
    spans: list[str]
    splits: list[str]
    words: list[str]


class Constituency(Task):
    """A tree of labelled phrases over the words of every sentence.

    Empty elements, phrases without words, function tags and phrases over nothing but a phrase of
    their own label are left out of what is learnt; scores are EVALB's, on the trees of the files.

    Parameters
    ----------
    train, dev, test : str or None
        Files of Penn brackets: a file, a folder, a glob, or ``ARCHIVE.tar.gz:GLOB``. Without
        `train`, the small corpus shipped with the package is used for all three.
    limit : int or None
        Number of training sentences to read.
    max_length : int or None
        Training sentences with more words are left out.
    max_words : int
        Sentences with more words are refused, before memory is allocated for them.
    encoding : str
        Encoding of the files.
    tags : str
        Where the tags of the words come from. ``gold``: the trees; where an input has no tag, the
        model chooses one. ``column``: the input, which must have them. ``model``: the model
        `tagger`; of the training split, its trees. ``free``: the model chooses all tags, in
        training too.
    tagger : str or None
        A run or model folder of a task that labels words; for ``tags=model``.
    decoding : str
        ``viterbi``: the best tree. ``max_rule``: the tree that maximises the product of the
        marginals of its rules.
    default_C : float
        C for optimizers that are not given one.
    default_C_by : mapping or None
        The same for kinds of optimizers: ``optimum`` (those that reach it), ``gradient``.
    features : mapping
        ``min_count``: words that fewer words of the training data are count as their class, such as
        ``<cap-ed>``. ``spans``, ``splits`` and ``words``: templates, of which the task reads the
        columns: ``word``, ``tag`` and functions of them such as ``suffix(word,3)``. The other keys
        are the scorer's.
    """

    reading = Reading

    columns = ("tokens", "tags")
    main_metric = "bracket_f1"
    unit = "words"
    instance = "sentence"
    view = "constituents"
    pictures = True
    output_schema = Schema((Column("tree", "string"),))

    def __init__(
        self,
        train: str | None = None,
        dev: str | None = None,
        test: str | None = None,
        limit: int | None = None,
        max_length: int | None = None,
        max_words: int = 1000,
        encoding: str = "utf8",
        tags: Literal["gold", "column", "model", "free"] = "gold",
        tagger: str | None = None,
        decoding: Literal["viterbi", "max_rule"] = "max_rule",
        default_C: float = 1.0,
        default_C_by: Mapping[str, float] | None = None,
        features: Mapping[str, Any] | None = None,
    ) -> None:
        features = features or {}
        check_keys("features", features, Reading.__annotations__)
        if tagger is not None and tags != "model":
            raise ConfigError(
                f"is a model that gives words their tags, and task.tags={tags}.",
                parameter="task.tagger",
                remedy="Set task.tags=model.",
            )
        if max_length is not None and max_length < 1:
            raise ConfigError(
                "must be at least 1, or null for all sentences.",
                parameter="task.max_length",
                value=max_length,
            )
        self.max_words = sentence_lengths.checked_bound(max_words)
        self._paths, self.max_length = checked_paths(train, dev, test, limit), max_length
        self.limit, self.encoding, self.default_C = limit, encoding, default_C
        self.default_C_by = dict(default_C_by or {})
        self.tags, self.tagger, self.rounds_marginals = tags, tagger, decoding == "max_rule"
        self.labels: tuple[str, ...] = ()
        self._lexicon, self._phrases = Lexicon(int(features.get("min_count", 1))), Phrases()
        self._columns = CodedColumns(column_names(features, ANCHORED, COLUMNS), COLUMNS)
        self._numbers = DenseColumns.of(features)

    @property
    def files(self) -> dict[str, Path | FileSet]:
        """The files by split (train, dev, test); those of the shipped corpus if no training file is
        typed.
        """
        return files_of(self._paths, "ptb")

    def read(self, path: str | Path, limit: int | None = None, labelled: bool = True) -> Treebank:
        """Read trees in brackets; also words, with tags or without, where they need not be
        `labelled`.
        """
        return treebank.read(path, limit, labelled, self.encoding)

    def subset(self, corpus: Treebank, first: int, last: int) -> Treebank:
        """Return the instances first <= i < last of a corpus."""
        return corpus.subset(first, last)

    def corpus(self, instances: Sequence[Any]) -> Treebank:
        """Make an unlabelled corpus of sentences: sequences of words or of pairs (word, tag),
        mappings, trees.
        """
        sentences, matrices = self._numbers.separated(instances, ("tokens", "tags"))
        return replace(treebank.in_memory(sentences), matrices=matrices)

    def labelled(self, instances: Sequence[Any], outputs: Sequence[Any]) -> Treebank:
        """Make a corpus of sentences, as `corpus` takes them, and trees: `Node`s, or text in
        brackets.
        """
        corpus = self.corpus(instances)
        entries = GOLD.listed(outputs, len(corpus), "['(S (NP (NNP Ann)) (VP (VBD slept)))']")
        return treebank.with_trees(corpus, entries)

    @property
    def input_schema(self) -> Schema:
        """The words of a sentence and, where there are any, their tags."""
        return Schema(
            (
                Column("tokens", "string", 1),
                Column("tags", "string", 1, required=False, like="tokens", filler=""),
                *self._numbers.schema_columns("tokens"),
            )
        )

    def instances(self, table: Mapping[str, list[Any]]) -> list[Any]:
        """Return the sentences of a table: mappings from column name to cells."""
        return self.input_schema.records(table)

    def input_example(self) -> dict[str, list[Any]]:
        """Return two sentences of words of the training data."""
        words, tags = self._lexicon.example(6)
        return example_sentences({"tokens": words, "tags": tags}) | self._numbers.examples()

    @property
    def annotator(self) -> str | None:
        """The tagger, where tags are a model's."""
        if self.tags == "model" and self.tagger is None:
            raise ConfigError(
                "takes tags from a model",
                parameter="task.tags",
                value="model",
                remedy="set task.tagger=FOLDER too, a model of task=tagging.",
            )
        return self.tagger

    @property
    def annotates(self) -> bool:
        """Whether tags are a model's."""
        return self.tags == "model"

    def unannotated(self, corpus: Treebank) -> list[list[str]]:
        """The words of every sentence, brackets as treebanks write them."""
        return corpus.words

    def annotated(self, corpus: Treebank, outputs: Sequence[Any]) -> Treebank:
        """The corpus with the tagger's tags; scores still compare with the tags of the trees."""
        for words, tags in zip(corpus.words, outputs, strict=True):
            if (
                not isinstance(tags, list)
                or len(tags) != len(words)
                or not all(isinstance(tag, str) for tag in tags)
            ):
                raise ConfigError(
                    "task.tagger: that model gives no tag for every word.",
                    remedy="Take a model of task=tagging.",
                )
        given, known = sorted({tag for tags in outputs for tag in tags}), self._lexicon.tags
        if given and known and not set(given) & set(known):
            raise ConfigError(
                f"task.tagger={self.tagger}: none of the labels that this model gives "
                f"({first_few(given)}) is a tag of the training trees ({first_few(known)}).",
                remedy="Give a model that was trained on the tags of this treebank.",
            )
        return replace(corpus, tags=[list(tags) for tags in outputs], tagged=True)

    def fit(self, corpus: Treebank, earlier: Constituency | None = None) -> EncodedConstituents:
        """Learn labels, tags and words from the training trees, beside those of an `earlier` task;
        encode them.
        """
        if corpus.trees is None:
            raise DataError(
                corpus.path, None, "training needs trees in brackets, and this has words only."
            )
        corpus = corpus if self.max_length is None else corpus.up_to(self.max_length)
        parsed = [phrases_of(tree, corpus.path) for tree in _trees(corpus)]
        self._phrases.fit(parsed, _trees(corpus), None if earlier is None else earlier._phrases)
        self._lexicon.fit(
            corpus.words,
            [one.tags for one in parsed],
            None if earlier is None else earlier._lexicon,
        )
        self._columns.fit(
            *self._cells(corpus), earlier=None if earlier is None else earlier._columns
        )
        self._numbers.fit(
            self._tokens(corpus),
            self.limit is not None,
            None if earlier is None else earlier._numbers,
        )
        self.labels = self._phrases.categories
        return self._encoded(corpus, corpus.tags)

    def encode(self, corpus: Treebank, given: Sequence[Any] | None = None) -> EncodedConstituents:
        """Encode a corpus with the labels, tags and words of the training trees."""
        if self.tags == "column":
            _check_tagged(corpus)
        return self._encoded(corpus, corpus.tags)

    def decode(self, encoded: EncodedConstituents, view: Bracketings) -> list[Node]:
        """Return trees; where no tree was found, one that branches to the right."""
        return trees_with(self._phrases, self._lexicon.tags, encoded, view)

    @property
    def empty_output(self) -> Node:
        """The root without words."""
        return Node(self._phrases.written(self._phrases.categories[0]))

    def outcomes(self, gold: Treebank, predicted: Sequence[Node]) -> InstanceCounts:
        """Return the counts of every sentence that scores are made of."""
        return brackets.outcomes(_trees(gold), predicted, gold.path)

    def report(self, corpus: Treebank, predicted: Sequence[Node]) -> str:
        """Return the scores as a table of text."""
        return brackets.table(self.outcomes(corpus, predicted))

    def output_table(self, outputs: Sequence[Node]) -> dict[str, list[str]]:
        """Return each tree in brackets, on one line."""
        return {"tree": [str(tree) for tree in outputs]}

    def marginal_columns(
        self, encoded: Any, index: int, choices: Mapping[str, Array]
    ) -> dict[str, Any]:
        """Return the columns ``label``, ``begin`` and ``end`` (first and last word, from 1) and
        ``probability``.
        """
        return {**choices, "label": [self.labels[label] for label in choices["label"].tolist()]}

    def boundary(self, probabilities: bool = False) -> Boundary | None:
        """A sentence a line, or a tree, which ends where its brackets do; whether words have tags,
        each says for itself.
        """
        return replace(JSON_LINE, brackets=rf"{BRACKETS.pattern}|\s*\(\s*$", alone=True)

    def write_outputs(
        self,
        corpus: Treebank,
        target: str | Path,
        outputs: Sequence[Node],
        probabilities: Sequence[Array] | None = None,
        ranked: Sequence[Ranked] | None = None,
        k_best: int = 1,
    ) -> None:
        """Write a tree a line: see `structopt.formats.trees.treebank.write`."""
        named = None if probabilities is None else [self._named(table) for table in probabilities]
        treebank.write(corpus, target, outputs, named, ranked, self.encoding)

    def write_picture(
        self,
        corpus: Treebank,
        number: int,
        target: str | Path,
        outputs: Sequence[Node],
        probabilities: Sequence[Array] | None = None,
    ) -> None:
        """Draw the tree of a sentence (from 1) as SVG; phrases that are not in gold are marked
        where the file has trees.

        Raises
        ------
        DataError
            The corpus has no such sentence, or the file cannot be written.
        """
        index = self.drawn(corpus, number)
        gold = None if corpus.trees is None else corpus.trees[index]
        named = None if probabilities is None else self._named(probabilities[index])
        write_text(target, constituent_picture.draw(outputs[index], named, gold))

    def vocabulary(self) -> dict[str, list[str]]:
        """Return the labels of phrases, the tags, and the values of all columns, whose numbers
        features are hashed from.
        """
        return {
            "labels": list(self.labels),
            "tags": list(self._lexicon.tags),
            "values": self._columns.value_names(),
        }

    def attribute_names(self, group: str = "label") -> list[str]:
        """Return the words and classes of words."""
        return self._lexicon.names if group == "label" else []

    def configuration_names(self, group: str) -> list[Any] | None:
        """Return the tags, for the parts of words."""
        return list(self._lexicon.tags) if group == "label" else None

    def state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return labels, tags and words, and the values of columns."""
        (values, arrays), (columns, codes) = self.numbering(), self._columns.state()
        numbers, dense = self._numbers.stored()
        return values | {"columns": columns["columns"]} | numbers, arrays | codes | dense

    def numbering(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return labels, tags and words; the columns of templates are not a grammar's."""
        values, arrays = self._lexicon.state()
        return values | self._phrases.state(), arrays

    def restore(self, values: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
        """Restore what `state` returned."""
        state = SavedState(values, arrays)
        self._phrases, self._lexicon = Phrases.restore(state), Lexicon.restore(state)
        self._columns = CodedColumns.restore(state, COLUMNS, least=0)
        self._numbers = DenseColumns.restored(state)
        self.labels = self._phrases.categories

    def _named(self, table: Array) -> dict[tuple[str, int, int], float]:
        """Probabilities by label, first word, and the word after the last."""
        return {
            (self._phrases.written(self.labels[int(c)]), int(b), int(e)): float(p)
            for c, b, e, p in table.tolist()
        }

    def _encoded(self, corpus: Treebank, tags: Sequence[Sequence[str]]) -> EncodedConstituents:
        lengths = np.array(list(map(len, corpus.words)), np.int64)
        sentence_lengths.check(corpus.path, lengths, self.max_words, corpus.lines.__getitem__)
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        given = [[""] * len(one) for one in tags] if self.tags == "free" else tags
        table, allowed = self._lexicon.encode(corpus.words, given)
        gold = constituents = None
        if corpus.trees is not None:
            parsed = [phrases_of(tree, corpus.path) for tree in corpus.trees]
            gold = self._lexicon.tag_numbers([tag for one in parsed for tag in one.tags])
            constituents = self._phrases.encode(parsed)
        tokens = self._tokens(corpus)
        return EncodedConstituents(
            offsets,
            {"label": table},
            self._lexicon.tags,
            gold,
            allowed,
            dense=self._numbers.of_words(tokens),
            words=tokens.words,
            categories=self.labels,
            constituents=constituents,
            columns=self._columns.names,
            codes=self._columns.encode(*self._cells(corpus)),
        )

    def read_features_from(self, sources: Mapping[str, Any]) -> None:
        """Take files of word vectors, or matrices: see
        `structopt.task.dense.dense_columns.DenseColumns.read_from`.
        """
        self._numbers.read_from(sources)

    def _tokens(self, corpus: Treebank) -> Tokens:
        lengths = np.array(list(map(len, corpus.words)), np.int64)
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        words = tuple(word for sentence in corpus.words for word in sentence)
        lines = np.repeat(corpus.lines, lengths)
        return Tokens(corpus.path, offsets, lines, words, {}, corpus.matrices)

    def _cells(self, corpus: Treebank) -> tuple[dict[str, list[str]], int]:
        """The columns that templates look at, and the number of words; tags are empty where the
        model chooses them.
        """
        words = [word for sentence in corpus.words for word in sentence]
        if self.tags == "free":
            return {"word": words}, len(words)
        return {"word": words, "tag": [tag or EMPTY for tags in corpus.tags for tag in tags]}, len(
            words
        )


def _trees(corpus: Treebank) -> tuple[Node, ...]:
    if corpus.trees is None:
        raise DataError(
            corpus.path, None, "there are no trees to compare with: this has words only."
        )
    return corpus.trees


def _check_tagged(corpus: Treebank) -> None:
    """Refuse words without tags."""
    for line, words, tags in zip(corpus.lines, corpus.words, corpus.tags, strict=True):
        for word, tag in zip(words, tags, strict=True):
            if not tag:
                raise DataError(
                    corpus.path,
                    line,
                    f"the word {word!r} has no tag, which this model needs (task.tags=column).",
                    remedy="Write word_TAG.",
                )
