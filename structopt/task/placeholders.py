"""Columns whose cells are all ``_``, the sign of CoNLL formats for a cell without a value."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from structopt.errors import DataError
from structopt.formats.in_memory.instances import MEMORY
from structopt.kernels.waist.record import Array

log = logging.getLogger(__name__)
PLACEHOLDER = "_"


def refuse_labels(
    path: str | Path, lines: Array, labels: Sequence[str], known: Collection[str]
) -> None:
    """Refuse a labelled file in which every label is ``_``, unless training has this label.

    Raises
    ------
    DataError
        With the first line.
    """
    if len(labels) and PLACEHOLDER not in known and _throughout(labels):
        raise DataError(
            path,
            int(lines[0]),
            f"every label of this file is '{PLACEHOLDER}', which marks a token without a label.",
            remedy="Give a labelled file, or the column of the labels.",
        )


def report_columns(
    path: str | Path, cells: Mapping[str, Sequence[str]], columns: Sequence[str]
) -> None:
    """Print the columns of a training file that have ``_`` in every cell, so that their features
    are constant.
    """
    if path == MEMORY:
        return
    empty = [name for name in columns if cells.get(name) and _throughout(cells[name])]
    if empty:
        log.warning(
            "%s: %s %s '%s' in every line, so features of %s are constant.",
            path,
            ", ".join(empty),
            "is" if len(empty) == 1 else "are",
            PLACEHOLDER,
            "this column" if len(empty) == 1 else "these columns",
        )


def _throughout(cells: Sequence[str]) -> bool:
    return all(cell == PLACEHOLDER for cell in cells)
