"""Expansion moves: an output that no move can improve by which any variables change to one state.

The best move to a state is the best output of a graph of two-state variables, keep or change, found
by a minimum cut (`structopt.kernels.cut.binary`). Let a pair have the cost V(a, b) = u(a) + t(b) -
s(a, b), where u(a) + t(a) = s(a, a), so that V(a, a) = 0. A move is a submodular graph if

    V(a, b) <= V(a, c) + V(c, b)

for the states a, b of the pair and the state c of the move, whatever u and t are. If no move
improves an output y, and all V(a, b) > 0 for a != b, then with the variables' costs U >= 0

    U(y) + V(y) <= U(y*) + 2 c V(y*),    c = max_pairs ( max_{a != b} V / min_{a != b} V ).

Boykov, Veksler and Zabih (2001), theorem 6.1; Rother, Kumar, Kolmogorov and Blake (2005) for the
truncation of other pairs, which keeps moves from lowering the score but not the guarantee.
"""

from __future__ import annotations

from math import inf, nan

import numpy as np

from structopt.kernels.cut.binary import best_halves, pair_terms
from structopt.kernels.cut.flow import open_cut
from structopt.kernels.loopy.factors import open_factors, private_start
from structopt.kernels.loopy.mplp import lowest_score
from structopt.kernels.waist.halting import halted
from structopt.kernels.waist.signatures import SOLVE, inlined, kernel

LEAST_GAIN = 1e-12
"""Relative gain of a move below which it counts as rounding."""


@inlined
def output_score(f, i, s, low, states):
    """Return the score of an output, given the states of its variables."""
    before, value = f.variables[i], 0.0
    for v in range(f.variables[i + 1] - before):
        value += max(s[f.starts[before + v] + states[v]], low)
    for edge in range(f.factors[i], f.factors[i + 1]):
        link = f.links[edge]
        a, b = states[f.linked[link]], states[f.linked[link + 1]]
        K = np.int64(f.widths[before + f.linked[link + 1]])
        value += max(s[private_start(f, i, edge) + a * K + b], low)
    return value


@inlined
def read_move(f, i, s, low, state, x):
    """Fill x.unary and x.weights with the gains of changing to a state; return whether all pairs
    are submodular, or are truncated.
    """
    before, edges = f.variables[i], f.factors[i]
    for v in range(f.variables[i + 1] - before):
        r = f.starts[before + v]
        x.unary[v] = max(s[r + state], low) - max(s[r + x.former[v]], low)
    for edge in range(edges, f.factors[i + 1]):
        one, other = f.linked[f.links[edge]], f.linked[f.links[edge] + 1]
        a, b, K = x.former[one], x.former[other], np.int64(f.widths[before + other])
        p = private_start(f, i, edge)
        first, second, w = pair_terms(
            s[p + a * K + b],
            s[p + a * K + state],
            s[p + state * K + b],
            s[p + state * K + state],
            low,
            x.noise,
        )
        if w < 0.0:
            if x.truncate == 0:
                x.fault[0], x.fault[1], x.fault[2], x.fault[3] = edge, a, b, state
                return False
            first, second, w = first + 0.5 * w, second + 0.5 * w, 0.0
            x.report[1] += 1.0
        x.unary[one] += first
        x.unary[other] += second
        x.weights[edge - edges] = w
    return True


@inlined
def guarantee(f, i, s):
    """Return 2 c; inf if a pair has a cost of 0 or less between two states, unless all its costs
    are 0.
    """
    factor = 2.0
    for edge in range(f.factors[i], f.factors[i + 1]):
        K = np.int64(f.widths[f.variables[i] + f.linked[f.links[edge]]])
        p, least, most, size = private_start(f, i, edge), inf, -inf, 0.0
        for a in range(K):
            for b in range(K):
                if a == b:
                    continue
                one, other = s[p + a * K + a], s[p + b * K + b]
                lean = 0.0  # the part of the antisymmetric scores that single states explain
                for y in range(K):
                    lean += s[p + a * K + y] - s[p + y * K + a]
                    lean -= s[p + b * K + y] - s[p + y * K + b]
                cost = 0.5 * (one + other) + 0.5 * lean / K - s[p + a * K + b]
                least, most = min(least, cost), max(most, cost)
                size = max(size, abs(one) + abs(s[p + a * K + b]))
        if not (abs(least) <= 1e-12 * size and abs(most) <= 1e-12 * size):
            ratio = 2.0 * most / least if least > 1e-12 * size else inf
            factor = max(factor, ratio) if ratio == ratio else inf
    return factor


@inlined
def write_output(f, i, s, z, x):
    """Write the output with the states x.former; return its score, or -inf, with z = 0, if it
    contains a forbidden part.
    """
    before, value = f.variables[i], 0.0
    z[:] = 0.0
    for v in range(f.variables[i + 1] - before):
        z[f.starts[before + v] + x.former[v]] = 1.0
    for edge in range(f.factors[i], f.factors[i + 1]):
        link = f.links[edge]
        K = np.int64(f.widths[before + f.linked[link + 1]])
        a, b = x.former[f.linked[link]], x.former[f.linked[link + 1]]
        z[private_start(f, i, edge) + a * K + b] = 1.0
    for r in range(len(z)):
        if z[r] > 0.0:
            value += s[r]
    if value == -inf:
        z[:] = 0.0
    return value


@kernel(SOLVE)
def solve(structure, i, s, temperature, z, memory, work):
    """The score of an output that no expansion move improves, which goes to z; nan above
    temperature 0.

    A pair that is not submodular in a move, and is not truncated, ends the search: x.fault has its
    factor, its states a and b and the state of the move, and the value is nan.
    """
    if temperature != 0.0:
        return nan
    f, x = open_factors(structure), open_cut(work)
    low, _ = lowest_score(s)
    before, V = f.variables[i], f.variables[i + 1] - f.variables[i]
    x.fault[0], x.report[0], x.report[1] = -1, guarantee(f, i, s), 0.0
    K = np.int64(f.widths[before]) if V > 0 else 0
    for v in range(V):
        r = f.starts[before + v]
        x.former[v] = np.argmax(s[r : r + K])
    score = output_score(f, i, s, low, x.former)
    state, idle = 0, 0
    while idle < K and not halted():
        if not read_move(f, i, s, low, state, x):
            return nan
        best_halves(f, i, False, x)
        for v in range(V):
            x.states[v] = state if x.states[v] > 0 else x.former[v]
        after = output_score(f, i, s, low, x.states)
        idle += 1
        if after > score + LEAST_GAIN * abs(score):
            x.former[:V] = x.states[:V]
            score, idle = after, 1
        state = state + 1 if state + 1 < K else 0
    return write_output(f, i, s, z, x)
