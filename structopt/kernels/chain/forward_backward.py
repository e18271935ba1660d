"""Forward-backward on chains of order above 1, on scaled probabilities; O(n L^(k+1)).

Where these could underflow (a range of more than 300 nats), its functions say so, and log space
takes over.
"""

from __future__ import annotations

from math import log

from structopt.kernels.chain.first_order import LOST, potentials
from structopt.kernels.chain.ngram_parts import counts_at, fold_counts, scores_at
from structopt.kernels.waist.signatures import inlined


@inlined
def forward_backward(c, n, s, temperature, x, z):
    """Scaled forward-backward for orders above 1. Returns (value, True), or (0, False) where log
    space is needed.
    """
    if not c.anchored and not transition_potentials(c, n, temperature, x):
        return 0.0, False
    value, safe, states, table = forward(c, n, s, temperature, x)
    if not safe:
        return 0.0, False
    return value, backward(c, n, x, z, states, table)


@inlined
def transition_potentials(c, n, temperature, x):
    """Fill x.potential from the summed n-gram scores x.table, and x.temporary with their tops;
    return whether scaling is safe.
    """
    start, size = 0, c.labels * c.labels
    for h in range(min(c.order, n - 1)):
        top, safe = potentials(x.table[start:], size, temperature, x.potential[start:])
        if not safe:
            return False
        x.temporary[h] = top
        start, size = start + size, size * c.labels
    return True


@inlined
def forward(c, n, s, temperature, x):
    """Fill the forward tables, node potentials and scales.

    Returns (log-partition times temperature, whether that is safe, states of the last position,
    where their table begins).
    """
    L, k = c.labels, c.order
    N = x.temporary.size
    value = 0.0
    tops = x.temporary  # which the backward pass overwrites
    states, table = L, 0
    for t in range(n):
        node = x.node[t * L : (t + 1) * L]
        top, safe = potentials(s[t * L :], L, temperature, node)
        if not safe:
            return 0.0, False, states, table
        value += top
        now = x.alpha[t * N : (t + 1) * N]
        if t == 0:
            for y in range(L):
                now[y] = node[y]
        else:
            if 1 < t <= k:
                table += states
            if c.anchored:
                e = x.potential[(t - 1) * N * L :]
                top, safe = potentials(
                    scores_at(c, n, s, t, table, x.table), states * L, temperature, e
                )
                if not safe:
                    return 0.0, False, states, table
                value += top
            else:
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
            return 0.0, False, states, table
        x.scale[t] = total
        for v in range(states):
            now[v] /= total
        value += temperature * log(total)
    return value, True, states, table


@inlined
def backward(c, n, x, z, states, table):
    """Write label marginals and expected transition counts to z, given the forward tables.

    Returns whether nothing that counts can have underflowed in the forward tables.
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
        e = x.potential[(t - 1) * N * L :] if c.anchored else x.potential[table:]
        counts = counts_at(c, n, z, t, table)
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
def label_marginals(c, n, x, z):
    """Write the label marginals to z: products of forward and backward tables, summed over the
    older labels of each tuple.
    """
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
