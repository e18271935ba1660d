"""Named entities, chunks and tags: labels of tokens from columns or lists of them, with feature
templates.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from itertools import accumulate, chain
from pathlib import Path
from typing import Any, Literal

from structopt.core.data.attribute_table import Entries, EntryBuffers, EntryReader, Size
from structopt.core.data.boundaries import EMPTY_LINE, JSON_LINE, Boundary
from structopt.core.data.dense_table import DenseTable
from structopt.core.data.encoded import Encoded
from structopt.core.data.in_memory import is_open
from structopt.core.data.saved_state import SavedState
from structopt.core.data.table_schema import Column, Schema, example_sentences
from structopt.core.storage.learner import Learner
from structopt.core.task import Ranked
from structopt.errors import ConfigError, DataError
from structopt.formats import conll_reader, conll_writer, tag_schemes, text_pieces
from structopt.formats.conll_layouts import TAG
from structopt.formats.conll_reader import Columns
from structopt.formats.in_memory.instances import MEMORY
from structopt.formats.in_memory.sentences import form_of_sentences, sentence_columns
from structopt.formats.predicted_cells import predicted_cells
from structopt.formats.tag_schemes import detect_scheme
from structopt.formats.text_pieces import Stretch
from structopt.formats.token_lists.separators import separator_of
from structopt.formats.token_lists.token_files import AUTO, COLUMNS, CONLLU, TokenFiles
from structopt.kernels.waist.record import Array
from structopt.task import placeholders
from structopt.task.columns.file_columns import GIVEN, FileColumns
from structopt.task.columns.template_groups import TemplateGroups
from structopt.task.dense.dense_columns import DenseColumns, DenseReading, Tokens
from structopt.task.key_checks import check_keys
from structopt.task.token_labelling import TokenLabelling

FIELDS = {"word": ["tokens"], "tag": ["tags"]}


class Reading(DenseReading, total=False):
    """The keys of the config's node ``features`` that this task takes."""

    columns: Literal["words", "all"]
    templates: list[str]
    column_templates: list[str]
    transitions: list[str]
    lists: dict[str, str] | None
    min_count: int
    hash_bits: int | None


class SequenceLabelling(TokenLabelling):
    """One label per token, from the columns and feature templates in the task's YAML.

    Parameters
    ----------
    train, dev, test, limit, encoding, scheme, target_scheme, valid_tags, default_C, default_C_by,
    partial, forbidden
        See `structopt.task.token_labelling.TokenLabelling`.
    missing : str
        Whether input without a column that the templates read is refused (``refuse``), or the
        column counts as empty (``pad``).
    columns : mapping of str to int, or None
        Column numbers by name, all of them, from 0 (negative: from the end), such as {word: 0, pos:
        1, tag: 3}; ``tag`` is the label, the first other one the word. None: found from the number
        of columns of the training file.
    layouts : sequence of str
        Names of the columns from left to right, one layout per number of columns, such as ``word
        pos tag``; ``_`` is a column that is not read. Templates on a column that the file lacks are
        left out if another layout has it.
    separator : str or None
        The text between columns; ``tab`` is a tab, ``space`` a space. None: any white
        space.
    comment : str or None
        The prefix of comment lines in files of columns, such as ``"# "``. None: no line is a
        comment, so that a token may be ``#``.
    format : str
        ``columns`` of CoNLL; ``jsonl``, ``csv``, ``parquet``, ``spacy`` or ``conllu``, whose fields
        have names; ``auto``: by the end of a file's name (.jsonl, .csv, .parquet, .json, .conllu),
        else columns.
    fields : mapping of str to sequence of str, or None
        The names that the fields of a column may have in files. For each column (``word``,
        ``tag``, and ``sentence`` in files with one token per row) the first name that a file has
        counts.
    names : str or None
        File with the names of labels that are integers: one name per line, or JSON such as
        {"ner_tags": ["O", "B-PER"]}.
    features : mapping
        ``templates`` on tokens and ``transitions`` on pairs of neighbours; word ``lists``;
        ``min_count``, the least number of tokens with an attribute; ``hash_bits``, to hash
        attributes; ``vectors``, a file of word vectors, with ``vectors_lower`` and
        ``vectors_unknown``; ``dense``, numeric columns and .npy files; ``standardize``, ``columns``
        or ``none``. With ``columns="all"`` the ``column_templates`` join the templates.
    """

    reading = Reading
    late = ("format", "encoding", "separator", "comment", "missing")
    reads_blocks = True

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
        format: Literal["auto", "columns", "jsonl", "csv", "parquet", "spacy", "conllu"] = "auto",
        fields: Mapping[str, list[str]] | None = None,
        names: str | None = None,
        scheme: str = "auto",
        target_scheme: str = "iob2",
        valid_tags: bool = False,
        default_C: float = 1.0,
        features: Mapping[str, Any] | None = None,
        default_C_by: Mapping[str, float] | None = None,
        partial: bool = False,
        missing: Literal["refuse", "pad"] = "refuse",
        comment: str | None = None,
        forbidden: Sequence[Sequence[str | None]] = (),
    ) -> None:
        self.missing = missing
        super().__init__(
            train,
            dev,
            test,
            limit,
            encoding,
            scheme,
            target_scheme,
            valid_tags,
            default_C,
            default_C_by,
            partial,
            forbidden,
        )
        self._columns = FileColumns(columns, layouts)
        self.separator, self.comment = separator_of(separator), _checked_comment(comment)
        self._token_files = TokenFiles(
            format, fields or FIELDS, names, encoding, self.separator, columns is not None
        )
        features = features or {"templates": ["bias", "word"]}
        check_keys("features", features, Reading.__annotations__)
        if features.get("columns") == "all":
            added = features.get("column_templates", ())
            features = {**features, "templates": [*features.get("templates", ()), *added]}
        self._numbers, self._templates = DenseColumns.of(features), TemplateGroups.of(features)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the input columns, the word first."""
        numbers: Mapping[str, int] = self._columns.numbers
        if not numbers:  # before the training file is read
            numbers = self._numbers_of(str(self.files["train"]))
        return tuple(name for name in numbers if name != TAG)

    @property
    def input_schema(self) -> Schema:
        """The words as ``tokens``, and the further columns that the templates look at: each a list
        of strings.
        """
        first = self.columns[0]
        used = [name for name in self._used_columns() if name != first]
        tokens = (
            Column("tokens", "string", 1, alias=first)
            if "tokens" not in used
            else Column(first, "string", 1)
        )
        return Schema(
            (
                tokens,
                *(
                    Column(name, "string", 1, self.missing == "refuse", tokens.name, filler="")
                    for name in used
                ),
                *self._numbers.schema_columns(tokens.name),
            )
        )

    def instances(self, table: Mapping[str, list[Any]]) -> list[Any]:
        """Return the sentences of a table: mappings from column name to cells."""
        return self.input_schema.records(table)

    def input_example(self) -> dict[str, list[Any]]:
        """Return two sentences of values of the training data."""
        matrices = self._numbers.examples()
        values = {
            column.name: self._some_values(column.task_name)
            for column in self.input_schema
            if column.name not in matrices
        }
        return example_sentences(values) | matrices

    def read(self, path: str | Path, limit: int | None = None, labelled: bool = True) -> Columns:
        """Read a file; with `labelled` it must have every column, otherwise only the word.

        Files whose fields have names need have no column but the word and the label.

        Raises
        ------
        DataError
            With file and line, where the file is malformed or its columns are not those of the
            task.
        """
        if self._token_files.format_of(path) != COLUMNS:
            return self._read_fields(path, limit, labelled)
        needed = self._needed if labelled else []
        numbers = partial(self._columns.of_file, path, labelled, needed)
        optional = () if labelled or not self._columns.numbers else (*self.columns[1:], TAG)
        corpus = conll_reader.read(
            path, numbers, limit, self.encoding, self.separator, optional, (TAG,), self.comment
        )
        if not labelled:
            if TAG in corpus.cells:  # in a file to predict, the last column may be anything
                corpus.cells[GIVEN] = self._complete(corpus, corpus.cells.pop(TAG), False)
            self._check_last_column(corpus)
        self._columns.warn_of_width(corpus)
        return self._labelled(corpus) if labelled else corpus

    def blocks(self, path: str | Path | Stretch, limit: int | None = None) -> Iterator[Columns]:
        """Read a training file, or a stretch of it, in blocks; a file of word vectors, and numeric
        columns, are refused.
        """
        if self._numbers.blocks:
            raise ConfigError(
                "features.vectors and features.dense need the training data in memory.",
                remedy="Set storage=memory.",
            )
        file, known = (
            (path.path, self._columns.first) if isinstance(path, Stretch) else (path, (0, 0))
        )
        if self._token_files.format_of(file) != COLUMNS:
            raise ConfigError(
                f"reads columns in blocks, and {file} has another format.",
                parameter="storage",
                value="disk",
                remedy="Set storage=memory.",
            )
        numbers = partial(self._columns.of_file, file, True, self._needed)
        blocks = conll_reader.read_blocks(
            path, numbers, limit, self.encoding, self.separator, (), (TAG,), self.comment, known
        )
        return map(self._with_labels, blocks)

    def stretches(self, path: str | Path) -> list[Stretch]:
        """Divide training files into stretches."""
        return text_pieces.stretches(path, self.encoding)

    def subset(self, corpus: Columns, first: int, last: int) -> Columns:
        """Return the instances first <= i < last of a corpus."""
        return corpus.subset(first, last)

    def corpus(self, instances: Sequence[Any]) -> Columns:
        """Make an unlabelled corpus of sentences in memory, in a form that `sentence_columns`
        takes; DataError otherwise.
        """
        listed = form_of_sentences(self.columns).listed(instances)
        sentences, matrices = self._numbers.separated(
            self._renamed(listed, self.columns), self.columns
        )
        columns = sentence_columns(sentences, self.columns, (TAG,))
        corpus = Columns(MEMORY, columns.offsets, columns.cells, columns.lines, matrices=matrices)
        if not columns.named:  # columns are numbered, as in a file
            corpus = replace(
                corpus,
                numbers={name: j for j, name in enumerate(columns.cells)},
                width=len(columns.cells),
            )
        self._check_last_column(corpus)
        return corpus

    def entry_reader(self, missing: Collection[str] = ()) -> EntryReader:
        """Return what reads sentences; nothing for tasks with numbers or with features of
        transitions, and for subclasses, whose `corpus` may take other forms.
        """
        if not self._has_entries:
            return super().entry_reader(missing)

        def read(instances: Sequence[Any], buffers: EntryBuffers) -> Size | None:
            entries = self._entries(instances, missing)
            return None if entries is None else buffers.write(entries)

        return read

    def _entries(self, instances: Sequence[Any], missing: Collection[str]) -> Entries | None:
        """Return the known attributes of sentences; None if the task has no such shortcut."""
        words = set(map(type, instances)) == {list} and list(chain.from_iterable(instances))
        if words and set(map(type, words)) == {str}:
            cells, starts = (
                {self.columns[0]: words},
                list(accumulate(map(len, instances), initial=0)),
            )
        else:
            try:
                corpus = self.corpus(instances)
            except DataError:
                return None
            cells, starts = self._inputs(corpus), corpus.offsets.tolist()
        return self._templates.entries(cells, starts, missing)

    @property
    def _has_entries(self) -> bool:
        """Whether templates make all attributes, by the methods of this class."""
        return type(self) is SequenceLabelling and not self._numbers.blocks

    def corpus_entries(
        self, corpus: Columns, most: int, missing: Collection[str] = ()
    ) -> Entries | None:
        """See `structopt.core.task.Task`."""
        if not self._has_entries or corpus.offsets[-1] > most:
            return None
        return self._templates.entries(self._inputs(corpus), corpus.offsets.tolist(), missing)

    def labelled(self, instances: Sequence[Any], outputs: Sequence[Any]) -> Columns:
        """Make a corpus of sentences, in the forms that `corpus` takes, and lists of labels, one a
        token.
        """
        typed = bool(self.labels or self._columns.numbers)
        known = self.columns if typed else self._columns.layouts.names
        listed = form_of_sentences(known[:1]).listed(instances)
        sentences, matrices = self._numbers.separated(self._renamed(listed, known), known)
        sentences = list(sentences)
        names = self.columns if self.labels else self._columns.of_sentences(sentences)
        columns = sentence_columns(sentences, names, (TAG,))
        cells = columns.cells | {TAG: self._gold_cells(columns.offsets, outputs)}
        if absent := [name for name in names if name not in cells]:
            raise DataError(
                MEMORY,
                None,
                f"there is no column '{absent[0]}' in some sentences.",
                remedy="Give all the same columns.",
            )
        return Columns(
            MEMORY,
            columns.offsets,
            cells,
            columns.lines,
            {name: j for j, name in enumerate(cells)},
            len(cells),
            matrices=matrices,
        )

    def _renamed(self, sentences: Sequence[Any], columns: Sequence[str]) -> list[Any]:
        """Return sentences with columns for the fields of files, and names for their integers."""
        fields, names = self._token_files.fields, self._token_files.names
        return [
            fields.renamed(names.named(sentence), columns)
            if isinstance(sentence, Mapping)
            else sentence
            for sentence in sentences
        ]

    def fit(self, corpus: Columns, earlier: SequenceLabelling | None = None) -> Encoded:
        """Learn labels and attributes from the training corpus, beside those of an `earlier` task,
        and encode it.

        Columns that are not typed are those that the corpus has.

        Raises
        ------
        ConfigError
            A template looks at a column that there is not, or none is left.
        """
        self._columns.fit(corpus)
        self._templates.drop(self._columns.missing, self.columns)
        placeholders.report_columns(corpus.path, corpus.cells, self._used_columns())
        self._fix_scheme(corpus, corpus.sentences(TAG), earlier)
        tags = corpus.cells[TAG]
        open_labels = self.partial and any(map(is_open, set(tags)))
        labels = self._labels_in_target_scheme(tags) if open_labels else self._gold_labels(corpus)
        assert labels is not None
        self._learn_labels(labels, earlier)
        tables = self._templates.fit(
            self._inputs(corpus), corpus.offsets, None if earlier is None else earlier._templates
        )
        self._numbers.fit(
            self._tokens(corpus),
            self.limit is not None,
            None if earlier is None else earlier._numbers,
        )
        return (
            self._encoded_with_sets(corpus, tables, tags)
            if open_labels
            else self._encoded(corpus, tables, labels)
        )

    def learner(self, first: Columns, earlier: SequenceLabelling | None = None) -> ColumnLearner:
        """Return what learns as `fit` does; columns that are not typed are those of the first
        block.
        """
        self._columns.fit(first)
        self._templates.drop(self._columns.missing, self.columns)
        return ColumnLearner(self, earlier)

    def encode(self, corpus: Columns, given: Sequence[str] | None = None) -> Encoded:
        """Encode a corpus with the vocabulary of the training data; labels of `given` cells are
        kept.
        """
        tables = self._templates.transform(self._inputs(corpus), corpus.offsets)
        allowed = None if given is None else self._allowed(corpus, given)
        return self._encoded(corpus, tables, self._gold_labels(corpus), allowed)

    def given_labels(self, corpus: Columns) -> list[str] | None:
        """Return the cells of partially labelled input, in the file's scheme."""
        return corpus.cells.get(GIVEN)

    def shown_tokens(self, corpus: Columns, index: int) -> list[str]:
        """Return the words of a sentence."""
        return list(self._words(corpus)[slice(*corpus.offsets[index : index + 2].tolist())])

    def missing_columns(self, corpus: Columns) -> list[str]:
        """Return the columns that the templates look at and the corpus lacks."""
        return [name for name in self._used_columns() if name not in corpus.cells]

    @property
    def needed_columns(self) -> tuple[str, ...]:
        """The word, and unless `missing` is ``pad`` the columns that the features read."""
        return tuple(dict.fromkeys([self.columns[0], *self._needed]))

    def write(
        self, source: str | Path, target: str | Path, added: Sequence[Sequence[Sequence[str]]]
    ) -> None:
        """Write the input file again with further columns."""
        conll_writer.write(source, target, added, self.encoding, self.separator, self.comment)

    def boundary(self, probabilities: bool = False) -> Boundary | None:
        """Columns have empty lines between sentences, JSON lines have a sentence each; other
        formats are read as a whole.
        """
        form = self._token_files.form
        if form not in (AUTO, COLUMNS, CONLLU):
            return JSON_LINE if form == "jsonl" else None
        comment = "#" if form == CONLLU else self.comment
        if comment is None:
            return EMPTY_LINE
        return replace(EMPTY_LINE, skipped=f"{EMPTY_LINE.skipped}|{re.escape(comment)}.*")

    def write_outputs(
        self,
        corpus: Columns,
        target: str | Path,
        outputs: Sequence[Any],
        probabilities: Sequence[Array] | None = None,
        ranked: Sequence[Ranked] | None = None,
        k_best: int = 1,
    ) -> None:
        """Write the file of a corpus again, in its format, with further cells: see
        `structopt.formats.predicted_cells`.
        """
        if not corpus.fields:
            return super().write_outputs(corpus, target, outputs, probabilities, ranked, k_best)
        cells = predicted_cells(self.labels, outputs, probabilities, ranked, k_best)
        return self._token_files.write(corpus, target, cells, probabilities is not None, k_best)

    def attribute_names(self, group: str = "label") -> list[str]:
        """Return readable names of all attributes of a part group."""
        names = self._templates.names(group)
        return [*names, *self._numbers.names] if group == "label" else names

    @property
    def hashes_attributes(self) -> bool:
        """See `structopt.core.task.Task`."""
        return self._templates.hashed

    def pruned(self, kept: Mapping[str, Array]) -> tuple[SequenceLabelling, Mapping[str, Array]]:
        """See `structopt.core.task.Task`: attributes of templates; numbers, and the constant of
        pairs, stay as they are.
        """
        smaller = copy(self)
        smaller._templates, masks = self._templates.pruned(kept)
        return smaller, masks

    def state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return labels, scheme, columns, and templates with their vocabularies."""
        values: dict[str, Any] = self._label_state() | self._columns.state()
        if self._token_files.names.known:
            values["names"] = self._token_files.names.known
        templates, arrays = self._templates.state()
        numbers, dense = self._numbers.stored()
        return values | templates | numbers, arrays | dense

    def restore(self, values: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
        """Restore what `state` returned."""
        state = SavedState(values, arrays)
        self._restore_labels(state)
        self._columns.restore(state)
        if "names" in state.values:
            names = state.within("names")
            self._token_files.names.known = {
                field: names.strings(field, least=1) for field in names.values
            }
        self._templates = TemplateGroups.restored(state)
        self._numbers = DenseColumns.restored(state)
        if unknown := [name for name in self._used_columns() if name not in self.columns]:
            state.refuse("columns", f"with a number for {unknown[0]}, which the features look at")

    def _numbers_of(self, path: str) -> Mapping[str, int]:
        """The columns of a file, by its first line."""
        if self._token_files.format_of(path) != COLUMNS:
            return self._token_files.read(path, 1).numbers
        return self._columns.layouts.columns(
            path, *conll_reader.first_line(path, self.encoding, self.separator, self.comment)
        )

    def _read_fields(self, path: str | Path, limit: int | None, labelled: bool) -> Columns:
        """Read a file whose fields have names."""
        corpus = self._token_files.read(path, limit, labelled)
        if not labelled:
            if TAG in corpus.cells:
                corpus.cells[GIVEN] = self._complete(corpus, corpus.cells.pop(TAG), False)
            return corpus
        lacking = [name for name in (*self._columns.numbers, TAG) if name not in corpus.cells]
        if lacking:
            names = self._token_files.fields.names.get(lacking[0], [lacking[0]])
            known = ", ".join(corpus.fields.values())
            message = f"there is no field for '{lacking[0]}' ({', '.join(names)}) beside {known}"
            raise DataError(
                path,
                int(corpus.lines[0]),
                message,
                remedy="name it in task.fields, or give a file that has it.",
            )
        return self._labelled(corpus)

    def _labelled(self, corpus: Columns) -> Columns:
        """Return a whole labelled file; DataError if all labels are ``_``."""
        if not self.partial:
            placeholders.refuse_labels(corpus.path, corpus.lines, corpus.cells[TAG], self.labels)
        return self._with_labels(corpus)

    def _with_labels(self, corpus: Columns) -> Columns:
        """A labelled corpus whose missing labels are open, or refused."""
        tags = self._complete(corpus, corpus.cells[TAG])
        return replace(corpus, cells=corpus.cells | {TAG: tags})

    def _file_labels(self, corpus: Columns) -> list[str] | None:
        return corpus.cells.get(TAG)

    @property
    def _needed(self) -> list[str]:
        """The columns that the features read, unless missing columns are padded."""
        return self._used_columns() if self.missing == "refuse" else []

    def _used_columns(self) -> list[str]:
        """Columns that the features look at, in the order of first use."""
        return list(dict.fromkeys([*self._templates.columns, *self._numbers.columns]))

    def _some_values(self, column: str) -> list[str]:
        """Some values of a column in training; its name, where templates look at functions of it
        only, or a number.
        """
        if column in self._numbers.columns:
            return ["0"]
        return next(
            (list(values)[:6] for values in self._templates.values(column) if values), [column]
        )

    def _check_last_column(self, corpus: Columns) -> None:
        """Raise DataError for unlabelled input whose last column would be read as a feature, but
        holds labels.

        A file may lack columns, the label among them; only its cells show whether the last column
        is the label.
        """
        if not self.labels:
            return
        name = next(
            (name for name in self.columns[1:] if corpus.numbers.get(name) == corpus.width - 1),
            None,
        )
        if name is None:
            return
        seen = [values for values in self._templates.values(name) if values is not None]
        labels = set(self.labels).difference(*seen) if seen else set()
        token = next(
            (token for token, cell in enumerate(corpus.cells[name]) if cell in labels), None
        )
        if token is not None:
            raise DataError(
                corpus.path,
                int(corpus.lines[token]),
                f"'{corpus.cells[name][token]}' is a label, but stands in column "
                f"{corpus.numbers[name]}, which would be read as '{name}'",
                remedy=f"give all columns ({', '.join(self._columns.numbers)}), or leave "
                "the labels out.",
            )

    def _inputs(self, corpus: Columns) -> dict[str, list[str]]:
        """Columns that templates may look at: all but the label."""
        return {name: cells for name, cells in corpus.cells.items() if name not in (TAG, GIVEN)}

    def _words(self, corpus: Columns) -> Sequence[str]:
        return corpus.cells.get(self.columns[0], ())

    def read_features_from(self, sources: Mapping[str, Any]) -> None:
        """Take files of word vectors, or matrices: see
        `structopt.task.dense.dense_columns.DenseColumns.read_from`.
        """
        self._numbers.read_from(sources)

    def _tokens(self, corpus: Columns) -> Tokens:
        return Tokens(
            corpus.path,
            corpus.offsets,
            corpus.lines,
            self._words(corpus),
            self._inputs(corpus),
            corpus.matrices,
        )

    def _dense(self, corpus: Columns) -> dict[str, tuple[DenseTable, ...]]:
        return (
            {"label": self._numbers.tables(self._tokens(corpus), self.limit is not None)}
            if self._numbers.blocks
            else {}
        )

    def _gold_labels(self, corpus: Columns) -> list[str] | None:
        if TAG not in corpus.cells:
            return None
        if self._scheme_is_open:
            return corpus.cells[TAG]
        source = self.scheme if self.scheme != "auto" else detect_scheme(corpus.sentences(TAG))
        return conll_reader.convert_tags(corpus, TAG, source, self.target_scheme)


def _checked_comment(comment: str | None) -> str | None:
    """Return a prefix of comment lines; ConfigError for white space only, and for a line break."""
    if comment is not None and (not comment.strip() or "\n" in comment or "\r" in comment):
        raise ConfigError(
            "must have a character that is not white space, and no line break.",
            parameter="task.comment",
            value=comment,
            remedy="Set task.comment=#, or null if no line is a comment.",
        )
    return comment


class ColumnLearner(Learner):
    """Learns scheme and values of all blocks, then labels and attributes."""

    rounds = 2

    def __init__(self, task: SequenceLabelling, earlier: SequenceLabelling | None) -> None:
        self.task, self.earlier = task, earlier
        self._learners = task._templates.learners(None if earlier is None else earlier._templates)

    def gather(self, number: int, blocks: Iterable[Columns]) -> Any:
        """See `structopt.core.storage.learner.Learner`."""
        return self._keys(blocks) if number else self._values(blocks)

    def take(self, number: int, gathered: Iterable[Any]) -> None:
        """See `structopt.core.storage.learner.Learner`."""
        if number:
            self._take_keys(gathered)
        else:
            self._take_values(gathered)

    def _values(self, blocks: Iterable[Columns]) -> tuple[tag_schemes.SchemeEvidence, list[Any]]:
        task, evidence = self.task, tag_schemes.SchemeEvidence()
        found = [learner.no_values() for learner in self._learners]
        for corpus in blocks:
            task._add_evidence(evidence, corpus, corpus.sentences(TAG))
            for learner, values in zip(self._learners, found, strict=True):
                learner.values(values, task._inputs(corpus), corpus.offsets)
        return evidence, found

    def _take_values(
        self, gathered: Iterable[tuple[tag_schemes.SchemeEvidence, list[Any]]]
    ) -> None:
        evidence = tag_schemes.SchemeEvidence()
        for one, found in gathered:
            evidence.merge(one)
            for learner, values in zip(self._learners, found, strict=True):
                learner.take_values(values)
        self.task._take_scheme(evidence, self.earlier)
        for learner in self._learners:
            learner.number_values()

    def _keys(self, blocks: Iterable[Columns]) -> tuple[set[str], list[Any]]:
        task, labels = self.task, set[str]()
        found = [learner.no_keys() for learner in self._learners]
        for corpus in blocks:
            labels |= set(task._gold_labels(corpus) or ())
            for learner, counts in zip(self._learners, found, strict=True):
                learner.keys(counts, task._inputs(corpus), corpus.offsets)
        return labels, found

    def _take_keys(self, gathered: Iterable[tuple[set[str], list[Any]]]) -> None:
        labels: set[str] = set()
        for some, found in gathered:
            labels |= some
            for learner, counts in zip(self._learners, found, strict=True):
                learner.take_keys(counts)
        self.task._learn_labels(sorted(labels), self.earlier)
        for learner in self._learners:
            learner.finish()
