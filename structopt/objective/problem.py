"""The room where all kinds of component meet: a corpus, its graphs, features, costs, loss and inference as one objective."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from structopt.config import registry
from structopt.core.certificate import Certificate
from structopt.core.data.encoded import Encoded
from structopt.core.data.sparse_vectors import SparseVectors
from structopt.core.data.targets import Targets
from structopt.core.executor import Executor, Placement
from structopt.core.factor_graph import Calculus, FactorGraph
from structopt.core.inference import Inference
from structopt.core.loss import Loss
from structopt.core.memory import refuse_what_does_not_fit
from structopt.core.optimizer import Plan
from structopt.core.scorer import SparseFeatures
from structopt.errors import ConfigError
from structopt.kernels.waist.record import Array
from structopt.kernels.waist.signatures import Data, Space
from structopt.objective import scoring
from structopt.objective.drivers import compose, run_driver
from structopt.objective.examples import Examples, Layout, target_of
from structopt.objective.fingerprint import Fingerprint, arrays_in, digest_of
from structopt.objective.gradient_shards import Piece, Recipe

PLAIN = Plan()












class Problem:
    """P(theta) = lambda/2 ||theta||^2 + (1/m) sum_i L_i(theta), with lambda = 1/(C m).

    Parameters
    ----------
    examples : Examples
        The training corpus, m instances.
    targets : Targets
        Gold outputs, or sets of allowed outputs; with sets P is not convex.
    cost : SparseVectors
        Costs p_i over the parts.
    loss : Loss
    inference : Inference
        By which optimizers step. P and its gradient are computed by what it comes to: see `converged`.
    C : float
        1/(lambda m).
    seed : int
        Seed of the order of the instances.
    variant : str
        Which residual the optimizer steps by; handed to the loss.
    calculus : Calculus or None
        Closed forms of the structures' marginals, where they are positional and the graph knows them.
    executor : Executor or None
        For batch work; None does it in this thread.
    judge : callable or None
        Weights to a score, higher is better, by which optimizers choose what they were told to choose; None takes -P.
    penalty : str
        The regulariser of P: ``l2`` (lambda/2 ||theta||^2) or ``l1`` (lambda ||theta||_1).
    rounding : kernel or None
        The graph's, which makes an output of fractional marginals.
    """

    def __init__(
        self,
        examples: Examples,
        targets: Targets,
        cost: SparseVectors,
        loss: Loss,
        inference: Inference,
        C: float,
        seed: int = 0,
        variant: str = "max_loss",
        calculus: Calculus | None = None,
        executor: Executor | None = None,
        judge: Callable[[Array], float] | None = None,
        penalty: str = "l2",
        rounding: Any = None,
    ) -> None:
        self.penalty = penalty
        self.examples, self.loss, self.C, self.seed, self.calculus = examples, loss, C, seed, calculus
        self.structure, self.scorer = examples.structure, examples.scorer
        self.m, self.dimension = len(examples), examples.scorer.dimension
        self.targets, self.cost, self.inference, self.variant = targets, cost, inference, variant
        target = target_of(targets, cost)
        self.data = examples.data(target, loss.parameters())
        features = scoring.kernels_of(examples.scorer)
        solver = inference.kernels(self.structure.kind)
        self.kernels = compose(features, solver, loss.kernel(variant), calculus, rounding)
        self._converged, self._reported, self._objective_data = inference.converged(self.structure), examples, self.data
        if self._converged is not inference:
            solver, self._reported = self._converged.kernels(self.structure.kind), examples.solved_by(self._converged)
            self._objective_data = self._reported.data(target, loss.parameters())
        self.objective_kernels = compose(features, solver, loss.kernel(), calculus, rounding)
        self.executor = executor or registry.serial()
        self._given = judge, rounding
        self.judge = judge or (lambda weights: -self.objective(weights))
        self._spaces: deque[Space] = deque()  # scratch that no thread is using
        self._placed: Placed | None = None
        _check_gold(examples)
        self._check_sets()

    def with_loss(self, loss: Loss) -> Problem:
        """The same corpus with another loss, whose costs are the same; both share the messages of the inference."""
        judge, rounding = self._given
        other = Problem(
            self.examples, self.targets, self.cost, loss, self.inference, self.C, self.seed, self.variant, self.calculus,
            self.executor, judge, self.penalty, rounding,
        )  # fmt: skip
        shared = other.data._replace(messages=self.data.messages)
        other._objective_data = shared if other._objective_data is other.data else other._objective_data
        other.data = shared
        return other

    @classmethod
    def of(
        cls,
        encoded: Encoded,
        graph: FactorGraph,
        loss: Loss,
        inference: Inference,
        features: Layout,
        C: float,
        seed: int = 0,
        plan: Plan = PLAIN,
        positional: bool = False,
        executor: Executor | None = None,
        judge: Callable[[Array], float] | None = None,
    ) -> Problem:
        """Build graphs, gold parts, features and costs of an encoded training corpus, and put them together with the components.

        Parameters
        ----------
        encoded : Encoded
            As the graph admits it.
        graph, loss, inference : components
        features : callable
            Lays out the weights, given the corpus, its graphs and its gold parts.
        C, seed, executor, judge
            As of `Problem`.
        plan : Plan
            The optimizer's: which residual it steps by, and the regulariser.
        positional : bool
            Whether every factor has parts of its own (the optimizer's `Needs`).
        """
        assert encoded.gold is not None
        structure = inference.prepare(graph.build(encoded, positional))
        targets = graph.targets(encoded, structure)
        seen = targets.possible(structure.parts) if targets.sets.any() else targets.points
        scorer = features(encoded, structure, seen)
        graphs = partial(graph.build, positional=positional)
        examples = Examples(encoded, structure, scoring.record_of(scorer, encoded, structure), scorer, graphs)
        costs = loss.variable_costs(encoded.labels, encoded.gold, np.diff(encoded.offsets))
        cost = graph.cost(encoded, structure, costs, loss.role, targets.points)
        calculus = graph.calculus if positional else None
        rest = plan.variant, calculus, executor, judge, plan.penalty, graph.rounding
        return cls(examples, targets, cost, loss, inference, C, seed, *rest)

    def _check_sets(self) -> None:
        """Refuse a training instance that no output agrees with."""
        from structopt.kernels.waist.passes import target_pass

        if not self.targets.sets.any():
            return
        empty = int(run_driver(target_pass, self.objective_kernels, self._objective_data, self._reported.space(False), 0, self.m))
        if empty < self.m:
            raise ConfigError(
                f"Training instance {empty + 1} has partial labels that no output agrees with. Correct them, or leave the hard "
                "constraints out (task.valid_tags=false; factor_graph.single_root=false, factor_graph.projective=false of trees)."
            )

    @property
    def convex(self) -> bool:
        """Whether P is convex: the loss is, scores are linear in the weights, and all gold outputs are known in full."""
        return self.loss.convex and self.sparse and not self.targets.sets.any()

    @property
    def regularization(self) -> float:
        """lambda = 1/(C m)."""
        return 1.0 / (self.C * self.m)

    @property
    def sparse(self) -> bool:
        """Whether scores are linear in the weights, with kernels for compiled passes."""
        return isinstance(self.scorer, SparseFeatures)

    @cached_property
    def space(self) -> Space:
        """Scratch of the optimizer's thread."""
        return self.examples.space()

    def run(self, driver: Any, *arguments: Any) -> Any:
        """Call an optimizer's driver on this problem's kernels and data, in this thread."""
        return run_driver(driver, self.kernels, self.data, self.space, *arguments)

    @property
    def messages(self) -> Array:
        """What the inference keeps between visits, of all instances; empty where it is stateless. Checkpoints hold it."""
        return self.data.messages

    @cached_property
    def fingerprint(self) -> Fingerprint:
        """Digest and layout of everything that the kernels read: the same for equal data, graphs and features."""
        values, arrays = scoring.stored(self.scorer)
        layout = {"block": values.pop("name"), **values}  # as version 0.1.0 called it, whose checkpoints can be gone on from
        read = [] if self.sparse else arrays_in(self.examples.encoded)
        records = [buffer for record in (self.data.features, self.data.structure, self.data.target) for buffer in record]
        offsets = [self.examples.encoded.offsets, self.structure.parts, self.structure.memory]
        sizes = {
            "instances": self.m, "variables": int(self.examples.encoded.offsets[-1]), "parts": int(self.structure.parts[-1]),
            "messages": len(self.messages), "weights": self.dimension,
        }  # fmt: skip
        return Fingerprint(digest_of([*records, *offsets, *arrays.values(), *read], layout), sizes)

    def order(self, epoch: int) -> Array:
        """Order of the instances in a pass: a permutation that depends on the seed and the pass alone."""
        return np.random.default_rng([self.seed, epoch]).permutation(self.m)

    def part_vector(self, name: str) -> Array:
        """Return zeros over the parts of all instances, or raise `ConfigError` where they do not fit into memory."""
        parts, advice = int(self.structure.parts[-1]), "take an optimizer without dual variables: dca, sgd or lbfgs."
        refuse_what_does_not_fit(8 * parts, f"optimizer: {name} of all {self.m} instances", f"Set task.limit, or {advice}")
        return np.zeros(parts)

    def minibatch(self, weights: Array, instances: Array) -> tuple[float, Array]:
        """Sum of L_i of some instances at the given weights, as the optimizer steps, and its (sub)gradient, shape (dimension,).

        Between scores and gradient runs one compiled pass over the instances, whatever the scorer.
        """
        from structopt.kernels.waist.passes import minibatch_pass

        scores = self.examples.scores(weights, instances)
        residuals = np.zeros(len(scores))
        losses = self.run(minibatch_pass, instances, scores, residuals)
        return float(losses), scoring.gradient_of(self.scorer, weights, self.examples.prepared, instances, residuals)

    def losses(self, weights: Array) -> float:
        """Sum of L_i at the given weights."""
        from structopt.kernels.waist.passes import loss_pass

        return float(sum(self._over_shards(loss_pass, self._objective_data, weights)))

    def objective(self, weights: Array) -> float:
        """P(theta) at the given weights."""
        return self.regularizer(weights) + self.losses(weights) / self.m

    def regularizer(self, weights: Array) -> float:
        """lambda/2 ||theta||^2, or lambda ||theta||_1 with penalty l1."""
        return self.regularization * float(np.abs(weights).sum()) if self.penalty == "l1" else self.ridge(weights)

    def ridge(self, weights: Array) -> float:
        """lambda/2 ||theta||^2."""
        return self.regularization / 2 * float(weights @ weights)

    def gradient(self, weights: Array, out: Array | None = None) -> tuple[float, Array]:
        """Sum of L_i at the given weights, and its (sub)gradient sum_i F_i (z_bar_i - z_i), written to `out` if given.

        Weights go out to the shards, and their sums are added up in the order of the shards: the bits are the same whichever
        executor there is.
        """
        placed, losses, sums = self._shards(), 0.0, np.zeros(self.scorer.count)
        found = placed.placement.call("gradient", self.scorer.compress(weights))
        for bounds, places, one in zip(placed.bounds, placed.coordinates, found, strict=True):
            losses += one.losses
            _add(one.gradient, places, sums)
            self._remember(bounds, one.messages)
        return losses, self.scorer.expand(sums, np.empty(self.dimension) if out is None else out)

    def sum_gradients(self, residuals: Array, out: Array) -> None:
        """Fill `out` with sum_i F_i r_i, given residuals over the parts of all instances; on all the executor's workers."""
        placed, sums, parts = self._shards(), np.zeros(self.scorer.count), self.structure.parts
        found = placed.placement.call("pullback", each=[residuals[parts[a] : parts[b]] for a, b in placed.bounds])
        for places, one in zip(placed.coordinates, found, strict=True):
            _add(one, places, sums)
        self.scorer.expand(sums, out)

    def certificate(self, weights: Array) -> Certificate:
        """P at the given weights, and the best lower bound on its minimum that one evaluation gives.

        With z_bar_i the inference's answers at theta and g = (1/m) sum_i F_i (z_bar_i - z_i), the points
        z_i + t (z_bar_i - z_i) are feasible for the dual and, the entropy being concave,

            D(t) >= t ((1/m) sum_i L_i(theta) - theta^T g) - t^2 ||g||^2 / (2 lambda),   0 <= t <= 1.

        At t = 1 the gap P - D is ||lambda theta + g||^2 / (2 lambda): the squared norm of the (sub)gradient of P. It
        certifies only if the inference is exact or an upper bound.
        """
        losses, g = self.gradient(weights)
        bound = self.bound((losses - float(weights @ g)) / self.m, float(g @ g) / self.m**2)
        return Certificate(self.ridge(weights) + losses / self.m, bound)

    def bound(self, slope: float, norm: float) -> float:
        """max over 0 <= t <= 1 of t * slope - t^2 * norm / (2 lambda): see `certificate`."""
        t = min(1.0, max(0.0, slope * self.regularization / norm)) if norm > 0 else 1.0
        return t * slope - t * t * norm / (2 * self.regularization)

    def pieces(self, bounds: Sequence[tuple[int, int]]) -> list[Any]:
        """The instances of some ranges, as shards are made of them."""
        if len(bounds) == 1:
            return [Piece(self.examples.encoded, self.targets, self.cost)]
        return [Piece(self.examples.encoded.subset(*b), self.targets.subset(*b), self.cost.subset(*b)) for b in bounds]

    def recipe(self, inference: Inference) -> Any:
        """What all shards have in common, at an inference: this problem's, or the one by which P is reported."""
        whole = self._reported if inference is self._converged else self.examples
        return Recipe(self.examples.graphs or (lambda encoded: whole.structure), self.scorer, self.loss, inference)

    def _shards(self) -> Placed:
        """The shards of the corpus, placed at the first call; one shard, where nothing tells how to build the graphs of some."""
        if self._placed is None or self._placed.executor is not self.executor:
            bounds = self.examples.shards(self.executor.shards if self.examples.graphs else 1)
            placement = self.executor.place(self.recipe(self._converged), self.pieces(bounds))
            own = [one if one is None or one.flags.writeable else one.copy() for one in placement.call("coordinates")]
            self._placed = Placed(self.executor, placement, bounds, own)
        return self._placed

    def _remember(self, bounds: tuple[int, int], messages: Array) -> None:
        """Take what the inference left in the memory of some instances, where it is the one that steps."""
        if len(messages) and self._reported is self.examples:
            first, last = self.structure.memory[list(bounds)]
            self.data.messages[first:last] = messages

    def _over_shards(self, driver: Any, data: Data, weights: Array) -> list[Any]:
        """Run a driver over ranges of instances, at the loss that is reported; results in the order of the ranges."""

        def shard(bounds: tuple[int, int]) -> Any:
            try:
                space = self._spaces.pop()
            except IndexError:
                space = self._reported.space()
            own, theta = self._reported.scored(data, weights, bounds)
            result = run_driver(driver, self.objective_kernels, own, space, *bounds, theta)
            self._spaces.append(space)
            return result

        return self.executor.map(shard, self.examples.shards(self.executor.shards))


class Placed(NamedTuple):
    """Where the shards of a corpus are.

    Attributes
    ----------
    executor : Executor
    placement : Placement
    bounds : list of (first, last)
        The instances of each shard.
    coordinates : list of int64 vector or None
        The weights that each has to do with, numbered among those that may move; None for all.
    """

    executor: Executor
    placement: Placement
    bounds: list[tuple[int, int]]
    coordinates: list[Array | None]


def _add(values: Array, places: Array | None, sums: Array) -> None:
    """Add up the gradient of a shard."""
    from structopt.kernels.arrays.coordinates import add

    if places is None:
        sums += values
    else:
        add(values, places, sums)


def _check_gold(examples: Examples) -> None:
    """Refuse a training corpus whose gold outputs break the hard constraints."""
    encoded = examples.encoded
    if encoded.gold is None or encoded.gold_sets is not None:
        return
    if not (encoded.forbidden_transitions or encoded.forbidden_starts or encoded.forbidden_ends):
        return
    L, y = len(encoded.labels), encoded.gold
    first, last = encoded.offsets[:-1], encoded.offsets[1:] - 1
    inside = np.setdiff1d(np.arange(1, len(y)), first)
    pairs = np.isin(y[inside - 1].astype(np.int64) * L + y[inside], [u * L + v for u, v in encoded.forbidden_transitions])
    broken = np.concatenate([
        inside[pairs], first[np.isin(y[first], encoded.forbidden_starts)], last[np.isin(y[last], encoded.forbidden_ends)]
    ])  # fmt: skip
    if len(broken):
        sentence = int(np.searchsorted(encoded.offsets, broken.min(), side="right"))
        raise ConfigError(
            f"The gold output of training instance {sentence} has a label sequence that the constraints forbid. "
            "Leave task.valid_tags=false, or check task.scheme."
        )
