"""Files of sentences with named fields: which format a file has, and its reader and writer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from os.path import splitext
from typing import Protocol

from structopt.formats.conll_layouts import TAG
from structopt.formats.conll_reader import Columns
from structopt.formats.file_format import format_of
from structopt.formats.text_files import read_text
from structopt.formats.token_lists.class_names import ClassNames
from structopt.formats.token_lists.fields import Fields
from structopt.formats.token_lists.predicted_lists import Cells, PredictedLists
from structopt.formats.token_lists.token_lists import TokenLists

AUTO, COLUMNS, CONLLU = "auto", "columns", "conllu"
FORMATS = (AUTO, COLUMNS, "jsonl", "csv", "parquet", "spacy", CONLLU)
ENDINGS = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".conllu": CONLLU,
}
"""The format of a file whose name ends so, with ``.gz`` behind or not; ``json`` is spaCy's list, or
an object a line.
"""


class _Format(Protocol):
    """The reader and writer of a format of text."""

    def read(self, path: str, fields: Fields, limit: int | None, encoding: str) -> TokenLists: ...

    def write(
        self, path: str, target: str, fields: Fields, predicted: PredictedLists, encoding: str
    ) -> None: ...


class TokenFiles:
    """Reads and writes the files of a task.

    Parameters
    ----------
    form : str
        One of `FORMATS`.
    fields : mapping of str to sequence of str
        See `structopt.formats.token_lists.fields.Fields`.
    names : str or None
        See `structopt.formats.token_lists.class_names.ClassNames`.
    encoding : str
    separator : str or None
        The separator of columns and CSV. If it is set, a file has columns unless `form` says
        otherwise.
    numbered : bool
        Whether columns are set by number. Files of CoNLL-U then have columns unless `form` says
        otherwise.

    Raises
    ------
    ConfigError
        Fields that cannot be.
    """

    def __init__(
        self,
        form: str,
        fields: Mapping[str, str | Sequence[str]],
        names: str | None,
        encoding: str,
        separator: str | None,
        numbered: bool = False,
    ) -> None:
        self.form, self.encoding, self.separator = form, encoding, separator
        self.numbered = numbered
        self.fields, self.names = Fields(fields), ClassNames(names)

    def format_of(self, path: str | PathLike[str]) -> str:
        """Return the format of a file: as it is typed, or by the end of its name."""
        if self.form != AUTO or self.separator is not None:
            return self.form if self.form != AUTO else COLUMNS
        name = fspath(path).lower().removesuffix("}").removesuffix(".gz")
        form = CONLLU if format_of(name) else ENDINGS.get(splitext(name)[1], COLUMNS)
        if form != "json":
            return COLUMNS if form == CONLLU and self.numbered else form
        return (
            "spacy" if read_text(fspath(path), self.encoding).lstrip().startswith("[") else "jsonl"
        )

    def read(
        self, path: str | PathLike[str], limit: int | None = None, some: bool = True
    ) -> Columns:
        """Read a file whose fields have names; with `some` there must be a token in it.

        Raises
        ------
        DataError
            A file that is malformed, or has no field of words.
        ConfigError
            A library is missing.
        """
        return self._lists(fspath(path), limit).columns(self.names, some)

    def write(
        self,
        corpus: Columns,
        target: str | PathLike[str],
        cells: Cells,
        probabilities: bool,
        k_best: int,
        label: str = TAG,
    ) -> None:
        """Write the file of a corpus again, in its format, with what was predicted.

        The labels go into the field of labels where the file has none, else into ``predicted_...``;
        nothing is overwritten.

        Parameters
        ----------
        cells : see `structopt.formats.token_lists.predicted_lists.Cells`
        probabilities, k_best : bool, int
            What the cells have beside labels.
        """
        known = corpus.fields.get(label)
        field = self.fields.first(label) if known is None else f"predicted_{known}"
        predicted = PredictedLists.of(field, cells, probabilities, k_best)
        path, form = corpus.path, self.format_of(corpus.path)
        if form == "parquet":
            from structopt.formats.token_lists import parquet

            return parquet.write(path, fspath(target), self.fields, predicted)
        if form == "csv":
            from structopt.formats.token_lists import csv_rows

            return csv_rows.write(
                path, fspath(target), self.fields, predicted, self.encoding, self.separator
            )
        return self._module(path, form).write(
            path, fspath(target), self.fields, predicted, self.encoding
        )

    def _lists(self, path: str, limit: int | None) -> TokenLists:
        form = self.format_of(path)
        if form == "parquet":
            from structopt.formats.token_lists import parquet

            return parquet.read(path, self.fields, limit)
        if form == "csv":
            from structopt.formats.token_lists import csv_rows

            return csv_rows.read(path, self.fields, limit, self.encoding, self.separator)
        return self._module(path, form).read(path, self.fields, limit, self.encoding)

    def _module(self, path: str, form: str) -> _Format:
        """The reader and writer of a format of text, imported when a file has it."""
        from structopt.formats.token_lists import conllu_words, json_lines, spacy_json, text_spans

        if form in ("spacy", CONLLU):
            return spacy_json if form == "spacy" else conllu_words
        has_texts = text_spans.has_texts(path, self.encoding, self.fields)
        return text_spans if has_texts else json_lines
