"""Exact inference with weighted context-free grammars: CKY, inside-outside, max-rule decoding."""

from __future__ import annotations

from math import exp, inf, log

import numpy as np

from structopt.kernels.arrays.semirings import LOG, MAX, SUM
from structopt.kernels.grammar import matrices, span_trees
from structopt.kernels.grammar.best_tree import trace
from structopt.kernels.grammar.charts import SCRATCH, open_charts, open_scratch, span_number
from structopt.kernels.grammar.inside import fill_inside
from structopt.kernels.grammar.outside import fill_outside, root_node
from structopt.kernels.grammar.span_trees import fill_best_rows, has_span_trees, solve_span_trees
from structopt.kernels.waist.record import Record
from structopt.kernels.waist.signatures import ROUND, SOLVE, inlined, kernel

LOST, MOST = 1e-8, 0.5
"""How far the marginals of a word's bottoms may be from 1; beyond that, weights were lost to the
range of numbers. MOST: how far they may be below 1 where nodes with small marginals hand nothing
on.
"""


def scratch(charts: Record, longest: int, nodes: int, parts: int) -> Record:
    """Work record for sentences of up to `longest` words, `nodes` nodes and `parts` parts."""
    c = open_charts(charts)
    symbols, spans = int(c.symbols), longest * (longest + 1) // 2
    found = [int(number) for number in c.ranges] if c.full else [0] * 6
    pairs = len(c.left) if c.full else 0
    return SCRATCH.pack(
        symbols=symbols,
        slots=np.full(2 * symbols, -1, np.int32),
        lefts=symbols + 1,
        seen=symbols,
        anchor_of=2 * spans,
        stack=4 * longest,
        chosen=2 * longest,
        scores=parts,
        rule=int(c.rules),
        step=int(c.steps),
        inside=nodes,
        outside=nodes,
        scale=spans,
        above=symbols,
        begins=longest,
        pairs=symbols**2,
        pairs_bar=symbols**2,
        filled=1,
        **matrices.sizes(found, int(c.rules), pairs, symbols, longest),
        **span_trees.sizes(longest if pairs == 1 else 0, symbols),
    )


@inlined
def place_anchors(c, i, x):
    """Note which anchors the spans of a sentence have."""
    spans = c.spans[i + 1] - c.spans[i]
    x.anchor_of[: 2 * spans] = -1
    for a in range(c.anchors[i], c.anchors[i + 1]):
        shift = 0 if c.anchor_split[a] > 0 else spans
        x.anchor_of[shift + c.anchor_span[a]] = a - c.anchors[i]


@inlined
def set_weights(semiring, scores, first, weights):
    """Set weights of rules or steps from scores; in the semiring SUM at most 1; return the
    logarithm of their divisor.
    """
    top = -inf
    for r in range(len(weights)):
        top = max(top, scores[first + r])
    divided = semiring == SUM and top > -inf
    for r in range(len(weights)):
        weights[r] = exp(scores[first + r] - top) if divided else scores[first + r]
    return top if divided else 0.0


@inlined
def value_of_root(semiring, c, i, n, x, rules, steps):
    """The logarithm of the weight of all trees, given inside weights; -inf where there is no tree,
    or the weight was lost.
    """
    root = root_node(c, i, n)
    if root < 0:
        return -inf
    if semiring != SUM:
        return x.inside[root]
    if not 0.0 < x.inside[root] < inf:
        return -inf
    return log(x.inside[root]) + x.scale[n - 1] + (n - 1) * rules + (2 * n - 1) * steps


@inlined
def lost(c, i, n, most, z):
    """Whether marginals are not what they must be: those of each word's bottoms sum to 1, or to
    less, by up to `most`.
    """
    nodes = c.rules + c.steps + n * c.tags
    for b in range(n):
        cell, total = c.spans[i] + span_number(n, b, b + 1), 0.0
        for v in range(c.node[cell], c.node[cell] + c.bottoms[cell]):
            total += z[nodes + v]
        if not (-most < total - 1.0 < LOST):
            return True
    return False


@kernel(SOLVE)
def solve(structure, i, s, temperature, z, memory, work):
    """max_z' s^T z' + temperature * H(z') over the trees of a grammar, and its maximiser z.

    Returns -inf, with z = 0, where the chart has no tree. Weights are products of exponentials,
    scaled span by span. Where the weights of a span range over more than floating-point numbers do,
    the marginals of a word no longer sum to 1, or none are left; then logarithms take over. Span
    trees need none (`structopt.kernels.grammar.span_trees`).
    """
    c, x = open_charts(structure), open_scratch(work)
    n = c.tokens[i + 1] - c.tokens[i]
    place_anchors(c, i, x)
    semiring = MAX if temperature == 0.0 else SUM
    if temperature > 0.0:
        for r in range(len(s)):
            x.scores[r] = s[r] / temperature
        s = x.scores[: len(s)]
    if semiring == SUM and has_span_trees(c, i):
        set_weights(LOG, s, 0, x.rule)
        set_weights(LOG, s, c.rules, x.step)
        x.filled[0] = LOG
        return temperature * solve_span_trees(c, i, n, s, x, z)
    floor = c.floor
    while True:
        rules, steps = (
            set_weights(semiring, s, 0, x.rule),
            set_weights(semiring, s, c.rules, x.step),
        )
        if semiring == MAX and has_span_trees(c, i):
            fill_best_rows(c, i, n, s, x)
        else:
            fill_inside(semiring, c, i, n, s, x)
        value = value_of_root(semiring, c, i, n, x, rules, steps)
        x.filled[0] = semiring
        if semiring == MAX:
            break
        while value > -inf:
            fill_outside(semiring, floor, c, i, n, s, x, z)
            if floor == 0.0 or not lost(c, i, n, MOST, z):
                break
            floor = 0.0
        if semiring == LOG or (
            value > -inf and not lost(c, i, n, MOST if floor > 0.0 else LOST, z)
        ):
            break
        semiring = LOG
    if value == -inf:
        z[:] = 0.0
        return -inf
    if semiring == MAX:
        trace(c, i, n, s, x, z)
        return value
    return temperature * value


@kernel(ROUND)
def max_rule(structure, i, z, work):
    """Replace marginals by the tree that maximises the sum of log mu over its anchored rules and
    steps, the identity included.

        mu(A -> B C, i, k, j) = O_bottom(A, i, j) w(A -> B C) I_top(B, i, k) I_top(C, k, j) / Z,
        mu of steps likewise

    The logarithm of an outside weight and that of an inside weight add up to that of a node's
    marginal, so that this is the best tree with the rules' own scores and, at its nodes, log
    mu(node): at those of rules both stand. Words have no rules; their bottoms have the inside
    weight alone. It reads what `solve` has left; after a maximisation z is a tree, and remains.
    """
    c, x = open_charts(structure), open_scratch(work)
    semiring, n = x.filled[0], c.tokens[i + 1] - c.tokens[i]
    if semiring == MAX:
        return
    s, nodes = np.zeros(len(z)), c.rules + c.steps + n * c.tags
    for r in range(c.rules):
        s[r] = log(x.rule[r]) if semiring == SUM else x.rule[r]
    for u in range(c.steps):
        s[c.rules + u] = log(x.step[u]) if semiring == SUM else x.step[u]
    for v in range(nodes, len(z) - (c.anchors[i + 1] - c.anchors[i])):
        s[v] = log(z[v]) if z[v] > 0.0 else -inf
    for b in range(n):
        cell = c.spans[i] + span_number(n, b, b + 1)
        for v in range(c.node[cell], c.node[cell] + c.bottoms[cell]):
            if s[nodes + v] > -inf:
                s[nodes + v] = log(x.inside[v]) if semiring == SUM else x.inside[v]
    solve(structure, i, s, 0.0, z, s[:0], work)
