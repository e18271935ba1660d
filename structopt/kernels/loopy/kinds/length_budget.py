"""LENGTH_BUDGET factors: the whole lengths w_j of the binary variables that are on add up to at
most B.

The best choice is a dynamic program: V(j, b) is the best score of variables before j of length b or
less,

    V(0, b) = 0,    V(j + 1, b) = max( V(j, b), V(j, b - w_j) + s_j ),

in O(k B); only variables of positive score are looked at. Extra numbers: B, w_1, ..., w_k.
"""

from __future__ import annotations

import numpy as np

from structopt.kernels.loopy.open_kinds import FACTOR_EXTEND, FACTOR_LOCAL
from structopt.kernels.waist.signatures import kernel


@kernel(FACTOR_EXTEND)
def extend(extra, x, private):
    """Whether what is on is within the budget."""
    length = 0.0
    for j in range(len(x)):
        length += x[j] * extra[1 + j]
    return length <= extra[0]


@kernel(FACTOR_LOCAL)
def maximum(extra, s, p, out, private_out, floats, ints):
    """The best choice within the budget; one that costs less length, where several are best."""
    k, B = len(s), np.int64(extra[0])
    W = B + 1
    table = floats[: (k + 1) * W]
    table[:W] = 0.0
    for j in range(k):
        w, score = np.int64(extra[1 + j]), s[j]
        before, now = table[j * W : (j + 1) * W], table[(j + 1) * W : (j + 2) * W]
        now[:] = before
        if score > 0.0:
            for b in range(w, W):
                now[b] = max(before[b], before[b - w] + score)
    b = B
    for j in range(k - 1, -1, -1):
        if table[(j + 1) * W + b] > table[j * W + b]:
            out[j] = 1.0
            b -= np.int64(extra[1 + j])
    return table[k * W + B]
