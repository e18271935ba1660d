"""The numbers of the data in the rate of convergence of exponentiated gradient.

Bartlett et al. (2004), Theorem 2.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from structopt.kernels.learn.eg import gibbs
from structopt.kernels.waist.halting import halted
from structopt.kernels.waist.record import Array
from structopt.kernels.waist.signatures import VECTOR, driven, driver
from structopt.kernels.waist.target import add_cost, add_gold, open_target
from structopt.kernels.waist.views import part
from structopt.kernels.waist.visit import solve


@driven
def add_sizes(k, data, space, i, sizes, q):
    """Fill q with |F|^T |F| 1 over the parts; `sizes`, over the weights, is zero before and after.

    Every indicator is at most 1, so that ||F chi||^2 <= chi^T q for all outputs chi.
    """
    e = part(space.direction, 0, len(q))
    e[:] = 0.0
    k.scores(data.features, sizes, i, part(space.scores, 0, len(q)), space.gradient)
    for turn in range(3):
        for r in range(len(q)):
            e[r] = 1.0
            k.pullback(data.features, i, e, space.gradient)
            e[r] = 0.0
            total = 0.0
            for j in range(k.flatten(data.features, space.gradient, space.indices, space.values)):
                f, size = space.indices[j], abs(space.values[j])
                if turn == 0:
                    sizes[f] += size
                elif turn == 1:
                    total += size * sizes[f]
                else:
                    sizes[f] = 0.0
            if turn == 1:
                q[r] = total


@driver(types.void, types.float64, VECTOR, VECTOR, VECTOR)
def rate_pass(
    k: Any,
    data: Any,
    space: Any,
    gamma: float,
    potentials: Array,
    sizes: Array,
    totals: Array,
) -> None:
    """Bound the numbers in the rate, for parts that are not tied.

    `totals` receives max_i max_y ||F_i (chi(y) - z_i)||^2, or an upper bound; the largest cost
    gamma p_i^T chi(y); and the largest sum_i KL(u_i || mu_i) of any distributions u_i from the ones
    of the potentials. `sizes` is a vector of zeros over the weights.
    """
    t = open_target(data.target)
    norm, cost, divergence = 0.0, 0.0, 0.0
    for i in range(len(data.parts) - 1):
        if halted():
            break
        first, last = data.parts[i], data.parts[i + 1]
        s, z = part(space.residual, 0, last - first), part(space.answer, 0, last - first)
        add_sizes(k, data, space, i, sizes, s)
        largest = solve(k, data, space, i, s, 0.0, z)
        z[:] = 0.0
        add_gold(t, i, 1.0, z)
        gold = k.pullback(data.features, i, z, space.gradient)
        norm = max(norm, (np.sqrt(largest) + np.sqrt(gold)) ** 2)
        s[:] = 0.0
        add_cost(t, i, gamma, s)
        cost = max(cost, solve(k, data, space, i, s, 0.0, z))
        x = potentials[first:last]
        entropy = gibbs(k, data, space, i, x, z)
        for r in range(len(x)):
            if z[r] != 0.0:
                entropy += z[r] * x[r]
            s[r] = -x[r]
        divergence += entropy + solve(k, data, space, i, s, 0.0, z)
    totals[0], totals[1], totals[2] = norm, cost, divergence
