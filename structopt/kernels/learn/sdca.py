"""Stochastic dual coordinate ascent: its oracle and its steps, and a pass with line searches on an
entropy in closed form.

An instance's block of dual variables is a point z_bar of its marginal polytope. A visit asks the
inference for

    z' = argmax u^T z' + H(z')/beta,   u = F^T theta + gamma p,       d = z' - z_bar

and moves along d:  z_bar += tau d,  theta -= C tau F d.  Up to a constant the dual is then, with Q
= C ||F d||^2,

    f(tau) = tau u^T d - tau^2 Q / 2 + H(z_bar + tau d)/beta,   gap = max of u^T z' + H(z')/beta,
    less its value at z_bar.

At beta < inf, f' falls from gap or more at 0 to -Q at 1, and `line_search` finds its root. z_bar
starts at the gold output, where f'(0) is infinite: no slope is ever computed at 0, and one step
leads to the interior of the polytope. (Starting from smoothed gold outputs would need weights other
than zero.) At beta = inf this is block-coordinate Frank-Wolfe
(`structopt.kernels.learn.block_frank_wolfe`).
"""

from __future__ import annotations

from math import isnan, nan
from typing import Any

from numba import types

from structopt.kernels.arrays.sampling import change, drawn
from structopt.kernels.learn.averaging import averaged_step
from structopt.kernels.waist.halting import halted
from structopt.kernels.waist.record import Array
from structopt.kernels.waist.signatures import LONGS, VECTOR, driven, driver
from structopt.kernels.waist.target import add_gold, cost_of, gold_score, open_target
from structopt.kernels.waist.views import part
from structopt.kernels.waist.visit import augmented_scores, size, solve

# the pullback takes entries below 1e-9 for zero; theta must not miss them, so d is scaled, exactly
SCALE = 2.0**20
NOTHING = 1e-13  # a gap below this, relative to the loss, is rounding
PRECISION = 0.05  # of tau: an error of 5 % costs a quarter of a percent of the gain of the step
MOST_TRIALS = 60


@driven
def look(k, data, space, i, theta, z):
    """Call the oracle: space.scores = u, space.direction = d. Return L_i, max u^T z' + H(z')/beta,
    u^T z_bar and u^T d.
    """
    n, t = size(data, i), open_target(data.target)
    u, answer, d = part(space.scores, 0, n), part(space.answer, 0, n), part(space.direction, 0, n)
    augmented_scores(k, data, space, t, i, theta, data.parameters[1], u)
    value = solve(k, data, space, i, u, data.parameters[0], answer)
    here, slope = 0.0, 0.0
    for r in range(n):
        d[r] = answer[r] - z[r]
        if z[r] != 0.0:
            here += u[r] * z[r]
        if d[r] != 0.0:
            slope += u[r] * d[r]
    return value - gold_score(t, i, u), value, here, slope


@driven
def measure_gap(k, data, space, i, theta, z, tree, gaps, entropies, totals):
    """Call the oracle, and note L_i and the gap. Return the gap, max u^T z' + H(z')/beta, and u^T
    d; arrays as in `sdca_pass`.
    """
    loss, value, here, slope = look(k, data, space, i, theta, z)
    gap = value - here - entropies[i]
    gaps[i] = max(gap, 0.0)
    totals[0] += loss
    if len(tree) > 0:
        change(tree, i, gaps[i])
    return gap, value, slope


@driven
def pull(k, data, space, i):
    """Leave SCALE * F d in space.gradient; return ||F d||^2."""
    n = size(data, i)
    for r in range(n):
        space.residual[r] = SCALE * space.direction[r]
    return k.pullback(data.features, i, part(space.residual, 0, n), space.gradient) / (
        SCALE * SCALE
    )


@driven
def move(k, data, space, i, theta, lag, z, tau, C, weight):
    """z_bar += tau d;  theta -= C tau F d;  `lag` and `weight` as in `averaged_step`."""
    averaged_step(k, data, space, theta, lag, -C * tau / SCALE, weight)
    for r in range(size(data, i)):
        z[r] += tau * space.direction[r]


@driven
def line_search(k, data, space, i, z, slope, Q, gap, trial):
    """Find the maximiser tau of f in [0, 1], the root of f', to a relative `PRECISION`: Newton
    steps, or else bisection.

    trial[0] and trial[1] receive the derivatives of H(z_bar + tau d) by tau, trial[2] the entropy
    itself. Near the optimum u^T z + H/beta is a parabola along d, with its maximum at 1 and `gap`
    higher than at 0: the root for that parabola is the first guess.
    """
    n, temperature = size(data, i), data.parameters[0]
    d = part(space.direction, 0, n)
    low, high, tau = 0.0, 1.0, 2.0 * gap / (2.0 * gap + Q)
    for _ in range(MOST_TRIALS):
        trial[2] = nan
        k.slope(data.structure, i, z, d, tau, trial)
        first, second = slope - tau * Q + temperature * trial[0], temperature * trial[1] - Q
        step = -first / second if second < 0.0 else 0.0
        if abs(step) <= PRECISION * tau or (step > 0.0 and tau == 1.0):
            break
        if first > 0.0:
            low = tau
        else:
            high = tau
        tau = tau + step if low < tau + step < high else 0.5 * (low + high)
    if isnan(trial[2]):  # the graph's slopes do not compute the entropy as well
        for r in range(n):
            space.residual[r] = z[r] + tau * d[r]
        trial[2] = k.entropy(data.structure, i, part(space.residual, 0, n))
    return tau


@driver(
    types.void,
    LONGS,
    VECTOR,
    VECTOR,
    VECTOR,
    VECTOR,
    VECTOR,
    VECTOR,
    VECTOR,
    VECTOR,
    types.float64,
    types.float64,
    VECTOR,
)
def sdca_pass(
    k: Any,
    data: Any,
    space: Any,
    order: Array,
    uniforms: Array,
    tree: Array,
    theta: Array,
    lag: Array,
    duals: Array,
    gaps: Array,
    entropies: Array,
    costs: Array,
    C: float,
    visits: float,
    totals: Array,
) -> None:
    """Make visits with line searches on the dual, the entropy in closed form.

    Parameters
    ----------
    order, uniforms, tree
        Which instance each visit takes, see `structopt.kernels.arrays.sampling.drawn`; an empty
        tree is not kept up to date.
    theta, lag
        Weights, and `lag` of `structopt.learning.averaging`, unless it is empty: the iterate after
        visit t, counted from `visits` + 1, has the weight t, and the iterates before the step of
        visit t have the weight t (t - 1) / 2.
    duals
        z_bar of all instances.
    gaps, entropies, costs : shape (m,)
        Of each instance, as of its last visit: the gap before the step, H(z_bar)/beta, and gamma
        p^T (z_bar - z).
    totals : shape (5,)
        The sum of the losses; the sum of the changes of `entropies` and `costs`, each times its
        weight, as `lag` is of the steps of theta; and three numbers of scratch.
    """
    t, trial = visits, totals[2:]
    temperature, gamma = data.parameters[0], data.parameters[1]
    for visit in range(len(order)):
        if halted():
            break
        i = drawn(order, uniforms, tree, visit)
        z, weight = duals[data.parts[i] : data.parts[i + 1]], t * (t + 1.0) / 2.0
        t += 1.0
        gap, value, slope = measure_gap(k, data, space, i, theta, z, tree, gaps, entropies, totals)
        if gap <= NOTHING * (1.0 + abs(value)):
            continue
        Q = C * pull(k, data, space, i)
        tau = line_search(k, data, space, i, z, slope, Q, gap, trial)
        gain = temperature * trial[2] - entropies[i]
        if tau * slope - tau * tau * Q / 2.0 + gain <= 0.0:  # rounding
            continue
        charge = tau * gamma * cost_of(open_target(data.target), i, space.direction)
        move(k, data, space, i, theta, lag, z, tau, C, weight)
        entropies[i] = temperature * trial[2]
        costs[i] += charge
        totals[1] += weight * (gain + charge)


@driver(types.void, VECTOR)
def gold_pass(
    k: Any,
    data: Any,
    space: Any,
    duals: Array,
) -> None:
    """Start at the gold outputs: z_bar = z."""
    for i in range(len(data.parts) - 1):
        add_gold(open_target(data.target), i, 1.0, duals[data.parts[i] : data.parts[i + 1]])
