"""The columns of a task's files: as they are typed, or by the layout that has as many columns as
the training file.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence, Sized
from pathlib import Path
from typing import Any

from structopt.core.data.saved_state import SavedState
from structopt.errors import DataError
from structopt.formats.conll_layouts import (
    OF_TEXTS,
    OF_TREES,
    TAG,
    WIDTH_OF_TREES,
    Layouts,
    checked_columns,
    counted,
    other_width_error,
    shown,
)
from structopt.formats.conll_reader import Columns
from structopt.formats.in_memory.instances import MEMORY

GIVEN = "given tag"
"""The name of the label column in a file to predict."""

MOST_COLUMNS = 2**31
"""Column numbers of saved models are below this."""

log = logging.getLogger(__name__)


class FileColumns:
    """Column numbers by name, known from the start or after the training file is read.

    Parameters
    ----------
    typed : mapping of str to int, or None
        Column numbers; None: by the layouts, or word and label where there are none.
    layouts : sequence of str
        See `structopt.formats.conll_layouts.Layouts`.

    Attributes
    ----------
    numbers : dict of str to int
        Empty as long as they are not known.
    width : int
        How many columns the training file has; 0 where that is not known.
    first : tuple of int
        The number of its first token line, and the width; 0 where they are not known.
    by_layout : bool
        Whether a layout has chosen the columns. Labelled files are then read by layouts, too.

    Raises
    ------
    ConfigError
        Columns or layouts that cannot be.
    """

    def __init__(self, typed: Mapping[str, int] | None, layouts: Sequence[str]) -> None:
        self.layouts = Layouts(layouts)
        self.by_layout = typed is None and bool(self.layouts)
        self.numbers = (
            {}
            if self.by_layout
            else checked_columns({"word": 0, TAG: -1} if typed is None else typed)
        )
        self.width, self.first = 0, (0, 0)

    def of_file(
        self, path: str | Path, labelled: bool, needed: Sequence[str], line: int, width: int
    ) -> Mapping[str, int]:
        """Return the column numbers of a file, given the number and width of its first token line.

        A labelled file of another width than the training file is read by the layout of its width
        if that has the `needed` columns.

        Raises
        ------
        DataError
            If there is no layout of this width, if the layout of a labelled file lacks needed
            columns, or if a file to predict is wider than the training file and all layouts.
        """
        if not self.numbers:
            return self.layouts.columns(path, line, width)
        if labelled and self.by_layout and width != self.width:
            numbers = self.layouts.of_width(width)
            if numbers is None or not numbers.keys() >= set(needed):
                raise other_width_error(
                    path, line, width, self.numbers, self.width, numbers, needed
                )
            return numbers
        widest = max(self.layouts.widest if self.by_layout else 0, self.width)
        if not labelled and self.width and width > widest:
            raise DataError(
                path,
                line,
                f"this line has {width} columns, and the widest training layout has {widest}.",
                remedy="Leave out columns that the training file does not have. "
                f"{OF_TREES if width == WIDTH_OF_TREES else OF_TEXTS}",
            )
        return self.numbers

    def of_sentences(self, sentences: Sequence[Any]) -> tuple[str, ...]:
        """Return the names of the input columns of training sentences in memory, the word first.

        Where no columns are typed, they are those that mappings name, or those of the layout that
        has one column more.

        Raises
        ------
        DataError
            There is no such layout.
        """
        numbers = self.numbers
        if not numbers:
            first: Any = next(
                (
                    sentence
                    for sentence in sentences
                    if isinstance(sentence, Sized) and len(sentence)
                ),
                [],
            )
            if isinstance(first, Mapping):
                named = [name for name in self.layouts.names if name in first and name != TAG]
                return tuple(named) or self.layouts.names[:1]
            token = next(iter(first), "")
            numbers = self.layouts.columns(
                MEMORY, 1, 1 + (len(token) if isinstance(token, (tuple, list)) else 1)
            )
        return tuple(name for name in numbers if name != TAG)

    def fit(self, corpus: Columns) -> None:
        """Take the columns of the training corpus where none are typed, and log them."""
        self.numbers, self.width = self.numbers or dict(corpus.numbers), corpus.width
        self.first = (int(corpus.lines[0]), corpus.width)
        if corpus.fields:
            fields = ", ".join(f"{name}: {field}" for name, field in corpus.fields.items())
            log.warning("%s: read as {%s}.", corpus.path, fields)
        elif self.by_layout and corpus.path != MEMORY:
            log.warning(
                "%s: %d columns, read as %s.", corpus.path, corpus.width, shown(self.numbers)
            )

    @property
    def missing(self) -> list[str]:
        """Columns of other layouts that the training file lacks."""
        return [name for name in self.layouts.optional if name not in self.numbers]

    def warn_of_width(self, corpus: Columns) -> None:
        """Log how the columns of a file were read, if it is not as wide as the training file."""
        if not self.width or corpus.width == self.width:
            return
        numbers = {name: number for name, number in corpus.numbers.items() if name in corpus.cells}
        width, labels = counted(corpus.width), ", without labels"
        labels = "" if {GIVEN, TAG} & corpus.cells.keys() else labels
        message = "%s: %s, but the training file has %d; read as %s%s."
        log.warning(message, corpus.path, width, self.width, shown(numbers), labels)

    def state(self) -> dict[str, Any]:
        """Return the columns, as JSON values."""
        return {"columns": self.numbers, "width": self.width, "found": self.by_layout}

    def restore(self, state: SavedState) -> None:
        """Restore what `state` returned; models of version 0.1.0 lack how wide the training file
        is.
        """
        self.numbers = checked_columns(state.numbered("columns", -MOST_COLUMNS, MOST_COLUMNS))
        self.width = state.whole("width", 0, MOST_COLUMNS) if "width" in state.values else 0
        self.by_layout = "found" in state.values and state.flag("found")
