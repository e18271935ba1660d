"""Documents in memory: mappings of sentences, mentions and further columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import index
from typing import Any, NamedTuple

import numpy as np

from structopt.errors import did_you_mean
from structopt.formats.coreference.brackets import sorted_order
from structopt.formats.coreference.documents import Documents, crossing_pairs
from structopt.formats.in_memory.instances import MEMORY, Form, shown

COLUMNS = ("lemma", "upos", "xpos")
KEYS = ("sentences", "mentions", *COLUMNS, "heads")
EXAMPLE = "{'sentences': [['Ann', 'slept'], ['She', 'woke']], 'mentions': [[0, 1], [2, 3]]}"
FORM = Form("document", f"Give a list of documents: [{EXAMPLE}].")


class _Document(NamedTuple):
    """A document: lengths of its sentences, columns by name, heads, mentions within the document,
    sorted.
    """

    lengths: list[int]
    cells: dict[str, list[str]]
    heads: list[int] | None
    mentions: list[tuple[int, int]]


def in_memory(documents: Iterable[Any]) -> Documents:
    """Make unlabelled documents of documents in memory.

    Parameters
    ----------
    documents : iterable of mappings
        ``sentences``: lists of words. ``mentions``: pairs of the first word and the one after the
        last, counted over the words of the document; none where they are missing. ``lemma``,
        ``upos`` and ``xpos``: lists of strings, as long as the sentences; ``heads``: lists of
        numbers of words within their sentences, from 1, or 0 for the root. A column is kept if
        every document has it. The corpus has the mentions sorted.

    Raises
    ------
    DataError
        Unknown keys, no sentences, columns of other lengths, strings where lists are due; mentions
        of no words, outside of the document, reaching beyond their sentence, or given twice. Its
        ``line`` is the number of the document, from 1.
    """
    parsed = [
        _document(document, number) for number, document in enumerate(FORM.listed(documents), 1)
    ]
    bounds = np.cumsum([0, *(sum(one.lengths) for one in parsed)], dtype=np.int64)
    lengths = [length for one in parsed for length in one.lengths]
    spans = [
        np.array(one.mentions, np.int64).reshape(-1, 2) + begin
        for one, begin in zip(parsed, bounds, strict=False)
    ]
    mentions = np.concatenate([np.zeros((0, 2), np.int64), *spans]).astype(np.int32)
    lines = np.repeat(np.arange(1, len(parsed) + 1), np.diff(bounds))
    with_words = [one for one in parsed if one.lengths]
    names = [
        "form",
        *(name for name in COLUMNS if parsed and all(name in one.cells for one in with_words)),
    ]
    heads = None
    if parsed and all(one.heads is not None for one in with_words):
        heads = np.array([head for one in parsed for head in one.heads or ()], np.int32)
    firsts = lines[mentions[:, 0]].tolist() if len(mentions) else []
    return Documents(
        path=MEMORY,
        names=[str(number) for number in range(1, len(parsed) + 1)],
        documents=bounds,
        sentences=np.cumsum([0, *lengths], dtype=np.int64),
        lines=lines,
        cells={name: [cell for one in with_words for cell in one.cells[name]] for name in names},
        heads=heads,
        offsets=np.cumsum([0, *(len(one.mentions) for one in parsed)], dtype=np.int64),
        mentions=mentions,
        crossing=tuple((firsts[i], firsts[j]) for i, j in crossing_pairs(mentions)),
    )


def _document(document: Any, number: int) -> _Document:
    if not isinstance(document, Mapping):
        raise FORM.refused(number, f"the document is {shown(document)}, which is no mapping")
    for key in document:
        if key not in KEYS:
            hint = did_you_mean(str(key), KEYS)
            known = f"{', '.join(KEYS)}{'.' if hint else ''}{hint}"
            raise FORM.refused(number, f"there is no key {shown(key)}; the keys are {known}")
    if "sentences" not in document:
        raise FORM.refused(number, "the document has no sentences (key 'sentences')")
    words = _lists(document["sentences"], number, "sentences")
    lengths = list(map(len, words))
    if 0 in lengths:
        raise FORM.refused(number, f"the sentence {lengths.index(0) + 1} has no words")
    cells = {"form": _strings(words, number, "sentences")}
    for name in COLUMNS:
        if name in document:
            cells[name] = _strings(_column(document[name], number, name, lengths), number, name)
    heads = (
        _heads(_column(document["heads"], number, "heads", lengths), number)
        if "heads" in document
        else None
    )
    return _Document(
        lengths, cells, heads, _mentions(document.get("mentions", ()), number, lengths)
    )


def _lists(rows: Any, number: int, name: str) -> list[list[Any]]:
    """A column as a list for each sentence."""
    return [
        FORM.elements(number, row, f"sentence of '{name}'")
        for row in FORM.elements(number, rows, f"column '{name}'")
    ]


def _column(rows: Any, number: int, name: str, lengths: Sequence[int]) -> list[list[Any]]:
    """A column with as many cells as the sentences have words."""
    column = _lists(rows, number, name)
    if len(column) != len(lengths):
        raise FORM.refused(
            number,
            f"the column '{name}' has {len(column)} sentences where there are {len(lengths)}",
        )
    for sentence, (row, length) in enumerate(zip(column, lengths, strict=True), 1):
        if len(row) != length:
            raise FORM.refused(
                number,
                f"the column '{name}' has {len(row)} cells for the {length} words of sentence "
                f"{sentence}",
            )
    return column


def _strings(column: Sequence[list[Any]], number: int, name: str) -> list[str]:
    return [cell for row in column for cell in FORM.strings(number, name, row)]


def _heads(column: Sequence[list[Any]], number: int) -> list[int]:
    heads: list[int] = []
    for sentence, row in enumerate(column, 1):
        for head in row:
            if (value := _whole(head)) is None or not 0 <= value <= len(row):
                message = (
                    f"the head {shown(head)} in sentence {sentence} is no word of it: there are "
                    f"1 to {len(row)}, and 0"
                )
                raise FORM.refused(number, message)
            heads.append(value)
    return heads


def _mentions(mentions: Any, number: int, lengths: Sequence[int]) -> list[tuple[int, int]]:
    """The mentions of a document, sorted."""
    spans: list[tuple[int, int]] = []
    for mention in FORM.elements(number, mentions, "list of mentions"):
        ends = list(map(_whole, FORM.elements(number, mention, "mention")))
        if len(ends) != 2 or None in ends:
            message = (
                f"the mention {shown(mention)} is not two whole numbers, of its first word and "
                "the one after its last"
            )
            raise FORM.refused(number, message)
        first, end = (value or 0 for value in ends)
        if not 0 <= first < end <= sum(lengths):
            fault = (
                "has no words"
                if first >= end
                else f"is not within the {sum(lengths)} words of the document"
            )
            raise FORM.refused(number, f"the mention {[first, end]} {fault}")
        spans.append((first, end))
    array = np.array(spans, np.int64).reshape(-1, 2)
    array = array[sorted_order(array)]
    twice = np.flatnonzero((array[1:] == array[:-1]).all(axis=1))
    if len(twice):
        raise FORM.refused(number, f"the mention {array[twice[0]].tolist()} is given twice")
    sentences = np.cumsum([0, *lengths])
    beyond = np.flatnonzero(
        array[:, 1] > sentences[np.searchsorted(sentences, array[:, 0], side="right")]
    )
    if len(beyond):
        raise FORM.refused(
            number, f"the mention {array[beyond[0]].tolist()} reaches beyond its sentence"
        )
    return [(first, end) for first, end in array.tolist()]


def _whole(value: Any) -> int | None:
    """The value as a whole number; None where it is none."""
    try:
        return index(value)
    except TypeError:
        return None
