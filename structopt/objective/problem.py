"""P and its gradient over a training corpus: where corpus, graphs, features, costs, loss and
inference meet.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Self, cast

import numpy as np

from structopt.core import checks
from structopt.core.data.encoded import Encoded
from structopt.core.data.encoded_checks import check_encoded
from structopt.core.data.sparse_vectors import SparseVectors
from structopt.core.data.targets import Targets
from structopt.core.executor import Executor, in_order
from structopt.core.factor_graph import FactorGraph
from structopt.core.inference import Inference
from structopt.core.loss import MAX_LOSS, Loss
from structopt.core.memory import refuse_what_does_not_fit
from structopt.core.objective import Certificate
from structopt.core.optimizer import Optimizer
from structopt.core.scorer import SparseFeatures
from structopt.core.storage.arrays import Storage
from structopt.core.weights.penalty import RIDGE, Penalty
from structopt.errors import ArgumentError
from structopt.executor.serial import Serial
from structopt.kernels.waist.drivers import Driver, P, Result
from structopt.kernels.waist.interruptible import run_driver
from structopt.kernels.waist.record import Array
from structopt.kernels.waist.signatures import Data, Kernels, Space
from structopt.learning.visits import SHUFFLED, VisitOrder, windows_of_pass
from structopt.objective import scoring
from structopt.objective.array_losses import kernel_of
from structopt.objective.drivers import GraphKernels, compose, with_lists
from structopt.objective.dual_bound import dual_bound
from structopt.objective.examples import Examples, Layout, target_of
from structopt.objective.fingerprint import Fingerprint, arrays_in, digest_of
from structopt.objective.gold_and_costs import gold_and_costs, gold_and_costs_of_some
from structopt.objective.gold_checks import check_gold, refuse_empty_set
from structopt.objective.gradient_shards import GradientShards, ShardData, ShardRecipe


@dataclass(frozen=True)
class Settings:
    """Numbers and names of a training problem.

    Attributes
    ----------
    C : float
        1/(lambda m).
    seed : int
        Of the order of the instances.
    variant : str
        Which residual the optimizer steps by; handed to the loss.
    penalty : Penalty
        The regulariser of P, in units of lambda.
    regularization : float or None
        lambda, of problems that are a shard of a larger one; None: 1/(C (before + m)).
    before : float
        Instances beside these by which rates go: seen before, by a run that goes on, or held by the
        other shards of a whole.
    visits : VisitOrder
        Of the instances in a pass.
    divided : bool
        Whether a step of the optimizer (`Plan.divisible`) visits a window of a pass, and not all of
        them.
    """

    C: float
    seed: int = 0
    variant: str = "max_loss"
    penalty: Penalty = RIDGE
    regularization: float | None = None
    before: float = 0.0
    visits: VisitOrder = SHUFFLED
    divided: bool = False

    @classmethod
    def of(
        cls,
        optimizer: Optimizer,
        C: float,
        penalty: Penalty,
        seed: int,
        before: float = 0.0,
        visits: VisitOrder = SHUFFLED,
        divided: bool = False,
    ) -> Settings:
        """The settings of a problem on which an optimizer steps, as its plan asks for."""
        plan = optimizer.plan
        return cls(
            C,
            seed,
            plan.variant,
            penalty,
            before=before,
            visits=visits,
            divided=divided and plan.divisible,
        )


class Problem:
    """P(theta) = R(theta) + (1/m) sum_i L_i(theta); R is lambda/2 ||theta||^2 or another `Penalty`.

    lambda = 1/(C m), or 1/(C (before + m)) after other instances.

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
        By which optimizers step. P and its gradient are computed by the inference that it converges
        to (`Inference.converged`).
    settings : Settings
    graph_kernels : callable
        Gives the graph's closed forms and rounding; it can be sent to other processes, unlike the
        kernels themselves.
    executor : Executor or None
        For batch work; None does it in this thread.
    judge : callable or None
        Weights to a score, higher is better, by which optimizers compare trials; None takes -P.

    Methods refuse weights of another length, type or layout by an `ArgumentError`. NaN and infinite
    weights give an objective that is not finite, which runs report as a `NumericalError`.

    Raises
    ------
    InfeasibleError
        If a gold output breaks the hard constraints, or no output agrees with the partial labels of
        an instance.
    """

    def __init__(
        self,
        examples: Examples,
        targets: Targets,
        cost: SparseVectors,
        loss: Loss,
        inference: Inference,
        settings: Settings,
        graph_kernels: Callable[[], GraphKernels] = GraphKernels,
        executor: Executor | None = None,
        judge: Callable[[Array], float] | None = None,
    ) -> None:
        self.examples, self.targets, self.cost, self.loss, self.inference = (
            examples,
            targets,
            cost,
            loss,
            inference,
        )
        self.settings, self.C, self.seed = settings, settings.C, settings.seed
        self.structure, self.scorer = examples.structure, examples.scorer
        self.m, self.dimension = len(examples), examples.scorer.dimension
        self.executor, self.calculus = executor or Serial(), graph_kernels().calculus
        self.graph_kernels, self._judge = graph_kernels, judge
        self.judge = judge or (lambda weights: -self.objective(weights))
        self._compose()
        self._spaces: deque[Space] = deque()  # scratch that no thread is using
        self._helpers: list[Space] = []  # scratch of the threads that help the optimizer's
        self._shards: GradientShards | None = None
        check_gold(examples.encoded, examples.instance)
        self._check_sets()

    def _compose(self) -> None:
        """Put together kernels and data: those that optimizers step by, and those that P is
        computed by.
        """
        features, target = (
            scoring.kernels_of(self.scorer),
            target_of(self.targets, self.cost, self.storage),
        )
        solver, parameters = self.inference.kernels(self.structure.kind), self.loss.parameters()
        evaluate = self._loss_kernel
        self.data = self.examples.data(target, parameters)
        self.kernels = compose(
            features, solver, evaluate(self.settings.variant), self.graph_kernels()
        )
        self._converged = self.inference.converged(self.structure)
        self._reported, self._objective_data = self.examples, self.data
        if self._converged is not self.inference:
            solver, self._reported = (
                self._converged.kernels(self.structure.kind),
                self.examples.solved_by(self._converged),
            )
            self._objective_data = self._reported.data(target, parameters)
        self.objective_kernels = compose(features, solver, evaluate(), self.graph_kernels())

    def _loss_kernel(self, variant: str = MAX_LOSS) -> Any:
        """Return the kernel of the loss."""
        return kernel_of(self.loss, self.structure, self.inference, variant)

    def with_loss(self, loss: Loss) -> Self:
        """The same corpus with another loss, whose costs are the same; both share the messages of
        the inference.
        """
        other = self._changed(loss=loss)
        shared = other.data._replace(messages=self.data.messages)
        other._objective_data = (
            shared if other._objective_data is other.data else other._objective_data
        )
        other.data = shared
        return other

    def _changed(self, loss: Loss | None = None, settings: Settings | None = None) -> Self:
        """Return the problem of the same corpus with other components."""
        other = self._copied()
        Problem.__init__(
            other,
            self.examples,
            self.targets,
            self.cost,
            loss or self.loss,
            self.inference,
            settings or self.settings,
            self.graph_kernels,
            self.executor,
            self._judge,
        )
        return other

    def _copied(self) -> Self:
        other = copy(self)
        for cached in ("space", "fingerprint"):
            vars(other).pop(cached, None)
        return other

    @classmethod
    def of(
        cls,
        encoded: Encoded,
        graph: FactorGraph,
        loss: Loss,
        inference: Inference,
        features: Layout,
        settings: Settings,
        positional: bool = False,
        executor: Executor | None = None,
        judge: Callable[[Array], float] | None = None,
    ) -> Problem:
        """Build graphs, gold parts, features and costs of an encoded training corpus, and put them
        together with the components.

        Parameters
        ----------
        encoded : Encoded
            As the graph admits it.
        graph, loss, inference : components
        features : callable
            Lays out the weights, given the corpus, its graphs and its gold parts.
        settings, executor, judge
            As of `Problem`.
        positional : bool
            Whether every factor has parts of its own (the optimizer's `Needs`).

        Raises
        ------
        ArgumentError
            If an array of `encoded` is inconsistent or out of bounds.
        ConfigError
            As of `Problem`.
        """
        if encoded.folder is None:  # else `open_corpus` has checked it
            check_encoded(encoded, training=True)
        if encoded.gold is None:
            problem = "must be given: a problem learns from gold outputs."
            raise ArgumentError(problem, parameter="gold")
        structure = inference.prepare(graph.build(encoded, positional))
        targets, cost = gold_and_costs(encoded, graph, loss, structure, positional)
        seen = targets.possible(structure.parts) if targets.sets.any() else targets.points
        scorer = features(encoded, structure, seen)
        graphs = partial(graph.build, positional=positional)
        answers = partial(gold_and_costs_of_some, graph, loss, positional)
        examples = Examples(
            encoded,
            structure,
            scoring.record_of(scorer, encoded, structure),
            scorer,
            graphs,
            answers=answers,
        )
        graph_kernels = partial(GraphKernels.of, graph, positional)
        return cls(
            examples, targets, cost, loss, inference, settings, graph_kernels, executor, judge
        )

    def _check_sets(self) -> None:
        """Refuse a training instance that no output agrees with."""
        if not self.targets.sets.any():
            return
        from structopt.kernels.passes.targets import target_pass

        space = self._reported.space(False)
        empty = int(
            run_driver(target_pass, self.objective_kernels, self._objective_data, space, 0, self.m)
        )
        if empty < self.m:
            refuse_empty_set(self.examples.instance(empty))

    @property
    def convex(self) -> bool:
        """Whether P is convex: the loss is, scores are linear in the weights, and all gold outputs
        are known in full.
        """
        return self.loss.convex and self.sparse and not self.targets.sets.any()

    @property
    def regularization(self) -> float:
        """lambda = 1/(C (before + m)), or the whole's where this is a shard."""
        whole = self.settings.regularization
        return 1.0 / (self.C * (self.before + self.m)) if whole is None else whole

    @property
    def before(self) -> float:
        """How many instances there are beside these: seen before, or held by other shards."""
        return self.settings.before

    @property
    def penalty(self) -> Penalty:
        """What R is made of, in units of lambda."""
        return self.settings.penalty

    @property
    def sparse(self) -> bool:
        """Whether scores are linear in the weights, with kernels for compiled passes."""
        return isinstance(self.scorer, SparseFeatures)

    @cached_property
    def space(self) -> Space:
        """Scratch of the optimizer's thread."""
        return self.examples.space()

    @cached_property
    def list_kernels(self) -> Kernels:
        """The kernels by which optimizers step, with the one that lists the k best outputs."""
        return with_lists(self.kernels, self.inference.kernels(self.structure.kind))

    def run(self, driver: Driver[P, Result], *arguments: P.args, **named: P.kwargs) -> Result:
        """Call an optimizer's driver on this problem's kernels and data, in this thread."""
        return run_driver(driver, self.kernels, self.data, self.space, *arguments, **named)

    def threads(self, most: int) -> int:
        """Return the number of threads that share `most` visits at the same weights."""
        return 1 if self.executor.remote else max(1, min(self.executor.workers, most))

    def run_together(
        self,
        driver: Driver[..., Result],
        helper: Callable[[], Driver[..., None]],
        threads: int,
        shared: Sequence[Any],
        *arguments: Any,
    ) -> Result:
        """Call a driver in one thread and a helper in the others; see
        `structopt.core.objective.Objective`.
        """
        from structopt.kernels.waist.team import end, new_team

        team = new_team()
        if threads == 1:
            return self.run(driver, *shared, team, *arguments)
        help_with = helper()

        def lead() -> Any:
            try:
                return self.run(driver, *shared, team, *arguments)
            finally:
                end(team)

        def help_in(space: Space) -> None:
            try:
                run_driver(help_with, self.kernels, self.data, space, *shared, team)
            except BaseException:
                end(team)  # the others do not wait for the visits of this thread
                raise

        others = [partial(help_in, space) for space in self._helper_spaces(threads - 1)]
        results = in_order(lambda work: work(), [lead, *others], threads)
        return cast(Result, list(results)[0])

    def _helper_spaces(self, count: int) -> list[Space]:
        """Return scratch of the threads that help the optimizer's."""
        while len(self._helpers) < count:
            self._helpers.append(self.examples.space())
        return self._helpers[:count]

    @property
    def messages(self) -> Array:
        """What the inference keeps between visits, of all instances; empty where it is stateless.
        Checkpoints hold it.
        """
        return self.data.messages

    @cached_property
    def fingerprint(self) -> Fingerprint:
        """Digest and layout of everything that the kernels read: the same for equal data, graphs
        and features.
        """
        values, arrays = scoring.stored(self.scorer)
        # the name of version 0.1.0, whose checkpoints stay valid
        layout = {"block": values.pop("name"), **values}
        read = [] if self.sparse else arrays_in(self.examples.encoded)
        read += [self.data.weights] if len(self.data.weights) else []
        records = [
            buffer
            for record in (self.data.features, self.data.structure, self.data.target)
            for buffer in record
        ]
        offsets = [self.examples.encoded.offsets, self.structure.parts, self.structure.memory]
        sizes = {
            "instances": self.m,
            "variables": int(self.examples.encoded.offsets[-1]),
            "parts": int(self.structure.parts[-1]),
            "messages": len(self.messages),
            "weights": self.dimension,
        }
        return Fingerprint(digest_of([*records, *offsets, *arrays.values(), *read], layout), sizes)

    @property
    def steps(self) -> int:
        """Steps that a pass consists of: its windows, where it is divided; else one."""
        return self.settings.visits.count(self.m) if self.settings.divided else 1

    def order(self, epoch: int) -> Array:
        """Order of the instances in a step, which depends on the seed and the number of the step
        alone.

        A step is a pass, whose order is a permutation; or one of the `steps` of a pass, which
        visits a window of it.
        """
        visits, seed = self.settings.visits, self.seed
        if self.settings.divided:
            number, window = divmod(epoch, self.steps)
            return windows_of_pass(visits, self.m, seed, number)[window]
        return np.concatenate(visits.windows(self.m, seed, epoch))

    @property
    def storage(self) -> Storage:
        """Where arrays as long as the corpus are kept: beside its own."""
        return self.examples.encoded.storage

    def part_vector(self, name: str) -> Array:
        """Return zeros over the parts of all instances, or raise `ConfigError` where there is no
        room for them.
        """
        parts, advice = (
            int(self.structure.parts[-1]),
            "an optimizer without dual variables: DCA(), SGD() or LBFGS().",
        )
        if self.storage.in_files:
            return self.storage.zeros(parts)
        refuse_what_does_not_fit(
            8 * parts,
            f"optimizer: {name} of all {self.m} instances",
            f"Use fewer instances (`limit`), or {advice}",
            {"limit": "task"},
        )
        return np.zeros(parts)

    def minibatch(
        self, weights: Array, instances: Array, noise: Sequence[int] = ()
    ) -> tuple[float, Array]:
        """Sum of L_i of some instances at the given weights, as the optimizer steps, and its
        (sub)gradient, shape (dimension,).

        Between scores and gradient runs one compiled pass over the instances, whatever the scorer;
        `noise` and the seed of the problem seed what is random in the scores.
        """
        from structopt.kernels.passes.minibatches import minibatch_pass

        scores, pullback = self.examples.training(weights, instances, [self.seed, *noise])
        residuals, losses = np.zeros(len(scores)), np.zeros(len(instances))
        offsets = np.append(0, np.cumsum(np.diff(self.structure.parts)[instances]))
        threads = self.threads(len(instances))
        bounds = np.linspace(0, len(instances), threads + 1).astype(int)
        spaces = [self.space, *self._helper_spaces(threads - 1)]

        def visit(number: int) -> None:
            some = slice(*bounds[number : number + 2])
            parts = slice(offsets[some.start], offsets[some.stop])
            run_driver(
                minibatch_pass,
                self.kernels,
                self.data,
                spaces[number],
                instances[some],
                scores[parts],
                residuals[parts],
                losses[some],
            )

        list(in_order(visit, range(threads), threads))
        return float(np.cumsum(losses)[-1]), pullback(residuals)

    def loss_at(self, instance: int, scores: Array) -> tuple[float, Array]:
        """Return L_i of an instance at some part scores, and its (sub)gradient with respect to
        them, by the kernels of P.
        """
        from structopt.kernels.passes.minibatches import minibatch_pass

        data, residuals = self._objective_data, np.zeros(len(scores))
        losses = np.zeros(1)
        kept = slice(*data.memory[instance : instance + 2])
        messages = data.messages[kept].copy()
        run_driver(
            minibatch_pass,
            self.objective_kernels,
            data,
            self._reported.space(),
            np.array([instance]),
            scores.copy(),
            residuals,
            losses,
        )
        data.messages[kept] = messages
        return float(losses[0]), residuals

    def losses(self, weights: Array) -> float:
        """Sum of L_i at the given weights."""
        self.examples.check_weights(weights, finite=False)
        from structopt.kernels.passes.losses import loss_pass

        return float(sum(self._over_shards(loss_pass, self._objective_data, weights)))

    def objective(self, weights: Array) -> float:
        """P(theta) at the given weights."""
        return self.regularizer(weights) + self.losses(weights) / self.m

    def regularizer(self, weights: Array) -> float:
        """R(theta): the penalty of the settings."""
        self.examples.check_weights(weights, finite=False)
        return self.penalty.value(weights, self.regularization)

    def ridge(self, weights: Array) -> float:
        """lambda/2 ||theta||^2."""
        self.examples.check_weights(weights, finite=False)
        return self.regularization / 2 * float(weights @ weights)

    def gradient(self, weights: Array, out: Array | None = None) -> tuple[float, Array]:
        """Sum of L_i at the given weights, and its (sub)gradient sum_i F_i (z_bar_i - z_i), written
        to `out` if given.

        Weights go out to the shards, and their sums are added up in the order of the shards: the
        bits are the same whichever executor there is.
        """
        self.examples.check_weights(weights, finite=False)
        out = np.empty(self.dimension) if out is None else out
        checks.check_vector("out", out, self.dimension, finite=False)
        losses, sums = 0.0, np.zeros(self.scorer.count)
        for bounds, evaluation in self._placed_shards().evaluate(
            self.scorer.compress(weights), sums
        ):
            losses += evaluation.losses
            self._keep_messages(bounds, evaluation.messages)
        return losses, self.scorer.expand(sums, out)

    def sum_gradients(self, residuals: Array, out: Array) -> None:
        """Fill `out` with sum_i F_i r_i, given residuals over the parts of all instances; on all
        the executor's workers.
        """
        checks.check_vector("residuals", residuals, int(self.structure.parts[-1]), finite=False)
        checks.check_vector("out", out, self.dimension, finite=False)
        sums = np.zeros(self.scorer.count)
        self._placed_shards().pull_back(residuals, self.structure.parts, sums)
        self.scorer.expand(sums, out)

    def certificate(self, weights: Array) -> Certificate:
        """P at the given weights, and the best lower bound on its minimum that one evaluation gives
        (`dual_bound`); of P that is not convex, or has an l1 norm, no bound.
        """
        if not self.convex or self.penalty.sparse:
            return Certificate(self.objective(weights), None)
        losses, g = self.gradient(weights)
        bound = self.bound((losses - float(weights @ g)) / self.m, float(g @ g) / self.m**2)
        return Certificate(self.ridge(weights) + losses / self.m, bound)

    def bound(self, slope: float, norm: float) -> float:
        """max over 0 <= t <= 1 of t * slope - t^2 * norm / (2 lambda): see `dual_bound`; lambda by
        its share in the penalty.
        """
        return dual_bound(slope, norm, self.regularization * self.penalty.l2)

    @property
    def shard_data(self) -> ShardData:
        """What shards are made of, all instances."""
        return ShardData(self.examples.encoded, self.targets, self.cost, self.examples.answers)

    def recipe(self, inference: Inference) -> ShardRecipe:
        """What all shards have in common, at an inference: this problem's, or the one by which P is
        reported.
        """
        whole = self._reported if inference is self._converged else self.examples
        return ShardRecipe(
            self.examples.graphs or (lambda _encoded: whole.structure),
            self.scorer,
            self.loss,
            inference,
        )

    def _placed_shards(self) -> GradientShards:
        """The shards of the corpus, placed at the first call; one where nothing says how to build
        the graphs of some.
        """
        if self._shards is None or self._shards.executor is not self.executor:
            bounds = self.examples.shards(self.executor.shards if self.examples.graphs else 1)
            self._shards = GradientShards(
                self.executor, self.recipe(self._converged), self.shard_data, bounds
            )
        return self._shards

    def _keep_messages(self, bounds: tuple[int, int], messages: Array) -> None:
        """Keep the messages of some instances, where the inference that was evaluated is the one
        that steps.
        """
        if len(messages) and self._reported is self.examples:
            first, last = self.structure.memory[list(bounds)]
            self.data.messages[first:last] = messages

    def _over_shards(
        self, driver: Driver[[int, int, Array], Result], data: Data, weights: Array
    ) -> list[Result]:
        """Run a driver over ranges of instances, at the loss that is reported; results in the order
        of the ranges.
        """

        def shard(bounds: tuple[int, int]) -> Result:
            try:
                space = self._spaces.pop()
            except IndexError:
                space = self._reported.space()
            scored, theta = self._reported.scored(data, weights, bounds)
            result = run_driver(driver, self.objective_kernels, scored, space, *bounds, theta)
            self._spaces.append(space)
            return result

        return self.executor.map(shard, self.examples.shards(self.executor.shards))
