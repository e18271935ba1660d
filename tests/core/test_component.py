"""Constructors of components refuse arguments of other types, each by its name."""

from __future__ import annotations

import inspect
import typing

import numpy as np
import pytest

import structopt as so
from structopt.core.component import Component
from tests.messages import raises

WRONG = {int: (2.5, "3"), float: ("1", [1.0]), bool: (1, "yes"), str: (3,)}


def _constructors():
    """Public components whose arguments all have defaults."""
    for name in sorted(dir(so)):
        cls = getattr(so, name)
        if isinstance(cls, type) and issubclass(cls, Component):
            hints = typing.get_type_hints(cls.__init__) if "__init__" in dir(cls) else {}
            given = inspect.signature(cls).parameters.values()
            if all(p.default is not p.empty for p in given):
                yield cls, {p.name: hints.get(p.name) for p in given}


CASES = [
    pytest.param(cls, argument, value, id=f"{cls.__name__}-{argument}-{value}")
    for cls, hints in _constructors()
    for argument, hint in hints.items()
    for value in WRONG.get(hint, ())
]


@pytest.mark.parametrize(("cls", "argument", "value"), CASES)
def test_refuses_other_types(cls, argument, value):
    with raises(so.ArgumentError, match="must be", parameter=argument, value=value):
        cls(**{argument: value})


def test_choices_are_named():
    with raises(so.ArgumentError, match="'max_loss' or 'prediction'", parameter="variant"):
        so.MIRA(variant="predict")


def test_numbers_of_numpy_are_numbers():
    assert so.LoopyBP(passes=np.int64(3), damping=np.float32(0.5)).passes == 3
    assert so.MIRA(average=np.bool_(True)).average


def test_subclasses_are_checked():
    class Longer(so.MPLP):
        def __init__(self, rounds: int = 1) -> None:
            super().__init__(passes=rounds)

    with raises(so.ArgumentError, parameter="rounds", value=1.5):
        Longer(rounds=1.5)
    assert inspect.signature(Longer).parameters["rounds"].default == 1


def test_unknown_names_in_annotations_are_left_unchecked():
    class Odd(so.MPLP):
        def __init__(self, thing: Undefined = None) -> None:  # noqa: F821
            super().__init__()

    assert Odd(thing=3).passes == 1000


@pytest.mark.parametrize(("l1", "l2", "parameter"), [("a", 1.0, "l1"), (0.0, -1.0, "l2")])
def test_penalties(l1, l2, parameter):
    with raises(so.ArgumentError, parameter=parameter):
        so.Penalty(l1, l2)


@pytest.mark.parametrize(("rows", "columns", "parameter"), [(2.5, 3, "rows"), (2, 0, "columns")])
def test_grid_edges(rows, columns, parameter):
    with raises(so.ArgumentError, parameter=parameter):
        so.grid_edges(rows, columns)
