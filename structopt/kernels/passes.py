"""Drivers over the instances that every learner and every prediction needs: losses, residuals, best outputs, marginals.

A driver knows nothing but the kernels it is handed. Un-compiled (``driver.py_func``) it takes plain Python functions.
"""

from __future__ import annotations

from numba import types

from structopt.kernels.signatures import INTS, LONGS, VECTOR, Kernels, driver
from structopt.kernels.visit import size, solve, visit, visit_into


@driver(types.float64, types.int64, types.int64, VECTOR)
def loss_pass(kernels, data, space, first, last, theta):
    """Sum of L_i over the instances first <= i < last."""
    k, total = Kernels(*kernels), 0.0
    for i in range(first, last):
        total += visit(k, data, space, i, theta)
    return total


@driver(types.float64, types.int64, types.int64, VECTOR, VECTOR)
def residual_pass(kernels, data, space, first, last, theta, residuals):
    """Sum of L_i over the instances first <= i < last; `residuals`, over the parts of all instances, receives theirs."""
    k, total = Kernels(*kernels), 0.0
    for i in range(first, last):
        total += visit_into(k, data, space, i, theta, residuals[data.parts[i] : data.parts[i + 1]])
    return total


@driver(types.int64, types.float64, LONGS, types.int64, types.int64, types.int64, VECTOR, INTS, VECTOR)
def output_pass(kernels, data, space, temperature, variables, width, first, last, theta, assignment, marginals):
    """Best configuration of every variable (temperature 0), or also the marginals of each (if `marginals` is not empty).

    The first part group must hold exactly one part per variable, `width` configurations each. Returns the first
    instance for which the hard constraints allow nothing, or -1.
    """
    k = Kernels(*kernels)
    for i in range(first, last):
        n = size(data, i)
        z = space.residual[:n]
        k.scores(data.features, theta, i, space.scores[:n])
        value = solve(k, data, space, i, space.scores[:n], temperature, z)
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
