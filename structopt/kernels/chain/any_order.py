"""Exact inference on linear chains of order k: Viterbi, forward-backward, k-best Viterbi.

Parts of an instance of n positions and L labels, in this order: n x L label parts; then for j = 1..k the (j+1)-gram
parts, L^j histories x L labels, *tied* (one table an instance, whose marginals are expected counts) or, for order 1,
*anchored* (n - 1 tables). A (j+1)-gram part is active at every position that has j labels before it.

The state at position t is the tuple of the last min(t + 1, k) labels, so that order k costs O(n L^(k+1)). Hard constraints
are parts whose score becomes -inf. Forward-backward runs on scaled probabilities; where these could underflow (a range of
more than 300 nats) it runs in log space instead.
"""

from __future__ import annotations

from math import exp, inf, log
from typing import NamedTuple

import numpy as np

from structopt.kernels.arrays.ranked_lists import insert
from structopt.kernels.chain.first_order import LOST, first_order, first_order_viterbi, potentials
from structopt.kernels.waist.fields import Flag, Floats, Int, Ints, Longs
from structopt.kernels.waist.layout import RecordLayout
from structopt.kernels.waist.signatures import K_BEST, SOLVE, inlined, kernel
from structopt.kernels.waist.target import list_parts


class Chain(NamedTuple):
    """The structure record, opened.

    Attributes
    ----------
    labels, order : L and k
    anchored : whether bigram parts have a table a position
    tokens : (m + 1,) where the positions of each instance begin
    forbidden_starts, forbidden_ends : label numbers
    forbidden_transitions : numbers u * L + y of forbidden bigrams
    excluded_offsets, excluded : per instance, further label parts that are forbidden (partially labelled input)
    """

    labels: Int
    order: Int
    anchored: Flag
    tokens: Longs
    forbidden_starts: Ints
    forbidden_ends: Ints
    forbidden_transitions: Ints
    excluded_offsets: Longs
    excluded: Ints


CHAIN = RecordLayout(Chain)
open_chain = CHAIN.compiled


class Scratch(NamedTuple):
    """The work record, opened: forward and backward tables, scales, score and potential tables, back pointers."""

    alpha: Floats
    beta: Floats
    scale: Floats
    node: Floats
    table: Floats
    potential: Floats
    temporary: Floats
    back: Ints


SCRATCH = RecordLayout(Scratch)
open_scratch = SCRATCH.compiled


@inlined
def constrain(c, i, n, s):
    """Give every forbidden part the score -inf."""
    L = c.labels
    for y in c.forbidden_starts:
        s[y] = -inf
    for y in c.forbidden_ends:
        s[(n - 1) * L + y] = -inf
    if len(c.forbidden_transitions) > 0:
        tables = n - 1 if c.anchored else 1
        for p in range(tables):
            for q in c.forbidden_transitions:
                s[n * L + p * L * L + q] = -inf
    for j in range(c.excluded_offsets[i], c.excluded_offsets[i + 1]):
        s[c.excluded[j]] = -inf


@inlined
def gather(c, n, s, table):
    """Fill `table` with the transition scores: for h = 1..k the sum of all (j+1)-gram scores, j <= h, of a history of h labels.

    Anchored bigrams are used where they stand (`table` is not filled). Returns nothing.
    """
    L = c.labels
    size = L * L
    for q in range(size):
        table[q] = s[n * L + q]
    start, below = size, 0
    for _ in range(2, c.order + 1):
        histories = (start - below) // L  # histories one label shorter
        for q in range((start - below) * L):
            u, y = q // L, q % L
            table[start + q] = table[below + (u % histories) * L + y] + s[n * L + start + q]
        below, start = start, start + (start - below) * L


@inlined
def viterbi(c, n, s, x, z):
    """Fill z with the indicators of the best labelling, order above 1; return its score (-inf when none is allowed)."""
    L, k = c.labels, c.order
    N = x.temporary.size
    best, back = x.alpha, x.back
    for y in range(L):
        best[y] = s[y]
    states, table = L, 0
    for t in range(1, n):
        if 1 < t <= k:
            table += states  # the table of histories of t labels begins after that of t - 1, which has L^t entries
        shrink = states // L if t >= k else states
        now, before = best[t * N : (t + 1) * N], best[(t - 1) * N : t * N]
        pointer = back[t * N : (t + 1) * N]
        following = states * L if t < k else states
        for v in range(following):
            now[v] = -inf
            pointer[v] = 0
        scores = x.table[table:]
        for u in range(states):
            a = before[u]
            base = (u % shrink) * L
            for y in range(L):
                value = a + scores[u * L + y]
                if value > now[base + y]:
                    now[base + y] = value
                    pointer[base + y] = u
        states = following
        for v in range(0, states, L):
            for y in range(L):
                now[v + y] += s[t * L + y]
    return trace_best(c, n, x, z, states)


@inlined
def trace_best(c, n, x, z, states):
    """Follow the back pointers from the best last state, marking its parts in z (none where no labelling is allowed)."""
    L = c.labels
    N = x.temporary.size
    last = x.alpha[(n - 1) * N : n * N]
    v = 0
    for u in range(states):
        if last[u] > last[v]:
            v = u
    value = last[v]
    z[:] = 0.0
    if value == -inf:
        return value
    for t in range(n - 1, -1, -1):
        u = np.int64(x.back[t * N + v]) if t > 0 else np.int64(0)
        mark(c, n, t, u, v % L, z, 1.0)
        v = u
    return value


@inlined
def mark(c, n, t, u, y, z, amount):
    """Add `amount` to the parts that label y at position t after history u makes active."""
    L = c.labels
    z[t * L + y] += amount
    if t == 0:
        return
    if c.anchored:
        z[n * L + (t - 1) * L * L + u * L + y] += amount
        return
    start, histories = n * L, L
    for _ in range(min(t, c.order)):
        z[start + (u % histories) * L + y] += amount
        start += histories * L
        histories *= L


@inlined
def forward_backward(c, n, s, temperature, x, z):
    """Scaled forward-backward for orders above 1. Returns (value, True), or (0, False) where log space is needed."""
    L, k = c.labels, c.order
    N = x.temporary.size
    value = 0.0
    tops = x.temporary  # only read before the backward pass begins
    start, size = 0, L * L
    for h in range(min(k, n - 1)):
        top, safe = potentials(x.table[start:], size, temperature, x.potential[start:])
        if not safe:
            return 0.0, False
        tops[h] = top
        start, size = start + size, size * L
    states, table = L, 0
    for t in range(n):
        node = x.node[t * L : (t + 1) * L]
        top, safe = potentials(s[t * L :], L, temperature, node)
        if not safe:
            return 0.0, False
        value += top
        now = x.alpha[t * N : (t + 1) * N]
        if t == 0:
            for y in range(L):
                now[y] = node[y]
        else:
            if 1 < t <= k:
                table += states
            value += tops[min(t, k) - 1]
            e = x.potential[table:]
            before = x.alpha[(t - 1) * N : t * N]
            shrink = states // L if t >= k else states
            following = states * L if t < k else states
            for v in range(following):
                now[v] = 0.0
            for u in range(states):
                a = before[u]
                target = now[(u % shrink) * L : (u % shrink) * L + L]
                row = e[u * L : u * L + L]
                for y in range(L):
                    target[y] += a * row[y]
            states = following
            for v in range(0, states, L):
                for y in range(L):
                    now[v + y] *= node[y]
        total = 0.0
        for v in range(states):
            total += now[v]
        if not total > 0.0:
            return 0.0, False
        x.scale[t] = total
        for v in range(states):
            now[v] /= total
        value += temperature * log(total)
    return value, backward(c, n, x, z, states, table)


@inlined
def backward(c, n, x, z, states, table):
    """Backward pass: label marginals and (expected) transition counts into z, given the forward tables.

    Returns whether the forward tables can have lost nothing that counts.
    """
    L, k = c.labels, c.order
    N = x.temporary.size
    z[n * L :] = 0.0
    last = x.beta[(n - 1) * N : n * N]
    for v in range(states):
        last[v] = 1.0
    for t in range(n - 1, 0, -1):
        now, after = x.beta[(t - 1) * N : t * N], x.beta[t * N : (t + 1) * N]
        node = x.node[t * L : (t + 1) * L]
        weighted = x.temporary
        for v in range(0, states, L):
            for y in range(L):
                weighted[v + y] = after[v + y] * node[y] / x.scale[t]
        previous = states // L if t < k else states
        shrink = previous // L if t >= k else previous
        e, counts = x.potential[table:], z[n * L + table :]
        alpha = x.alpha[(t - 1) * N : t * N]
        for u in range(previous):
            total, a = 0.0, alpha[u]
            row, count = e[u * L : u * L + L], counts[u * L : u * L + L]
            source = weighted[(u % shrink) * L : (u % shrink) * L + L]
            for y in range(L):
                q = row[y] * source[y]
                total += q
                count[y] += a * q
            now[u] = total
            if not total < LOST:
                return False
        if t <= k and t > 1:
            table -= previous  # the table of histories one label shorter has previous entries
        states = previous
    fold_counts(c, n, z)
    label_marginals(c, n, x, z)
    return True


@inlined
def fold_counts(c, n, z):
    """Add the counts of every (h+1)-gram to those of its last h labels, from the longest down."""
    L = c.labels
    size = L ** (c.order + 1)
    start = 0
    for j in range(2, c.order + 1):
        start += L**j
    for _ in range(c.order - 1):
        shorter = size // L
        for q in range(size):
            z[n * L + start - shorter + q % shorter] += z[n * L + start + q]
        start -= shorter
        size = shorter


@inlined
def label_marginals(c, n, x, z):
    """z of the label parts: the product of forward and backward tables, summed over the tuples' older labels."""
    L, k = c.labels, c.order
    N = x.temporary.size
    states = L
    for t in range(n):
        if 0 < t < k:
            states *= L
        alpha, beta = x.alpha[t * N : (t + 1) * N], x.beta[t * N : (t + 1) * N]
        row = z[t * L : (t + 1) * L]
        for y in range(L):
            row[y] = alpha[y] * beta[y]
        for v in range(L, states, L):
            for y in range(L):
                row[y] += alpha[v + y] * beta[v + y]


@inlined
def log_add(a, b):
    """log(exp a + exp b), also where one or both are -inf."""
    if a == -inf:
        return b
    if b == -inf:
        return a
    top = max(a, b)
    return top + log(exp(a - top) + exp(b - top))


@inlined
def log_forward_backward(c, n, s, temperature, x, z):
    """Forward-backward in log space: slower, never underflows. Returns -inf where no labelling is allowed."""
    L, k = c.labels, c.order
    N = x.temporary.size
    for y in range(L):
        x.alpha[y] = s[y] / temperature
    states, table = L, 0
    for t in range(1, n):
        if 1 < t <= k:
            table += states
        shrink = states // L if t >= k else states
        following = states * L if t < k else states
        now, before = x.alpha[t * N : (t + 1) * N], x.alpha[(t - 1) * N : t * N]
        e = s[n * L + (t - 1) * L * L :] if c.anchored else x.table[table:]
        for v in range(following):
            now[v] = -inf
        for u in range(states):
            base = (u % shrink) * L
            for y in range(L):
                now[base + y] = log_add(now[base + y], before[u] + e[u * L + y] / temperature)
        states = following
        for v in range(states):
            now[v] += s[t * L + v % L] / temperature
    total = -inf
    for v in range(states):
        total = log_add(total, x.alpha[(n - 1) * N + v])
        x.beta[(n - 1) * N + v] = 0.0
    z[:] = 0.0
    if total == -inf:
        return total
    for t in range(n - 1, -1, -1):
        for v in range(states):
            if x.alpha[t * N + v] > -inf:
                z[t * L + v % L] += exp(x.alpha[t * N + v] + x.beta[t * N + v] - total)
        if t == 0:
            break
        previous = states // L if t < k else states
        shrink = previous // L if t >= k else previous
        e = s[n * L + (t - 1) * L * L :] if c.anchored else x.table[table:]
        counts = z[n * L + (t - 1) * L * L :] if c.anchored else z[n * L + table :]
        for u in range(previous):
            base, collected = (u % shrink) * L, -inf
            for y in range(L):
                step = e[u * L + y] / temperature + s[t * L + y] / temperature + x.beta[t * N + base + y]
                collected = log_add(collected, step)
                if step > -inf and x.alpha[(t - 1) * N + u] > -inf:
                    counts[u * L + y] += exp(x.alpha[(t - 1) * N + u] + step - total)
            x.beta[(t - 1) * N + u] = collected
        if 1 < t <= k:
            table -= previous
        states = previous
    if not c.anchored:
        fold_counts(c, n, z)
    return temperature * total


@kernel(SOLVE)
def solve(structure, i, s, temperature, z, memory, work):
    """max_z' s^T z' + temperature * H(z'), and its maximiser z: Viterbi at temperature 0, else forward-backward.

    Returns -inf, with z = 0, where the hard constraints allow no labelling.
    """
    c, x = open_chain(structure), open_scratch(work)
    n = c.tokens[i + 1] - c.tokens[i]
    constrain(c, i, n, s)
    if c.order == 1:
        if temperature == 0.0:
            return first_order_viterbi(c, n, s, x, z)
        value, done = first_order(c, n, s, temperature, x, z)
        if done:
            return value
    if not c.anchored:
        gather(c, n, s, x.table)
    if c.order > 1:
        if temperature == 0.0:
            return viterbi(c, n, s, x, z)
        value, done = forward_backward(c, n, s, temperature, x, z)
        if done:
            return value
    return log_forward_backward(c, n, s, temperature, x, z)


@kernel(K_BEST)
def k_best(structure, i, s, count, values, offsets, parts, counts, work):
    """The `count` best labellings in decreasing score, by Viterbi over lists; O(n L^(k+1) count)."""
    c, x = open_chain(structure), open_scratch(work)
    n = c.tokens[i + 1] - c.tokens[i]
    L, k = c.labels, c.order
    constrain(c, i, n, s)
    if not c.anchored:
        gather(c, n, s, x.table)
    N = x.temporary.size
    best = np.full((n, N, count), -inf)
    state = np.zeros((n, N, count), np.int32)
    rank = np.zeros((n, N, count), np.int32)
    for y in range(L):
        best[0, y, 0] = s[y]
    states, table = L, 0
    for t in range(1, n):
        if 1 < t <= k:
            table += states
        shrink = states // L if t >= k else states
        e = s[n * L + (t - 1) * L * L :] if c.anchored else x.table[table:]
        for u in range(states):
            for y in range(L):
                v = (u % shrink) * L + y
                for j in range(count):
                    value = best[t - 1, u, j] + e[u * L + y] + s[t * L + y]
                    if not insert(value, u, j, best[t, v], state[t, v], rank[t, v]):
                        break
        states = states * L if t < k else states
    ending, ending_state, ending_rank = np.full(count, -inf), np.zeros(count, np.int32), np.zeros(count, np.int32)
    for v in range(states):
        for j in range(count):
            if not insert(best[n - 1, v, j], v, j, ending, ending_state, ending_rank):
                break
    z, found, offsets[0] = np.zeros(len(s)), 0, 0
    for q in range(count):
        if ending[q] == -inf:
            break
        v, j = np.int64(ending_state[q]), ending_rank[q]
        values[q], z[:] = ending[q], 0.0
        for t in range(n - 1, -1, -1):
            u = np.int64(state[t, v, j])
            mark(c, n, t, u, v % L, z, 1.0)
            v, j = u, rank[t, v, j]
        found += 1
        offsets[found] = list_parts(z, offsets[q], parts, counts)
    return found
