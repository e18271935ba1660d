"""Extrapolation of the passes of dual decomposition: where a few of them lead, if those that follow
turn as they did.

A pass takes the point x = u + lambda / eta, a number a copy, to x + r(x), and never away from a
solution; once every factor keeps to one face of its polytope, r is affine. With moves r_1, ..., r_n
of consecutive points x_1, ..., x_n,

    min_a || sum_j a_j r_j ||,    sum_j a_j = 1,

are the weights at which an affine r would be least, and sum_j a_j (x_j + r_j) is where the next
pass begins. It does so only if the upper bound is lower there. That is Anderson's method (1965)
with a restart after every n passes; on maps that are affine by pieces it is the minimal residual
method of Saad and Schultz (1986).
"""

from __future__ import annotations

from math import sqrt

from structopt.kernels.ad3.bounds import bound
from structopt.kernels.arrays.rows import add_scaled, product, set_row, set_scaled
from structopt.kernels.waist.signatures import inlined
from structopt.kernels.waist.views import part

PASSES = 6  # n
RIDGE = 1e-10  # of the mean squared length of a move: moves may be dependent


@inlined
def move(copies, w, j):
    """The move of that number."""
    return part(w.moves, j * copies, (j + 1) * copies)


@inlined
def factorise(copies, w):
    """Write the Cholesky factor of the products of the moves, and a ridge, to w.products; False
    where no point has moved.
    """
    root, trace = w.products, 0.0
    for j in range(PASSES):
        for m in range(j + 1):
            root[j * PASSES + m] = product(move(copies, w, j), move(copies, w, m))
        trace += root[j * PASSES + j]
    ridge = RIDGE * trace / PASSES
    for j in range(PASSES):
        begin = j * PASSES
        for m in range(j):
            above = product(part(root, begin, begin + m), part(root, m * PASSES, m * PASSES + m))
            root[begin + m] = (root[begin + m] - above) / root[m * PASSES + m]
        row = part(root, begin, begin + j)
        root[begin + j] = sqrt(max(root[begin + j] + ridge - product(row, row), ridge))
    return trace > 0.0


@inlined
def weigh_moves(copies, w):
    """Write to w.shares how much of each move, a_1 + ... + a_(j-1) of move j, the extrapolated
    point lacks.

    Returns False where no point has moved.
    """
    if not factorise(copies, w):
        return False
    root, shares, total, before = w.products, w.shares, 0.0, 0.0
    for j in range(PASSES):
        begin = j * PASSES
        shares[j] = (1.0 - product(part(root, begin, begin + j), part(shares, 0, j))) / root[
            begin + j
        ]
    for j in range(PASSES - 1, -1, -1):
        shares[j] /= root[j * PASSES + j]
        for m in range(j):
            shares[m] -= root[j * PASSES + m] * shares[j]
        total += shares[j]
    for j in range(PASSES):
        before, shares[j] = before + shares[j] / total, before
    return True


@inlined
def go_back(copies, shared, eta, w):
    """Move lambda and u from the last point to the extrapolated one."""
    shares, sums, degree, parts, multipliers, mean = (
        w.shares,
        w.sums,
        w.degree,
        w.part,
        w.multipliers,
        w.mean,
    )
    lack = move(copies, w, 0)
    set_scaled(lack, shares[0], lack)
    for j in range(1, PASSES):
        add_scaled(lack, shares[j], move(copies, w, j))
    sums[:shared] = 0.0
    for c in range(copies):
        sums[parts[c]] += lack[c]
    for r in range(shared):
        if degree[r] > 0.0:
            sums[r] /= degree[r]
            mean[r] -= sums[r]
    for c in range(copies):
        multipliers[c] -= eta * (lack[c] - sums[parts[c]])


@inlined
def extrapolate(f, i, copies, s, eta, present, w):
    """Move lambda and u to the extrapolated point if the bound is lower there than the `present`
    one; return the lower bound.
    """
    shared = f.shared[i]
    if not weigh_moves(copies, w):
        return present
    set_row(w.aside[:copies], w.multipliers[:copies])
    set_row(w.aside[copies : copies + shared], w.mean[:shared])
    go_back(copies, shared, eta, w)
    ahead, _ = bound(f, i, s, w)
    if ahead < present:
        return ahead
    set_row(w.multipliers[:copies], w.aside[:copies])
    set_row(w.mean[:shared], w.aside[copies : copies + shared])
    return present
