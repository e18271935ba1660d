"""The best point of the local polytope of pairs of two-state variables, by a minimum cut.

In terms of the indicators x_j of state 1, the score of an output is a constant plus

    sum_j c_j x_j + sum_ij w_ij x_i x_j,    w_ij = s(1, 1) - s(1, 0) - s(0, 1) + s(0, 0).

A pair is submodular if w_ij >= 0 (its negative score is then a submodular function). With

    w x y = w (x + y) / 2 - |w| |x - y| / 2  (w >= 0),
    w x y = w (x + y) / 2 - |w| |x - (1 - y)| / 2 + constant  (w < 0)

a graph of submodular pairs is a network with a node per variable, whose minimum cut is the best
output. Otherwise each variable has two nodes, for x and 1 - x. If the cut puts both on one side,
the variable is 1/2. These half-integral points are the vertices of the local polytope, and the
best of them has the value of the relaxation: roof duality (Hammer, Hansen and Simeone, 1984;
Kolmogorov and Rother, 2007).
"""

from __future__ import annotations

from math import inf, nan

from structopt.kernels.cut.flow import join, maximum_flow, open_cut
from structopt.kernels.loopy.factors import open_factors, private_start
from structopt.kernels.loopy.mplp import lowest_score
from structopt.kernels.waist.signatures import SOLVE, inlined, kernel


@inlined
def pair_terms(off, second, first, on, low, noise):
    """Return the gains a, b and w of a pair with the scores (0, 0), (0, 1), (1, 0) and (1, 1): off
    + a x + b y + w x y.

    A score of -inf counts as `low`, or as less where that makes the pair submodular.
    """
    o, q, p, n = max(off, low), max(second, low), max(first, low), max(on, low)
    a, b, w = p - o, q - o, n - p - q + o
    if w < 0.0:
        if second == -inf:
            b, w = n - p, 0.0
        elif first == -inf:
            a, w = n - q, 0.0
        elif w >= -noise * (abs(o) + abs(p) + abs(q) + abs(n)):
            w = 0.0
    return a, b, w


@inlined
def read_pairs(f, i, s, low, x):
    """Fill x.unary and x.weights; return the first factor that is not submodular, or -1."""
    before, edges, fault = f.variables[i], f.factors[i], -1
    for v in range(f.variables[i + 1] - before):
        r = f.starts[before + v]
        x.unary[v] = max(s[r + 1], low) - max(s[r], low)
    for edge in range(edges, f.factors[i + 1]):
        p = private_start(f, i, edge)
        a, b, w = pair_terms(s[p], s[p + 1], s[p + 2], s[p + 3], low, x.noise)
        x.unary[f.linked[f.links[edge]]] += a
        x.unary[f.linked[f.links[edge] + 1]] += b
        x.weights[edge - edges] = w
        if w < 0.0 and fault < 0:
            fault = edge
    return fault


@inlined
def best_halves(f, i, doubled, x):
    """Maximise sum_j c_j x_j + sum_ij w_ij x_i x_j over the polytope; x.states become 2 x_j."""
    V, edges, count = f.variables[i + 1] - f.variables[i], f.factors[i], 0
    nodes = 2 * V if doubled else V
    x.arcs[:nodes] = -1
    for v in range(V):
        x.excess[v] = x.unary[v]
    for edge in range(edges, f.factors[i + 1]):
        w = x.weights[edge - edges]
        if w == 0.0:
            continue
        a, b = f.linked[f.links[edge]], f.linked[f.links[edge] + 1]
        x.excess[a] += 0.5 * w
        x.excess[b] += 0.5 * w
        other = b if w > 0.0 else V + b
        join(count, a, other, 0.5 * abs(w), x)
        count += 1
        if doubled:
            join(count, V + a, V + b if w > 0.0 else b, 0.5 * abs(w), x)
            count += 1
    if doubled:
        for v in range(V):
            x.excess[V + v] = -x.excess[v]
    maximum_flow(nodes, x)
    for v in range(V):
        x.states[v] = 2 if x.levels[v] >= 0 else 0
        if doubled:
            x.states[v] = 1 + (x.levels[v] >= 0) - (x.levels[V + v] >= 0)


@inlined
def write_point(f, i, s, z, x):
    """Write the point with the masses x.states / 2 of the states 1; return its score, or -inf, with
    z = 0, if it contains a forbidden part.
    """
    before, value = f.variables[i], 0.0
    for v in range(f.variables[i + 1] - before):
        r, u = f.starts[before + v], 0.5 * x.states[v]
        z[r], z[r + 1] = 1.0 - u, u
    for edge in range(f.factors[i], f.factors[i + 1]):
        p, link = private_start(f, i, edge), f.links[edge]
        u, t = 0.5 * x.states[f.linked[link]], 0.5 * x.states[f.linked[link + 1]]
        both = min(u, t) if x.weights[edge - f.factors[i]] >= 0.0 else max(0.0, u + t - 1.0)
        z[p], z[p + 1], z[p + 2], z[p + 3] = 1.0 - u - t + both, t - both, u - both, both
    for r in range(len(z)):
        if z[r] > 0.0:
            value += z[r] * s[r]
    if value == -inf:
        z[:] = 0.0
    return value


@kernel(SOLVE)
def solve(structure, i, s, temperature, z, memory, work):
    """The value of the relaxation, and its best point z, which is integral if all pairs are
    submodular; nan above temperature 0.

    A forbidden part is in the best point only if all points contain one: the value is then -inf.
    """
    if temperature != 0.0:
        return nan
    f, x = open_factors(structure), open_cut(work)
    low, _ = lowest_score(s)
    fault = read_pairs(f, i, s, low, x)
    best_halves(f, i, fault >= 0, x)
    return write_point(f, i, s, z, x)


@kernel(SOLVE)
def solve_exactly(structure, i, s, temperature, z, memory, work):
    """`solve`, for submodular pairs only: of others x.fault[0] becomes the first factor, and the
    value nan.
    """
    if temperature != 0.0:
        return nan
    f, x = open_factors(structure), open_cut(work)
    low, _ = lowest_score(s)
    x.fault[0] = read_pairs(f, i, s, low, x)
    if x.fault[0] >= 0:
        return nan
    best_halves(f, i, False, x)
    return write_point(f, i, s, z, x)
