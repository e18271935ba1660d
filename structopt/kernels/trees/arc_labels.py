"""Labels on the arcs of dependency trees: maximised or summed out before a tree algorithm, and
marked after it.
"""

from __future__ import annotations

from math import inf, log

import numpy as np

from structopt.kernels.arrays.exponential import exp_nonpositive
from structopt.kernels.arrays.rows import set_row
from structopt.kernels.waist.signatures import inlined
from structopt.kernels.waist.views import part


@inlined
def collapse(a, i, s, temperature, W, z):
    """Fill W, shape (n * n,), with the arc scores of sentence i, the labels maximised (temperature
    0) or summed out.

    W[m * n + h] = s_arc + temperature * log sum_l exp(s_label(l) / temperature). Above temperature
    0 the label parts of z receive each label's share of its arc; all of z is overwritten by
    `spread`.
    """
    arcs, heads, first = a.arcs, a.heads, a.tokens[i]
    n, L, start = a.tokens[i + 1] - first, a.labels, arcs[first]
    base = (arcs[first + n] - start) * L
    for m in range(n):
        begin, end = arcs[first + m] - start, arcs[first + m + 1] - start
        if L == 0 and end - begin == n:  # every head is a candidate
            set_row(part(W, m * n, (m + 1) * n), part(s, begin, end))
            continue
        W[m * n : (m + 1) * n] = -inf
        for e in range(begin, end):
            W[m * n + heads[start + e]] = s[base + e] + (
                label_score(s, e * L, L, temperature, z) if L > 0 else 0.0
            )


@inlined
def label_score(s, begin, L, temperature, z):
    """max_l s[begin + l], or temperature * log sum_l exp(s[begin + l] / temperature), of L > 0
    labels; their shares to z.
    """
    # unsigned, which spares a test for negative indices at every read
    first, end = np.uint64(begin), np.uint64(begin + L)
    top = s[first]
    for q in range(first, end):
        top = s[q] if s[q] > top else top
    if temperature == 0.0 or top == -inf:
        return top
    total = 0.0
    # a loop of its own, whose exponentials are computed several at once
    for q in range(first, end):
        z[q] = exp_nonpositive((s[q] - top) / temperature)
    for q in range(first, end):
        total += z[q]
    for q in range(first, end):
        z[q] /= total
    return top + temperature * log(total)


@inlined
def spread(a, i, s, temperature, M, z):
    """Write the part marginals of sentence i from arc marginals M, shape (n * n,): an arc's labels
    share its marginal.

    Above temperature 0 the shares are those that `collapse` left in z; else the first of the best
    labels takes all.
    """
    arcs, heads, first = a.arcs, a.heads, a.tokens[i]
    n, L, start = a.tokens[i + 1] - first, a.labels, arcs[first]
    base = (arcs[first + n] - start) * L
    for m in range(n):
        begin, end = arcs[first + m] - start, arcs[first + m + 1] - start
        if L == 0 and end - begin == n:
            set_row(part(z, begin, end), part(M, m * n, (m + 1) * n))
            continue
        for e in range(begin, end):
            mass = M[m * n + heads[start + e]]
            z[base + e] = mass
            if L > 0:
                share(s, e * L, L, temperature, mass, z)


@inlined
def share(s, begin, L, temperature, mass, z):
    """Divide a mass among L > 0 labels: by the shares in z, or at temperature 0 all to the first of
    the best ones.
    """
    first, end = np.uint64(begin), np.uint64(begin + L)
    if temperature > 0.0 and mass > 0.0:
        for q in range(first, end):
            z[q] *= mass
        return
    for q in range(first, end):
        z[q] = 0.0
    if mass > 0.0:
        best = first
        for q in range(first, end):
            best = q if s[q] > s[best] else best
        z[best] = mass
