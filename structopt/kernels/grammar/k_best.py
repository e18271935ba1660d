"""The k best trees: the lazy algorithm of Huang and Chiang (2005, algorithm 3) on the chart of the
best one.

Every node keeps its best trees so far, and a heap of candidates: a way to make it (a step, or a
rule at a split) together with the ranks of the trees below. A candidate enters the heap when the
one that it follows is taken out: of (way, a, b), which has the trees of ranks a and b below, these
are (way, a, b + 1), and where b = 0 also (way, a + 1, 0). So only as many trees of a node are made
as are asked for.
"""

from __future__ import annotations

from math import inf
from typing import NamedTuple

import numpy as np

from structopt.kernels.grammar.charts import anchored_pair, open_charts, open_scratch, span_number
from structopt.kernels.grammar.grammar import solve
from structopt.kernels.grammar.inside import first_anchor, node_scores
from structopt.kernels.grammar.outside import root_node
from structopt.kernels.hypergraph.pairing_heap import meld, without_root
from structopt.kernels.waist.signatures import K_BEST, inlined, kernel, merged
from structopt.kernels.waist.target import list_parts

CANDIDATES = 4096
"""Room for candidates of the first search for k best trees; doubled where it is too little."""
RULE, SPLIT, LEFT, RIGHT, FIRST, SECOND, NEXT = range(7)
"""Of a candidate: number of its rule or step, or -1 for a word; where the right half begins, 0 for
a step; the nodes below (-1: none) and the ranks of their trees; the next candidate of the list that
it is in.
"""
TREES, BEST, WORST, PENDING, HEAP, FILLED, EXHAUSTED = range(7)
"""Of a node: how many trees it has; the first and the last of their candidates; the one whose
followers are not in the heap yet, -1: none; the root of its heap, -1: empty; whether all ways to
make it were put there; whether it has no further trees.
"""


class Search(NamedTuple):
    """The state of a search.

    Attributes
    ----------
    used : (2,) candidates that are used; whether there were too few
    values : (candidates,)
    candidates : (candidates, 7)
    children : (candidates, 2) first child and next sibling in a pairing heap
    nodes : (nodes, 7)
    ends : (nodes, 3) begin and end of each node's span, and its layer: 0 bottom, 1 top
    requests : (2 n + 2, 2) nodes and ranks that are asked for
    """

    used: np.ndarray
    values: np.ndarray
    candidates: np.ndarray
    children: np.ndarray
    nodes: np.ndarray
    ends: np.ndarray
    requests: np.ndarray


@inlined
def open_search(c, i, n, size):
    """Begin a search in the chart of sentence i, with room for `size` candidates."""
    last = c.spans[i + 1] - 1
    nodes = c.node[last] + c.bottoms[last] + c.tops[last]
    state, ends = np.full((nodes, 7), -1, np.int64), np.empty((nodes, 3), np.int64)
    state[:, TREES], state[:, FILLED], state[:, EXHAUSTED] = 0, 0, 0
    for b in range(n):
        for e in range(b + 1, n + 1):
            cell = c.spans[i] + span_number(n, b, e)
            for v in range(c.bottoms[cell] + c.tops[cell]):
                of = ends[c.node[cell] + v]
                of[0], of[1], of[2] = b, e, 1 if v >= c.bottoms[cell] else 0
    return Search(
        np.zeros(2, np.int64),
        np.empty(size),
        np.empty((size, 7), np.int64),
        np.empty((size, 2), np.int64),
        state,
        ends,
        np.empty((2 * n + 2, 2), np.int64),
    )


@inlined
def add_candidate(h, v, value, rule, split, left, right, first, second):
    """Put a candidate into the heap of a node."""
    if h.used[0] == len(h.values):
        h.used[1] = 1
        return
    q = h.used[0]
    h.used[0] += 1
    h.values[q] = value
    of = h.candidates[q]
    of[RULE], of[SPLIT], of[LEFT], of[RIGHT], of[FIRST], of[SECOND], of[NEXT] = (
        rule,
        split,
        left,
        right,
        first,
        second,
        -1,
    )
    h.children[q, 0], h.children[q, 1] = -1, -1
    h.nodes[v, HEAP] = meld(h.values, h.children, h.nodes[v, HEAP], q)


@inlined
def ranked(h, v, rank):
    """The candidate of a node's tree of this rank, from 0, which it has."""
    q = h.nodes[v, BEST]
    for _ in range(rank):
        q = h.candidates[q, NEXT]
    return q


@inlined
def value_of(h, v, rank):
    """The score of a node's tree of a rank that it has; 0 for no node."""
    return h.values[ranked(h, v, rank)] if v >= 0 else 0.0


@merged
def fill_ways(h, c, i, n, s, x, v):
    """Put all ways to make a node into its heap, each with the best trees below."""
    b, e = h.ends[v, 0], h.ends[v, 1]
    span = span_number(n, b, e)
    cell = c.spans[i] + span
    symbols, first = c.node_symbols[c.first[cell] :], c.node[cell]
    symbol, extra = symbols[v - first], node_scores(c, i, n, s)[v]
    h.nodes[v, FILLED] = 1
    if h.ends[v, 2] == 1:
        anchor = x.anchor_of[c.spans[i + 1] - c.spans[i] + span]
        gold = c.anchor_rule[c.anchors[i] + anchor] if anchor >= 0 else -1
        for u in range(c.bottoms[cell]):
            for step in range(c.bottom_steps[symbols[u]], c.bottom_steps[symbols[u] + 1]):
                if c.step_top[step] == symbol:
                    value = x.step[step] + x.inside[first + u] + extra
                    if step == gold:
                        value += s[first_anchor(c, i, n) + anchor]
                    if value > -inf:
                        add_candidate(h, v, value, step, 0, first + u, -1, 0, 0)
    elif e == b + 1:
        if x.inside[v] > -inf:
            add_candidate(h, v, x.inside[v], -1, 0, -1, -1, 0, 0)
    else:
        anchor = x.anchor_of[span]
        split, _ = anchored_pair(c, i, n, b, e, x)
        gold = c.anchor_rule[c.anchors[i] + anchor] if anchor >= 0 else -1
        for k in range(b + 1, e):
            cl, cr = c.spans[i] + span_number(n, b, k), c.spans[i] + span_number(n, k, e)
            for q in range(c.bottoms[cr], c.bottoms[cr] + c.tops[cr]):
                x.slots[c.node_symbols[c.first[cr] + q]] = c.node[cr] + q
            for p in range(c.bottoms[cl], c.bottoms[cl] + c.tops[cl]):
                B, left = c.node_symbols[c.first[cl] + p], c.node[cl] + p
                for g in range(c.left_pairs[B], c.left_pairs[B + 1]):
                    right = x.slots[c.right[g]]
                    if right < 0 or x.inside[left] == -inf or x.inside[right] == -inf:
                        continue
                    for r in range(c.pair_rules[g], c.pair_rules[g + 1]):
                        if c.parent[r] == symbol:
                            value = x.rule[r] + x.inside[left] + x.inside[right] + extra
                            if k == split and r == gold:
                                value += s[first_anchor(c, i, n) + anchor]
                            if value > -inf:
                                add_candidate(h, v, value, r, k, left, right, 0, 0)
            for q in range(c.bottoms[cr], c.bottoms[cr] + c.tops[cr]):
                x.slots[c.node_symbols[c.first[cr] + q]] = -1


@inlined
def is_settled(h, v, rank):
    """Whether it is known if a node has a tree of this rank; no node counts as one that has."""
    return v < 0 or h.nodes[v, TREES] > rank or h.nodes[v, EXHAUSTED] == 1


@inlined
def has_tree(h, v, rank):
    """Whether a node whose trees of this rank are settled has one."""
    return v < 0 or h.nodes[v, TREES] > rank


@inlined
def unsettled(h, first, first_rank, second, second_rank):
    """The first of two nodes for which it is not known whether they have trees of these ranks, and
    the rank; -1 for none.
    """
    if not is_settled(h, first, first_rank):
        return first, first_rank
    if not is_settled(h, second, second_rank):
        return second, second_rank
    return -1, -1


@inlined
def has_rank(h, c, i, n, s, x, root, rank):
    """Make trees of a node until it has one of this rank; return whether there is one. It does not
    recurse.

    Requests stand on a stack: each waits for those of nodes below it, of which it makes at most two
    at a time.
    """
    h.requests[0, 0], h.requests[0, 1], size = root, rank, 1
    while size > 0 and h.used[1] == 0:
        v, wanted = h.requests[size - 1, 0], h.requests[size - 1, 1]
        if is_settled(h, v, wanted):
            size -= 1
            continue
        if h.nodes[v, FILLED] == 0:
            fill_ways(h, c, i, n, s, x, v)
            continue
        q = h.nodes[v, PENDING]
        follows = q >= 0
        if not follows:
            q = h.nodes[v, HEAP]
            if q < 0:
                h.nodes[v, EXHAUSTED] = 1
                continue
        left, right = h.candidates[q, LEFT], h.candidates[q, RIGHT]
        a, b = h.candidates[q, FIRST], h.candidates[q, SECOND]
        if follows:
            below, of_rank = unsettled(h, left, a + 1 if b == 0 else a, right, b + 1)
        else:
            below, of_rank = unsettled(h, left, a, right, b)
        if below >= 0:
            h.requests[size, 0], h.requests[size, 1] = below, of_rank
            size += 1
        elif follows:
            h.nodes[v, PENDING] = -1
            add_followers(h, v, q)
        else:
            h.nodes[v, HEAP] = without_root(h.values, h.children, q)
            if h.nodes[v, TREES] == 0:
                h.nodes[v, BEST] = q
            else:
                h.candidates[h.nodes[v, WORST], NEXT] = q
            h.nodes[v, WORST], h.nodes[v, PENDING] = q, q
            h.nodes[v, TREES] += 1
    return h.used[1] == 0 and has_tree(h, root, rank)


@inlined
def add_followers(h, v, q):
    """Put the candidates that follow one that was taken out into the heap of its node; the trees
    below are settled.
    """
    rule, split, left, right = (
        h.candidates[q, RULE],
        h.candidates[q, SPLIT],
        h.candidates[q, LEFT],
        h.candidates[q, RIGHT],
    )
    a, b = h.candidates[q, FIRST], h.candidates[q, SECOND]
    base = h.values[q] - value_of(h, left, a) - value_of(h, right, b)
    if right >= 0 and has_tree(h, right, b + 1):
        value = base + value_of(h, left, a) + value_of(h, right, b + 1)
        add_candidate(h, v, value, rule, split, left, right, a, b + 1)
    if left >= 0 and b == 0 and has_tree(h, left, a + 1):
        value = base + value_of(h, left, a + 1) + value_of(h, right, b)
        add_candidate(h, v, value, rule, split, left, right, a + 1, b)


@inlined
def write_tree(h, c, i, n, x, root, rank, z):
    """Write the indicators of a tree of the root to z."""
    nodes = c.rules + c.steps + n * c.tags
    stack = np.empty((4 * n + 2, 2), np.int64)
    stack[0, 0], stack[0, 1], size = root, rank, 1
    while size > 0:
        size -= 1
        v, rank = stack[size, 0], stack[size, 1]
        q = ranked(h, v, rank)
        rule, split = h.candidates[q, RULE], h.candidates[q, SPLIT]
        b, e = h.ends[v, 0], h.ends[v, 1]
        span = span_number(n, b, e)
        z[nodes + v] = 1.0
        if rule < 0:
            cell = c.spans[i] + span
            for t in range(c.tags):
                if c.tag_symbol[t] == c.node_symbols[c.first[cell] + v - c.node[cell]]:
                    z[c.rules + c.steps + b * c.tags + t] = 1.0
            continue
        is_step = h.ends[v, 2] == 1
        z[c.rules + rule if is_step else rule] += 1.0
        anchor = x.anchor_of[(c.spans[i + 1] - c.spans[i] if is_step else 0) + span]
        if (
            anchor >= 0
            and c.anchor_rule[c.anchors[i] + anchor] == rule
            and c.anchor_split[c.anchors[i] + anchor] == split
        ):
            z[first_anchor(c, i, n) + anchor] = 1.0
        for below, of in ((LEFT, FIRST), (RIGHT, SECOND)):
            if h.candidates[q, below] >= 0:
                stack[size, 0], stack[size, 1] = h.candidates[q, below], h.candidates[q, of]
                size += 1


@kernel(K_BEST)
def k_best(structure, i, s, k, values, offsets, parts, counts, work):
    """List the k best trees, best first, as the signature says; return how many there are."""
    offsets[0] = 0
    z = np.empty(len(s))
    if solve(structure, i, s, 0.0, z, values[:0], work) == -inf:
        return 0
    c, x = open_charts(structure), open_scratch(work)
    n = c.tokens[i + 1] - c.tokens[i]
    root, size, trees = root_node(c, i, n), CANDIDATES, 0
    while True:
        h = open_search(c, i, n, size)
        trees = 0
        while trees < k and has_rank(h, c, i, n, s, x, root, trees):
            trees += 1
        if h.used[1] == 0:
            break
        size *= 2
    for q in range(trees):
        z[:] = 0.0
        write_tree(h, c, i, n, x, root, q, z)
        values[q] = h.values[ranked(h, root, q)]
        offsets[q + 1] = list_parts(z, offsets[q], parts, counts)
    return trees
