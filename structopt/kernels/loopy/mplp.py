"""Star updates on the dual of the linear relaxation of a pairwise graph: an upper bound on the best
score that never rises.

With node scores b_j, edge scores a_ij, messages d_ij(y_j) of the edge ij to its variable j and d_j
the degree of j,

    g(d) = sum_j max_{y_j} ( b_j + sum_k d_kj )  +  sum_ij max_{y_i, y_j} ( a_ij - d_ij(y_j) -
    d_ji(y_i) )

is at any messages an upper bound on the relaxation's value, and so on the best score. A pass
minimises it exactly over all messages into one variable after another:

    v_ij(y_j) = max_{y_i} ( a_ij(y_i, y_j) - d_ji(y_i) )
    d_ij(y_j) = v_ij(y_j) - ( b_j(y_j) + sum_k v_kj(y_j) ) / (1 + d_j).

With smoothing K > 0 every maximum is (1/K) log sum exp(K .): in the bound, which then lies above,
and in the update, which is still its exact minimiser.

Adding a constant to d_ij(.) changes nothing. Where all variables have two states a message is
therefore one number, m_ij = d_ij(1) - d_ij(0), and the scores of an edge are a constant, u_j for
state 1 of either variable, and w for both. In terms of r_ij = u_j - m_ij, and of S(x) = max(0, x),
or softly log(1 + exp(K x)) / K, the update is

    c_ij = S(r_ji + w) - S(r_ji),    r_ij = ( b_j + sum_k (u_j + c)_kj ) / (1 + d_j) - c_ij,    b_j
    = b_j(1) - b_j(0),

whose fraction is how far state 1 is ahead of state 0 in j, and in each of its edges.

`structopt.kernels.loopy.mplp_trees` has updates along spanning forests, and
`structopt.kernels.loopy.tightening` adds clusters of variables when the passes have ended.

Scores of -inf count in the updates as a number so low that no output is worth it, and as -inf in
the bound that is returned. A pass costs O(edges), or O(edges K^2) of K states. Meshi et al. (2010),
equations (8) to (13); Globerson and Jaakkola (2008).
"""

from __future__ import annotations

from math import exp, inf, log, nan
from typing import NamedTuple

import numpy as np

from structopt.kernels.arrays.rows import set_row
from structopt.kernels.loopy.factors import TABLE, open_factors, private_start
from structopt.kernels.loopy.forests.layout import ForestWork
from structopt.kernels.loopy.mplp_binary import (
    binary_edges,
    binary_pass,
    from_differences,
    soft_binary_pass,
    to_differences,
)
from structopt.kernels.loopy.mplp_cliques import (
    Cliques,
    clique_bound,
    clique_pass,
    start_cliques,
)
from structopt.kernels.loopy.mplp_states import edge_bound, star_pass
from structopt.kernels.loopy.mplp_trees import tree_pass
from structopt.kernels.loopy.tightening.tighten import tighten
from structopt.kernels.waist.fields import Float, Floats, Ints, Long, Longs
from structopt.kernels.waist.halting import halted
from structopt.kernels.waist.layout import RecordLayout
from structopt.kernels.waist.signatures import SOLVE, inlined, kernel


class Stars(NamedTuple):
    """The work record, opened. A *slot* is an edge at one of its variables; the slots of a variable
    follow each other.

    Attributes
    ----------
    passes, tolerance, smoothing, clusters : as the options of the inference
    first : where the slots of each variable begin
    links : link of each slot; those of edge e are 2 e and 2 e + 1
    slots : slot of each link: the inverse
    twin : slot of the same edge at its other variable
    starts : where the message of each link begins
    messages : as d above, link by link
    belief : of one variable; where there are two states, b_j + sum of u_j of every variable
    r, w : as above, a number a slot
    cliques : scratch of graphs with other factors than tables
    forests, place : spanning forests of every instance, none if blocks are stars, and the place of
    each variable in their order
    """

    passes: Long
    tolerance: Float
    smoothing: Float
    clusters: Long
    first: Longs
    links: Longs
    slots: Longs
    twin: Longs
    starts: Longs
    messages: Floats
    belief: Floats
    r: Floats
    w: Floats
    cliques: Cliques
    forests: ForestWork
    place: Ints


STARS = RecordLayout(Stars)
open_stars = STARS.compiled


@inlined
def find_slots(f, i, x):
    """Fill x.first, x.links, x.slots, x.twin and x.starts; return how many links and how many
    numbers of messages there are.
    """
    before, begin, count = (
        f.variables[i],
        f.links[f.factors[i]],
        f.variables[i + 1] - f.variables[i],
    )
    total = f.links[f.factors[i + 1]] - begin
    x.first[: count + 1] = 0
    for link in range(total):
        x.first[f.linked[begin + link] + 1] += 1
    for v in range(count):
        x.first[v + 1] += x.first[v]
    where = 0
    for link in range(total):
        v = f.linked[begin + link]
        slot = x.first[v]
        x.first[v] += 1
        x.links[slot], x.slots[link], x.starts[link] = link, slot, where
        where += f.widths[before + v]
    for v in range(count, 0, -1):
        x.first[v] = x.first[v - 1]
    x.first[0] = 0
    for slot in range(total):
        x.twin[slot] = x.slots[x.links[slot] ^ 1]
    return total, where


@inlined
def is_binary(f, i):
    """Whether all variables have two states."""
    for v in range(f.variables[i], f.variables[i + 1]):
        if f.widths[v] != 2:
            return False
    return True


@inlined
def lowest_score(s):
    """Return the number that stands for -inf in the updates, and one that no output scores less
    than; -inf without need.
    """
    total, forbidden = 0.0, False
    for r in range(len(s)):
        if s[r] == -inf:
            forbidden = True
        else:
            total += abs(s[r])
    return -4.0 * total - 1.0 if forbidden else -inf, -total if forbidden else -inf


@inlined
def choose(a, smoothing):
    """max_y a(y), or its soft form; a becomes the indicators of the first maximiser, or
    proportional to exp(K a).
    """
    best = 0
    for y in range(1, len(a)):
        if a[y] > a[best]:
            best = y
    top = a[best]
    if smoothing == 0.0 or top == -inf:
        a[:] = 0.0
        a[best] = 1.0
        return top
    total = 0.0
    for y in range(len(a)):
        a[y] = exp(smoothing * (a[y] - top))
        total += a[y]
    for y in range(len(a)):
        a[y] /= total
    return top + log(total) / smoothing


@inlined
def bound(f, i, s, z, x):
    """g at x.messages; z becomes the local maximisers (or soft ones): the derivative by the
    scores.
    """
    before, value = f.variables[i], 0.0
    z[: f.shared[i]] = s[: f.shared[i]]
    for edge in range(f.factors[i], f.factors[i + 1]):
        begin, link, p = f.links[edge], 2 * (edge - f.factors[i]), private_start(f, i, edge)
        one, other = before + f.linked[begin], before + f.linked[begin + 1]
        K, L = np.int64(f.widths[one]), np.int64(f.widths[other])
        c, d = x.starts[link], x.starts[link + 1]
        for y in range(K):
            z[f.starts[one] + y] += x.messages[c + y]
            for u in range(L):
                z[p + y * L + u] = s[p + y * L + u] - x.messages[c + y] - x.messages[d + u]
        for u in range(L):
            z[f.starts[other] + u] += x.messages[d + u]
        value += choose(z[p : p + K * L], x.smoothing)
    for v in range(before, f.variables[i + 1]):
        value += choose(z[f.starts[v] : f.starts[v] + f.widths[v]], x.smoothing)
    return value


@inlined
def is_pairwise(f, i):
    """Whether all factors are tables over two variables."""
    for factor in range(f.factors[i], f.factors[i + 1]):
        if f.kinds[factor] != TABLE:
            return False
    for v in range(f.variables[i], f.variables[i + 1]):
        if f.widths[v] < 2:
            return False
    return True


@inlined
def solve_cliques(f, i, s, z, memory, x):
    """`solve` by `structopt.kernels.loopy.mplp_cliques`; the memory holds a number for every part
    of the linked variables of every factor.
    """
    low, least = lowest_score(s)
    start_cliques(f, i, s, low, memory, x.cliques)
    value, possible = inf, True
    for _ in range(x.passes):
        if halted() or not possible:
            break
        possible = clique_pass(f, i, s, x.cliques)
        if x.tolerance > 0.0 and possible:
            after = clique_bound(f, i, s, z, x.cliques)
            if value - after <= x.tolerance:
                break
            value = after
    set_row(memory, x.cliques.messages[: len(memory)])
    value = clique_bound(f, i, s, z, x.cliques)
    if not possible or value < least or not value > -inf:
        z[:] = 0.0
        return -inf
    return value


@kernel(SOLVE)
def solve(structure, i, s, temperature, z, memory, work):
    """g after the passes, and z, its (sub)gradient by the scores at the messages where they ended.

    `memory`, unless it is empty, holds the messages to begin with, and receives the last ones. In
    graphs of tables over two variables they are one number a link if all variables have two states
    and blocks are stars, else one a link and state. Passes end early when the bound falls by no
    more than the tolerance. Returns -inf, with z = 0, if the bound shows that no output is allowed,
    and nan above temperature 0.
    """
    if temperature != 0.0:
        return nan
    f, x = open_factors(structure), open_stars(work)
    if not is_pairwise(f, i):
        return solve_cliques(f, i, s, z, memory, x)
    links, numbers = find_slots(f, i, x)
    count = f.variables[i + 1] - f.variables[i]
    low, least = lowest_score(s)
    trees, value = len(x.forests.graph) > 0, inf
    binary = is_binary(f, i) and not trees
    if binary:
        to_differences(f, i, s, low, memory, x)
    else:
        x.messages[:numbers] = 0.0
        set_row(x.messages[: len(memory)], memory)
    for _ in range(x.passes):
        if halted():
            break
        if binary:
            after = soft_binary_pass(count, x) if x.smoothing > 0.0 else binary_pass(count, x)
        elif trees:
            after = tree_pass(f, i, s, low, x)
        else:
            after = star_pass(f, i, s, low, x)
        if x.tolerance > 0.0:
            after += binary_edges(links, x) if binary else edge_bound(f, i, s, low, x)
            if value - after <= x.tolerance:
                break
            value = after
    if binary:
        from_differences(f, i, s, low, memory, x)
    else:
        set_row(memory, x.messages[: len(memory)])
    if trees or x.clusters > 0:
        value = tighten(f, i, s, low, z, x)
    else:
        value = bound(f, i, s, z, x)
    if value < least or not value > -inf:
        z[:] = 0.0
        return -inf
    return value
