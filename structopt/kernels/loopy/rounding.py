"""Outputs of fractional marginals: trees in factor graphs with TREE factors, states in graphs of
tables.
"""

from __future__ import annotations

from math import inf

import numpy as np

from structopt.kernels.loopy.factors import TREE, open_factors
from structopt.kernels.loopy.private_parts import fill_private
from structopt.kernels.trees import chu_liu_edmonds, eisner, eisner_chart
from structopt.kernels.waist.signatures import ROUND, inlined, kernel

crossing_tree, projective_tree = chu_liu_edmonds.best_tree, eisner.best_tree
crossing_floats, crossing_ints = (
    inlined(chu_liu_edmonds.floats_needed),
    inlined(chu_liu_edmonds.ints_needed),
)
projective_floats, projective_ints = (
    inlined(eisner_chart.chart_size),
    inlined(eisner.ints_needed),
)


@inlined
def _best_tree(W, n, single_root, crossing, heads):
    if crossing:
        floats, ints = np.empty(crossing_floats(n)), np.empty(crossing_ints(n), np.int32)
        return crossing_tree(W, n, single_root, heads, floats, ints)
    floats, ints = np.empty(projective_floats(n)), np.empty(projective_ints(n), np.int32)
    return projective_tree(W, n, single_root, heads, floats, ints)


@kernel(ROUND)
def round_trees(structure, i, z, work):
    """Let z be the indicators of the tree with the largest sum of arc marginals, and of the private
    parts that it has.

    That is the tree with the most heads expected to be right, if the marginals are. All arcs are
    off where there is no tree. The matrices are allocated here: the layout of `work` depends on the
    inference.
    """
    f = open_factors(structure)
    starts = f.starts[f.variables[i] : f.variables[i + 1]]
    for factor in range(f.factors[i], f.factors[i + 1]):
        if f.kinds[factor] != TREE:
            continue
        linked = f.linked[f.links[factor] : f.links[factor + 1]]
        extra = f.extra[f.extras[factor] : f.extras[factor + 1]]
        n = np.int64(extra[0])
        W, heads = np.full(n * n, -inf), np.zeros(n, np.int32)
        for j in range(len(linked)):
            W[extra[3 + 2 * j] * n + extra[4 + 2 * j]] = z[starts[linked[j]]]
        exists = _best_tree(W, n, extra[1] != 0, extra[2] == 0, heads) > -inf
        for j in range(len(linked)):
            z[starts[linked[j]]] = exists and heads[extra[3 + 2 * j]] == extra[4 + 2 * j]
    fill_private(f, i, z)


@kernel(ROUND)
def round_states(structure, i, z, work):
    """Let z be the indicators of the likeliest state of every variable, the first of several, and
    of the pairs of these.

    That is the output with the most states expected to be right, if the marginals are.
    """
    f = open_factors(structure)
    for v in range(f.variables[i], f.variables[i + 1]):
        begin, end = f.starts[v], f.starts[v] + f.widths[v]
        best = begin
        for r in range(begin + 1, end):
            best = r if z[r] > z[best] else best
        z[begin:end] = 0.0
        z[best] = 1.0
    fill_private(f, i, z)
