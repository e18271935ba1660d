"""Drivers over the instances that every learner and every prediction needs: losses, best outputs, marginals.

A driver knows nothing but the kernels it is handed. Un-compiled (``driver.py_func``) it takes plain Python functions.
"""

from __future__ import annotations

from numba import types

from structopt.kernels.signatures import EVALUATE, INTS, LONGS, RECORD, SCORES, SOLVER, VECTOR, kernel

_SCORES, _EVALUATE = types.FunctionType(SCORES), types.FunctionType(EVALUATE)


@kernel(
    types.float64(
        _SCORES, _EVALUATE, SOLVER, RECORD, RECORD, RECORD, VECTOR, LONGS, LONGS, VECTOR,
        types.int64, types.int64, VECTOR, VECTOR, VECTOR, RECORD,
    )
)  # fmt: skip
def loss_pass(
    scores, evaluate, solve, features, structure, target, parameters, parts, memory, messages, first, last, theta, s, r, work
):
    """Sum of L_i over the instances first <= i < last."""
    total = 0.0
    for i in range(first, last):
        k = parts[i + 1] - parts[i]
        scores(features, theta, i, s[:k])
        total += evaluate(
            solve, structure, target, parameters, i, s[:k], r[:k], messages[memory[i] : memory[i + 1]], work
        )
    return total


@kernel(
    types.int64(
        _SCORES, SOLVER, RECORD, RECORD, types.float64, LONGS, LONGS, VECTOR, LONGS, types.int64,
        types.int64, types.int64, VECTOR, VECTOR, VECTOR, RECORD, INTS, VECTOR,
    )
)  # fmt: skip
def output_pass(
    scores, solve, features, structure, temperature, parts, memory, messages, variables, width,
    first, last, theta, s, z, work, assignment, marginals,
):  # fmt: skip
    """Best configuration of every variable (temperature 0), or also the marginals of each (if `marginals` is not empty).

    The first part group must hold exactly one part per variable, `width` configurations each. Returns the first
    instance for which the hard constraints allow nothing, or -1.
    """
    for i in range(first, last):
        k = parts[i + 1] - parts[i]
        scores(features, theta, i, s[:k])
        value = solve(structure, i, s[:k], temperature, z[:k], messages[memory[i] : memory[i + 1]], work)
        if not value > -1e300:
            return i
        for v in range(variables[i], variables[i + 1]):
            at = (v - variables[i]) * width
            best = 0
            for y in range(1, width):
                if z[at + y] > z[at + best]:
                    best = y
            assignment[v] = best
            if len(marginals) > 0:
                for y in range(width):
                    marginals[v * width + y] = z[at + y]
    return -1
