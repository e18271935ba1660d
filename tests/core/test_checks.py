"""Arrays from Python are converted or refused, with the argument, the value, its place and the
bound.
"""

import numpy as np
import pytest
from scipy.sparse import csr_array

from structopt.core import checks
from structopt.errors import NO_VALUE, ArgumentError
from tests.messages import compare, raises

INF, NAN = float("inf"), float("nan")
IN_INSTANCES = checks.in_instances(np.array([0, 2, 2, 5]))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([1, 2.5], [1.0, 2.5]),
        ([], []),
        (3, 3.0),
        (np.array([[True], [False]]), [[1.0], [0.0]]),
        (np.arange(6, dtype=np.float16)[::-2], [5.0, 3.0, 1.0]),
        (np.asfortranarray(np.ones((2, 3), np.int8)), np.ones((2, 3))),
        (np.array([2**63], np.uint64), [2.0**63]),
        (np.ma.masked_array([1.0, 2.0]), [1.0, 2.0]),
    ],
)
def test_floats_are_copied(given, expected):
    numbers = checks.floats("x", given)
    assert numbers.dtype == np.float64 and numbers.flags["C_CONTIGUOUS"]
    assert not np.shares_memory(numbers, np.asarray(given))
    np.testing.assert_array_equal(numbers, expected)


def test_minus_infinity_is_allowed_on_request():
    assert checks.floats("x", [-INF, 0.0], allow_minus_inf=True)[0] == -INF


REFUSED_FLOATS = [
    ([0.0, NAN], {}, {"value": NAN, "where": "index 1", "problem": "must be a finite number."}),
    ([INF], {}, {"value": INF, "where": "index 0"}),
    ([[0.0, -INF]], {}, {"value": -INF, "where": "index (0, 1)"}),
    (NAN, {}, {"value": NAN, "where": None}),
    (
        [-INF, NAN],
        {"allow_minus_inf": True},
        {"where": "index 1", "problem": "must be a number below +inf; -inf is allowed."},
    ),
    ([-INF, INF], {"allow_minus_inf": True}, {"value": INF, "where": "index 1"}),
    ([0, 0, 0, NAN, 0], {"place": IN_INSTANCES}, {"where": "instance 2, position 1"}),
    ([NAN, 0, 0, 0, 0], {"place": IN_INSTANCES}, {"where": "instance 0, position 0"}),
    (
        [[0, 0], [0, 0], [0, NAN]],
        {"place": checks.in_instances(np.array([0, 2, 3]), "label")},
        {"where": "instance 1, position 0, label 1"},
    ),
    ([1 + 2j], {}, {"problem": "must be an array of real numbers, and is of complex128."}),
    (
        [1.0, None],
        {},
        {
            "value": None,
            "where": "index 1",
            "problem": "must be a real number, not of type NoneType.",
        },
    ),
    ([1.0, "b"], {}, {"value": "b", "where": "index 1"}),
    (
        np.array([1.0], object),
        {},
        {"problem": "must be an array of real numbers, and is of object."},
    ),
    (np.array(["a"]), {}, {"value": "a", "where": "index 0"}),
    (np.array(["2020-01-01"], "M8[D]"), {}, {"value": NO_VALUE}),
    ([[1.0], [2.0, 3.0]], {}, {"where": "index 1", "value": NO_VALUE}),
    ([1.0, [2.0]], {}, {"where": "index 1"}),
    ([[[1.0]], [[2.0], [3.0]]], {}, {"where": None}),
    ((x for x in [1.0]), {}, {"match": "is an object of type generator"}),
    ({1.0}, {}, {"match": "is an object of type set"}),
    (None, {}, {"match": "is an object of type NoneType"}),
    (csr_array([[1.0]]), {}, {"match": "is an object of type csr_array"}),
    ([2**70], {}, {"value": 2**70, "where": "index 0"}),
    (np.ma.masked_array([1.0, 2.0], [False, True]), {}, {"where": "index 1"}),
    (
        np.ones((2, 2)),
        {"shape": (None, 3)},
        {"problem": "must have the shape (any, 3), and has the shape (2, 2).", "value": NO_VALUE},
    ),
    ([0.5, -0.5], {"least": 0.0}, {"value": -0.5, "problem": "must be at least 0."}),
    (1.0, {"shape": (None,)}, {"match": r"the shape \(any,\), and has the shape \(\)"}),
]

REFUSED_INTEGERS = [
    ([0, -1], {"least": 0}, {"value": -1, "where": "index 1", "problem": "must be at least 0."}),
    ([0, 5], {"least": 0, "most": 4}, {"value": 5, "problem": "must be from 0 to 4."}),
    ([5], {"most": 4}, {"value": 5, "problem": "must be at most 4."}),
    ([0, 0, -2, 0, 0], {"least": -1, "place": IN_INSTANCES}, {"where": "instance 2, position 0"}),
    ([0.0, 1.5], {}, {"value": 1.5, "where": "index 1", "problem": "must be an integer."}),
    ([NAN], {}, {"value": NAN, "where": "index 0"}),
    ([INF], {}, {"value": INF, "where": "index 0"}),
    ([2.0**63], {}, {"value": 2.0**63, "where": "index 0"}),
    ([-(2.0**64)], {"least": 0}, {"problem": "must be at least 0."}),
    (np.array([0, 2**64 - 1], np.uint64), {"most": 9}, {"value": 2**64 - 1, "where": "index 1"}),
    ([2**70], {}, {"value": 2**70, "where": "index 0"}),
    ([2, True], {}, {"value": True, "where": "index 1"}),
    ([[2, 0], [1, np.True_]], {}, {"value": True, "where": "index (1, 1)"}),
    ([np.array([1, 2]), np.array([True, False])], {}, {"value": True, "where": "index (1, 0)"}),
    (np.array([True]), {}, {"match": "must be an array of integers, and is of bool"}),
    (True, {}, {"match": "must be an array of integers"}),
    (["B-PER"], {}, {"value": "B-PER", "where": "index 0"}),
    ([[1], [2, 3]], {}, {"where": "index 1"}),
    ([1j], {}, {"match": "complex128"}),
    ([1, 2], {"shape": (3,)}, {"problem": "must have the shape (3,), and has the shape (2,)."}),
]

REFUSED_LENGTHS = [
    ([2, -1], {}, {"value": -1, "where": "instance 1", "problem": "must be at least 0."}),
    ([0], {"least": 1}, {"value": 0, "where": "instance 0"}),
    ([2, 3], {"total": 6}, {"problem": "must sum to 6, but sums to 5."}),
    ([2**62, 2**62], {}, {"match": "must sum to at most"}),
    ([2, 3], {"count": 3}, {"match": r"the shape \(3,\)"}),
    (5, {}, {"match": r"the shape \(any,\)"}),
]

REFUSED_OFFSETS = [
    ([1, 5], {}, {"value": 1, "where": "index 0", "match": "offsets=1 must be 0"}),
    ([0, 3, 2, 5], {}, {"value": 2, "where": "index 2", "match": "at least 3"}),
    ([0, 6, 5], {}, {"value": 5, "where": "index 2"}),
    ([0, 3], {}, {"value": 3, "where": "index 1", "match": "must be 5"}),
    ([0, 6], {}, {"value": 6, "where": "index 1", "match": "must be 5"}),
    ([0, -(2**63), 2**63 - 1], {}, {"value": -(2**63), "where": "index 1"}),
    ([], {}, {"match": "at least one element"}),
    ([0, 5], {"count": 2}, {"match": r"the shape \(3,\)"}),
    ([[0, 5]], {}, {"match": r"the shape \(1, 2\)"}),
]


@pytest.mark.parametrize(
    ("check", "given", "options", "fields"),
    [("floats", *row) for row in REFUSED_FLOATS]
    + [("integers", *row) for row in REFUSED_INTEGERS]
    + [("lengths", *row) for row in REFUSED_LENGTHS]
    + [("offsets", given, {"length": 5} | more, fields) for given, more, fields in REFUSED_OFFSETS],
)
def test_refused(check, given, options, fields):
    with raises(ArgumentError, parameter=check, **fields):
        getattr(checks, check)(check, given, **options)


@pytest.mark.parametrize(
    "given", [[0, 2], (0.0, 2.0), np.array([0, 2], np.uint64), np.array([0, 9, 2], np.int8)[::2]]
)
def test_integers_are_converted(given):
    numbers = checks.integers("y", given, least=0, most=2)
    assert numbers.dtype == np.int64 and numbers.flags["C_CONTIGUOUS"]
    assert numbers.tolist() == [0, 2]


def test_integers_are_copied_unless_the_caller_owns_them():
    given = np.array([0, 2])
    assert not np.shares_memory(checks.integers("y", given), given)
    assert np.shares_memory(checks.offsets("y", given, length=2, copy=False), given)


def test_bounds_of_int64():
    ends = [-(2**63), 2**63 - 1]
    assert checks.integers("y", ends).tolist() == ends
    assert checks.integers("y", [-(2.0**63)]).tolist() == ends[:1]


def test_lengths_and_offsets_of_empty_instances():
    assert checks.lengths("lengths", [0, 2, 0], count=3, total=2).tolist() == [0, 2, 0]
    assert checks.lengths("lengths", []).tolist() == []
    assert checks.offsets("offsets", [0, 0, 2, 2], length=2, count=3).tolist() == [0, 0, 2, 2]
    assert checks.offsets("offsets", [0], length=0).tolist() == [0]


def test_same_length():
    checks.same_length("y", [1, 2], "X", csr_array((2, 3)))
    with raises(
        ArgumentError,
        parameter="y",
        problem="has the length 1, but X has the length 2.",
        remedy="Give one element of y per element of X.",
    ):
        checks.same_length("y", [1], "X", csr_array((2, 3)))
    with raises(ArgumentError, parameter="y", match="must have a length"):
        checks.same_length("y", iter([1]), "X", [1])


def test_tensors_that_require_gradients_are_refused():
    class Tensor:
        requires_grad = True

    with raises(ArgumentError, parameter="scores", match="Detach it"):
        checks.floats("scores", Tensor())


def test_objects_that_fail_to_convert_are_refused():
    class Broken:
        def __array__(self, dtype=None, copy=None):
            raise RuntimeError("on another device")

    with raises(ArgumentError, parameter="x", match="cannot be converted .*on another device"):
        checks.floats("x", Broken())


@pytest.mark.parametrize(
    ("check", "given", "text"),
    [
        (checks.floats, [0, NAN], "index 1: scores=nan must be a finite number."),
        (checks.floats, ["a b"], "index 0: scores='a b' must be a real number, not of type str."),
        (
            checks.integers,
            np.array([True]),
            "scores must be an array of integers, and is of bool. Convert the array with "
            ".astype(int) if these are numbers.",
        ),
        (checks.lengths, [-1], "instance 0: scores=-1 must be at least 0."),
    ],
)
def test_texts(check, given, text):
    with pytest.raises(ArgumentError) as raised:
        check("scores", given)
    assert str(raised.value) == text


def test_fields_are_compared():
    with pytest.raises(AssertionError, match="'value': 1"):
        compare(ArgumentError("is odd.", parameter="x", value=1), {"value": 1.0})
