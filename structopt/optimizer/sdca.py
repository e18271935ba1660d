"""Stochastic dual coordinate ascent on the dual of the whole loss family."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from structopt.core import checks
from structopt.core.ability import Ability
from structopt.core.data import ranges
from structopt.core.factor_graph import FactorGraph
from structopt.core.loss import Loss
from structopt.core.memory import Footprint, ProblemSizes
from structopt.core.needs import DUAL, Needs
from structopt.core.objective import Objective
from structopt.core.optimizer import Earlier, Optimizer, Plan, Report
from structopt.core.optimizer_state import absent, lasting, over_instances
from structopt.errors import ConfigError
from structopt.kernels.waist.record import Array
from structopt.learning.averaging import (
    LagState,
    empty_mean,
    linear_weight,
    mean_by_lag,
    weights_and_mean,
)
from structopt.learning.kept_duals import restore_duals
from structopt.learning.part_duals import weights_at

SAME = 1e-6
"""Difference from theta, relative to its largest number, up to which dual variables are its own."""
OTHER_INSTANCES = (
    "warm_start.state=all: the dual variables of that state are not those of the first instances "
    "of these data. Give all "
    "instances that it has seen, in the same order, and new ones after them; or the new ones "
    "alone, with warm_start.state=new."
)


@dataclass(kw_only=True)
class DualState(LagState):
    """Dual variables of all instances, and their weights.

    Attributes
    ----------
    lag_value : float
        What `lag` is to the weights, to the entropies and costs of the dual points.
    others : bool or None
        Whether theta has a share of instances that the problem does not hold.
    duals : float64, shape (parts,)
        z_bar_i of all instances.
    instances : float64, shape (3, instances)
        Gap, entropy and cost of each.
    kept_parts, kept_values : int32 and float64, shape (slots,)
        Active parts of kept outputs.
    kept_counts, kept_masses : int64 and float64, shape (instances * planes,)
    kept_rooms : int64, shape (instances + 1,)
        Begins of the slots of instances.
    """

    lag_value: float = lasting(0.0)
    others: bool = absent()
    duals: Array = over_instances()
    instances: Array = over_instances(rows=3)
    kept_parts: Array = over_instances()
    kept_values: Array = over_instances()
    kept_counts: Array = over_instances()
    kept_masses: Array = over_instances()
    kept_rooms: Array = over_instances()


class SDCA(Optimizer):
    """Exact line searches on the dual, one instance at a time: no learning rate, and a certificate
    after every pass.

        z' = argmax (s_i + gamma p_i)^T z' + H(z')/beta,     d = z' - z_bar_i
        tau = argmax_{0 <= tau <= 1} D(.., z_bar_i + tau d, ..)
        z_bar_i <- z_bar_i + tau d,      theta <- theta - C tau F_i d      so that theta = C sum_i
        F_i (z_i - z_bar_i)

    Every theta belongs to a dual point, whose value D is a lower bound on the least objective:
    training can stop at a `tolerance`. At beta < inf with a graph whose entropy has a closed form
    in its marginals (chains), tau is found by Newton steps
    (`structopt.kernels.learn.sdca`), and convergence is linear. On other graphs a number below the
    entropy is used instead of it (slow at large C). At beta = inf this is block-coordinate
    Frank-Wolfe (`structopt.kernels.learn.block_frank_wolfe`). A visit costs one inference and
    O(nnz).

    Parameters
    ----------
    average : bool
        Return the mean of the iterates (after each update), weighted by the number of the visit,
        instead of the last one. The bound is then the larger of the two. With planes=0 the
        objective of the mean varies less from pass to pass; else the last iterate has the lower
        one.
    sampling : str
        ``uniform`` (a random order of all instances), or ``gap``: after the first pass the
        instances of four in five visits are drawn in proportion to the gap at their last visit.
    entropy : str
        At beta < inf: ``closed`` (the closed form, where the graph has one), or ``hypograph`` (a
        number below the entropy).
    planes : int
        At beta = inf: answers kept for each instance, between which mass moves after the exact step
        without further inference; 0 is plain block-coordinate Frank-Wolfe.

    Settings
    --------
    epochs
        Passes over the data, of as many visits as there are instances.

    Training goes on from an earlier state with all its instances and more: their dual variables are
    kept, and the new instances begin at their gold outputs, which is a dual point of the larger
    problem. With new instances alone, theta keeps the share of the earlier ones, whose losses count
    as the planes that their last dual variables are: there is no certificate then.

    Notes
    -----
    Shalev-Shwartz and Zhang (2013); Le Priol, Piche and Lacoste-Julien (2018) for CRFs;
    Lacoste-Julien et al. (2013) for block-coordinate Frank-Wolfe and the weights of the average;
    Shah et al. (2015) for kept answers; Osokin et al. (2016) for sampling by gaps and steps between
    two vertices. The dual is that of Martins et al. (2010), for every member of the family.
    """

    state_type = DualState

    def __init__(
        self,
        average: bool = False,
        sampling: Literal["uniform", "gap"] = "uniform",
        entropy: Literal["closed", "hypograph"] = "closed",
        planes: int = 10,
    ) -> None:
        ranges.check_at_least("planes", planes, 0)
        self.average, self.sampling, self.entropy, self.planes = average, sampling, entropy, planes

    def needs(self, loss: Loss, graph: FactorGraph) -> Needs:
        """A dual of the loss; for line searches on an entropy in closed form, parts of their own
        for every factor.
        """
        closed = loss.temperature > 0 and graph.traits.closed_forms and self.entropy == "closed"
        return Needs(Ability.CONVEX, DUAL, positional=closed)

    @property
    def plan(self) -> Plan:
        """Passes that keep dual variables of every instance."""
        modules = (
            "structopt.kernels.learn.sdca",
            "structopt.kernels.learn.block_frank_wolfe",
            "structopt.kernels.arrays.sampling",
        )
        return Plan(
            converges=True,
            additive=True,
            divisible=True,
            kernel_modules=modules,
            bound="",
        )

    def footprint(self, sizes: ProblemSizes, loss: Loss) -> Footprint:
        """Beside the weights and their mean, dual variables of all parts and the outputs kept."""
        planes = self.planes if loss.temperature == 0 else 0
        state = weights_and_mean(sizes, self.average) | {"dual variables": sizes.part_vector}
        kept = planes * (12 * sizes.gold_parts + 16 * sizes.instances)
        state |= {"kept outputs": kept, "numbers of the instances": 32 * sizes.instances}
        return Footprint(state, mapped=("dual variables", "kept outputs"))

    def init(self, problem: Objective, weights: Array) -> DualState:
        """Start from the gold outputs, a dual point whose weights are zero; refuse other weights,
        which have no dual point.
        """
        checks.check_vector("weights", weights, problem.dimension, writable=False)
        if weights.any():
            raise ConfigError(
                "starts from a dual point, and given weights have none: it cannot take up "
                "warm_start.",
                parameter="optimizer",
                value="sdca",
                remedy="Leave warm_start=null, or take an optimizer that starts from "
                "weights: lbfgs, sgd, adagrad or dca.",
            )
        from structopt.kernels.learn.sdca import gold_pass

        duals = problem.part_vector("the dual variables")
        problem.run(gold_pass, duals)
        return DualState(
            theta=np.zeros(problem.dimension),
            lag=empty_mean(problem, self.average),
            duals=duals,
            instances=np.zeros((3, problem.m)),
            **self._kept(problem, duals),
        )

    def continued(self, problem: Objective, earlier: Earlier) -> DualState:
        """Keep the dual variables of instances that are here again; others begin at their gold
        outputs.

        Raises
        ------
        ConfigError
            If the first instances are not those whose dual variables these are, since theta does
            not follow from them.
        """
        state = self.init(problem, np.zeros(problem.dimension))
        state = replace(state, **self._lasting(earlier))
        if not earlier.kept:
            return self._beside_others(problem, state)
        gold = state.duals.copy()
        restore_duals(problem, state, earlier)
        return self._grown(problem, state, weights_at(problem, state.duals - gold))

    def _beside_others(self, problem: Objective, state: DualState) -> DualState:
        """The state over new instances, beside which theta has a share of others."""
        if not problem.before:
            raise ConfigError(OTHER_INSTANCES)
        return replace(state, others=True)

    def _grown(self, problem: Objective, state: DualState, image: Array) -> DualState:
        """The state with theta the `image` of the dual variables, or a refusal where they are of
        other instances.

        Weights that could not move before, of attributes that new instances show with further
        labels, are zero in theta and not in the image, since the earlier dual variables have mass
        at those labels. The mean of the iterates then begins anew.
        """
        theta = state.theta
        off = np.abs(image - theta) > SAME * max(1.0, np.abs(theta).max(initial=0.0))
        if (off & (theta != 0.0)).any():
            raise ConfigError(OTHER_INSTANCES)
        if not off.any():
            return state
        grown = np.where(theta == 0.0, image, theta)
        lag = empty_mean(problem, self.average)
        return replace(state, theta=grown, lag=lag, lag_value=0.0, visits=0.0)

    def _kept(self, problem: Objective, duals: Array) -> dict[str, Any]:
        """Return the arrays of kept vertices: slots for as many parts as the gold output has
        active, counted with repeats.
        """
        from structopt.kernels.learn.block_frank_wolfe import keep_gold_pass
        from structopt.kernels.waist.target import TARGET

        K, zeros = self.planes if problem.loss.temperature == 0 else 0, problem.storage.zeros
        gold = TARGET.open(problem.data.target)
        active = np.diff(np.append(0.0, np.cumsum(gold.gold_values))[gold.gold_offsets])
        rooms = np.cumsum([0, *(K * active.astype(np.int64))])
        kept: dict[str, Any] = {
            "kept_parts": zeros(int(rooms[-1]), np.int32),
            "kept_values": zeros(int(rooms[-1])),
            "kept_counts": zeros(K * problem.m, np.int64),
            "kept_masses": zeros(K * problem.m),
            "kept_rooms": rooms,
        }
        if K > 0:
            parts, values, counts, masses, _ = kept.values()
            problem.run(keep_gold_pass, parts, values, counts, masses, rooms, duals)
        return kept

    def step(self, problem: Objective, state: DualState) -> tuple[DualState, Report]:
        """One pass, or a window of one: as many visits as there are instances."""
        from structopt.kernels.learn.block_frank_wolfe import block_frank_wolfe_pass
        from structopt.kernels.learn.sdca import sdca_pass

        totals, visits = np.zeros(5), state.visits
        gaps, entropies, costs = state.instances
        point = state.theta, state.lag, state.duals, gaps, entropies, costs
        draws = self._draws(problem, state)
        if (
            problem.loss.temperature > 0
            and problem.calculus is not None
            and self.entropy == "closed"
        ):
            problem.run(sdca_pass, *draws, *point, problem.C, visits, totals)
        else:
            kept = _kept(state)
            problem.run(block_frank_wolfe_pass, *draws, *point, *kept, problem.C, visits, totals)
        state.visits += float(len(draws[0]))
        state.lag_value += float(totals[1])
        state.epoch += 1
        return state, Report(loss=float(totals[0]), dual=self.dual(problem, state))

    def share(
        self, problem: Objective, state: DualState, bounds: tuple[int, int]
    ) -> dict[str, Any]:
        """The dual variables of some instances, and the outputs kept of them."""
        first, last = bounds
        parts, rooms = problem.structure.parts, state.kept_rooms
        K = len(state.kept_counts) // problem.m
        spans = {
            "duals": (parts[first], parts[last]),
            "instances": bounds,
            "kept_parts": (rooms[first], rooms[last]),
            "kept_values": (rooms[first], rooms[last]),
            "kept_counts": (K * first, K * last),
            "kept_masses": (K * first, K * last),
        }
        cut = {name: getattr(state, name)[..., a:b] for name, (a, b) in spans.items()}
        return cut | {"kept_rooms": rooms[first : last + 1] - rooms[first]}

    def united(self, state: DualState, shares: Sequence[Mapping[str, Any]]) -> DualState:
        """Lay the dual variables of all instances side by side again; visits count as those of one
        shard, the mean one.
        """
        others = len(shares) - 1
        sides = [name for name in self.names("instances") if name != "kept_rooms"]
        joined: dict[str, Any] = {
            name: np.concatenate([one[name] for one in shares], axis=-1) for name in sides
        }
        return replace(
            state,
            visits=sum(one["visits"] for one in shares) / len(shares),
            lag_value=sum(one["lag_value"] for one in shares) - others * state.lag_value,
            epoch=state.epoch + 1,
            **joined,
        )

    def _draws(self, problem: Objective, state: DualState) -> tuple[Array, Array, Array]:
        """Return which instances the visits of a step take: their numbers (-1: by the gaps),
        uniform numbers, and a sum tree.

        The tree has the gaps of the instances of the step alone.
        """
        from structopt.kernels.arrays.sampling import build

        epoch, m = state.epoch, problem.m
        instances = problem.order(epoch)
        if self.sampling == "uniform" or epoch < problem.steps:
            return instances, np.zeros(0), np.zeros(0)
        generator, count = np.random.default_rng([problem.seed, epoch, 1]), len(instances)
        instances.sort()
        order = np.where(
            generator.random(count) < 0.2, instances[generator.integers(0, count, count)], -1
        )
        tree, gaps = np.zeros(2 << max(0, m - 1).bit_length()), np.zeros(m)
        gaps[instances] = state.instances[0, instances]
        build(tree, gaps)
        return order, generator.random(count), tree

    def dual(self, problem: Objective, state: DualState) -> float | None:
        """Return the larger of D at the dual point and a lower bound of D at the averaged one, the
        entropy being concave.

        None where theta has a share of other instances, whose part of D is not known.
        """
        if state.others:
            return None
        total = float(state.instances[1:].sum())
        dual = float(total / problem.m - problem.ridge(state.theta))
        if not len(state.lag):
            return dual
        mean = total - state.lag_value / linear_weight(state.visits)
        averaged = float(mean / problem.m - problem.ridge(self.weights(state)))
        return max(dual, averaged)

    def weights(self, state: DualState) -> Array:
        """Return theta, or the mean of the iterates with weights t."""
        return mean_by_lag(state, linear_weight(state.visits))


def _kept(state: DualState) -> tuple[Array, Array, Array, Array, Array]:
    """View the kept vertices in the order in which drivers take them."""
    return (
        state.kept_parts,
        state.kept_values,
        state.kept_counts,
        state.kept_masses,
        state.kept_rooms,
    )
