"""COVERAGE factors: private parts, all on where any of k linked binary variables is, else off; all
functions are O(k).

With scores s of the variables, p of the private parts together, and L = sum_j log(1 + e^s_j),

    Z = 1 + e^p (e^L - 1),    P(covered) = e^p (e^L - 1) / Z,    P(j is on) = e^(p + L) sigma(s_j) /
    Z.
"""

from __future__ import annotations

from math import exp, inf

from structopt.kernels.ad3.projections import project_onto_sum, unit
from structopt.kernels.arrays.log_add import add_or_max
from structopt.kernels.loopy.messages import bounded
from structopt.kernels.loopy.open_kinds import (
    FACTOR_EXTEND,
    FACTOR_LOCAL,
    FACTOR_MESSAGES,
    FACTOR_PROJECT,
)
from structopt.kernels.waist.signatures import inlined, kernel


@inlined
def some_on(some, score, hot):
    """Add a variable to the log of the summed weights of the states with at least one variable on;
    where not `hot`, to the best score.

    `some` is -inf for no variables. Nothing cancels; e^L - 1 would if all scores are far below 0.
    """
    return add_or_max(some + add_or_max(0.0, score, hot), score, hot)


@kernel(FACTOR_EXTEND)
def extend(extra, x, private):
    """Write whether any variable is on; all states are allowed."""
    for j in range(len(x)):
        if x[j] > 0.0:
            private[:] = 1.0
    return True


@kernel(FACTOR_LOCAL)
def maximum(extra, s, p, out, private_out, floats, ints):
    """Every variable of positive score is on, or the best one alone; or none."""
    total, best = 0.0, -1
    for j in range(len(s)):
        total += max(s[j], 0.0)
        if best < 0 or s[j] > s[best]:
            best = j
    value = (total if s[best] > 0.0 else s[best]) + p.sum() if best >= 0 else 0.0
    if not value > 0.0:
        return 0.0
    for j in range(len(s)):
        out[j] = 1.0 if s[j] > 0.0 or j == best else 0.0
    private_out[:] = 1.0
    return value


@kernel(FACTOR_LOCAL)
def marginals(extra, s, p, out, private_out, floats, ints):
    """Log-partition function and marginals."""
    total, some, worth = 0.0, -inf, p.sum()
    for j in range(len(s)):
        total += add_or_max(0.0, s[j], True)
        some = some_on(some, s[j], True)
    covered = worth + some
    value = add_or_max(0.0, covered, True)
    private_out[:] = exp(covered - value)
    for j in range(len(s)):
        out[j] = exp(worth + total - add_or_max(0.0, s[j], True) + s[j] - value)
    return value


@kernel(FACTOR_MESSAGES)
def messages(extra, n, p, hot, out, floats, ints):
    """Log-odds of each variable, given the messages of the others: sums over all their states, and
    over the states with at least one of them on, behind it and then ahead of it.
    """
    k, worth = len(n), p.sum()
    totals, somes = floats[: k + 1], floats[k + 1 : 2 * k + 2]
    totals[k], somes[k] = 0.0, -inf
    for j in range(k - 1, -1, -1):
        totals[j] = totals[j + 1] + add_or_max(0.0, n[j], hot)
        somes[j] = some_on(somes[j + 1], n[j], hot)
    total, some = 0.0, -inf
    for j in range(k):
        others = add_or_max(some + totals[j + 1], somes[j + 1], hot)
        off = add_or_max(0.0, worth + others, hot)
        out[j] = bounded(worth + total + totals[j + 1], off)
        total, some = total + add_or_max(0.0, n[j], hot), some_on(some, n[j], hot)
    return True


@inlined
def some_worth(a, worth, q):
    """Fill q with the best of max a^T q + worth min(1, sum q) - ||q||^2 / 2 in [0, 1]^k; return
    min(1, sum q).
    """
    mass, lifted = 0.0, 0.0
    for j in range(len(a)):
        mass += unit(a[j])
        lifted += unit(a[j] + worth)
    if mass < 1.0 < lifted:
        project_onto_sum(a, 1.0, q)
        return 1.0
    for j in range(len(a)):
        q[j] = unit(a[j]) if mass >= 1.0 else unit(a[j] + worth)
    return min(1.0, max(mass, lifted))


@inlined
def some_cost(a, cost, q):
    """Fill q with the best of max a^T q - cost max q - ||q||^2 / 2 in [0, 1]^k; return max q.

    q_j = min(unit(a_j), m), where sum_j (a_j - m)+ = cost: a sum that is convex in m, so that
    Newton steps from 0 reach m.
    """
    m = 0.0
    while True:
        rest, slope = -cost, 0
        for j in range(len(a)):
            if a[j] > m:
                rest, slope = rest + a[j] - m, slope + 1
        step = rest / slope if rest > 0.0 and slope > 0 else 0.0
        if m >= 1.0 or not m + step > m:
            break
        m = min(1.0, m + step)
    most = 0.0
    for j in range(len(a)):
        q[j] = min(unit(a[j]), m)
        most = max(most, q[j])
    return most


@kernel(FACTOR_PROJECT)
def project(extra, a, p, eta, out, private_out, floats, ints):
    """The covered mass c is min(1, sum q) where it is worth anything, and max q where it costs."""
    worth = p.sum() / eta
    private_out[:] = some_worth(a, worth, out) if worth >= 0.0 else some_cost(a, -worth, out)
    return True
