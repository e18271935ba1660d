"""Losses of scores, with their gradients, and probabilities of outputs."""

from __future__ import annotations

from functools import partial
from weakref import WeakKeyDictionary

import numpy as np

from structopt.core.cost import cost_vectors
from structopt.core.inference import Inference
from structopt.core.loss import Loss
from structopt.core.parts.batch import Gold
from structopt.core.parts.parts import Parts
from structopt.errors import ArgumentError
from structopt.kernels.waist.record import Array, Record
from structopt.loss.presets import CRF
from structopt.objective.array_losses import evaluated
from structopt.objective.examples import target_of
from structopt.verbs.given_scores import solver_of
from structopt.verbs.inferring import infer, log_partition, scores_batch


def value_and_gradient(
    loss: Loss,
    scores: Parts,
    gold: Gold,
    inference: Inference | None = None,
    *,
    threads: int = 1,
) -> tuple[Array, Parts]:
    """Return the loss of each instance, and its (sub)gradient by the scores.

    Parameters
    ----------
    loss : Loss
    scores : Parts
    gold : Gold
        Gold of the batch. The loss of an open instance is that of its set of outputs.
    inference : Inference or None
        None: exact inference.
    threads : int

    Returns
    -------
    (float64 of shape (instances,), Parts)
        L_i and dL_i/ds; of the family, expected minus gold indicators.

    Raises
    ------
    ArgumentError
        For gold of another batch, open instances if the loss takes none, and an inference that
        lacks an ability which the loss needs.
    """
    batch = scores_batch(scores)
    if not isinstance(gold, Gold) or gold.batch is not batch:
        raise ArgumentError(
            "must be gold of the batch of the scores.",
            parameter="gold",
            remedy="Make it by batch.gold(...).",
        )
    if gold.open.any() and not loss.takes_sets:
        raise ArgumentError(
            f"is known in part only, and {loss.member} takes no sets of outputs.",
            parameter="gold",
            where=f"instance {int(np.argmax(gold.open))}",
        )
    if not loss.has_kernel:
        solver_of(batch, inference, loss.requires)
        return evaluated(loss, scores, gold, partial(infer, inference=inference, threads=threads))
    solver = solver_of(batch, inference, loss.requires)
    target, parameters = _target(loss, gold), loss.parameters()
    return solver.losses(scores, loss.kernel(), target, parameters, threads)


def log_prob(
    scores: Parts, gold: Gold | Parts, inference: Inference | None = None, *, threads: int = 1
) -> Array:
    """Return log p(y) = s^T z_y - V(s) at temperature 1, shape (instances,).

    If an instance is open, p(y) is the probability that an output is right. Forbidden outputs have
    the logarithm -inf.

    Parameters
    ----------
    scores : Parts
    gold : Gold or Parts
        Gold of the batch, or the indicators of outputs, such as `Best.parts`.
    inference : Inference or None
        None: exact inference.
    threads : int
    """
    if isinstance(gold, Gold):
        return -value_and_gradient(CRF(), scores, gold, inference, threads=threads)[0]
    partition = log_partition(scores, inference, threads=threads)
    return scores.batch.constrained(scores) @ gold - partition


_targets: WeakKeyDictionary[Gold, tuple[Loss, Record]] = WeakKeyDictionary()
"""The last loss of each gold in use, with its targets and costs."""


def _target(loss: Loss, gold: Gold) -> Record:
    """Return gold outputs and costs as kernels read them."""
    last = _targets.get(gold)
    if last is not None and last[0] is loss:
        return last[1]
    points, graph, structure = gold.targets.points, gold.batch.graph, gold.batch.structure
    costs = cost_vectors(graph, gold.encoded, structure, loss.role, loss.variable_costs, points)
    record = target_of(gold.targets, costs)
    _targets[gold] = loss, record
    return record
