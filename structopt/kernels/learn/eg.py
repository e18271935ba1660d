"""Passes of exponentiated gradient: the dual point of an instance is the Gibbs distribution of its
potentials.

Potentials are scores over parts, in nats; mu are the distribution's marginals, H its entropy. The
potentials move by

    potentials <- (1 - rate * temperature) * potentials + rate * (F^T theta + gamma p),      rate =
    eta C, temperature = 1/beta
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
from structopt.kernels.waist.target import add_gold, cost_of, open_target
from structopt.kernels.waist.views import part
from structopt.kernels.waist.visit import augmented_scores, size, solve

SLACK = 1e-11  # a fall of m D by less than this, relative to the scores, is rounding
HALVINGS = 60


@driven
def gibbs(k, data, space, i, potentials, z):
    """Fill z with the marginals of the Gibbs distribution of some potentials; return its entropy,
    log Z - potentials^T z.

    ``space.residual`` is overwritten. Parts that the hard constraints forbid have no mass, whatever
    their potentials.
    """
    spoilt = part(space.residual, 0, len(z))
    set_row(spoilt, potentials)
    entropy = solve(k, data, space, i, spoilt, 1.0, z)
    for r in range(len(z)):
        if z[r] != 0.0:
            entropy -= potentials[r] * z[r]
    return entropy


@inlined
def move(potentials, s, rate, temperature, moved):
    """Fill `moved` with the potentials after a step towards beta * s."""
    keep = 1.0 - rate * temperature
    for r in range(len(s)):
        moved[r] = keep * potentials[r] + rate * s[r]


@inlined
def promise(potentials, s, d, temperature, lost, rate):
    """Return the gain that theory promises of a safe step, (s - temperature * potentials)^T d - KL
    / rate.

    KL(mu_new || mu_old) is `lost`, the fall of the entropy, less potentials^T d.
    """
    slope, divergence = 0.0, lost
    for r in range(len(d)):
        if d[r] != 0.0:
            slope += (s[r] - temperature * potentials[r]) * d[r]
            divergence -= potentials[r] * d[r]
    return slope - divergence / rate


@driver(
    types.float64,
    VECTOR,
    types.float64,
    types.float64,
    types.float64,
    VECTOR,
    VECTOR,
    VECTOR,
    VECTOR,
)
def batch_pass(
    k: Any,
    data: Any,
    space: Any,
    theta: Array,
    rate: float,
    temperature: float,
    gamma: float,
    potentials: Array,
    moved: Array,
    residuals: Array,
    entropies: Array,
) -> float:
    """Move the potentials of all instances at the same theta; `moved` may be `potentials`.

    `residuals` receives mu_i - z_i and `entropies` H(mu_i) at the moved ones; returns
    sum_i temperature * H(mu_i) + gamma p_i^T (mu_i - z_i).
    """
    t, total = open_target(data.target), 0.0
    for i in range(len(data.parts) - 1):
        if halted():
            break
        first, last = data.parts[i], data.parts[i + 1]
        s, r = part(space.scores, 0, last - first), residuals[first:last]
        augmented_scores(k, data, space, t, i, theta, gamma, s)
        move(potentials[first:last], s, rate, temperature, moved[first:last])
        entropies[i] = gibbs(k, data, space, i, moved[first:last], r)
        add_gold(t, i, -1.0, r)
        total += temperature * entropies[i] + gamma * cost_of(t, i, r)
    return total


@driver(types.float64, VECTOR, types.float64, types.float64, types.float64, types.float64, VECTOR)
def primal_pass(
    k: Any,
    data: Any,
    space: Any,
    exponents: Array,
    kappa: float,
    C: float,
    temperature: float,
    gamma: float,
    theta: Array,
) -> float:
    """Add C sum_i F_i (z_i - mu_i) to theta, the potentials of instance i being F_i^T exponents +
    kappa gamma p_i.

    Returns sum_i temperature * H(mu_i) + gamma p_i^T (mu_i - z_i).
    """
    t, total = open_target(data.target), 0.0
    for i in range(len(data.parts) - 1):
        if halted():
            break
        n = size(data, i)
        potentials, r = part(space.scores, 0, n), part(space.answer, 0, n)
        augmented_scores(k, data, space, t, i, exponents, kappa * gamma, potentials)
        entropy = gibbs(k, data, space, i, potentials, r)
        add_gold(t, i, -1.0, r)
        total += temperature * entropy + gamma * cost_of(t, i, r)
        k.pullback(data.features, i, r, space.gradient)
        k.add(data.features, theta, space.gradient, -C)
    return total


@driver(
    types.float64,
    LONGS,
    VECTOR,
    types.float64,
    types.float64,
    types.float64,
    types.float64,
    types.float64,
    types.boolean,
    VECTOR,
    VECTOR,
    VECTOR,
    VECTOR,
)
def online_pass(
    k: Any,
    data: Any,
    space: Any,
    order: Array,
    theta: Array,
    C: float,
    temperature: float,
    gamma: float,
    eta: float,
    growth: float,
    safe: bool,
    etas: Array,
    potentials: Array,
    residuals: Array,
    entropies: Array,
) -> float:
    """Move the potentials of one instance after the other, and theta with them.

    A step must not lower D; where `safe`, it must also be one that the theory allows (the objective
    is nowhere below the model that the step maximises), so that m D rises by

        gain >= (s - temperature * potentials)^T (mu_new - mu_old) - KL(mu_new || mu_old) / (eta C).

    Otherwise ``etas[i]`` is halved until the step does so. At visits where it need not be halved,
    it grows by the factor `growth`, up to `eta`. Returns sum_i temperature * H(mu_i) + gamma p_i^T
    (mu_i - z_i), each as it is after its visit.
    """
    t, total = open_target(data.target), 0.0
    for visit, i in enumerate(order):
        if halted():
            break
        ask_ahead(k, data, order, visit)
        first, last = data.parts[i], data.parts[i + 1]
        n, x, old = last - first, potentials[first:last], residuals[first:last]
        s, moved, new, d = (
            part(space.scores, 0, n),
            part(space.direction, 0, n),
            part(space.answer, 0, n),
            part(space.residual, 0, n),
        )
        augmented_scores(k, data, space, t, i, theta, gamma, s)
        largest = 1.0
        for r in range(n):
            largest = max(largest, abs(s[r]))
        step = etas[i]
        for halvings in range(HALVINGS):
            move(x, s, step * C, temperature, moved)
            entropy = gibbs(k, data, space, i, moved, new)
            add_gold(t, i, -1.0, new)
            gain, promised = temperature * (entropy - entropies[i]), -inf
            for r in range(n):
                d[r] = new[r] - old[r]
                if d[r] != 0.0:
                    gain += s[r] * d[r]
            if safe:
                promised = promise(x, s, d, temperature, entropies[i] - entropy, step * C)
            gain -= C / 2.0 * k.pullback(data.features, i, d, space.gradient)
            if gain >= max(promised, 0.0) - SLACK * largest:
                set_row(x, moved)
                set_row(old, new)
                entropies[i] = entropy
                k.add(data.features, theta, space.gradient, -C)
                etas[i] = step if halvings > 0 else min(growth * step, eta)
                break
            step /= 2.0
        total += temperature * entropies[i] + gamma * cost_of(t, i, old)
    return total


@driver(types.void, types.float64, VECTOR, VECTOR)
def potentials_pass(
    k: Any,
    data: Any,
    space: Any,
    mixing: float,
    residuals: Array,
    potentials: Array,
) -> None:
    """Fill `potentials` with logs of the conditionals of (1 - mixing) mu + mixing * uniform,
    `residuals` being mu - z.

    Where even the uniform distribution has no mass, the potential is 0: the hard constraints forbid
    the part at every inference.
    """
    t = open_target(data.target)
    for i in range(len(data.parts) - 1):
        if halted():
            break
        first, last = data.parts[i], data.parts[i + 1]
        s, mu, x = (
            part(space.scores, 0, last - first),
            part(space.answer, 0, last - first),
            potentials[first:last],
        )
        s[:] = 0.0
        solve(k, data, space, i, s, 1.0, mu)
        for r in range(len(mu)):
            mu[r] = mixing * mu[r] + (1.0 - mixing) * residuals[first + r]
        add_gold(t, i, 1.0 - mixing, mu)
        k.conditionals(data.structure, i, mu, x)
        for r in range(len(mu)):
            if x[r] == -inf:
                x[r] = 0.0
