"""Arc pruning: a model of first order leaves each token of a dependency tree few heads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from structopt.config import registry
from structopt.core.data import ranges
from structopt.core.data.encoded import ROOT, EncodedTrees
from structopt.core.executor import Executor
from structopt.core.factor_graph import Pruning
from structopt.core.scorer import Scorer
from structopt.core.task import Task
from structopt.errors import ConfigError, NumericalError
from structopt.formats import durable_files
from structopt.kernels.waist.record import Array
from structopt.objective import scoring
from structopt.objective.decoding import best_outputs, marginals
from structopt.objective.drivers import predicting
from structopt.objective.examples import Examples
from structopt.objective.problem import Problem, Settings

FIRST_ORDER = "arc_factored"
OF_OTHER_PARTS = ("labels", "siblings", "grandparents")
"""Parameters of features of parts that a graph of arcs alone does not have."""


class Pruned(NamedTuple):
    """A corpus with few candidate heads.

    Attributes
    ----------
    encoded : EncodedTrees
    heads : float
        Candidate heads a token.
    recall : float or None
        Share of the gold arcs that the pruner keeps by itself; None where there is no gold.
    """

    encoded: EncodedTrees
    heads: float
    recall: float | None


class Pruner:
    """Keeps the heads h of each token m with p(h, m) >= ratio * max_g p(g, m), the max_heads most probable of them at most.

    p are the arc marginals of a model of factor_graph=arc_factored. The arcs of its best tree are always kept, so that a tree
    survives whatever is pruned.

    Parameters
    ----------
    graph : mapping
        The config's node ``factor_graph`` of that model.
    scorer : Scorer
    weights : float64, shape (dimension,)
    temperature : float
        At which its marginals are taken.
    ratio : float
    max_heads : int
        0: any number.

    Notes
    -----
    Martins et al. (2009), section 5; thresholds relative to the best head as in Rush and Petrov (2012).
    """

    def __init__(
        self,
        graph: Mapping[str, Any],
        scorer: Scorer,
        weights: Array,
        temperature: float,
        ratio: float,
        max_heads: int,
    ) -> None:
        self.node, self.scorer, self.weights = dict(graph), scorer, weights
        self.temperature, self.ratio, self.max_heads = temperature, ratio, max_heads
        self.graph = registry.create("factor_graph", self.node)
        self.inference = registry.create("inference", {"name": "exact"})

    @classmethod
    def train(cls, encoded: EncodedTrees, wanted: Pruning, scorer: Scorer, seed: int = 0) -> Pruner:
        """Train a conditional random field over trees of the same kind, without relations, by dual coordinate ascent.

        Parameters
        ----------
        encoded : EncodedTrees
            Whose gold trees the graph allows.
        wanted : Pruning
        scorer : Scorer
            Not fitted; of features of arcs alone.
        seed : int
            Of the order of the sentences.
        """
        node = {
            "name": FIRST_ORDER, "projective": wanted.projective, "labeled": False, "single_root": wanted.single_root
        }  # fmt: skip
        graph, inference = registry.create("factor_graph", node), registry.create("inference", {"name": "exact"})
        loss = registry.create("loss", {"name": "crf", "beta": 1.0, "gamma": 0.0})
        optimizer = registry.create("optimizer", {"name": "dca", "C": wanted.C, "epochs": wanted.epochs})
        problem = Problem.of(encoded, graph, loss, inference, scorer.fit, Settings(wanted.C, seed))
        state = optimizer.init(problem, np.zeros(problem.dimension))
        for _ in range(wanted.epochs):
            state, _ = optimizer.step(problem, state)
        if not ranges.finite(optimizer.weights(state)):
            raise NumericalError("The pruner's weights came out not finite. Set a smaller factor_graph.pruner_C.")
        return cls(node, problem.scorer, optimizer.weights(state), loss.temperature, wanted.ratio, wanted.max_heads)

    @classmethod
    def of_model(cls, model: Any, task: Task, wanted: Pruning) -> Pruner:
        """Prune by a model that was trained before.

        Parameters
        ----------
        model : structopt.model.model.Model
        task : component
            The fitted task of the run, whose numbers of words and relations must be the model's.
        wanted : Pruning

        Raises
        ------
        ConfigError
            If the model is of another kind, its trees may be none of the graph's, or it was trained on other data.
        """
        node = model.config["factor_graph"]
        if node["name"] != FIRST_ORDER:
            raise ConfigError(
                f"factor_graph.pruner: {wanted.model} is a model of factor_graph={node['name']}. "
                f"Give one of factor_graph={FIRST_ORDER}, or leave factor_graph.pruner=null to train one."
            )
        for option in ("projective", "single_root"):
            if getattr(wanted, option) and not getattr(model.graph, option):
                raise ConfigError(
                    f"factor_graph.pruner: the trees of {wanted.model} need not be those of factor_graph.{option}=true, so that "
                    f"none may survive. Train it with factor_graph.{option}=true."
                )
        if not _same(model.task.state(), task.state()):
            raise ConfigError(
                f"factor_graph.pruner: {wanted.model} numbers words or relations differently. Train it with the same task.* "
                "options on the same task.train, or leave factor_graph.pruner=null to train one in this run."
            )
        return cls(node, model.scorer, model.weights, model.temperature, wanted.ratio, wanted.max_heads)

    def prune(self, encoded: EncodedTrees, keep_gold: bool = False, executor: Executor | None = None) -> Pruned:
        """Return the corpus with the candidates that are left; `keep_gold`: with those of the gold trees too.

        The cost is that of marginals and best trees of first order: O(n^3) a sentence.
        """
        examples = Examples.build(encoded, self.graph, self.scorer, self.inference)
        structure, executor = examples.structure, executor or registry.serial()
        kernels = predicting(self.scorer, self.graph, self.inference)
        head, modifier = structure.places["arc"].T
        token = np.repeat(encoded.offsets[:-1], np.diff(structure.spans("arc")[1])) + modifier
        arcs = np.concatenate([[0], np.cumsum(np.bincount(token, minlength=int(encoded.offsets[-1])))])
        listed = marginals(examples, kernels, self.weights, "arc", executor, self.temperature)
        keep = probable(np.concatenate([np.zeros(0), *listed]), arcs, self.ratio, self.max_heads)
        keep[structure.active_in("arc", best_outputs(examples, kernels, self.weights, executor))[0]] = True
        heads = np.where(head == ROOT, modifier, head)
        recall = None
        if encoded.heads is not None:
            gold = heads == encoded.heads[token]
            recall = float((gold & keep).sum()) / max(len(encoded.heads), 1)
            keep |= gold & keep_gold
        left = np.concatenate([[0], np.cumsum(np.bincount(token[keep], minlength=len(arcs) - 1))]).astype(np.int64)
        pruned = replace(encoded, candidates=(left, heads[keep].astype(np.int32)))
        return Pruned(pruned, float(left[-1]) / max(len(left) - 1, 1), recall)

    def state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """All there is to it, as JSON values and arrays."""
        layout, arrays = scoring.stored(self.scorer)
        values = {
            "factor_graph": self.node, "features": layout, "temperature": self.temperature,
            "ratio": self.ratio, "max_heads": self.max_heads,
        }  # fmt: skip
        return values, {"weights": self.scorer.compress(self.weights), **arrays}

    @classmethod
    def restore(cls, values: Mapping[str, Any], arrays: Mapping[str, Array]) -> Pruner:
        """Undo `state`."""
        scorer = scoring.restored(values["features"], arrays)
        weights = scorer.expand(arrays["weights"])
        return cls(values["factor_graph"], scorer, weights, values["temperature"], values["ratio"], values["max_heads"])


def probable(p: Array, arcs: Array, ratio: float, max_heads: int) -> Array:
    """Which arcs are at least so probable as a share of the token's best, and among its `max_heads` most probable.

    Parameters
    ----------
    p : float64, shape (arcs,)
    arcs : int64, shape (tokens + 1,)
        Where the arcs of each token begin; every token has one at least.
    ratio : float
    max_heads : int
        0: any number.

    Returns
    -------
    bool array of shape (arcs,)
    """
    if len(arcs) == 1:
        return np.zeros(0, bool)
    counts = np.diff(arcs)
    keep = p >= ratio * np.repeat(np.maximum.reduceat(p, arcs[:-1]), counts)
    if max_heads == 0:
        return keep
    order = np.lexsort((-p, np.repeat(np.arange(len(counts)), counts)))  # token by token, the most probable first
    rank = np.empty(len(p), np.int64)
    rank[order] = np.arange(len(p)) - np.repeat(arcs[:-1], counts)
    chosen: Array = keep & (rank < max_heads)
    return chosen


def _same(one: tuple[Mapping[str, Any], Mapping[str, Array]], other: tuple[Mapping[str, Any], Mapping[str, Array]]) -> bool:
    """Whether two states of tasks are equal, as they would be saved."""
    (values, arrays), (others, their) = one, other
    if durable_files.json_bytes(values) != durable_files.json_bytes(others) or arrays.keys() != their.keys():
        return False
    return all(np.array_equal(arrays[name], their[name]) for name in arrays)
