"""Singles: weights that stand alone, each for one attribute and one configuration.

Attributes of which few weights may move have these alone instead of a row. A table of them stands
behind that of the rows of its group, and adds to the same scores
(`structopt.kernels.features.attributes.record`). Where an instance lists n singles, which occur N
times, `ids` has 2 N - n numbers for it: at position * width + configuration

    where each of the n first occurs,
    where they occur again, N - n times,

and of each of these N - n the index of the single in the list. So one run through the list needs no
other index than its own.
"""

from __future__ import annotations

from structopt.kernels.arrays.rows import product
from structopt.kernels.features.attributes.record import SMALLEST, list_of
from structopt.kernels.waist.signatures import embedded
from structopt.kernels.waist.views import part, prefetch

NEAR = 1 << 16  # singles that need not be asked for, since they stay in a cache


@embedded
def occurrences(x, t, i):
    """View the singles of instance i in table t, where they first occur, where some occur again,
    and the indices of these.

    The first number returned is where the values of the first occurrences begin; those of the
    others stand behind them.
    """
    listed, begin, end = (
        list_of(x, t, i),
        x.offsets[x.starts[t] + i],
        x.offsets[x.starts[t] + i + 1],
    )
    middle = begin + len(listed)
    more = (end - middle) // 2
    return (
        begin,
        listed,
        part(x.ids, begin, middle),
        part(x.ids, middle, middle + more),
        part(x.ids, middle + more, end),
    )


@embedded
def add_single_scores(x, t, i, theta, s):
    """Add the scores by the singles of instance i in table t to those of the positions of its
    group.
    """
    W, (begin, listed, first, again, indices) = (
        part(theta, x.weights[t], x.weights[t + 1]),
        occurrences(x, t, i),
    )
    if len(W) > NEAR:
        for a in listed:
            prefetch(W, a)
    if len(x.values) > 0:
        for e in range(len(first)):
            s[first[e]] += x.values[begin + e] * W[listed[e]]
        for e in range(len(again)):
            s[again[e]] += x.values[begin + len(first) + e] * W[listed[indices[e]]]
    else:
        for e in range(len(first)):
            s[first[e]] += W[listed[e]]
        for e in range(len(again)):
            s[again[e]] += W[listed[indices[e]]]


@embedded
def single_gradient(x, t, i, r, chosen, G):
    """Fill `chosen` with the singles of instance i whose gradient is not 0, and G with it; return
    their number, and its square.

    r are the residuals of the positions of the group.
    """
    begin, listed, first, again, indices = occurrences(x, t, i)
    if len(x.values) > 0:
        for e in range(len(first)):
            G[e] = x.values[begin + e] * r[first[e]]
        for e in range(len(again)):
            G[indices[e]] += x.values[begin + len(first) + e] * r[again[e]]
    else:
        for e in range(len(first)):
            G[e] = r[first[e]]
        for e in range(len(again)):
            G[indices[e]] += r[again[e]]
    kept = 0
    for e in range(len(listed)):
        g = G[e]
        G[kept], chosen[kept] = g, listed[e]
        kept += abs(g) >= SMALLEST
    own = part(G, 0, kept)
    return kept, product(own, own)


@embedded
def accumulate_singles(x, t, i, r, dense):
    """Add to a dense vector what the singles of instance i have of the residuals of the positions
    of their group.
    """
    W, (begin, listed, first, again, indices) = (
        part(dense, x.weights[t], x.weights[t + 1]),
        occurrences(x, t, i),
    )
    for e in range(len(first)):
        W[listed[e]] += (x.values[begin + e] if len(x.values) > 0 else 1.0) * r[first[e]]
    for e in range(len(again)):
        W[listed[indices[e]]] += (
            x.values[begin + len(first) + e] if len(x.values) > 0 else 1.0
        ) * r[again[e]]
