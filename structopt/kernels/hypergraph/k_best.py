"""The k best derivations: the lazy algorithm of Huang and Chiang (2005, algorithm 3).

Every vertex keeps its best derivations so far as a linked list, and a heap of *candidates*: an edge
together with one derivation of each of its tails, of ranks a and b. When a candidate is taken out
of the heap for the list, its *followers* are due: those with the ranks (a, b + 1), and where b = 0
also (a + 1, 0). They are made only when the next derivation of the vertex is asked for, so that
only as many derivations of a vertex are made as are needed. What a vertex needs of its tails waits
on a stack, not in recursion.
"""

from __future__ import annotations

from math import inf
from typing import NamedTuple

import numpy as np

from structopt.kernels.hypergraph.inside import fill_best, tails_score
from structopt.kernels.hypergraph.pairing_heap import meld, without_root
from structopt.kernels.hypergraph.record import hypergraph_of, open_hypergraphs, open_scratch
from structopt.kernels.waist.signatures import K_BEST, inlined, kernel

NEXT, EDGE, LEFT, RIGHT = range(4)
"""Of a candidate: the next in the list of its vertex; its edge; which candidates of its tails'
lists are below it (-1: none, or not yet known).
"""
BEST, WORST, DUE, HEAP, OPENED, ENDED = range(6)
"""Of a vertex: the first and the last candidate of its list; the one whose followers are due; the
root of its heap (each -1: none); whether all its edges were put there; whether its list is known to
have no more.
"""


class Search(NamedTuple):
    """The state of a search.

    Attributes
    ----------
    used : (1,) candidates that are used; more than there is room for: the search has failed
    values : (candidates,) scores of derivations
    candidates : (candidates, 4)
    children : (candidates, 2) of pairing heaps
    vertices : (V, 6)
    stack : (2 V + 2, 2) vertices that are asked for a derivation, and after which of their list it
    comes; -1: the first
    """

    used: np.ndarray
    values: np.ndarray
    candidates: np.ndarray
    children: np.ndarray
    vertices: np.ndarray
    stack: np.ndarray


@inlined
def open_search(vertices, size):
    """Begin a search, with room for `size` candidates."""
    state = np.full((vertices, 6), -1, np.int64)
    state[:, OPENED:] = 0
    return Search(
        np.zeros(1, np.int64),
        np.empty(size),
        np.empty((size, 4), np.int64),
        np.empty((size, 2), np.int64),
        state,
        np.empty((2 * vertices + 2, 2), np.int64),
    )


@inlined
def has_failed(x):
    """Whether there was not enough room for candidates."""
    return x.used[0] > len(x.values)


@inlined
def add_candidate(x, v, value, edge, left, right):
    """Put a candidate into the heap of a vertex."""
    q = x.used[0]
    x.used[0] = q + 1
    if has_failed(x):
        return
    x.values[q] = value
    of = x.candidates[q]
    of[NEXT], of[EDGE], of[LEFT], of[RIGHT] = -1, edge, left, right
    x.children[q, 0], x.children[q, 1] = -1, -1
    x.vertices[v, HEAP] = meld(x.values, x.children, x.vertices[v, HEAP], q)


@inlined
def add_edges(x, g, s, inside, v):
    """Put every edge of a vertex into its heap, with the best derivations of its tails, which are
    not known yet.
    """
    x.vertices[v, OPENED] = 1
    for e in range(g.edges[v] - g.edges[0], g.edges[v + 1] - g.edges[0]):
        value = s[e] + s[len(g.left) + v] + tails_score(g, e, inside)
        if value > -inf:
            add_candidate(x, v, value, e, -1, -1)


@inlined
def is_missing(x, v, after):
    """Whether it is not known yet which derivation of a vertex follows `after` (-1: which is the
    first).
    """
    listed = x.candidates[after, NEXT] if after >= 0 else x.vertices[v, BEST]
    return listed < 0 and x.vertices[v, ENDED] == 0


@inlined
def ask(x, size, v, after):
    """Ask a vertex for the derivation that follows `after`, unless it is known; return how many
    wait on the stack.
    """
    if v < 0 or not is_missing(x, v, after):
        return size
    x.stack[size, 0], x.stack[size, 1] = v, after
    return size + 1


@inlined
def add_follower(x, g, s, v, edge, left, right):
    """Put into the heap of a vertex the candidate of an edge with these derivations of its
    tails.
    """
    value = s[edge] + s[len(g.left) + v]
    if left >= 0:
        value += x.values[left]
    if right >= 0:
        value += x.values[right]
    add_candidate(x, v, value, edge, left, right)


@inlined
def add_followers(x, g, s, v):
    """Put the followers that are due into the heap of a vertex; the derivations that they need are
    known.
    """
    q = x.vertices[v, DUE]
    x.vertices[v, DUE] = -1
    edge, left, right = x.candidates[q, EDGE], x.candidates[q, LEFT], x.candidates[q, RIGHT]
    if right >= 0 and x.candidates[right, NEXT] >= 0:
        add_follower(x, g, s, v, edge, left, x.candidates[right, NEXT])
    is_first = right < 0 or right == x.vertices[g.right[edge], BEST]
    if left >= 0 and is_first and x.candidates[left, NEXT] >= 0:
        add_follower(x, g, s, v, edge, x.candidates[left, NEXT], right)


@inlined
def ask_for_followers(x, g, v, size):
    """Ask the tails of the due candidate of a vertex for what its followers need; return how many
    wait on the stack.
    """
    q = x.vertices[v, DUE]
    edge = x.candidates[q, EDGE]
    size = ask(x, size, np.int64(g.right[edge]), x.candidates[q, RIGHT])
    if g.right[edge] < 0 or x.candidates[q, RIGHT] == x.vertices[g.right[edge], BEST]:
        size = ask(x, size, np.int64(g.left[edge]), x.candidates[q, LEFT])
    return size


@inlined
def take_best(x, g, v, size):
    """Append the best candidate of a vertex to its list, and ask for the derivations below; return
    how many wait on the stack.
    """
    of = x.vertices[v]
    q = of[HEAP]
    of[HEAP] = without_root(x.values, x.children, q)
    if of[BEST] < 0:
        of[BEST] = q
    else:
        x.candidates[of[WORST], NEXT] = q
    of[WORST], of[DUE] = q, q
    edge = x.candidates[q, EDGE]
    if x.candidates[q, LEFT] < 0:
        size = ask(x, size, np.int64(g.left[edge]), -1)
    if x.candidates[q, RIGHT] < 0:
        size = ask(x, size, np.int64(g.right[edge]), -1)
    return size


@inlined
def know_tails(x, g, q):
    """Note the best derivations of the tails of a candidate, now that they are known."""
    edge = x.candidates[q, EDGE]
    if x.candidates[q, LEFT] < 0 and g.left[edge] >= 0:
        x.candidates[q, LEFT] = x.vertices[g.left[edge], BEST]
    if x.candidates[q, RIGHT] < 0 and g.right[edge] >= 0:
        x.candidates[q, RIGHT] = x.vertices[g.right[edge], BEST]


@inlined
def next_derivation(x, g, s, inside, root, after):
    """Make the derivation of the root that follows `after`; return its candidate, or -1 where there
    is none.
    """
    size = ask(x, 0, root, after)
    while size > 0 and not has_failed(x):
        v, before = x.stack[size - 1, 0], x.stack[size - 1, 1]
        of = x.vertices[v]
        if not is_missing(x, v, before):
            size -= 1
        elif of[OPENED] == 0:
            add_edges(x, g, s, inside, v)
        elif of[DUE] >= 0:
            know_tails(x, g, of[DUE])
            waiting = ask_for_followers(x, g, v, size)
            if waiting == size:
                add_followers(x, g, s, v)
            size = waiting
        elif of[HEAP] < 0:
            of[ENDED] = 1
        else:
            size = take_best(x, g, v, size)
    return x.candidates[after, NEXT] if after >= 0 else x.vertices[root, BEST]


@inlined
def list_best(x, g, s, inside, k):
    """Make the k best derivations of the root, or as many as there are; return their number.

    Parameters
    ----------
    x : Search
    g : Hypergraph
    s : scores of its edges and vertices
    inside : scores of the best derivations of its vertices, as `fill_best` makes them
    k : int
    """
    root, last, listed = len(g.edges) - 2, -1, 0
    while listed < k and not has_failed(x):
        last = next_derivation(x, g, s, inside, root, last)
        if last < 0:
            break
        know_tails(x, g, last)
        listed += 1
    return listed


@inlined
def write_derivation(x, g, candidate, first, parts, counts):
    """Write the parts of a derivation, ascending, from index `first` on; return the index after the
    last.
    """
    edges, vertices = len(g.left), len(g.edges) - 1
    chosen = np.full(vertices, -1, np.int64)
    chosen[vertices - 1] = candidate
    for v in range(vertices - 1, -1, -1):
        q = chosen[v]
        if q >= 0:
            know_tails(x, g, q)
            edge = x.candidates[q, EDGE]
            if g.left[edge] >= 0:
                chosen[g.left[edge]] = x.candidates[q, LEFT]
            if g.right[edge] >= 0:
                chosen[g.right[edge]] = x.candidates[q, RIGHT]
    for v in range(vertices):
        if chosen[v] >= 0:
            parts[first], counts[first] = x.candidates[chosen[v], EDGE], 1.0
            first += 1
    for v in range(vertices):
        if chosen[v] >= 0:
            parts[first], counts[first] = edges + v, 1.0
            first += 1
    return first


@inlined
def listed(g, s, k, values, offsets, parts, counts, work):
    """List the k best derivations of one hypergraph, see `k_best`."""
    offsets[0] = 0
    if len(s) == 0:
        return 0
    inside = open_scratch(work).inside
    if fill_best(g, s, inside) == -inf:
        return 0
    size = 2 * len(s) + 16 * k
    while True:  # again with more room if there was too little
        search = open_search(len(g.edges) - 1, size)
        found = list_best(search, g, s, inside, k)
        if not has_failed(search):
            break
        size *= 2
    candidate = search.vertices[len(g.edges) - 2, BEST]
    for q in range(found):
        value = search.values[candidate]
        values[q] = min(value, values[q - 1]) if q > 0 else value  # sums may be rounded up
        offsets[q + 1] = write_derivation(search, g, candidate, offsets[q], parts, counts)
        candidate = search.candidates[candidate, NEXT]
    return found


@kernel(K_BEST)
def k_best(structure, i, s, k, values, offsets, parts, counts, work):
    """List the k best derivations in decreasing score, as the signature says; return how many there
    are.
    """
    return listed(
        hypergraph_of(open_hypergraphs(structure), i), s, k, values, offsets, parts, counts, work
    )
