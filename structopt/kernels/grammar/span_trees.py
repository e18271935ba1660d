"""Inside-outside and CKY on span trees: charts whose rules all have the same two tops below them,
X X.

The weights of spans b..e then need no pairs of symbols:

    inside(b, e) = w(b, e) M(b, e),    M(b, e) = sum_k inside(b, k) inside(k, e),    M of words = 1,
    log w(b, e) = s_top + log sum_A exp( s_A + score of A -> X X, or of a word's tag + steps A .. X)

with the root for X at the whole sentence, and s the scores of nodes. The marginal of a split k of
b..e is that of the span times inside(b, k) inside(k, e) / M(b, e). All terms are positive, and each
number has an exponent of its own (`structopt.kernels.arrays.scaled_numbers`), so that no score is
too large or too small. Tables have a row per width (`structopt.kernels.grammar.splits`).

The best trees have the scores of nodes of general charts, bit for bit: x.inside is filled in the
semiring MAX, for the trace and for lists of trees. The row of a width has the scores of X.
"""

from __future__ import annotations

from math import exp, inf, log

from structopt.kernels.arrays.exponential import exp_nonpositive
from structopt.kernels.arrays.rows import highest, set_scaled, set_zero, total
from structopt.kernels.arrays.scaled_numbers import exp_scaled, normalized
from structopt.kernels.arrays.semirings import LOG, MAX, plus
from structopt.kernels.grammar.charts import span_number
from structopt.kernels.grammar.inside import (
    add_node_scores,
    add_tags,
    clear,
    index_of,
    node_scores,
    take_steps,
)
from structopt.kernels.grammar.outside import write_tags
from structopt.kernels.grammar.splits import add_masses, set_highest, set_sums
from structopt.kernels.waist.lanes import LANES
from structopt.kernels.waist.signatures import driven, inlined
from structopt.kernels.waist.views import part

LN2 = log(2.0)


@inlined
def has_span_trees(c, i):
    """Whether the trees of sentence i are span trees, without anchors."""
    return (
        c.full == 1
        and len(c.left) == len(c.inner) == 1
        and c.left[0] == c.right[0] != c.root
        and c.anchors[i] == c.anchors[i + 1]
    )


def sizes(longest: int, symbols: int) -> dict[str, int]:
    """Lengths of the scratch's tables, for sentences of up to `longest` words."""
    spans = (longest + 1) * stride(longest)
    tables = dict.fromkeys(("numbers", "exponents", "sums", "sum_exponents", "masses"), spans)
    return tables | {
        "ratios": stride(longest),
        "own": symbols,
        "ways": symbols,
        "step_sums": 2 * symbols,
        "uses": 2 * symbols,
    }


@inlined
def stride(n):
    """Entries of a row; LANES - 1 of them are read beyond the last span."""
    return n + LANES - 1


@inlined
def whole_runs(spans):
    """Round up to whole runs; numbers beyond the last span are 0."""
    return (spans + LANES - 1) // LANES * LANES


@driven
def solve_span_trees(c, i, n, s, x, z):
    """Return log sum_trees exp(score), and write the marginals z; without a tree, -inf and zeros.

    `max_rule` reads the scores of words' bottoms in x.inside.
    """
    z[:] = 0.0
    weigh_spans(c, i, n, s, x, z)
    fill_inside_rows(n, x)
    whole = n * stride(n)
    if x.numbers[whole] == 0.0:
        z[:] = 0.0
        return -inf
    fill_masses(n, x)
    write_marginals(c, i, n, s, x, z)
    return log(x.numbers[whole]) + LN2 * x.exponents[whole]


@driven
def weigh_spans(c, i, n, s, x, z):
    """Write log w to the table of numbers, and the shares of bottoms in it to z."""
    S, tags = stride(n), c.rules + c.steps
    scores, shares = node_scores(c, i, n, s), node_scores(c, i, n, z)
    part(x.numbers, 0, (n + 1) * S)[:] = -inf
    sum_steps(c, s, c.left[0], 0, x.step_sums)
    sum_steps(c, s, c.root, x.symbols, x.step_sums)
    x.own[:] = -inf
    for r in range(c.rules):
        x.own[c.parent[r]] = s[r]
    for b in range(n):
        cell = c.spans[i] + span_number(n, b, b + 1)
        for t in range(c.tags):
            x.own[c.tag_symbol[t]] = s[tags + b * c.tags + t]
        for v in range(c.bottoms[cell]):
            node = c.node[cell] + v
            x.inside[node] = x.own[c.node_symbols[c.first[cell] + v]] + scores[node]
        list_ways(c, cell, n == 1, x)
        x.numbers[S + b] = weigh(c, cell, top_place(c, cell, n == 1), x.ways, scores, shares)
    if n > 2:  # spans of several words have the same symbols, except for the whole sentence
        cell = c.spans[i] + span_number(n, 0, 2)
        list_ways(c, cell, False, x)
        top = top_place(c, cell, False)
        for b in range(n - 1):
            for e in range(b + 2, n + 1):
                cell = c.spans[i] + span_number(n, b, e)
                x.numbers[(e - b) * S + b] = weigh(c, cell, top, x.ways, scores, shares)
    if n > 1:
        cell = c.spans[i] + span_number(n, 0, n)
        list_ways(c, cell, True, x)
        x.numbers[n * S] = weigh(c, cell, top_place(c, cell, True), x.ways, scores, shares)


@driven
def sum_steps(c, s, top, shift, sums):
    """Write the logarithm of the weight of all steps from each bottom to a top, from an index
    on.
    """
    for A in range(c.symbols):
        sums[shift + A] = -inf
        for u in range(c.bottom_steps[A], c.bottom_steps[A + 1]):
            if c.step_top[u] == top:
                sums[shift + A] = plus(LOG, sums[shift + A], s[c.rules + u])


@driven
def list_ways(c, cell, whole, x):
    """Write the logarithm of the weight of each bottom of a span to its top, without nodes."""
    first = c.first[cell]
    for v in range(c.bottoms[cell]):
        A = c.node_symbols[first + v]
        x.ways[v] = x.own[A] + x.step_sums[A + x.symbols * whole]


@driven
def top_place(c, cell, whole):
    """Place, among the nodes of a span, of the top that the spans above need; -1 for none."""
    symbol, first = c.root if whole else c.left[0], c.first[cell] + c.bottoms[cell]
    at = index_of(c.node_symbols, first, first + c.tops[cell], symbol)
    return c.bottoms[cell] + at if at >= 0 else -1


@driven
def weigh(c, cell, top, ways, s, z):
    """Return log w of a span, and write the shares of its bottoms to z, which is 0 before."""
    first, bottoms = c.node[cell], c.bottoms[cell]
    if top < 0:
        return -inf
    if bottoms == 1:
        z[first] = 1.0
        return ways[0] + s[first] + s[first + top]
    shares = part(z, first, first + bottoms)
    for v in range(bottoms):
        shares[v] = ways[v] + s[first + v]
    best = highest(shares)
    if best == -inf:
        set_zero(shares)
        return -inf
    for v in range(bottoms):
        shares[v] = exp_nonpositive(shares[v] - best)
    divisor = total(shares)
    set_scaled(shares, 1.0 / divisor, shares)
    return best + log(divisor) + s[first + top]


@driven
def fill_inside_rows(n, x):
    """Replace log w by inside weights."""
    S, numbers, exponents = stride(n), x.numbers, x.exponents
    sums, tops = x.sums, x.sum_exponents
    for t in range(S, (n + 1) * S):
        numbers[t], exponents[t] = exp_scaled(numbers[t])
    for width in range(2, n + 1):
        row = width * S
        end = row + whole_runs(n - width + 1)
        set_sums(part(sums, row, end), part(tops, row, end), numbers, exponents, width, S)
        for t in range(row, end):
            numbers[t], exponents[t] = normalized(numbers[t] * sums[t], exponents[t] + tops[t])


@driven
def fill_masses(n, x):
    """Write the marginals of spans, from the whole sentence down."""
    S, masses, sums, ratios = stride(n), x.masses, x.sums, x.ratios
    part(masses, 0, (n + 1) * S)[:] = 0.0
    masses[n * S] = 1.0
    for width in range(n, 1, -1):
        row, count = width * S, whole_runs(n - width + 1)
        for b in range(count):
            ratios[b] = masses[row + b] / sums[row + b] if sums[row + b] > 0.0 else 0.0
        tops = part(x.sum_exponents, row, row + count)
        add_masses(part(ratios, 0, count), tops, x.numbers, x.exponents, masses, width, S)


@driven
def write_marginals(c, i, n, s, x, z):
    """Write the marginals of all parts, given the masses of spans and the shares of bottoms."""
    S, marginals, long = stride(n), node_scores(c, i, n, z), -1
    x.uses[:] = 0.0
    if n > 2:
        long = top_place(c, c.spans[i] + span_number(n, 0, 2), False)
    for b in range(n):
        for e in range(b + 1, n + 1):
            cell, whole = c.spans[i] + span_number(n, b, e), e - b == n
            top = top_place(c, cell, whole) if whole or e - b == 1 else long
            mark(c, cell, top, x.masses[(e - b) * S + b], x.symbols * whole, marginals, x.uses)
        write_tags(c, i, n, b, z)
    for r in range(c.rules):
        z[r] = x.uses[c.parent[r]] + x.uses[x.symbols + c.parent[r]]
    for A in range(c.symbols):
        for u in range(c.bottom_steps[A], c.bottom_steps[A + 1]):
            if c.step_top[u] == c.left[0] or c.step_top[u] == c.root:
                at = A + x.symbols * (c.step_top[u] == c.root)
                if x.uses[at] > 0.0:
                    z[c.rules + u] = x.uses[at] * exp(s[c.rules + u] - x.step_sums[at])


@driven
def mark(c, cell, top, mass, shift, z, uses):
    """Write the marginals of a span's nodes, and count the uses of its bottoms' symbols."""
    node, symbols = c.node[cell], c.first[cell]
    for v in range(c.bottoms[cell]):
        z[node + v] *= mass
        uses[shift + c.node_symbols[symbols + v]] += z[node + v]
    if top >= 0:
        z[node + top] = mass


@driven
def fill_best_rows(c, i, n, s, x):
    """Fill x.inside with the best scores of nodes, given x.step."""
    S, scores, highest, own = stride(n), x.numbers, x.sums, x.own
    part(scores, 0, (n + 1) * S)[:] = own[:] = -inf
    for r in range(c.rules):
        own[c.parent[r]] = s[r]
    for width in range(1, n + 1):
        row, count = width * S, n - width + 1
        if width > 1:
            set_highest(part(highest, row, row + whole_runs(count)), scores, width, S)
        for b in range(count):
            span = span_number(n, b, b + width)
            cell = c.spans[i] + span
            if width == 1:
                clear(MAX, c, cell, x)
                add_tags(MAX, c, i, n, b, s, x)
            else:
                first, symbols = c.node[cell], c.first[cell]
                for v in range(c.bottoms[cell]):
                    x.inside[first + v] = own[c.node_symbols[symbols + v]] + highest[row + b]
                for v in range(c.bottoms[cell], c.bottoms[cell] + c.tops[cell]):
                    x.inside[first + v] = -inf
            add_node_scores(MAX, c, i, n, span, 0, s, x)
            take_steps(MAX, c, i, n, span, s, x)
            add_node_scores(MAX, c, i, n, span, 1, s, x)
            top = top_place(c, cell, False)
            if top >= 0:
                scores[row + b] = x.inside[c.node[cell] + top]
