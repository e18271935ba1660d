"""The coarser model that prunes a factor graph: trained or taken from an earlier run, applied, saved with the model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from structopt.config import registry
from structopt.core.data import ranges
from structopt.core.data.encoded import Encoded
from structopt.core.data.saved_state import SavedState
from structopt.core.executor import Executor
from structopt.core.factor_graph import Pruned, Pruning
from structopt.core.scorer import Scorer
from structopt.core.task import Task
from structopt.errors import ConfigError, NumericalError
from structopt.formats import durable_files
from structopt.kernels.waist.record import Array
from structopt.model.restoring import weights_of
from structopt.objective import scoring
from structopt.objective.decoding import best_outputs, marginals
from structopt.objective.drivers import predicting
from structopt.objective.examples import Examples
from structopt.objective.problem import Problem, Settings


class Pruner:
    """A coarser model, whose marginals and best outputs say which candidates a factor graph keeps.

    Parameters
    ----------
    pruning : Pruning
        What the factor graph declares.
    graph : mapping
        The node ``factor_graph`` of the coarser model's config.
    scorer : Scorer
    weights : float64, shape (dimension,)
    temperature : float
        At which its marginals are taken.
    """

    def __init__(self, pruning: Pruning, graph: Mapping[str, Any], scorer: Scorer, weights: Array, temperature: float) -> None:
        self.pruning, self.node = pruning, dict(graph)
        self.scorer, self.weights, self.temperature = scorer, weights, temperature
        self.graph = registry.create("factor_graph", self.node)
        self.inference = registry.create("inference", {"name": "exact"})

    @classmethod
    def train(cls, encoded: Encoded, pruning: Pruning, scorer: Scorer, seed: int = 0) -> Pruner:
        """Train a conditional random field over the coarser graph by dual coordinate ascent.

        Parameters
        ----------
        encoded : Encoded
            The training corpus as the graph that is to be pruned can represent it (`FactorGraph.admit`).
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
        graph, inference = registry.create("factor_graph", pruning.graph), registry.create("inference", {"name": "exact"})
        loss = registry.create("loss", {"name": "crf", "beta": 1.0, "gamma": 0.0})
        optimizer = registry.create("optimizer", {"name": "dca", "C": pruning.C, "epochs": pruning.epochs})
        problem = Problem.of(encoded, graph, loss, inference, scorer.fit, Settings(pruning.C, seed))
        state = optimizer.init(problem, np.zeros(problem.dimension))
        for _ in range(pruning.epochs):
            state, _ = optimizer.step(problem, state)
        if not ranges.finite(optimizer.weights(state)):
            raise NumericalError("The pruner's weights came out not finite. Set a smaller factor_graph.pruner_C.")
        return cls(pruning, pruning.graph, problem.scorer, optimizer.weights(state), loss.temperature)

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
            If the model is of another factor graph, its outputs may be none of those asked for, or its vocabulary is another.
        """
        node = model.config["factor_graph"]
        if node["name"] != pruning.graph["name"]:
            raise ConfigError(
                f"factor_graph.pruner: {pruning.model} is a model of factor_graph={node['name']}. "
                f"Give one of factor_graph={pruning.graph['name']}, or leave factor_graph.pruner=null to train one."
            )
        for option in pruning.shared_options:
            if pruning.graph[option] and not getattr(model.graph, option):
                raise ConfigError(
                    f"factor_graph.pruner: the {pruning.outputs} of {pruning.model} need not be those of "
                    f"factor_graph.{option}=true, so that none may survive. Train it with factor_graph.{option}=true."
                )
        if not _same(model.task.state(), task.state()):
            raise ConfigError(
                f"factor_graph.pruner: {pruning.model} numbers {pruning.numbered} differently. Train it with the same task.* "
                "options on the same task.train, or leave factor_graph.pruner=null to train one in this run."
            )
        return cls(pruning, node, model.scorer, model.weights, model.temperature)

    def prune(self, encoded: Encoded, keep_gold: bool = False, executor: Executor | None = None) -> Pruned:
        """Return the corpus with the candidates that are kept; `keep_gold`: with those of the gold outputs too.

        The cost is that of marginals and best outputs of the coarser model.
        """
        examples, executor = Examples.build(encoded, self.graph, self.scorer, self.inference), executor or registry.serial()
        kernels, group = predicting(self.scorer, self.graph, self.inference), self.pruning.group
        listed = marginals(examples, kernels, self.weights, group, executor, self.temperature)
        best, _ = examples.structure.active_in(group, best_outputs(examples, kernels, self.weights, executor))
        return self.pruning.prune(encoded, examples.structure, np.concatenate([np.zeros(0), *listed]), best, keep_gold)

    def state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """What a saved model keeps of it, as JSON values and arrays."""
        layout, arrays = scoring.stored(self.scorer)
        values = {
            "factor_graph": self.node, "features": layout, "temperature": self.temperature, **self.pruning.thresholds
        }  # fmt: skip
        return values, {"weights": self.scorer.compress(self.weights), **arrays}

    @classmethod
    def restore(cls, pruning: Pruning, values: Mapping[str, Any], arrays: Mapping[str, Array]) -> Pruner:
        """Undo `state`, given what the saved model's factor graph declares."""
        state = SavedState(values, arrays)
        node, scorer = state.within("factor_graph"), scoring.restored(state.within("features").values, arrays)
        node.string("name", [pruning.graph["name"]])
        return cls(pruning, node.values, scorer, weights_of(scorer, arrays), state.positive("temperature"))


def _same(one: tuple[Mapping[str, Any], Mapping[str, Array]], other: tuple[Mapping[str, Any], Mapping[str, Array]]) -> bool:
    """Whether two states of tasks are equal, as they would be saved."""
    (values, arrays), (others, their) = one, other
    if durable_files.json_bytes(values) != durable_files.json_bytes(others) or arrays.keys() != their.keys():
        return False
    return all(np.array_equal(arrays[name], their[name]) for name in arrays)
