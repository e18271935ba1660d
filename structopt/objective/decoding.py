"""Decoding: best outputs, marginals and k-best lists of a corpus, on as many threads as the
executor has.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from structopt.core import checks
from structopt.core.data.sparse_vectors import SparseVectors
from structopt.core.executor import Executor
from structopt.core.factor_graph import FactorGraph
from structopt.core.inference import Inference
from structopt.core.memory import NUMBER, refuse_what_does_not_fit
from structopt.core.task import Task
from structopt.errors import ArgumentError, ConfigError, InfeasibleError
from structopt.kernels.waist.interruptible import run_driver, run_quick
from structopt.kernels.waist.record import Array, Record
from structopt.kernels.waist.signatures import Data, Kernels, Space
from structopt.objective import scoring
from structopt.objective.drivers import compose
from structopt.objective.examples import SHARDS, Examples

ROOM = 1 << 16
"""Parts that a driver can list before the list is emptied."""
CLOSE = 1e-9
"""Relative difference of score and bound below which an output is proved optimal."""


class KBest(NamedTuple):
    """The k best outputs of one instance, the best first: their scores, shape (k,), and the
    outputs.
    """

    scores: Array
    outputs: SparseVectors


def best_outputs(
    examples: Examples,
    kernels: Kernels,
    weights: Array,
    executor: Executor,
    temperature: float = 0.0,
    values: Array | None = None,
) -> SparseVectors:
    """Return the highest-scoring output of every instance.

    Above temperature 0 it is the output that the graph makes of the marginals at that temperature.
    `values`, shape (instances,), receives the value of the inference for every instance.

    Raises
    ------
    ArgumentError
        If the weights have another length, type or layout, or NaN or +inf.
    InfeasibleError
        Where the hard constraints allow no output for an instance.
    """
    examples.check_weights(weights)
    own_kernels = examples.score_kernels(kernels)

    def shard(bounds: tuple[int, int]) -> SparseVectors:
        return _listed(
            examples,
            own_kernels,
            *examples.scored(examples.data(), weights, bounds),
            temperature,
            bounds,
            values,
        )

    # a call takes as long as a dozen sentences
    alone = executor.workers == 1 and (examples.scored_by_kernels or examples.scorer.cheap)
    count = 1 if alone else SHARDS
    return joined(executor.map(shard, examples.shards(count)))


def marginals(
    examples: Examples,
    kernels: Kernels,
    weights: Array,
    group: str,
    executor: Executor,
    temperature: float = 1.0,
) -> list[Array]:
    """Return the marginals of the parts of a group, one flat array an instance; see
    `flat_marginals`.
    """
    flat = flat_marginals(examples, kernels, weights, group, executor, temperature)
    return [flat[a:b] for a, b in pairwise(examples.structure.spans(group)[1].tolist())]


def flat_marginals(
    examples: Examples,
    kernels: Kernels,
    weights: Array,
    group: str,
    executor: Executor,
    temperature: float = 1.0,
) -> Array:
    """Return the marginals of the parts of a group at the given temperature, one instance after the
    other.

    Raises
    ------
    ArgumentError
        As of `best_outputs`.
    InfeasibleError
        Where the hard constraints allow no output for an instance.
    """
    from structopt.kernels.passes.marginals import marginal_pass

    examples.check_weights(weights)
    begins, offsets = examples.structure.spans(group)
    flat, own_kernels = np.zeros(int(offsets[-1])), examples.score_kernels(kernels)
    run = run_quick if examples.structure.quick else run_driver

    def shard(bounds: tuple[int, int]) -> int:
        space, (data, theta) = (
            examples.space(gradients=False, losses=False),
            examples.scored(examples.data(), weights, bounds),
        )
        first, last = bounds
        while first < last:
            rest = temperature, first, last, theta, begins, offsets, flat
            reached = int(run(marginal_pass, own_kernels, data, space, *rest))
            _check_reached(examples, reached)
            first = reached if reached >= 0 else -reached
        return first

    for _ in executor.map(shard, examples.shards()):
        pass
    return flat


def predicted_outputs(
    examples: Examples,
    task: Task,
    inference: Inference,
    kernels: Kernels,
    weights: Array,
    executor: Executor,
    temperature: float = 1.0,
) -> SparseVectors:
    """Predictions: the best outputs, or where the task asks for that, those made of the marginals
    at a temperature.
    """
    at = decoding_temperature(task, inference, temperature)
    return best_outputs(examples, kernels, weights, executor, at)


def decoding_temperature(task: Task, inference: Inference, temperature: float) -> float:
    """Return the temperature of the marginals that outputs are read from; 0 for best outputs."""
    return (temperature or 1.0) if task.rounds_marginals else inference.decoding_temperature


def proved(upper: Array, scores: Array) -> Array:
    """Whether upper bounds prove that no output scores higher, bool."""
    return np.asarray(upper - scores <= CLOSE * (1.0 + np.abs(scores)))


def output_scores(examples: Examples, weights: Array, outputs: SparseVectors) -> Array:
    """Return the score of an output of every instance, theta^T f(x, y), float64, shape
    (instances,).

    Raises
    ------
    ArgumentError
        As of `best_outputs`.
    """
    examples.check_weights(weights)
    parts, scores = examples.structure.parts, np.zeros(len(examples))
    for first, last in examples.shards():
        own, flat = outputs.subset(first, last), examples.scores(weights, np.arange(first, last))
        counts = np.diff(own.offsets)
        begin = np.repeat(parts[first:last] - parts[first], counts)
        instance = np.repeat(np.arange(last - first), counts)
        scores[first:last] = np.bincount(
            instance, own.values * flat[begin + own.parts], last - first
        )
    return scores


def best_at_scores(
    examples: Examples, scores: SparseVectors, inference: Inference, executor: Executor
) -> SparseVectors:
    """Return the best output of every instance under given scores of its parts, the others being
    0.
    """
    kernels = compose(scoring.copying_kernels(), inference.kernels(examples.structure.kind))

    def shard(bounds: tuple[int, int]) -> SparseVectors:
        first, last = bounds
        starts, own = examples.structure.parts, scores.subset(first, last)
        dense = np.zeros(int(starts[last] - starts[first]))
        dense[np.repeat(starts[first:last] - starts[first], np.diff(own.offsets)) + own.parts] = (
            own.values
        )
        data = examples.data()._replace(
            features=scoring.precomputed_scores(examples.structure, first)
        )
        return _listed(examples, kernels, data, dense, 0.0, bounds)

    return joined(executor.map(shard, examples.shards()))


def decoded(
    task: Task, graph: FactorGraph, examples: Examples, outputs: SparseVectors
) -> list[Any]:
    """Decode outputs by the view that the task asks for; empty instances have the empty output."""
    view = graph.view(task.view, examples.encoded, examples.structure, outputs)
    return examples.spread(task.decode(examples.encoded, view), task.empty_output)


def joined(lists: list[SparseVectors]) -> SparseVectors:
    """Outputs of consecutive instances, put together."""
    if len(lists) == 1:
        return lists[0]
    ends = np.cumsum([0, *(int(one.offsets[-1]) for one in lists)])
    offsets = [one.offsets[1:] + end for one, end in zip(lists, ends[:-1].tolist(), strict=True)]
    parts, values = [one.parts for one in lists], [one.values for one in lists]
    return SparseVectors(
        np.concatenate([np.zeros(1, np.int64), *offsets]),
        np.concatenate([np.zeros(0, np.int32), *parts]),
        np.concatenate([np.zeros(0), *values]),
    )


def _listed(
    examples: Examples,
    kernels: Kernels,
    data: Data,
    theta: Array,
    temperature: float,
    bounds: tuple[int, int],
    values: Array | None = None,
) -> SparseVectors:
    """Best outputs of a range of instances; their values are written to the range in `values`."""
    from structopt.kernels.passes.outputs import output_pass

    run = run_quick if examples.structure.quick else run_driver
    (first, last), lists = bounds, []
    parts_of_all = int(examples.structure.parts[last] - examples.structure.parts[first])
    room = min(max(ROOM, examples.most_parts), parts_of_all)
    space = examples.space(gradients=False, losses=False)
    offsets, parts, counts = (
        np.zeros(last - first + 1, np.int64),
        np.empty(room, np.int32),
        np.empty(room),
    )
    while first < last:
        own = np.zeros(0) if values is None else values[first:last]
        rest = temperature, first, last, theta, offsets, parts, counts, own
        reached = int(run(output_pass, kernels, data, space, *rest))
        _check_reached(examples, reached)
        solved = reached if reached >= 0 else -1 - reached
        end = int(offsets[solved - first])
        lists.append(
            SparseVectors(
                offsets[: solved - first + 1].copy(), parts[:end].copy(), counts[:end].copy()
            )
        )
        if reached < 0:
            lists.append(_no_output())
        first = solved + (reached < 0)
    return joined(lists)


def _no_output() -> SparseVectors:
    """The prediction for one instance that has no output."""
    return SparseVectors(np.zeros(2, np.int64), np.zeros(0, np.int32), np.zeros(0))


def _check_reached(examples: Examples, reached: int) -> None:
    """Refuse an instance without an output, for which the drivers return -1 - i, unless that is to
    be expected.
    """
    if reached < 0 and not examples.structure.kind.incomplete:
        raise InfeasibleError(
            "The constraints allow no output.",
            instances=[examples.instance(-1 - reached)],
            remedy="Loosen the partial labels.",
        )


def k_best(
    examples: Examples, kernels: Kernels, weights: Array, k: int, executor: Executor
) -> list[KBest]:
    """Return the k best outputs of every instance, best first (fewer if there are fewer).

    Raises
    ------
    ArgumentError
        If k is below 1, or as of `best_outputs`.
    ConfigError
        If the inference has no such lists.
    InfeasibleError
        If the constraints allow no output for an instance.
    """
    from structopt.kernels.waist.stand_ins import no_k_best

    examples.check_weights(weights)
    checks.integers("k", k, 1, shape=())
    if kernels.k_best is no_k_best:
        raise ConfigError(
            "This inference has no lists of the k best outputs; Exact() and Enumeration() have."
        )
    active = examples.structure.most_active
    room = executor.workers * k * (NUMBER * 2 + active * (NUMBER + 4))
    refuse_what_does_not_fit(
        room, f"Lists of the {k:,} best outputs, of up to {active:,} parts,", "Ask for fewer."
    )
    kernels = examples.score_kernels(kernels)

    def shard(bounds: tuple[int, int]) -> list[KBest]:
        space, (data, theta) = (
            examples.space(gradients=False, losses=False),
            examples.scored(examples.data(), weights, bounds),
        )
        return [
            _instance_k_best(examples, data.features, kernels, theta, k, i, space)
            for i in range(*bounds)
        ]

    return [best for lists in executor.map(shard, examples.shards()) for best in lists]


def _instance_k_best(
    examples: Examples,
    features: Record,
    kernels: Kernels,
    weights: Array,
    k: int,
    i: int,
    space: Space,
) -> KBest:
    structure, room = examples.structure, k * examples.structure.most_active
    s = space.scores[: structure.parts[i + 1] - structure.parts[i]]
    kernels.scores(features, weights, i, s, space.gradient)
    values, offsets, parts, counts = (
        np.zeros(k),
        np.zeros(k + 1, np.int64),
        np.zeros(room, np.int32),
        np.zeros(room),
    )
    count = int(
        kernels.k_best(structure.record, i, s, k, values, offsets, parts, counts, space.work)
    )
    # the best come first; those that break constraints last
    count = int(np.count_nonzero(values[:count] > -np.inf))
    _check_reached(examples, count or -1 - i)
    if not count:
        return KBest(values[:0], _no_output())
    end = int(offsets[count])
    return KBest(
        values[:count], SparseVectors(offsets[: count + 1], parts[:end].copy(), counts[:end].copy())
    )


def log_partitions(
    examples: Examples, kernels: Kernels, weights: Array, executor: Executor, temperature: float
) -> Array:
    """Return T log sum_y exp(s(y) / T) at the temperature T > 0 for every instance, shape
    (instances,).

    Raises
    ------
    ArgumentError
        If the temperature is not positive, or as of `best_outputs`.
    """
    examples.check_weights(weights)
    if not temperature > 0.0:
        raise ArgumentError("must be above 0.", parameter="temperature", value=temperature)
    kernels = examples.score_kernels(kernels)

    def shard(bounds: tuple[int, int]) -> list[float]:
        space, (data, theta) = (
            examples.space(gradients=False, losses=False),
            examples.scored(examples.data(), weights, bounds),
        )
        return [_log_partition(kernels, data, space, theta, i, temperature) for i in range(*bounds)]

    return np.array(
        [value for values in executor.map(shard, examples.shards()) for value in values]
    )


def _log_partition(
    kernels: Kernels, data: Data, space: Space, weights: Array, i: int, temperature: float
) -> float:
    n = int(data.parts[i + 1] - data.parts[i])
    s, z, memory = (
        space.scores[:n],
        space.residual[:n],
        data.messages[data.memory[i] : data.memory[i + 1]],
    )
    kernels.scores(data.features, weights, i, s, space.gradient)
    return float(kernels.solve(data.structure, i, s, temperature, z, memory, space.work))
