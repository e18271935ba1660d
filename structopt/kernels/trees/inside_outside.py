"""The sum over projective trees and its gradient, the arc marginals: inside-outside on Eisner's
chart.
"""

from __future__ import annotations

from math import exp, inf, log

from numba import types

from structopt.kernels.arrays.exponential import exp_nonpositive
from structopt.kernels.arrays.semirings import LOG, SUM, plus, times
from structopt.kernels.trees.eisner_chart import fill_chart, open_chart, push, total_weight
from structopt.kernels.waist.signatures import INTS, VECTOR, inlined, kernel

LOG_GROWTH = 1.9095425048844386  # log(27/4): fewer than (27/4)^n projective trees have n tokens
LOG_RANGE = 650.0  # of floating-point numbers, in nats, less a margin
LONGEST = 300  # sentence whose number of trees is a floating-point number


@inlined
def outside_roots(semiring, W, n, single_root, total, c, M):
    """Begin the outside pass: the arcs from the root, and the complete items below them."""
    zero, one = (0.0, 1.0) if semiring == SUM else (-inf, 0.0)
    share = 1.0 / total if semiring == SUM else -total
    if single_root:
        for m in range(n):
            root, left, right = (
                times(semiring, W[m * n + m], share),
                c.L[m * n],
                c.R[(n - 1) * n + m],
            )
            c.L_bar[m * n], c.R_bar[(n - 1) * n + m] = (
                times(semiring, root, right),
                times(semiring, root, left),
            )
            M[m * n + m] = probability(semiring, times(semiring, root, left), right)
        return
    c.top_bar[:n], c.under_bar[:n] = zero, zero
    c.top_bar[n] = share
    for m in range(n - 1, -1, -1):
        push(semiring, c.under_bar, 0, c.top_bar[m + 1], c.R, m * n, m + 1)
        push(semiring, c.R_bar, m * n, c.top_bar[m + 1], c.under, 0, m + 1)
        M[m * n + m] = probability(semiring, c.under_bar[m], c.under[m])
        root = times(semiring, c.under_bar[m], W[m * n + m])
        push(semiring, c.L_bar, m * n, root, c.top, 0, m + 1)
        push(semiring, c.top_bar, 0, root, c.L, m * n, m + 1)


@inlined
def probability(semiring, outside, inside):
    """Marginal of an item whose outside weight was divided by the weight of all trees."""
    return outside * inside if semiring == SUM else exp(outside + inside)


@inlined
def outside(semiring, W, n, single_root, total, c, M):
    """Fill M with the arc marginals, given the inside tables: the products of `fill_chart` undone
    in reverse order.
    """
    zero, one = (0.0, 1.0) if semiring == SUM else (-inf, 0.0)
    R, L, X, Y, RT, LT, XT = c.R, c.L, c.X, c.Y, c.RT, c.LT, c.XT
    R_bar, L_bar, X_bar, Y_bar, S_bar = c.R_bar, c.L_bar, c.X_bar, c.Y_bar, c.S_bar
    for j in range(n):
        for i in range(j + 1):
            RT[i * n + j], LT[i * n + j], XT[i * n + j] = R[j * n + i], L[j * n + i], X[j * n + i]
            R_bar[j * n + i], L_bar[j * n + i], X_bar[j * n + i] = zero, zero, zero
    outside_roots(semiring, W, n, single_root, total, c, M)
    for j in range(n - 1, 0, -1):
        now = j * n
        Y_bar[:j] = zero
        for i in range(j):
            right, left = R_bar[now + i], L_bar[now + i]
            x, y = plus(semiring, X_bar[now + i], right), plus(semiring, Y_bar[i], left)
            M[now + i], M[i * n + j] = (
                probability(semiring, x, X[now + i]),
                probability(semiring, y, Y[now + i]),
            )
            S = plus(semiring, times(semiring, x, W[now + i]), times(semiring, y, W[i * n + j]))
            S_bar[i] = S
            after, count = i + 1, j - i - 1
            push(semiring, R_bar, now + after, right, XT, i * n + after, count)
            push(semiring, Y_bar, after, left, LT, i * n + after, count)
            push(semiring, L_bar, now + after, S, RT, i * n + i, count)
        for k in range(1, j):
            push(semiring, X_bar, k * n, R[now + k], R_bar, now, k)
            push(semiring, L_bar, k * n, Y[now + k], L_bar, now, k)
            push(semiring, R_bar, (k - 1) * n, L[now + k], S_bar, 0, k)
        push(semiring, R_bar, now - n, one, S_bar, 0, j)


@kernel(types.float64(VECTOR, types.int64, types.boolean, VECTOR, VECTOR, INTS))
def partition(W, n, single_root, M, floats, ints):
    """log sum over projective trees of exp(sum of their arcs' scores), and the arc marginals;
    temperature 1, in nats.

    Parameters
    ----------
    W : float64, shape (n * n,)
        Arc scores as `structopt.kernels.trees.arcs` describes them.
    n : int
    single_root : bool
        Whether exactly one token depends on the root.
    M : float64, shape (n * n,)
        Receives the marginals, laid out as the scores; zero, with the value -inf, where there is no
        tree.
    floats, ints : scratch of at least the `floats_needed` and `ints_needed` of
    `structopt.kernels.trees.eisner`

    Notes
    -----
    Every tree has one arc a modifier, so subtracting the best score of each modifier shifts the
    value and makes all weights at most 1. An item of less than 1e-308 then becomes 0, and the
    outside weight of any is below (27/4)^n / Z: no marginal that counts is lost where log Z > n
    log(27/4) - `LOG_RANGE`. Elsewhere the tables hold logarithms.
    """
    c = open_chart(floats, n)
    shift = 0.0
    for m in range(n):
        row, weights = W[m * n : (m + 1) * n], c.W[m * n : (m + 1) * n]
        top = row[0]
        for h in range(1, n):
            top = row[h] if row[h] > top else top
        if top == -inf:
            M[: n * n] = 0.0
            return -inf
        shift += top
        for h in range(n):
            weights[h] = exp_nonpositive(row[h] - top)
    if n <= LONGEST:
        fill_chart(SUM, c.W, n, c)
        total = total_weight(SUM, c.W, n, single_root, c)
        if total > 0.0 and log(total) > n * LOG_GROWTH - LOG_RANGE:
            outside(SUM, c.W, n, single_root, total, c, M)
            return shift + log(total)
    fill_chart(LOG, W, n, c)
    total = total_weight(LOG, W, n, single_root, c)
    if total == -inf:
        M[: n * n] = 0.0
        return -inf
    outside(LOG, W, n, single_root, total, c, M)
    return total
