"""Batches whose scores are given, as the examples of inference."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn, Self
from weakref import WeakKeyDictionary

import numpy as np

from structopt.core.ability import NEEDS, Ability
from structopt.core.data.encoded import Encoded
from structopt.core.data.sparse_vectors import SparseVectors
from structopt.core.data.structure import Structure
from structopt.core.executor import Executor
from structopt.core.factor_graph import FactorGraph
from structopt.core.inference import Inference
from structopt.core.parts.batch import Batch
from structopt.core.parts.parts import Parts
from structopt.core.scorer import Scorer
from structopt.errors import ArgumentError, InfeasibleError
from structopt.executor.serial import Serial
from structopt.executor.threads import Threads
from structopt.inference.ad3 import AD3
from structopt.inference.exact import Exact
from structopt.inference.ilp import ILP
from structopt.inference.loopy_bp import LoopyBP
from structopt.inference.lp import LP
from structopt.inference.mplp import MPLP
from structopt.inference.trw_bp import TRWBP
from structopt.kernels.waist.interruptible import run_driver, run_quick
from structopt.kernels.waist.record import Array, Record
from structopt.kernels.waist.signatures import Data, Kernels, Space
from structopt.objective import scoring
from structopt.objective.drivers import GraphKernels, compose, with_lists
from structopt.objective.examples import Examples
from structopt.process.cores import cores

FEW = 8
"""Loopy instances for which other threads start at once."""
FEW_PARTS = 1 << 14
"""Parts of all instances for which other threads are not worth it, unless the graph is loopy: each
takes 10 to 55 ns.
"""
NO_OUTPUT = -1e300
"""The value of an instance is above it if the instance has an output."""


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

    It does not refer to the batch, which `solver_of` remembers it for.

    Attributes
    ----------
    graph : FactorGraph
    encoded : Encoded
    structure : Structure
        Instances of the batch.
    inference : Inference
    """

    graph: FactorGraph
    encoded: Encoded
    structure: Structure
    inference: Inference

    @cached_property
    def provides(self) -> Ability:
        """Abilities of the inference on these structures."""
        return self.inference.provides(self.structure.kind)

    @cached_property
    def examples(self) -> Examples:
        """The batch with given scores."""
        structure = self.inference.prepare(self.structure)
        record = scoring.precomputed_scores(structure, 0)
        scorer = GivenScores(structure)
        return Examples(self.encoded, structure, record, scorer, trusted=True)

    @cached_property
    def kernels(self) -> Kernels:
        """Kernels that copy scores and solve."""
        return self.composed(None)

    @cached_property
    def list_kernels(self) -> Kernels:
        """The kernels, with the one that lists the k best outputs."""
        return with_lists(self.kernels, self.inference.kernels(self.structure.kind))

    def composed(self, evaluate: Any) -> Kernels:
        """Return the kernels, with that of a loss."""
        solve = self.inference.kernels(self.structure.kind)
        rounding = GraphKernels(rounding=self.graph.rounding)
        return compose(scoring.copying_kernels(), solve, evaluate, rounding)

    def infer(self, scores: Parts, temperature: float, threads: int = 1) -> tuple[Array, Parts]:
        """Return the values, and the marginals or best outputs, of scores.

        Raises
        ------
        InfeasibleError
            If scores of -inf leave an instance without an output.
        """
        return self._visited(self.kernels, self.examples.data(), temperature, scores, threads)

    def losses(
        self, scores: Parts, kernel: Any, target: Record, parameters: Array, threads: int = 1
    ) -> tuple[Array, Parts]:
        """Return the losses and residuals of scores, by the kernel of a loss; see `infer`."""
        data = self.examples.data(target, parameters)
        return self._visited(self.composed(kernel), data, None, scores, threads)

    def _visited(
        self, kernels: Kernels, data: Data, temperature: float | None, scores: Parts, threads: int
    ) -> tuple[Array, Parts]:
        """Return the values and marginals of the instances; without a temperature, the losses and
        residuals.
        """
        executor, examples = executor_of(threads), self.examples
        count, given, quick = len(examples), scores.flat, self.structure.quick
        numbers, flat = np.zeros(count), np.zeros(len(given))
        compiled, losses = kernels.compiled, temperature is None
        # threads beyond the cores take turns, and their instances wait for it
        crew_size = min(threads, count, cores()) if compiled else 1
        loopy = self.structure.kind.loopy
        run = run_quick if quick else run_driver
        if crew_size > 1 and (loopy or len(given) > FEW_PARTS):
            from structopt.kernels.passes.together import help_together, visit_together
            from structopt.kernels.waist.crew import new_crew

            crew = new_crew(help_together, count, crew_size)
            rest: tuple[Any, ...] = losses, temperature or 0.0, given, numbers, flat
            rest = *rest, crew, not quick or (loopy and count <= FEW)
            with self._space(losses, crew_size) as space:
                run(visit_together, kernels, data, space, *rest)
        else:
            from structopt.kernels.passes.given_scores import infer_pass, losses_pass

            def shard(bounds: tuple[int, int]) -> None:
                rest = *bounds, given, numbers, flat
                with self._space(losses) as space:
                    if temperature is None:
                        run(losses_pass, kernels, data, space, *rest)
                    else:
                        run(infer_pass, kernels, data, space, temperature, *rest)

            executor.map(shard, examples.shards(1 if compiled or threads == 1 else 8 * threads))
        refuse_infeasible(scores.batch, numbers)
        return scores.batch.spread(numbers, 0.0), Parts(scores.batch, flat)

    @cached_property
    def _free(self) -> defaultdict[tuple[bool, int], list[Space]]:
        """Scratch that no call is using, by whether it has room for losses and by its threads.

        Memory that is new to the process may take longer to write to than the inference.
        """
        return defaultdict(list)

    @contextmanager
    def _space(self, losses: bool, threads: int = 1) -> Iterator[Space]:
        """Scratch of so many threads; after an error it is not used again."""
        free = self._free[losses, threads]
        try:
            space = free.pop()
        except IndexError:
            space = self.examples.space(gradients=False, losses=losses)
            if threads > 1:
                from structopt.kernels.waist.crew import tiled

                space = tiled(space, threads)
        yield space
        free.append(space)


_exact_solvers: WeakKeyDictionary[Batch, Solver] = WeakKeyDictionary()
"""Solvers by exact inference of batches that are in use."""


def solver_of(batch: Batch, inference: Inference | None, needed: Ability) -> Solver:
    """Return the solver of a batch; None: exact inference.

    Raises
    ------
    ArgumentError
        If the inference lacks a needed ability on the graph.
    """
    solver = _exact_solvers.get(batch) if inference is None else None
    if solver is None:
        solver = _checked(batch, Exact() if inference is None else inference)
    if inference is None:
        _exact_solvers[batch] = solver
    if not (missing := needed & ~solver.provides):
        return solver
    words = " and ".join(NEEDS[ability] for ability in missing)
    name = type(batch.graph).__name__
    others = _giving(batch.graph, needed)
    remedy = f"Give {others}." if others else None
    if inference is None and others:
        raise ArgumentError(
            f"must be given: exact inference does not give {words} on {name}.",
            parameter="inference",
            remedy=remedy,
        )
    who = f"{type(solver.inference).__name__} does not give" if others else "no inference gives"
    raise ArgumentError(f"{who} {words} on {name}.", parameter="inference", remedy=remedy)


def _giving(graph: FactorGraph, needed: Ability) -> str:
    """Name the inferences that give abilities on a graph; an empty string if none."""
    found = [
        f"{cls.__name__}()"
        for cls in (Exact, AD3, MPLP, LoopyBP, TRWBP, LP, ILP)
        if not cls().refusal(graph) and not needed & ~cls().provides(graph.kind)
    ]
    return " or ".join([", ".join(found[:-1]), found[-1]] if len(found) > 1 else found)


def _checked(batch: Batch, inference: Any) -> Solver:
    """Return the solver of a batch, if the inference takes its graph."""
    if not isinstance(inference, Inference):
        raise ArgumentError(
            "must be an inference, such as AD3(), or None.", parameter="inference", value=inference
        )
    if reason := inference.refusal(batch.graph):
        raise ArgumentError(reason, parameter="inference")
    return Solver(batch.graph, batch.encoded, batch.structure, inference)


def executor_of(threads: int) -> Executor:
    """Return what divides the instances among threads."""
    if isinstance(threads, bool) or not isinstance(threads, (int, np.integer)) or threads < 1:
        raise ArgumentError("must be an integer, at least 1.", parameter="threads", value=threads)
    if threads == 1:
        return Serial()
    return Threads(int(threads))


def refuse_infeasible(batch: Batch, values: Array) -> None:
    """Refuse instances without an output, given the values of instances that are not empty.

    Raises
    ------
    InfeasibleError
    """
    none = np.flatnonzero(~(values > NO_OUTPUT))
    if len(none):
        instances = batch.kept[none].tolist()
        raise InfeasibleError("Scores of -inf leave no output.", instances=instances)
