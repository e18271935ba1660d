"""Sentences of attributes in memory, in the forms that python-crfsuite and sklearn-crfsuite take,
or as matrices.

A token is a list of attributes, each of the value 1, or a mapping, whose entries are

| entry | attribute, value |
|---|---|
| ``"a": 2.5`` | ``a``, 2.5 |
| ``"a": True``, ``"a": False`` | ``a``, 1 and 0 |
| ``"a": "b"`` | ``a:b``, 1 |
| ``"a": ["b", "c"]``, or a set | ``a:b`` and ``a:c``, 1 |
| ``"a": {"b": ...}`` | ``a:`` before the attributes of the inner mapping |

A sentence may be a matrix instead, dense or sparse: a row a token, of which column j is the
attribute ``j``; zeros are left out.
"""

from __future__ import annotations

import operator
from array import array
from collections.abc import Iterable, Mapping, Sequence
from math import inf
from numbers import Real
from typing import Any

import numpy as np

from structopt.core.data import ranges
from structopt.core.data.attribute_table import EntryBuffers, Size
from structopt.formats.crfsuite import AttributeText
from structopt.formats.in_memory.instances import MEMORY, Form, shown
from structopt.formats.numbering import Numbering

NAMES = 256
"""Names for which the numbers of their texts are cached; of others each text is joined to the
name.
"""
SEPARATOR = ":"
"""Between a name and a value that is text, or a name within."""
FORM = Form(
    "sentence",
    "Give a list of sentences, each a list of tokens, each a list of attributes: [[['word=Ann', "
    "'upper'], ['word=slept']]], "
    "or a mapping from attribute to value: [[{'word': 'Ann', 'length': 3.0}]].",
)


def attribute_text(sentences: Iterable[Any]) -> AttributeText:
    """Return the sentences as an unlabelled corpus; O(attributes).

    Raises
    ------
    DataError
        A string or a mapping for a sentence, a string for a token, a name that is no string or no
        text, a value that is none of the above, or no finite number; its ``line`` is the number of
        the sentence, from 1.
    """
    reader = _Reader()
    for number, sentence in enumerate(FORM.listed(sentences), 1):
        reader.add_sentence(sentence, number)
    return reader.result()


class TokenReader:
    """Reads the attributes of sentences in one compiled call; of one thread.

    Parameters
    ----------
    numbers : dict of str to int
        The known attributes.
    learning : bool
        Whether unknown attributes get the next numbers.
    """

    def __init__(self, numbers: dict[str, int], learning: bool = False) -> None:
        from structopt.kernels.text import python_tokens as kernel  # Numba loads slowly

        self.learning = learning
        pairs: dict[str, dict[str, int]] = {}
        spare: list[dict[str, int]] = [{} for _ in range(NAMES)]
        types = str, bool, int, float, np.float64, dict, list, tuple, True
        self._objects = *types, numbers, pairs, spare, SEPARATOR
        self._constants = np.zeros(kernel.SIZE, np.int64)
        self._constants[: len(self._objects)] = list(map(id, self._objects))
        self._read, self._other = kernel.read_tokens, kernel.OTHER

    def __call__(self, sentences: Sequence[Any], buffers: EntryBuffers) -> Size | None:
        """Write the numbers and values of the attributes of sentences; return their size.

        None for the less frequent forms, and for all that `attribute_text` refuses, except names
        that are not text if the reader is learning.
        """
        listed = sentences if type(sentences) is list else list(sentences)
        size = self._read(self._constants, id(listed), self.learning, *buffers)
        return None if size[0] == self._other else size


def _is_matrix(sentence: Any) -> bool:
    """Whether a sentence is a dense or sparse matrix of numbers."""
    if isinstance(sentence, np.ndarray):
        return sentence.dtype.kind in "buif"
    if isinstance(sentence, (list, tuple)):
        return False
    from scipy.sparse import issparse  # loading it takes as long as loading a model

    return bool(issparse(sentence))


def _number(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return inf


def _is_text(name: str) -> bool:
    """Whether a file can hold a name: it has no half of a surrogate pair."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


class _Reader:
    """Collects attributes token by token; `result` makes arrays of them."""

    def __init__(self) -> None:
        self.names, self.number = Numbering(), 0
        self._reader, self._buffers = TokenReader(self.names, True), EntryBuffers.of(0, 0, 1)
        self.ids, self.values, self.ends, self.offsets = (
            array("i"),
            array("d"),
            array("q", [0]),
            array("q", [0]),
        )

    def add_sentence(self, sentence: Any, number: int) -> None:
        """Add the tokens of a sentence, by its number from 1."""
        self.number = number
        if (size := self._reader([sentence], self._buffers)) is not None:
            self._add_entries(sentence, size)
        elif isinstance(sentence, Mapping):
            raise FORM.refused(number, f"a sentence is one mapping, {shown(sentence)}")
        elif _is_matrix(sentence):
            self._add_matrix(sentence)
        else:
            for token in FORM.elements(number, sentence):
                self._add_token(token)
        self.offsets.append(len(self.ends) - 1)

    def result(self) -> AttributeText:
        """The sentences as arrays."""
        values = np.array(self.values, np.float64)
        if (index := ranges.first_fault(values)) >= 0:
            self._refuse_value(index, float(values[index]))
        self._check_names()
        offsets = np.array(self.offsets, np.int64)
        return AttributeText(
            path=MEMORY,
            offsets=offsets,
            attribute_offsets=np.array(self.ends, np.int64),
            attributes=list(self.names),
            ids=np.array(self.ids, np.int32),
            values=None if (values == 1.0).all() else values,
            labels=[],
            lines=np.repeat(np.arange(1, len(offsets)), np.diff(offsets)),
        )

    def _add_entries(self, sentence: Any, size: Size) -> None:
        """Add the attributes of all tokens of a sentence."""
        entries, positions, _ = size
        if not self._buffers.hold(size):
            self._buffers = EntryBuffers.of(2 * entries, 2 * positions, 1)
            self._reader([sentence], self._buffers)
        ids, values, counts, _ = self._buffers
        self.ends.frombytes((len(self.ids) + np.cumsum(counts[:positions])).tobytes())
        self.ids.frombytes(ids[:entries].tobytes())
        self.values.frombytes(values[:entries].tobytes())

    def _add_token(self, token: Any) -> None:
        if isinstance(token, Mapping):
            self._add_mapping(token, "")
        else:
            is_set = isinstance(token, (set, frozenset))
            names = self._sorted(token) if is_set else FORM.elements(self.number, token, "token")
            self._add_names(names, "")
        self.ends.append(len(self.ids))

    def _add_mapping(self, token: Mapping[Any, Any], prefix: str) -> None:
        """Add the entries of a mapping, their names after the prefix."""
        names, ids, values = self.names, self.ids, self.values
        for key, value in token.items():
            name = prefix + (key if isinstance(key, str) else self._text(key))
            if isinstance(value, str):
                ids.append(names[f"{name}{SEPARATOR}{value}"])
                values.append(1.0)
            elif isinstance(value, (bool, int, float, Real, np.bool_)):  # the most frequent first
                ids.append(names[name])
                values.append(_number(value))
            elif isinstance(value, Mapping):
                self._add_mapping(value, name + SEPARATOR)
            elif isinstance(value, (list, tuple)):
                self._add_names(value, name + SEPARATOR)
            elif isinstance(value, (set, frozenset)):
                self._add_names(self._sorted(value), name + SEPARATOR)
            elif isinstance(value, bytes):
                self._add_names([value], name + SEPARATOR)
            else:
                ids.append(names[name])
                values.append(self._integer(value, name))

    def _add_names(self, attributes: Iterable[Any], prefix: str) -> None:
        """Add attributes of the value 1, their names after the prefix."""
        names = [prefix + (one if isinstance(one, str) else self._text(one)) for one in attributes]
        self.ids.extend(map(self.names.__getitem__, names))
        self.values.extend([1.0] * len(names))

    def _integer(self, value: Any, name: str) -> float:
        """An integer of another library, such as an array of no dimensions, as a float."""
        try:
            return _number(operator.index(value))
        except TypeError:
            what = "is no number, text, list, set or mapping"
            raise FORM.refused(
                self.number, f"the value {shown(value)} of '{name}' {what}"
            ) from None

    def _sorted(self, names: Iterable[Any]) -> list[str]:
        """The names of a set in an order that does not depend on the process."""
        return sorted(one if isinstance(one, str) else self._text(one) for one in names)

    def _add_matrix(self, matrix: Any) -> None:
        """Add the rows of a matrix."""
        if matrix.ndim != 2:
            raise FORM.refused(
                self.number,
                f"a sentence is an array of shape {matrix.shape}, and not of (tokens, attributes)",
            )
        rows, columns = matrix.nonzero()
        order = np.lexsort((columns, rows))
        rows, columns = rows[order], columns[order]
        entries = np.asarray(
            matrix[rows, columns]
            if isinstance(matrix, np.ndarray)
            else matrix.tocsr()[rows, columns],
            np.float64,
        ).ravel()
        begin = len(self.ids)
        distinct, first, places = np.unique(columns, return_index=True, return_inverse=True)
        numbers = np.empty(len(distinct), np.int32)
        for place in np.argsort(first).tolist():  # names are numbered as they occur
            numbers[place] = self.names[str(distinct[place])]
        self.ids.frombytes(numbers[places].tobytes())
        self.values.frombytes(entries.tobytes())
        self.ends.extend(
            (begin + np.searchsorted(rows, np.arange(1, matrix.shape[0] + 1))).tolist()
        )

    def _text(self, name: Any) -> str:
        """A name that is bytes as text."""
        if isinstance(name, bytes):
            try:
                return name.decode("utf8")
            except UnicodeDecodeError:
                raise FORM.refused(
                    self.number, f"{shown(name)} in 'attributes' is not UTF-8"
                ) from None
        raise FORM.refused(self.number, f"{shown(name)} in 'attributes' is not a string")

    def _check_names(self) -> None:
        """Refuse names that no file could hold."""
        if _is_text("".join(self.names)):
            return
        for index, name in enumerate(self.names):
            if not _is_text(name):
                number = self._sentence_of(self.ids.index(index))
                raise FORM.refused(
                    number,
                    f"{shown(name)} in 'attributes' is not text: it holds half a surrogate pair",
                )

    def _sentence_of(self, entry: int) -> int:
        """The number of the sentence of an entry, from 1."""
        token = int(np.searchsorted(self.ends, entry, side="right")) - 1
        return int(np.searchsorted(self.offsets, token, side="right"))

    def _refuse_value(self, index: int, value: float) -> None:
        """Refuse the value of an entry that is no number to compute with."""
        raise FORM.refused(
            self._sentence_of(index),
            f"the value {value} of '{list(self.names)[self.ids[index]]}' {ranges.fault(value)}",
        )
