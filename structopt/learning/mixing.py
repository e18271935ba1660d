"""Iterative parameter mixing: online passes over shards, in parallel, whose states are averaged
after every pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

from structopt.core.executor import Executor
from structopt.core.loss import Loss
from structopt.core.memory import Footprint, ProblemSizes
from structopt.core.objective import Objective
from structopt.core.optimizer import Earlier, Optimizer, Report
from structopt.core.optimizer_state import State, WrapperState, over_weights
from structopt.kernels.waist.record import Array
from structopt.learning.mixture import Mixture, PackedState
from structopt.learning.wrapped import Wrapped

ALONE = 1
"""Passes over the whole corpus before the first on shards: mixing from zero weights on is several
times as slow.
"""
DONE, MEAN = "passes_done", "mixed_mean"
"""Names of these values of a `MixedState`."""
LATER = 4
"""The mean of pass t counts about t to this power in `MEAN`: early passes are far from where later
ones lead.
"""


@dataclass(kw_only=True)
class MixedState(WrapperState):
    """The state of the optimizer, and the mean of its means.

    Attributes
    ----------
    passes_done : int
    mixed_mean : float64, shape (dimension,), or None
        The mean of the passes' means, which is returned if the mean of the iterates is asked for.
    """

    passes_done: int = 0
    mixed_mean: Array | None = over_weights(None)


class ShardPass(NamedTuple):
    """The result of a pass over a shard.

    Attributes
    ----------
    state : PackedState
    report : Report
    messages : float64 vector
        Of the shard's instances.
    mean : float64 vector or None
        The mean of the iterates of this pass, packed as the weights of the state are; None where
        the last one is returned.
    """

    state: PackedState
    report: Report
    messages: Array
    mean: Array | None = None


class ShardPasses(Protocol):
    """Passes of an optimizer over the shards of a problem, in this process or elsewhere.

    Attributes
    ----------
    problem : Objective
    """

    @property
    def problem(self) -> Objective:
        """The problem whose instances the shards hold."""

    @property
    def coordinates(self) -> Sequence[Array | None]:
        """Of the weights that may move, the numbers of those that each shard reads; None for
        all.
        """

    def run(self, packed: PackedState) -> Iterator[ShardPass]:
        """Make a pass on every shard from the same state; the results in the order of the
        shards.
        """


MakePasses = Callable[[Objective, Optimizer, int], ShardPasses]
"""Divides a problem into so many shards, for passes of an optimizer."""


class Mixed(Wrapped):
    """An online optimizer whose passes are made on the shards of the corpus, and the resulting
    states mixed.

    The first pass is one over the whole corpus. Every later one begins on all shards with the same
    state x; then

        x_j <- x_j + n_j^-3/4 sum_s (x_sj - x_j),

    x_s being the state after the pass over shard s, the sum over the n_j shards that read weight j
    and moved it or a statistic of it. Numbers are averaged over all shards. What is returned, where
    the optimizer returns a mean of its iterates, is a mean of the means M_t of the passes, mixed
    like the iterates, in which pass t counts about t^4 (Shamir and Zhang's, eta = 4):

        mean_t = mean_{t-1} + 5/(t + 4) (M_t - mean_{t-1}).

    With one shard the states are those of the optimizer alone, bit for bit.

    Parameters
    ----------
    optimizer : Optimizer
        One that is ``mixable``: its state is a point and statistics of the iterates, without dual
        variables of instances.
    shards : int
        S.
    make_passes : callable
        Divides a problem into so many shards, for passes of the optimizer.

    Notes
    -----
    McDonald, Hall and Mann (2010), "Distributed training strategies for the structured perceptron",
    Figure 3. Theirs has uniform mixture weights, by which a weight that only one shard moves moves
    1/S as far; no first pass over the whole corpus; and a mean in which all passes count alike.
    Shamir and Zhang (2013), "Stochastic gradient descent for non-smooth optimization", equation
    (4), for the mean.
    """

    state_type = MixedState

    def __init__(self, optimizer: Optimizer, shards: int, make_passes: MakePasses) -> None:
        super().__init__(optimizer)
        self.shards, self.make_passes = shards, make_passes
        self._passes: ShardPasses | None = None

    def footprint(self, sizes: ProblemSizes, loss: Loss) -> Footprint:
        """Bytes that the other one takes, and a state for every shard beside the mixture of
        them.
        """
        alone = self.optimizer.footprint(sizes, loss)
        mean = {"mean of the passes": sizes.weight_vector} if self.shards > 1 else {}
        return replace(
            alone,
            state={**alone.state, **mean},
            step=alone.step + (self.shards + 3) * sum(alone.state.values()),
        )

    def init(self, problem: Objective, weights: Array) -> MixedState:
        """Return the first state of the optimizer, for the whole problem."""
        return MixedState(inner=self._init(problem, weights))

    def continued(self, problem: Objective, earlier: Earlier) -> MixedState:
        """Return the state in which the optimizer goes on, over shards at once where there were
        passes before.
        """
        done = earlier.state.get(DONE, earlier.state["epoch"])
        inner = self.optimizer.continued(problem, earlier)
        return MixedState(inner=inner, passes_done=done, mixed_mean=earlier.state.get(MEAN))

    def step(self, problem: Objective, state: MixedState) -> tuple[MixedState, Report]:
        """Make one pass: the first over the whole corpus, each later one on every shard, with the
        states mixed afterwards.
        """
        inner, done, mean = state.inner, state.passes_done, state.mixed_mean
        if done >= ALONE:
            inner, report, latest = self._mixed(problem, inner)
        else:
            inner, report = self._step(problem, inner)
            latest = (
                self.optimizer.weights(inner).copy()
                if self.shards > 1 and self.optimizer.averaged(inner)
                else None
            )
        if latest is not None:
            share = (LATER + 1) / (done + 1 + LATER)
            mean = latest if mean is None else mean + share * (latest - mean)
        return MixedState(inner=inner, passes_done=done + 1, mixed_mean=mean), report

    def weights(self, state: MixedState) -> Array:
        """Return the mean of the passes, or the weights that the optimizer has at its state."""
        mean: Array | None = state.mixed_mean
        return self.optimizer.weights(state.inner) if mean is None else mean

    def _mixed(self, problem: Objective, state: State) -> tuple[State, Report, Array | None]:
        if self._passes is None or self._passes.problem is not problem:
            self._passes = self.make_passes(problem, self.optimizer, self.shards)
        start = PackedState.of(state, problem.scorer, self.optimizer.names("weights"))
        reports, mixture = [], Mixture(start, problem.scorer)
        for passed, coordinates in zip(
            self._passes.run(start), self._passes.coordinates, strict=True
        ):
            mixture.add(passed.state, passed.mean, coordinates)
            reports.append(passed.report)
        state = self.optimizer.restored(mixture.state())
        return state, _summed(reports), mixture.mean()


def _summed(reports: Sequence[Report]) -> Report:
    """Return the report of all shards, which sums their losses."""
    return Report(
        loss=sum(report.loss for report in reports),
        negative_losses=sum(report.negative_losses for report in reports),
    )


def shards_of(executor: Executor, optimizer: Optimizer) -> int:
    """Return into how many shards the passes of an optimizer are divided; 0 where they are not."""
    return executor.mixing if optimizer.plan.mixable or optimizer.plan.additive else 0
