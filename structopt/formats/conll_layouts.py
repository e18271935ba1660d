"""The names of a CoNLL file's columns: as numbers that are typed, or by the layout in YAML that has
as many columns.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from structopt.errors import ConfigError, DataError

TAG = "tag"
UNREAD = "_"
OF_TEXTS = (
    "If each line is a sentence, write one word per line, with an empty line between sentences, or "
    'one object {"text": "..."} per line of a .jsonl file.'
)
"""The remedy for raw text in place of columns."""


OF_COMMENTS = "If lines that begin with # are comments, set task.comment=#."
"""The remedy for comments in place of tokens."""
OF_TREES = "If this is CoNLL-U, set task.format=conllu."
"""The remedy for as many columns as CoNLL-U has."""
WIDTH_OF_TREES = 10


class Layouts:
    """Layouts: the names of the columns of files of each width.

    Parameters
    ----------
    lines : sequence of str
        One layout a number of columns: their names from left to right, such as ``word pos tag``;
        ``_`` is a column that is not read.

    Raises
    ------
    ConfigError
        A layout without ``tag`` or without another column, with one name twice, or as wide as
        another one.
    """

    def __init__(self, lines: Sequence[str] = ()) -> None:
        self._lines: dict[int, str] = {}
        self._numbers: dict[int, dict[str, int]] = {}
        for line in lines:
            names = line.split()
            read = [name for name in names if name != UNREAD]
            if TAG not in read or len(read) < 2 or len(set(read)) < len(read):
                raise ConfigError(
                    f"task.layouts: '{line}' is not a layout",
                    remedy="name the columns from left to right, each once, one of them "
                    f"tag and at least one other, {UNREAD} for a column that is not "
                    "read, such as 'word pos tag'.",
                )
            if len(names) in self._lines:
                both = f"'{self._lines[len(names)]}' and '{line}'"
                raise ConfigError(
                    f"task.layouts: {both} both have {len(names)} columns",
                    remedy="keep one of them.",
                )
            self._lines[len(names)] = line
            self._numbers[len(names)] = {
                name: number for number, name in enumerate(names) if name != UNREAD
            }

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self._lines)

    @property
    def names(self) -> tuple[str, ...]:
        """All columns that some layout has, in the order of first use."""
        return tuple(dict.fromkeys(name for numbers in self._numbers.values() for name in numbers))

    @property
    def optional(self) -> tuple[str, ...]:
        """Columns that some layouts have and others lack."""
        return tuple(
            name
            for name in self.names
            if not all(name in numbers for numbers in self._numbers.values())
        )

    @property
    def widest(self) -> int:
        """The largest width; 0 without layouts."""
        return max(self._lines, default=0)

    def of_width(self, width: int) -> dict[str, int] | None:
        """Return the column numbers by name of files of a width; None without such a layout."""
        return dict(self._numbers[width]) if width in self._numbers else None

    def columns(self, path: str | Path, line: int, width: int) -> dict[str, int]:
        """Column numbers by name of a file.

        Parameters
        ----------
        path : str or Path
        line, width : int
            The number of the file's first token line, and how many columns it has.

        Raises
        ------
        DataError
            There is no layout of this width; the message shows what to type.
        """
        numbers = self.of_width(width)
        if numbers is not None:
            return numbers
        known = ", ".join(f"{count} ({names})" for count, names in sorted(self._lines.items()))
        advice = "check the file, or set task.separator"
        if width > 1:
            middle = dict.fromkeys(self.optional[:1] if width > 2 else (), 1)
            advice = (
                f"set it, such as {typed({'word': 0, **middle, TAG: width - 1})}, or set "
                "task.separator"
            )
        raise DataError(
            path,
            line,
            f"this line has {counted(width)}, but layouts are known for {known}",
            remedy=f"{advice}.{f' {OF_TREES}' if width == WIDTH_OF_TREES else ''}",
        )


def checked_columns(columns: Mapping[str, int]) -> dict[str, int]:
    """Return column numbers that are typed; ConfigError without ``tag`` and another one, or where
    two names have one number.
    """
    if TAG not in columns or len(columns) < 2:
        raise ConfigError(
            "needs 'tag' and at least one other column.",
            parameter="task.columns",
            remedy=f"Set all of them, such as {typed({'word': 0, 'pos': 1, TAG: 3})}, or "
            "none, and they are found from the training file.",
        )
    owner: dict[int, str] = {}
    for name, number in columns.items():
        if number in owner:
            left = {
                other: at for other, at in columns.items() if other != _spare(owner[number], name)
            }
            raise ConfigError(
                f"task.columns: '{owner[number]}' and '{name}' are both column {number}",
                remedy="give each a column of its own, or leave one "
                f"out{(f', as in {typed(left)}' if TAG in left and len(left) > 1 else '')}.",
            )
        owner[number] = name
    return dict(columns)


def other_width_error(
    path: str | Path,
    line: int,
    width: int,
    columns: Mapping[str, int],
    expected: int,
    layout: Mapping[str, int] | None,
    needed: Sequence[str],
) -> DataError:
    """Return the error for a labelled file that is not as wide as the training file, and whose
    layout is unknown (None) or lacks needed columns.
    """
    remedy = "Give labelled files the columns of the training file"
    if layout is not None:
        lacking = ", ".join(name for name in needed if name not in layout)
        remedy += f", or set task.missing=pad to read missing columns ({lacking}) as empty"
    return DataError(
        path,
        line,
        f"this line has {counted(width)}, but the training file has {expected}, read as "
        f"{shown(columns)}.",
        remedy=f"{remedy}.",
    )


def typed(columns: Mapping[str, int]) -> str:
    """Columns as they are typed on the command line."""
    return f"'task.columns={shown(columns)}'"


def shown(columns: Mapping[str, int]) -> str:
    """Columns as they stand in YAML."""
    return f"{{{', '.join(f'{name}: {number}' for name, number in columns.items())}}}"


def column_numbers(
    path: str | Path,
    line: int,
    width: int,
    columns: Mapping[str, int],
    optional: Collection[str],
    shared: Collection[str],
) -> dict[str, int]:
    """Return the column numbers from 0 of the names that a file has, in the order of `columns`.

    Parameters
    ----------
    path : str or Path
    line, width : int
        The number of the file's first token line, and how many columns it has.
    columns : mapping of str to int
        From 0, or negative from the end.
    optional, shared : collection of str
        See `structopt.formats.conll_reader.read`.

    Raises
    ------
    DataError
        A column out of range, or two names for one column.
    """
    numbers = {name: number + width if number < 0 else number for name, number in columns.items()}
    if len(set(numbers.values())) == len(numbers) and all(0 <= n < width for n in numbers.values()):
        return numbers
    kept = {}
    for name, number in numbers.items():
        if not 0 <= number < width:
            if name in optional:
                continue
            raise _out_of_range(path, line, width, name, columns[name])
        rivals = [other for other in columns if other != name and numbers[other] == number]
        rival = next(
            (other for other in rivals if _gives_way(name, other, columns, optional, shared)), None
        )
        if rival is None:
            kept[name] = number
        elif name not in optional:
            raise _same_column(
                path, line, width, columns, *sorted((name, rival), key=list(columns).index)
            )
    return kept


def _gives_way(
    name: str,
    other: str,
    columns: Mapping[str, int],
    optional: Collection[str],
    shared: Collection[str],
) -> bool:
    """Whether a name is absent, or refused where it is not optional, because another one has its
    column.

    Of two optional names the one that is counted from the end gives way: a shorter file has moved
    it.
    """
    if other not in optional or name not in optional:
        return other not in optional
    return columns[name] < 0 and name not in shared and other not in shared


def _out_of_range(path: str | Path, line: int, width: int, name: str, number: int) -> DataError:
    has = f"has {width} columns, numbered 0 to {width - 1} (or -{width} to -1)"
    advice = "set its number or the separator"
    return DataError(
        path, line, f"there is no column {number} for {name!r}: this line {has}; {advice}."
    )


def _same_column(
    path: str | Path, line: int, width: int, columns: Mapping[str, int], first: str, second: str
) -> DataError:
    """The error for two names whose numbers, one counted from the end, come to the same column of a
    file.
    """
    left = {name: number for name, number in columns.items() if name != _spare(first, second)}
    return DataError(
        path,
        line,
        f"this line has {counted(width)}, so that '{first}' ({columns[first]}) and "
        f"'{second}' ({columns[second]}) are one column",
        remedy=f"give each a column of its own, or leave one out: {typed(left)}.",
    )


def _spare(first: str, second: str) -> str:
    """Which of two names to leave out: never the label."""
    return first if second == TAG else second


def counted(width: int) -> str:
    """A number of columns, in words."""
    return f"{width} column{'' if width == 1 else 's'}"
