"""Heads and relations that predicted trees are to keep: of files, or in memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain, pairwise
from typing import Any, NamedTuple

import numpy as np

from structopt.core import checks
from structopt.core.data.encoded import EncodedTrees
from structopt.core.parts.ragged import ends_of
from structopt.core.parts.sizes import numbers_within
from structopt.errors import DataError, did_you_mean
from structopt.formats.in_memory.instances import shown
from structopt.formats.trees.dependency_trees import EMPTY, Trees
from structopt.task.outputs_in_memory import GIVEN, NOT_KNOWN, kept_states, label_number

FORM = "[[2, None, (2, 'obj'), {0, 2}], None]"


class KeptArc(NamedTuple):
    """Known properties of the arc to a word: the numbers of its possible `heads`, from 1, or 0 for
    the root; and the `relation`'s number.
    """

    heads: tuple[int, ...] | None = None
    relation: int | None = None


def of_outputs(corpus: Trees, outputs: Sequence[Any], relations: Sequence[str]) -> list[KeptArc]:
    """Return what is known of all words.

    Parameters
    ----------
    corpus : Trees
    outputs : sequence
        One a sentence: None, or a list with a head, a set of heads, a pair of head and relation (an
        `Arc`), or None for every word; head and relation may be None.
    relations : sequence of str
        Those of the model.

    Raises
    ------
    DataError
        For lists of other lengths, heads that are no other word of the sentence, relations that the
        model does not have.
    """
    kept, lengths = [], np.diff(corpus.offsets).tolist()
    for number, output in enumerate(GIVEN.listed(outputs, len(lengths), FORM), 1):
        length = lengths[number - 1]
        for word, cell in enumerate(GIVEN.cells(output, length, number, "words"), 1):
            head, relation = (
                cell if isinstance(cell, (tuple, list)) and len(cell) == 2 else (cell, None)
            )
            heads = list(head) if isinstance(head, (set, frozenset)) else [head]
            if not heads:
                raise GIVEN.refused(number, f"word {word} is given an empty set of heads.")
            for one in heads:
                if fault := _fault(one, word, length):
                    raise GIVEN.refused(number, fault)
            place = checks.in_instance(number - 1)((word - 1,))
            known = None if relation is None else label_number(relation, relations, place)
            kept.append(KeptArc(_known(heads), known))
    return kept


def of_cells(corpus: Trees, relations: Sequence[str]) -> list[KeptArc]:
    """Return what the cells of a file say of all words; ``_`` is open.

    Raises
    ------
    DataError
        With file and line, for a head that is no number of another word of the sentence, and a
        relation that the model lacks.
    """
    numbers, kept = (
        {EMPTY: None} | {relation: y for y, relation in enumerate(relations) if relation != EMPTY},
        [],
    )
    for begin, end in pairwise(corpus.offsets.tolist()):
        for word, index in enumerate(range(begin, end), 1):
            cell, relation = corpus.cells["head"][index], corpus.relations[index]
            head: Any = (
                None
                if cell == EMPTY
                else int(cell)
                if cell.isascii() and cell.isdigit() and len(cell) < 10
                else cell
            )
            line, remedy = int(corpus.lines[index]), f"Write {EMPTY} for what is to be predicted."
            if fault := _fault(head, word, end - begin):
                raise DataError(corpus.path, line, fault, remedy=remedy)
            if relation not in numbers:
                raise DataError(
                    corpus.path,
                    line,
                    f"{NOT_KNOWN}{did_you_mean(relation, relations)}",
                    parameter="given relation",
                    value=relation,
                    remedy=remedy,
                )
            kept.append(KeptArc(_known([head]), numbers[relation]))
    return kept


def restricted(encoded: EncodedTrees, kept: Sequence[KeptArc]) -> EncodedTrees:
    """The corpus with the candidates of heads that are known, all for the others, and the
    relations that are known.
    """
    lengths = np.diff(encoded.offsets)
    every = [range(n) for n in lengths.tolist() for _ in range(n)]
    # a word's own index means the root
    listed = [
        words if arc.heads is None else sorted(head - 1 if head else word for head in arc.heads)
        for arc, word, words in zip(kept, numbers_within(lengths).tolist(), every, strict=True)
    ]
    allowed = None
    if any(arc.relation is not None for arc in kept):
        allowed = kept_states([arc.relation for arc in kept], len(encoded.labels))
    counts = np.fromiter(map(len, listed), np.int64, len(listed))
    candidates = ends_of(counts), np.fromiter(chain.from_iterable(listed), np.int32)
    return replace(encoded, candidates=candidates, allowed=allowed)


def _known(heads: Iterable[int | None]) -> tuple[int, ...] | None:
    """Return heads as integers; None if any head is right."""
    known = tuple(heads)
    return None if None in known else tuple(int(head) for head in known if head is not None)


def _fault(head: Any, word: int, length: int) -> str:
    """What is wrong with the head of a word, counted from 1; the empty string where nothing is."""
    if head is None:
        return ""
    if isinstance(head, bool) or not isinstance(head, (int, np.integer)) or not 0 <= head <= length:
        return (
            f"the given head {shown(head)} of word {word} is not an integer from 0 (the root) "
            f"to {length}."
        )
    return f"word {word} is given as its own head." if head == word else ""
