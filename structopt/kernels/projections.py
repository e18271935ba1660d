"""Quadratic problems of single factors in closed form: max_q a^T q + c^T p - ||q||^2 / 2 over a local polytope.

That is the projection of a, where no private part p has a score. Scores of -inf forbid a part.
"""

from __future__ import annotations

from math import inf

from structopt.kernels.signatures import inlined


@inlined
def unit(x):
    """Project a number onto [0, 1]."""
    return min(1.0, max(0.0, x))


@inlined
def project_pair(a, b, c):
    """(q, r) of max a q + b r + c p - (q^2 + r^2) / 2, where p is on where both are: max(0, q + r - 1) <= p <= min(q, r).

    Martins et al. (2015), section 5.1. A pair that repels (c < 0) attracts q and 1 - r.
    """
    if c >= 0.0:
        return attracted(a, b, c)
    if a == -inf or b == -inf:
        return unit(a), unit(b)
    if c == -inf:
        return excluded(a, b)
    q, off = attracted(a + c, 1.0 - b, -c)
    return q, 1.0 - off


@inlined
def attracted(a, b, c):
    """The same for c >= 0, where p = min(q, r)."""
    if a == -inf or b == -inf:
        return unit(a), unit(b)
    if a > b + c:
        return unit(a), unit(b + c)
    if b > a + c:
        return unit(a + c), unit(b)
    middle = unit((a + b + c) / 2)
    return middle, middle


@inlined
def excluded(a, b):
    """The same for c = -inf: the projection onto q, r >= 0, q + r <= 1."""
    q, r = unit(a), unit(b)
    if q + r > 1.0:
        q = unit((a - b + 1.0) / 2)
        r = 1.0 - q
    return q, r


@inlined
def joint_mass(q, r, c):
    """The best p given q and r; 0 where it is forbidden, even if q and r do not quite exclude each other yet."""
    if c == -inf:
        return 0.0
    return min(q, r) if c >= 0.0 else max(0.0, q + r - 1.0)


@inlined
def project_onto_sum(a, total, q):
    """Project a onto {q in [0, 1]^k : sum q = total}: q_j = unit(a_j - tau).

    The sum falls in tau from k to 0, piece by piece linear: Newton steps kept between the ends, which reach the root's piece
    and then the root, and halve the rest where a piece is flat; O(k) each. Entries of -inf are 0, and where there are too
    few others they are all 1.
    """
    low, high, count = inf, -inf, 0
    for j in range(len(a)):
        if a[j] > -inf:
            low, high, count = min(low, a[j]), max(high, a[j]), count + 1
    if count <= total:
        for j in range(len(a)):
            q[j] = 1.0 if a[j] > -inf else 0.0
        return
    low, tau = low - 1.0, high - 1.0
    while True:
        mass, slope = 0.0, 0
        for j in range(len(a)):
            q[j] = unit(a[j] - tau)
            mass += q[j]
            slope += 0.0 < q[j] < 1.0
        excess = mass - total
        if excess > 0.0:
            low = tau
        else:
            high = tau
        if abs(excess) <= 1e-14 * len(a) or not high - low > 1e-15 * (abs(low) + abs(high)):
            return
        tau = tau + excess / slope if slope > 0 else low
        if not low < tau < high:
            tau = low + (high - low) / 2


@inlined
def project_onto_budget(a, budget, q):
    """Project a onto {q in [0, 1]^k : sum q <= budget}: onto the box alone, unless that breaks the budget."""
    mass = 0.0
    for j in range(len(a)):
        q[j] = unit(a[j])
        mass += q[j]
    if mass > budget:
        project_onto_sum(a, budget, q)
