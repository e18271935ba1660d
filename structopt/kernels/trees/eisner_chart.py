"""Eisner's chart of projective trees, and the weight of all trees on it, in three semirings.

Items of the chart, each over the tokens i..j, in the row of the right end j so that all inner loops
run along rows:

    R[j, i], L[j, i]    complete: i (j) is above all of i..j
    X[j, i], Y[j, i]    incomplete: the same, and j is a modifier of i (i a modifier of j)
    S[i]                at the current j: everything under an arc that joins i and j

    S[i] = sum_k R[k, i] L[j, k + 1]      X[j, i] = W(i -> j) S[i]      R[j, i] = sum_k X[k, i] R[j,
    k]
                                          Y[j, i] = W(j -> i) S[i]      L[j, i] = sum_k Y[j, k] L[k,
                                          i]

The root is no token: at the top it joins complete items of both sides, once or several times.
O(n^3): three elementwise updates of a row an item.

Eisner (1996).
"""

from __future__ import annotations

from math import inf
from typing import NamedTuple

import numpy as np

from structopt.kernels.arrays.semirings import MAX, SUM, plus, times
from structopt.kernels.waist.signatures import inlined


class Chart(NamedTuple):
    """The scratch, opened.

    Attributes
    ----------
    W, R, L, X, Y : (n * n,) weights of arcs and of items
    RT, LT, XT : (n * n,) the same transposed: row i holds the items of the left end i
    R_bar, L_bar, X_bar : (n * n,) outside weights
    S, S_bar, Y_bar : (n + 1,) at the current right end
    top, top_bar : (n + 1,) of the first tokens, divided among several roots
    under, under_bar : (n + 1,) the same, up to an arc from the root to the last of them
    """

    W: np.ndarray
    R: np.ndarray
    L: np.ndarray
    X: np.ndarray
    Y: np.ndarray
    RT: np.ndarray
    LT: np.ndarray
    XT: np.ndarray
    R_bar: np.ndarray
    L_bar: np.ndarray
    X_bar: np.ndarray
    S: np.ndarray
    S_bar: np.ndarray
    Y_bar: np.ndarray
    top: np.ndarray
    top_bar: np.ndarray
    under: np.ndarray
    under_bar: np.ndarray


def chart_size(n: int) -> int:
    """Size of the float scratch for sentences of n tokens."""
    return 11 * n * n + 7 * (n + 1)


@inlined
def open_chart(floats, n):
    """Open the float scratch."""
    a, v, rest = n * n, n + 1, floats[11 * n * n :]
    return Chart(
        floats[:a],
        floats[a : 2 * a],
        floats[2 * a : 3 * a],
        floats[3 * a : 4 * a],
        floats[4 * a : 5 * a],
        floats[5 * a : 6 * a],
        floats[6 * a : 7 * a],
        floats[7 * a : 8 * a],
        floats[8 * a : 9 * a],
        floats[9 * a : 10 * a],
        floats[10 * a : 11 * a],
        rest[:v],
        rest[v : 2 * v],
        rest[2 * v : 3 * v],
        rest[3 * v : 4 * v],
        rest[4 * v : 5 * v],
        rest[5 * v : 6 * v],
        rest[6 * v : 7 * v],
    )


@inlined
def push(semiring, out, start, a, row, begin, count):
    """out[start + t] += a * row[begin + t] in a semiring, for 0 <= t < count.

    Unsigned offsets instead of slices: without reference counts and negative indices this becomes
    vector instructions.
    """
    o, r = np.uint64(start), np.uint64(begin)
    if semiring == SUM:
        if a != 0.0:
            for t in range(np.uint64(count)):
                out[o + t] += a * row[r + t]
    elif a == -inf:
        return
    elif semiring == MAX:
        for t in range(np.uint64(count)):
            value = a + row[r + t]
            out[o + t] = value if value > out[o + t] else out[o + t]
    else:
        for t in range(np.uint64(count)):
            out[o + t] = plus(semiring, out[o + t], a + row[r + t])


@inlined
def fill_chart(semiring, W, n, c):
    """Fill the inside tables of all items; W are the arcs' weights in the semiring."""
    zero, one = (0.0, 1.0) if semiring == SUM else (-inf, 0.0)
    R, L, X, Y, S = c.R, c.L, c.X, c.Y, c.S
    for j in range(n):
        now = j * n
        for i in range(j):
            R[now + i], L[now + i], S[i] = zero, zero, R[now - n + i]
        R[now + j], L[now + j] = one, one
        for k in range(j - 1, -1, -1):
            x, y = times(semiring, W[now + k], S[k]), times(semiring, W[k * n + j], S[k])
            X[now + k], Y[now + k] = x, y
            right, left = plus(semiring, R[now + k], x), plus(semiring, L[now + k], y)
            R[now + k], L[now + k] = right, left
            push(semiring, R, now, right, X, k * n, k)
            push(semiring, L, now, y, L, k * n, k)
            push(semiring, S, 0, left, R, (k - 1) * n, k)


@inlined
def total_weight(semiring, W, n, single_root, c):
    """Weight of all trees, given the inside tables."""
    zero, one = (0.0, 1.0) if semiring == SUM else (-inf, 0.0)
    total = zero
    if single_root:
        for m in range(n):
            below = times(semiring, c.L[m * n], c.R[(n - 1) * n + m])
            total = plus(semiring, total, times(semiring, W[m * n + m], below))
        return total
    c.top[0] = one
    for m in range(n):
        total = zero
        for k in range(m + 1):
            total = plus(semiring, total, times(semiring, c.top[k], c.L[m * n + k]))
        c.under[m] = times(semiring, W[m * n + m], total)
        total = zero
        for k in range(m + 1):
            total = plus(semiring, total, times(semiring, c.under[k], c.R[m * n + k]))
        c.top[m + 1] = total
    return total
