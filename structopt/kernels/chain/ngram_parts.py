"""The (j+1)-gram parts of linear chains: their scores summed for each history, the active ones, and
their counts.

The history of h labels before position t has the number sum_{d=1..h} y_{t-d} L^(d-1).
"""

from __future__ import annotations

from structopt.kernels.waist.signatures import inlined


@inlined
def sum_ngram_scores(c, n, s, table):
    """Fill `table` with transition scores: for h = 1..k the sum of all (j+1)-gram scores, j <= h,
    after a history of h labels.

    For tied parts alone: the scores of anchored bigrams are read from `s` itself.
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
