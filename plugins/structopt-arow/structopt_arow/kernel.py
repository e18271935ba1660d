"""One pass of AROW over the instances, compiled once whatever features, graph, inference and loss it is given."""

from __future__ import annotations

from numba import types

from structopt.kernels.signatures import EVALUATE, FLATTEN, LONGS, PULLBACK, RECORD, SCORES, SOLVER, VECTOR, kernel

NEGATIVE = -1e-9  # losses between this and 0 are rounding


@kernel(
    types.void(
        types.FunctionType(SCORES), types.FunctionType(PULLBACK), types.FunctionType(FLATTEN), types.FunctionType(EVALUATE),
        SOLVER, RECORD, RECORD, RECORD, VECTOR, LONGS, LONGS, VECTOR, LONGS,
        VECTOR, VECTOR, VECTOR, types.float64, types.float64, VECTOR, VECTOR, LONGS, VECTOR, RECORD, RECORD, VECTOR,
    )
)  # fmt: skip
def arow_pass(  # type: ignore[no-untyped-def]  # the signature above has the types
    scores, pullback, flatten, evaluate, solve,
    features, structure, target, parameters, parts, memory, messages, order,
    mu, precision, lag, visits, r, s, residual, indices, values, work, gradient, totals,
):  # fmt: skip
    """Visit the instances in the given order, updating mean and precisions at every positive loss L_i.

    With g = F_i (z' - z) and Sigma_f = 1 / (1 + precision_f):

        v = sum_f g_f^2 Sigma_f,   mu <- mu - L_i / (v + r) Sigma g,   precision_f <- precision_f + g_f^2 / r.

    `lag` collects t * (mu_{t+1} - mu_t) over the visits t, counted from `visits` + 1, so that the average of the
    iterates before each update is mu - lag / t; it is left alone when it is empty. `indices` and `values` are scratch
    for the coordinates of one gradient. `totals` receives the sum of the losses and the number of negative ones, whose
    instances are skipped. A visit costs one inference and O(nnz).
    """
    averaged = len(lag) > 0
    total, negative, t = 0.0, 0.0, visits
    for i in order:
        t += 1.0
        k = parts[i + 1] - parts[i]
        scores(features, mu, i, s[:k])
        loss = evaluate(solve, structure, target, parameters, i, s[:k], residual[:k], messages[memory[i] : memory[i + 1]], work)
        total += loss
        if loss < NEGATIVE:
            negative += 1.0
        if loss <= 0.0:
            continue
        pullback(features, i, residual[:k], gradient)
        count = flatten(features, gradient, indices, values)
        variance = 0.0
        for j in range(count):
            variance += values[j] * values[j] / (1.0 + precision[indices[j]])
        alpha = loss / (variance + r)
        for j in range(count):
            f, g = indices[j], values[j]
            change = -alpha * g / (1.0 + precision[f])
            mu[f] += change
            if averaged:
                lag[f] += t * change
            precision[f] += g * g / r
    totals[0] = total
    totals[1] = negative
