"""The k best outputs where no factor joins the variables of an instance."""

from __future__ import annotations

from math import inf

import numpy as np

from structopt.kernels.independent.record import open_independent
from structopt.kernels.waist.signatures import K_BEST, inlined, kernel


@inlined
def joined_best(sums, s, order, k):
    """The k best sums of a kept sum and a score, `order` being the variable's parts, best first:
    sums, their two numbers.

    Candidates are pairs of ranks (p, c) with (p + 1) (c + 1) <= k: any other pair is behind k
    pairs.
    """
    room = 0
    for p in range(min(k, len(sums))):
        room += min(k // (p + 1), len(order))
    totals, ranks, choices, count = (
        np.empty(room),
        np.empty(room, np.int64),
        np.empty(room, np.int64),
        0,
    )
    for p in range(min(k, len(sums))):
        for c in range(min(k // (p + 1), len(order))):
            totals[count], ranks[count], choices[count] = sums[p] + s[order[c]], p, order[c]
            count += 1
    kept = np.argsort(-totals, kind="mergesort")[:k]
    return totals[kept], ranks[kept], choices[kept]


@inlined
def best_first(s, first, last, k):
    """The k best parts first <= r < last, the lower number among equals; those at -inf are left
    out.
    """
    order = np.argsort(-s[first:last], kind="mergesort")[:k]
    count = 0
    while count < len(order) and s[first + order[count]] > -inf:
        count += 1
    return first + order[:count]


@kernel(K_BEST)
def k_best(structure, i, s, k, values, offsets, parts, counts, work):
    """List the k best outputs: variable by variable, the k best choices for all variables so far.
    O(parts log parts).
    """
    x = open_independent(structure)
    begin, end = x.variables[i], x.variables[i + 1]
    before, n = x.parts[begin], end - begin
    sums, rank, choice = np.zeros(1), np.zeros((n, k), np.int64), np.zeros((n, k), np.int64)
    for v in range(n):
        order = best_first(s, x.parts[begin + v] - before, x.parts[begin + v + 1] - before, k)
        sums, ranks, choices = joined_best(sums, s, order, k)
        rank[v, : len(sums)] = ranks
        choice[v, : len(sums)] = choices
    offsets[0] = 0
    for q in range(len(sums)):
        values[q], at = sums[q], q
        offsets[q + 1] = offsets[q] + n
        for v in range(n - 1, -1, -1):
            parts[offsets[q] + v], counts[offsets[q] + v] = choice[v, at], 1.0
            at = rank[v, at]
    return len(sums)
