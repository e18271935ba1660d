"""The coarser model that prunes a factor graph: trained or taken from an earlier run, applied,
saved with the model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from structopt.config import registry
from structopt.core.data import ranges
from structopt.core.data.encoded import Encoded
from structopt.core.data.saved_state import SavedState
from structopt.core.data.sparse_vectors import SparseVectors
from structopt.core.data.structure import Structure
from structopt.core.executor import Executor
from structopt.core.factor_graph import CandidatePlan, FactorGraph, Pruned, Pruning
from structopt.core.scorer import Scorer
from structopt.core.task import Task
from structopt.errors import ConfigError, NumericalError
from structopt.formats import durable_files
from structopt.kernels.waist.record import Array
from structopt.kernels.waist.signatures import Kernels
from structopt.model.restoring import graph_state, restore_graph, restored_scorer, weights_of
from structopt.model.sentence_plan import BLOCK, Plans
from structopt.objective import relative_frequencies, scoring
from structopt.objective.decoding import best_outputs, flat_marginals
from structopt.objective.drivers import predicting
from structopt.objective.examples import Examples


class Pruner:
    """A coarser model, whose marginals and best outputs say which candidates a factor graph keeps.

    Parameters
    ----------
    pruning : Pruning
        What the factor graph declares.
    node : mapping
        The node ``factor_graph`` of the coarser model's config.
    scorer : Scorer
    weights : float64, shape (dimension,)
    temperature : float
        At which its marginals are taken.
    graph : FactorGraph
        The coarser one, fitted.
    """

    def __init__(
        self,
        pruning: Pruning,
        node: Mapping[str, Any],
        scorer: Scorer,
        weights: Array,
        temperature: float,
        graph: FactorGraph,
    ) -> None:
        self.pruning, self.node, self.graph = pruning, dict(node), graph
        self.scorer, self.weights, self.temperature = scorer, weights, temperature
        self.inference = registry.create("inference", {"name": "exact"})
        self._plans = Plans()

    @cached_property
    def kernels(self) -> Kernels:
        """Kernels of its features and inference."""
        return predicting(self.scorer, self.graph, self.inference)

    @classmethod
    def train(cls, encoded: Encoded, pruning: Pruning, scorer: Scorer, seed: int = 0) -> Pruner:
        """Train a conditional random field over the coarser graph by dual coordinate ascent.

        Parameters
        ----------
        encoded : Encoded
            The training corpus as the graph that is to be pruned can represent it
            (`FactorGraph.admit`).
        pruning : Pruning
        scorer : Scorer
            Not fitted; without the features that `pruning` leaves out.
        seed : int
            Of the order of the instances.

        Raises
        ------
        NumericalError
            If the weights come out not finite.
        """
        graph, inference = (
            registry.create("factor_graph", pruning.graph),
            registry.create("inference", {"name": "exact"}),
        )
        graph.fit(encoded)
        loss = registry.create("loss", {"name": "crf", "beta": 1.0, "gamma": 0.0})
        optimizer = registry.create("optimizer", {"name": "dca"})
        from structopt.objective.problem import Problem, Settings  # only training needs it

        problem = Problem.of(encoded, graph, loss, inference, scorer.fit, Settings(pruning.C, seed))
        initial = np.zeros(problem.dimension)
        if pruning.from_counts:
            initial = relative_frequencies.weights(
                problem.scorer, encoded, problem.structure, problem.targets.points, graph
            )
        state = optimizer.init(problem, initial)
        for _ in range(pruning.epochs):
            state, _ = optimizer.step(problem, state)
        if not ranges.finite(optimizer.weights(state)):
            raise NumericalError(
                "The pruner's weights came out not finite.",
                remedy="Set a smaller factor_graph.pruner_C.",
            )
        return cls(
            pruning,
            pruning.graph,
            problem.scorer,
            optimizer.weights(state),
            loss.temperature,
            graph,
        )

    @classmethod
    def of_model(cls, model: Any, task: Task, pruning: Pruning) -> Pruner:
        """Prune by a model that was trained before.

        Parameters
        ----------
        model : structopt.model.model.Model
        task : component
            The fitted task of the run, whose vocabulary must be the model's.
        pruning : Pruning

        Raises
        ------
        ConfigError
            If the model is of another factor graph, its outputs may be none of those asked for, or
            its vocabulary is another.
        """
        node = model.config["factor_graph"]
        if node["name"] != pruning.graph["name"]:
            raise ConfigError(
                f"factor_graph.pruner: {pruning.model} is a model of factor_graph={node['name']}.",
                remedy=f"Give one of factor_graph={pruning.graph['name']}, or leave "
                "factor_graph.pruner=null to train one.",
            )
        for option in pruning.shared_options:
            if pruning.graph[option] and not getattr(model.graph, option):
                raise ConfigError(
                    f"factor_graph.pruner: the {pruning.outputs} of {pruning.model} need "
                    f"not be those of factor_graph.{option}=true, so that none may survive.",
                    remedy=f"Train it with factor_graph.{option}=true.",
                )
        if not _same(model.task.numbering(), task.numbering()):
            raise ConfigError(
                f"factor_graph.pruner: {pruning.model} numbers {pruning.numbered} differently.",
                remedy="Train it with the same task.* options on the same task.train, or "
                "leave factor_graph.pruner=null to train one in this run.",
            )
        return cls(pruning, node, model.scorer, model.weights, model.temperature, model.graph)

    def prune(
        self, encoded: Encoded, keep_gold: bool = False, executor: Executor | None = None
    ) -> Pruned:
        """Return the corpus with the candidates that are kept; `keep_gold`: with those of the gold
        outputs too.

        The cost is that of marginals and best outputs of the coarser model.
        """
        coarse = _Coarse(self, encoded, executor or registry.serial())
        return self.pruning.prune(self.graph, encoded, coarse, keep_gold)

    def pruned(self, encoded: Encoded, executor: Executor | None = None) -> Encoded:
        """Return the corpus with the candidates that are kept, few small instances by the plan."""
        plan = self.plan(encoded) if 0 < len(encoded) <= BLOCK else None
        if plan is not None and plan.takes(encoded):
            candidates = plan.candidates(encoded)
            if candidates is not None:
                return replace(encoded, candidates=candidates)  # type: ignore[call-arg]
        return self.prune(encoded, executor=executor).encoded

    def plan(self, encoded: Encoded) -> CandidatePlan | None:
        """Return this thread's plan for a few small instances, given any corpus that the model's
        task has encoded; None if the pruning has none.
        """
        of = self.scorer, self.weights, self.kernels.solve, self.temperature, encoded
        made: CandidatePlan | None = self._plans.get(lambda: self.pruning.plan(self.graph, *of))
        return made

    def state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """What a saved model keeps of it, as JSON values and arrays."""
        layout, arrays = scoring.stored(self.scorer)
        values = {
            "factor_graph": self.node,
            "features": layout,
            "temperature": self.temperature,
            **self.pruning.thresholds,
        }
        learnt, graph_arrays = graph_state(self.graph)
        return values | learnt, {
            "weights": self.scorer.compress(self.weights),
            **arrays,
            **graph_arrays,
        }

    @classmethod
    def restore(
        cls, pruning: Pruning, values: Mapping[str, Any], arrays: Mapping[str, Array]
    ) -> Pruner:
        """Undo `state`, given what the saved model's factor graph declares."""
        state = SavedState(values, arrays)
        node, scorer = (
            state.within("factor_graph"),
            restored_scorer(state.within("features").values, arrays),
        )
        node.string("name", [pruning.graph["name"]])
        graph = registry.create("factor_graph", node.values)
        restore_graph(graph, values, arrays)
        return cls(
            pruning,
            node.values,
            scorer,
            weights_of(scorer, arrays),
            state.positive("temperature"),
            graph,
        )


class _Coarse:
    """What a pruner's model says of a corpus: see `structopt.core.factor_graph.CoarseOutputs`."""

    def __init__(self, pruner: Pruner, encoded: Encoded, executor: Executor) -> None:
        self.pruner, self.encoded, self.executor = pruner, encoded, executor
        self.kernels = pruner.kernels

    @cached_property
    def examples(self) -> Examples:
        """The corpus with the coarser graphs."""
        graph = self.pruner.graph.coarsened(self.pruner.pruning.least)
        of = self.pruner
        return Examples.build(self.encoded, graph, of.scorer, of.inference, trusted=True)

    @property
    def structure(self) -> Structure:
        """The coarser graphs."""
        return self.examples.structure

    def subset(self, first: int, last: int) -> _Coarse:
        """The same of some instances."""
        return _Coarse(self.pruner, self.encoded.subset(first, last), self.executor)

    def marginals(self) -> Array:
        """Marginals of the parts that the pruning looks at."""
        of, group = self.pruner, self.pruner.pruning.group
        return flat_marginals(
            self.examples, self.kernels, of.weights, group, self.executor, of.temperature
        )

    def without_output(self, encoded: Encoded) -> Array:
        """Instances that have no output left."""
        outputs = _Coarse(self.pruner, encoded, self.executor).outputs()
        return np.flatnonzero(np.diff(outputs.offsets) == 0)

    def best(self) -> Array:
        """Parts of the best outputs, among those."""
        return self.structure.active_in(self.pruner.pruning.group, self.outputs())[0]

    def outputs(self) -> SparseVectors:
        """The best outputs; none where there is none."""
        return best_outputs(self.examples, self.kernels, self.pruner.weights, self.executor)


def _same(
    one: tuple[Mapping[str, Any], Mapping[str, Array]],
    other: tuple[Mapping[str, Any], Mapping[str, Array]],
) -> bool:
    """Whether two numberings of tasks are equal, as they would be saved."""
    (values, arrays), (others, their) = one, other
    if (
        durable_files.json_bytes(values) != durable_files.json_bytes(others)
        or arrays.keys() != their.keys()
    ):
        return False
    return all(np.array_equal(arrays[name], their[name]) for name in arrays)
