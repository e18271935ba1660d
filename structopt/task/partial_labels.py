"""Cells that leave a label open: ``_`` or ``?`` where nothing is known (the token is *free*),
``A|B`` for one of these labels.

A missing label (null, None, an empty cell) is open if ``task.partial=true``, and refused otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby

import numpy as np

from structopt.core.data.in_memory import EITHER, FREE, is_open
from structopt.formats.tag_schemes import CONTINUING
from structopt.kernels.waist.record import Array

MISSING = (
    "a token has no label. Give the label, or set task.partial=true to learn from labels that are "
    "open."
)
"""The message for a missing label in training or gold data."""


def alternatives(cell: str) -> tuple[str, ...]:
    """Return the labels that a cell names; none where it is free."""
    return () if cell in FREE else tuple(filter(None, cell.split(EITHER)))


def known_runs(sentences: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return the runs of tokens whose labels are known, by which a tag scheme can be detected.

    An entity may have begun at the open token before a run: the tags that may continue it are left
    out.
    """
    runs = []
    for sentence in sentences:
        opened = False
        for known, group in groupby(sentence, lambda cell: not is_open(cell)):
            run = list(group)
            if known:
                while opened and run and run[0][:1] in CONTINUING:
                    run.pop(0)
                runs.append(run)
            opened = True
    return runs


def certain_labels(
    sentence: Sequence[str], convert: Callable[[list[str]], list[str]]
) -> Iterator[tuple[int, str]]:
    """Yield the positions whose label in another scheme is certain, with that label.

    A label in another scheme depends on its neighbours: next to an open token it may be one of
    several.

    Parameters
    ----------
    sentence : sequence of str
        Labels in the files' scheme.
    convert : callable
        Labels of neighbouring tokens to the other scheme.
    """
    begin = 0
    for known, group in groupby(sentence, lambda cell: not is_open(cell)):
        run = list(group)
        end = begin + len(run)
        if known:
            first, last = begin + (begin > 0), end - (end < len(sentence))
            yield from list(enumerate(convert(run), begin))[first - begin : last - begin]
        begin = end


def unknown_labels(
    cells: Iterable[str], labels: Sequence[str], compatible: Callable[[str, str], bool]
) -> dict[str, str]:
    """Return the cells with a label that is compatible with none of the labels, and that label."""
    unknown: dict[str, str] = {}
    for cell in set(cells).difference(FREE):
        for named in alternatives(cell) or (cell,):
            if not any(compatible(named, label) for label in labels):
                unknown.setdefault(cell, named)
    return unknown


def label_sets(
    cells: Sequence[str], labels: Sequence[str], compatible: Callable[[str, str], bool]
) -> Array:
    """Return which of the labels each token may have, bool, shape (tokens, labels).

    Parameters
    ----------
    cells : sequence of str
    labels : sequence of str
        The labels that are learnt.
    compatible : callable
        Whether a token with a label of the file can have a learnt label.
    """
    rows = {
        cell: [
            cell in FREE or any(compatible(named, label) for named in alternatives(cell))
            for label in labels
        ]
        for cell in set(cells)
    }
    return np.array([rows[cell] for cell in cells], bool).reshape(len(cells), len(labels))
