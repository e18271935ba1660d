"""LENGTH_BUDGET factors: the whole lengths w_j of the binary variables that are on add up to at
most B.

The best choice is a dynamic program: V(j, b) is the best score of variables before j of length b or
less,

    V(0, b) = 0,    V(j + 1, b) = max( V(j, b), V(j, b - w_j) + s_j ),

in O(k B); only variables of positive score are looked at. Sums over all choices need the choices
of both sides of a variable. With F(j, b) the log of the summed weights of the choices before j of
length b exactly, and G(j, b) the same from j on, of length b or less,

    F(j + 1, b) = log( e^F(j, b) + e^(F(j, b - w_j) + s_j) ),    G(j, b) = log( e^G(j + 1, b) +
    e^(G(j + 1, b - w_j) + s_j) ),

the log-partition function is G(0, B), and without its own score variable j weighs

    on: log sum_b e^(F(j, b) + G(j + 1, B - b - w_j)),    off: log sum_b e^(F(j, b) + G(j + 1, B -
    b)),

and `on` + s_j - G(0, B) is the log of its marginal. Messages of max-product have maxima in
place of sums. All are O(k B). Extra numbers: B, w_1, ..., w_k.
"""

from __future__ import annotations

from math import exp, inf

import numpy as np

from structopt.kernels.arrays.log_add import add_or_max
from structopt.kernels.arrays.rows import set_row
from structopt.kernels.loopy.messages import bounded
from structopt.kernels.loopy.open_kinds import FACTOR_EXTEND, FACTOR_LOCAL, FACTOR_MESSAGES
from structopt.kernels.waist.signatures import inlined, kernel


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
        set_row(now, before)
        if score > 0.0:
            for b in range(w, W):
                now[b] = max(before[b], before[b - w] + score)
    b = B
    for j in range(k - 1, -1, -1):
        if table[(j + 1) * W + b] > table[j * W + b]:
            out[j] = 1.0
            b -= np.int64(extra[1 + j])
    return table[k * W + B]


@inlined
def choices_before(extra, s, hot, floats):
    """Fill and return F, shape (k + 1) (B + 1), and G(k, .), shape (B + 1), which the table of F
    precedes.
    """
    k, W = len(s), np.int64(extra[0]) + 1
    table, rest = floats[: (k + 1) * W], floats[(k + 1) * W : (k + 2) * W]
    table[:W], rest[:] = -inf, 0.0
    table[0] = 0.0
    for j in range(k):
        w = np.int64(extra[1 + j])
        before, now = table[j * W : (j + 1) * W], table[(j + 1) * W : (j + 2) * W]
        set_row(now, before)
        for b in range(w, W):
            now[b] = add_or_max(before[b], before[b - w] + s[j], hot)
    return table, rest


@inlined
def on_and_off(before, rest, w, hot):
    """Weigh the choices of the other variables where one of length w is on, and where it is off."""
    on, off, B = -inf, -inf, len(rest) - 1
    for b in range(B + 1):
        off = add_or_max(off, before[b] + rest[B - b], hot)
    for b in range(B - w + 1):
        on = add_or_max(on, before[b] + rest[B - b - w], hot)
    return on, off


@inlined
def step_back(w, score, hot, rest):
    """Turn G(j + 1, .) into G(j, .) for a variable j of length w."""
    for b in range(len(rest) - 1, w - 1, -1):
        rest[b] = add_or_max(rest[b], rest[b - w] + score, hot)


@kernel(FACTOR_LOCAL)
def marginals(extra, s, p, out, private_out, floats, ints):
    """Log-partition function and marginals."""
    k, W = len(s), np.int64(extra[0]) + 1
    table, rest = choices_before(extra, s, True, floats)
    for j in range(k - 1, -1, -1):
        w = np.int64(extra[1 + j])
        out[j] = s[j] + on_and_off(table[j * W : (j + 1) * W], rest, w, True)[0]
        step_back(w, s[j], True, rest)
    for j in range(k):
        out[j] = exp(out[j] - rest[W - 1])
    return rest[W - 1]


@kernel(FACTOR_MESSAGES)
def messages(extra, n, p, hot, out, floats, ints):
    """Log-odds of each variable, given the messages of the others."""
    k, W = len(n), np.int64(extra[0]) + 1
    table, rest = choices_before(extra, n, hot, floats)
    for j in range(k - 1, -1, -1):
        w = np.int64(extra[1 + j])
        on, off = on_and_off(table[j * W : (j + 1) * W], rest, w, hot)
        out[j] = bounded(on, off)
        step_back(w, n[j], hot, rest)
    return True
