"""Dual ascent on shards of a corpus, in parallel, whose dual steps are added up after every pass
(CoCoA+).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

from structopt.core.loss import Loss
from structopt.core.memory import Footprint, ProblemSizes
from structopt.core.objective import Objective
from structopt.core.optimizer import Optimizer, Report
from structopt.core.optimizer_state import State, values_of
from structopt.kernels.waist.record import Array
from structopt.learning.mixture import PackedState
from structopt.learning.momentum import AddedState, Momentum
from structopt.learning.wrapped import Wrapped


class Ascent(NamedTuple):
    """The result of a pass over a shard: all of its state, the weights among it packed, and the
    report.
    """

    state: PackedState
    report: Report


class Ascents(Protocol):
    """Passes of a dual method over the shards of a problem, which keep the dual variables of their
    instances.

    Attributes
    ----------
    problem : Objective
    """

    @property
    def problem(self) -> Objective:
        """The problem whose instances the shards hold."""

    def run(self, state: State, starts: Sequence[Array]) -> Iterator[Ascent]:
        """Make a pass on every shard, each from its own weights; the results in the order of the
        shards.

        Parameters
        ----------
        state : State
            Of the method, for the whole.
        starts : sequence of float64 vector
            The weights at which each shard starts, compressed to those that may move.
        """

    def finished(self, state: State) -> None:
        """Take note of the state of the whole to which the last pass led: from it the next one goes
        on without new variables.
        """

    def losses(self, packed: PackedState) -> float:
        """Sum of the losses of all instances at the entry ``theta``, each shard's computed where it
        is.
        """


MakeAscents = Callable[[Objective, Optimizer, int], Ascents]
"""Divides a problem into so many shards, for passes of a dual method."""


class AddedDuals(Wrapped):
    """A dual method whose passes are made on the shards of the corpus, and whose steps on the dual
    are added up.

    The dual variables z_bar of all instances have the weights theta = C sum_i F_i (z_i - z_bar_i).
    In a pass each of S shards climbs, over its own instances, a lower bound of the dual in which
    every step counts S times in the quadratic term:

        theta_s <- theta - S C tau F_i d,       z_bar_i <- z_bar_i + tau d            (the method's
        own visits, with S C for C)

    from weights of the whole, which are no function of the shard's duals alone: theta in the first
    pass, and weights o_s to which momentum takes them in later ones
    (`structopt.learning.momentum`). Afterwards

        theta <- theta + sum_s (theta_s - o_s) / S,

    the weights of all dual variables together. So D <= P* at every pass, and the optimum is that of
    the method in one thread; P and D are those of the whole. With one shard the states are those of
    the method alone, bit for bit.

    Parameters
    ----------
    optimizer : Optimizer
        One that is ``additive`` (`structopt.core.optimizer.Plan`).
    shards : int
        S.
    make_ascents : callable
        Divides a problem into so many shards.

    Notes
    -----
    Ma, Smith, Jaggi, Jordan, Richtarik and Takac (2015), "Adding vs. averaging in distributed
    primal-dual optimization": aggregation gamma = 1, sigma' = S. Theirs has no momentum.
    """

    state_type = AddedState

    def __init__(self, optimizer: Optimizer, shards: int, make_ascents: MakeAscents) -> None:
        super().__init__(optimizer)
        self.shards, self.make_ascents = shards, make_ascents
        self._ascents: Ascents | None = None

    def footprint(self, sizes: ProblemSizes, loss: Loss) -> Footprint:
        """Bytes that the method takes: once here, once with the shards, and once in what they
        return; and the shards' moves.
        """
        alone = self.optimizer.footprint(sizes, loss)
        state, moves = (
            sum(alone.state.values()),
            self.shards * sizes.weight_vector if self.shards > 1 else 0,
        )
        both = {**alone.state, "moves of the shards": moves}
        return replace(
            alone, state=both, kept=alone.kept + state, step=alone.step + 2 * state + 2 * moves
        )

    def init(self, problem: Objective, weights: Array) -> AddedState:
        """Return the first state of the method, for the whole problem."""
        return AddedState(inner=self._init(problem, weights))

    def step(self, problem: Objective, state: AddedState) -> tuple[AddedState, Report]:
        """Make one pass on every shard, and add up the steps."""
        scorer, losses, before = problem.scorer, 0.0, values_of(state.inner)
        momentum = Momentum.of(state, self.shards)
        theta = scorer.compress(before["theta"])
        starts = momentum.starts(theta, self.shards)
        statistics = [name for name in self.optimizer.names("weights") if name != "theta"]
        sums = {name: before[name] for name in statistics}
        shares, moves = list[dict[str, Any]](), list[Array]()
        for start, ascent in zip(
            starts, self._over_shards(problem).run(state.inner, starts), strict=True
        ):
            opened = ascent.state.opened(scorer)
            end = scorer.compress(opened.pop("theta"))
            moves.append((end - start) / self.shards)
            # a single shard's end, to the last bit
            theta = end if self.shards == 1 else theta + moves[-1]
            for name in statistics:
                sums[name] = self._added(sums[name], before[name], opened.pop(name))
            shares.append(opened)
            losses += ascent.report.loss
        united = values_of(self.optimizer.united(state.inner, shares))
        after = self.optimizer.restored(united | sums | {"theta": scorer.expand(theta)})
        self._over_shards(problem).finished(after)
        dual = self.optimizer.dual(problem, after)
        return momentum.after(moves, dual).added(after), Report(loss=losses, dual=dual)

    def objective(self, problem: Objective, state: AddedState) -> float:
        """P of the whole, whose losses every shard computes for its own instances."""
        weights = self.optimizer.weights(state.inner)
        packed = PackedState.of({"theta": weights}, problem.scorer)
        return problem.ridge(weights) + self._over_shards(problem).losses(packed) / problem.m

    def _added(self, total: Array, start: Array, end: Array) -> Array:
        """Add what a shard's pass did to a statistic of the weights; a single one's end is taken as
        it is.
        """
        return end if self.shards == 1 else total + (end - start) / self.shards

    def _over_shards(self, problem: Objective) -> Ascents:
        if self._ascents is None or self._ascents.problem is not problem:
            self._ascents = self.make_ascents(problem, self.optimizer, self.shards)
        return self._ascents
