"""Corpora of dependency trees: words in columns, a head and a relation each; from files or given in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from structopt.errors import DataError
from structopt.formats import instances
from structopt.formats.instances import MEMORY

COLUMNS = ("form", "lemma", "upos", "xpos", "feats")
EMPTY = "_"
PASSED_OVER = ("id", "head", "deprel", "deps", "misc")
"""Columns of CoNLL-U that a sentence in memory may have, and that are not looked at."""


class Arc(NamedTuple):
    """What a word hangs from: `head`, from 1, or 0 for the root; and the `relation`, None where none is predicted."""

    head: int
    relation: str | None = None


@dataclass(frozen=True)
class Trees:
    """The words and the trees of a file.

    Attributes
    ----------
    path : str
        The file.
    offsets : int64, shape (sentences + 1,)
        Where each sentence begins in the words.
    lines : int64, shape (words,)
        The line of each word, from 1; in memory, the number of its sentence.
    cells : dict of str to list of str, each of length words
        The columns by name, of `COLUMNS` those there are, and ``head`` and ``deprel`` as they stand. Equal strings are one
        object.
    heads : int32, shape (words,), or None
        Number of the head within the sentence, from 1, or 0 for the root; every sentence is a tree. -1 where training data do
        not say it. None for unlabelled input, whose heads are not looked at.
    format : str
        What the file is written in: ``conllu``, ``conllx`` or ``penn``; empty in memory.
    text : str
        The whole file as it stands, from which it is written again.
    """

    path: str
    offsets: NDArray[np.int64]
    lines: NDArray[np.int64]
    cells: dict[str, list[str]]
    heads: NDArray[np.int32] | None = None
    format: str = ""
    text: str = ""

    def __len__(self) -> int:
        """Number of sentences."""
        return len(self.offsets) - 1

    @property
    def relations(self) -> list[str]:
        """The relation of every word to its head; `EMPTY` where the format has none."""
        return self.cells.get("deprel") or [EMPTY] * int(self.offsets[-1])

    def gold_heads(self) -> NDArray[np.int32]:
        """Return the heads, or raise DataError where the corpus has none."""
        if self.heads is None:
            raise DataError(self.path, None, "has no heads to compare with; give a file with the head of every word.")
        missing = np.flatnonzero(self.heads < 0)
        if len(missing):
            message = "the head is missing (_): scores need the head of every word."
            raise DataError(self.path, int(self.lines[missing[0]]), message)
        return self.heads


def in_memory(sentences: Sequence[Any]) -> Trees:
    """Make an unlabelled corpus.

    Parameters
    ----------
    sentences : sequence
        Each a sequence of words, of tuples of cells in the order of `COLUMNS`, or a mapping from column name to sequence. A
        column counts where every sentence has it.

    Raises
    ------
    DataError
        A sentence that is a string, has no words, unknown columns, columns of different lengths, or cells that are no strings;
        ``line`` counts the sentences from 1.
    """
    form = instances.sentences(COLUMNS)
    columns = [_columns(sentence, number) for number, sentence in enumerate(form.listed(sentences), 1)]
    names = [name for name in COLUMNS if name == "form" or (columns and all(name in one for one in columns))]
    lengths = [len(one["form"]) for one in columns]
    return Trees(
        path=MEMORY,
        offsets=np.cumsum([0, *lengths], dtype=np.int64),
        lines=np.repeat(np.arange(1, len(lengths) + 1), lengths),
        cells={name: [cell for one in columns for cell in one[name]] for name in names},
    )


def _columns(sentence: Any, number: int) -> dict[str, list[str]]:
    """Columns of one sentence by name; an empty string stands for an empty cell."""
    found = instances.columns_of(sentence, number, COLUMNS, PASSED_OVER)
    if not found["form"]:
        raise instances.sentences(COLUMNS).refused(number, "the sentence has no words")
    return {name: [cell or EMPTY for cell in cells] for name, cells in found.items()}
