"""Log-partition function and marginals of dependency trees that may cross: the matrix-tree theorem
without subtractions, O(n^3).

The determinant of Kirchhoff's matrix is computed by eliminating one token after the other from the
graph of weights A[m, h] = exp(s_hm - max_h s_hm) over the vertices 0 (root), 1..n: a path through
the token v becomes an arc,

    d_v = sum_{j<v} A[v, j],    P_vj = A[v, j] / d_v,    A[i, j] += A[i, v] P_vj    (i, j < v);
    log Z = sum_v log d_v + maxima.

This is Gaussian elimination, but the diagonal is never stored, only sums of positive weights
(Grassmann, Taksar and Heyman 1985): each pivot has a small *relative* error whatever the range of
the scores, where a determinant would cancel.

*Single root*: arcs from the root weigh infinitely little, so that they count in A[., 0] but in no
d_v, v > 1; the last factor is A[1, 0]. Token 1 must not be hard to start from; it is the one with
the best arc from the root, compared with its others.

Marginals are A[m, h] G[m, h] with G = d log Z / d A, computed backwards through the elimination,
vertex by vertex:

    G[i, v] = H_i = sum_j G[i, j] P_vj,     G[v, j] = (sum_i A[i, v] G[i, j] + 1 - sum_i A[i, v]
    H_i) / d_v

(no 1 - ... in G[v, 0] with a single root). Entries of G never change later. Koo et al. (2007),
Smith and Smith (2007).

*Underflow.* An entry that is lost, below 1e-308, takes trees with it that weigh at most that times
U, the product over the tokens of the sum of their weights (single root: once the weight of an arc
from the root). So where Z / U > `SAFE`, all that was lost is beyond double precision; elsewhere
`log_matrix_tree` computes the same in log space.
"""

from __future__ import annotations

from math import inf, log
from typing import NamedTuple

import numpy as np
from numba import types

from structopt.kernels.arrays.exponential import exp_nonpositive
from structopt.kernels.arrays.rows import add_four_scaled, add_scaled, highest, set_scaled, set_zero
from structopt.kernels.trees.log_matrix_tree import log_partition
from structopt.kernels.waist.signatures import INTS, VECTOR, inlined, kernel
from structopt.kernels.waist.views import part

PARTITION = types.float64(VECTOR, types.int64, types.boolean, VECTOR, VECTOR, INTS)
# W, n, single_root, M, floats, ints -> log Z

SAFE = 1e-270


class Tables(NamedTuple):
    """Matrices over the vertices, (n + 1) x (n + 1) and flat, and vectors over them.

    Attributes
    ----------
    A : weights, by modifier and head; the row of an eliminated vertex v holds P_v
    G, T : derivatives of log Z, and their transpose; both zero on the diagonal
    d : pivots; H, Q : sums of the backward pass; a : sums of the tokens' weights
    """

    A: np.ndarray
    G: np.ndarray
    T: np.ndarray
    d: np.ndarray
    H: np.ndarray
    Q: np.ndarray
    a: np.ndarray


def floats_needed(n: int) -> int:
    """Size of the float scratch of `partition`."""
    return 3 * (n + 1) ** 2 + 4 * (n + 1)


@inlined
def open_tables(n, floats):
    """Lay the tables out in the scratch."""
    N = n + 1
    f = 3 * N * N
    return Tables(
        floats[: N * N],
        floats[N * N : 2 * N * N],
        floats[2 * N * N : f],
        floats[f : f + N],
        floats[f + N : f + 2 * N],
        floats[f + 2 * N : f + 3 * N],
        floats[f + 3 * N : f + 4 * N],
    )


@inlined
def weigh(W, n, single_root, M, tops):
    """Fill M with weights, at most 1 in each row. Returns (log of what was divided by, token to
    eliminate last).

    With a single root the largest weight of a row is that of an arc from a token, and the arcs from
    the root have a common divisor of their own. The first number is -inf where a token has no such
    arc.
    """
    scale, last, rise = 0.0, 0, -inf
    for m in range(n):
        row, own = part(W, m * n, (m + 1) * n), m * n + m
        top = max(highest(part(W, m * n, own)), highest(part(W, own + 1, (m + 1) * n)))
        if not single_root:
            top = max(top, W[own])
        if top == -inf:
            return -inf, 0
        scale += top
        tops[m] = top
        weights = M[m * n : (m + 1) * n]
        for h in range(n):
            weights[h] = exp_nonpositive(row[h] - top)
        if row[m] - top > rise:
            last, rise = m, row[m] - top
    if single_root:
        if rise == -inf:
            return -inf, 0
        scale += rise
        for m in range(n):
            M[m * n + m] = exp_nonpositive(W[m * n + m] - tops[m] - rise)
        return scale, last
    return scale, 0


@inlined
def arrange(M, n, last, A):
    """Copy the weights to their vertices: token m to m + 1, but token `last` and token 0 are
    exchanged.
    """
    N = n + 1
    for m in range(n):
        v = 1 if m == last else (last + 1 if m == 0 else m + 1)
        row, weights = A[v * N : (v + 1) * N], M[m * n : (m + 1) * n]
        for h in range(n):
            row[h + 1] = weights[h]
        row[0] = weights[m]
        row[m + 1] = 0.0
        row[1], row[last + 1] = row[last + 1], row[1]


@inlined
def total(x, start, stop):
    """Return the sum of x[start:stop]."""
    a, b, c, e = 0.0, 0.0, 0.0, 0.0
    j = start
    while j + 4 <= stop:
        a += x[j]
        b += x[j + 1]
        c += x[j + 2]
        e += x[j + 3]
        j += 4
    while j < stop:
        a += x[j]
        j += 1
    return (a + b) + (c + e)


@inlined
def eliminate(t, n, single_root):
    """Eliminate the vertices n..1. Returns (sum of log d, whether nothing that counts can have
    underflowed).
    """
    N, A = n + 1, t.A
    start = 1 if single_root else 0
    roots = 0.0  # sum over the tokens of (weight of the arc from the root / sum of the others)
    for v in range(1, N):
        t.a[v] = total(A[v * N : (v + 1) * N], start, N)
        roots += A[v * N] / t.a[v]
    ratio, value = 1.0, 0.0
    for v in range(n, start, -1):
        pivot = A[v * N : v * N + v]
        d = total(pivot, start, v)
        t.d[v] = d
        ratio *= d / t.a[v]
        if not ratio > SAFE:
            return -inf, False
        value += log(d)
        inverse = 1.0 / d
        for j in range(v):
            pivot[j] *= inverse
        for i in range(1, v):
            add_scaled(part(A, i * N, i * N + v), A[i * N + v], part(A, v * N, v * N + v))
    if single_root:
        t.d[1] = A[N]
        ratio *= A[N] / t.a[1] / roots
        value += log(A[N])
    return value, SAFE < ratio < inf


@inlined
def differentiate(t, n, single_root):
    """Fill G (and its transpose) with the derivatives of log Z by the weights, from the eliminated
    matrix.
    """
    N, A, G, T, Q, H = n + 1, t.A, t.G, t.T, t.Q, t.H
    T[0], T[1], T[N], T[N + 1], G[N + 1], G[N] = 0.0, 1.0 / t.d[1], 0.0, 0.0, 0.0, 1.0 / t.d[1]
    for v in range(2, N):
        pivot, sums, products = part(A, v * N, v * N + v), part(Q, 0, v), part(H, 0, v)
        set_zero(sums)
        set_scaled(products, pivot[0], part(T, 0, v))
        i = 1
        while i + 4 <= v:
            a, b, c, d = i * N, (i + 1) * N, (i + 2) * N, (i + 3) * N
            add_four_scaled(
                sums,
                A[a + v],
                part(G, a, a + v),
                A[b + v],
                part(G, b, b + v),
                A[c + v],
                part(G, c, c + v),
                A[d + v],
                part(G, d, d + v),
            )
            add_four_scaled(
                products,
                pivot[i],
                part(T, a, a + v),
                pivot[i + 1],
                part(T, b, b + v),
                pivot[i + 2],
                part(T, c, c + v),
                pivot[i + 3],
                part(T, d, d + v),
            )
            i += 4
        while i < v:
            add_scaled(sums, A[i * N + v], part(G, i * N, i * N + v))
            add_scaled(products, pivot[i], part(T, i * N, i * N + v))
            i += 1
        rest, inverse = 1.0, 1.0 / t.d[v]
        for i in range(1, v):
            rest -= A[i * N + v] * H[i]
        row, column = G[v * N : v * N + v + 1], T[v * N : v * N + v + 1]
        row[0] = (Q[0] if single_root else Q[0] + rest) * inverse
        column[0] = 0.0
        T[v] = row[0]
        for j in range(1, v):
            row[j] = (Q[j] + rest) * inverse
            column[j] = H[j]
        for j in range(1, v):
            T[j * N + v] = row[j]
            G[j * N + v] = H[j]
        row[v] = column[v] = 0.0


@inlined
def multiply(t, n, last, M):
    """Turn the weights in M into marginals."""
    N = n + 1
    for m in range(n):
        v = 1 if m == last else (last + 1 if m == 0 else m + 1)
        row, weights = t.G[v * N : (v + 1) * N], M[m * n : (m + 1) * n]
        row[1], row[last + 1] = row[last + 1], row[1]
        row[m + 1] = row[0]
        for h in range(n):
            weights[h] = min(max(weights[h] * row[h + 1], 0.0), 1.0)


@kernel(PARTITION)
def partition(W, n, single_root, M, floats, ints):
    """Return log Z = log sum over trees of exp(score), in nats, and write the marginals of the arcs
    into M.

    Parameters
    ----------
    W : (n * n,) scores; W[m * n + h] of the arc from h to m, W[m * n + m] from the root to m, -inf
    where there is no arc M : (n * n,) becomes the marginals, laid out as W; each row sums to 1.
    Where no tree exists log Z is -inf and M zero floats, ints : scratch of at least the
    `floats_needed` of this module and of `chu_liu_edmonds`, the `ints_needed` of
        `log_matrix_tree`
    """
    t = open_tables(n, floats)
    scale, last = weigh(W, n, single_root, M, t.H)
    if scale > -inf:
        arrange(M, n, last, t.A)
        value, safe = eliminate(t, n, single_root)
        if safe:
            differentiate(t, n, single_root)
            multiply(t, n, last, M)
            return scale + value
    return log_partition(W, n, single_root, M, floats, ints)
