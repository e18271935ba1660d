"""Scaled forward-backward and Viterbi on first-order chains: the hot loops of training, in a form
that runs on vector units.

With potentials E_t[u, y] of the transition into position t, node potentials e_t[y] and scales c_t:

    alpha_t[y] = e_t[y] sum_u alpha_{t-1}[u] E_t[u, y] / c_t,      b_t[y] = beta_t[y] e_t[y] / c_t,
    beta_{t-1}[u] = sum_y E_t[u, y] b_t[y],                        counts_t[u, y] = alpha_{t-1}[u]
    E_t[u, y] b_t[y].

Every sum is over rows of whole tables, many labels at a time
(`structopt.kernels.arrays.row_tables`). Rows are padded to whole vectors of `LANES` labels, with
potentials of 0 after the last, since the rest of a row would take instructions of its own. A tied
table's E factors out of its expected counts.
"""

from __future__ import annotations

from math import inf, log

import numpy as np

from structopt.kernels.arrays.exponential import exp_nonpositive
from structopt.kernels.arrays.row_tables import add_outer, set_combined, set_maximised
from structopt.kernels.arrays.rows import (
    add_row,
    highest,
    set_product,
    set_row,
    set_scaled,
    set_shifted,
    total,
)
from structopt.kernels.waist.lanes import LANES
from structopt.kernels.waist.signatures import embedded, inlined
from structopt.kernels.waist.views import part, table

# a scaled potential below this, unless exactly zero, sends the instance to log space
UNSAFE = 1e-130
# so does a backward value above this: its forward value may have become zero by underflow
LOST = 1e250


def padded(labels: int) -> int:
    """Length of a row of labels in the padded tables."""
    return -(-labels // LANES) * LANES


@inlined
def exponentials(out, size):
    """Replace numbers, none above 0, by their exponentials; return whether none but exact zeros
    comes near underflow.
    """
    nothing, small = 0, 0
    for q in range(size):
        nothing += out[q] == -inf
    for q in range(size):
        out[q] = exp_nonpositive(out[q])
    for q in range(size):
        small += out[q] < UNSAFE
    return small == nothing


@inlined
def potentials(scores, size, temperature, out):
    """out = exp((scores - top) / temperature); return (top, whether nothing finite comes near
    underflow).
    """
    top, beta = highest(part(scores, 0, size)), 1.0 / temperature
    if top == -inf:
        return top, False
    for q in range(size):
        out[q] = (scores[q] - top) * beta
    return top, exponentials(out, size)


@inlined
def same(a, b, size):
    """Whether two runs of scores are equal."""
    different = 0
    for q in range(size):
        different += a[q] != b[q]
    return different == 0


@inlined
def fill_row(row, scores, first, labels, top, beta):
    """row = (scores - top) * beta, padded with -inf."""
    set_shifted(part(row, 0, labels), part(scores, first, first + labels), top, beta)
    for y in range(labels, len(row)):
        row[y] = -inf


@embedded
def transition_potentials(c, n, s, temperature, E):
    """Fill E, one table or one a position; return (sum of the tops over the transitions, whether
    scaling is safe).

    Neighbouring positions whose scores are equal, as they are where no feature looks at
    transitions, share their exponentials.
    """
    L, P, beta = c.labels, E.shape[1], 1.0 / temperature
    if n == 1:
        return 0.0, True
    value, top = 0.0, 0.0
    for p in range(n - 1 if c.anchored else 1):
        if p > 0 and same(part(s, p * L * L, len(s)), part(s, (p - 1) * L * L, len(s)), L * L):
            set_row(part(E, p * L * P, (p + 1) * L * P), part(E, (p - 1) * L * P, p * L * P))
        else:
            top = highest(part(s, p * L * L, (p + 1) * L * L))
            if top == -inf:
                return 0.0, False
            for u in range(L):
                fill_row(E[p * L + u], s, (p * L + u) * L, L, top, beta)
            if not exponentials(part(E, p * L * P, (p + 1) * L * P), L * P):
                return 0.0, False
        value += top
    return (value if c.anchored else (n - 1) * value), True


@embedded
def tied_potentials(c, n, s, temperature, E, last):
    """Fill the one table E of a tied chain, unless it holds these scores already, as it does while
    weights do not move.

    `last` holds the scores, the temperature and the top of E. Returns as `transition_potentials`
    does.
    """
    Q = c.labels * c.labels
    if last[Q] == temperature and same(s, last, Q):
        return (n - 1) * last[Q + 1], True
    value, safe = transition_potentials(c, 2, s, temperature, E)
    set_row(part(last, 0, Q), part(s, 0, Q))
    last[Q] = temperature if safe else 0.0
    last[Q + 1] = value
    return (n - 1) * value, safe


@embedded
def forward(c, n, s, temperature, alpha, E, node, scale):
    """Fill alpha, the node potentials and the scales; return (log-partition times temperature,
    whether that is safe).
    """
    L, P, beta = c.labels, node.shape[1], 1.0 / temperature
    value = 0.0
    for t in range(n):
        top = highest(part(s, t * L, (t + 1) * L))
        if top == -inf:
            return 0.0, False
        value += top
        fill_row(node[t], s, t * L, L, top, beta)
    if not exponentials(part(node, 0, n * P), n * P):
        return 0.0, False
    for t in range(n):
        e, now = node[t], alpha[t]
        if t == 0:
            set_row(now, e)
        else:
            before, first = alpha[t - 1], (t - 1) * L if c.anchored else 0
            set_combined(now, part(before, 0, L), table(E, first * P, L, P))
            set_product(now, now, e)
        mass = total(now)
        if not mass > 0.0:
            return 0.0, False
        inverse = 1.0 / mass
        scale[t] = inverse
        set_scaled(now, inverse, now)
        value += temperature * log(mass)
    return value, True


@embedded
def backward(c, n, alpha, beta, E, node, scale, b, transposed, counts, z):
    """Label marginals and edge marginals (or expected counts, where tied) into z; return whether
    nothing can have been lost.

    `transposed` and `counts` are scratch for one table each, `b` for one row.
    """
    L, P = c.labels, node.shape[1]
    Z = table(z, 0, n, L)
    edges = table(z, n * L, (n - 1) * L if c.anchored else L, L)
    beta[n - 1] = 1.0
    transposed[:] = 0.0
    counts[:] = 0.0
    for t in range(n - 1, -1, -1):
        after = beta[t]
        set_product(Z[t], part(alpha[t], 0, L), part(after, 0, L))
        if not total(after) < LOST:
            return False
        if t == 0:
            break
        set_product(b, after, node[t])
        set_scaled(b, scale[t], b)
        first = (t - 1) * L if c.anchored else 0
        this = first * P
        following = this + L * P
        if t == n - 1 or (
            c.anchored
            and not same(part(E, this, following), part(E, following, following + L * P), L * P)
        ):
            for u in range(L):
                for y in range(L):
                    transposed[y, u] = E[first + u, y]
        target = beta[t - 1]
        set_combined(target, part(b, 0, L), transposed)
        before = alpha[t - 1]
        if c.anchored:
            for u in range(L):
                set_product(edges[first + u], part(E[first + u], 0, L), part(b, 0, L))
                set_scaled(edges[first + u], before[u], edges[first + u])
        else:
            add_outer(counts, part(before, 0, L), b)
    if not c.anchored:
        for u in range(L):
            set_product(edges[u], part(counts[u], 0, L), part(E[u], 0, L))
    return True


@embedded
def first_order(c, n, s, temperature, x, z):
    """Scaled forward-backward. Returns (value, True), or (0, False) where log space is needed."""
    L, P = c.labels, len(x.temporary)
    tables = n - 1 if c.anchored else 1
    E = table(x.potential, 0, tables * L, P)
    if c.anchored:
        value, safe = transition_potentials(c, n, part(s, n * L, len(s)), temperature, E)
    else:
        value, safe = tied_potentials(
            c, n, part(s, n * L, len(s)), temperature, E, part(x.table, 2 * L * P, len(x.table))
        )
    if not safe:
        return 0.0, False
    alpha, beta, node = table(x.alpha, 0, n, P), table(x.beta, 0, n, P), table(x.node, 0, n, P)
    rest, safe = forward(c, n, s, temperature, alpha, E, node, x.scale)
    if not safe:
        return 0.0, False
    transposed, counts = table(x.table, 0, L, P), table(x.table, L * P, L, P)
    return value + rest, backward(
        c, n, alpha, beta, E, node, x.scale, x.temporary, transposed, counts, z
    )


@embedded
def first_order_viterbi(c, n, s, x, z):
    """Fill z with the indicators of the best labelling; return its score (-inf, and z = 0, when
    none is allowed).

    The best source of every label is chosen by a selection, not by a branch, so that whole rows are
    compared at once.
    """
    L = c.labels
    best, back = table(x.alpha, 0, n, L), table(x.back, 0, n, L)
    S = table(s, 0, n, L)
    set_row(best[0], S[0])
    for t in range(1, n):
        first = (t - 1) * L if c.anchored else 0
        set_maximised(best[t], back[t], best[t - 1], table(s, (n + first) * L, L, L))
        add_row(best[t], S[t])
    y, value = 0, best[n - 1, 0]
    for u in range(1, L):
        if best[n - 1, u] > value:
            y, value = u, best[n - 1, u]
    z[:] = 0.0
    if value == -inf:
        return value
    Z = table(z, 0, n, L)
    pairs = table(z, n * L, (n - 1) * L if c.anchored else L, L)
    for t in range(n - 1, 0, -1):
        u = np.int64(back[t, y])
        Z[t, y] = 1.0
        pairs[((t - 1) * L if c.anchored else 0) + u, y] += 1.0
        y = u
    Z[0, y] = 1.0
    return value
