"""A pass in batches, for optimizers whose steps are those of `structopt.kernels.learn.lazy_steps`."""

from __future__ import annotations

from typing import Any

import numpy as np

from structopt.core.objective import Objective
from structopt.core.optimizer import State
from structopt.kernels.waist.record import Array


def run_batches(
    problem: Objective, driver: Any, state: State, rates: Array, batch_size: int, sparse: bool, *arguments: Any
) -> float:
    """Call a driver on the batches of a pass, and count pass and visits in the state; return the sum of the losses.

    A call has batches of one size, so that a short last batch is a call of its own: its gradient is a mean, and its
    iterate enters the sum of the iterates, as often as it has instances.

    Parameters
    ----------
    problem : Problem
    driver : compiled driver
        Its arguments are the order, `Lazy`, `Rule` and the `arguments`.
    state : State
        With ``theta``, ``total``, ``visits`` and ``epoch``.
    rates : float64, shape (dimension,)
        As of the beginning of the pass; updated.
    batch_size : int
    sparse : bool
        Whether the regulariser is that of l1.
    """
    from structopt.kernels.learn.lazy_steps import Lazy, Rule

    order, room = problem.order(state["epoch"]), len(problem.space.indices)
    batch = min(batch_size, len(order))
    dense, touched = np.zeros(problem.dimension), np.zeros(min(problem.dimension, batch * room), np.int64)
    losses, full = 0.0, len(order) - len(order) % batch
    for part, size in ((order[:full], batch), (order[full:], len(order) - full)):
        if len(part):
            stamps = np.zeros(problem.dimension, np.int32)
            lazy = Lazy(state["theta"], state["total"], rates, stamps, dense, touched)
            losses += problem.run(driver, part, lazy, Rule(problem.regularization, sparse, size), *arguments)
    state["visits"] += float(len(order))
    state["epoch"] += 1
    return losses
