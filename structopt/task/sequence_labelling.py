"""Named entities, chunks and tags: sequence labelling from CoNLL columns with feature templates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from structopt.core.data import AttributeTable, Encoded
from structopt.core.table_schema import Column, Schema, example_sentences
from structopt.errors import ConfigError
from structopt.kernels.record import Array
from structopt.task import columns as column_files
from structopt.task.columns import Columns
from structopt.task.labelling import Labelling, check_keys, detect_scheme, rows_of
from structopt.task.templates import FeatureTemplates

FEATURE_KEYS = ("templates", "transitions", "lists", "support", "min_count")
MEMORY = "<memory>"
GIVEN = "given tag"  # the label column of a file to predict


class SequenceLabelling(Labelling):
    """One label a token, learnt from columns and feature templates that YAML chooses.

    Parameters
    ----------
    train, dev, test, limit, encoding, scheme, target_scheme, valid_tags, default_C
        See `structopt.task.labelling.Labelling`.
    columns : mapping of str to int
        Column numbers by name, from 0 (negative: from the end); ``tag`` is the label, the first other one the word.
    separator : str or None
        What separates columns; None means any white space.
    features : mapping
        ``templates`` on tokens and ``transitions`` on pairs of neighbours (see `structopt.task.templates`), word ``lists``,
        ``min_count``.
    """

    def __init__(
        self,
        train: str | None = None,
        dev: str | None = None,
        test: str | None = None,
        limit: int | None = None,
        encoding: str = "utf8",
        columns: Mapping[str, int] | None = None,
        separator: str | None = None,
        scheme: str = "auto",
        target_scheme: str = "iob2",
        valid_tags: bool = False,
        default_C: float = 1.0,
        features: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(train, dev, test, limit, encoding, scheme, target_scheme, valid_tags, default_C)
        self._columns = dict(columns or {"word": 0, "tag": -1})
        if "tag" not in self._columns or len(self._columns) < 2:
            raise ConfigError("task.columns needs 'tag' and at least one other column, such as {word: 0, tag: -1}.")
        self.separator = separator
        features = features or {"templates": ["bias", "word"]}
        check_keys("features", features, FEATURE_KEYS)
        settings = {"lists": features.get("lists"), "min_count": features.get("min_count", 1)}
        self._templates = {"label": FeatureTemplates(features.get("templates", ()), **settings)}
        if features.get("transitions"):
            self._templates["transition"] = FeatureTemplates(features["transitions"], **settings)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the input columns, the word first."""
        return tuple(name for name in self._columns if name != "tag")

    @property
    def input_schema(self) -> Schema:
        """The words as ``tokens``, and the further columns that the templates look at: each a list of strings."""
        first = self.columns[0]
        used = [name for name in self._template_columns() if name != first]
        tokens = Column("tokens", "string", 1, alias=first) if "tokens" not in used else Column(first, "string", 1)
        return Schema((tokens, *(Column(name, "string", 1, False, like=tokens.name, filler="") for name in used)))

    def instances(self, table: Mapping[str, list[Any]]) -> list[Any]:
        """Sentences from a table: mappings from column name to cells."""
        return self.input_schema.records(table)

    def input_example(self) -> dict[str, list[Any]]:
        """Two sentences of values that training has shown."""
        seen = {column.name: self._seen_values(column.own) for column in self.input_schema}
        return example_sentences(seen)

    def read(self, path: str | Path, limit: int | None = None, labelled: bool = True) -> Columns:
        """Read a file; with `labelled` it must have every column, otherwise only the word.

        Raises
        ------
        DataError
            With file and line, where the file is not what it should be.
        """
        optional = () if labelled else (*self.columns[1:], "tag")
        corpus = column_files.read(path, self._columns, limit, self.encoding, self.separator, optional)
        if not labelled and "tag" in corpus.cells:  # of a file to predict, the last column may be anything
            corpus.cells[GIVEN] = corpus.cells.pop("tag")
        return corpus

    def corpus(self, instances: Sequence[Any]) -> Columns:
        """Make an unlabelled corpus of sentences given in memory.

        Parameters
        ----------
        instances : sequence of sentences
            A sentence is a sequence of words, of tuples of cells in the order of `columns`, or a mapping from column name to
            sequence.
        """
        sentences = [_cells(sentence, self.columns) for sentence in instances]
        names = [name for name in self.columns if sentences and all(name in s for s in sentences)]
        cells = {name: [cell for s in sentences for cell in s[name]] for name in names or self.columns[:1]}
        lengths = [len(s[self.columns[0]]) for s in sentences]
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        return Columns(MEMORY, offsets, cells, np.arange(1, offsets[-1] + 1))

    def fit(self, corpus: Columns, earlier: SequenceLabelling | None = None) -> Encoded:
        """Learn labels and attributes from the training corpus, beside those of an `earlier` task, and encode it."""
        self._settle_scheme(corpus.sentences("tag"), earlier)
        labels = self._gold_labels(corpus)
        assert labels is not None
        self._learn_labels(labels, earlier)
        known = {} if earlier is None else earlier._templates
        tables = {name: t.fit(corpus.cells, corpus.offsets, known.get(name)) for name, t in self._templates.items()}
        return self._encoded(corpus, _at_pairs(tables, corpus.offsets), labels)

    def encode(self, corpus: Columns, given: Sequence[str] | None = None) -> Encoded:
        """Encode a corpus with what `fit` has learnt; `given` labels (see `Labelling`) are kept."""
        tables = {
            name: t.transform(corpus.cells, corpus.offsets, [c for c in t.columns if c not in corpus.cells])
            for name, t in self._templates.items()
        }
        allowed = None if given is None else self._allowed(corpus, given)
        return self._encoded(corpus, _at_pairs(tables, corpus.offsets), self._gold_labels(corpus), allowed)

    def given_labels(self, corpus: Columns) -> list[str] | None:
        """Labels of partially labelled input, as they stand in the file."""
        return corpus.cells.get(GIVEN)

    def missing_columns(self, corpus: Columns) -> list[str]:
        """Columns that the templates look at and the corpus lacks."""
        return [name for name in self._template_columns() if name not in corpus.cells]

    def write(self, source: str | Path, target: str | Path, added: Sequence[Sequence[Sequence[str]]]) -> None:
        """Write the input file again with further columns."""
        column_files.write(source, target, added, self.encoding, self.separator)

    def attribute_names(self, group: str = "label") -> list[str]:
        """Readable names of all attributes of a part group."""
        templates = self._templates.get(group)
        return [] if templates is None else templates.describe(range(templates.size))

    def state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Labels, scheme, columns and templates with their vocabularies."""
        values: dict[str, Any] = self._label_state() | {"columns": self._columns, "templates": {}}
        arrays: dict[str, Array] = {}
        for name, templates in self._templates.items():
            values["templates"][name], parts = templates.state()
            arrays |= {f"{name}.{key}": array for key, array in parts.items()}
        return values, arrays

    def restore(self, values: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
        """Take back what `state` gave."""
        self._restore_labels(values)
        self._columns = dict(values["columns"])
        self._templates = {}
        for name, part in values["templates"].items():
            own = {key.removeprefix(f"{name}."): a for key, a in arrays.items() if key.startswith(f"{name}.")}
            self._templates[name] = FeatureTemplates.restore(part, own)

    def _file_labels(self, corpus: Columns) -> list[str] | None:
        return corpus.cells.get("tag")

    def _template_columns(self) -> list[str]:
        """Columns that the templates look at, in the order of first use."""
        return list(dict.fromkeys(c for t in self._templates.values() for c in t.columns))

    def _seen_values(self, column: str) -> list[str]:
        """Some values of a column in training; its name, where templates look at functions of it only."""
        return next((found for t in self._templates.values() if (found := t.values(column)[:6])), [column])

    def _gold_labels(self, corpus: Columns) -> list[str] | None:
        if "tag" not in corpus.cells:
            return None
        source = self.scheme if self.scheme != "auto" else detect_scheme(corpus.sentences("tag"))
        return column_files.convert_tags(corpus, "tag", source, self.target_scheme)


def _cells(sentence: Any, names: Sequence[str]) -> dict[str, list[str]]:
    """One sentence given in memory as cells by column name."""
    if isinstance(sentence, Mapping):
        return {name: list(sentence[name]) for name in names if name in sentence}
    if sentence and isinstance(sentence[0], (tuple, list)):
        return {name: list(column) for name, column in zip(names, zip(*sentence, strict=True), strict=False)}
    return {names[0]: list(sentence)}


def _at_pairs(tables: dict[str, AttributeTable], offsets: Array) -> dict[str, AttributeTable]:
    """Leave the first token of every sentence out of the transition table: its rows stand for pairs of neighbours."""
    if "transition" not in tables:
        return tables
    keep = np.ones(len(tables["transition"].offsets) - 1, bool)
    keep[offsets[:-1]] = False
    return tables | {"transition": rows_of(tables["transition"], keep)}
