"""Gold trees in memory: a head, or a head and a relation, for every word."""

from __future__ import annotations

from typing import Any

import numpy as np

from structopt.core.data.in_memory import is_missing
from structopt.formats.in_memory.instances import shown
from structopt.formats.trees.dependency_trees import EMPTY, Trees
from structopt.task.outputs_in_memory import GOLD

FORM = "[[2, 0], [(2, 'nsubj'), (0, 'root')]]"


def gold_arcs(corpus: Trees, outputs: Any) -> tuple[list[str], list[str]]:
    """Return the heads and the relations of all words, as files write them.

    Parameters
    ----------
    corpus : Trees
    outputs : sequence
        One a sentence: a list with a head (from 1; 0 is the root) or a pair (head, relation) for
        every word; None is open, as NaN is.

    Raises
    ------
    DataError
        For lists of other lengths, and what is neither a head nor such a pair.
    """
    heads, relations, lengths = [], [], np.diff(corpus.offsets).tolist()
    for number, output in enumerate(GOLD.listed(outputs, len(lengths), FORM), 1):
        for cell in GOLD.cells(output, lengths[number - 1], number, "words"):
            head, relation = (
                cell if isinstance(cell, (tuple, list)) and len(cell) == 2 else (cell, None)
            )
            head, relation = (None if is_missing(one) else one for one in (head, relation))
            if isinstance(head, bool) or not isinstance(head, (int, np.integer, type(None))):
                raise GOLD.refused(
                    number,
                    f"{shown(cell)} is neither a head nor a pair (head, relation). Write {FORM}.",
                )
            heads.append(EMPTY if head is None else str(int(head)))
            relations.append(EMPTY if relation is None else str(relation))
    return heads, relations
