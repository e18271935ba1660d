"""Outputs of a model: best labellings, marginals and k-best lists of a corpus, on as many threads as the executor has."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from structopt.core.data import EncodedGraphs
from structopt.core.executor import Executor
from structopt.core.factor_graph import FactorGraph
from structopt.core.inference import Inference
from structopt.errors import ConfigError
from structopt.kernels.record import Array, Record
from structopt.kernels.signatures import Kernels, Space
from structopt.problem import Examples, run_driver


class KBest(NamedTuple):
    """The best labellings of one instance: `scores`, shape (k,), and `assignments`, shape (k, variables)."""

    scores: Array
    assignments: Array


def best_outputs(
    examples: Examples, kernels: Kernels, weights: Array, executor: Executor, temperature: float = 0.0
) -> Array:
    """Return the number of every variable's configuration in the highest-scoring output, shape (variables,).

    Above temperature 0 it is the output that the graph makes of the marginals at that temperature.
    """
    return _outputs(examples, kernels, weights, executor, temperature, False)[0]


def marginals(
    examples: Examples, kernels: Kernels, weights: Array, executor: Executor, temperature: float = 1.0
) -> list[Array]:
    """Return the probability of every configuration of every variable at the given temperature, one array an instance.

    Each has the shape (variables, configurations), or is flat, variable by variable, where they have different numbers.
    """
    flat = _outputs(examples, kernels, weights, executor, temperature, True)[1]
    bounds = choices_of(examples)[examples.encoded.offsets]
    tables = [flat[a:b] for a, b in pairwise(bounds.tolist())]
    if isinstance(examples.encoded, EncodedGraphs):
        return [table.reshape(-1, len(examples.encoded.labels)) for table in tables]
    if examples.structure.choices is not None:
        return tables
    return [table.reshape(-1, examples.structure.groups[0].width) for table in tables]


def predicted(
    examples: Examples, graph: FactorGraph, inference: Inference, kernels: Kernels, weights: Array, executor: Executor
) -> Array:
    """What the task decodes: the best outputs, at the temperature at which the inference predicts."""
    return chosen(graph, examples, best_outputs(examples, kernels, weights, executor, inference.decoding_temperature))


def chosen(graph: FactorGraph, examples: Examples, assignments: Array) -> Array:
    """What the task decodes, from the numbers of the chosen configurations."""
    return graph.outputs(examples.encoded, examples.structure, assignments)


def choices_of(examples: Examples) -> Array:
    """Where the configurations of each variable begin in a list over all variables of the corpus."""
    if examples.structure.choices is not None:
        return examples.structure.choices
    return np.arange(int(examples.encoded.offsets[-1]) + 1, dtype=np.int64) * examples.structure.groups[0].width


def _outputs(
    examples: Examples, kernels: Kernels, weights: Array, executor: Executor, temperature: float, keep: bool
) -> tuple[Array, Array]:
    from structopt.kernels.passes import output_pass

    variables, choices = examples.encoded.offsets, choices_of(examples)
    assignment = np.zeros(int(variables[-1]), np.int32)
    table = np.zeros(int(choices[-1]) if keep else 0)

    def shard(bounds: tuple[int, int]) -> int:
        space, (data, theta) = examples.space(gradients=False), examples.scored(examples.data(), weights, bounds)
        rest = (temperature, variables, choices, *bounds, theta, assignment, table)
        return int(run_driver(output_pass, kernels, data, space, *rest))

    for failed in executor.map(shard, examples.shards()):
        if failed >= 0:
            raise ConfigError(f"The constraints allow no output for instance {failed + 1}; loosen the partial labels.")
    return assignment, table


def k_best(examples: Examples, kernels: Kernels, weights: Array, k: int, executor: Executor) -> list[KBest]:
    """Return the k best outputs of every instance, best first (fewer where there are fewer)."""
    from structopt.kernels.calculus import no_k_best

    if kernels.k_best is no_k_best:
        raise ConfigError("This inference has no lists of the k best outputs; inference=exact and enumeration have.")

    def shard(bounds: tuple[int, int]) -> list[KBest]:
        space, (data, theta) = examples.space(gradients=False), examples.scored(examples.data(), weights, bounds)
        return [_instance_k_best(examples, data.features, kernels, theta, k, i, space) for i in range(*bounds)]

    return [lists for part in executor.map(shard, examples.shards()) for lists in part]


def _instance_k_best(
    examples: Examples, features: Record, kernels: Kernels, weights: Array, k: int, i: int, space: Space
) -> KBest:
    structure, variables = examples.structure, examples.encoded.offsets
    n = int(variables[i + 1] - variables[i])
    s = space.scores[: structure.parts[i + 1] - structure.parts[i]]
    kernels.scores(features, weights, i, s)
    values, assignments = np.zeros(k), np.zeros(k * n, np.int32)
    found = kernels.k_best(structure.record, i, s, k, values, assignments, space.work)
    return KBest(values[:found], assignments.reshape(k, n)[:found])
