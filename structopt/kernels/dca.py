"""One pass of dual coordinate ascent."""

from __future__ import annotations

from numba import types

from structopt.kernels.signatures import ADD, EVALUATE, LONGS, PULLBACK, RECORD, SCORES, SOLVER, VECTOR, kernel

NEGATIVE = -1e-9  # losses between this and 0 are rounding


@kernel(
    types.void(
        types.FunctionType(SCORES), types.FunctionType(PULLBACK), types.FunctionType(ADD), types.FunctionType(EVALUATE), SOLVER,
        RECORD, RECORD, RECORD, VECTOR, LONGS, LONGS, VECTOR, LONGS,
        VECTOR, VECTOR, types.float64, types.float64, VECTOR, VECTOR, RECORD, RECORD, VECTOR,
    )
)  # fmt: skip
def dca_pass(
    scores, pullback, add, evaluate, solve,
    features, structure, target, parameters, parts, memory, messages, order,
    theta, lag, visits, C, s, r, work, gradient, totals,
):  # fmt: skip
    """Visit the instances in the given order:  theta -= eta * grad L_i,  eta = min(C, L_i / ||grad L_i||^2).

    `lag` collects t * (theta_{t+1} - theta_t) over the visits t, counted from `visits` + 1, so that the average of the
    iterates before each update is theta - lag / t; it is left alone when it is empty. `totals` receives the sum of the
    losses and the number of negative ones, whose instances are skipped.
    """
    averaged = len(lag) > 0
    total, negative, t = 0.0, 0.0, visits
    for i in order:
        t += 1.0
        k = parts[i + 1] - parts[i]
        scores(features, theta, i, s[:k])
        loss = evaluate(
            solve, structure, target, parameters, i, s[:k], r[:k], messages[memory[i] : memory[i + 1]], work
        )
        total += loss
        if loss < NEGATIVE:
            negative += 1.0
        if loss <= 0.0:
            continue
        norm = pullback(features, i, r[:k], gradient)
        if norm > 1e-20:
            eta = min(C, loss / norm)
            add(features, theta, gradient, -eta)
            if averaged:
                add(features, lag, gradient, -t * eta)
    totals[0] = total
    totals[1] = negative
