"""Iterative parameter mixing: online passes over shards, side by side, whose states are averaged after every pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from structopt.core.protocols import FeatureMap, Report, State
from structopt.kernels.record import Array


class Parcel(NamedTuple):
    """A state without the weights that may not move: what travels.

    Attributes
    ----------
    values : State
    weights : tuple of str
        The arrays that were compressed.
    """

    values: State
    weights: tuple[str, ...]

    @classmethod
    def of(cls, state: State, rows: FeatureMap) -> Parcel:
        """Pack a state."""
        arrays = {name: value for name, value in state.items() if isinstance(value, np.ndarray)}
        weights = tuple(name for name, array in arrays.items() if rows.covers(array))
        return cls(state | {name: rows.compress(arrays[name]) for name in weights}, weights)

    def opened(self, rows: FeatureMap) -> State:
        """The state, in arrays of its own."""
        arrays = {name: np.array(value) for name, value in self.values.items() if isinstance(value, np.ndarray)}
        return self.values | arrays | {name: rows.expand(arrays[name]) for name in self.weights}


class Passed(NamedTuple):
    """What a shard's pass comes to: the state, the report, and the messages of its instances."""

    state: Parcel
    report: Report
    messages: Array


class Mixed:
    """An online optimizer whose passes are made on the shards of the corpus, and their states mixed.

    Every pass begins on all shards with the same state; then

        state <- (1/S) sum_s state_s     over the states that the optimizer's own pass over each shard s leaves.

    All numbers and arrays of a state are averaged; so the mean of all iterates that a state keeps is that over all shards (as
    their sizes differ by one instance at most, up to that). With one shard it is the optimizer itself, bit for bit.

    Parameters
    ----------
    optimizer : Optimizer
        One that is ``mixable``: its state is a point and statistics of the way to it, without dual variables of instances.
    shards : int
        S.

    Notes
    -----
    McDonald, Hall and Mann (2010), "Distributed training strategies for the structured perceptron", Figure 3, with uniform
    mixture weights.
    """

    def __init__(self, optimizer: Any, shards: int) -> None:
        self.optimizer, self.shards = optimizer, shards
        self._passes: Any = None

    def __getattr__(self, name: str) -> Any:
        """Whatever else the optimizer has."""
        return getattr(self.__dict__["optimizer"], name)

    def init(self, problem: Any, weights: Array) -> State:
        """The optimizer's first state, of the whole problem."""
        state: State = self.optimizer.init(problem, weights)
        return state

    def step(self, problem: Any, state: State) -> tuple[State, Report]:
        """One pass on every shard, and the mean of their states."""
        if self._passes is None or self._passes.problem is not problem:
            self._passes = problem.passes(self.optimizer, self.shards)
        reports, mean = [], Mean()
        for passed in self._passes.run(Parcel.of(state, problem.feature_map)):
            mean.add(passed.state, problem.feature_map)
            reports.append(passed.report)
        return mean.state(problem.feature_map), _together(reports)


class Mean:
    """The mean of states that come one by one, in their order; what is no float is the same in all of them."""

    def __init__(self) -> None:
        self.sum = Parcel({}, ())
        self._floats: list[dict[str, float]] = []

    def add(self, parcel: Parcel, rows: FeatureMap) -> None:
        """Add a state."""
        self._floats.append({name: value for name, value in parcel.values.items() if isinstance(value, float)})
        if len(self._floats) == 1:
            self.sum = Parcel({name: _own(value) for name, value in parcel.values.items()}, parcel.weights)
            return
        if parcel.weights != self.sum.weights:  # an array left the weights that may move
            self.sum, parcel = (Parcel(one.opened(rows), ()) for one in (self.sum, parcel))
        for name, value in parcel.values.items():
            if _averaged(value):
                self.sum.values[name] += value

    def state(self, rows: FeatureMap) -> State:
        """The mean."""
        values, count = self.sum.values, len(self._floats)
        arrays = {name: value / count for name, value in values.items() if _averaged(value)}
        floats = {name: _mean([one[name] for one in self._floats]) for name in self._floats[0]}
        return Parcel({**values, **arrays, **floats}, self.sum.weights).opened(rows)


def _averaged(value: Any) -> bool:
    """Whether it is an array of floats."""
    return isinstance(value, np.ndarray) and value.dtype.kind == "f"


def _own(value: Any) -> Any:
    """What may be written to."""
    return np.array(value) if isinstance(value, np.ndarray) else value


def _mean(values: Sequence[float]) -> float:
    """The mean; of equals the value itself, to the last bit."""
    return values[0] if len(set(values)) == 1 else sum(values) / len(values)


def _together(reports: Sequence[Report]) -> Report:
    """Losses of all shards."""
    return Report(loss=sum(one.loss for one in reports), negative_losses=sum(one.negative_losses for one in reports))


def shards_of(executor: Any, optimizer: Any) -> int:
    """Into how many shards the passes of an optimizer are divided; 0 where they are not."""
    return 0 if getattr(optimizer, "batch", False) else int(executor.mixing)


def mixed(optimizer: Any, shards: int) -> Any:
    """The optimizer, mixed where there are shards to be mixed."""
    return Mixed(optimizer, shards) if shards else optimizer
