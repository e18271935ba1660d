"""AUTOMATON factors: paths of pairs of consecutive modifiers, from 0 to k + 1
(`structopt.kernels.loopy.factors` lays them out).

A path through the linked variables j scores the sum of their s_j and of the p_ij of its pairs.
O(k^2) each.
"""

from __future__ import annotations

from math import exp, inf, log

from structopt.kernels.waist.signatures import inlined
from structopt.kernels.waist.views import part


@inlined
def row_start(k, i):
    """Where the pairs (i, j), j > i, would begin if j counted from 0: the pair (i, j) is private
    part row_start(k, i) + j.
    """
    return i * (k + 1) - i * (i - 1) // 2 - i - 1


@inlined
def automaton_max(s, p, out, private_out, floats, ints):
    """Viterbi. Indicators of a best path are added to the outs, which are zero."""
    k = len(s)
    best, back = part(floats, 0, k + 2), part(ints, 0, k + 2)
    for j in range(1, k + 2):
        best[j], back[j] = -inf, 0
    best[0] = 0.0
    for i in range(k + 1):
        row = row_start(k, i)
        if i > 0:
            best[i] += s[i - 1]
        for j in range(i + 1, k + 2):  # forwards from i, so that entries lie side by side
            value = best[i] + p[row + j]
            better = value > best[j]
            best[j], back[j] = value if better else best[j], i if better else back[j]
    if best[k + 1] == -inf:
        return -inf
    j = k + 1
    while j > 0:
        i = back[j]
        private_out[row_start(k, i) + j] = 1.0
        if i > 0:
            out[i - 1] = 1.0
        j = i
    return best[k + 1]


@inlined
def automaton_marginals(s, p, out, private_out, floats):
    """Forward in logs; backward the marginal of j is divided among the pairs that lead to it. The
    outs are zero before.
    """
    k = len(s)
    ahead = floats[: k + 2]
    ahead[0] = 0.0
    for j in range(1, k + 2):
        top = -inf
        for i in range(j):
            top = max(top, ahead[i] + p[row_start(k, i) + j])
        total = 0.0
        if top > -inf:
            for i in range(j):
                total += exp(ahead[i] + p[row_start(k, i) + j] - top)
            top += log(total)
        ahead[j] = top + (s[j - 1] if j <= k else 0.0)
    if ahead[k + 1] == -inf:
        return -inf
    for j in range(k + 1, 0, -1):
        mass = 1.0 if j > k else out[j - 1]
        if mass == 0.0:
            continue
        into = ahead[j] - (s[j - 1] if j <= k else 0.0)
        for i in range(j):
            part = mass * exp(ahead[i] + p[row_start(k, i) + j] - into)
            private_out[row_start(k, i) + j] = part
            if i > 0:
                out[i - 1] += part
    return ahead[k + 1]
