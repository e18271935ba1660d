"""Feature dicts mean what they mean to python-crfsuite: the same attributes with the same
values.
"""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structopt import SequenceTagger
from structopt.errors import DataError
from structopt.formats.in_memory.attributes import attribute_text

pycrfsuite = pytest.importorskip(
    "pycrfsuite", reason="python-crfsuite is the peer to compare with (extra: dev)"
)

# CRFsuite's names are C strings, which end at the first NUL, and UTF-8, which has no half of a
# surrogate pair.
text = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=4
) | st.sampled_from(["a", ":", "a:b"])
names = text | text.map(str.encode)
numbers = st.floats(-1e9, 1e9) | st.integers(-(10**9), 10**9) | st.booleans()
lists = st.lists(names, max_size=3) | st.sets(names, max_size=3)
values = st.recursive(
    names | numbers | lists, lambda inner: st.dictionaries(names, inner, max_size=3), max_leaves=6
)
tokens = (
    st.dictionaries(names, values, max_size=5)
    | st.lists(names, max_size=4)
    | st.sets(names, max_size=4)
)


def read(corpus):
    """The tokens of a corpus, each a mapping from attribute to value; of an attribute that stands
    twice, the last value.
    """
    entries = np.ones(len(corpus.ids)) if corpus.values is None else corpus.values
    pairs = [
        (corpus.attributes[j], value) for j, value in zip(corpus.ids, entries.tolist(), strict=True)
    ]
    return [dict(pairs[a:b]) for a, b in pairwise(corpus.attribute_offsets.tolist())]


def theirs(items):
    return pycrfsuite.ItemSequence(items).items()


@given(st.lists(tokens, max_size=4))
def test_every_form_of_a_token(items):
    assert read(attribute_text([items])) == theirs(items)


@pytest.mark.parametrize(
    ("token", "entries"),
    [
        ({"a": True}, {"a": 1.0}),
        ({"a": False}, {"a": 0.0}),
        ({"a": 0}, {"a": 0.0}),
        ({"a": -2.5}, {"a": -2.5}),
        ({"a": np.float32(0.1)}, {"a": float(np.float32(0.1))}),
        (
            {"a": np.int64(3), "b": np.bool_(True), "c": np.str_("x")},
            {"a": 3.0, "b": 1.0, "c:x": 1.0},
        ),
        ({"a": ""}, {"a:": 1.0}),
        ({"": "a"}, {":a": 1.0}),
        ({"a": {}, "b": [], "c": set()}, {}),
        ({"a": ["x", "y", "x"]}, {"a:x": 1.0, "a:y": 1.0}),
        (
            {"a": {"b": {"c": 2, "d": ["e"]}, "f": "g"}},
            {"a:b:c": 2.0, "a:b:d:e": 1.0, "a:f:g": 1.0},
        ),
        ({"a:x": 2, "a": "x"}, {"a:x": 1.0}),
        ({b"\xc3\xa9": "\u00fc", "\U0001f600": b"x"}, {"\u00e9:\u00fc": 1.0, "\U0001f600:x": 1.0}),
        (["a", b"b", "a"], {"a": 1.0, "b": 1.0}),
        (("a", "b"), {"a": 1.0, "b": 1.0}),
        ([], {}),
    ],
)
def test_edges(token, entries):
    assert read(attribute_text([[token]])) == theirs([token]) == [entries]


def test_the_tagger_reads_so():
    first = {
        "word": "Ann",
        "title": True,
        "end": {"2": "nn", "3": "Ann"},
        "in": {"first", "last"},
        "length": 3,
    }
    items = [first, ["bias", b"x"], {}]
    tagger = SequenceTagger(epochs=1).fit([items], [["X", "Y", "Y"]])
    assert set(tagger.model_.task.attribute_names()) == {
        name for token in theirs(items) for name in token
    }
    assert read(tagger.model_.task.corpus([items])) == theirs(items)


def test_an_attribute_that_stands_twice_counts_twice():
    """`ItemSequence.items` shows it once, but CRFsuite sums over both entries, and so does the
    tagger.
    """
    train, once, twice = [[["a"], ["b"]]], [["a"]], [["a", "a"]]
    tagger = SequenceTagger(optimizer="lbfgs").fit(train, [["X", "Y"]])
    assert tagger.decision_function([twice])[0] == pytest.approx(
        2 * tagger.decision_function([once])[0]
    )


@pytest.mark.parametrize(
    ("token", "message"),
    [
        ({"a": None}, "the value None of 'a' is no number, text, list, set or mapping"),
        ({"a": {"b": None}}, "the value None of 'a:b' is no number, text, list, set or mapping"),
        ({1: "x"}, "1 in 'attributes' is not a string"),
        ({"a": [1]}, "1 in 'attributes' is not a string"),
        ({b"\xff": "x"}, r"b'\\xff' in 'attributes' is not UTF-8"),
        (
            {"a": "\ud800"},
            r"'a:\\ud800' in 'attributes' is not text: it holds half a surrogate pair",
        ),
    ],
)
def test_what_both_refuse(token, message):
    with pytest.raises((TypeError, ValueError, SystemError)):
        theirs([token])
    with pytest.raises(DataError, match=f"<memory>:2: {message}"):
        attribute_text([[["a"]], [token]])


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_numbers_that_nobody_can_compute_with(value):
    with pytest.raises(DataError, match="<memory>:1: the value (nan|inf) of 'a'"):
        attribute_text([[{"a": value}]])
