"""What saved components hold: entries that are as asked for, and what is said of others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from structopt.core.data.saved_state import SavedState
from structopt.errors import ModelError

VALUES = {
    "size": 3,
    "sizes": [3, 0],
    "beta": 0.5,
    "on": True,
    "kind": "b",
    "names": ["x", "y"],
    "twice": ["x", "x"],
    "numbers": {"x": -1},
    "rows": [[0, 1, 2]],
    "inside": {"size": 3},
    "each": [{"size": 3}],
    "huge": 10**400,
    "nan": float("nan"),
    "none": None,
}
ARRAYS = {
    "numbers": np.array([0, 2, 2, 5]),
    "reals": np.array([0.5, np.inf]),
    "table": np.zeros((2, 3)),
    "label.keys": np.array([1, 0]),
}


def state() -> SavedState:
    return SavedState(VALUES, ARRAYS)


def test_entries_as_they_were_saved() -> None:
    one = state()
    assert (one.whole("size"), one.wholes("sizes"), one.positive("beta"), one.flag("on")) == (
        3,
        [3, 0],
        0.5,
        True,
    )
    assert (one.string("kind", ("a", "b")), one.strings("names")) == ("b", ["x", "y"])
    assert one.strings("twice", distinct=False) == ["x", "x"]
    assert (one.numbered("numbers", -1, 1), one.triples("rows")) == ({"x": -1}, [(0, 1, 2)])
    assert (
        one.within("inside").whole("size"),
        [part.whole("size") for part in one.each("each")],
    ) == (3, [3])
    assert one.offsets("numbers", 5).tolist() == [0, 2, 2, 5] and one.array(
        "table", float, (2, None)
    ).shape == (2, 3)
    assert one.ascending("numbers", np.array([0, 3]), 4).tolist() == [0, 3]


@pytest.mark.parametrize(
    ("method", "arguments", "text"),
    [
        ("whole", ("other",), "vocabulary.json: other is missing."),
        (
            "whole",
            ("size", 4, 9),
            "vocabulary.json: size must be a whole number from 4 to 9, and is 3.",
        ),
        (
            "whole",
            ("on",),
            "vocabulary.json: on must be a whole number from 0 to 1099511627776, and is True.",
        ),
        ("whole", ("huge",), "and is a whole number of more than 20 digits."),
        (
            "wholes",
            ("names",),
            "names must be a list of whole numbers from 0 to 1099511627776, and is ['x', 'y'].",
        ),
        ("positive", ("nan",), "nan must be a finite number above 0, and is nan."),
        ("positive", ("huge",), "huge must be a finite number above 0, and is a whole number"),
        ("flag", ("size",), "size must be true or false, and is 3."),
        ("string", ("kind", ("a", "c")), "kind must be one of a, c, and is 'b'."),
        ("strings", ("twice",), "twice must be a list of distinct strings, and is ['x', 'x']."),
        (
            "strings",
            ("names", True, 3),
            "names must be a list of distinct strings, at least 3 of them, and is ['x', 'y'].",
        ),
        (
            "numbered",
            ("numbers", 0, 1),
            "numbers must be a mapping of names to whole numbers from 0 to 1, and is {'x': -1}.",
        ),
        (
            "triples",
            ("names",),
            "names must be a list of lists of three whole numbers from 0, and is ['x', 'y'].",
        ),
        ("within", ("none",), "vocabulary.json: none must be a mapping, and is None."),
        ("each", ("names",), "vocabulary.json: names.0 must be a mapping, and is 'x'."),
        (
            "array",
            ("other", float),
            "weights.safetensors: the array other must be of type float64 and shape any, and is "
            "missing.",
        ),
        (
            "array",
            ("table", float),
            "the array table must be of type float64 and shape any, and is of type float64 and "
            "shape "
            "2 x 3, from 0.0 to 0.0.",
        ),
        ("array", ("numbers", float), "and is of type int64 and shape 4, from 0 to 5."),
        (
            "array",
            ("reals", float),
            "the array reals must be finite: 1 of its numbers are not, and is of type float64",
        ),
        (
            "offsets",
            ("numbers", 6),
            "the array numbers must be offsets that begin at 0, never fall, and end at 6, and is",
        ),
        (
            "ascending",
            ("label.keys", np.array([1, 0]), 9),
            "must be numbers from 0 that ascend and stay below 9",
        ),
        (
            "ascending",
            ("label.keys", np.array([0, 9]), 9),
            "must be numbers from 0 that ascend and stay below 9",
        ),
    ],
)
def test_other_entries(method: str, arguments: tuple[Any, ...], text: str) -> None:
    with pytest.raises(ModelError) as caught:
        getattr(state(), method)(*arguments)
    assert text in str(caught.value)


def test_where_entries_stand() -> None:
    inside = state().within("inside", "label.")
    with pytest.raises(
        ModelError, match=r"^vocabulary\.json: inside\.size must be true or false, and is 3\.$"
    ):
        inside.flag("size")
    with pytest.raises(
        ModelError, match=r"^weights\.safetensors: the array label\.keys must be of type uint8"
    ):
        inside.array("keys", np.uint8)
    with pytest.raises(ModelError, match=r"^vocabulary\.json: each\.0\.names is missing\.$"):
        state().each("each")[0].strings("names")
