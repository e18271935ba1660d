"""Where the documents of a file begin: at the lines that say so, or with the file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from structopt.errors import DataError, place_of


class Heading(NamedTuple):
    """A line that begins a document: its number, and the document's name."""

    line: int
    name: str


def document_bounds(
    path: str | Path,
    headings: Sequence[Heading],
    sentence_lines: NDArray[np.int64],
    form: str,
    limit: int | None = None,
) -> tuple[list[str], NDArray[np.int64]]:
    """Return the names of the documents, and where each begins in the sentences; int64, shape
    (documents + 1,).

    A file without headings is one document. A document without a name has that of its file.

    Parameters
    ----------
    path : str or Path
    headings : sequence of Heading
    sentence_lines : int64, shape (sentences,)
        The line of each sentence's first row.
    form : str
        How a heading is written, for messages.
    limit : int or None
        The most documents.

    Raises
    ------
    DataError
        A sentence before the first heading of its file; no sentences.
    """
    first_headings: dict[str | Path, int] = {}
    for heading in reversed(headings):
        first_headings[place_of(path, heading.line)[0]] = heading.line
    firsts = np.searchsorted(sentence_lines, [heading.line for heading in headings]).tolist()
    begins = [
        (first, heading.line, heading.name) for first, heading in zip(firsts, headings, strict=True)
    ]
    previous: str | Path | None = None
    for sentence, line in enumerate(sentence_lines.tolist()):
        file, _ = place_of(path, line)
        if file == previous:
            continue
        if file not in first_headings:
            begins.append((sentence, line, ""))
        elif line < first_headings[file]:
            raise outside(path, line, form)
        previous = file
    begins.sort()
    names = [name or Path(place_of(path, line)[0]).name for _, line, name in begins[:limit]]
    bounds = np.array([first for first, _, _ in begins] + [len(sentence_lines)], np.int64)[
        : len(names) + 1
    ]
    if not bounds[-1]:
        raise DataError(
            path,
            None,
            "the documents read have no sentences",
            remedy="check the path, or make the file again.",
        )
    return names, bounds


def outside(path: str | Path, line: int, form: str) -> DataError:
    """Return the error for a row that is in no document."""
    return DataError(
        path,
        line,
        "this row stands outside of the file's documents",
        remedy=f"write {form} before it.",
    )
