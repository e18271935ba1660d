"""A pass in batches with an implicit step on the regulariser after each: lazy for sparse features,
dense for other scorers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from structopt.core.memory import ProblemSizes
from structopt.core.objective import Objective
from structopt.kernels.waist.drivers import Driver
from structopt.kernels.waist.record import Array
from structopt.learning.averaging import VisitState, add_to_total

HELPERS = "structopt.kernels.learn.helpers"
"""The module of kernels for threads that share visits."""
VISITS = 16
"""Visits a thread between two sums of gradients: enough that threads seldom wait for each other."""


def lazy_bytes(sizes: ProblemSizes) -> int:
    """Bytes of the rates and of the gradient of a batch, and of the visits at which weights were
    last up to date.
    """
    return 2 * sizes.weight_vector + sizes.weight_vector // 2


def lazy_pass(
    problem: Objective,
    driver: Driver[..., float],
    state: VisitState,
    batch_size: int,
    sparse: bool,
    *arguments: Any,
) -> float:
    """Call a driver that steps by `structopt.kernels.learn.lazy_regularization`; return the sum of
    the losses.

    The executor's threads share the visits of a batch; results are bit-identical for any number of
    threads. The pass and its visits are counted in the state. A call has batches of one size, so
    that a short last batch is a call of its own: its gradient is a mean, and its iterate enters the
    sum of the iterates as often as it has instances.

    Parameters
    ----------
    problem : Objective
    driver : compiled driver
        Its arguments are the order, `Lazy`, `Rule`, `Slots`, the counters of a team of threads and
        the `arguments`. It sets the rates of weights that are not 0 first.
    state : VisitState
    batch_size : int
    sparse : bool
        Whether the regulariser is that of l1.
    """
    from structopt.kernels.learn.lazy_regularization import STALE, Lazy, Rule, Slots

    order, most = problem.order(state.epoch), len(problem.space.indices)
    batch = min(batch_size, len(order))
    rates, dense = np.zeros(problem.dimension), np.zeros(problem.dimension)
    touched = np.zeros(min(problem.dimension, batch * most), np.int64)
    stale, missed = np.zeros(STALE, np.int64), np.zeros(STALE, np.int32)
    threads = problem.threads(batch)
    count = 1 if threads == 1 else min(batch, VISITS * threads)
    slots = Slots(
        np.zeros(count),
        np.zeros(count, np.int64),
        np.zeros(count * most, np.int64),
        np.zeros(count * most),
    )
    losses, full = 0.0, len(order) - len(order) % batch
    for visits, size in ((order[:full], batch), (order[full:], len(order) - full)):
        if len(visits):
            stamps = np.zeros(problem.dimension, np.int32)
            lazy = Lazy(state.theta, state.total, rates, stamps, dense, touched, stale, missed)
            rule = Rule(problem.regularization, sparse, size)
            shared = visits, lazy, rule, slots
            losses += problem.run_together(driver, _helper, threads, shared, *arguments)
    state.visits += float(len(order))
    state.epoch += 1
    return losses


def _helper() -> Driver[..., None]:
    from structopt.kernels.learn.helpers import help_lazily

    return help_lazily


def answering_helper() -> Driver[..., None]:
    """Return the driver of threads that help with `structopt.kernels.learn.answers.answer_all`."""
    from structopt.kernels.learn.helpers import help_answering

    return help_answering


def dense_pass(
    problem: Objective, state: VisitState, batch_size: int, update: Callable[[Array], None]
) -> float:
    """Make a step at all weights for every batch; return the sum of the losses.

    For scorers whose gradients are not made of the columns of single instances. The pass and its
    visits are counted in the state.

    Parameters
    ----------
    problem : Objective
    state : VisitState
    batch_size : int
        Instances a step; the last batch of a pass may have fewer.
    update : callable
        Takes the mean gradient of a batch's losses, shape (dimension,), and changes ``theta`` in
        place.
    """
    order, losses = problem.order(state.epoch), 0.0
    for first in range(0, len(order), batch_size):
        batch = order[first : first + batch_size]
        loss, gradient = problem.minibatch(state.theta, batch, (state.epoch, first))
        losses += loss
        add_to_total(state, len(batch))
        update(gradient / len(batch))
        state.visits += float(len(batch))
    state.epoch += 1
    return losses


def dense_step(
    theta: Array, gradient: Array, rates: Array, regularization: float, sparse: bool
) -> None:
    """Make the step of `structopt.kernels.learn.lazy_regularization` at all coordinates at once, in
    place.

    l2: (theta - r g) / (1 + r lambda)          l1: sign(x) max(0, |x| - r lambda),  x = theta - r g
    """
    theta -= rates * gradient
    if sparse:
        theta[:] = np.sign(theta) * np.maximum(0.0, np.abs(theta) - rates * regularization)
    else:
        theta /= 1.0 + rates * regularization
