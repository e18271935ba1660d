"""The elimination of `matrix_tree` in log space: slower, but right for
scores of any range, O(n^3).
"""

from __future__ import annotations

from math import exp, expm1, inf, log, log1p

from structopt.kernels.arrays.rows import set_row
from structopt.kernels.trees import chu_liu_edmonds
from structopt.kernels.trees.chu_liu_edmonds import best_tree
from structopt.kernels.waist.signatures import inlined

NEGLIGIBLE = 40.0  # exp(-40) is less than half a unit in the last place of 1


def ints_needed(n: int) -> int:
    """Size of the integer scratch: that of `best_tree`, and a tree."""
    return chu_liu_edmonds.ints_needed(n) + n


@inlined
def add(a, b):
    """log(exp(a) + exp(b))."""
    top, low = (a, b) if a > b else (b, a)
    if low == -inf or low < top - NEGLIGIBLE:
        return top
    return top + log1p(exp(low - top))


@inlined
def subtract(a, b):
    """log(exp(a) - exp(b)); -inf unless a > b."""
    if not a > b:
        return -inf
    if b == -inf or b < a - NEGLIGIBLE:
        return a
    return a + log(-expm1(b - a))


@inlined
def fill(W, n, last, A):
    """Copy the scores to their vertices, as `matrix_tree.arrange` does."""
    N = n + 1
    for m in range(n):
        v = 1 if m == last else (last + 1 if m == 0 else m + 1)
        row = A[v * N : (v + 1) * N]
        set_row(row[1:], W[m * n : (m + 1) * n])
        row[0], row[m + 1] = row[m + 1], -inf
        row[1], row[last + 1] = row[last + 1], row[1]


@inlined
def log_eliminate(A, d, n, start):
    """Eliminate the vertices n..1 of the log weights A: rows become log P, d the logs of the
    pivots. Returns log Z.
    """
    N = n + 1
    value = 0.0
    for v in range(n, 0, -1):
        pivot = A[v * N : v * N + v]
        d[v] = -inf
        for j in range(start if v > 1 else 0, v):
            d[v] = add(d[v], pivot[j])
        value += d[v]
        for j in range(v):
            pivot[j] -= d[v]
        for i in range(1, v):
            row, weight = A[i * N : i * N + v], A[i * N + v]
            for j in range(v):
                if weight > -inf and pivot[j] > -inf:
                    row[j] = add(row[j], weight + pivot[j])
    return value


@inlined
def log_differentiate(A, d, n, start, G):
    """Fill G with the logs of the derivatives of log Z by the weights; -inf on the diagonal."""
    N = n + 1
    G[N], G[N + 1] = -d[1], -inf
    for v in range(2, N):
        pivot = A[v * N : v * N + v]
        children = -inf  # sum_i A[i, v] H_i
        for i in range(1, v):
            h = -inf
            for j in range(v):
                h = add(h, G[i * N + j] + pivot[j])
            G[i * N + v] = h
            children = add(children, A[i * N + v] + h)
        for j in range(v):
            q = -inf
            for i in range(1, v):
                q = add(q, A[i * N + v] + G[i * N + j])
            G[v * N + j] = (subtract(add(q, 0.0), children) if j >= start else q) - d[v]
        G[v * N + v] = -inf


@inlined
def log_partition(W, n, single_root, M, floats, ints):
    """Return log Z and fill M with the marginals, as `matrix_tree.partition` does, or -inf and
    zeros where no tree exists.

    There is a tree where a best tree is found. With a single root, its root is a token from which
    all others can be reached: that is eliminated last, so that no pivot is zero.
    """
    M[: n * n] = 0.0
    heads = ints[14 * n : 15 * n]
    if best_tree(W, n, single_root, heads, floats, ints) == -inf:
        return -inf
    last, start = 0, 0
    if single_root:
        start = 1
        while heads[last] != last:
            last += 1
    N = n + 1
    A, G, d = floats[: N * N], floats[N * N : 2 * N * N], floats[2 * N * N : 2 * N * N + N]
    fill(W, n, last, A)
    value = log_eliminate(A, d, n, start)
    log_differentiate(A, d, n, start, G)
    for m in range(n):
        v = 1 if m == last else (last + 1 if m == 0 else m + 1)
        mass = 0.0
        for h in range(n):
            u = 0 if h == m else (1 if h == last else (last + 1 if h == 0 else h + 1))
            if W[m * n + h] > -inf:
                M[m * n + h] = exp(min(W[m * n + h] + G[v * N + u], 0.0))
                mass += M[m * n + h]
        for h in range(n):
            M[m * n + h] /= mass
    return value
