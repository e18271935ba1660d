"""COVERAGE factors: private parts, all on where any of k linked binary variables is, else off; all
functions are O(k).

With scores s of the variables, p of the private parts together, and L = sum_j log(1 + e^s_j),

    Z = 1 + e^p (e^L - 1),    P(covered) = e^p (e^L - 1) / Z,    P(j is on) = e^(p + L) sigma(s_j) /
    Z.
"""

from __future__ import annotations

from math import exp, expm1, inf, log

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
def some_on(total, best, hot):
    """Log of the summed weights of the states of several variables of which one at least is on;
    where not `hot`, the best score.

    `total` is the same without the condition, `best` the highest score of a variable.
    """
    if hot:
        return total + log(-expm1(-total)) if total > 0.0 else -inf
    return total if best > 0.0 else best


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
    value = some_on(total, s[best], False) + p.sum() if best >= 0 else 0.0
    if not value > 0.0:
        return 0.0
    for j in range(len(s)):
        out[j] = 1.0 if s[j] > 0.0 or j == best else 0.0
    private_out[:] = 1.0
    return value


@kernel(FACTOR_LOCAL)
def marginals(extra, s, p, out, private_out, floats, ints):
    """Log-partition function and marginals."""
    total = 0.0
    for j in range(len(s)):
        total += add_or_max(0.0, s[j], True)
    worth = p.sum()
    covered = worth + some_on(total, 0.0, True)
    value = add_or_max(0.0, covered, True)
    private_out[:] = exp(covered - value)
    for j in range(len(s)):
        out[j] = exp(worth + total - add_or_max(0.0, s[j], True) + s[j] - value)
    return value


@kernel(FACTOR_MESSAGES)
def messages(extra, n, p, hot, out, floats, ints):
    """Log-odds of each variable, given the messages of the others: sums and maxima of those behind,
    then of those ahead.
    """
    k = len(n)
    totals, bests = floats[: k + 1], floats[k + 1 : 2 * k + 2]
    totals[k], bests[k], worth = 0.0, -inf, p.sum()
    for j in range(k - 1, -1, -1):
        totals[j], bests[j] = totals[j + 1] + add_or_max(0.0, n[j], hot), max(bests[j + 1], n[j])
    total, best = 0.0, -inf
    for j in range(k):
        rest = total + totals[j + 1]
        off = add_or_max(0.0, worth + some_on(rest, max(best, bests[j + 1]), hot), hot)
        out[j] = bounded(worth + rest, off)
        total, best = total + add_or_max(0.0, n[j], hot), max(best, n[j])
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
