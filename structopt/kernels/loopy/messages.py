"""Messages from a factor of each kind to its variables in belief propagation, sum-product (`hot`)
or max-product.

The message to a binary variable is its log-odds in the factor, on against off, without the message
from the variable to the factor (`n`); to a wider variable a vector of log weights, the greatest 0.
Messages are kept within +-`LIMIT`, so that a variable that a hard factor fixes stays a number. O()
as `structopt.kernels.loopy.factor_kinds`, but max-product through TREE looks for a best tree for
every arc, with and without it.
"""

from __future__ import annotations

from math import exp, inf, log

import numpy as np

from structopt.kernels.arrays.log_add import add_or_max
from structopt.kernels.arrays.rows import set_row
from structopt.kernels.loopy.factors import (
    AUTOMATON,
    BUDGET,
    EXACTLY_ONE,
    TABLE,
    TREE,
    extra_numbers,
    first_width,
)
from structopt.kernels.loopy.kinds.automaton import row_start
from structopt.kernels.loopy.kinds.budget import budget_tables
from structopt.kernels.loopy.kinds.tree import arc_matrix, tree_marginals, tree_value
from structopt.kernels.loopy.open_kinds import open_messages
from structopt.kernels.waist.signatures import inlined

LIMIT = 1e5
LOST = 1e-250
"""Sums of exponentials below this may have lost terms that matter."""


@inlined
def bounded(on, off):
    """on - off, within the limits; 0 where both are -inf."""
    if on == -inf:
        return 0.0 if off == -inf else -LIMIT
    return min(max(on - off, -LIMIT), LIMIT)


@inlined
def send(f, i, factor, n, p, hot, out, floats, ints):
    """Write the messages of any factor but PAIRS to `out`, n being those of its variables; return
    whether it allows anything.
    """
    kind, extra = f.kinds[factor], extra_numbers(f, factor)
    if kind == TREE and hot:
        return tree_sums(extra, n, out, floats, ints)
    if kind == TREE:
        return tree_maxima(extra, n, out, floats, ints)
    if kind == AUTOMATON:
        automaton_messages(n, p, hot, out, floats)
    elif kind == EXACTLY_ONE:
        exactly_one_messages(n, hot, out)
    elif kind == TABLE:
        table_messages(n, p, first_width(f, i, factor), hot, out, floats)
    elif kind == BUDGET:
        budget_messages(extra[0], n, hot, out, floats)
    else:
        return open_messages(kind, extra, n, p, hot, out, floats, ints)
    return True


@inlined
def tree_sums(extra, n, out, floats, ints):
    """Log-odds of the arcs' marginals, less n. Off weighs as much as the other heads of the
    modifier together.
    """
    out[:] = 0.0
    if tree_marginals(extra, n, out, floats, ints) == -inf:
        return False
    tokens = np.int64(extra[0])
    M = floats[tokens * tokens : 2 * tokens * tokens]
    for a in range(len(n)):
        if n[a] == -inf:
            out[a] = 0.0
            continue
        m, on = extra[3 + 2 * a], max(out[a], 0.0)
        if on < 0.5:
            off = 1.0 - on
        else:  # without cancellation
            off = 0.0
            for h in range(tokens):
                if h != extra[4 + 2 * a]:
                    off += max(M[m * tokens + h], 0.0)
        out[a] = bounded(log(on) if on > 0.0 else -inf, (log(off) if off > 0.0 else -inf) + n[a])
    return True


@inlined
def tree_maxima(extra, n, out, floats, ints):
    """Best tree with each arc less the best one without it, less n: takes as many best trees as
    there are arcs, and one more.
    """
    tokens = np.int64(extra[0])
    W, rest, heads = floats[: tokens * tokens], floats[tokens * tokens :], ints[:tokens]
    arc_matrix(extra, n, W)
    top = tree_value(extra, W, heads, rest, ints[tokens:])
    if top == -inf:
        return False
    for a in range(len(n)):  # marked before the search spoils `heads`
        out[a] = 1.0 if heads[extra[3 + 2 * a]] == extra[4 + 2 * a] else 0.0
    for a in range(len(n)):
        m, h = extra[3 + 2 * a], extra[4 + 2 * a]
        if n[a] == -inf:
            out[a] = 0.0
        elif out[a] > 0.0:
            W[m * tokens + h] = -inf
            out[a] = bounded(top, tree_value(extra, W, heads, rest, ints[tokens:]) + n[a])
            W[m * tokens + h] = n[a]
        else:
            kept = rest[:tokens]
            set_row(kept, W[m * tokens : (m + 1) * tokens])
            W[m * tokens : (m + 1) * tokens] = -inf
            W[m * tokens + h] = n[a]
            out[a] = bounded(tree_value(extra, W, heads, rest[tokens:], ints[tokens:]), top + n[a])
            set_row(W[m * tokens : (m + 1) * tokens], kept)
    return True


@inlined
def automaton_messages(n, p, hot, out, floats):
    """Weight of all paths through each variable, against those that pass it by; O(k^2)."""
    k = len(n)
    ahead, behind, over = floats[: k + 1], floats[k + 1 : 2 * k + 3], floats[2 * k + 3 : 3 * k + 4]
    ahead[0] = 0.0
    for j in range(1, k + 1):
        total = -inf
        for i in range(j):
            total = add_or_max(total, ahead[i] + p[row_start(k, i) + j], hot)
        ahead[j] = total + n[j - 1]
        out[j - 1] = total
    behind[k + 1] = 0.0
    over[:] = -inf
    for i in range(k, -1, -1):
        row, beyond = row_start(k, i), p[row_start(k, i) + k + 1]
        for j in range(k, i, -1):
            over[j] = add_or_max(over[j], ahead[i] + beyond, hot)
            beyond = add_or_max(beyond, p[row + j] + behind[j], hot)
        if i > 0:
            behind[i] = n[i - 1] + beyond
            out[i - 1] += beyond
    for j in range(k):
        out[j] = bounded(out[j], over[j + 1])


@inlined
def exactly_one_messages(n, hot, out):
    """Minus the log of the weight of the other variables together."""
    total = -inf
    for j in range(len(n)):
        out[j] = total
        total = add_or_max(total, n[j], hot)
    total = -inf
    for j in range(len(n) - 1, -1, -1):
        out[j] = bounded(0.0, add_or_max(out[j], total, hot))
        total = add_or_max(total, n[j], hot)


@inlined
def budget_messages(budget, n, hot, out, floats):
    """Weight of the configurations with a variable on, without n of that variable, against those
    with it off.
    """
    ahead, behind, B = budget_tables(budget, n, hot, floats)
    N = B + 1
    for j in range(len(n)):
        on, off = -inf, -inf
        for b in range(N):
            off = add_or_max(off, ahead[j * N + b] + behind[(j + 1) * N + B - b], hot)
            if b < B:
                on = add_or_max(on, ahead[j * N + b] + behind[(j + 1) * N + B - b - 1], hot)
        out[j] = bounded(on, off)


@inlined
def table_messages(n, p, K, hot, out, floats):
    """Each state of one variable with all states of the other."""
    top, other, most = n[:K].max(), n[K:].max(), p.max()
    if not (hot and table_sums(n, p, K, top, other, most, out, floats)):
        table_logs(n, p, K, hot, out)
    normalise(out[:K])
    normalise(out[K:])


@inlined
def table_sums(n, p, K, top, other, most, out, floats):
    """Sum exponentials, relative to the highest of n, of both variables, and of p; return whether
    no sum is too small.
    """
    L = len(n) - K
    if not (top > -inf and other > -inf and most > -inf):
        return False
    for v in range(L):
        floats[v] = exp(n[K + v] - other)
        out[K + v] = 0.0
    for u in range(K):
        share, total = exp(n[u] - top), 0.0
        for v in range(L):
            weight = exp(p[u * L + v] - most)
            total += floats[v] * weight
            out[K + v] += share * weight
        out[u] = total
    least = out[0]
    for r in range(K + L):
        least = min(least, out[r])
        out[r] = log(out[r]) if out[r] > 0.0 else -inf
    return least > LOST


@inlined
def table_logs(n, p, K, hot, out):
    """The same in logs, or with maxima."""
    width = len(n) - K
    out[:] = -inf
    for r in range(len(p)):
        u, v = r // width, K + r % width
        out[u] = add_or_max(out[u], n[v] + p[r], hot)
        out[v] = add_or_max(out[v], n[u] + p[r], hot)


@inlined
def normalise(x):
    """Shift log weights so that the greatest is 0, and the least not below the limit."""
    top = x.max()
    for j in range(len(x)):
        x[j] = 0.0 if top == -inf else max(x[j] - top, -LIMIT)
