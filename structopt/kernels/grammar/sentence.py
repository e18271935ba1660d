"""Fill the charts of one sentence before the inference, and read its tree; the records have
capacity for any short sentence.

For a corpus, Python computes the symbols of all spans and packs them with the rules. For one
sentence that takes many times longer than the inference.
"""

from __future__ import annotations

import numpy as np
from numba import types

from structopt.kernels.grammar.charts import open_charts
from structopt.kernels.waist.signatures import INTS, LONGS, RECORD, VECTOR, kernel

FLAGS = types.boolean[:, ::1]


@kernel(types.int64(RECORD, types.int64, FLAGS, FLAGS))
def list_every_symbol(charts, n, allowed, reachable):
    """Give the spans of n words all symbols that they may have; return the number of nodes.

    `allowed`, shape (words, tags), has the tags of the words, `reachable`, shape (tags, symbols),
    the symbols to which a step leads from each tag. The lists of spans of several words are in
    `node_symbols` already: the symbols below and above, then those below and the root.
    """
    c = open_charts(charts)
    phrases = c.symbols - c.tags - 1
    listed, cell, node = 3 * phrases + 1, 0, 0
    c.tokens[1], c.spans[1] = n, n * (n + 1) // 2
    for b in range(n):
        for e in range(b + 1, n + 1):
            whole = e - b == n
            first, bottoms, tops = 2 * phrases if whole else 0, phrases, 1 if whole else phrases
            if e - b == 1:
                first, bottoms = listed, 0
                for t in range(c.tags):
                    if allowed[b, t]:
                        c.node_symbols[listed] = c.tag_symbol[t]
                        bottoms += 1
                        listed += 1
                for symbol in range(c.symbols):
                    found = whole and symbol == c.root
                    if not whole:
                        for v in range(first, first + bottoms):
                            tag = c.node_symbols[v] - (c.symbols - c.tags)
                            found = found or reachable[tag, symbol]
                    if found:
                        c.node_symbols[listed] = symbol
                        listed += 1
                tops = listed - first - bottoms
            c.first[cell], c.bottoms[cell], c.tops[cell] = first, bottoms, tops
            c.node[cell] = node
            node += bottoms + tops
            cell += 1
    return node


@kernel(types.int64(RECORD, VECTOR, types.float64, VECTOR, RECORD))
def list_probable_symbols(charts, z, least, best, kept):
    """List the symbols of a chart whose marginals in z are at least `least`, or which the output
    `best` has, unless it is empty; return how many there are.

    The chart `kept` receives them.
    """
    c, d, listed = open_charts(charts), open_charts(kept), 0
    n = c.tokens[1]
    nodes = c.rules + c.steps + n * c.tags
    d.tokens[1], d.spans[1] = n, c.spans[1]
    for cell in range(c.spans[1]):
        begin, bottoms = listed, 0
        for k in range(c.bottoms[cell] + c.tops[cell]):
            part = nodes + c.node[cell] + k
            if z[part] >= least or (len(best) > 0 and best[part] != 0.0):
                d.node_symbols[listed] = c.node_symbols[c.first[cell] + k]
                listed += 1
                bottoms += k < c.bottoms[cell]
        d.first[cell], d.node[cell] = begin, begin
        d.bottoms[cell], d.tops[cell] = bottoms, listed - begin - bottoms
    return listed


@kernel(types.int64(RECORD, LONGS, LONGS, RECORD))
def list_finer_symbols(charts, starts, finer, fine):
    """List the finer symbols of each symbol of a chart; return how many there are, or -1 if the
    chart `fine`, which receives them, has no space for them.

    Symbol A has the finer symbols finer[starts[A] : starts[A + 1]].
    """
    c, d, listed = open_charts(charts), open_charts(fine), 0
    d.tokens[1], d.spans[1] = c.tokens[1], c.spans[1]
    for cell in range(c.spans[1]):
        begin, bottoms = listed, 0
        for k in range(c.bottoms[cell] + c.tops[cell]):
            if k == c.bottoms[cell]:
                bottoms = listed - begin
            lowest = begin + bottoms if k >= c.bottoms[cell] else begin
            A = c.node_symbols[c.first[cell] + k]
            for t in range(starts[A], starts[A + 1]):
                if listed == len(d.node_symbols):
                    return -1
                at = listed
                while at > lowest and d.node_symbols[at - 1] > finer[t]:
                    d.node_symbols[at] = d.node_symbols[at - 1]
                    at -= 1
                d.node_symbols[at] = finer[t]
                listed += 1
        if c.tops[cell] == 0:
            bottoms = listed - begin
        d.first[cell], d.node[cell] = begin, begin
        d.bottoms[cell], d.tops[cell] = bottoms, listed - begin - bottoms
    return listed


@kernel(types.void(RECORD, VECTOR, LONGS, LONGS, LONGS, LONGS, INTS, VECTOR))
def fill_scores(charts, theta, rule, step, label, offsets, ids, s):
    """Fill s with the scores of rules, of steps and of the words' tags; nodes have the score 0.

    `rule`, `step` and `label`, shape (attributes, tags), are the indices of the weights in theta,
    -1 for none. Word b has the attributes ids[offsets[b] : offsets[b + 1]].
    """
    c = open_charts(charts)
    s[:] = 0.0
    for r in range(c.rules):
        if rule[r] >= 0:
            s[r] += theta[rule[r]]
    for u in range(c.steps):
        if step[u] >= 0:
            s[c.rules + u] += theta[step[u]]
    for b in range(c.tokens[1]):
        first = c.rules + c.steps + b * c.tags
        for j in range(offsets[b], offsets[b + 1]):
            for t in range(c.tags):
                index = label[ids[j] * c.tags + t]
                if index >= 0:
                    s[first + t] += theta[index]


@kernel(types.int64(RECORD, VECTOR, LONGS, INTS, INTS, INTS))
def read_tree(charts, z, starts, categories, constituents, tags):
    """Write the constituents of an output, three numbers each, and the tags of its words; return
    how many constituents there are.

    See `structopt.core.data.constituents.Bracketings`. The chain of step u has the categories
    categories[starts[u] : starts[u + 1]]. If several steps have the same bottom and top, the
    numbers of their uses in z, which change, say which of them the spans have, from left to right.
    """
    c, count = open_charts(charts), 0
    n = c.tokens[1]
    nodes = c.rules + c.steps + n * c.tags
    for b in range(n):
        for e in range(n, b, -1):
            cell = b * n - b * (b - 1) // 2 + e - b - 1
            bottom = top = -1
            for k in range(c.bottoms[cell] + c.tops[cell]):
                if z[nodes + c.node[cell] + k] != 0.0:
                    symbol = np.int64(c.node_symbols[c.first[cell] + k])
                    if k < c.bottoms[cell]:
                        bottom = symbol
                    else:
                        top = symbol
            if bottom < 0:
                continue
            if e == b + 1:
                tags[b] = bottom - (c.symbols - c.tags)
            first = used = -1
            for u in range(c.bottom_steps[bottom], c.bottom_steps[bottom + 1]):
                if c.step_top[u] == top:
                    if first < 0:
                        first = u
                    if used < 0 and z[c.rules + u] > 0.0:
                        used = u
            step = first if used < 0 else used
            z[c.rules + step] -= 1.0
            for t in range(starts[step], starts[step + 1]):
                constituents[3 * count] = categories[t]
                constituents[3 * count + 1], constituents[3 * count + 2] = b, e
                count += 1
    return count
