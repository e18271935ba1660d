"""COVERAGE factors: a private part that is on where any of k linked binary variables is; all functions are O(k).

With scores s of the variables, p of the private part, and L = sum_j log(1 + e^s_j),

    Z = 1 + e^p (e^L - 1),    P(covered) = e^p (e^L - 1) / Z,    P(j is on) = e^(p + L) sigma(s_j) / Z.
"""

from __future__ import annotations

from math import exp, expm1, inf, log, log1p

from structopt.kernels.arrays.log_add import add_or_max
from structopt.kernels.loopy.open_kinds import FACTOR_EXTEND, FACTOR_LOCAL, FACTOR_MESSAGES
from structopt.kernels.waist.signatures import inlined, kernel

FARTHEST = 1e5
"""The largest log-odds of a message."""


@inlined
def free(s, hot):
    """Log of the summed weights of on and off, log(1 + e^s); or the better score of the two."""
    return max(s, 0.0) + (log1p(exp(-abs(s))) if hot else 0.0)


@inlined
def some_on(total, best, hot):
    """The same of several variables of which one at least is on; `total` is that of all, `best` their highest score."""
    if hot:
        return total + log(-expm1(-total)) if total > 0.0 else -inf
    return total if best > 0.0 else best


@kernel(FACTOR_EXTEND)
def extend(extra, x, private):
    """Write whether any variable is on; all states are allowed."""
    private[0] = 0.0
    for j in range(len(x)):
        if x[j] > 0.0:
            private[0] = 1.0
    return True


@kernel(FACTOR_LOCAL)
def maximum(extra, s, p, out, private_out, floats, ints):
    """Every variable of positive score is on, or the best one alone; or none."""
    total, best = 0.0, -1
    for j in range(len(s)):
        total += max(s[j], 0.0)
        if best < 0 or s[j] > s[best]:
            best = j
    if best < 0 or not some_on(total, s[best], False) + p[0] > 0.0:
        return 0.0
    for j in range(len(s)):
        out[j] = 1.0 if s[j] > 0.0 or j == best else 0.0
    private_out[0] = 1.0
    return some_on(total, s[best], False) + p[0]


@kernel(FACTOR_LOCAL)
def marginals(extra, s, p, out, private_out, floats, ints):
    """Log-partition function and marginals."""
    total = 0.0
    for j in range(len(s)):
        total += free(s[j], True)
    covered = p[0] + some_on(total, 0.0, True)
    value = add_or_max(0.0, covered, True)
    private_out[0] = exp(covered - value)
    for j in range(len(s)):
        out[j] = exp(p[0] + total - free(s[j], True) + s[j] - value)
    return value


@kernel(FACTOR_MESSAGES)
def messages(extra, n, p, hot, out, floats, ints):
    """Log-odds of each variable, given the messages of the others: sums and maxima of those behind, then of those ahead."""
    k = len(n)
    totals, bests = floats[: k + 1], floats[k + 1 : 2 * k + 2]
    totals[k], bests[k] = 0.0, -inf
    for j in range(k - 1, -1, -1):
        totals[j], bests[j] = totals[j + 1] + free(n[j], hot), max(bests[j + 1], n[j])
    total, best = 0.0, -inf
    for j in range(k):
        rest = total + totals[j + 1]
        off = add_or_max(0.0, p[0] + some_on(rest, max(best, bests[j + 1]), hot), hot)
        out[j] = min(max(p[0] + rest - off, -FARTHEST), FARTHEST)
        total, best = total + free(n[j], hot), max(best, n[j])
    return True
