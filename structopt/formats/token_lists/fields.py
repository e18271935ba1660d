"""Which fields of a file, named by whoever made it, are the columns of a task."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from structopt.errors import ConfigError, DataError
from structopt.formats.conll_layouts import TAG

SENTENCE = "sentence"
"""The field that says, in files with a token a row, to which sentence a row belongs."""


def own_name(name: str, names: Mapping[str, str]) -> str:
    """Return the name that a format has for a field: ``ner_1`` for ``ner_tags_1``.

    Parameters
    ----------
    name : str
        A name of another format, or one that begins with it.
    names : mapping of str to str
        The names of other formats by the names of this format.
    """
    for own, other in names.items():
        if name.startswith(other):
            return own + name.removeprefix(other)
    return name


class Fields:
    """Names under which files have the columns of a task.

    Parameters
    ----------
    names : mapping of str to sequence of str
        For each column (the word first, the label ``tag``) the names of fields; the first that a
        file has counts, in upper case or in lower case. ``sentence`` is the field of sentences of
        files with a token a row.

    Raises
    ------
    ConfigError
        There is no word, or no label, or a column without names.
    """

    def __init__(self, names: Mapping[str, str | Sequence[str]]) -> None:
        self.names = {
            column: (one,) if isinstance(one, str) else tuple(one) for column, one in names.items()
        }
        self.columns = tuple(column for column in self.names if column != SENTENCE)
        empty = [column for column, fields in self.names.items() if not fields]
        if TAG not in self.columns or len(self.columns) < 2 or empty:
            what = (
                f"'{empty[0]}' without a name"
                if empty
                else f"the columns {', '.join(self.columns) or 'none'}"
            )
            raise ConfigError(
                f"has {what}",
                parameter="task.fields",
                remedy="give the word, tag and others their names, such as {word: [tokens]}.",
            )

    @property
    def word(self) -> str:
        """The column of words."""
        return next(column for column in self.columns if column != TAG)

    def first(self, column: str) -> str:
        """The name under which a column is written."""
        return self.names[column][0]

    def of(self, path: str, line: int, available: Iterable[str]) -> dict[str, str]:
        """Return the field of every column that a file has.

        No field is two columns: the word chooses first, then the label, then the others in their
        order.

        Raises
        ------
        DataError
            The file has no field of words.
        """
        fields = list(available)
        chosen: dict[str, str] = {}
        for column in (
            self.word,
            TAG,
            *(one for one in self.columns if one not in (self.word, TAG)),
        ):
            if (field := self._field(column, fields, chosen)) is not None:
                chosen[column] = field
        if self.word not in chosen:
            has = ", ".join(fields[:8]) + (", ..." if len(fields) > 8 else "")
            known = ", ".join(self.names[self.word])
            advice = (
                f"name it, such as 'task.fields={{{self.word}: "
                f"[{fields[0] if fields else 'tokens'}]}}'"
            )
            raise DataError(
                path,
                line,
                f"there is no field of words ({known}); the fields are {has or 'none'}",
                remedy=f"{advice}.",
            )
        return {column: chosen[column] for column in self.columns if column in chosen}

    def renamed(self, sentence: Mapping[str, Any], columns: Collection[str]) -> dict[str, Any]:
        """Return a sentence in memory whose keys are columns and not fields, such as ``tag`` for
        ``ner_tags``; keys that are in `columns` keep their names.
        """
        own = {key for key in sentence if key in columns or key == TAG}
        chosen = {key: key for key in own}
        free = [key for key in sentence if isinstance(key, str) and key not in own]
        for column in (self.word, TAG, *self.columns):
            field = None if column in chosen else self._field(column, free, chosen)
            if field is not None and (column in columns or column == TAG):
                chosen[column] = field
        names = {field: column for column, field in chosen.items()}
        return {names.get(key, key): cells for key, cells in sentence.items()}

    def of_sentences(self, available: Iterable[str], chosen: Mapping[str, str]) -> str | None:
        """Return the field that numbers sentences, among those that are no column; None where there
        is none.
        """
        return self._field(SENTENCE, list(available), chosen) if SENTENCE in self.names else None

    def _field(
        self, column: str, available: Sequence[str], chosen: Mapping[str, str]
    ) -> str | None:
        taken = set(chosen.values())
        for name in self.names[column]:
            for field in available:
                if field.casefold() == name.casefold() and field not in taken:
                    return field
        return None
