"""How much memory a training problem takes, before it is taken: the numbers that optimizers reckon
with, and the scratch.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from structopt.core.memory import NUMBER, ProblemSizes
from structopt.kernels.waist.target import TARGET
from structopt.objective.problem import Problem

WRITTEN = 3
"""Vectors over the parts of the largest instance, of the six of a thread's scratch, that are
written to, and so take memory.
"""


def sizes_of(problem: Problem, epochs: int) -> ProblemSizes:
    """Return the numbers that the memory of an optimizer grows with."""
    gold = int(TARGET.open(problem.data.target).gold_values.sum())
    return ProblemSizes(
        problem.m,
        problem.dimension,
        problem.scorer.count,
        int(problem.structure.parts[-1]),
        gold,
        epochs,
    )


def scratch_bytes(problem: Problem) -> int:
    """Bytes of the scratch of the optimizer's thread, and of the threads that evaluate P."""
    executor, space = problem.executor, problem.space
    threads = 0 if executor.remote else min(executor.workers, executor.shards)
    tables = _bytes(space.work) + WRITTEN * NUMBER * problem.examples.most_parts
    return (1 + threads) * tables + _bytes(space.gradient)


def gradient_bytes(problem: Problem) -> int:
    """Bytes of the shards that evaluate gradients over all instances in this process, as
    `GradientShards` makes them.

    Of a corpus in files there are as many at a time as there are workers.
    """
    if problem.executor.remote:
        return 0
    examples, structure, executor = problem.examples, problem.structure, problem.executor
    shards = examples.shards(executor.shards if examples.graphs else 1)
    together = executor.workers if problem.storage.in_files else len(shards)
    total = sum(
        sorted(
            problem.scorer.batch_bytes(examples.encoded.subset(*bounds), structure)
            for bounds in shards
        )[-together:]
    )
    most = [
        int(np.diff(structure.parts[first : last + 1]).max(initial=0)) for first, last in shards
    ]
    scratch = _bytes(structure.work) * len(shards) + WRITTEN * NUMBER * sum(most)
    vectors = 2 * min(executor.workers, len(shards)) + 2  # borrowed, and sums
    return total + scratch + NUMBER * (vectors * problem.scorer.count + int(structure.parts[-1]))


def _bytes(value: Any) -> int:
    """Bytes of an array, or of the buffers of a record."""
    return int(value.nbytes) if isinstance(value, np.ndarray) else sum(map(_bytes, value))
