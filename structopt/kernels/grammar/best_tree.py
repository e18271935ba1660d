"""The best tree: CKY (Cocke, Kasami, Younger), and its trace."""

from __future__ import annotations

from math import inf

import numpy as np

from structopt.kernels.grammar.charts import anchored_pair, span_number
from structopt.kernels.grammar.inside import first_anchor, top_node
from structopt.kernels.waist.signatures import driven, merged


@driven
def trace(c, i, n, parts, x, z):
    """Write the indicators of the best tree to z, given inside weights in the semiring MAX; there
    is one.

    There are no back pointers: for each of the O(n) nodes of the best tree all ways to make it are
    compared once more.
    """
    z[:] = 0.0
    nodes = c.rules + c.steps + n * c.tags
    x.stack[0], x.stack[1], size = 0, n, 1
    top = top_node(c, c.spans[i] + span_number(n, 0, n), c.root)
    x.chosen[0] = top
    while size > 0:
        size -= 1
        b, e, top = x.stack[2 * size], x.stack[2 * size + 1], x.chosen[size]
        span = span_number(n, b, e)
        z[nodes + top] = 1.0
        bottom = best_step(c, i, n, span, top, parts, x, z)
        z[nodes + bottom] = 1.0
        symbol = c.node_symbols[c.first[c.spans[i] + span] + bottom - c.node[c.spans[i] + span]]
        if e == b + 1:
            for t in range(c.tags):
                if c.tag_symbol[t] == symbol:
                    z[c.rules + c.steps + b * c.tags + t] = 1.0
        else:
            k, left, right = best_rule(c, i, n, b, e, symbol, parts, x, z)
            x.stack[2 * size], x.stack[2 * size + 1], x.chosen[size] = b, k, left
            size += 1
            x.stack[2 * size], x.stack[2 * size + 1], x.chosen[size] = k, e, right
            size += 1


@merged
def best_step(c, i, n, span, top, parts, x, z):
    """Mark the best unary step to a top node, and return its bottom node."""
    cell = c.spans[i] + span
    symbols, first = c.node_symbols[c.first[cell] :], c.node[cell]
    anchor = x.anchor_of[c.spans[i + 1] - c.spans[i] + span]
    gold = c.anchor_rule[c.anchors[i] + anchor] if anchor >= 0 else -1
    best, step, bottom = -inf, -1, -1
    for v in range(c.bottoms[cell]):
        for u in range(c.bottom_steps[symbols[v]], c.bottom_steps[symbols[v] + 1]):
            if c.step_top[u] == symbols[top - first]:
                value = x.step[u] + x.inside[first + v]
                if u == gold:
                    value += parts[first_anchor(c, i, n) + anchor]
                if value > best:
                    best, step, bottom = value, u, first + v
    z[c.rules + step] += 1.0
    if step == gold:
        z[first_anchor(c, i, n) + anchor] = 1.0
    return bottom


@merged
def best_rule(c, i, n, b, e, symbol, parts, x, z):
    """Mark the best rule below a bottom symbol; return the split and the nodes below."""
    anchor = x.anchor_of[span_number(n, b, e)]
    split, pair = anchored_pair(c, i, n, b, e, x)
    gold = np.int64(c.anchor_rule[c.anchors[i] + anchor]) if anchor >= 0 else -1
    best, rule, at, left, right = -inf, -1, -1, -1, -1
    for k in range(b + 1, e):
        cl, cr = c.spans[i] + span_number(n, b, k), c.spans[i] + span_number(n, k, e)
        for q in range(c.tops[cr]):
            x.slots[c.node_symbols[c.first[cr] + c.bottoms[cr] + q]] = (
                c.node[cr] + c.bottoms[cr] + q
            )
        for p in range(c.tops[cl]):
            u = c.node[cl] + c.bottoms[cl] + p
            B = c.node_symbols[c.first[cl] + c.bottoms[cl] + p]
            if x.inside[u] == -inf:
                continue
            for g in range(c.left_pairs[B], c.left_pairs[B + 1]):
                v = x.slots[c.right[g]]
                if v < 0:
                    continue
                for r in range(c.pair_rules[g], c.pair_rules[g + 1]):
                    if c.parent[r] == symbol:
                        value = x.rule[r] + x.inside[u] + x.inside[v]
                        if k == split and r == gold:
                            value += parts[first_anchor(c, i, n) + anchor]
                        if value > best:
                            best, rule, at, left, right = value, r, k, u, v
        for q in range(c.tops[cr]):
            x.slots[c.node_symbols[c.first[cr] + c.bottoms[cr] + q]] = -1
    z[rule] += 1.0
    if rule == gold and at == split:
        z[first_anchor(c, i, n) + anchor] = 1.0
    return at, left, right
