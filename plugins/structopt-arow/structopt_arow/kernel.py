"""One pass of AROW over the instances, compiled once for any features, graph, inference and
loss.
"""

from __future__ import annotations

from numba import types

from structopt.plugin.kernels import LONGS, VECTOR, ask_ahead, driver, size, visit

NEGATIVE = -1e-9  # losses between this and 0 are rounding


@driver(types.void, LONGS, VECTOR, VECTOR, VECTOR, types.float64, types.float64, VECTOR)
def arow_pass(k, data, space, order, mu, precision, lag, visits, r, totals):  # type: ignore[no-untyped-def]
    """Visit the instances in `order`, updating mean and precisions at every positive loss L_i.

    With g = F_i (z' - z) and Sigma_f = 1 / (1 + precision_f):

        v = sum_f g_f^2 Sigma_f,   mu <- mu - L_i / (v + r) Sigma g,   precision_f <- precision_f +
        g_f^2 / r.

    `lag` collects t * (mu_{t+1} - mu_t) over the visits t, counted from `visits` + 1, so that the
    average of the iterates before each update is mu - lag / t; an empty `lag` is not updated.
    `totals` receives the sum of the losses and the number of negative ones, whose instances are
    skipped. A visit costs one inference and O(nnz).
    """
    averaged = len(lag) > 0
    total, negative, t = 0.0, 0.0, visits
    for n, i in enumerate(order):
        ask_ahead(k, data, order, n)
        t += 1.0
        loss = visit(k, data, space, i, mu)
        total += loss
        if loss < NEGATIVE:
            negative += 1.0
        if loss <= 0.0:
            continue
        k.pullback(data.features, i, space.residual[: size(data, i)], space.gradient)
        count = k.flatten(data.features, space.gradient, space.indices, space.values)
        variance = 0.0
        for j in range(count):
            variance += space.values[j] * space.values[j] / (1.0 + precision[space.indices[j]])
        alpha = loss / (variance + r)
        for j in range(count):
            f, g = space.indices[j], space.values[j]
            change = -alpha * g / (1.0 + precision[f])
            mu[f] += change
            if averaged:
                lag[f] += t * change
            precision[f] += g * g / r
    totals[0] = total
    totals[1] = negative
