"""Quadratic problems of single factors in closed form: max_q a^T q + c^T p - ||q||^2 / 2 over a
local polytope.

That is the projection of a, where no private part p has a score. Scores of -inf forbid a part.
"""

from __future__ import annotations

from math import inf

from structopt.kernels.waist.signatures import inlined


@inlined
def unit(x):
    """Project a number onto [0, 1]."""
    return min(1.0, max(0.0, x))


@inlined
def project_pair(a, b, c):
    """(q, r) of max a q + b r + c p - (q^2 + r^2) / 2, where p is on where both are: max(0, q + r -
    1) <= p <= min(q, r).

    Martins et al. (2015), section 5.1. For c >= 0, p = min(q, r), and q and r are the number (a + b
    + c) / 2 that both would be, brought within [a, a + c] and [b, b + c], and then within [0, 1]. A
    pair that repels (c < 0) attracts q, which prefers a + c, and 1 - r. There are no branches,
    which in rows of pairs are often not foreseen; comparisons are false for nan, which sums of
    opposite infinities are.
    """
    attracts = c >= 0.0
    reach = c if attracts else -c
    other = b if attracts else 1.0 - b
    low = a if attracts else a + c
    high = a + c if attracts else a
    middle = 0.5 * (a + other + c) if attracts else 0.5 * (a + other)
    q = within(middle, low, high)
    r = within(middle, other, other + reach)
    return q, r if attracts else 1.0 - r


@inlined
def within(x, low, high):
    """The nearest number to x from low to high, and in [0, 1]."""
    x = x if x > low else low
    x = x if x < high else high
    x = x if x > 0.0 else 0.0
    return x if x < 1.0 else 1.0


@inlined
def project_small_table(a, c, p, first, eta, q):
    """Fill q[c : c + 4] for a table of 2 x 2 scores p[first :] / eta, a[c : c + 4] those of both
    variables' states.

    The variables are a pair of binary ones, on in their first states; every square counts twice.
    """
    p00, p01, p10, p11 = p[first], p[first + 1], p[first + 2], p[first + 3]
    joint = p00 - p01 - p10 + p11
    if not -inf < joint < inf:
        project_forbidding_table(a, c, p, first, eta, q)
        return
    half = 0.5 / eta
    x, y = project_pair(
        0.5 * (a[c] - a[c + 1] + 1.0) + half * (p01 - p11),
        0.5 * (a[c + 2] - a[c + 3] + 1.0) + half * (p10 - p11),
        half * joint,
    )
    q[c], q[c + 1], q[c + 2], q[c + 3] = x, 1.0 - x, y, 1.0 - y


@inlined
def project_forbidding_table(a, c, p, first, eta, q):
    """The same for a table with entries of -inf: what is left is a triangle, a segment or a
    point.
    """
    count, one, other, forbidden = 0, 0, 0, 0
    for r in range(4):
        if a[c + (r >> 1)] + a[c + 2 + (r & 1)] + p[first + r] > -inf:
            count, one, other = count + 1, other, r
        else:
            forbidden = r
    q[c : c + 4] = 0.0
    if count == 3:  # a pair that is not on in the forbidden states at once
        x, y = c + (forbidden >> 1), c + 2 + (forbidden & 1)
        off_x, off_y = 2 * c + 1 - x, 2 * c + 5 - y
        nothing = p[first + 3 - forbidden]
        on_x = 0.5 * (a[x] - a[off_x] + 1.0 + (p[first + (forbidden ^ 1)] - nothing) / eta)
        on_y = 0.5 * (a[y] - a[off_y] + 1.0 + (p[first + (forbidden ^ 2)] - nothing) / eta)
        q[x], q[y] = project_pair(on_x, on_y, -inf)
        q[off_x], q[off_y] = 1.0 - q[x], 1.0 - q[y]
        return
    share = 1.0
    if count == 2:
        moved = 1.0 if (one ^ other) < 3 else 2.0  # variables whose states differ
        ahead = (
            a[c + (other >> 1)] - a[c + (one >> 1)] + a[c + 2 + (other & 1)] - a[c + 2 + (one & 1)]
        )
        share = unit((moved + ahead + (p[first + other] - p[first + one]) / eta) / (2.0 * moved))
    q[c + (one >> 1)] += 1.0 - share
    q[c + 2 + (one & 1)] += 1.0 - share
    q[c + (other >> 1)] += share
    q[c + 2 + (other & 1)] += share


@inlined
def small_table_masses(on, also, p, first, z):
    """Write the best weights of the four pairs of states to z[first :]; `on` and `also` are those
    of both first states.
    """
    joint = p[first] - p[first + 1] - p[first + 2] + p[first + 3]
    both = joint_mass(on, also, joint) if -inf < joint < inf else forced_mass(on, also, p, first)
    z[first], z[first + 1], z[first + 2], z[first + 3] = (
        both,
        on - both,
        also - both,
        1.0 - on - also + both,
    )
    for r in range(first, first + 4):
        z[r] = max(0.0, z[r]) if p[r] > -inf else 0.0


@inlined
def forced_mass(on, also, p, first):
    """The weight of both first states that leaves none for a forbidden pair."""
    if p[first] == -inf:
        return 0.0
    if p[first + 1] == -inf:
        return on
    if p[first + 2] == -inf:
        return also
    return max(0.0, on + also - 1.0)


@inlined
def joint_mass(q, r, c):
    """The best p at fixed q and r; 0 where it is forbidden, even if q and r do not quite exclude
    each other yet.
    """
    if c == -inf:
        return 0.0
    return min(q, r) if c >= 0.0 else max(0.0, q + r - 1.0)


@inlined
def project_onto_sum(a, total, q):
    """Project a onto {q in [0, 1]^k : sum q = total}: q_j = unit(a_j - tau).

    The sum is piecewise linear in tau and falls from k to 0: Newton steps, kept within an interval
    that shrinks, reach the root's segment and then the root, and bisect the interval where a
    segment is flat; O(k) each. Entries of -inf are 0, and the others are all 1 where they are too
    few.
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
    """Project a onto {q in [0, 1]^k : sum q <= budget}: onto the box alone, unless that breaks the
    budget.
    """
    mass = 0.0
    for j in range(len(a)):
        q[j] = unit(a[j])
        mass += q[j]
    if mass > budget:
        project_onto_sum(a, budget, q)
