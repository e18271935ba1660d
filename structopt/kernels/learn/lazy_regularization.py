"""Lazy regularisation: steps that shrink all weights, made at a coordinate when it is read, with the same result.

With g the mean gradient of a batch's losses and a rate r_f for every coordinate f, every step is

    l2: theta_f <- (theta_f - r_f g_f) / (1 + r_f lambda)
    l1: theta_f <- sign(x) max(0, |x| - r_f lambda),    x = theta_f - r_f g_f,

an implicit step on the regulariser. The rates change only where g_f != 0. So the t steps that a coordinate has missed have a
closed form, and so has the sum of the iterates before them (`structopt.kernels.learn.averaging`). Source: Kummerfeld et al.
(2015), Algorithm 1.

Steps are counted by block of weights, not by weight: the counts of millions of weights stay in the processor's cache, a block
is brought up to date by vector instructions, and variants of a hashed feature are in one block.
"""

from __future__ import annotations

from math import log1p
from typing import Any, NamedTuple

import numba
import numpy as np

from structopt.kernels.arrays.exponential import exp_nonpositive
from structopt.kernels.learn.averaging import arithmetic_sum, geometric_sum
from structopt.kernels.waist.halting import halted
from structopt.kernels.waist.signatures import driven, inlined
from structopt.kernels.waist.views import part
from structopt.kernels.waist.visit import size, visit


class Lazy(NamedTuple):
    """Weights whose steps are made when they are needed.

    Attributes
    ----------
    theta : the weights; those of block b, BLOCK b <= f < BLOCK (b + 1), as of step ``stamps[b]``
    total : the sum of the iterates before each update, one a visit; or empty
    rates : r_f
    stamps : how many steps a block has made since the driver began
    dense : mean gradient of the batch, zero between steps
    touched : blocks that the batch's gradient reaches
    """

    theta: np.ndarray
    total: np.ndarray
    rates: np.ndarray
    stamps: np.ndarray
    dense: np.ndarray
    touched: np.ndarray


class Rule(NamedTuple):
    """What all steps of a driver have in common.

    Attributes
    ----------
    regularization : lambda
    sparse : whether the regulariser is lambda ||theta||_1, instead of lambda/2 ||theta||^2
    batch : visits a step
    """

    regularization: float
    sparse: bool
    batch: int


_V = np.zeros(0)
LAZY: Any = numba.typeof(Lazy(_V, _V, _V, np.zeros(0, np.int32), _V, np.zeros(0, np.int64)))  # type: ignore[no-untyped-call]
RULE: Any = numba.typeof(Rule(0.0, False, 1))  # type: ignore[no-untyped-call]


BLOCK = 16
SMALL = 1e-3  # below it five terms of the series of log(1 + a) are as good as the function, and many times as fast


@inlined
def blocks(weights):
    """Return how many blocks so many weights have."""
    return (weights + BLOCK - 1) // BLOCK


@inlined
def bounds(x, b):
    """Return the first weight of a block, and the last one's successor."""
    return b * BLOCK, min((b + 1) * BLOCK, len(x.theta))


@inlined
def log_above_one(a):
    """log(1 + a) for 0 <= a < SMALL."""
    return a * (1.0 - a * (0.5 - a * (1.0 / 3.0 - a * (0.25 - a * 0.2))))


@inlined
def total_of_missed(w, a, t, sparse, batch):
    """The sum of the iterates before each visit of t steps at which the gradients of their batches are 0.

    The weight is w before them; a is its rate times lambda.
    """
    return batch * np.sign(w) * arithmetic_sum(abs(w), a, t) if sparse else batch * w * geometric_sum(a, t)


@inlined
def catch_up(x, rule, b, now):
    """Make the steps before step `now` that a block has missed."""
    t, (first, end) = now - np.int64(x.stamps[b]), bounds(x, b)
    theta, rates, moved = part(x.theta, first, end), part(x.rates, first, end), 0.0
    x.stamps[b] = now
    for j in range(len(theta)):
        moved = max(moved, abs(theta[j]))
    if moved == 0.0:
        return
    if len(x.total) > 0:
        total = part(x.total, first, end)
        for j in range(len(theta)):
            if theta[j] != 0.0:
                total[j] += total_of_missed(theta[j], rates[j] * rule.regularization, t, rule.sparse, rule.batch)
    if rule.sparse:
        for j in range(len(theta)):
            theta[j] = np.sign(theta[j]) * max(0.0, abs(theta[j]) - rates[j] * rule.regularization * t)
        return
    largest = 0.0
    for j in range(len(theta)):
        largest = max(largest, rates[j] * rule.regularization if theta[j] != 0.0 else 0.0)
    if largest < SMALL:
        for j in range(len(theta)):
            a = rates[j] * rule.regularization if theta[j] != 0.0 else 0.0
            theta[j] *= exp_nonpositive(-t * log_above_one(a))
    else:
        for j in range(len(theta)):
            theta[j] *= exp_nonpositive(-t * log1p(rates[j] * rule.regularization))


@inlined
def catch_up_runs(x, rule, starts, widths, runs, now):
    """Do so with the blocks of the first runs of weights, starts[j] <= f < starts[j] + widths[j]."""
    stamps = x.stamps
    for j in range(runs):
        for b in range(starts[j] // BLOCK, (starts[j] + widths[j] - 1) // BLOCK + 1):
            if stamps[b] < now:
                catch_up(x, rule, b, now)


@inlined
def catch_up_all(x, rule, now):
    """Do so with all blocks."""
    for b in range(len(x.stamps)):
        if x.stamps[b] < now:
            catch_up(x, rule, b, now)


@inlined
def step(x, rule, f):
    """Make one step at coordinate f, by its rate and the batch's mean gradient, which is then cleared."""
    w = x.theta[f]
    if len(x.total) > 0:
        x.total[f] += rule.batch * w
    w -= x.rates[f] * x.dense[f]
    a = x.rates[f] * rule.regularization
    x.theta[f] = np.sign(w) * max(0.0, abs(w) - a) if rule.sparse else w / (1.0 + a)
    x.dense[f] = 0.0


@driven
def lazy_visit(k, data, space, i, x, rule, now, count):
    """Visit an instance of the batch of step `now`: return (L_i, how many blocks the batch's gradient reaches).

    The weights that the visit reads are brought up to date first. A block in `touched` has the stamp now + 1, because the
    batch's step will be made at it.
    """
    runs = k.spans(data.features, i, space.starts, space.widths, space.gradient)
    catch_up_runs(x, rule, space.starts, space.widths, runs, now)
    loss = visit(k, data, space, i, x.theta)
    k.pullback(data.features, i, part(space.residual, 0, size(data, i)), space.gradient)
    for j in range(k.flatten(data.features, space.gradient, space.indices, space.values)):
        f = space.indices[j]
        b = f // BLOCK
        if x.stamps[b] <= now:
            x.stamps[b] = now + 1
            x.touched[count] = b
            count += 1
        x.dense[f] += space.values[j] / rule.batch
    return loss, count


@driven
def visit_batch(k, data, space, batch, x, rule, now, losses):
    """Visit the batch of step `now`: return (`losses` plus those of the batch, how many blocks its gradient reaches)."""
    count = 0
    for i in batch:
        if halted():
            break
        loss, count = lazy_visit(k, data, space, i, x, rule, now, count)
        losses += loss
    return losses, count
