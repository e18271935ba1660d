"""Outside weights of a chart's nodes, and marginals of all parts; the inside pass undone span by
span, the widest first.

The outside weight of a node is multiplied by its span's scale and divided by the weight of all
trees, so that outside times inside is the node's marginal.
"""

from __future__ import annotations

from math import exp, inf

from structopt.kernels.arrays.semirings import SUM, plus, times
from structopt.kernels.grammar.charts import anchored_pair, span_number
from structopt.kernels.grammar.inside import (
    first_anchor,
    node_scores,
    pair_weight,
    top_node,
    weight,
)
from structopt.kernels.grammar.matrices import (
    add_usage,
    has_matrices,
    multiply_outside,
    open_outside,
    put_bottoms,
    take_tops,
)
from structopt.kernels.waist.signatures import driven, inlined, merged

FEW = 4
"""Rules are looked at by the symbols above them where so many times fewer than all are below the
bottoms of a span.
"""


@driven
def fill_outside(semiring, floor, c, i, n, parts, x, z):
    """Fill x.outside and the marginals z, given the inside weights, of which the root's is not
    zero.

    Nodes with marginals below the floor hand nothing on: most of the time is spent below them,
    where no others are. Marginals are then too small, by what trees with such nodes contribute.
    """
    zero = 0.0 if semiring == SUM else -inf
    last = c.spans[i + 1] - 1
    x.outside[: c.node[last] + c.bottoms[last] + c.tops[last]] = zero
    z[:] = 0.0
    root = root_node(c, i, n)
    x.outside[root] = 1.0 / x.inside[root] if semiring == SUM else -x.inside[root]
    full = has_matrices(semiring, c.full)
    if full:
        open_outside(c, n, x)
    for width in range(n, 0, -1):
        count = 0  # spans of this width whose bottoms have outside weights
        for b in range(n - width + 1):
            span = span_number(n, b, b + width)
            if full:
                take_tops(c, i, n, b, b + width, x)
            if not undo_node_scores(semiring, floor, c, i, n, span, 1, parts, x, z):
                continue
            undo_steps(semiring, c, i, n, span, parts, x, z)
            if not undo_node_scores(semiring, floor, c, i, n, span, 0, parts, x, z):
                continue
            if width == 1:
                write_tags(c, i, n, b, z)
                continue
            if full:
                put_bottoms(c, c.spans[i] + span, count, x)
                x.begins[count] = b
                count += 1
            else:
                fill_pairs_bar(semiring, c, c.spans[i] + span, x)
            undo_anchored_rule(semiring, c, i, n, b, b + width, parts, x, z)
            if not full:
                undo_pairs(semiring, c, i, n, b, b + width, x)
                undo_rules(semiring, c, c.spans[i] + span, x, z)
        if full and width > 1:
            multiply_outside(c, i, n, width, count, x, z)
    if full:
        add_usage(c, x, z)


@inlined
def root_node(c, i, n):
    """The node of the root symbol over the whole sentence; -1 where there is none."""
    return top_node(c, c.spans[i] + span_number(n, 0, n), c.root)


@inlined
def probability(semiring, outside, inside):
    """Marginal, of outside and inside weight."""
    return outside * inside if semiring == SUM else exp(outside + inside)


@merged
def undo_node_scores(semiring, floor, c, i, n, span, layer, parts, x, z):
    """Write the marginals of the bottoms (layer 0) or tops (1) of a span; then their outside
    weights include their own scores.

    Returns whether there is anything to hand on.
    """
    zero = 0.0 if semiring == SUM else -inf
    cell, scores = c.spans[i] + span, node_scores(c, i, n, parts)
    first, values, insides, some = c.rules + c.steps + n * c.tags, x.outside, x.inside, False
    begin = c.node[cell] + (c.bottoms[cell] if layer == 1 else 0)
    for v in range(begin, begin + (c.tops[cell] if layer == 1 else c.bottoms[cell])):
        if values[v] != zero:
            z[first + v] = probability(semiring, values[v], insides[v])
            if z[first + v] < floor:
                values[v] = zero
            else:
                some = True
        if scores[v] != 0.0:
            values[v] = times(semiring, values[v], weight(semiring, scores[v]))
    return some


@merged
def undo_steps(semiring, c, i, n, span, parts, x, z):
    """Outside weights of the bottoms of a span, and marginals of the steps to its tops."""
    zero, cell = 0.0 if semiring == SUM else -inf, c.spans[i] + span
    symbols, first, bottoms, tops = (
        c.node_symbols[c.first[cell] :],
        c.node[cell],
        c.bottoms[cell],
        c.tops[cell],
    )
    slots, values, insides, weights, begins, above_step = (
        x.slots[c.symbols :],
        x.outside,
        x.inside,
        x.step,
        c.bottom_steps,
        c.step_top,
    )
    for v in range(bottoms, bottoms + tops):
        slots[symbols[v]] = first + v
    anchor = x.anchor_of[c.spans[i + 1] - c.spans[i] + span]
    gold = c.anchor_rule[c.anchors[i] + anchor] if anchor >= 0 else -1
    extra = weight(semiring, parts[first_anchor(c, i, n) + anchor]) if anchor >= 0 else 0.0
    for v in range(bottoms):
        inside = insides[first + v]
        if inside == zero:
            continue
        for u in range(begins[symbols[v]], begins[symbols[v] + 1]):
            above = slots[above_step[u]]
            if above < 0 or values[above] == zero:
                continue
            w = times(semiring, weights[u], extra) if u == gold else weights[u]
            message = times(semiring, values[above], w)
            values[first + v] = plus(semiring, values[first + v], message)
            marginal = probability(semiring, message, inside)
            z[c.rules + u] += marginal
            if u == gold:
                z[first_anchor(c, i, n) + anchor] += marginal
    for v in range(bottoms, bottoms + tops):
        slots[symbols[v]] = -1


@merged
def write_tags(c, i, n, b, z):
    """Copy the marginals of a word's bottoms to its tags."""
    cell = c.spans[i] + span_number(n, b, b + 1)
    tags, nodes = c.rules + c.steps + b * c.tags, c.rules + c.steps + n * c.tags + c.node[cell]
    for v in range(c.bottoms[cell]):
        for t in range(c.tags):
            if c.tag_symbol[t] == c.node_symbols[c.first[cell] + v]:
                z[tags + t] = z[nodes + v]


@merged
def fill_pairs_bar(semiring, c, cell, x):
    """Fill x.pairs_bar with the outside weight of every pair of symbols that has rules.

    x.seen marks the left symbols of pairs that have, whose rows of x.pairs and of x.pairs_bar are
    set.
    """
    zero, N = 0.0 if semiring == SUM else -inf, x.symbols
    symbols, first = c.node_symbols[c.first[cell] :], c.node[cell]
    for A in range(N):
        x.above[A] = zero
    rules = 0
    for v in range(c.bottoms[cell]):
        x.above[symbols[v]] = x.outside[first + v]
        if x.outside[first + v] != zero:
            rules += c.below[symbols[v] + 1] - c.below[symbols[v]]
    if FEW * rules < c.rules:
        for B in range(N):
            x.seen[B] = 0
        for v in range(c.bottoms[cell]):
            above = x.outside[first + v]
            if above != zero:
                for t in range(c.below[symbols[v]], c.below[symbols[v] + 1]):
                    r = c.sorted[t]
                    B = c.left[c.pair[r]]
                    if x.seen[B] == 0:
                        x.seen[B] = 1
                        for C in range(N):
                            x.pairs[B * N + C], x.pairs_bar[B * N + C] = zero, zero
                    at = B * N + c.right[c.pair[r]]
                    x.pairs_bar[at] = plus(
                        semiring, x.pairs_bar[at], times(semiring, above, x.rule[r])
                    )
        return
    for B in range(N):
        x.seen[B] = 0
        for g in range(c.left_pairs[B], c.left_pairs[B + 1]):
            total = zero
            for r in range(c.pair_rules[g], c.pair_rules[g + 1]):
                above = x.above[c.parent[r]]
                if above != zero:
                    total = plus(semiring, total, times(semiring, above, x.rule[r]))
            if total != zero and x.seen[B] == 0:
                x.seen[B] = 1
                for C in range(N):
                    x.pairs[B * N + C], x.pairs_bar[B * N + C] = zero, zero
            if x.seen[B] == 1:
                x.pairs_bar[B * N + c.right[g]] = total


@merged
def undo_pairs(semiring, c, i, n, b, e, x):
    """Outside weights of the tops in the halves of b..e, and M again, in x.pairs; without the
    anchored pair at its split.
    """
    zero, N, first = 0.0 if semiring == SUM else -inf, x.symbols, c.spans[i]
    split, gold = anchored_pair(c, i, n, b, e, x)
    scale = x.scale[span_number(n, b, e)]
    for k in range(b + 1, e):
        at, after = span_number(n, b, k), span_number(n, k, e)
        cl, cr = first + at, first + after
        if c.tops[cl] == 0 or c.tops[cr] == 0:
            continue
        factor = exp(x.scale[at] + x.scale[after] - scale) if semiring == SUM else 0.0
        lv, rv = c.node[cl] + c.bottoms[cl], c.node[cr] + c.bottoms[cr]
        ls, rs = (
            c.node_symbols[c.first[cl] + c.bottoms[cl] :],
            c.node_symbols[c.first[cr] + c.bottoms[cr] :],
        )
        for p in range(c.tops[cl]):
            B = ls[p]
            if x.seen[B] == 0 or x.inside[lv + p] == zero:
                continue
            row, left, down = B * N, times(semiring, factor, x.inside[lv + p]), zero
            held = k == split and c.left[gold] == B
            for q in range(c.tops[cr]):
                C = rs[q]
                if held and c.right[gold] == C:
                    continue
                right, bar = x.inside[rv + q], x.pairs_bar[row + C]
                x.pairs[row + C] = plus(semiring, x.pairs[row + C], times(semiring, left, right))
                down = plus(semiring, down, times(semiring, bar, right))
                x.outside[rv + q] = plus(semiring, x.outside[rv + q], times(semiring, bar, left))
            x.outside[lv + p] = plus(semiring, x.outside[lv + p], times(semiring, factor, down))


@merged
def undo_rules(semiring, c, cell, x, z):
    """Marginals of the rules at a span, given M."""
    zero, N = 0.0 if semiring == SUM else -inf, x.symbols
    rules, symbols = 0, c.node_symbols[c.first[cell] :]
    for v in range(c.bottoms[cell]):
        rules += c.below[symbols[v] + 1] - c.below[symbols[v]]
    if FEW * rules < c.rules:
        for v in range(c.bottoms[cell]):
            above = x.above[symbols[v]]
            if above != zero:
                for t in range(c.below[symbols[v]], c.below[symbols[v] + 1]):
                    r = c.sorted[t]
                    pair = x.pairs[c.left[c.pair[r]] * N + c.right[c.pair[r]]]
                    if pair != zero:
                        z[r] += probability(semiring, times(semiring, above, x.rule[r]), pair)
        for B in range(N):
            x.seen[B] = 0
        return
    for B in range(N):
        if x.seen[B] == 0:
            continue
        x.seen[B] = 0
        for g in range(c.left_pairs[B], c.left_pairs[B + 1]):
            pair = x.pairs[B * N + c.right[g]]
            if pair == zero:
                continue
            for r in range(c.pair_rules[g], c.pair_rules[g + 1]):
                above = x.above[c.parent[r]]
                if above != zero:
                    z[r] += probability(semiring, times(semiring, above, x.rule[r]), pair)


@merged
def undo_anchored_rule(semiring, c, i, n, b, e, parts, x, z):
    """Outside weights and marginals of the anchored rule of a span, and of the other rules of its
    pair at its split.
    """
    zero = 0.0 if semiring == SUM else -inf
    span = span_number(n, b, e)
    k, g = anchored_pair(c, i, n, b, e, x)
    if k < 0:
        return
    pair = pair_weight(semiring, c, i, n, b, k, e, g, x.scale[span], x)
    if pair == zero:
        return
    anchor = x.anchor_of[span]
    rule = c.anchor_rule[c.anchors[i] + anchor]
    part = first_anchor(c, i, n) + anchor
    extra, total = weight(semiring, parts[part]), zero
    for r in range(c.pair_rules[g], c.pair_rules[g + 1]):
        above = x.above[c.parent[r]]
        if above == zero:
            continue
        message = times(
            semiring, above, times(semiring, x.rule[r], extra) if r == rule else x.rule[r]
        )
        marginal = probability(semiring, message, pair)
        z[r] += marginal
        if r == rule:
            z[part] += marginal
        total = plus(semiring, total, message)
    at, after = span_number(n, b, k), span_number(n, k, e)
    u, v = top_node(c, c.spans[i] + at, c.left[g]), top_node(c, c.spans[i] + after, c.right[g])
    factor = exp(x.scale[at] + x.scale[after] - x.scale[span]) if semiring == SUM else 0.0
    total = times(semiring, total, factor)
    x.outside[u] = plus(semiring, x.outside[u], times(semiring, total, x.inside[v]))
    x.outside[v] = plus(semiring, x.outside[v], times(semiring, total, x.inside[u]))
