"""Exact inference on selections within a budget, by dynamic programming over integer weights.

Items j have the scores s_j and the weights w_j; a selection weighs at most the budget B. With

    V(j, b) = max( V(j - 1, b), V(j - 1, b - w_j) + s_j ),    V(0, b) = 0,

V(j, b) is the best score of a selection from the first j items within b, and V(n, B) the best score
of all. With log(e^x + e^y) instead of the maximum, V(n, B) is the log-partition function. With R(j,
b) the same for the items from j on, and F(j, c) the same for the selections of the first j items
that weigh *exactly* c,

    P(j is selected) = sum_c exp( F(j - 1, c) + s_j + R(j + 1, B - c - w_j) - log Z ).

All algorithms cost O(n B). A score of -inf forbids an item. Factors have the extra numbers B, w_1,
..., w_n.
"""

from __future__ import annotations

from math import exp, inf, log1p
from typing import NamedTuple

import numpy as np

from structopt.plugin.kernels import (
    FACTOR_EXTEND,
    FACTOR_LOCAL,
    FACTOR_MESSAGES,
    K_BEST,
    ROUND,
    SOLVE,
    Floats,
    RecordLayout,
    kernel,
    open_factors,
)

FARTHEST = 1e5
"""The largest log-odds of a message."""


class Scratch(NamedTuple):
    """The work record, opened: tables of items by weights (`cells`)."""

    table: Floats


SCRATCH = RecordLayout(Scratch)
open_scratch = SCRATCH.compiled


def cells(items, budgets):  # type: ignore[no-untyped-def]
    """Size of the tables for numbers of items and budgets, given as arrays or as one number
    each.
    """
    return (np.asarray(items, np.int64) + 2) * (np.asarray(budgets, np.int64) + 1)


@kernel
def budget_of(extra):
    """The budget B, from the extra numbers of a factor."""
    return np.int64(extra[0])


@kernel
def weight_of(extra, j):
    """The weight w_j, from the extra numbers of a factor."""
    return np.int64(extra[1 + j])


@kernel
def log_add(x, y):
    """log(exp x + exp y), also where one or both are -inf."""
    top, low = max(x, y), min(x, y)
    return top + log1p(exp(low - top)) if low > -inf else top


@kernel
def add(x, y, hot):
    """The sum in the recursions: log(exp x + exp y) if `hot`, else the maximum."""
    return log_add(x, y) if hot else max(x, y)


@kernel
def best_selection(extra, s, out, table):
    """Fill `out`, zero before, with the indicators of the best selection; return its score."""
    n, B = len(s), budget_of(extra)
    W = B + 1
    table[:W] = 0.0
    for j in range(n):
        w = weight_of(extra, j)
        before, now = table[j * W : (j + 1) * W], table[(j + 1) * W : (j + 2) * W]
        for b in range(W):
            now[b] = max(before[b], before[b - w] + s[j]) if w <= b else before[b]
    b = B
    for j in range(n - 1, -1, -1):
        if table[(j + 1) * W + b] > table[j * W + b]:
            out[j] = 1.0
            b -= weight_of(extra, j)
    return table[n * W + B]


@kernel
def expected_selection(extra, s, temperature, out, table):
    """Fill `out` with the marginals at scores s / temperature; return log Z."""
    n, B = len(s), budget_of(extra)
    W = B + 1
    rest, here = table[: (n + 1) * W], table[(n + 1) * W : (n + 2) * W]
    total = begin(extra, s, temperature, True, rest, here)
    for j in range(n):
        w, score, p = weight_of(extra, j), s[j] / temperature, 0.0
        for c in range(W - w):
            value = here[c] + score
            if value > -inf:
                p += exp(value + rest[(j + 1) * W + B - c - w] - total)
        out[j] = min(p, 1.0)
        advance(w, score, True, here)
    return total


@kernel
def begin(extra, s, temperature, hot, rest, here):
    """Fill in R, and F before the first item; return R(1, B), the sum over all selections."""
    n, W = len(s), len(here)
    rest[n * W :] = 0.0
    for j in range(n - 1, -1, -1):
        w, score = weight_of(extra, j), s[j] / temperature
        for b in range(W):
            value = rest[(j + 1) * W + b]
            rest[j * W + b] = (
                add(value, rest[(j + 1) * W + b - w] + score, hot) if w <= b else value
            )
    here[:] = -inf
    here[0] = 0.0
    return rest[W - 1]


@kernel
def advance(w, score, hot, here):
    """Add one item to F, from the heaviest selections down, so that no selection has it twice."""
    for c in range(len(here) - 1, w - 1, -1):
        here[c] = add(here[c], here[c - w] + score, hot)


@kernel(FACTOR_EXTEND)
def extend(extra, x, private):
    """Whether the selection x is within the budget."""
    weight = 0.0
    for j in range(len(x)):
        weight += x[j] * weight_of(extra, j)
    return weight <= budget_of(extra)


@kernel(FACTOR_LOCAL)
def maximum(extra, s, p, out, private_out, floats, ints):
    """Score and indicators of the best selection."""
    return best_selection(extra, s, out, floats)


@kernel(FACTOR_LOCAL)
def marginals(extra, s, p, out, private_out, floats, ints):
    """Log-partition function and marginals."""
    return expected_selection(extra, s, 1.0, out, floats)


@kernel(FACTOR_MESSAGES)
def messages(extra, n, p, hot, out, floats, ints):
    """Log-odds that each item is selected, without the incoming message of the item itself."""
    W = budget_of(extra) + 1
    rest, here = floats[: (len(n) + 1) * W], floats[(len(n) + 1) * W : (len(n) + 2) * W]
    begin(extra, n, 1.0, hot, rest, here)
    for j in range(len(n)):
        w, on, off = weight_of(extra, j), -inf, -inf
        for c in range(W):
            off = add(off, here[c] + rest[(j + 1) * W + W - 1 - c], hot)
            if c + w < W:
                on = add(on, here[c] + rest[(j + 1) * W + W - 1 - c - w], hot)
        out[j] = min(max(on - off, -FARTHEST), FARTHEST)
        advance(w, n[j], hot, here)
    return True


@kernel
def numbers(structure, i):
    """Budget and weights of instance i, which has one factor."""
    f = open_factors(structure)
    factor = f.factors[i]
    return f.extra[f.extras[factor] : f.extras[factor + 1]]


@kernel(SOLVE)
def solve(structure, i, s, temperature, z, memory, work):
    """max_z' s^T z' + temperature * H(z') over the selections within the budget, and its maximiser
    z.
    """
    extra, table = numbers(structure, i), open_scratch(work).table
    z[:] = 0.0
    if temperature == 0.0:
        return best_selection(extra, s, z, table)
    return temperature * expected_selection(extra, s, temperature, z, table)


@kernel(K_BEST)
def k_best(structure, i, s, count, values, offsets, parts, counts, work):
    """The `count` best selections in decreasing score: V(j, b) are lists, and two lists are merged
    at each step; O(n B count).
    """
    extra = numbers(structure, i)
    n, W = len(s), budget_of(extra) + 1
    best = np.full((n + 1, W, count), -inf)
    on, rank = np.zeros((n + 1, W, count), np.int32), np.zeros((n + 1, W, count), np.int32)
    best[0, :, 0] = 0.0
    for j in range(n):
        w = weight_of(extra, j)
        for b in range(W):
            out, taken = 0, 0
            for q in range(count):
                without = best[j, b, out]
                value = best[j, b - w, taken] + s[j] if w <= b else -inf
                if max(without, value) == -inf:
                    break
                if value > without:
                    best[j + 1, b, q], on[j + 1, b, q], rank[j + 1, b, q] = value, 1, taken
                    taken += 1
                else:
                    best[j + 1, b, q], rank[j + 1, b, q] = without, out
                    out += 1
    outputs, entry, offsets[0] = 0, 0, 0
    for q in range(count):
        if best[n, W - 1, q] == -inf:
            break
        values[q], b, r = best[n, W - 1, q], W - 1, np.int64(q)
        for j in range(n, 0, -1):
            selected = on[j, b, r] == 1
            r = np.int64(rank[j, b, r])
            if selected:
                parts[entry], counts[entry] = j - 1, 1.0
                entry += 1
                b -= weight_of(extra, j - 1)
        outputs += 1
        offsets[outputs] = entry
    return outputs


@kernel(ROUND)
def round_selection(structure, i, z, work):
    """Select items in decreasing probability, if it is at least 1/2 and the item fits into the rest
    of the budget.
    """
    extra = numbers(structure, i)
    room = budget_of(extra)
    for j in np.argsort(-z, kind="mergesort"):
        taken = z[j] >= 0.5 and weight_of(extra, j) <= room
        z[j] = 1.0 if taken else 0.0
        room -= weight_of(extra, j) if taken else 0
