"""Iterative parameter mixing: online passes over shards, in parallel, whose states are averaged after every pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from structopt.core.executor import Executor
from structopt.core.loss import Loss
from structopt.core.memory import Footprint, ProblemSizes
from structopt.core.objective import Objective
from structopt.core.optimizer import Earlier, Optimizer, Report, State
from structopt.core.scorer import Scorer
from structopt.kernels.waist.record import Array
from structopt.learning.wrapped import Wrapped

ALONE = 1
"""Passes over the whole corpus before the first on shards: mixing from zero weights on is several times as slow."""
DONE = "passes_done"
"""Name in a state of the number of passes so far."""


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
    """Passes of an optimizer over the shards of a problem, in this process or elsewhere.

    Attributes
    ----------
    problem : Objective
    """

    @property
    def problem(self) -> Objective:
        """The problem whose instances the shards hold."""

    def run(self, packed: PackedState) -> Iterator[ShardPass]:
        """Make a pass on every shard from the same state; the results in the order of the shards."""


MakePasses = Callable[[Objective, Optimizer, int], ShardPasses]
"""Divides a problem into so many shards, for passes of an optimizer."""


class Mixed(Wrapped):
    """An online optimizer whose passes are made on the shards of the corpus, and the resulting states mixed.

    The first pass is one over the whole corpus. Every later one begins on all shards with the same state x; then

        x_j <- x_j + (1/n_j) sum_s (x_sj - x_j),

    x_s being the state after the pass over shard s, and n_j the number of shards that moved weight j or a statistic of it: every
    entry of an array is averaged over the shards that moved it (all, where every step shrinks all weights), numbers over all. So
    the mean of the iterates (`structopt.learning.averaging`) is mixed like the iterates themselves. With one shard the states are
    those of the optimizer alone, bit for bit.

    Parameters
    ----------
    optimizer : Optimizer
        One that is ``mixable``: its state is a point and statistics of the iterates, without dual variables of instances.
    shards : int
        S.
    make_passes : callable
        Divides a problem into so many shards, for passes of the optimizer.

    Notes
    -----
    McDonald, Hall and Mann (2010), "Distributed training strategies for the structured perceptron", Figure 3. Theirs has uniform
    mixture weights, by which a weight that only one shard moves moves 1/S as far; and no first pass over the whole corpus.
    """

    def __init__(self, optimizer: Optimizer, shards: int, make_passes: MakePasses) -> None:
        super().__init__(optimizer)
        self.shards, self.make_passes = shards, make_passes
        self._passes: ShardPasses | None = None

    def footprint(self, sizes: ProblemSizes, loss: Loss) -> Footprint:
        """Bytes that the other one takes, and a state for every shard beside the mixture of them."""
        alone = self.optimizer.footprint(sizes, loss)
        return replace(alone, step=alone.step + (self.shards + 3) * sum(alone.state.values()))

    def init(self, problem: Objective, weights: Array) -> State:
        """Return the first state of the optimizer, for the whole problem."""
        return {**self.optimizer.init(problem, weights), DONE: 0}

    def continued(self, problem: Objective, earlier: Earlier) -> State:
        """Return the state in which the optimizer goes on, over shards at once where there were passes before."""
        done = earlier.state.get(DONE, earlier.state["epoch"])
        return {**self.optimizer.continued(problem, earlier), DONE: done}

    def step(self, problem: Objective, state: State) -> tuple[State, Report]:
        """Make one pass: the first over the whole corpus, each later one on every shard, with the states mixed afterwards."""
        done = state[DONE]
        inner = {name: value for name, value in state.items() if name != DONE}
        inner, report = (self._mixed if done >= ALONE else self.optimizer.step)(problem, inner)
        return {**inner, DONE: done + 1}, report

    def _mixed(self, problem: Objective, state: State) -> tuple[State, Report]:
        if self._passes is None or self._passes.problem is not problem:
            self._passes = self.make_passes(problem, self.optimizer, self.shards)
        start = PackedState.of(state, problem.scorer)
        reports, mixture = [], Mixture(start, problem.scorer)
        for passed in self._passes.run(start):
            mixture.add(passed.state)
            reports.append(passed.report)
        return mixture.state(), _summed(reports)


class Mixture:
    """The mixture of states, which are added one by one, in the order of the shards; entries other than floats are alike in all.

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
        if packed.weights != self.start.weights:  # an array moved outside the weights that may move
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
        """Return the mixture."""
        floats = {name: _mean([shard[name] for shard in self._floats[1:]]) for name in self._floats[-1]}
        if len(self._floats) == 2:  # one shard: its state to the last bit
            return self._last.opened(self.scorer)
        shares = {length: np.maximum(count, 1) for length, count in self.movers.items()}
        arrays = {name: self.start.values[name] + move / shares[len(move)] for name, move in self.moves.items()}
        return PackedState({**self._last.values, **arrays, **floats}, self.start.weights).opened(self.scorer)

    def _open(self) -> None:
        """Keep all weights from here on, also those that may not move."""
        opened = PackedState(self.start.opened(self.scorer), ())
        self.moves |= {name: self.scorer.expand(self.moves[name]) for name in self.start.weights if name in self.moves}
        lengths = {len(self.start.values[name]): len(opened.values[name]) for name in self.start.weights}
        self.movers |= {
            full: self.scorer.expand(self.movers.pop(length)) for length, full in lengths.items() if length in self.movers
        }
        self.start = opened


def _averaged(value: Any) -> bool:
    """Whether a value of a state is an array of floats."""
    return isinstance(value, np.ndarray) and value.dtype.kind == "f"


def _mean(values: Sequence[float]) -> float:
    """Return the mean; of equal values the value itself, to the last bit."""
    return values[0] if len(set(values)) == 1 else sum(values) / len(values)


def _summed(reports: Sequence[Report]) -> Report:
    """Return the report of all shards, which sums their losses."""
    return Report(
        loss=sum(report.loss for report in reports), negative_losses=sum(report.negative_losses for report in reports)
    )


def shards_of(executor: Executor, optimizer: Optimizer) -> int:
    """Return into how many shards the passes of an optimizer are divided; 0 where they are not."""
    return 0 if optimizer.plan.form == "batch" else executor.mixing


def mixed(optimizer: Optimizer, shards: int, make_passes: MakePasses) -> Optimizer:
    """Return the optimizer, with mixed passes where there are shards."""
    return Mixed(optimizer, shards, make_passes) if shards else optimizer
