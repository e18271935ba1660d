"""Inside weights of a chart's nodes, in three semirings.

    bottom(A, i, j) = sum over A -> B C of  w(A -> B C) M(B, C),    M(B, C) = sum_k top(B, i, k)
    top(C, k, j) top(A, i, j)    = sum over steps A .. B of  w(A .. B) bottom(B, i, j)

Rules are not anchored, so that the sum over the split k comes before the sum over rules: O(n^3 P +
n^2 R) for P pairs of nodes of two adjacent spans and R rules. The one rule of the gold tree at a
span, which may have a weight of its own, is left out of M and added by itself.

In the semiring SUM the weights of the nodes of a span are divided by their largest, whose logarithm
is the span's scale.
"""

from __future__ import annotations

from math import exp, inf, log

from structopt.kernels.arrays.semirings import SUM, plus, times
from structopt.kernels.grammar.charts import anchored_pair, span_number
from structopt.kernels.grammar.matrices import (
    has_matrices,
    multiply_inside,
    open_inside,
    put_tops,
    take_bottoms,
)
from structopt.kernels.waist.signatures import driven, inlined, merged


@inlined
def weight(semiring, score):
    """The weight of a score."""
    return exp(score) if semiring == SUM else score


@driven
def fill_inside(semiring, c, i, n, parts, x):
    """Fill x.inside and x.scale, given x.rule, x.step and the parts' scores (divided by the
    temperature).
    """
    full = has_matrices(semiring, c.full)
    if full:
        open_inside(c, n, x)
    for width in range(1, n + 1):
        if full and width > 1:
            multiply_inside(c, i, n, width, x)
        for b in range(n - width + 1):
            span = span_number(n, b, b + width)
            clear(semiring, c, c.spans[i] + span, x)
            if c.bottoms[c.spans[i] + span] == 0:  # of a pruned chart's spans, most
                x.scale[span] = 0.0
                continue
            if width == 1:
                add_tags(semiring, c, i, n, b, parts, x)
            else:
                if full:
                    take_bottoms(c, c.spans[i] + span, b, x)
                else:
                    x.scale[span] = sum_pairs(semiring, c, i, n, b, b + width, parts, x)
                    open_slots(c, c.spans[i] + span, x)
                    apply_rules(semiring, c, x)
                    close_slots(c, c.spans[i] + span, x)
                add_anchored_rule(semiring, c, i, n, b, b + width, x.scale[span], parts, x)
            add_node_scores(semiring, c, i, n, span, 0, parts, x)
            take_steps(semiring, c, i, n, span, parts, x)
            add_node_scores(semiring, c, i, n, span, 1, parts, x)
            normalize(semiring, c, c.spans[i] + span, span, x)
            if full:
                put_tops(c, i, n, b, b + width, x)


@merged
def clear(semiring, c, span, x):
    """Set the nodes of a span to zero."""
    zero = 0.0 if semiring == SUM else -inf
    first, values = c.node[span], x.inside
    for v in range(first, first + c.bottoms[span] + c.tops[span]):
        values[v] = zero


@merged
def node_scores(c, i, n, parts):
    """The scores of a sentence's nodes, the first of which has number 0."""
    return parts[c.rules + c.steps + n * c.tags :]


@merged
def add_tags(semiring, c, i, n, b, parts, x):
    """Give the bottoms of a word their weights."""
    span = span_number(n, b, b + 1)
    cell = c.spans[i] + span
    symbols, first = c.node_symbols[c.first[cell] :], c.node[cell]
    scores = parts[c.rules + c.steps + b * c.tags :]
    top = -inf
    for v in range(c.bottoms[cell]):
        for t in range(c.tags):
            if c.tag_symbol[t] == symbols[v]:
                x.inside[first + v] = scores[t]
                top = max(top, scores[t])
    x.scale[span] = 0.0
    if semiring == SUM:
        x.scale[span] = top if top > -inf else 0.0
        for v in range(first, first + c.bottoms[cell]):
            x.inside[v] = exp(x.inside[v] - x.scale[span])


@merged
def open_slots(c, cell, x):
    """Note which node each bottom symbol of a span has."""
    symbols, first = c.node_symbols[c.first[cell] :], c.node[cell]
    for v in range(c.bottoms[cell]):
        x.slots[symbols[v]] = first + v


@merged
def close_slots(c, cell, x):
    """Undo `open_slots`."""
    symbols = c.node_symbols[c.first[cell] :]
    for v in range(c.bottoms[cell]):
        x.slots[symbols[v]] = -1


@merged
def sum_pairs(semiring, c, i, n, b, e, parts, x):
    """Fill x.pairs with M of the span b..e, and x.lefts with its left symbols; return by what M is
    divided, a logarithm.
    """
    zero = 0.0 if semiring == SUM else -inf
    N, first = x.symbols, c.spans[i]
    reference = 0.0
    if semiring == SUM:
        reference = -inf
        for k in range(b + 1, e):
            at, after = span_number(n, b, k), span_number(n, k, e)
            if c.tops[first + at] > 0 and c.tops[first + after] > 0:
                reference = max(reference, x.scale[at] + x.scale[after])
        if reference == -inf:
            reference = 0.0
    split, gold = anchored_pair(c, i, n, b, e, x)
    count = 0
    for k in range(b + 1, e):
        at, after = span_number(n, b, k), span_number(n, k, e)
        cl, cr = first + at, first + after
        if c.tops[cl] == 0 or c.tops[cr] == 0:
            continue
        factor = exp(x.scale[at] + x.scale[after] - reference) if semiring == SUM else 0.0
        if semiring == SUM and factor == 0.0:
            continue
        lv, rv = c.node[cl] + c.bottoms[cl], c.node[cr] + c.bottoms[cr]
        ls, rs = (
            c.node_symbols[c.first[cl] + c.bottoms[cl] :],
            c.node_symbols[c.first[cr] + c.bottoms[cr] :],
        )
        for p in range(c.tops[cl]):
            B = ls[p]
            if x.seen[B] == 0:
                x.seen[B] = 1
                x.lefts[count] = B
                count += 1
                for C in range(N):
                    x.pairs[B * N + C] = zero
        held = k == split
        before = x.pairs[c.left[gold] * N + c.right[gold]] if held else zero
        for p in range(c.tops[cl]):
            left, row = times(semiring, factor, x.inside[lv + p]), ls[p] * N
            if left != zero:
                for q in range(c.tops[cr]):
                    C = row + rs[q]
                    x.pairs[C] = plus(semiring, x.pairs[C], times(semiring, left, x.inside[rv + q]))
        if held:
            x.pairs[c.left[gold] * N + c.right[gold]] = before
    x.lefts[count:] = -1
    return reference


@merged
def apply_rules(semiring, c, x):
    """Add the rules of all pairs to the bottoms of the span."""
    zero, N = 0.0 if semiring == SUM else -inf, x.symbols
    for number in range(N):
        B = x.lefts[number]
        if B < 0:
            break
        x.seen[B] = 0
        for g in range(c.left_pairs[B], c.left_pairs[B + 1]):
            pair = x.pairs[B * N + c.right[g]]
            if pair == zero:
                continue
            for r in range(c.pair_rules[g], c.pair_rules[g + 1]):
                v = x.slots[c.parent[r]]
                if v >= 0:
                    x.inside[v] = plus(semiring, x.inside[v], times(semiring, x.rule[r], pair))


@inlined
def index_of(symbols, begin, end, symbol):
    """The index of a symbol among symbols[begin:end], counted from `begin`; -1 where it is not
    there.
    """
    for v in range(begin, end):
        if symbols[v] == symbol:
            return v - begin
    return -1


@merged
def bottom_node(c, cell, symbol):
    """The node of a bottom symbol at a span; -1 for none."""
    v = index_of(c.node_symbols, c.first[cell], c.first[cell] + c.bottoms[cell], symbol)
    return c.node[cell] + v if v >= 0 else -1


@merged
def top_node(c, cell, symbol):
    """The node of a top symbol at a span; -1 for none."""
    begin = c.first[cell] + c.bottoms[cell]
    v = index_of(c.node_symbols, begin, begin + c.tops[cell], symbol)
    return c.node[cell] + c.bottoms[cell] + v if v >= 0 else -1


@merged
def add_anchored_rule(semiring, c, i, n, b, e, scale, parts, x):
    """Add the rules of the pair, at the split, that the anchored rule of a span has: it is not in
    M.
    """
    zero = 0.0 if semiring == SUM else -inf
    k, g = anchored_pair(c, i, n, b, e, x)
    if k < 0:
        return
    pair = pair_weight(semiring, c, i, n, b, k, e, g, scale, x)
    if pair == zero:
        return
    anchor = x.anchor_of[span_number(n, b, e)]
    rule = c.anchor_rule[c.anchors[i] + anchor]
    extra = weight(semiring, parts[first_anchor(c, i, n) + anchor])
    for r in range(c.pair_rules[g], c.pair_rules[g + 1]):
        v = bottom_node(c, c.spans[i] + span_number(n, b, e), c.parent[r])
        if v >= 0:
            w = times(semiring, x.rule[r], extra) if r == rule else x.rule[r]
            x.inside[v] = plus(semiring, x.inside[v], times(semiring, w, pair))


@merged
def pair_weight(semiring, c, i, n, b, k, e, g, scale, x):
    """Weight of the tops of pair g at b..k and k..e, divided by exp(scale) in the semiring SUM."""
    zero = 0.0 if semiring == SUM else -inf
    at, after = span_number(n, b, k), span_number(n, k, e)
    u, v = top_node(c, c.spans[i] + at, c.left[g]), top_node(c, c.spans[i] + after, c.right[g])
    if u < 0 or v < 0:
        return zero
    pair = times(semiring, x.inside[u], x.inside[v])
    return exp(x.scale[at] + x.scale[after] - scale) * pair if semiring == SUM else pair


@merged
def first_anchor(c, i, n):
    """The part of the first anchor of a sentence."""
    last = c.spans[i + 1] - 1
    return c.rules + c.steps + n * c.tags + c.node[last] + c.bottoms[last] + c.tops[last]


@merged
def add_node_scores(semiring, c, i, n, span, layer, parts, x):
    """Multiply the bottoms (layer 0) or tops (1) of a span by the weights of their nodes."""
    cell, scores, values = c.spans[i] + span, node_scores(c, i, n, parts), x.inside
    begin = c.node[cell] + (c.bottoms[cell] if layer == 1 else 0)
    for v in range(begin, begin + (c.tops[cell] if layer == 1 else c.bottoms[cell])):
        if scores[v] != 0.0:
            values[v] = times(semiring, values[v], weight(semiring, scores[v]))


@merged
def take_steps(semiring, c, i, n, span, parts, x):
    """Add the unary steps from the bottoms of a span to its tops."""
    zero, cell = 0.0 if semiring == SUM else -inf, c.spans[i] + span
    symbols, first, bottoms, tops = (
        c.node_symbols[c.first[cell] :],
        c.node[cell],
        c.bottoms[cell],
        c.tops[cell],
    )
    slots, values, weights, begins, above_step = (
        x.slots[c.symbols :],
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
        inside = values[first + v]
        if inside != zero:
            for u in range(begins[symbols[v]], begins[symbols[v] + 1]):
                above = slots[above_step[u]]
                if above >= 0:
                    w = times(semiring, weights[u], extra) if u == gold else weights[u]
                    values[above] = plus(semiring, values[above], times(semiring, w, inside))
    for v in range(bottoms, bottoms + tops):
        slots[symbols[v]] = -1


@merged
def normalize(semiring, c, cell, span, x):
    """Divide the nodes of a span by the largest of them, in the semiring SUM."""
    if semiring != SUM:
        return
    first, top, values = c.node[cell], 0.0, x.inside
    count = c.bottoms[cell] + c.tops[cell]
    for v in range(first, first + count):
        top = max(top, values[v])
    if 0.0 < top < inf:
        for v in range(first, first + count):
            values[v] /= top
        x.scale[span] += log(top)
