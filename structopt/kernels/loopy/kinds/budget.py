"""BUDGET factors: at most so many of the linked binary variables are on."""

from __future__ import annotations

from math import exp, inf

import numpy as np

from structopt.kernels.arrays.log_add import add_or_max
from structopt.kernels.waist.signatures import inlined


@inlined
def budget_max(budget, s, out):
    """Choose the best variables of positive score, as many as the budget allows."""
    value = 0.0
    for _ in range(min(np.int64(budget), len(s))):
        best = -1
        for j in range(len(s)):
            if out[j] == 0.0 and s[j] > 0.0 and (best < 0 or s[j] > s[best]):
                best = j
        if best < 0:
            break
        out[best] = 1.0
        value += s[best]
    return value


@inlined
def budget_tables(budget, s, hot, floats):
    """Fill and return the tables of a BUDGET factor over its k variables, each with B + 1 columns,
    and B <= k.

    ahead[j * (B + 1) + b]: choosing exactly b of the variables before j; behind: at most b of those
    from j on. The entries are logs of summed weights, or the best scores.
    """
    k = len(s)
    B = min(np.int64(budget), k)
    N = B + 1
    ahead, behind = floats[: (k + 1) * N], floats[(k + 1) * N : 2 * (k + 1) * N]
    ahead[:N] = -inf
    ahead[0] = 0.0
    for j in range(k):
        for b in range(N):
            on = ahead[j * N + b - 1] + s[j] if b > 0 else -inf
            ahead[(j + 1) * N + b] = add_or_max(ahead[j * N + b], on, hot)
    behind[k * N : (k + 1) * N] = 0.0
    for j in range(k - 1, -1, -1):
        for b in range(N):
            on = behind[(j + 1) * N + b - 1] + s[j] if b > 0 else -inf
            behind[j * N + b] = add_or_max(behind[(j + 1) * N + b], on, hot)
    return ahead, behind, B


@inlined
def budget_marginals(budget, s, out, floats):
    """Write the marginals of choosing at most so many variables."""
    ahead, behind, B = budget_tables(budget, s, True, floats)
    N, value = B + 1, behind[B]
    for j in range(len(s)):
        for b in range(B):
            out[j] += exp(ahead[j * N + b] + s[j] + behind[(j + 1) * N + B - b - 1] - value)
    return value
