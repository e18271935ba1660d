"""Lazy regularisation: steps that shrink all weights, made at a coordinate when it is read, with
the same result.

With g the mean gradient of a batch's losses and a rate r_f for every coordinate f, every step is

    l2: theta_f <- (theta_f - r_f g_f) / (1 + r_f lambda)
    l1: theta_f <- sign(x) max(0, |x| - r_f lambda),    x = theta_f - r_f g_f,

an implicit step on the regulariser. The rates change only where g_f != 0. So the t steps that a
coordinate has missed have a closed form, and so has the sum of the iterates before them
(`structopt.kernels.learn.averaging`). Source: Kummerfeld et al. (2015), Algorithm 1.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np

from structopt.kernels.learn.averaging import arithmetic_sum, geometric_sum
from structopt.kernels.waist.halting import halted
from structopt.kernels.waist.signatures import driven, inlined
from structopt.kernels.waist.team import announce, claim, enter, leave, report, wait_for_all
from structopt.kernels.waist.views import part, prefetch
from structopt.kernels.waist.visit import size, visit_listed


class Lazy(NamedTuple):
    """Weights whose steps are made when they are needed.

    Attributes
    ----------
    theta : the weights; coordinate f as of step ``stamps[f]``
    total : the sum of the iterates before each update, one a visit; or empty
    rates : r_f, of weights that are not 0
    stamps : how many steps a coordinate has made since the driver began; of weights that are 0
    perhaps fewer dense : mean gradient of the batch, zero between steps touched : coordinates that
    the batch's gradient reaches stale, missed : scratch, coordinates that have missed steps, and
    how many
    """

    theta: np.ndarray
    total: np.ndarray
    rates: np.ndarray
    stamps: np.ndarray
    dense: np.ndarray
    touched: np.ndarray
    stale: np.ndarray
    missed: np.ndarray


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


class Slots(NamedTuple):
    """Losses and gradients of visits, until they are added up.

    Attributes
    ----------
    losses : one a slot
    counts : entries of the gradient in each slot
    indices, values : these gradients, as many entries a slot as any instance has
    """

    losses: np.ndarray
    counts: np.ndarray
    indices: np.ndarray
    values: np.ndarray


_V, _I, _N = np.zeros(0), np.zeros(0, np.int32), np.zeros(0, np.int64)
LAZY: Any = numba.typeof(Lazy(_V, _V, _V, _I, _V, _N, _N, _I))  # type: ignore[no-untyped-call]
RULE: Any = numba.typeof(Rule(0.0, False, 1))  # type: ignore[no-untyped-call]
SLOTS: Any = numba.typeof(Slots(_V, _N, _N, _V))  # type: ignore[no-untyped-call]


AHEAD = 32  # runs of weights, or weights
STALE = 1 << 16  # at a time


@inlined
def power(base, exponent):
    """base^exponent by repeated squaring, which takes less time than the general power."""
    result = 1.0
    while exponent > 0:
        if exponent & 1:
            result *= base
        base *= base
        exponent >>= 1
    return result


@inlined
def after_missed(w, a, t, sparse):
    """A coordinate w after t steps at which the gradients of their batches are 0; a is its rate
    times lambda.
    """
    return np.sign(w) * max(0.0, abs(w) - a * t) if sparse else w * power(1.0 / (1.0 + a), t)


@inlined
def total_of_missed(w, a, t, sparse, batch):
    """The sum of the iterates before each visit of these steps."""
    return (
        batch * np.sign(w) * arithmetic_sum(abs(w), a, t)
        if sparse
        else batch * w * geometric_sum(a, t)
    )


@inlined
def step(x, rule, f):
    """Make one step at coordinate f, by its rate and the batch's mean gradient, which is then
    cleared.
    """
    w = x.theta[f]
    if len(x.total) > 0:
        x.total[f] += rule.batch * w
    w -= x.rates[f] * x.dense[f]
    a = x.rates[f] * rule.regularization
    x.theta[f] = np.sign(w) * max(0.0, abs(w) - a) if rule.sparse else w / (1.0 + a)
    x.dense[f] = 0.0


@inlined
def make_missed(x, rule, count):
    """Make the missed steps of the first coordinates of `stale`."""
    theta, total, rates, stale, missed, averaged = (
        x.theta,
        x.total,
        x.rates,
        x.stale,
        x.missed,
        len(x.total) > 0,
    )
    for q in range(count):
        if q + AHEAD < count:
            prefetch(theta, stale[q + AHEAD])
            prefetch(rates, stale[q + AHEAD])
        f, t = stale[q], np.int64(missed[q])
        w = theta[f]
        if w != 0.0:
            a = rates[f] * rule.regularization
            if averaged:
                total[f] += total_of_missed(w, a, t, rule.sparse, rule.batch)
            theta[f] = after_missed(w, a, t, rule.sparse)


@inlined
def catch_up(x, rule, starts, widths, runs, now):
    """Make the steps before step `now` that coordinates have missed: in the first runs, starts[j]
    <= f < starts[j] + widths[j].

    Weights that are runs of their own are read several times by an instance: those that have missed
    steps are first listed, each once, by their stamps alone. In longer runs most weights are 0, and
    skipped. All loops would wait for memory most of the time: so what is AHEAD runs ahead is asked
    for. They hand no array to a function, each of which would be counted as a reference.
    """
    theta, total, rates, stamps, averaged = x.theta, x.total, x.rates, x.stamps, len(x.total) > 0
    stale, missed, count = x.stale, x.missed, 0
    for j in range(runs):
        if j + AHEAD < runs:
            ahead = starts[j + AHEAD]
            prefetch(stamps, ahead)
            if widths[j + AHEAD] > 1:
                prefetch(theta, ahead)
                prefetch(rates, ahead)
        if widths[j] == 1:
            f = starts[j]
            stale[count] = f
            missed[count] = np.int32(now) - stamps[f]
            count += stamps[f] < now  # without a branch, which could not be foreseen
            stamps[f] = max(stamps[f], np.int32(now))
            if count == len(stale):
                make_missed(x, rule, count)
                count = 0
            continue
        for f in range(starts[j], starts[j] + widths[j]):
            w = theta[f]
            if w != 0.0:
                t = now - np.int64(stamps[f])
                if t > 0:
                    a = rates[f] * rule.regularization
                    if averaged:
                        total[f] += total_of_missed(w, a, t, rule.sparse, rule.batch)
                    theta[f] = after_missed(w, a, t, rule.sparse)
                    stamps[f] = now
    make_missed(x, rule, count)


@inlined
def catch_up_all(x, rule, now):
    """Do so with all coordinates."""
    starts, widths = np.zeros(1, np.int64), np.full(1, len(x.theta), np.int64)
    catch_up(x, rule, starts, widths, 1, now)


@driven
def lazy_visit(k, data, space, order, j, x, rule, slots, team):
    """Make visit j of the order: its loss and its sparse gradient go into its slot.

    The weights that the visit reads are brought up to date first, by one thread at a time. They are
    then up to date for all threads until the batch's step, so it does not matter who does it.
    """
    i, now, slot = order[j], j // rule.batch, j % len(slots.losses)
    runs = k.spans(data.features, i, space.starts, space.widths, space.gradient)
    enter(team)
    catch_up(x, rule, space.starts, space.widths, runs, now)
    leave(team)
    slots.losses[slot] = visit_listed(k, data, space, i, x.theta)
    k.pullback(data.features, i, part(space.residual, 0, size(data, i)), space.gradient)
    width = len(slots.values) // len(slots.losses)
    begin, end = slot * width, (slot + 1) * width
    slots.counts[slot] = k.flatten(
        data.features,
        space.gradient,
        part(slots.indices, begin, end),
        part(slots.values, begin, end),
    )
    report(team)


@inlined
def add_gradient(x, rule, slots, slot, now, count):
    """Add the gradient in a slot to that of the batch; return how many coordinates the batch's
    gradient reaches.

    A coordinate in `touched` has the stamp now + 1, because the step of the batch will change it.
    """
    begin = slot * (len(slots.values) // len(slots.losses))
    for j in range(begin, begin + slots.counts[slot]):
        f = slots.indices[j]
        if x.stamps[f] <= now:
            x.stamps[f] = now + 1
            x.touched[count] = f
            count += 1
        x.dense[f] += slots.values[j] / rule.batch
    return count


@driven
def visit_batch(k, data, space, order, first, x, rule, slots, team, losses):
    """Visit the batch that begins at order[first], with the help of the team: return (`losses` plus
    the losses of the batch, how many coordinates its gradient reaches).

    Losses and gradients are added in the order of the visits, whoever has made them.
    """
    now, count, last = first // rule.batch, 0, min(first + rule.batch, len(order))
    for begin in range(first, last, len(slots.losses)):
        end = min(begin + len(slots.losses), last)
        announce(team, end)
        j = claim(team)
        while j >= 0:
            lazy_visit(k, data, space, order, j, x, rule, slots, team)
            j = claim(team)
        wait_for_all(team, end)
        if halted():
            break
        for j in range(begin, end):
            slot = j % len(slots.losses)
            losses += slots.losses[slot]
            count = add_gradient(x, rule, slots, slot, now, count)
    return losses, count
