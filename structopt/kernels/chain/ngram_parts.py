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

    For tied parts only.
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
def first_part(c, n, j, t):
    """Return the first of the anchored (j+1)-gram parts of position t; label parts are 1-grams."""
    start, size = 0, c.labels
    for h in range(j):
        start += (n - h) * size
        size *= c.labels
    return start + (t - j) * size


@inlined
def scores_at(c, n, s, t, tied, table):
    """Return the scores of the n-grams that end at position t > 0, by history and label.

    `table` has the sums of tied parts, which begin at `tied` there. Anchored parts are summed into
    it; anchored bigrams of first-order chains are read from `s` itself.
    """
    if not c.anchored:
        return table[tied:]
    L = c.labels
    first = first_part(c, n, 1, t)
    if c.order == 1:
        return s[first:]
    size = L * L
    for q in range(size):
        table[q] = s[first + q]
    for h in range(2, min(t, c.order) + 1):
        first, shorter = first_part(c, n, h, t), size
        size *= L
        for q in range(size - 1, -1, -1):  # the sums of shorter histories are read before
            table[q] = table[q % shorter] + s[first + q]
    return table[0:]


@inlined
def counts_at(c, n, z, t, tied):
    """Return the parts of the longest n-grams that end at position t > 0; tied ones begin at
    `tied`.
    """
    if c.anchored:
        return z[first_part(c, n, min(t, c.order), t) :]
    return z[n * c.labels + tied :]


@inlined
def mark(c, n, t, u, y, z, amount):
    """Add `amount` to the parts that label y at position t after history u makes active."""
    L = c.labels
    z[t * L + y] += amount
    if t == 0:
        return
    start, histories = n * L, L
    for j in range(1, min(t, c.order) + 1):
        anchor = (t - j) * histories * L if c.anchored else 0
        z[start + anchor + (u % histories) * L + y] += amount
        start += histories * L * ((n - j) if c.anchored else 1)
        histories *= L


@inlined
def fold_anchored(c, n, z):
    """`fold_counts` at every position."""
    for t in range(2, n):
        for h in range(min(t, c.order), 1, -1):
            longer, shorter = first_part(c, n, h, t), first_part(c, n, h - 1, t)
            size = c.labels**h
            for q in range(size * c.labels):
                z[shorter + q % size] += z[longer + q]


@inlined
def fold_counts(c, n, z):
    """Add the counts of every (h+1)-gram to those of its last h labels, from the longest down."""
    L = c.labels
    if c.anchored:
        fold_anchored(c, n, z)
        return
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
