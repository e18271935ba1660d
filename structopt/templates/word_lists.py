"""Word lists: their entries, of one or several tokens, matched with all tokens of a corpus."""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from structopt.core.data.expansion import expanded
from structopt.errors import DataError
from structopt.kernels.waist.record import Array
from structopt.templates.vocabulary import NONE, PADDING, Vocabulary

BEGIN_INSIDE = ("B", "I")
"""The values of a view that looks words up in a list: the first token of a matched entry, and the
tokens after it.
"""


class Phrases:
    """The entries of a word list as a trie, in which all tokens of a corpus are looked up at once.

    Parameters
    ----------
    entries : iterable of sequences of str
        The tokens of each entry.
    """

    def __init__(self, entries: Iterable[Sequence[str]]) -> None:
        entries = list(entries)
        self.vocabulary = Vocabulary(token for entry in entries for token in entry)
        nodes, ends = self._grow(entries)
        keys = np.fromiter(nodes, np.int64, len(nodes))
        order = np.argsort(keys)
        self.keys = keys[order]
        self.children = np.fromiter(nodes.values(), np.int64, len(nodes))[order]
        self.final = np.zeros(len(nodes) + 1, dtype=bool)
        self.final[ends] = True

    def _grow(self, entries: list[Sequence[str]]) -> tuple[dict[int, int], list[int]]:
        nodes: dict[int, int] = {}
        ends, codes, radix = [], self.vocabulary.codes, len(self.vocabulary)
        for entry in entries:
            node = 0
            for token in entry:
                node = nodes.setdefault(node * radix + codes[token], len(nodes) + 1)
            if node:
                ends.append(node)
        return nodes, ends

    def longest(self, codes: Array, ends: Array) -> Array:
        """Return the length of the longest entry that begins at each token, 0 where none does.

        Parameters
        ----------
        codes : int32, shape (tokens,)
            Codes of the tokens in the vocabulary of the list; -1 for others.
        ends : int64, shape (tokens,)
            Where the sentence of each token ends.
        """
        lengths = np.zeros(len(codes), dtype=np.int64)
        starts = np.flatnonzero(codes > PADDING) if len(self.keys) else np.empty(0, dtype=np.intp)
        node, depth = np.zeros(len(starts), dtype=np.int64), 0
        while len(starts):
            key = node * len(self.vocabulary) + codes[starts + depth]
            index = np.minimum(np.searchsorted(self.keys, key), len(self.keys) - 1)
            hit = (self.keys[index] == key) & (codes[starts + depth] > PADDING)
            starts, node, depth = starts[hit], self.children[index[hit]], depth + 1
            lengths[starts[self.final[node]]] = depth
            inside = starts + depth < ends[starts]
            starts, node = starts[inside], node[inside]
        return lengths

    def match(self, codes: Array, ends: Array) -> Array:
        """Return codes of ``BEGIN_INSIDE`` for entries matched from left to right, the longest
        first; -1 elsewhere; int32.
        """
        lengths, covered = self.longest(codes, ends), 0
        matches = np.full(len(codes), NONE, dtype=np.int32)
        starts = np.flatnonzero(lengths)
        for start, length in zip(starts.tolist(), lengths[starts].tolist(), strict=True):
            if start >= covered:
                covered = start + length
                matches[start], matches[start + 1 : covered] = 1, 2
        return matches


def read_list(path: str) -> list[str]:
    """Read the entries of a word list, one a line, plain or gzip; their tokens are separated by
    single blanks.

    Raises
    ------
    DataError
        If the file is missing, a damaged gzip, or not UTF-8 text.
    """
    try:
        data = Path(path).read_bytes()
    except (OSError, ValueError) as error:
        reason = (
            "there is no such word list"
            if isinstance(error, FileNotFoundError)
            else f"cannot read the word list: {error}"
        )
        raise DataError(path, None, f"{reason}; correct its path under 'lists'.") from error
    text = expanded(path, data)
    try:
        lines = io.StringIO(text.decode("utf-8-sig"), newline=None)
    except UnicodeDecodeError as error:
        # positions of this codec do not count a byte order mark
        line = text.removeprefix(codecs.BOM_UTF8).count(b"\n", 0, error.start) + 1
        raise DataError(
            path,
            line,
            f"the word list is not UTF-8 text ({error}); convert it, for example with iconv.",
        ) from error
    return list(dict.fromkeys(filter(None, (" ".join(line.split()) for line in lines))))
