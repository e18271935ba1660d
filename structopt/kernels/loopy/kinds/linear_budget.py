"""LINEAR_BUDGET factors: lengths w of binary variables add up to at most B, and variables may be on
in part.

The polytope {q in [0, 1]^k : w^T q <= B, q_j = 0 where w_j > B} is that of LENGTH_BUDGET's rows.
Extra numbers: B, w_1, ..., w_k.
"""

from __future__ import annotations

from math import inf

import numpy as np

from structopt.kernels.ad3.projections import unit
from structopt.kernels.loopy.open_kinds import FACTOR_LOCAL, FACTOR_PROJECT
from structopt.kernels.waist.signatures import inlined, kernel


@kernel(FACTOR_LOCAL)
def maximum(extra, s, p, out, private_out, floats, ints):
    """Variables by score per length, until the budget is used up; the last one in part. O(k log
    k).
    """
    k, rest, value = len(s), float(extra[0]), 0.0
    rank = floats[:k]
    for j in range(k):
        w = float(extra[1 + j])
        rank[j] = -s[j] / w if w > 0.0 else -inf
    for j in np.argsort(rank):
        w = float(extra[1 + j])
        if s[j] > 0.0 and w <= extra[0]:
            out[j] = 1.0 if w <= rest else rest / w
            rest -= out[j] * w
            value += out[j] * s[j]
    return value


@inlined
def at_price(extra, a, tau, q):
    """Fill q with unit(a - tau w), 0 where w is beyond the budget; w^T q, and how fast it falls in
    tau.
    """
    mass, slope = 0.0, 0.0
    for j in range(len(a)):
        w = float(extra[1 + j])
        q[j] = unit(a[j] - tau * w) if w <= extra[0] else 0.0
        mass += w * q[j]
        if 0.0 < q[j] < 1.0:
            slope += w * w
    return mass, slope


@kernel(FACTOR_PROJECT)
def project(extra, a, p, eta, out, private_out, floats, ints):
    """q_j = unit(a_j - tau w_j), tau >= 0 such that the budget is kept.

    w^T q falls in tau and is piecewise linear: Newton steps, kept within an interval that shrinks,
    or its middle.
    """
    budget, size = float(extra[0]), 1.0 + float(extra[0])
    mass, _ = at_price(extra, a, 0.0, out)
    if mass <= budget:
        return True
    low, high, tau = 0.0, 1.0, 0.0
    while at_price(extra, a, high, out)[0] > budget:
        low, high = high, 2.0 * high
    tau = low
    while True:
        mass, slope = at_price(extra, a, tau, out)
        excess = mass - budget
        if excess > 0.0:
            low = tau
        else:
            high = tau
        if abs(excess) <= 1e-14 * size or not high - low > 1e-15 * high:
            return True
        tau = tau + excess / slope if slope > 0.0 else low
        if not low < tau < high:
            tau = low + (high - low) / 2
