"""Sentences in memory: lists of words, of tuples of cells, or mappings from column name to
cells.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from structopt.errors import did_you_mean, first_few
from structopt.formats.in_memory.instances import MEMORY, Form, shown

log = logging.getLogger(__name__)


def form_of_sentences(names: Sequence[str]) -> Form:
    """The form of sentences with the named columns, the word first."""
    return _form_of(tuple(names))


@cache
def _form_of(names: tuple[str, ...]) -> Form:
    first, *others = names
    cells = ", ".join([f"'{first}': ['Ann', 'slept']", *(f"'{name}': [...]" for name in others)])
    return Form(
        "sentence",
        "Give a list of sentences, each a list of words: [['Ann', 'slept']], or of columns: "
        f"[{{{cells}}}].",
    )


class SentenceColumns(NamedTuple):
    """Columns over all tokens of sentences in memory.

    Attributes
    ----------
    offsets : int64, shape (sentences + 1,)
    lines : int64, shape (tokens,)
        The number of the sentence of each token, from 1.
    cells : dict of str to list of str, each of length tokens
        The columns that every sentence with words has, by name.
    named : bool
        Whether some sentence is a mapping, which names its columns.
    """

    offsets: NDArray[np.int64]
    lines: NDArray[np.int64]
    cells: dict[str, list[str]]
    named: bool


def sentence_columns(
    instances: Iterable[Any], names: Sequence[str], ignored: Collection[str] = ()
) -> SentenceColumns:
    """Return the columns of sentences.

    Parameters
    ----------
    instances : iterable of sentences
        Each a sequence of words; a sequence of tuples of cells, in the order of `names`, which may
        have one cell more; or a mapping from column name to sequence.
    names : sequence of str
        The columns that there may be, the word first. The others may be missing.
    ignored : collection of str
        Further keys that a mapping may have.

    Raises
    ------
    DataError
        A string for a sentence, a misspelt column, no words, columns of different lengths, a cell
        that is no string; its ``line`` is the number of the sentence, from 1.
    """
    sentences = form_of_sentences(names).listed(instances)
    mappings = [sentence for sentence in sentences if isinstance(sentence, Mapping)]
    if mappings:
        _note_unknown(mappings, names, ignored)
    columns = [
        columns_of(sentence, number, names, ignored) for number, sentence in enumerate(sentences, 1)
    ]
    lengths = [len(one[names[0]]) for one in columns]
    with_words = [one for one, length in zip(columns, lengths, strict=True) if length]
    shared = [
        name
        for name in names
        if name == names[0] or (columns and all(name in one for one in with_words))
    ]
    return SentenceColumns(
        np.cumsum([0, *lengths], dtype=np.int64),
        np.repeat(np.arange(1, len(lengths) + 1), lengths),
        {name: [cell for one in with_words for cell in one[name]] for name in shared},
        bool(mappings),
    )


def _note_unknown(
    sentences: Sequence[Mapping[str, Any]], names: Sequence[str], ignored: Collection[str]
) -> None:
    """Log the keys of sentences that are not columns, as fields of files are."""
    known = {*names, *ignored}
    keys = dict.fromkeys(str(key) for sentence in sentences for key in sentence if key not in known)
    unread = [key for key in keys if not did_you_mean(key, names)]
    if unread:
        log.warning(
            "%s: these keys are not columns, and are not read: %s. The columns are: %s.",
            MEMORY,
            first_few(unread),
            ", ".join(names),
        )


def columns_of(
    sentence: Any, number: int, names: Sequence[str], ignored: Collection[str] = ()
) -> dict[str, list[str]]:
    """Return the columns of one sentence by name, in the forms and with the errors of
    `sentence_columns`.
    """
    form = form_of_sentences(names)
    if isinstance(sentence, Mapping):
        columns = _columns_of_mapping(sentence, number, names, ignored, form)
    else:
        words = form.elements(number, sentence)
        tuples = bool(words) and isinstance(words[0], (tuple, list))
        columns = _columns_of_tuples(words, number, names, form) if tuples else {names[0]: words}
    cells = {name: form.strings(number, name, column) for name, column in columns.items()}
    size = len(cells[names[0]])
    for name, column in cells.items():
        if len(column) != size:
            raise form.refused(
                number, f"the column '{name}' has {len(column)} cells for {size} words"
            )
    return cells


def _columns_of_mapping(
    sentence: Mapping[str, Any],
    number: int,
    names: Sequence[str],
    ignored: Collection[str],
    form: Form,
) -> dict[str, Any]:
    for name in sentence:
        if name not in names and name not in ignored and (hint := did_you_mean(str(name), names)):
            known = f"{', '.join(names)}.{hint}"
            raise form.refused(number, f"there is no column {shown(name)}; the columns are {known}")
    if names[0] not in sentence:
        raise form.refused(number, f"the sentence has no words (column '{names[0]}')")
    return {name: sentence[name] for name in names if name in sentence}


def _columns_of_tuples(
    words: Sequence[Any], number: int, names: Sequence[str], form: Form
) -> dict[str, list[Any]]:
    """Columns of a sentence with a tuple for each word, which may have one cell more, for the
    label.
    """
    kinds = set(map(type, words))
    for word in () if kinds <= {tuple, list} else words:
        if not isinstance(word, (tuple, list)):
            raise form.refused(number, f"{shown(word)} stands among words that are tuples of cells")
    widths = set(map(len, words))
    if len(widths) > 1 or max(widths) > len(names) + 1 or not min(widths):
        counts = " to ".join(map(str, sorted({min(widths), max(widths)})))
        raise form.refused(
            number, f"the words have {counts} cells, where the columns are {', '.join(names)}"
        )
    return {
        name: list(column) for name, column in zip(names, zip(*words, strict=True), strict=False)
    }
