"""One pass of factored sequential minimal optimization.

The dual variables of an instance are the residual mu - z over its parts, mu in the marginal
polytope.
"""

from __future__ import annotations

from math import inf
from typing import Any

from numba import types

from structopt.kernels.arrays.rows import set_row
from structopt.kernels.waist.ahead import ask_ahead
from structopt.kernels.waist.halting import halted
from structopt.kernels.waist.record import Array
from structopt.kernels.waist.signatures import LONGS, VECTOR, driven, driver, inlined
from structopt.kernels.waist.target import add_gold, cost_of, gold_score, open_target
from structopt.kernels.waist.views import part
from structopt.kernels.waist.visit import augmented_scores, solve

# a part with no more mass than this counts as empty; there is always an output with 1/(parts) on
# all its parts
SUPPORT = 1e-12
ROUNDING = 1e-14  # mass below this is zero but for rounding
SETTLED = 1e-9  # a pair whose scores differ by less is in balance


@driven
def choose_pair(k, data, space, i, s, mu):
    """Find y1, the best output under s, and y0, the worst whose parts all have mass; return their
    scores.

    ``space.direction`` receives e = chi(y1) - chi(y0).
    """
    n = len(s)
    e, best, worst = (
        part(space.direction, 0, n),
        part(space.answer, 0, n),
        part(space.residual, 0, n),
    )
    set_row(e, s)
    highest = solve(k, data, space, i, e, 0.0, best)
    for r in range(n):
        e[r] = -s[r] if mu[r] > SUPPORT else -inf
    lowest = -solve(k, data, space, i, e, 0.0, worst)
    for r in range(n):
        e[r] = best[r] - worst[r]
    return highest, lowest


@inlined
def transferable(e, mu):
    """Return how much mass can leave y0: the least on a part that y1 does not share."""
    mass = 1.0
    for r in range(len(e)):
        if e[r] < 0.0:
            mass = min(mass, mu[r])
    return mass


@inlined
def transfer(e, delta, mu):
    """mu += delta * e; parts that lose all their mass become exactly zero."""
    for r in range(len(e)):
        if e[r] != 0.0:
            mu[r] += delta * e[r]
            if mu[r] < ROUNDING:
                mu[r] = 0.0


@driver(types.void, LONGS, VECTOR, types.float64, types.float64, types.int64, VECTOR, VECTOR)
def smo_pass(
    k: Any,
    data: Any,
    space: Any,
    order: Array,
    theta: Array,
    C: float,
    gamma: float,
    steps: int,
    residuals: Array,
    totals: Array,
) -> None:
    """Make up to `steps` steps between pairs of outputs at each instance, in the given order.

        delta = min( (s + gamma p)^T e / (C ||F e||^2), least mass of y0 );   mu += delta e;   theta
        -= C delta F e

    `totals` receives the sum of the losses before each visit, sum_i gamma p_i^T (mu_i - z_i), and
    how many steps moved mass.
    """
    t = open_target(data.target)
    losses, costs, moves = 0.0, 0.0, 0.0
    for n, i in enumerate(order):
        if halted():
            break
        ask_ahead(k, data, order, n)
        mu = part(residuals, data.parts[i], data.parts[i + 1])
        s = part(space.scores, 0, len(mu))
        add_gold(t, i, 1.0, mu)
        for step in range(steps):
            augmented_scores(k, data, space, t, i, theta, gamma, s)
            highest, lowest = choose_pair(k, data, space, i, s, mu)
            if step == 0:
                losses += highest - gold_score(t, i, s)
            gain = highest - lowest
            if not gain > SETTLED:
                break
            e = part(space.direction, 0, len(mu))
            delta = transferable(e, mu)
            norm = k.pullback(data.features, i, e, space.gradient)
            if C * norm * delta > gain:
                delta = gain / (C * norm)
            transfer(e, delta, mu)
            k.add(data.features, theta, space.gradient, -C * delta)
            moves += 1.0
        add_gold(t, i, -1.0, mu)
        costs += gamma * cost_of(t, i, mu)
    totals[0] = losses
    totals[1] = costs
    totals[2] = moves
