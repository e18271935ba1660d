"""Drivers over the instances that every learner and every prediction needs: losses, residuals, best outputs, marginals.

A driver knows nothing but the kernels it is handed. Un-compiled (``driver.py_func``) it takes plain Python functions.
"""

from __future__ import annotations

from numba import types

from structopt.kernels.signatures import INTS, LONGS, VECTOR, Kernels, driver
from structopt.kernels.visit import evaluate, size, solve, visit, visit_into


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


@driver(types.float64, LONGS, VECTOR, VECTOR)
def minibatch_pass(kernels, data, space, instances, scores, residuals):
    """Sum of L_i over some instances, whose scores stand one after the other (and are spoilt); so do their residuals."""
    k, total, begin = Kernels(*kernels), 0.0, 0
    for i in instances:
        end = begin + size(data, i)
        total += evaluate(k, data, space, i, scores[begin:end], residuals[begin:end])
        begin = end
    return total


@driver(types.int64, types.float64, LONGS, LONGS, types.int64, types.int64, VECTOR, INTS, VECTOR)
def output_pass(kernels, data, space, temperature, variables, choices, first, last, theta, assignment, marginals):
    """Write the likeliest configuration of every variable, or where `marginals` is not empty the marginals of each.

    `choices` tells where the configurations of each variable begin in a list over all variables; the parts of an instance
    begin with those of its variables. At temperature 0 the configurations are the best output's. Returns the first
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
        before = choices[variables[i]]
        if len(marginals) > 0:
            marginals[before : choices[variables[i + 1]]] = z[: choices[variables[i + 1]] - before]
            continue
        k.round(data.structure, i, z, space.work)
        for v in range(variables[i], variables[i + 1]):
            row = z[choices[v] - before : choices[v + 1] - before]
            best = 0
            for y in range(1, len(row)):
                if row[y] > row[best]:
                    best = y
            assignment[v] = best
    return -1
