"""A pass in batches with a dense step each, for scorers whose gradients are not made of the columns of single instances."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from structopt.core.objective import Objective
from structopt.core.optimizer import State
from structopt.kernels.waist.record import Array


def run_minibatches(problem: Objective, state: State, batch_size: int, update: Callable[[Array], None]) -> float:
    """Make a step for every batch of a pass, and count pass and visits in the state; return the sum of the losses.

    Parameters
    ----------
    problem : Objective
    state : State
        With ``theta``, ``total``, ``visits`` and ``epoch``. The sum of the iterates before each update, one a visit, is collected
        in ``total``, unless that is empty.
    batch_size : int
        Instances a step; the last batch of a pass may have fewer.
    update : callable
        Takes the mean gradient of a batch's losses, shape (dimension,), and changes ``theta`` in place.
    """
    order, theta, total, losses = problem.order(state["epoch"]), state["theta"], state["total"], 0.0
    for first in range(0, len(order), batch_size):
        batch = order[first : first + batch_size]
        loss, gradient = problem.minibatch(theta, batch)
        losses += loss
        if len(total):
            total += len(batch) * theta
        update(gradient / len(batch))
        state["visits"] += float(len(batch))
    state["epoch"] += 1
    return losses


def implicit_step(theta: Array, gradient: Array, rates: Array, regularization: float, sparse: bool) -> None:
    """The step of `structopt.kernels.learn.lazy_steps`, made at all coordinates at once, in place.

    l2: (theta - r g) / (1 + r lambda)          l1: sign(x) max(0, |x| - r lambda),  x = theta - r g
    """
    theta -= rates * gradient
    if sparse:
        theta[:] = np.sign(theta) * np.maximum(0.0, np.abs(theta) - rates * regularization)
    else:
        theta /= 1.0 + rates * regularization
