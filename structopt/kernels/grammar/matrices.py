"""Products of matrices, by which the charts of a whole grammar are filled: those that no pruner has
thinned out.

For the spans of one width, with L and R the tops of left and right halves by symbol, one row a
split, and W the rules, one row a pair of symbols:

    M(b, e) = L(b, e)^T R(b, e),    bottoms(b, e) = M(b, e) W,
    M'(b, e) = bottoms'(b, e) W^T,    L'(b, e) = R(b, e) M'(b, e)^T,    R'(b, e) = L(b, e) M'(b, e),
    marginals of rules = W * sum over b, e of M(b, e) bottoms'(b, e)

where a prime marks outside weights. Weights are numbers (the semiring SUM); rows of L are
multiplied by what their span and the right half were divided by. L and R have the symbols that
spans of several words may have. Those that only words have, their tags, can be left at the first
split and right at the last one only: pairs with a tag that a word may have are looked at one by
one. So are rules, unless a good share of all that W has room for is there.
"""

from __future__ import annotations

from math import exp, inf

import numpy as np

from structopt.kernels.arrays.rows import set_row
from structopt.kernels.arrays.semirings import SUM
from structopt.kernels.grammar.charts import anchored_pair, span_number
from structopt.kernels.waist.record import Array
from structopt.kernels.waist.signatures import driven, inlined
from structopt.kernels.waist.views import part, table

SHARE = 0.1
"""W is a matrix where it is filled to this share."""
CHUNK = 64
"""Spans whose products are in memory at a time."""
SMALL = 16
"""Entries of a matrix that are computed one by one."""


def ranges(parent: Array, left: Array, right: Array, first_tag: int) -> list[int]:
    """First symbol and number of symbols: above, left and right in rules; of those left and right,
    without tags.
    """
    found = []
    for one in (parent, left[left < first_tag], right[right < first_tag]):
        found += [int(one.min()), int(np.ptp(one)) + 1] if len(one) else [0, 0]
    return found


def places(left: Array, right: Array, symbols: int, found: list[int]) -> dict[str, Array]:
    """Which pairs have no tags, and where they are in L^T R; and which have a tag on the right
    only, by that tag.
    """
    _, _, B0, Bs, C0, Cs = found
    B, C = left - B0, right - C0
    has_left, has_right = (B >= 0) & (Bs > B), (C >= 0) & (Cs > C)
    inner, ends = np.flatnonzero(has_left & has_right), np.flatnonzero(has_left & ~has_right)
    ends = ends[np.argsort(right[ends], kind="stable")]
    return {
        "inner": inner,
        "inner_places": (B * Cs + C)[inner],
        "ends": ends,
        "right_ends": np.searchsorted(right[ends], np.arange(symbols + 1)),
    }


def sizes(found: list[int], rules: int, pairs: int, symbols: int, longest: int) -> dict[str, int]:
    """Lengths of the scratch's matrices, for sentences of up to `longest` words."""
    _, above, _, left, _, right = found
    spans, table = (longest + 1) ** 2, pairs * above
    table = table if rules >= SHARE * table else 0
    return {
        "lefts_in": spans * left,
        "rights_in": spans * right,
        "lefts_out": spans * left,
        "rights_out": spans * right,
        "words_in": longest * symbols,
        "words_out": longest * symbols,
        "factors": CHUNK * longest,
        "halves": CHUNK * longest * left,
        "halves_bar": longest * max(left, right),
        "products": left * right,
        "pairs_in": CHUNK * pairs,
        "pairs_out": CHUNK * pairs,
        "bottoms": longest * above,
        "table": table,
        "usage": table,
        "counted": table,
    }


@driven
def has_matrices(semiring, full):
    """Whether a chart is filled by products of matrices."""
    return semiring == SUM and full == 1


@inlined
def matrix(values, row, rows, columns):
    """The rows from `row` on of a matrix that is laid out row by row."""
    return table(values, row * columns, rows, columns)


@inlined
def multiply(one, other, out):
    """out = one other; small matrices without a call of BLAS, which takes as long as they do."""
    rows, inner, columns = one.shape[0], one.shape[1], other.shape[1]
    if rows * columns > SMALL:
        np.dot(one, other, out)
        return
    for i in range(rows):
        for j in range(columns):
            total = 0.0
            for k in range(inner):
                total += one[i, k] * other[k, j]
            out[i, j] = total


@driven
def lists_all_pairs(c):
    """Whether the list of pairs is a matrix: every two symbols that longer spans may have, and no
    tags.
    """
    return len(c.inner) == len(c.left) == c.ranges[3] * c.ranges[5]


@inlined
def word_tops(c, i, n, b):
    """The top symbols that a word may have."""
    cell = c.spans[i] + span_number(n, b, b + 1)
    first = c.first[cell] + c.bottoms[cell]
    return c.node_symbols[first : first + c.tops[cell]]


@driven
def open_outside(c, n, x):
    """Empty the matrices of outside weights of a sentence of n words."""
    spans = (n + 1) * (n + 1)
    x.lefts_out[: spans * c.ranges[3]] = 0.0
    x.rights_out[: spans * c.ranges[5]] = 0.0
    x.words_out[: n * x.symbols] = 0.0
    x.usage[:] = 0.0


@driven
def open_inside(c, n, x):
    """Empty the matrices of inside weights of a sentence of n words, and fill W."""
    spans = (n + 1) * (n + 1)
    x.lefts_in[: spans * c.ranges[3]] = 0.0
    x.rights_in[: spans * c.ranges[5]] = 0.0
    x.words_in[: n * x.symbols] = 0.0
    x.table[:] = 0.0
    if len(x.table) > 0:
        for r in range(c.rules):
            x.table[c.pair[r] * c.ranges[1] + c.parent[r] - c.ranges[0]] = x.rule[r]


@driven
def take_bottoms(c, cell, row, x):
    """Copy a row of x.bottoms to the bottoms of a span."""
    A0, As = c.ranges[0], c.ranges[1]
    symbols, values, bottoms = (
        c.node_symbols[c.first[cell] :],
        x.inside[c.node[cell] :],
        x.bottoms[row * As :],
    )
    for v in range(c.bottoms[cell]):
        if 0 <= symbols[v] - A0 < As:
            values[v] = bottoms[symbols[v] - A0]


@driven
def put_bottoms(c, cell, row, x):
    """Copy the outside weights of the bottoms of a span to a row of x.bottoms, and to x.above by
    symbol.
    """
    symbols, values, above, A0, As = (
        c.node_symbols[c.first[cell] :],
        x.outside[c.node[cell] :],
        x.above,
        c.ranges[0],
        c.ranges[1],
    )
    above[:] = 0.0
    for v in range(c.bottoms[cell]):
        above[symbols[v]] = values[v]
    set_row(part(x.bottoms, row * As, (row + 1) * As), part(above, A0, A0 + As))


@driven
def put_tops(c, i, n, b, e, x):
    """Copy the inside weights of the tops of a span to where wider spans find them."""
    cell = c.spans[i] + span_number(n, b, e)
    symbols, values = c.node_symbols[c.first[cell] :], x.inside[c.node[cell] :]
    B0, Bs, C0, Cs = c.ranges[2], c.ranges[3], c.ranges[4], c.ranges[5]
    lefts, rights = x.lefts_in[(b * (n + 1) + e) * Bs :], x.rights_in[(e * (n + 1) + b) * Cs :]
    words = x.words_in[b * x.symbols :] if e == b + 1 else x.words_in[:0]
    for v in range(c.bottoms[cell], c.bottoms[cell] + c.tops[cell]):
        A = symbols[v]
        if 0 <= A - B0 < Bs:
            lefts[A - B0] = values[v]
        if 0 <= A - C0 < Cs:
            rights[A - C0] = values[v]
        if len(words) > 0:
            words[A] = values[v]


@driven
def take_tops(c, i, n, b, e, x):
    """Add what wider spans found to the outside weights of the tops of a span."""
    cell = c.spans[i] + span_number(n, b, e)
    symbols, values = c.node_symbols[c.first[cell] :], x.outside[c.node[cell] :]
    B0, Bs, C0, Cs = c.ranges[2], c.ranges[3], c.ranges[4], c.ranges[5]
    lefts, rights = x.lefts_out[(b * (n + 1) + e) * Bs :], x.rights_out[(e * (n + 1) + b) * Cs :]
    words = x.words_out[b * x.symbols :] if e == b + 1 else x.words_out[:0]
    for v in range(c.bottoms[cell], c.bottoms[cell] + c.tops[cell]):
        A = symbols[v]
        if 0 <= A - B0 < Bs:
            values[v] += lefts[A - B0]
        if 0 <= A - C0 < Cs:
            values[v] += rights[A - C0]
        if len(words) > 0:
            values[v] += words[A]


@driven
def fill_halves(n, b, e, reference, columns, scale, lefts_in, row, factors, halves):
    """Write the factors of a span's splits to `factors`, and L, multiplied by them, to `halves`,
    from row `row` on.
    """
    own = matrix(lefts_in, b * (n + 1) + b + 1, e - b - 1, columns)
    for k in range(e - b - 1):
        m = b + 1 + k
        factor = exp(scale[span_number(n, b, m)] + scale[span_number(n, m, e)] - reference)
        factors[row + k] = factor
        for B in range(columns):
            halves[(row + k) * columns + B] = factor * own[k, B]


@driven
def multiply_halves(c, i, n, b, e, reference, row, out, x):
    """Write M of the span b..e, divided by exp(reference), to `out`; the pair of its anchored rule
    is left out at its split.

    L and the factors of the splits are written to x.halves and x.factors from row `row` on.
    """
    B0, Bs, C0, Cs, splits = c.ranges[2], c.ranges[3], c.ranges[4], c.ranges[5], e - b - 1
    fill_halves(n, b, e, reference, Bs, x.scale, x.lefts_in, row, x.factors, x.halves)
    halves, rights = (
        matrix(x.halves, row, splits, Bs),
        matrix(x.rights_in, e * (n + 1) + b + 1, splits, Cs),
    )
    factors = x.factors[row:]
    every = lists_all_pairs(c)
    multiply(halves.T, rights, matrix(out if every else x.products, 0, Bs, Cs))
    if not every:
        out[:] = 0.0
        inner, places, products = c.inner, c.inner_places, x.products
        for t in range(len(inner)):
            out[inner[t]] = products[places[t]]
    first, last = b * x.symbols, (e - 1) * x.symbols
    for B in word_tops(c, i, n, b):
        if not 0 <= B - B0 < Bs:
            for g in range(c.left_pairs[B], c.left_pairs[B + 1]):
                C = c.right[g] - C0
                if 0 <= C < Cs:
                    out[g] = factors[0] * x.words_in[first + B] * rights[0, C]
                elif splits == 1:
                    out[g] = factors[0] * x.words_in[first + B] * x.words_in[last + c.right[g]]
    for C in word_tops(c, i, n, e - 1):
        if not 0 <= C - C0 < Cs:
            for t in range(c.right_ends[C], c.right_ends[C + 1]):
                g = c.ends[t]
                out[g] = halves[splits - 1, c.left[g] - B0] * x.words_in[last + C]
    split, gold = anchored_pair(c, i, n, b, e, x)
    if split >= 0:
        B, C, out[gold] = c.left[gold] - B0, c.right[gold] - C0, 0.0
        if 0 <= B < Bs and 0 <= C < Cs:
            for k in range(splits):
                if b + 1 + k != split:
                    out[gold] += halves[k, B] * rights[k, C]


@driven
def apply_rules_one_by_one(c, pairs, bottoms, weights):
    """bottoms = M W."""
    begins, parents, first = c.pair_rules, c.parent, c.ranges[0]
    for g in range(len(pairs)):
        if pairs[g] != 0.0:
            for r in range(begins[g], begins[g + 1]):
                bottoms[parents[r] - first] += weights[r] * pairs[g]


@driven
def undo_rules_one_by_one(c, pairs, bar, above, weights, z):
    """M' = bottoms' W^T where M is not 0, and marginals of rules."""
    begins, parents, first = c.pair_rules, c.parent, c.ranges[0]
    for g in range(len(pairs)):
        total = 0.0
        if pairs[g] != 0.0:
            for r in range(begins[g], begins[g + 1]):
                message = weights[r] * above[parents[r] - first]
                total += message
                z[r] += message * pairs[g]
        bar[g] = total


@driven
def multiply_inside(c, i, n, width, x):
    """Fill x.bottoms, one row for each span of a width, and the spans' scales."""
    As, G, spans = c.ranges[1], len(c.left), n - width + 1
    for first in range(0, spans, CHUNK):
        count = min(CHUNK, spans - first)
        pairs, bottoms = matrix(x.pairs_in, 0, count, G), matrix(x.bottoms, first, count, As)
        for j in range(count):
            b, e, reference = first + j, first + j + width, -inf
            for k in range(b + 1, e):
                reference = max(
                    reference, x.scale[span_number(n, b, k)] + x.scale[span_number(n, k, e)]
                )
            x.scale[span_number(n, b, e)] = reference
            multiply_halves(c, i, n, b, e, reference, j * (width - 1), pairs[j], x)
        if len(x.table) > 0:
            multiply(pairs, matrix(x.table, 0, G, As), bottoms)
        else:
            bottoms[:] = 0.0
            for j in range(count):
                apply_rules_one_by_one(c, pairs[j], bottoms[j], x.rule)


@driven
def multiply_outside(c, i, n, width, spans, x, z):
    """Outside weights of the tops in the halves of spans of one width, and marginals of rules,
    given those of the bottoms.

    The spans begin at x.begins[:spans]. Where W is a matrix, x.usage takes the marginals, divided
    by the rules' weights.
    """
    As, G = c.ranges[1], len(c.left)
    for first in range(0, spans, CHUNK):
        count = min(CHUNK, spans - first)
        pairs, bars = matrix(x.pairs_in, 0, count, G), matrix(x.pairs_out, 0, count, G)
        above = matrix(x.bottoms, first, count, As)
        for j in range(count):
            b, e = np.int64(x.begins[first + j]), np.int64(x.begins[first + j]) + width
            multiply_halves(
                c, i, n, b, e, x.scale[span_number(n, b, e)], j * (width - 1), pairs[j], x
            )
        if len(x.table) > 0:
            multiply(above, matrix(x.table, 0, G, As).T, bars)
            multiply(pairs.T, above, matrix(x.counted, 0, G, As))
            for t in range(len(x.usage)):
                x.usage[t] += x.counted[t]
        else:
            for j in range(count):
                undo_rules_one_by_one(c, pairs[j], bars[j], above[j], x.rule, z)
        for j in range(count):
            b = np.int64(x.begins[first + j])
            undo_halves(c, i, n, b, b + width, j * (width - 1), bars[j], x)


@driven
def undo_halves(c, i, n, b, e, row, bars, x):
    """Add the outside weights of the tops in the halves of a span, given M' and what
    `multiply_halves` left at `row`.
    """
    B0, Bs, C0, Cs, splits = c.ranges[2], c.ranges[3], c.ranges[4], c.ranges[5], e - b - 1
    factors, halves = x.factors[row:], matrix(x.halves, row, splits, Bs)
    rights = matrix(x.rights_in, e * (n + 1) + b + 1, splits, Cs)
    lefts_out = matrix(x.lefts_out, b * (n + 1) + b + 1, splits, Bs)
    rights_out = matrix(x.rights_out, e * (n + 1) + b + 1, splits, Cs)
    split, gold = anchored_pair(c, i, n, b, e, x)
    first, last = b * x.symbols, (e - 1) * x.symbols
    every = lists_all_pairs(c)
    bar = matrix(bars if every else x.products, 0, Bs, Cs)
    if not every:
        bar[:] = 0.0
        for t in range(len(c.inner)):
            x.products[c.inner_places[t]] = bars[c.inner[t]]
    for B in word_tops(c, i, n, b):
        if not 0 <= B - B0 < Bs:
            for g in range(c.left_pairs[B], c.left_pairs[B + 1]):
                C = c.right[g] - C0
                if g == gold:
                    continue
                if 0 <= C < Cs:
                    rights_out[0, C] += factors[0] * bars[g] * x.words_in[first + B]
                    x.words_out[first + B] += factors[0] * bars[g] * rights[0, C]
                elif splits == 1:
                    x.words_out[first + B] += factors[0] * bars[g] * x.words_in[last + c.right[g]]
                    x.words_out[last + c.right[g]] += factors[0] * bars[g] * x.words_in[first + B]
    for C in word_tops(c, i, n, e - 1):
        if not 0 <= C - C0 < Cs:
            for t in range(c.right_ends[C], c.right_ends[C + 1]):
                g = c.ends[t]
                if g != gold:
                    lefts_out[splits - 1, c.left[g] - B0] += (
                        factors[splits - 1] * bars[g] * x.words_in[last + C]
                    )
                    x.words_out[last + C] += bars[g] * halves[splits - 1, c.left[g] - B0]
    k = split - b - 1
    B = c.left[gold] - B0 if split >= 0 else -1
    C = c.right[gold] - C0 if split >= 0 else -1
    held = 0 <= B < Bs and 0 <= C < Cs
    out = matrix(x.halves_bar, 0, splits, Bs)
    multiply(rights, bar.T, out)
    if held:
        out[k, B] = dot_without(rights[k], bar[B], C)
    for j in range(splits):
        for t in range(Bs):
            lefts_out[j, t] += factors[j] * out[j, t]
    out = matrix(x.halves_bar, 0, splits, Cs)
    multiply(halves, bar, out)
    if held:
        out[k, C] = dot_without(halves[k], bar[:, C], B)
    for j in range(splits):
        for t in range(Cs):
            rights_out[j, t] += out[j, t]


@driven
def dot_without(one, other, index):
    """Inner product of two vectors, without one index."""
    total = 0.0
    for t in range(len(one)):
        if t != index:
            total += one[t] * other[t]
    return total


@driven
def add_usage(c, x, z):
    """Add the marginals of the rules that x.usage holds to z."""
    if len(x.table) > 0:
        for r in range(c.rules):
            z[r] += x.usage[c.pair[r] * c.ranges[1] + c.parent[r] - c.ranges[0]] * x.rule[r]
