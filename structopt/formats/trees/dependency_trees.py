"""Corpora of dependency trees: words in columns, each with its head and relation; of files, or in
memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from structopt.errors import DataError
from structopt.formats.in_memory.instances import MEMORY
from structopt.formats.in_memory.sentences import sentence_columns

COLUMNS = ("form", "lemma", "upos", "xpos", "feats")
EMPTY = "_"
IGNORED = ("id", "head", "deprel", "deps", "misc")
"""Columns of CoNLL-U that a sentence in memory may have too."""


class Arc(NamedTuple):
    """The arc to a word: the number of its `head`, from 1, or 0 for the root; the `relation`, None
    where none is predicted.
    """

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
        The columns by name: those of `COLUMNS` that the corpus has, and ``head`` and ``deprel`` as
        the file writes them. Equal strings are one object.
    heads : int32, shape (words,), or None
        Number of the head within the sentence, from 1, or 0 for the root; every sentence is a tree.
        -1 where training data leave it open. None for unlabelled input, whose heads are not read.
    format : str
        What the file is written in: ``conllu``, ``conllx`` or ``penn``; empty in memory.
    text : str
        The whole text of the file, from which it is written again.
    matrices : mapping of str to sequence
        Matrices that came with sentences in memory, by key: one matrix per sentence.
    """

    path: str
    offsets: NDArray[np.int64]
    lines: NDArray[np.int64]
    cells: dict[str, list[str]]
    heads: NDArray[np.int32] | None = None
    format: str = ""
    text: str = ""
    matrices: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    def __len__(self) -> int:
        """Number of sentences."""
        return len(self.offsets) - 1

    def subset(self, first: int, last: int) -> Trees:
        """Return the sentences first <= i < last; the text remains that of the whole file."""
        begin, end = int(self.offsets[first]), int(self.offsets[last])
        cells = {name: column[begin:end] for name, column in self.cells.items()}
        heads = None if self.heads is None else self.heads[begin:end]
        offsets = self.offsets[first : last + 1] - begin
        matrices = {key: every[first:last] for key, every in self.matrices.items()}
        return replace(
            self,
            offsets=offsets,
            lines=self.lines[begin:end],
            cells=cells,
            heads=heads,
            matrices=matrices,
        )

    @property
    def relations(self) -> list[str]:
        """The relation of every word to its head; `EMPTY` where the format has none."""
        return self.cells.get("deprel") or [EMPTY] * int(self.offsets[-1])

    def gold_heads(self) -> NDArray[np.int32]:
        """Return the heads, or raise DataError where the corpus has none."""
        if self.heads is None:
            raise DataError(
                self.path,
                None,
                "has no heads to compare with.",
                remedy="Give a file with the head of every word.",
            )
        missing = np.flatnonzero(self.heads < 0)
        if len(missing):
            message = "the head is missing (_): scores need the head of every word."
            raise DataError(self.path, int(self.lines[missing[0]]), message)
        return self.heads


def in_memory(sentences: Iterable[Any]) -> Trees:
    """Make an unlabelled corpus of sentences in memory.

    Parameters
    ----------
    sentences : iterable
        Each a sequence of words, of tuples of cells in the order of `COLUMNS`, or a mapping from
        column name to sequence. A column is kept if every sentence has it; an empty string is an
        empty cell.

    Raises
    ------
    DataError
        A sentence that is a string, unknown columns, columns of different lengths, or
        cells that are no strings; its ``line`` is the number of the sentence, from 1.
    """
    columns = sentence_columns(sentences, COLUMNS, IGNORED)
    cells = {name: [cell or EMPTY for cell in column] for name, column in columns.cells.items()}
    return Trees(MEMORY, columns.offsets, columns.lines, cells)
