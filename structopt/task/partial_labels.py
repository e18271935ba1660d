"""Labels that training data give in part: ``_`` (or ``?``) for a token of which nothing is known, ``A|B`` for one of these."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby

import numpy as np

from structopt.kernels.waist.record import Array

FREE = ("_", "?")
"""Marks of a token whose label is not given."""
EITHER = "|"


def alternatives(cell: str) -> tuple[str, ...]:
    """The labels that a cell names; none where it is free."""
    return () if cell in FREE else tuple(filter(None, cell.split(EITHER)))


def is_open(cell: str) -> bool:
    """Whether a cell leaves a label open."""
    return cell in FREE or EITHER in cell


def known_runs(sentences: Sequence[Sequence[str]]) -> list[list[str]]:
    """Runs of given labels, by which a tag scheme is told.

    After a token that is open, an entity may go on that began there: such a beginning of a run is left out.
    """
    runs = []
    for sentence in sentences:
        opened = False
        for given, group in groupby(sentence, lambda cell: not is_open(cell)):
            run = list(group)
            if given:
                while opened and run and run[0][:1] in "IE":
                    run.pop(0)
                runs.append(run)
            opened = True
    return runs


def settled(sentence: Sequence[str], convert: Callable[[list[str]], list[str]]) -> Iterator[tuple[int, str]]:
    """Positions whose label in another scheme is settled, and that label.

    A label depends on those beside it: next to a token that is open it may be one of several.

    Parameters
    ----------
    sentence : sequence of str
        Labels in the files' scheme.
    convert : callable
        Labels of neighbouring tokens to the other scheme.
    """
    begin = 0
    for given, group in groupby(sentence, lambda cell: not is_open(cell)):
        run = list(group)
        end = begin + len(run)
        if given:
            first, last = begin + (begin > 0), end - (end < len(sentence))
            yield from list(enumerate(convert(run), begin))[first - begin : last - begin]
        begin = end


def label_sets(cells: Sequence[str], labels: Sequence[str], fits: Callable[[str, str], bool]) -> Array:
    """Which of the labels each token may have, bool, shape (tokens, labels).

    Parameters
    ----------
    cells : sequence of str
    labels : sequence of str
        The labels that are learnt.
    fits : callable
        Whether a label as it stands in a file can be a learnt one.
    """
    rows: Mapping[str, list[bool]] = {
        cell: [cell in FREE or any(fits(one, label) for one in alternatives(cell)) for label in labels] for cell in set(cells)
    }
    return np.array([rows[cell] for cell in cells], bool).reshape(len(cells), len(labels))
