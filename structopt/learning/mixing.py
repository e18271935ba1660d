"""Iterative parameter mixing: online passes over shards, side by side, whose states are averaged after every pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from structopt.core.executor import Executor
from structopt.core.objective import Objective
from structopt.core.optimizer import Optimizer, Report, State
from structopt.core.scorer import Scorer
from structopt.kernels.waist.record import Array
from structopt.learning.wrapped import Wrapped

ALONE = 1
"""Passes over the whole corpus before the first on shards: mixing from zero weights on is several times as slow."""
DONE = "passes_done"
"""In a state: the passes so far."""


class PackedState(NamedTuple):
    """An optimizer's state as it is sent to shards and back: of its weights, only those that may move.

    Attributes
    ----------
    values : State
    weights : tuple of str
        The arrays that were compressed.
    """

    values: State
    weights: tuple[str, ...]

    @classmethod
    def of(cls, state: State, scorer: Scorer) -> PackedState:
        """Pack a state."""
        arrays = {name: value for name, value in state.items() if isinstance(value, np.ndarray)}
        weights = tuple(name for name, array in arrays.items() if scorer.covers(array))
        return cls(state | {name: scorer.compress(arrays[name]) for name in weights}, weights)

    def opened(self, scorer: Scorer) -> State:
        """The state, in new arrays."""
        arrays = {name: np.array(value) for name, value in self.values.items() if isinstance(value, np.ndarray)}
        return self.values | arrays | {name: scorer.expand(arrays[name]) for name in self.weights}


class ShardPass(NamedTuple):
    """The result of a pass over a shard: the state, the report, and the messages of its instances."""

    state: PackedState
    report: Report
    messages: Array


class ShardPasses(Protocol):
    """Passes of an optimizer over the shards of a problem, wherever they are.

    Attributes
    ----------
    problem : Objective
    """

    @property
    def problem(self) -> Objective:
        """The problem whose instances the shards hold."""

    def run(self, packed: PackedState) -> Iterator[ShardPass]:
        """Make a pass on every shard from the same state; the results in the order of the shards."""


Place = Callable[[Objective, Optimizer, int], ShardPasses]
"""Divides a problem into shards over which an optimizer passes."""


class Mixed(Wrapped):
    """An online optimizer whose passes are made on the shards of the corpus, and their states mixed.

    The first pass is the optimizer's own, over the whole corpus. Every later one begins on all shards with the same state x;
    then

        x_j <- x_j + (1/n_j) sum_s (x_sj - x_j),

    x_s the state that the optimizer's pass over shard s leaves, n_j the number of shards that moved weight j or a statistic of
    it: every entry is averaged over the shards that have to do with it (all, where every step shrinks all weights), numbers over
    all. So the mean of the iterates that a state keeps is mixed as the iterates are. With one shard it is the optimizer itself,
    bit for bit.

    Parameters
    ----------
    optimizer : Optimizer
        One that is ``mixable``: its state is a point and statistics of the way to it, without dual variables of instances.
    shards : int
        S.
    place : callable
        Divides a problem into so many shards, over which the optimizer then passes.

    Notes
    -----
    McDonald, Hall and Mann (2010), "Distributed training strategies for the structured perceptron", Figure 3. Theirs has uniform
    mixture weights, by which a weight that one shard alone has to do with moves 1/S as far; and no first pass alone.
    """

    def __init__(self, optimizer: Optimizer, shards: int, place: Place) -> None:
        super().__init__(optimizer)
        self.shards, self.place = shards, place
        self._passes: ShardPasses | None = None

    def init(self, problem: Objective, weights: Array) -> State:
        """The optimizer's first state, of the whole problem."""
        return {**self.optimizer.init(problem, weights), DONE: 0}

    def step(self, problem: Objective, state: State) -> tuple[State, Report]:
        """One pass: over the whole corpus at first, then on every shard, from whose states the next is mixed."""
        done = state[DONE]
        own = {name: value for name, value in state.items() if name != DONE}
        own, report = (self._mixed if done >= ALONE else self.optimizer.step)(problem, own)
        return {**own, DONE: done + 1}, report

    def _mixed(self, problem: Objective, state: State) -> tuple[State, Report]:
        if self._passes is None or self._passes.problem is not problem:
            self._passes = self.place(problem, self.optimizer, self.shards)
        start = PackedState.of(state, problem.scorer)
        reports, mixture = [], Mixture(start, problem.scorer)
        for passed in self._passes.run(start):
            mixture.add(passed.state)
            reports.append(passed.report)
        return mixture.state(), _together(reports)


class Mixture:
    """The mixture of states that come one by one, in their order; what is no float is the same in all of them.

    Parameters
    ----------
    start : PackedState
        The state that all began with.
    scorer : Scorer
    """

    def __init__(self, start: PackedState, scorer: Scorer) -> None:
        self.start, self.scorer = start, scorer
        self.moves: dict[str, Array] = {}
        self.movers: dict[int, Array] = {}  # by length: entries of arrays as long as each other are of the same weights
        self._last, self._floats = start, [dict[str, float]()]

    def add(self, packed: PackedState) -> None:
        """Add a state."""
        if packed.weights != self.start.weights:  # an array left the weights that may move
            self._open()
            packed = PackedState(packed.opened(self.scorer), ())
        self._last = packed
        self._floats.append({name: value for name, value in packed.values.items() if isinstance(value, float)})
        moves = {name: value - self.start.values[name] for name, value in packed.values.items() if _averaged(value)}
        for name, move in moves.items():
            self.moves[name] = self.moves.get(name, 0.0) + move
        for length in {len(move) for move in moves.values()}:
            moved = np.logical_or.reduce([move != 0 for move in moves.values() if len(move) == length])
            self.movers[length] = self.movers.get(length, 0) + moved.astype(np.int32)

    def state(self) -> State:
        """The mixture."""
        floats = {name: _mean([one[name] for one in self._floats[1:]]) for name in self._floats[-1]}
        if len(self._floats) == 2:  # to the last bit
            return self._last.opened(self.scorer)
        shares = {length: np.maximum(count, 1) for length, count in self.movers.items()}
        arrays = {name: self.start.values[name] + move / shares[len(move)] for name, move in self.moves.items()}
        return PackedState({**self._last.values, **arrays, **floats}, self.start.weights).opened(self.scorer)

    def _open(self) -> None:
        """Go on with all weights, those that may not move among them."""
        opened = PackedState(self.start.opened(self.scorer), ())
        self.moves |= {name: self.scorer.expand(self.moves[name]) for name in self.start.weights if name in self.moves}
        lengths = {len(self.start.values[name]): len(opened.values[name]) for name in self.start.weights}
        self.movers |= {
            full: self.scorer.expand(self.movers.pop(length)) for length, full in lengths.items() if length in self.movers
        }
        self.start = opened


def _averaged(value: Any) -> bool:
    """Whether it is an array of floats."""
    return isinstance(value, np.ndarray) and value.dtype.kind == "f"


def _mean(values: Sequence[float]) -> float:
    """The mean; of equals the value itself, to the last bit."""
    return values[0] if len(set(values)) == 1 else sum(values) / len(values)


def _together(reports: Sequence[Report]) -> Report:
    """Losses of all shards."""
    return Report(loss=sum(one.loss for one in reports), negative_losses=sum(one.negative_losses for one in reports))


def shards_of(executor: Executor, optimizer: Optimizer) -> int:
    """Into how many shards the passes of an optimizer are divided; 0 where they are not."""
    return 0 if optimizer.plan.form == "batch" else executor.mixing


def mixed(optimizer: Optimizer, shards: int, place: Place) -> Optimizer:
    """The optimizer, mixed where there are shards to be mixed."""
    return Mixed(optimizer, shards, place) if shards else optimizer
