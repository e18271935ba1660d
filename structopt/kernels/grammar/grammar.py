"""Exact inference with weighted context-free grammars: CKY, and inside-outside."""

from __future__ import annotations

from math import exp, inf, log

import numpy as np

from structopt.kernels.arrays.semirings import LOG, MAX, SUM
from structopt.kernels.grammar.best_tree import trace
from structopt.kernels.grammar.charts import SCRATCH, open_charts, open_scratch
from structopt.kernels.grammar.inside import fill_inside
from structopt.kernels.grammar.outside import fill_outside, root_node
from structopt.kernels.waist.record import Record
from structopt.kernels.grammar.k_best import has_rank, open_search, ranked, write_tree
from structopt.kernels.waist.signatures import K_BEST, SOLVE, inlined, kernel
from structopt.kernels.waist.target import list_parts


def scratch(symbols: int, rules: int, steps: int, longest: int, nodes: int) -> Record:
    """Work record for sentences of up to `longest` words and `nodes` nodes."""
    spans = longest * (longest + 1) // 2
    return SCRATCH.pack(
        symbols=symbols, slots=np.full(2 * symbols, -1, np.int32), lefts=symbols + 1, seen=symbols, anchor_of=2 * spans,
        stack=4 * longest, chosen=2 * longest, rule=rules, step=steps, inside=nodes, outside=nodes, scale=spans, above=symbols,
        pairs=symbols * symbols, pairs_bar=symbols * symbols,
    )  # fmt: skip


@inlined
def place_anchors(c, i, x):
    """Note which anchors the spans of a sentence have."""
    spans = c.spans[i + 1] - c.spans[i]
    x.anchor_of[: 2 * spans] = -1
    for a in range(c.anchors[i], c.anchors[i + 1]):
        shift = 0 if c.anchor_split[a] > 0 else spans
        x.anchor_of[shift + c.anchor_span[a]] = a - c.anchors[i]


@inlined
def set_weights(semiring, scores, weights):
    """Set weights of rules or steps from scores; in the semiring SUM they are at most 1, and their divisor's logarithm is returned."""
    top = -inf
    for r in range(len(weights)):
        top = max(top, scores[r])
    if semiring != SUM or top == -inf:
        weights[:] = scores[: len(weights)]
        return 0.0
    for r in range(len(weights)):
        weights[r] = exp(scores[r] - top)
    return top


@inlined
def fill(semiring, c, i, n, s, x):
    """Fill the inside weights; return the logarithm of the weight of all trees."""
    rules, steps = set_weights(semiring, s, x.rule), set_weights(semiring, s[c.rules :], x.step)
    fill_inside(semiring, c, i, n, s, x)
    root = root_node(c, i, n)
    if root < 0:
        return -inf
    if semiring != SUM:
        return x.inside[root]
    if not 0.0 < x.inside[root] < inf:
        return -inf
    return log(x.inside[root]) + x.scale[n - 1] + (n - 1) * rules + (2 * n - 1) * steps


@kernel(SOLVE)
def solve(structure, i, s, temperature, z, memory, work):
    """max_z' s^T z' + temperature * H(z') over the trees of a grammar, and its maximiser z; the scores are overwritten.

    Returns -inf, with z = 0, where the chart has no tree. Where the range of the weights exceeds that of floating-point numbers,
    logarithms take over.
    """
    c, x = open_charts(structure), open_scratch(work)
    n = c.tokens[i + 1] - c.tokens[i]
    place_anchors(c, i, x)
    if temperature == 0.0:
        value = fill(MAX, c, i, n, s, x)
        if value > -inf:
            trace(c, i, n, s, x, z)
        else:
            z[:] = 0.0
        return value
    for r in range(len(s)):
        s[r] /= temperature
    value = fill(SUM, c, i, n, s, x)
    if value > -inf:
        fill_outside(SUM, c, i, n, s, x, z)
        return temperature * value
    value = fill(LOG, c, i, n, s, x)
    if value > -inf:
        fill_outside(LOG, c, i, n, s, x, z)
    else:
        z[:] = 0.0
    return temperature * value


CANDIDATES = 4096
"""Room for candidates of the first search; doubled where it is too little."""


@kernel(K_BEST)
def k_best(structure, i, s, k, values, offsets, parts, counts, work):
    """List the k best trees, best first, as the signature says; return how many there are."""
    c, x = open_charts(structure), open_scratch(work)
    n = c.tokens[i + 1] - c.tokens[i]
    place_anchors(c, i, x)
    offsets[0] = 0
    if fill(MAX, c, i, n, s, x) == -inf:
        return 0
    root, size, trees = root_node(c, i, n), CANDIDATES, 0
    while True:
        h = open_search(c, i, n, size)
        trees = 0
        while trees < k and has_rank(h, c, i, n, s, x, root, trees):
            trees += 1
        if h.used[1] == 0:
            break
        size *= 2
    z = np.empty(len(s))
    for q in range(trees):
        z[:] = 0.0
        write_tree(h, c, i, n, x, root, q, z)
        values[q] = h.values[ranked(h, root, q)]
        offsets[q + 1] = list_parts(z, offsets[q], parts, counts)
    return trees
