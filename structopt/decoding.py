"""Outputs of a model: best labellings, marginals and k-best lists of a corpus, on as many threads as the executor has."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structopt.core.protocols import Executor
from structopt.errors import ConfigError
from structopt.kernels.record import Array, Record
from structopt.kernels.signatures import Kernels
from structopt.problem import Examples, run_driver


class KBest(NamedTuple):
    """The best labellings of one instance: `scores`, shape (k,), and `assignments`, shape (k, variables)."""

    scores: Array
    assignments: Array


def best_outputs(examples: Examples, kernels: Kernels, weights: Array, executor: Executor) -> Array:
    """Return the label numbers of the highest-scoring output, shape (variables,)."""
    return _outputs(examples, kernels, weights, executor, 0.0, False)[0]


def marginals(examples: Examples, kernels: Kernels, weights: Array, executor: Executor, temperature: float = 1.0) -> Array:
    """Return the probability of every label of every variable, shape (variables, labels), at the given temperature."""
    return _outputs(examples, kernels, weights, executor, temperature, True)[1]


def _outputs(
    examples: Examples, kernels: Kernels, weights: Array, executor: Executor, temperature: float, keep: bool
) -> tuple[Array, Array]:
    from structopt.kernels.passes import output_pass

    variables, width = examples.encoded.offsets, examples.structure.groups[0].width
    assignment = np.zeros(int(variables[-1]), np.int32)
    table = np.zeros(int(variables[-1]) * width if keep else 0)

    def shard(bounds: tuple[int, int]) -> int:
        space, data = examples.space(), examples.data()
        rest = (temperature, variables, width, *bounds, weights, assignment, table)
        return int(run_driver(output_pass, kernels, data, space, *rest))

    for failed in executor.map(shard, examples.shards()):
        if failed >= 0:
            raise ConfigError(f"The constraints allow no output for instance {failed + 1}; loosen the partial labels.")
    return assignment, table.reshape(-1, width)


def k_best(examples: Examples, kernels: Kernels, weights: Array, k: int, executor: Executor) -> list[KBest]:
    """Return the k best outputs of every instance, best first (fewer where there are fewer)."""
    from structopt.kernels.calculus import no_k_best

    if kernels.k_best is no_k_best:
        raise ConfigError("This inference has no k-best lists; use inference=exact.")

    def shard(bounds: tuple[int, int]) -> list[KBest]:
        space = examples.space()
        return [_instance_k_best(examples, kernels, weights, k, i, space.scores, space.work) for i in range(*bounds)]

    return [lists for part in executor.map(shard, examples.shards()) for lists in part]


def _instance_k_best(
    examples: Examples, kernels: Kernels, weights: Array, k: int, i: int, scores: Array, work: Record
) -> KBest:
    structure, variables = examples.structure, examples.encoded.offsets
    n = int(variables[i + 1] - variables[i])
    s = scores[: structure.parts[i + 1] - structure.parts[i]]
    kernels.scores(examples.features, weights, i, s)
    values, assignments = np.zeros(k), np.zeros(k * n, np.int32)
    found = kernels.k_best(structure.record, i, s, k, values, assignments, work)
    return KBest(values[:found], assignments.reshape(k, n)[:found])
