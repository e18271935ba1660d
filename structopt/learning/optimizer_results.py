"""Checks of the values that an optimizer returns, for authors of plugins.

A run checks them once: the initial state, and the result of the first step of the process.
"""

from __future__ import annotations

from dataclasses import is_dataclass
from numbers import Integral, Real
from types import NoneType
from typing import Any, NoReturn

import numpy as np

from structopt.core import checks
from structopt.core.entry_points import installed, name_of
from structopt.core.optimizer import Optimizer, Report
from structopt.core.optimizer_state import State, values_of
from structopt.errors import ArgumentError, ConfigError, shown

CONTRACT = "structopt.plugin.Optimizer"
SCALARS = (bool, int, float, str)
REPORTED: dict[str, tuple[type, ...]] = {
    "loss": (Real,),
    "negative_losses": (Integral,),
    "primal": (Real, NoneType),
    "dual": (Real, NoneType),
    "rate_bound": (Real, NoneType),
    "inference_seconds": (Real, NoneType),
    "evaluations": (tuple,),
    "finished": (str,),
    "failed": (bool,),
}
"""Types of the fields of a `Report` that optimizers set."""


def check_start(optimizer: Optimizer, state: Any, dimension: int, method: str = "init") -> None:
    """Check the state that `init` or `continued` returned, and the weights of this state.

    Raises
    ------
    ConfigError
        If it is not a state of the contract, or its weights are not finite.
    """
    _check_state(optimizer, method, state)
    _check_weights(optimizer, state, dimension, finite=True)


def check_step(optimizer: Optimizer, result: Any, dimension: int) -> None:
    """Check the result of a step: types, shapes, and the entries of the state that the plan names.

    A state without a report is accepted.

    Numbers that are not finite are left to the trainer, which checks them after every epoch.

    Raises
    ------
    ConfigError
        If the result breaks the contract.
    """
    if isinstance(result, dict) or is_dataclass(result):
        result = (result, Report(0.0))
    pair = isinstance(result, tuple) and len(result) == 2
    if not pair or not isinstance(result[1], Report):
        _refuse(
            optimizer,
            "step",
            f"({_kind(result[0])}, {_kind(result[1])})" if pair else _kind(result),
            "the pair (state, structopt.plugin.Report)",
        )
    state, report = result
    _check_state(optimizer, "step", state)
    for name, types in REPORTED.items():
        value = getattr(report, name)
        if not isinstance(value, types):
            kinds = " or ".join("None" if one is NoneType else _words(one) for one in types)
            _refuse(optimizer, "step", f"a Report with {name}={shown(value)}", f"{name}: {kinds}")
    plan = optimizer.plan
    complete = not plan.bound and _inner(optimizer) is optimizer
    values, over_weights = values_of(state), optimizer.names("weights")
    needed = (*over_weights, *optimizer.names("numbers")) if complete else ()
    for name in needed:
        if name not in values:
            expected = "all entries that Plan.weights and Plan.numbers name"
            _refuse(optimizer, "step", f"a state without '{name}'", expected)
    for name in over_weights:
        shape = np.shape(values.get(name, ()))
        if shape not in ((), (0,), (dimension,)):
            _refuse(
                optimizer,
                "step",
                f"a state whose entry '{name}' of Plan.weights has shape {shape}",
                f"shape ({dimension},), one number per weight, or (0,)",
            )
    _check_weights(optimizer, state, dimension, finite=False)


def _check_state(optimizer: Optimizer, method: str, state: Any) -> None:
    """Refuse a state that a checkpoint cannot hold."""
    expected = "a dict of NumPy arrays of numbers, numbers, booleans and strings"
    if not isinstance(state, optimizer.state_type):
        if is_dataclass(state):
            expected = f"a state of its state_type, {optimizer.state_type.__name__}"
        _refuse(optimizer, method, _kind(state), expected)
    for name, value in values_of(state).items():
        if not isinstance(name, str) or "." in name:
            _refuse(
                optimizer, method, f"a state with the key {name!r}", "names without a dot as keys"
            )
        numeric = isinstance(value, np.ndarray) and value.dtype.kind in "biuf"
        if not numeric and not isinstance(value, SCALARS):
            _refuse(optimizer, method, f"a state whose entry '{name}' is {_kind(value)}", expected)


def _check_weights(optimizer: Optimizer, state: State, dimension: int, *, finite: bool) -> None:
    weights = optimizer.weights(state)
    try:
        checks.check_vector("weights", weights, dimension, finite=finite, writable=False)
    except ArgumentError as error:
        expected = f"a contiguous float64 array of shape ({dimension},)"
        expected += " with finite numbers" if finite else ""
        _refuse(optimizer, "weights", _kind(weights), expected, error)


def _refuse(
    optimizer: Optimizer,
    method: str,
    actual: str,
    expected: str,
    cause: ArgumentError | None = None,
) -> NoReturn:
    optimizer = _inner(optimizer)
    name = name_of("optimizer", optimizer)
    owner = installed("optimizer").get(name)
    reason = f": {cause}" if cause else "."
    raise ConfigError(
        f"breaks the contract of optimizers. {type(optimizer).__name__}.{method} returned "
        f"{actual} and must return {expected}{reason}",
        parameter="optimizer",
        value=name,
        remedy=f"Fix the method ({CONTRACT}), or update "
        f"{owner.distribution if owner else type(optimizer).__module__}.",
    ) from None


def _inner(optimizer: Optimizer) -> Optimizer:
    """Return the optimizer inside all that wrap it (`structopt.learning.wrapped`)."""
    while isinstance(wrapped := getattr(optimizer, "optimizer", None), Optimizer):
        optimizer = wrapped
    return optimizer


def _kind(value: Any) -> str:
    """Describe a value by its type; an array also by element type and shape."""
    if value is None:
        return "None"
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype} of shape {value.shape}"
    if isinstance(value, tuple):
        return f"a tuple of {len(value)}"
    return f"{_words(type(value))} {shown(value)}"


def _words(cls: type) -> str:
    """Return a type in words."""
    known: dict[type, str] = {
        Real: "a number",
        Integral: "an integer",
        str: "a string",
        bool: "a boolean",
        tuple: "a tuple of seconds",
    }
    return known.get(cls, f"{cls.__module__}.{cls.__name__}".removeprefix("builtins."))
