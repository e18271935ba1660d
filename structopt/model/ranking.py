"""The k best outputs of instances, decoded: with their scores, and their probabilities where the
loss gives a distribution.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp
from typing import Any, NamedTuple

import numpy as np

from structopt.core.factor_graph import FactorGraph
from structopt.core.task import Ranked, Task
from structopt.objective.decoding import KBest, decoded, joined
from structopt.objective.examples import Examples


class Scored(NamedTuple):
    """One of the k best outputs of an instance.

    Attributes
    ----------
    score : float
        s(y), the sum of the weights of its features, in nats.
    output : object
        As `Model.predict` returns it.
    probability : float or None
        exp(beta s(y)) / sum_y' exp(beta s(y')); None where beta = inf, which gives no distribution.
    """

    score: float
    output: Any
    probability: float | None = None


def scored(ranked: Ranked, log_partition: float | None, temperature: float) -> list[Scored]:
    """Return the outputs of an instance with probabilities, given T log sum_y exp(s(y) / T) at the
    temperature T; None: the loss gives no distribution.
    """
    if log_partition is None:
        return [Scored(*pair) for pair in ranked]
    return [
        Scored(score, output, min(exp((score - log_partition) / temperature), 1.0))
        for score, output in ranked
    ]


def ranked_outputs(
    task: Task, graph: FactorGraph, examples: Examples, lists: Sequence[KBest], k: int
) -> list[Ranked]:
    """Return scores and outputs of the k best of every instance, the best first; fewer where there
    are fewer. An empty instance has one output, with score 0.
    """
    everywhere = examples.spread([best.scores for best in lists], np.zeros(1))
    ranked: list[Ranked] = [[] for _ in everywhere]
    for rank in range(k if ranked else 0):
        outputs = joined([best.outputs.subset(*_bounds(rank, len(best.scores))) for best in lists])
        written = task.written(decoded(task, graph, examples, outputs))
        for of_instance, scores, output in zip(ranked, everywhere, written, strict=True):
            if rank < len(scores):
                of_instance.append((float(scores[rank]), output))
    return ranked


def _bounds(rank: int, count: int) -> tuple[int, int]:
    """Return the bounds of the output of a rank in a list, of the last one where it is shorter;
    there always is one.
    """
    last = max(min(rank, count - 1), 0)
    return last, last + 1
