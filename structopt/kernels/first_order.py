"""Scaled forward-backward on first-order chains: the hot loop of training, in a form that runs on vector units.

With potentials E_t[u, y] of the transition into position t, node potentials e_t[y] and scales c_t:

    alpha_t[y] = e_t[y] sum_u alpha_{t-1}[u] E_t[u, y] / c_t,      b_t[y] = beta_t[y] e_t[y] / c_t,
    beta_{t-1}[u] = sum_y E_t[u, y] b_t[y],                        counts_t[u, y] = alpha_{t-1}[u] E_t[u, y] b_t[y].

Every sum is written as a loop over sources that adds a whole row: rows are added many labels at a time, where a sum into one
number has to go one by one. A tied table's E factors out of its expected counts.
"""

from __future__ import annotations

from math import inf, log

from structopt.kernels.exponential import exp_nonpositive
from structopt.kernels.signatures import inlined

UNSAFE = 1e-130  # a scaled potential below this, unless exactly zero, sends the instance to log space
LOST = 1e250  # so does a backward value above this: its forward value may have become zero by underflow


@inlined
def top_of(scores, size):
    """Return the largest of some scores."""
    top = -inf
    for q in range(size):
        top = max(top, scores[q])
    return top


@inlined
def exponentials(out, size):
    """Replace numbers, none above 0, by their exponentials; return whether none but exact zeros comes near underflow.

    One loop over as many numbers as there are at hand: short loops would not be worth a vector unit's while.
    """
    nothing, lowest = 0, 1.0
    for q in range(size):
        nothing += out[q] == -inf
        out[q] = exp_nonpositive(out[q])
        lowest = min(lowest, out[q])
    if lowest >= UNSAFE:
        return True
    for q in range(size):
        nothing -= out[q] < UNSAFE
    return nothing == 0


@inlined
def potentials(scores, size, temperature, out):
    """out = exp((scores - top) / temperature); return (top, whether nothing finite comes near underflow)."""
    top, beta = top_of(scores, size), 1.0 / temperature
    if top == -inf:
        return top, False
    for q in range(size):
        out[q] = (scores[q] - top) * beta
    return top, exponentials(out, size)


@inlined
def same(a, b, size):
    """Whether two runs of scores are equal bit for bit."""
    for q in range(size):
        if a[q] != b[q]:
            return False
    return True


@inlined
def transition_potentials(c, n, s, temperature, E):
    """Fill E, one table or one a position; return (sum of the tops over the transitions, whether scaling is safe).

    Neighbouring positions whose scores are equal, as they are where no feature looks at transitions, share their exponentials.
    """
    Q = c.labels * c.labels
    if n == 1:
        return 0.0, True
    if not c.anchored:
        top, safe = potentials(s, Q, temperature, E)
        return (n - 1) * top, safe
    value, top = 0.0, 0.0
    for p in range(n - 1):
        now = s[p * Q : (p + 1) * Q]
        if p > 0 and same(now, s[(p - 1) * Q : p * Q], Q):
            E[p * Q : (p + 1) * Q] = E[(p - 1) * Q : p * Q]
        else:
            top, safe = potentials(now, Q, temperature, E[p * Q :])
            if not safe:
                return 0.0, False
        value += top
    return value, True


@inlined
def forward(c, n, s, temperature, alpha, E, node, scale):
    """Fill alpha, the node potentials and the scales; return (log-partition times temperature, whether that is safe)."""
    L, beta = c.labels, 1.0 / temperature
    value = 0.0
    for t in range(n):
        e, top = node[t], top_of(s[t * L :], L)
        if top == -inf:
            return 0.0, False
        value += top
        for y in range(L):
            e[y] = (s[t * L + y] - top) * beta
    if not exponentials(node.reshape(n * L), n * L):
        return 0.0, False
    for t in range(n):
        e, now = node[t], alpha[t]
        if t == 0:
            for y in range(L):
                now[y] = e[y]
        else:
            before, first = alpha[t - 1], (t - 1) * L if c.anchored else 0
            a, row = before[0], E[first]
            for y in range(L):
                now[y] = a * row[y]
            for u in range(1, L):
                a, row = before[u], E[first + u]
                for y in range(L):
                    now[y] += a * row[y]
            for y in range(L):
                now[y] *= e[y]
        total = 0.0
        for y in range(L):
            total += now[y]
        if not total > 0.0:
            return 0.0, False
        scale[t] = 1.0 / total
        for y in range(L):
            now[y] *= scale[t]
        value += temperature * log(total)
    return value, True


@inlined
def backward(c, n, alpha, beta, E, node, scale, b, transposed, z):
    """Label marginals and edge marginals (or expected counts, where tied) into z; return whether nothing can have been lost.

    `transposed` is scratch for one table, `b` for one position.
    """
    L = c.labels
    Z = z[: n * L].reshape((n, L))
    counts = z[n * L :].reshape(((n - 1) * L if c.anchored else L, L))
    counts[:] = 0.0
    beta[n - 1] = 1.0
    for t in range(n - 1, -1, -1):
        a, after, marginal = alpha[t], beta[t], Z[t]
        largest = 0.0
        for y in range(L):
            marginal[y] = a[y] * after[y]
            largest = max(largest, after[y])
        if not largest < LOST:
            return False
        if t == 0:
            break
        e = node[t]
        for y in range(L):
            b[y] = after[y] * e[y] * scale[t]
        first = (t - 1) * L if c.anchored else 0
        if c.anchored or t == n - 1:
            for u in range(L):
                row = E[first + u]
                for y in range(L):
                    transposed[y, u] = row[y]
        target = beta[t - 1]
        w, row = b[0], transposed[0]
        for u in range(L):
            target[u] = w * row[u]
        for y in range(1, L):
            w, row = b[y], transposed[y]
            for u in range(L):
                target[u] += w * row[u]
        before = alpha[t - 1]
        for u in range(L):
            w, row = before[u], counts[first + u]
            for y in range(L):
                row[y] += w * b[y]
    for u in range(len(counts)):
        row, factor = counts[u], E[u]
        for y in range(L):
            row[y] *= factor[y]
    return True


@inlined
def first_order(c, n, s, temperature, x, z):
    """Scaled forward-backward. Returns (value, True), or (0, False) where log space is needed."""
    L = c.labels
    tables = n - 1 if c.anchored else 1
    value, safe = transition_potentials(c, n, s[n * L :], temperature, x.potential)
    if not safe:
        return 0.0, False
    alpha, beta = x.alpha[: n * L].reshape((n, L)), x.beta[: n * L].reshape((n, L))
    E, node = x.potential[: tables * L * L].reshape((tables * L, L)), x.node[: n * L].reshape((n, L))
    rest, safe = forward(c, n, s, temperature, alpha, E, node, x.scale)
    if not safe:
        return 0.0, False
    return value + rest, backward(c, n, alpha, beta, E, node, x.scale, x.temporary, x.table[: L * L].reshape((L, L)), z)
