"""One pass of stochastic dual coordinate ascent where the entropy has a closed form, and what its variants share.

An instance's block of dual variables is a point z_bar of its marginal polytope. A visit asks the inference for

    z' = argmax u^T z' + H(z')/beta,   u = F^T theta + gamma p,       d = z' - z_bar

and moves along d:  z_bar += tau d,  theta -= C tau F d.  Up to a constant the dual is then, with Q = C ||F d||^2,

    f(tau) = tau u^T d - tau^2 Q / 2 + H(z_bar + tau d)/beta,   gap = max of u^T z' + H(z')/beta, less its value at z_bar.

At beta < inf, f' falls from gap or more at 0 to -Q at 1. z_bar starts at the gold output, where f'(0) is infinite: no slope is
ever asked for at 0, and one step leads inside. (Starting from smoothed gold outputs would need weights other than zero.)
"""

from __future__ import annotations

from math import isnan, nan

from numba import types

from structopt.kernels.arrays.sampling import change, drawn
from structopt.kernels.waist.signatures import LONGS, VECTOR, Kernels, driven, driver
from structopt.kernels.waist.target import add_gold, cost_of, gold_score, open_target
from structopt.kernels.waist.visit import augmented_scores, size, solve

SCALE = 2.0**20  # the pullback takes rows below 1e-9 for zero; a dual point must not lose them, so d is scaled, exactly
NOTHING = 1e-13  # a gap below this, relative to the loss, is rounding
PRECISION = 0.05  # of tau: an error of 5 % costs a quarter of a percent of what the step gains
MOST_TRIALS = 60


@driven
def look(k, data, space, i, theta, z):
    """Call the oracle: space.scores = u, space.direction = d. Returns L_i, max u^T z' + H(z')/beta, u^T z_bar and u^T d."""
    n, t = size(data, i), open_target(data.target)
    u, answer, d = augmented_scores(k, data, space, t, i, theta, data.parameters[1]), space.answer[:n], space.direction[:n]
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
def pull(k, data, space, i):
    """Leave SCALE * F d in space.gradient; return ||F d||^2."""
    n = size(data, i)
    for r in range(n):
        space.residual[r] = SCALE * space.direction[r]
    return k.pullback(data.features, i, space.residual[:n], space.gradient) / (SCALE * SCALE)


@driven
def move(k, data, space, i, theta, lag, z, tau, C, weight):
    """z_bar += tau d;  theta -= C tau F d;  lag collects the steps of theta times `weight`, unless it is empty."""
    step = -C * tau / SCALE
    k.add_both(data.features, theta, lag, space.gradient, step, weight * step)
    for r in range(size(data, i)):
        z[r] += tau * space.direction[r]


@driven
def newton(k, data, space, i, z, slope, Q, gap, trial):
    """Root tau of f' in [0, 1] to a relative `PRECISION`, by Newton steps that fall back to bisection.

    trial[0], trial[1] are the derivatives of H(z_bar + tau d) by tau, trial[2] is the entropy itself there. Near the
    optimum u^T z + H/beta is a parabola along d whose top is at 1 and gap above its start: its root is the first guess.
    """
    n, temperature = size(data, i), data.parameters[0]
    d = space.direction[:n]
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
    if isnan(trial[2]):  # a graph whose slopes do not bring the entropy along
        for r in range(n):
            space.residual[r] = z[r] + tau * d[r]
        trial[2] = k.entropy(data.structure, i, space.residual[:n])
    return tau


@driver(
    types.void, LONGS, VECTOR, VECTOR, VECTOR, VECTOR, VECTOR, VECTOR, VECTOR, VECTOR,
    types.float64, types.float64, VECTOR,
)  # fmt: skip
def sdca_pass(
    kernels, data, space, order, uniforms, tree, theta, lag, duals, gaps, entropies, costs, C, visits, totals
):
    """Variant (b): exact line search on the dual with the entropy in closed form.

    Parameters
    ----------
    order, uniforms, tree
        Which instance each visit takes, see `structopt.kernels.arrays.sampling.drawn`; an empty tree is not kept up to date.
    theta, lag
        Weights, and the sum of S_{t-1} (theta_t - theta_{t-1}) over the visits t, counted from `visits` + 1, with
        S_t = t (t + 1) / 2: the average of the iterates with weights proportional to t is theta - lag / S_t.
    duals
        z_bar of all instances.
    gaps, entropies, costs : shape (m,)
        Of each instance, as of its last visit: the gap before the step, H(z_bar)/beta, and gamma p^T (z_bar - z).
    totals : shape (5,)
        The sum of the losses, what `lag` is for the sum of entropies and costs, and three numbers of scratch.
    """
    k, t, trial = Kernels(*kernels), visits, totals[2:]
    temperature, gamma = data.parameters[0], data.parameters[1]
    for visit in range(len(order)):
        i = drawn(order, uniforms, tree, visit)
        z, weight = duals[data.parts[i] : data.parts[i + 1]], t * (t + 1.0) / 2.0
        t += 1.0
        loss, value, here, slope = look(k, data, space, i, theta, z)
        gap = value - here - entropies[i]
        gaps[i] = max(gap, 0.0)
        totals[0] += loss
        if len(tree) > 0:
            change(tree, i, gaps[i])
        if gap <= NOTHING * (1.0 + abs(value)):
            continue
        Q = C * pull(k, data, space, i)
        tau = newton(k, data, space, i, z, slope, Q, gap, trial)
        gain = temperature * trial[2] - entropies[i]
        if tau * slope - tau * tau * Q / 2.0 + gain <= 0.0:  # rounding
            continue
        charge = tau * gamma * cost_of(open_target(data.target), i, space.direction)
        move(k, data, space, i, theta, lag, z, tau, C, weight)
        entropies[i] = temperature * trial[2]
        costs[i] += charge
        totals[1] += weight * (gain + charge)


@driver(types.void, VECTOR)
def gold_pass(kernels, data, space, duals):
    """Start at the gold outputs: z_bar = z."""
    for i in range(len(data.parts) - 1):
        add_gold(open_target(data.target), i, 1.0, duals[data.parts[i] : data.parts[i + 1]])
