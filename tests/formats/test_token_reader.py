"""The compiled reader of tokens in memory agrees with Python code that joins names."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter, OrderedDict, defaultdict
from decimal import Decimal
from enum import IntEnum, StrEnum
from fractions import Fraction
from itertools import accumulate
from math import inf, nan
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structopt.core.data.attribute_table import EntryBuffers
from structopt.formats.in_memory import attributes
from structopt.formats.in_memory.attributes import TokenReader, attribute_text
from structopt.formats.numbering import Numbering

SPACE = EntryBuffers.of(400, 100, 20)
text = st.text(
    st.characters(exclude_categories=["Cs"]) | st.sampled_from(":=a"), max_size=4
) | st.sampled_from(["", ":", "a", "b", "a:b", "b:c", "a:b:c", "a=b", "word", "é", "日本"])
numbers = st.floats(-1e100, 1e100) | st.integers(-(2**63), 2**63 - 1) | st.booleans()
values = text | numbers | st.floats(-9, 9).map(np.float64) | st.sampled_from([1, 1.0, True])
tokens = st.dictionaries(text, values, max_size=5) | st.lists(text, max_size=4)
sentences = st.lists(
    st.lists(tokens | tokens.map(lambda one: tuple(one) if type(one) is list else one), max_size=4)
    | st.lists(tokens, max_size=2).map(tuple),
    max_size=4,
)


def entry(name: str, value: Any) -> tuple[str, float]:
    """Return the attribute and the value of an entry of a mapping."""
    return (f"{name}:{value}", 1.0) if isinstance(value, str) else (name, float(value))


def entries_of(instances: Any) -> list[list[tuple[str, float]]]:
    """Return the attributes and values of all tokens."""
    return [
        [entry(*one) for one in token.items()]
        if isinstance(token, dict)
        else [(name, 1.0) for name in token]
        for sentence in instances
        for token in sentence
    ]


def check(reader: TokenReader, known: Any, instances: Any) -> None:
    """Compare a reader with the numbers of `known`, which `get` gives."""
    expected = entries_of(instances)
    flat = [one for token in expected for one in token]
    ids, xs = [known(name) for name, _ in flat], [value for _, value in flat]
    size = reader(instances, SPACE)
    assert size == (len(flat), len(expected), any(x != 1.0 for x in xs))
    assert SPACE.ids[: len(flat)].tolist() == ids
    assert SPACE.values[: len(flat)].tolist() == xs
    assert SPACE.counts[: len(expected)].tolist() == list(map(len, expected))
    starts = list(accumulate(map(len, instances), initial=0))
    assert SPACE.starts[: len(starts)].tolist() == starts


@given(sentences, st.integers(0, 3), st.sampled_from([0, 1, 256]))
def test_known_attributes(instances: Any, modulus: int, names: int) -> None:
    every = sorted({name for token in entries_of(instances) for name, _ in token})
    known = {name: j for j, name in enumerate(every) if j % 4 >= modulus}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(attributes, "NAMES", names)  # names whose texts are cached
        reader = TokenReader(dict(known))
    for _ in range(2):  # the second time from the cache
        check(reader, lambda name: known.get(name, -1), instances)


@given(sentences, sentences)
def test_learning_numbers_names_in_their_order(first: Any, second: Any) -> None:
    table, expected = Numbering(), Numbering()
    reader = TokenReader(table, learning=True)
    for instances in (first, second, first):
        check(reader, expected.__getitem__, instances)
    assert list(table.items()) == list(expected.items())


def test_joined_names_collide_as_their_texts_do() -> None:
    reader = TokenReader({"a:b:c": 0, "a=b": 1, "a:": 2, ":a": 3, ":": 4})
    token = {"a": "b:c", "a:b": "c", "a:b:c": True, "a=b": True, "": "a", ":": True}
    assert reader([[token, {"a": ""}, {"": ""}, {"a": "b"}, {"a": "=b"}]], SPACE)
    assert SPACE.ids[:10].tolist() == [0, 0, 0, 1, 3, 4, 2, 4, -1, -1]


class Text(str):
    """Text that a format shows in another way."""

    def __format__(self, spec: str) -> str:
        return "other"


class Colour(StrEnum):
    RED = "b"


class Level(IntEnum):
    ONE = 1


class Token(dict[str, Any]):
    def items(self) -> Any:
        return {"z": 1}.items()


RARE: list[Any] = [
    *([{"a": value}] for value in (b"b", ["b"], ("b",), {"b"}, {"b": 1}, None, object(), 1j)),
    *([{"a": one}] for one in (np.bool_(True), np.int64(1), np.str_("b"), np.array(1))),
    *([{"a": one}] for one in (Text("b"), Colour.RED, Level.ONE, Decimal(1), Fraction(1))),
    *([{"a": value}] for value in (nan, inf, -inf, 1e101, np.float64(nan), 2**63, -(2**200))),
    *([{name: True}] for name in (b"a", 1, None, Text("a"), ("a",), "new\ud800", "\udfff")),
    *([{name: "b"}] for name in (b"a", 1, Text("a"), "a\ud800")),
    *([{"a": value}] for value in ("\ud800", "b\udc00")),
    *([one] for one in (Token(a=1), OrderedDict(a=1), Counter("a"), defaultdict(int, a=1))),
    *([[name]] for name in (b"a", 1, Text("a"), ["a"], None, "\ud800")),
    *([token] for token in ({"a"}, frozenset("a"), "a", None, 1, iter(["a"]), np.ones(2))),
    *("a", None, 1, {"a": 1}, {"a"}, iter([["a"]]), np.ones((2, 2))),
]


@pytest.mark.parametrize("rare", RARE, ids=lambda _: "sentence")
def test_other_forms_are_not_read(rare: Any) -> None:
    reader = TokenReader({"a": 0, "a:b": 1})
    assert reader([[["a"], {"a": "b"}]], SPACE) == (2, 2, False)
    for instances in ([rare], [[["a"]], rare]):
        assert reader(instances, SPACE) is None
    assert reader((), SPACE) == reader([], SPACE) == (0, 0, False)


def test_forms_that_are_not_read_are_numbered_in_the_same_order() -> None:
    mixed: list[Any] = [
        [{"a": "b", "c": 2}, {"d": ["e", "f"], "a": "g"}],
        [["a:b"], [b"h"]],
        [{"i": np.int64(2), "a": "j"}],
        [["k", "a:j"] * 40] * 3,
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TokenReader, "__call__", lambda *_: None)
        expected = attribute_text(mixed)
    corpus = attribute_text(mixed)
    assert corpus.attributes == expected.attributes
    for name in ("offsets", "attribute_offsets", "ids", "values"):
        assert np.array_equal(getattr(corpus, name), getattr(expected, name))


def test_the_size_is_that_of_all_sentences_if_there_is_no_space() -> None:
    reader = TokenReader({"a": 0})
    instances = [[["a", "b"], ["a"]], [{"a": 2}]]
    for size in ((0, 0, 0), (3, 9, 9), (9, 2, 9), (9, 9, 1)):
        buffers = EntryBuffers.of(*size)
        assert reader(instances, buffers) == (4, 3, True)
    assert not buffers.hold((10, 3, True))


def test_objects_are_neither_kept_nor_released() -> None:
    word, name, unknown = "".join(["n", "b"]), "".join(["n", "a"]), "".join(["n", "c"])
    table = {"na:nb": 700, "na": 701}
    objects = [str, dict, list, bool, float, np.float64, word, name, unknown, True]
    reader = TokenReader(table)
    instances = [[{name: word}, {name: unknown}, [name, unknown], {name: 2.5, unknown: True}]]
    reader(instances, SPACE)  # caches the pair
    before = list(map(sys.getrefcount, objects))
    for _ in range(1000):
        assert reader(instances, SPACE) == (6, 4, True)
    counts = np.subtract(list(map(sys.getrefcount, objects)), before)
    assert np.abs(counts).max() < 100, counts  # other threads may use types, too
    assert len(table) == 2


SCRIPT = """
import numpy as np
from structopt.core.data.attribute_table import EntryBuffers
from structopt.formats.in_memory.attributes import TokenReader
reader, space = TokenReader({"a": 0, "a:b": 1}), EntryBuffers.of(9, 9, 2)
instances = [[{"a": "b", "c": "b"}, ["a", "d"]], ({"a": 2.5}, {"a": np.float64(3), "x": -4})]
print(reader(instances, space), *(one.tolist() for one in space))
print(reader([[{"a": 2**70}]], space), reader([[{"a": "\\ud800"}]], space))
"""


def test_python_reads_as_compiled_code() -> None:
    """Without compilation the same functions of Python are called through ctypes."""
    environments = os.environ, {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    compiled, python = (
        subprocess.run(
            [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True, env=one
        ).stdout
        for one in environments
    )
    assert python == compiled
    assert "(7, 4, True) [1, -1, 0, -1, 0, 0, -1, 0, 0]" in compiled
