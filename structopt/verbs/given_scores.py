"""Batches whose scores are given, as the examples of inference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn, Self

import numpy as np

from structopt.config import registry
from structopt.core.ability import Ability
from structopt.core.data.encoded import Encoded
from structopt.core.data.sparse_vectors import SparseVectors
from structopt.core.data.structure import Structure
from structopt.core.executor import Executor
from structopt.core.inference import Inference
from structopt.core.parts.batch import Batch
from structopt.core.scorer import Scorer
from structopt.errors import ArgumentError
from structopt.kernels.waist.record import Array
from structopt.kernels.waist.signatures import Kernels
from structopt.objective import scoring
from structopt.objective.drivers import GraphKernels, compose
from structopt.objective.examples import Examples

NEEDS = {
    Ability.MAP: "best outputs",
    Ability.MARGINALS: "marginals",
    Ability.K_BEST: "lists of the k best outputs",
    Ability.EXACT: "an exact value",
}
OTHERS = "AD3(), MPLP(), LoopyBP() and TreeReweightedBP() do"


class GivenScores(Scorer):
    """A scorer whose weights are the scores of all parts."""

    cheap = True

    def __init__(self, structure: Structure) -> None:
        self.dimension = int(structure.parts[-1])

    def prepare(self, encoded: Encoded, structure: Structure) -> Array:
        """Return the begins of the instances."""
        return structure.parts

    def scores(self, theta: Array, prepared: Array, instances: Array) -> Array:
        """Copy the scores of some instances."""
        slices = [theta[prepared[i] : prepared[i + 1]] for i in instances.tolist()]
        return np.concatenate([np.zeros(0), *slices])

    def pullback(self, theta: Array, prepared: Array, instances: Array, residuals: Array) -> Array:
        """Write the residuals of some instances to their places."""
        gradient, begin = np.zeros(self.dimension), 0
        for i in instances.tolist():
            own = slice(int(prepared[i]), int(prepared[i + 1]))
            gradient[own] = residuals[begin : begin + own.stop - own.start]
            begin += own.stop - own.start
        return gradient

    def fit(self, encoded: Encoded, structure: Structure, gold: SparseVectors) -> Self:
        """Return the scores' own layout."""
        return type(self)(structure)

    def state(self) -> NoReturn:
        """Refuse: scores are not saved."""
        raise NotImplementedError

    @classmethod
    def restore(cls, layout: Mapping[str, Any], arrays: Mapping[str, Array]) -> NoReturn:
        """Refuse: scores are not saved."""
        raise NotImplementedError


@dataclass(frozen=True)
class Solver:
    """An inference on the structures of a batch.

    Attributes
    ----------
    batch : Batch
    inference : Inference
    """

    batch: Batch
    inference: Inference

    @property
    def provides(self) -> Ability:
        """Abilities of the inference on these structures."""
        return self.inference.provides(self.batch.structure.kind)

    @cached_property
    def examples(self) -> Examples:
        """The batch with given scores."""
        structure = self.inference.prepare(self.batch.structure)
        record = scoring.precomputed_scores(structure, 0)
        scorer = GivenScores(structure)
        return Examples(self.batch.encoded, structure, record, scorer, trusted=True)

    @cached_property
    def kernels(self) -> Kernels:
        """Kernels that copy scores and solve."""
        graph = self.batch.graph
        solver = self.inference.kernels(self.batch.structure.kind)
        return compose(
            scoring.copying_kernels(), solver, graph=GraphKernels(rounding=graph.rounding)
        )

    def check(self, needed: Ability) -> None:
        """Refuse an inference without an ability.

        Raises
        ------
        ArgumentError
        """
        missing = needed & ~self.provides
        if not missing:
            return
        words = " and ".join(NEEDS[ability] for ability in Ability if ability in missing)
        name = type(self.batch.graph).__name__
        given = type(self.inference).__name__
        if given == "Exact":
            raise ArgumentError(
                f"must be given: exact inference gives no {words} on {name}.",
                parameter="inference",
                remedy=f"On loopy graphs {OTHERS}.",
            )
        raise ArgumentError(
            f"gives no {words} on {name}.", parameter="inference", value=self.inference
        )


def solver_of(batch: Batch, inference: Inference | None, needed: Ability) -> Solver:
    """Return the solver of a batch; None: exact inference.

    Raises
    ------
    ArgumentError
        If the inference lacks a needed ability on the graph.
    """
    if inference is None:
        inference = registry.create("inference", {"name": "exact"})
    elif not isinstance(inference, Inference):
        raise ArgumentError(
            "must be an inference, such as AD3(), or None.", parameter="inference", value=inference
        )
    if reason := inference.refusal(batch.graph):
        raise ArgumentError(reason, parameter="inference")
    solver = Solver(batch, inference)
    solver.check(needed)
    return solver


def executor_of(threads: int) -> Executor:
    """Return what divides the instances among threads."""
    if isinstance(threads, bool) or not isinstance(threads, (int, np.integer)) or threads < 1:
        raise ArgumentError("must be at least 1.", parameter="threads", value=threads)
    if threads == 1:
        return registry.serial()
    executor: Executor = registry.create("executor", {"name": "threads", "workers": int(threads)})
    return executor
