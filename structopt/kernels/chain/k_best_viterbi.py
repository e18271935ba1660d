"""The k best labellings of a chain: lists of the best values per state, which grow on demand
(Huang and Chiang, 2005, algorithm 3).
"""

from __future__ import annotations

from math import inf
from typing import NamedTuple

import numpy as np

from structopt.kernels.chain.ngram_parts import mark, scores_at
from structopt.kernels.waist.record import Array
from structopt.kernels.waist.signatures import inlined
from structopt.kernels.waist.target import list_parts


class Lists(NamedTuple):
    """Lists of every state v of every position t, for at most `count` outputs.

    Attributes
    ----------
    best, state, rank : (n, N, count) values in decreasing order; the state before, and the rank in
        its list, from which each comes
    found : (n, N) lengths of the lists
    ended : (n, N) whether there is nothing behind them
    ahead : (n, N, L) rank of the next value of each state before; of equal values the first state's
        comes first
    """

    best: Array
    state: Array
    rank: Array
    found: Array
    ended: Array
    ahead: Array


@inlined
def k_best_viterbi(c, n, s, count, x, values, offsets, parts, counts):
    """List the `count` best labellings, best first, as the signature K_BEST says; return how many
    there are.

    x.table holds the summed scores of tied n-grams. O(n L^(k+1) + count n L) for tied n-grams.
    """
    L, N = c.labels, x.temporary.size
    lists = Lists(
        np.full((n, N, count), -inf),
        np.zeros((n, N, count), np.int32),
        np.zeros((n, N, count), np.int32),
        np.zeros((n, N), np.int32),
        np.zeros((n, N), np.bool_),
        np.zeros((n, N, L), np.int32),
    )
    states = find_best(c, n, s, x, lists)
    ahead, path = np.zeros(states, np.int32), np.zeros(n, np.int64)
    z, outputs, offsets[0] = np.zeros(len(s)), 0, 0
    while outputs < count:
        last = 0
        for v in range(1, states):
            if lists.best[n - 1, v, ahead[v]] > lists.best[n - 1, last, ahead[last]]:
                last = v
        j = ahead[last]
        values[outputs] = lists.best[n - 1, last, j]
        if values[outputs] == -inf:
            break
        v, z[:] = np.int64(last), 0.0
        for t in range(n - 1, -1, -1):
            u = np.int64(lists.state[t, v, j])
            mark(c, n, t, u, v % L, z, 1.0)
            v, j = u, lists.rank[t, v, j]
        outputs += 1
        offsets[outputs] = list_parts(z, offsets[outputs - 1], parts, counts)
        if outputs < count:
            ahead[last] += 1
            grow(c, n, s, x, last, lists, path)
    return outputs


@inlined
def find_best(c, n, s, x, lists):
    """Write the first value of every list by the Viterbi algorithm; return the number of states at
    the last position.
    """
    L, states = c.labels, c.labels
    for y in range(L):
        lists.best[0, y, 0], lists.found[0, y], lists.ended[0, y] = s[y], 1, True
    for t in range(1, n):
        before, states = states, states_at(c, t)
        e = scores_at(c, n, s, t, first_tied(c, t), x.table)
        best, below, origin = lists.best[t], lists.best[t - 1], lists.state[t]
        histories = states // L
        for u in range(before):
            first = (u % histories) * L
            for y in range(L):
                value = below[u, 0] + e[u * L + y] + s[t * L + y]
                if value > best[first + y, 0]:
                    best[first + y, 0], origin[first + y, 0] = value, u
        for v in range(states):
            if best[v, 0] > -inf:
                lists.found[t, v], lists.ahead[t, v, origin[v, 0] // histories] = 1, 1
            lists.ended[t, v] = best[v, 0] == -inf
    return states


@inlined
def first_tied(c, t):
    """Return where the summed scores of the n-grams that end at position t > 0 begin."""
    first, size = 0, c.labels
    for _ in range(2, min(t, c.order) + 1):
        size *= c.labels
        first += size
    return first


@inlined
def states_at(c, t):
    """Return the number of states at position t: of the labels of t and up to k - 1 before it."""
    states = c.labels
    for _ in range(1, min(t + 1, c.order)):
        states *= c.labels
    return states


@inlined
def extend(c, t, v, e, s, lists):
    """Append the next value to the list of state v at position t; e: the scores of n-grams there.

    The lists of the states before must have the values at the ranks `ahead`, or have ended.
    """
    L, r, histories = c.labels, lists.found[t, v], states_at(c, t) // c.labels
    top, chosen, y = -inf, 0, v % L
    own, below, ahead = s[t * L + y], lists.best[t - 1], lists.ahead[t, v]
    for q in range(states_at(c, t - 1) // histories):
        u = v // L + q * histories
        value = below[u, ahead[q]] + e[u * L + y] + own
        if value > top:
            top, chosen = value, q
    if top == -inf:
        lists.ended[t, v] = True
        return
    lists.best[t, v, r], lists.state[t, v, r] = top, v // L + chosen * histories
    lists.rank[t, v, r] = lists.ahead[t, v, chosen]
    lists.ahead[t, v, chosen] += 1
    lists.found[t, v] = r + 1


@inlined
def grow(c, n, s, x, v, lists, path):
    """Append the next value to the list of a last state, and first to the lists that it needs.

    Such a list is that of the state before which gave the last value; all others have theirs.
    """
    t, path[n - 1] = n - 1, v
    while not lists.ended[t, path[t]]:
        r = lists.found[t, path[t]] - 1
        u, j = lists.state[t, path[t], r], lists.rank[t, path[t], r] + 1
        path[t - 1] = u
        if lists.ended[t - 1, u] or j < lists.found[t - 1, u]:
            break
        t -= 1
    for position in range(t, n):
        if not lists.ended[position, path[position]]:
            e = scores_at(c, n, s, position, first_tied(c, position), x.table)
            extend(c, position, path[position], e, s, lists)
