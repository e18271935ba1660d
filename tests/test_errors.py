"""Errors carry fields and render their text from them; what messages quote of data is cut and
shown as a terminal can, and a close name is found in reasonable time.
"""

import copy
import pickle

import numpy as np
import pytest

import structopt
from structopt import plugin
from structopt.errors import (
    NO_VALUE,
    ArgumentError,
    CompatibilityError,
    ConfigError,
    DataError,
    FolderInUseError,
    InfeasibleError,
    MemoryShortage,
    ModelError,
    NumericalError,
    StructoptError,
    SystemRefusal,
    did_you_mean,
    legible,
    shown,
)
from tests.messages import compare

FIELDS = ("problem", "parameter", "value", "where", "remedy")
WITH_TEXT_ONLY = (
    CompatibilityError,
    ConfigError,
    FolderInUseError,
    MemoryShortage,
    ModelError,
    NumericalError,
    StructoptError,
)
FULL = {"parameter": "C", "value": -1, "where": "instance 3", "remedy": "Take 1."}


class PluginError(DataError):
    """An error with a constructor of its own."""

    def __init__(self, column):
        super().__init__("a.txt", 3, "is odd", parameter=column, value="x", remedy="remove it.")
        self.column = column


class BareError(StructoptError):
    """An error whose constructor does not call that of its base."""

    def __init__(self, first, second):
        self.second = second


ERRORS = [
    *(cls("must be positive.", **FULL) for cls in WITH_TEXT_ONLY),
    ArgumentError("must be positive.", **FULL),
    InfeasibleError(instances=np.array([3, 5])),
    DataError("a.txt", 3, "a label is odd."),
    DataError("a.txt", None, "it is empty", parameter="c", value=None, remedy="fill it."),
    SystemRefusal(OSError(28, "No space left on device", "a"), "structopt resume=b"),
    PluginError("tag"),
    BareError("first", "second"),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize(
    "sent", [lambda error: pickle.loads(pickle.dumps(error)), copy.copy, copy.deepcopy]
)
def test_errors_arrive_in_other_processes_with_all_fields(error, sent):
    error = copy.copy(error)
    error.add_note("in shard 2")
    arrived = sent(error)
    assert type(arrived) is type(error) and arrived.args == error.args
    assert str(arrived) == str(error) and repr(arrived) == repr(error)
    compare(arrived, vars(error))
    assert arrived.__notes__ == ["in shard 2"] and arrived.value is error.value or error.value


def test_values_that_cannot_be_pickled_arrive_as_text():
    arrived = pickle.loads(pickle.dumps(ArgumentError("is odd.", parameter="x", value=lambda: 0)))
    assert str(arrived).startswith("x='<function") and isinstance(arrived.value, str)


@pytest.mark.parametrize("cls", WITH_TEXT_ONLY)
def test_one_text_is_the_problem(cls):
    error = cls("Nothing fits.")
    compare(
        error,
        {
            "problem": "Nothing fits.",
            "parameter": None,
            "value": NO_VALUE,
            "where": None,
            "remedy": None,
        },
    )
    assert str(error) == "Nothing fits." and error.args == ("Nothing fits.",) and str(cls()) == ""


def test_fields_of_files_and_systems():
    compare(
        DataError("a.txt", 3, "a label is odd."),
        {"where": "a.txt:3", "path": "a.txt", "line": 3, "message": "a label is odd."},
    )
    compare(DataError("a.txt", None, "it is empty."), {"where": "a.txt", "line": None})
    compare(
        SystemRefusal(OSError(28, "No space left on device", "a"), "structopt resume=b"),
        {
            "where": "a",
            "problem": "No space left on device",
            "remedy": "free disk space, then resume with: structopt resume=b",
        },
    )
    compare(
        InfeasibleError("has no tree.", instances=range(20)),
        {
            "instances": tuple(range(20)),
            "where": "instances 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ...",
        },
    )


def test_argument_errors_are_value_errors_and_exported():
    with pytest.raises(ValueError, match="x=3 is odd"):
        raise ArgumentError("is odd.", parameter="x", value=3) from KeyError("y")
    for name in ("ArgumentError", "InfeasibleError"):
        assert getattr(structopt, name) is getattr(plugin, name) and name in dir(structopt)


def test_text_follows_the_fields():
    error = ArgumentError("must be positive.", parameter="C", value=0)
    error.parameter = f"optimizer.{error.parameter}"
    assert str(error) == "optimizer.C=0 must be positive."


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({}, "must be positive."),
        (FULL, "instance 3: C=-1 must be positive. Take 1."),
        ({"parameter": "C"}, "C must be positive."),
        ({"parameter": "C", "value": None}, "C=None must be positive."),
        ({"value": 3}, "must be positive."),
        ({"problem": "it is odd", "remedy": "remove it."}, "it is odd: remove it."),
        ({"problem": "is odd.", "parameter": "C", "remedy": "Remove it."}, "C is odd. Remove it."),
        ({"problem": "", "where": "a.txt:3", "remedy": "Remove it."}, "a.txt:3: Remove it."),
        ({"problem": "", "parameter": "C", "remedy": "Remove it."}, "C: Remove it."),
    ],
)
def test_rendering(fields, text):
    assert str(StructoptError(**{"problem": "must be positive."} | fields)) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.1, "0.1"),
        (np.float64(0.1), "0.1"),
        (np.int64(3), "3"),
        (np.str_("dca"), "dca"),
        (np.array(3.0), "3.0"),
        ("attribute_rows", "attribute_rows"),
        ("two words", "'two words'"),
        ("3", "'3'"),
        ("", "''"),
        ("None", "'None'"),
        (None, "None"),
        ([1, "a"], "[1, 'a']"),
        (np.zeros((2, 2)), "array([[0., 0.], [0., 0.]])"),
        (list(range(10**6)), "[0, 1, 2, 3, 4, 5, ...]"),
    ],
)
def test_values_are_shown(value, text):
    assert shown(value) == text


def test_long_values_are_cut():
    class Broken:
        def __repr__(self):
            raise RuntimeError

    assert shown(Broken()).startswith("<Broken instance at")
    assert len(shown("x" * 10**6)) <= 300 and len(shown("x " * 10**6)) <= 300
    assert len(shown(np.zeros((1000, 1000)))) <= 300


def test_messages_that_quote_data():
    message = str(DataError("a.txt", 3, f"the label {'x' * 9000!r} is odd: \x1b[2J\ud800 \u00e9\n"))
    assert message.startswith("a.txt:3: the label 'xxx") and message.endswith(
        "xxx' is odd: \\x1b[2J\\ud800 \u00e9\n"
    )
    assert "..." in message and len(message) < 700
    assert len(legible("\x00" * 9000)) <= 3000 and len(legible("a " * 9000)) <= 3000
    assert legible("plain: ok.") == "plain: ok."


def test_close_names():
    assert did_you_mean("epoch", ["epochs", "eta"]) == " Did you mean 'epochs'?"
    assert did_you_mean("x" * 10_000, ["x" * 9_999]) == ""
    assert did_you_mean("x", ("y" * 1_000_000 for _ in range(100))) == ""
