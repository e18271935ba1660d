r"""The training objective of arrays: features of the positions of a batch, and gold outputs.

With the scores s_i = F_i^T theta of m instances::

    P(theta) = R(theta) + (1/m) sum_i L_i(s_i)
    R(theta) = lambda/2 ||theta||^2,  lambda = 1/(C m)

or another penalty R (`Penalty`). Empty instances have no loss and do not count in m.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from structopt.core import checks
from structopt.core.data.encoded import Encoded
from structopt.core.data.places import Places
from structopt.core.executor import Executor
from structopt.core.inference import Inference
from structopt.core.loss import Loss
from structopt.core.needs import MINIMUM, Goal, of_fit
from structopt.core.objective import Certificate
from structopt.core.optimizer import Optimizer
from structopt.core.parts.batch import Batch, Gold
from structopt.core.parts.parts import Parts
from structopt.core.scorer import Scorer
from structopt.core.weights.penalty import RIDGE, Penalty
from structopt.errors import ArgumentError
from structopt.features.sparse_map import SparseMap
from structopt.inference.exact import Exact
from structopt.kernels.waist.record import Array
from structopt.loss.presets import CRF, PerceptronLoss
from structopt.objective import problem as corpus
from structopt.objective import scoring
from structopt.objective.array_losses import evaluated
from structopt.objective.compatibility import certifies, first_misfit, refuse
from structopt.objective.drivers import GraphKernels
from structopt.objective.examples import Examples
from structopt.objective.gold_and_costs import gold_and_costs
from structopt.verbs.features import ArrayFeatures, described, with_tables
from structopt.verbs.inferring import infer
from structopt.verbs.losses import value_and_gradient
from structopt.verbs.restricting import RestrictedFeatures, refuse_forbidden_gold


class Problem(corpus.Problem):
    """P(theta) of a batch, with its gradient and lower bounds on its minimum.

    Parameters
    ----------
    batch : Batch
    x : mapping of part group to array or CSR matrix
        Features of the positions of groups, shape (positions, features), padded, or an array per
        instance. A position p with configuration c scores x[p] . W[:, c]. No intercept is added.
        Groups without `x` have one weight per configuration, which all positions share.
    gold : Gold
        Gold outputs of the batch. Open instances have the loss of their sets of outputs.
    loss : Loss
        By default CRF().
    C : float
        Above 0; lambda = 1/(C m). The only C: optimizers take it from here.
    inference : Inference or None
        None: exact inference.
    features : SparseMap or None
        A linear map from weights to part scores, instead of `x`.
    penalty : Penalty
        L2() by default.
    sample_weight : array-like, shape (instances,), or None
        Weights of the losses of instances, at least 0.
    restricted : mapping of part group to bool array, or None
        True at the parts that outputs may have, as of `Parts.restricted`. Optimizers that read no
        features themselves, such as LBFGS() and DCA(), train with it.

    Raises
    ------
    ArgumentError
        For arrays that do not belong to the batch, and components that do not work together.
    InfeasibleError
        For instances whose gold outputs are all forbidden.

    Examples
    --------
    >>> problem = Problem(chain, x={"label": X}, gold=chain.gold(y), loss=CRF(), C=0.1)
    >>> scipy.optimize.minimize(problem.value_and_gradient, np.zeros(problem.dimension), jac=True)
    """

    def __init__(
        self,
        batch: Batch,
        x: Mapping[str, Any] | None = None,
        gold: Gold | None = None,
        loss: Loss | None = None,
        C: float = 1.0,
        inference: Inference | None = None,
        features: SparseMap | None = None,
        penalty: Penalty = RIDGE,
        sample_weight: Any = None,
        restricted: Mapping[str, Any] | None = None,
    ) -> None:
        if not isinstance(batch, Batch):
            raise ArgumentError(
                "must be a batch, such as LinearChain().batch(lengths=[5], labels=3).",
                parameter="batch",
            )
        if not isinstance(gold, Gold) or gold.batch is not batch:
            raise ArgumentError(
                "must be gold of the batch.",
                parameter="gold",
                remedy="Make it by batch.gold(...).",
            )
        if not len(batch.kept):
            raise ArgumentError("has no instance that is not empty.", parameter="batch")
        self.batch, self.gold = batch, gold
        self.array_features = ArrayFeatures.of(batch, x or {}, features)
        number = checks.floats("C", C, ())
        if not number > 0:
            raise ArgumentError("must be above 0.", parameter="C", value=C)
        if not isinstance(penalty, Penalty):
            raise ArgumentError(
                "must be L2(), L1() or Penalty(l1, l2).", parameter="penalty", value=penalty
            )
        if not (penalty.l1 or penalty.l2):
            raise ArgumentError("needs l1 or l2 above 0.", parameter="penalty", value=penalty)
        encoded = gold.encoded
        if sample_weight is not None:
            every = checks.floats("sample_weight", sample_weight, (len(batch),), least=0.0)
            encoded = replace(encoded, instance_weights=every[batch.kept])
        self.loss, self.inference = loss or CRF(), inference or Exact()
        self._refuse_misfits(None, encoded)
        self.forbidden: Array | None = None
        if restricted is not None:
            if not isinstance(restricted, Mapping):
                raise ArgumentError(
                    "must be a mapping from part groups to boolean arrays.", parameter="restricted"
                )
            allowed = batch.zeros().restricted(**restricted)
            losses = value_and_gradient(PerceptronLoss(), allowed, gold, self.inference)[0]
            refuse_forbidden_gold(losses)
            self.forbidden = np.isneginf(allowed.flat)
        self._build(encoded, corpus.Settings(float(number), penalty=penalty), positional=False)

    def _refuse_misfits(
        self, optimizer: Optimizer | None, encoded: Encoded, goal: Goal = MINIMUM
    ) -> None:
        """Refuse components that do not work together."""
        components = self.batch.graph, self.inference, self.loss, optimizer
        points, equal = not self.gold.targets.sets.any(), encoded.instance_weights is None
        if found := first_misfit(*components, points, equal, goal):
            refuse(found, *components, goal)

    def _build(
        self,
        encoded: Encoded,
        settings: corpus.Settings,
        positional: bool,
        executor: Executor | None = None,
    ) -> None:
        """Lay out parts and weights; of positional structures every factor has its own parts."""
        graph, given = self.batch.graph, self.array_features
        encoded = replace(encoded, tables={**encoded.tables, **given.tables})
        apart = positional or self.batch.positional
        built = graph.build(encoded, True) if positional else self.batch.structure
        structure = self.inference.prepare(with_tables(built, given.tables))
        targets, cost = gold_and_costs(encoded, graph, self.loss, structure, positional)
        scorer: Scorer = given.laid_out(encoded, structure)
        if self.forbidden is not None:
            scorer = RestrictedFeatures(given.laid_out(encoded, structure), self.forbidden)
        record = scoring.record_of(scorer, encoded, structure)
        places = Places(len(self.batch), self.batch.kept)
        graphs = (
            partial(described, graph, apart, tuple(given.tables))
            if executor and not given.map
            else None
        )
        super().__init__(
            Examples(encoded, structure, record, scorer, graphs, places=places),
            targets,
            cost,
            self.loss,
            self.inference,
            settings,
            partial(GraphKernels.of, graph, positional),
            executor,
        )

    def under(
        self,
        optimizer: Optimizer,
        seed: int = 0,
        executor: Executor | None = None,
        tolerance: float = 0.0,
    ) -> Problem:
        """Return the problem as an optimizer steps on it: with its variant of the residual, and
        with parts of its own for every factor if it needs that.

        Parameters
        ----------
        optimizer : Optimizer
        seed : int
        executor : Executor or None
            Does the work that can be divided.
        tolerance : float
            Gap at which training is to stop; 0: none.

        Raises
        ------
        ArgumentError
            If the optimizer does not work with the other components.
        """
        encoded = self.examples.encoded
        self._refuse_misfits(optimizer, encoded, Goal(self.penalty, tolerance))
        if self.forbidden is not None:
            needs = of_fit(optimizer.needs(self.loss, self.batch.graph), Goal(self.penalty))
            if needs.features == "sparse":
                raise ArgumentError(
                    f"{type(optimizer).__name__} reads the features itself, and takes no "
                    "`restricted`.",
                    parameter="optimizer",
                    remedy="Take another one, such as LBFGS() or DCA().",
                )
        settings = replace(self.settings, seed=seed, variant=optimizer.plan.variant)
        positional = optimizer.needs(self.loss, self.batch.graph).positional
        if not positional and executor is None:
            return self._changed(settings=settings)
        own = self._copied()
        own._build(encoded, settings, positional, executor)
        return own

    def value_and_gradient(self, weights: Array) -> tuple[float, Array]:
        """Return P and its gradient, shape (dimension,); where P has a kink, a subgradient."""
        losses, gradient = self.gradient(np.ascontiguousarray(weights, np.float64))
        value = self.regularizer(weights) + losses / self.m
        return value, self.penalty.gradient(weights, self.regularization) + gradient / self.m

    @property
    def convex(self) -> bool:
        """Whether P is convex: scores are linear in the weights, or -inf."""
        return self.loss.convex and not self.targets.sets.any()

    def certificate(self, weights: Array) -> Certificate:
        """Return P at some weights, and a lower bound D on its minimum from one evaluation.

        D is None if P is not convex or has an l1 norm, and if the inference bounds no losses.
        """
        kind = self.structure.kind
        if not certifies(self.inference.converged(self.structure).provides(kind)):
            return Certificate(self.objective(weights), None)
        return super().certificate(weights)

    def scores(self, weights: Array) -> Parts:
        """Return the part scores F^T theta of the batch, nats."""
        self.examples.check_weights(weights, finite=False)
        every = np.arange(self.m)
        flat = scoring.scores_of(
            self.scorer, weights, self.examples.prepared, self.structure, every
        )
        return Parts(self.batch, flat, -np.inf)

    def loss_at(self, instance: int, scores: Array) -> tuple[float, Array]:
        """Return L_i of an instance at some part scores, and its (sub)gradient by them."""
        if self.loss.has_kernel:
            return super().loss_at(instance, scores)
        flat, own = np.zeros(int(self.structure.parts[-1])), self._parts(instance)
        flat[own] = scores
        losses, residuals = self._evaluated(Parts(self.batch, flat, -np.inf))
        return float(losses[instance]), residuals[own]

    def _parts(self, instance: int) -> slice:
        return slice(*self.structure.parts[instance : instance + 2].tolist())

    def losses(self, weights: Array) -> float:
        """Return the sum of the L_i at some weights."""
        if self.loss.has_kernel:
            return super().losses(weights)
        return float(self._evaluated(self.scores(weights))[0].sum())

    def gradient(self, weights: Array, out: Array | None = None) -> tuple[float, Array]:
        """Return the sum of the L_i, and its (sub)gradient by the weights, in `out` if given."""
        if self.loss.has_kernel:
            return super().gradient(weights, out)
        losses, residuals = self._evaluated(self.scores(weights))
        every, prepared = np.arange(self.m), self.examples.prepared
        gradient = scoring.gradient_of(self.scorer, weights, prepared, every, residuals)
        if out is None:
            return float(losses.sum()), gradient
        out[:] = gradient
        return float(losses.sum()), out

    def _evaluated(self, s: Parts) -> tuple[Array, Array]:
        """Return the losses of the instances that are not empty, weighted, and the residuals."""
        inference = self.inference.converged(self.structure)
        values, gradient = evaluated(self.loss, s, self.gold, partial(infer, inference=inference))
        kept, flat = values[self.batch.kept], gradient.flat
        given = self.examples.encoded.instance_weights
        if given is None:
            return kept, np.array(flat)
        return given * kept, np.repeat(given, np.diff(self.structure.parts)) * flat
