"""Named entities, chunks and tags: sequence labelling from CoNLL columns with feature templates."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypedDict

import numpy as np

from structopt.core.data.attribute_table import AttributeTable
from structopt.core.data.encoded import Encoded
from structopt.core.data.table_schema import Column, Schema, example_sentences
from structopt.errors import ConfigError, DataError
from structopt.formats import conll as column_files
from structopt.formats.conll import Columns, first_line
from structopt.formats.conll_layouts import TAG, Layouts, checked, counted, other_width, shown
from structopt.formats.instances import MEMORY, columns_of, sentences
from structopt.kernels.waist.record import Array
from structopt.task.labelling import Labelling, check_keys, detect_scheme, rows_of
from structopt.task.partial_labels import is_open
from structopt.templates.column_templates import FeatureTemplates

KEYS = {"label": "features.templates", "transition": "features.transitions"}
GIVEN = "given tag"  # the label column of a file to predict

log = logging.getLogger(__name__)


class Reading(TypedDict, total=False):
    """Keys of the node ``features`` that are read here."""

    templates: list[str]
    transitions: list[str]
    lists: dict[str, str] | None
    min_count: int


class SequenceLabelling(Labelling):
    """One label a token, learnt from columns and feature templates that YAML chooses.

    Parameters
    ----------
    train, dev, test, limit, encoding, scheme, target_scheme, valid_tags, default_C, default_C_by, partial
        See `structopt.task.labelling.Labelling`.
    columns : mapping of str to int, or None
        Column numbers by name, all of them, from 0 (negative: from the end), such as {word: 0, pos: 1, tag: 3}; ``tag`` is the
        label, the first other one the word. None: found from the number of columns of the training file.
    layouts : sequence of str
        What the columns of files of each width are: see `structopt.formats.conll_layouts.Layouts`. A template on a column that
        some layouts have is left out where the file lacks it.
    separator : str or None
        What separates columns; None means any white space.
    features : mapping
        ``templates`` on tokens and ``transitions`` on pairs of neighbours (see `structopt.templates.column_templates`), word
        ``lists``, ``min_count``.
    """

    reading = Reading

    def __init__(
        self,
        train: str | None = None,
        dev: str | None = None,
        test: str | None = None,
        limit: int | None = None,
        encoding: str = "utf8",
        columns: Mapping[str, int] | None = None,
        layouts: Sequence[str] = (),
        separator: str | None = None,
        scheme: str = "auto",
        target_scheme: str = "iob2",
        valid_tags: bool = False,
        default_C: float = 1.0,
        features: Mapping[str, Any] | None = None,
        default_C_by: Mapping[str, float] | None = None,
        partial: bool = False,
    ) -> None:
        super().__init__(train, dev, test, limit, encoding, scheme, target_scheme, valid_tags, default_C, default_C_by, partial)
        self._layouts = Layouts(layouts)
        found = columns is None and bool(self._layouts)
        self._columns = {} if found else checked({"word": 0, TAG: -1} if columns is None else columns)
        self._width = 0  # of the training file; 0 where that is not known
        self._found = found  # the columns from the training file, whose width labelled files must have then
        self.separator = separator
        features = features or {"templates": ["bias", "word"]}
        check_keys("features", features, Reading.__annotations__)
        settings = {"lists": features.get("lists"), "min_count": features.get("min_count", 1)}
        self._templates = {"label": FeatureTemplates(features.get("templates", ()), **settings)}
        if features.get("transitions"):
            self._templates["transition"] = FeatureTemplates(features["transitions"], **settings)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the input columns, the word first."""
        columns: Mapping[str, int] = self._columns
        if not columns:  # before the training file is read
            path = self.files["train"]
            columns = self._layouts.columns(path, *first_line(path, self.encoding, self.separator))
        return tuple(name for name in columns if name != TAG)

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
        seen = {column.name: self._seen_values(column.task_name) for column in self.input_schema}
        return example_sentences(seen)

    def read(self, path: str | Path, limit: int | None = None, labelled: bool = True) -> Columns:
        """Read a file; with `labelled` it must have every column, otherwise only the word.

        Raises
        ------
        DataError
            With file and line, where the file is not what it should be.
        """
        numbers = partial(self._numbers, path, labelled)
        optional = () if labelled or not self._columns else (*self.columns[1:], TAG)
        corpus = column_files.read(path, numbers, limit, self.encoding, self.separator, optional, (TAG,))
        if not labelled:
            if TAG in corpus.cells:  # of a file to predict, the last column may be anything
                corpus.cells[GIVEN] = corpus.cells.pop(TAG)
            self._check_last_column(corpus)
            if self._width and corpus.width != self._width:
                log.warning("%s", self._read_as(corpus))
        return corpus

    def corpus(self, instances: Sequence[Any]) -> Columns:
        """Make an unlabelled corpus of sentences given in memory.

        Parameters
        ----------
        instances : sequence of sentences
            A sentence is a sequence of words, of tuples of cells in the order of `columns`, or a mapping from column name to
            sequence.

        Raises
        ------
        DataError
            Where it is anything else: see `structopt.formats.instances.columns_of`; ``line`` counts the sentences from 1.
        """
        names = self.columns
        given = sentences(names).listed(instances)
        found = [columns_of(sentence, number, names, (TAG,)) for number, sentence in enumerate(given, 1)]
        kept = [name for name in names if name == names[0] or (found and all(name in one for one in found))]
        lengths = [len(one[names[0]]) for one in found]
        corpus = Columns(
            MEMORY,
            np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
            {name: [cell for one in found for cell in one[name]] for name in kept},
            np.repeat(np.arange(1, len(found) + 1), lengths),
        )
        if not any(isinstance(one, Mapping) for one in given):  # cells by their places, as in a file
            corpus = replace(corpus, numbers={name: number for number, name in enumerate(kept)}, width=len(kept))
        self._check_last_column(corpus)
        return corpus

    def fit(self, corpus: Columns, earlier: SequenceLabelling | None = None) -> Encoded:
        """Learn labels and attributes from the training corpus, beside those of an `earlier` task, and encode it.

        Columns that are not typed are the corpus's own.

        Raises
        ------
        ConfigError
            A template looks at a column that there is not, or none is left.
        """
        self._settle_columns(corpus)
        self._settle_scheme(corpus.sentences(TAG), earlier)
        given = corpus.cells[TAG]
        open_labels = self.partial and any(map(is_open, set(given)))
        labels = self._learnt_labels(given) if open_labels else self._gold_labels(corpus)
        assert labels is not None
        self._learn_labels(labels, earlier)
        known = {} if earlier is None else earlier._templates
        cells = self._inputs(corpus)
        tables = {name: t.fit(cells, corpus.offsets, known.get(name)) for name, t in self._templates.items()}
        tables = _at_pairs(tables, corpus.offsets)
        return self._encoded_in_part(corpus, tables, given) if open_labels else self._encoded(corpus, tables, labels)

    def encode(self, corpus: Columns, given: Sequence[str] | None = None) -> Encoded:
        """Encode a corpus with what `fit` has learnt; `given` labels (see `Labelling`) are kept."""
        cells = self._inputs(corpus)
        tables = {
            name: t.transform(cells, corpus.offsets, [c for c in t.columns if c not in cells])
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
        columns = {"columns": self._columns, "width": self._width, "found": self._found}
        values: dict[str, Any] = self._label_state() | columns | {"templates": {}}
        arrays: dict[str, Array] = {}
        for name, templates in self._templates.items():
            values["templates"][name], parts = templates.state()
            arrays |= {f"{name}.{key}": array for key, array in parts.items()}
        return values, arrays

    def restore(self, values: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
        """Take back what `state` gave."""
        self._restore_labels(values)
        self._columns, self._width, self._found = dict(values["columns"]), values.get("width", 0), values.get("found", False)
        self._templates = {}
        for name, part in values["templates"].items():
            own = {key.removeprefix(f"{name}."): a for key, a in arrays.items() if key.startswith(f"{name}.")}
            self._templates[name] = FeatureTemplates.restore(part, own)

    def _file_labels(self, corpus: Columns) -> list[str] | None:
        return corpus.cells.get(TAG)

    def _template_columns(self) -> list[str]:
        """Columns that the templates look at, in the order of first use."""
        return list(dict.fromkeys(c for t in self._templates.values() for c in t.columns))

    def _seen_values(self, column: str) -> list[str]:
        """Some values of a column in training; its name, where templates look at functions of it only."""
        found = (t.values(column) for t in self._templates.values())
        return next((list(values)[:6] for values in found if values), [column])

    def _numbers(self, path: str | Path, labelled: bool, line: int, width: int) -> Mapping[str, int]:
        """Columns of a file whose first token line, and its width, are given."""
        if not self._columns:
            return self._layouts.columns(path, line, width)
        if labelled and self._found and width != self._width:
            raise other_width(path, line, width, self._columns, self._width)
        return self._columns

    def _settle_columns(self, corpus: Columns) -> None:
        """Take the columns of the training corpus where none are typed, and leave out templates on those it lacks."""
        self._columns, self._width = self._columns or dict(corpus.numbers), corpus.width
        if self._found:
            log.warning("%s: %d columns, read as %s.", corpus.path, corpus.width, shown(self._columns))
        missing = [name for name in self._layouts.optional if name not in self._columns]
        for name, templates in list(self._templates.items()):
            kept, left_out = templates.without(missing)
            if left_out:
                self._leave_out(name, kept, left_out, missing)

    def _leave_out(self, name: str, kept: FeatureTemplates, left_out: Sequence[str], missing: Sequence[str]) -> None:
        """Go on with the templates that are kept, and say which are not; there may be none on transitions."""
        key, listed, lacking = KEYS[name], ", ".join(f"'{source}'" for source in left_out), " or ".join(missing)
        if kept.templates:
            self._templates[name] = kept
        elif name == "transition":
            del self._templates[name]
        else:
            raise ConfigError(
                f"{key}: no template is left, since there is no column {lacking}: {listed}. Columns: {', '.join(self.columns)}; "
                f"type templates on these, such as '{key}=[{self.columns[0]}]', or task.columns."
            )
        rest = "" if kept.templates else "; none is left, so that transitions have no features"
        log.warning("%s: there is no column %s, so these templates are left out: %s%s.", key, lacking, listed, rest)

    def _check_last_column(self, corpus: Columns) -> None:
        """Refuse unlabelled input whose last column is to be read as a feature, and plainly holds labels.

        A file may lack columns, its label too; nothing but its cells tells whether the last column that is left is the label.
        """
        if not self.labels:
            return
        name = next((name for name in self.columns[1:] if corpus.numbers.get(name) == corpus.width - 1), None)
        if name is None:
            return
        seen = [values for templates in self._templates.values() if (values := templates.values(name)) is not None]
        labels = set(self.labels).difference(*seen) if seen else set()
        at = next((t for t, cell in enumerate(corpus.cells[name]) if cell in labels), None)
        if at is not None:
            raise DataError(
                corpus.path,
                int(corpus.lines[at]),
                f"'{corpus.cells[name][at]}' is a label, but stands in column {corpus.numbers[name]}, which would be read as "
                f"'{name}': give all columns ({', '.join(self._columns)}), or leave the labels out.",
            )

    def _read_as(self, corpus: Columns) -> str:
        """What the columns of a file to predict are taken for, in words."""
        numbers = {name: number for name, number in corpus.numbers.items() if name in corpus.cells}
        width, rest = counted(corpus.width), "" if GIVEN in corpus.cells else ", without labels"
        return f"{corpus.path}: {width}, but the training file has {self._width}; read as {shown(numbers)}{rest}."

    def _inputs(self, corpus: Columns) -> dict[str, list[str]]:
        """Columns that templates may look at: all but the label."""
        return {name: cells for name, cells in corpus.cells.items() if name not in (TAG, GIVEN)}

    def _gold_labels(self, corpus: Columns) -> list[str] | None:
        if TAG not in corpus.cells:
            return None
        source = self.scheme if self.scheme != "auto" else detect_scheme(corpus.sentences(TAG))
        return column_files.convert_tags(corpus, TAG, source, self.target_scheme)


def _at_pairs(tables: dict[str, AttributeTable], offsets: Array) -> dict[str, AttributeTable]:
    """Leave the first token of every sentence out of the transition table: its rows stand for pairs of neighbours."""
    if "transition" not in tables:
        return tables
    keep = np.ones(len(tables["transition"].offsets) - 1, bool)
    keep[offsets[:-1]] = False
    return tables | {"transition": rows_of(tables["transition"], keep)}
