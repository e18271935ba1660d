"""Tables as text: Markdown, columns for a terminal, CSV. A table is a sequence of lines of cells;
the first is the header.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import Any

Lines = Sequence[Sequence[str]]


def markdown(lines: Lines, aligned: bool = False, rule: str = " --- ") -> str:
    """Write a table in Markdown; bars within cells are escaped.

    Parameters
    ----------
    lines : sequence of sequence of str
        The header and the rows, all of one length.
    aligned : bool
        Whether cells, and the rule below the header, are padded to the width of their column.
    rule : str
        A cell of the rule below the header, where columns are not aligned.
    """
    cells = [[cell.replace("|", "\\|") for cell in line] for line in lines]
    cells = padded(cells) if aligned else cells
    rules = [f" {'-' * len(cell)} " if aligned else rule for cell in cells[0]]
    written = [f"| {' | '.join(line)} |" for line in cells]
    written.insert(1, f"|{'|'.join(rules)}|")
    return "\n".join(written)


def columns(lines: Lines, sides: str = "<", least: Sequence[int] = ()) -> str:
    """Write a table for a terminal: columns as `padded` has them, two spaces apart."""
    return "\n".join("  ".join(line).rstrip() for line in padded(lines, sides, least))


def padded(lines: Lines, sides: str = "<", least: Sequence[int] = ()) -> list[list[str]]:
    """Pad the cells of every column to the width of its longest one.

    Parameters
    ----------
    lines : sequence of sequence of str
        The header and the rows, all of one length.
    sides : str
        Where the text of a column stands, ``<`` left or ``>`` right; the last one counts for all
        columns that follow.
    least : sequence of int
        Least widths of the first columns.
    """
    longest = [max(map(len, column)) for column in zip(*lines, strict=True)]
    widths = [max(pair) for pair in zip_longest(longest, least, fillvalue=0)]
    forms = [
        f"{side}{width}"
        for side, width in zip(sides.ljust(len(widths), sides[-1]), widths, strict=False)
    ]
    return [[format(cell, form) for cell, form in zip(line, forms, strict=True)] for line in lines]


def comma_separated(lines: Iterable[Iterable[Any]]) -> str:
    """Write a table as CSV, numbers with all digits, None as an empty cell."""
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(lines)
    return buffer.getvalue()
