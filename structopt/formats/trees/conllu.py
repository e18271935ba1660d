"""CoNLL-U, the format of Universal Dependencies: ten columns separated by tabs, comments,
multi-word tokens, empty nodes.

Rows with an ID like ``3-4`` (a multi-word token) or ``8.1`` (an empty node) are no words: they are
checked and kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from structopt.errors import DataError
from structopt.formats.trees.dependency_trees import EMPTY
from structopt.formats.trees.tree_rows import Layout, Rows

LAYOUT = Layout(
    title="CoNLL-U",
    names=("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC"),
    numbers={"form": 1, "lemma": 2, "upos": 3, "xpos": 4, "feats": 5, "head": 6, "deprel": 7},
)
DEPS, MISC = 8, 9
SEPARATOR = "|"
"""What separates the items of MISC."""
MULTI_WORD = re.compile("([1-9][0-9]{0,8})-([1-9][0-9]{0,8})")
EMPTY_NODE = re.compile("(0|[1-9][0-9]{0,8})[.]([1-9][0-9]{0,8})")


def words(path: str | Path, rows: Rows) -> Rows:
    """Return the rows that are words.

    Raises
    ------
    DataError
        A multi-word token that does not stand before its first word, or reaches beyond the sentence
        or into the one before; an empty node whose number does not follow; a sentence without
        words.
    """
    if not {"-", "."} & {*"".join(rows.columns[0])}:
        return rows
    no_word = np.array(["-" in cell or "." in cell for cell in rows.columns[0]])
    kept = rows.selected(~no_word) if no_word.any() else rows
    for row in np.flatnonzero(no_word).tolist():
        sentence = int(np.searchsorted(rows.offsets, row, side="right")) - 1
        before = (
            row - int(rows.offsets[sentence]) - int(no_word[rows.offsets[sentence] : row].sum())
        )
        length = int(kept.offsets[sentence + 1] - kept.offsets[sentence])
        complaint = _complaint(rows.columns[0], int(rows.offsets[sentence]), row, before, length)
        if complaint:
            raise DataError(path, int(rows.lines[row]), complaint)
    empty = np.flatnonzero(np.diff(kept.offsets) == 0)
    if len(empty):
        line = int(rows.lines[rows.offsets[empty[0]]])
        raise DataError(
            path,
            line,
            "the sentence that begins here has no words",
            remedy="give it words numbered 1, 2, 3, ....",
        )
    return kept


def _complaint(ids: Sequence[str], begin: int, row: int, before: int, length: int) -> str:
    """Say what is wrong with a row that is no word; the empty string where nothing is.

    The sentence begins at the row `begin`, has `length` words, and `before` of them stand before
    this row.
    """
    cell = ids[row]
    if match := MULTI_WORD.fullmatch(cell):
        first, last = map(int, match.groups())
        before_it = (MULTI_WORD.fullmatch(ids[other]) for other in range(row - 1, begin - 1, -1))
        earlier = next(filter(None, before_it), None)
        if earlier and int(earlier.group(2)) >= first:
            return (
                f"the multi-word token {cell} overlaps {earlier.group()}: a word belongs to one "
                "at most."
            )
        if first == before + 1 and first <= last <= length:
            return ""
        return (
            f"the multi-word token {cell} must stand just before its first word, and end within "
            f"the {length} words."
        )
    if EMPTY_NODE.fullmatch(cell):
        previous = EMPTY_NODE.fullmatch(ids[row - 1]) if row > begin else None
        due = f"{before}.{int(previous.group(2)) + 1 if previous else 1}"
        return "" if cell == due else f"the empty node is numbered {cell} where {due} is due."
    return (
        f"the ID {cell!r} is none: write 3 for a word, 3-4 for a multi-word token, 3.1 for an "
        "empty node."
    )


def with_probability(misc: str, probability: float) -> str:
    """Write the probability of the arc into a cell of MISC: ``SpaceAfter=No|p=0.987``."""
    return with_items(misc, {"p": f"{min(max(probability, 0.0), 1.0):.3f}"})


def with_items(misc: str, items: Mapping[str, str]) -> str:
    """Write items into a cell of MISC, in place of those with the same keys."""
    kept = [item for item in misc.split(SEPARATOR) if item.partition("=")[0] not in {EMPTY, *items}]
    return SEPARATOR.join([*kept, *(f"{key}={value}" for key, value in items.items())])


def ranked_block(block: Sequence[str], comments: Sequence[str]) -> Iterator[str]:
    """Lines of a sentence, with further comments before its first row."""
    end = "\r" if block[0].endswith("\r") else ""
    first = next(number for number, line in enumerate(block) if not line.startswith("#"))
    yield from block[:first]
    yield from (f"# {comment}{end}" for comment in comments)
    yield from block[first:]
