"""States of optimizers: named arrays and numbers."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from typing import Any, Literal

import numpy as np

State = Any
"""A dict of arrays, numbers, booleans and strings, or a dataclass with such fields."""
Role = Literal["weights", "instances", "numbers"]


def over_weights(default: Any = MISSING) -> Any:
    """Declare a field of shape (dimension,), or empty, that is zero at weights that may not
    move.
    """
    return field(default=default, metadata={"role": "weights"})


def over_instances(default: Any = MISSING, rows: int = 1) -> Any:
    """Declare a field whose last axis is over instances, or over their parts or planes; it has so
    many rows, or one axis.
    """
    return field(default=default, metadata={"role": "instances", "rows": rows})


def lasting(default: Any = MISSING) -> Any:
    """Declare a number that stays when training continues with other data: counts of visits and
    epochs, a rate.
    """
    return field(default=default, metadata={"role": "numbers"})


def absent() -> Any:
    """Declare a field that a state may lack: None."""
    return field(default=None)


@dataclass(kw_only=True)
class OptimizerState:
    """Base of the states of optimizers. A state lacks the fields that are None."""

    @classmethod
    def names(cls, role: Role) -> tuple[str, ...]:
        """Return the names of the fields of a role."""
        return tuple(one.name for one in fields(cls) if one.metadata.get("role") == role)

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Any:
        """Return the state with the values of a checkpoint; other values are ignored.

        Up to version 0.1, arrays over instances were matrices of one row.

        Raises
        ------
        TypeError
            If values are missing.
        """
        required = [one.name for one in fields(cls) if one.default is not None]
        if missing := [name for name in required if name not in values]:
            raise TypeError(f"{cls.__name__} lacks {', '.join(missing)}")
        known = {one.name: one.metadata.get("rows") for one in fields(cls) if one.name in values}
        flat = {name: np.ravel(values[name]) for name, rows in known.items() if rows == 1}
        return cls(**{name: values[name] for name in known} | flat)


@dataclass(kw_only=True)
class WrapperState(OptimizerState):
    """Base of states that have the state of another optimizer inside.

    Attributes
    ----------
    inner : State
    """

    inner: State


def values_of(state: State) -> dict[str, Any]:
    """Return the values of a state by name. Values of an inner state keep their names."""
    if not is_dataclass(state):
        return dict(state)
    values: dict[str, Any] = {}
    for one in fields(state):
        value = getattr(state, one.name)
        if one.name == "inner":
            values |= values_of(value)
        elif value is not None:
            values[one.name] = value
    return values


def copied(state: State) -> State:
    """Return a copy of a state, whose arrays and numbers a step may change."""
    if not is_dataclass(state):
        return {name: copy(value) for name, value in state.items()}
    values = {one.name: getattr(state, one.name) for one in fields(state)}
    inner = {"inner": copied(values.pop("inner"))} if "inner" in values else {}
    make: Any = type(state)
    return make(**{name: copy(value) for name, value in values.items()}, **inner)
