"""Star updates on the dual of the linear relaxation of a pairwise graph: an upper bound on the best score that never rises.

With node scores b_j, edge scores a_ij, messages d_ij(y_j) of the edge ij to its variable j and d_j the degree of j,

    g(d) = sum_j max_{y_j} ( b_j + sum_k d_kj )  +  sum_ij max_{y_i, y_j} ( a_ij - d_ij(y_j) - d_ji(y_i) )

is at any messages an upper bound on the relaxation's value, and so on the best score. A pass minimises it exactly over all
messages into one variable after another:

    v_ij(y_j) = max_{y_i} ( a_ij(y_i, y_j) - d_ji(y_i) )
    d_ij(y_j) = v_ij(y_j) - ( b_j(y_j) + sum_k v_kj(y_j) ) / (1 + d_j).

With smoothing K > 0 every maximum is (1/K) log sum exp(K .): in the bound, which then lies above, and in the update, which
is still its exact minimiser.

Adding a constant to d_ij(.) changes nothing. Where all variables have two states a message is therefore one number,
m_ij = d_ij(1) - d_ij(0), and the scores of an edge are a constant, u_j for state 1 of either variable, and w for both. In terms
of r_ij = u_j - m_ij, and of S(x) = max(0, x), or softly log(1 + exp(K x)) / K, the update is

    c_ij = S(r_ji + w) - S(r_ji),    r_ij = ( b_j + sum_k (u_j + c)_kj ) / (1 + d_j) - c_ij,    b_j = b_j(1) - b_j(0),

whose fraction is how far state 1 is ahead of state 0 in j, and in each of its edges.

Scores of -inf count in the updates as a number so low that no output is worth it, and as -inf in the bound that is returned.
A pass costs O(edges), or O(edges K^2) of K states. Meshi et al. (2010), equations (8) to (13); Globerson and Jaakkola (2008).
"""

from __future__ import annotations

from math import exp, inf, log, log1p, nan
from typing import NamedTuple

import numpy as np

from structopt.kernels.loopy.factors import open_factors, private_start
from structopt.kernels.waist.fields import Float, Floats, Long, Longs
from structopt.kernels.waist.layout import RecordLayout
from structopt.kernels.waist.signatures import SOLVE, inlined, kernel


class Stars(NamedTuple):
    """The work record, opened. A *slot* is an edge at one of its variables; the slots of a variable follow each other.

    Attributes
    ----------
    passes, tolerance, smoothing : as the options of the inference
    first : where the slots of each variable begin
    links : link of each slot; those of edge e are 2 e and 2 e + 1
    slots : slot of each link: the inverse
    twin : slot of the same edge at its other variable
    starts : where the message of each link begins
    messages : as d above, link by link
    belief : of one variable; where there are two states, b_j + sum of u_j of every variable
    r, w : as above, a number a slot
    """

    passes: Long
    tolerance: Float
    smoothing: Float
    first: Longs
    links: Longs
    slots: Longs
    twin: Longs
    starts: Longs
    messages: Floats
    belief: Floats
    r: Floats
    w: Floats


STARS = RecordLayout(Stars)
open_stars = STARS.compiled


@inlined
def find_slots(f, i, x):
    """Fill x.first, x.links, x.slots, x.twin and x.starts; return how many links and how many numbers of messages there are."""
    before, begin, count = f.variables[i], f.links[f.factors[i]], f.variables[i + 1] - f.variables[i]
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
    """Return the number that stands for -inf in the updates, and one that no output scores less than; -inf without need."""
    total, forbidden = 0.0, False
    for r in range(len(s)):
        if s[r] == -inf:
            forbidden = True
        else:
            total += abs(s[r])
    return -4.0 * total - 1.0 if forbidden else -inf, -total if forbidden else -inf


@inlined
def positive(x, smoothing):
    """max(0, x), or log(1 + exp(K x)) / K."""
    top = x if x > 0.0 else 0.0
    return top if smoothing == 0.0 else top + log1p(exp(-smoothing * abs(x))) / smoothing


@inlined
def highest(a, smoothing):
    """max_y a(y), or (1/K) log sum_y exp(K a(y))."""
    top = -inf
    for y in range(len(a)):
        if a[y] > top:
            top = a[y]
    if smoothing == 0.0 or top == -inf:
        return top
    total = 0.0
    for y in range(len(a)):
        total += exp(smoothing * (a[y] - top))
    return top + log(total) / smoothing


@inlined
def to_differences(f, i, s, low, memory, x):
    """Fill x.belief, x.r and x.w of a graph of variables with two states."""
    before, edges = f.variables[i], f.factors[i]
    for v in range(f.variables[i + 1] - before):
        r = f.starts[before + v]
        x.belief[v] = max(s[r + 1], low) - max(s[r], low)
    for edge in range(edges, f.factors[i + 1]):
        p, link = private_start(f, i, edge), 2 * (edge - edges)
        off, on = max(s[p], low), max(s[p + 3], low)
        second, first = max(s[p + 1], low), max(s[p + 2], low)
        a, b = f.linked[f.links[edge]], f.linked[f.links[edge] + 1]
        x.belief[a] += first - off
        x.belief[b] += second - off
        one, other = x.slots[link], x.slots[link + 1]
        x.w[one] = x.w[other] = on - first - second + off
        x.r[one], x.r[other] = first - off, second - off
        if len(memory) > 0:
            x.r[one] -= memory[link]
            x.r[other] -= memory[link + 1]


@inlined
def from_differences(f, i, s, low, memory, x):
    """Write the messages that x.r stands for to x.messages, those to state 0 being 0, and to the memory."""
    edges = f.factors[i]
    for edge in range(edges, f.factors[i + 1]):
        p, link = private_start(f, i, edge), 2 * (edge - edges)
        off = max(s[p], low)
        for side in range(2):
            m = max(s[p + 2 - side], low) - off - x.r[x.slots[link + side]]
            x.messages[2 * (link + side)], x.messages[2 * (link + side) + 1] = 0.0, m
            if len(memory) > 0:
                memory[link + side] = m


@inlined
def binary_pass(count, x):
    """One pass of the update over the variables; return what they contribute to the bound."""
    r, w, twin, first, total = x.r, x.w, x.twin, x.first, 0.0
    for v in range(count):
        begin, end = first[v], first[v + 1]
        ahead = x.belief[v]
        for slot in range(begin, end):
            t = r[twin[slot]]
            u = t + w[slot]
            c = (u if u > 0.0 else 0.0) - (t if t > 0.0 else 0.0)
            ahead += c
            r[slot] = -c
        share = ahead / (1 + end - begin)
        for slot in range(begin, end):
            r[slot] += share
        total += share if share > 0.0 else 0.0
    return total


@inlined
def soft_binary_pass(count, x):
    """`binary_pass` with soft maxima."""
    total = 0.0
    for v in range(count):
        begin, end = x.first[v], x.first[v + 1]
        ahead = x.belief[v]
        for slot in range(begin, end):
            t = x.r[x.twin[slot]]
            c = positive(t + x.w[slot], x.smoothing) - positive(t, x.smoothing)
            ahead += c
            x.r[slot] = -c
        share = ahead / (1 + end - begin)
        for slot in range(begin, end):
            x.r[slot] += share
        total += positive(share, x.smoothing)
    return total


@inlined
def binary_edges(links, x):
    """What the edges contribute to the bound, up to a constant."""
    total = 0.0
    for link in range(0, links, 2):
        one, other = x.slots[link], x.slots[link + 1]
        a, b = x.r[one], x.r[other]
        both, top = a + b + x.w[one], max(a, b)
        top = max(max(top, both), 0.0)
        total += top
        if x.smoothing > 0.0:
            K = x.smoothing
            total += log(exp(-K * top) + exp(K * (a - top)) + exp(K * (b - top)) + exp(K * (both - top))) / K
    return total


@inlined
def send(s, p, K, L, second, low, m, own, other, smoothing):
    """Write v_ij to m[own :], K x L scores from s[p] on, d_ji from m[other] on; `second`: the second variable hears it."""
    if not second:
        for y in range(K):
            top, row = -inf, p + y * L
            for u in range(L):
                value = (s[row + u] if s[row + u] > low else low) - m[other + u]
                top = value if value > top else top
            if smoothing > 0.0:
                total = 0.0
                for u in range(L):
                    total += exp(smoothing * (max(s[row + u], low) - m[other + u] - top))
                top += log(total) / smoothing
            m[own + y] = top
        return
    for u in range(L):
        m[own + u] = -inf
    for y in range(K):
        row, d = p + y * L, m[other + y]
        for u in range(L):
            value = (s[row + u] if s[row + u] > low else low) - d
            m[own + u] = value if value > m[own + u] else m[own + u]
    if smoothing > 0.0:
        for u in range(L):
            total = 0.0
            for y in range(K):
                total += exp(smoothing * (max(s[p + y * L + u], low) - m[other + y] - m[own + u]))
            m[own + u] += log(total) / smoothing


@inlined
def star_pass(f, i, s, low, x):
    """One pass of the update over the variables; return what they contribute to the bound."""
    before, edges, value = f.variables[i], f.factors[i], 0.0
    m, belief, starts, links, first, widths = x.messages, x.belief, x.starts, x.links, x.first, f.widths
    for j in range(f.variables[i + 1] - before):
        K, begin, end, r = np.int64(widths[before + j]), first[j], first[j + 1], f.starts[before + j]
        for y in range(K):
            belief[y] = max(s[r + y], low)
        for slot in range(begin, end):
            link = links[slot]
            p, second = private_start(f, i, edges + (link >> 1)), link & 1
            L = np.int64(widths[before + f.linked[f.links[edges] + (link ^ 1)]])
            own = starts[link]
            send(s, p, L if second else K, K if second else L, second, low, m, own, starts[link ^ 1], x.smoothing)
            for y in range(K):
                belief[y] += m[own + y]
        for y in range(K):
            belief[y] /= 1 + end - begin
        for slot in range(begin, end):
            own = starts[links[slot]]
            for y in range(K):
                m[own + y] -= belief[y]
        value += highest(belief[:K], x.smoothing)
    return value


@inlined
def edge_bound(f, i, s, low, x):
    """What the edges contribute to the bound."""
    value, before, m = 0.0, f.variables[i], x.messages
    for edge in range(f.factors[i], f.factors[i + 1]):
        begin, link, p = f.links[edge], 2 * (edge - f.factors[i]), private_start(f, i, edge)
        K, L = np.int64(f.widths[before + f.linked[begin]]), np.int64(f.widths[before + f.linked[begin + 1]])
        one, other, top = x.starts[link], x.starts[link + 1], -inf
        for y in range(K):
            row = p + y * L
            for u in range(L):
                score = (s[row + u] if s[row + u] > low else low) - m[one + y] - m[other + u]
                top = score if score > top else top
        value += top
        if x.smoothing > 0.0:
            total = 0.0
            for y in range(K):
                for u in range(L):
                    total += exp(x.smoothing * (max(s[p + y * L + u], low) - m[one + y] - m[other + u] - top))
            value += log(total) / x.smoothing
    return value


@inlined
def choose(a, smoothing):
    """max_y a(y), or its soft form; a becomes the indicators of the first maximiser, or proportional to exp(K a)."""
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
    """g at x.messages; z becomes the local maximisers (or soft ones): the derivative by the scores."""
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


@kernel(SOLVE)
def solve(structure, i, s, temperature, z, memory, work):
    """g after the passes, and z, its (sub)gradient by the scores at the messages where they ended.

    `memory`, where there is any, holds the messages to begin with, and receives those of the end: one number a link where all
    variables have two states, else one a link and state. Passes end early when the bound falls by no more than the tolerance.
    Returns -inf, with z = 0, where the bound shows that no output is allowed, and nan above temperature 0.
    """
    if temperature != 0.0:
        return nan
    f, x = open_factors(structure), open_stars(work)
    links, numbers = find_slots(f, i, x)
    count = f.variables[i + 1] - f.variables[i]
    low, least = lowest_score(s)
    binary, value = is_binary(f, i), inf
    if binary:
        to_differences(f, i, s, low, memory, x)
    else:
        x.messages[:numbers] = 0.0
        x.messages[: len(memory)] = memory
    for _ in range(x.passes):
        if binary:
            after = soft_binary_pass(count, x) if x.smoothing > 0.0 else binary_pass(count, x)
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
        memory[:] = x.messages[: len(memory)]
    value = bound(f, i, s, z, x)
    if value < least or not value > -inf:
        z[:] = 0.0
        return -inf
    return value
