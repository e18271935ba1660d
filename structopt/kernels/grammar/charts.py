"""Charts of a grammar: the record of its rules and of the symbols that every span may have, and the
scratch of a sentence.

A span i..j of a sentence has a bottom symbol, one unary step, and a top symbol. Below the bottom of
a span of one word stands the word; below that of a longer one, a binary rule and the tops of two
spans. *Nodes* are the bottom and top symbols that a span may have; where a chart is pruned, few.
The nodes of a span stand side by side: bottoms, then tops, each in ascending order.

The parts of a sentence of n words: R binary rules, U unary steps, n * T tags, its nodes, and its
anchors. Rules and steps are tied: z counts how often a tree uses them. An *anchor* is one use of a
rule or a step at one place of the gold tree.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structopt.kernels.waist.fields import Float, Floats, Int, Ints, Longs
from structopt.kernels.waist.layout import RecordLayout
from structopt.kernels.waist.signatures import inlined, merged


class Charts(NamedTuple):
    """The record of the charts of m sentences, opened. N symbols, G pairs of symbols that have
    rules.

    Attributes
    ----------
    symbols, rules, steps, tags, root : N, R, U, T, and the number of the symbol that the whole
    sentence has left_pairs : (N + 1,) where the pairs with each left symbol begin left, right :
    (G,) the symbols of each pair pair_rules : (G + 1,) where the rules of each pair begin parent,
    pair : (R,) the symbol above each rule, and the number of the pair below it below : (N + 1,)
    where the rules below each symbol begin in `sorted` sorted : (R,) the rules by the symbols above
    them full : 1 where no pruner thinned the charts out: the spans of several words share their
    symbols; otherwise 0 floor : nodes with smaller marginals hand nothing on to the nodes below
    them; 0: marginals are exact ranges : (6,) first symbol and number of symbols: above, left and
    right in rules; of those left and right, without tags inner, inner_places : the pairs without
    tags, and their places in a matrix of the symbols left and right ends : the pairs with a tag on
    the right only, by that tag right_ends : (N + 1,) where those with each tag begin in `ends`
    bottom_steps : (N + 1,) where the unary steps from each bottom symbol begin step_top : (U,) the
    symbol above each step tag_symbol : (T,) the bottom symbol of each tag tokens : (m + 1,) where
    the words of each sentence begin spans : (m + 1,) where the spans of each sentence begin: n (n +
    1) / 2, those with the same left end side by side first : where the node symbols of each span
    begin in `node_symbols`, which spans may share bottoms, tops : how many of them are bottoms, and
    tops node : number, within the sentence, of the first node of each span node_symbols : symbols
    anchors : (m + 1,) where the anchors of each sentence begin anchor_span : number of the span,
    within the sentence, of each anchor anchor_split : where the right half begins; 0 for the
    anchors of unary steps anchor_rule : the number of the rule, or of the step
    """

    symbols: Int
    rules: Int
    steps: Int
    tags: Int
    root: Int
    full: Int
    floor: Float
    ranges: Longs
    inner: Ints
    inner_places: Ints
    ends: Ints
    right_ends: Ints
    left_pairs: Ints
    left: Ints
    right: Ints
    pair_rules: Ints
    parent: Ints
    pair: Ints
    below: Ints
    sorted: Ints
    bottom_steps: Ints
    step_top: Ints
    tag_symbol: Ints
    tokens: Longs
    spans: Longs
    first: Longs
    bottoms: Ints
    tops: Ints
    node: Ints
    node_symbols: Ints
    anchors: Longs
    anchor_span: Ints
    anchor_split: Ints
    anchor_rule: Ints


CHARTS = RecordLayout(Charts)
open_charts = CHARTS.compiled


class Scratch(NamedTuple):
    """The work record, opened, for sentences of up to V nodes and S spans; N symbols, R rules, U
    steps.

    Attributes
    ----------
    symbols : N
    slots : (2 N,) the node of each bottom, then of each top symbol of one span; -1 for none
    lefts, seen : (N,) symbols of the left halves of one span, and whether each is among them
    anchor_of : (2 S,) the anchored rule of each span, then its anchored step; -1 for none
    stack, chosen : (4 n,), (2 n,) spans that are still to be traced, by their ends, and their top
    nodes scores : scores of the parts of a sentence, divided by the temperature rule, step : (R,),
    (U,) weights inside, outside : (V,) weights of nodes scale : (S,) logarithms by which the
    weights of a span's nodes were divided above : (N,) outside weights of the bottoms of one span,
    by symbol begins : (n,) first words of the spans of one width whose bottoms have outside weights
    pairs, pairs_bar : (N * N,) weights of pairs of tops at one span, inside and outside lefts_in,
    rights_in, lefts_out, rights_out : inside and outside weights of tops by symbol, one row a span:
    by their left ends,
        then right ones; or by their right ends, then left ones
    words_in, words_out : inside and outside weights of the tops of words, by symbol
    factors, halves, halves_bar, products : of the splits of one span
    pairs_in, pairs_out : inside and outside weights of pairs of tops at some spans, as `left` and
    `right` list them bottoms : weights of the bottoms of the spans of one width, by symbol table,
    usage, counted : weights of the rules as a matrix, marginals divided by them, and those of some
    spans; empty where that
        does not pay
    numbers, exponents, sums, sum_exponents, masses : of span trees
        (`structopt.kernels.grammar.span_trees`), a row per width: inside weights m 2^E, the sums
        over splits in them, and marginals; ratios : of the spans of one width
    own, ways : (N,) of span trees by bottom symbols: scores of rules or tags, and with the steps
    step_sums, uses : (2 N,) the logarithms of the weights of their steps to the symbol of tops, and
        to the root; how often they are used
    filled : (1,) the semiring that the charts were last filled in
    """

    symbols: Int
    slots: Ints
    lefts: Ints
    seen: Ints
    anchor_of: Ints
    stack: Ints
    chosen: Ints
    scores: Floats
    rule: Floats
    step: Floats
    inside: Floats
    outside: Floats
    scale: Floats
    above: Floats
    begins: Ints
    pairs: Floats
    pairs_bar: Floats
    lefts_in: Floats
    rights_in: Floats
    lefts_out: Floats
    rights_out: Floats
    factors: Floats
    halves: Floats
    halves_bar: Floats
    words_in: Floats
    words_out: Floats
    products: Floats
    pairs_in: Floats
    pairs_out: Floats
    bottoms: Floats
    table: Floats
    usage: Floats
    counted: Floats
    numbers: Floats
    exponents: Floats
    sums: Floats
    sum_exponents: Floats
    masses: Floats
    ratios: Floats
    own: Floats
    ways: Floats
    step_sums: Floats
    uses: Floats
    filled: Ints


SCRATCH = RecordLayout(Scratch)
open_scratch = SCRATCH.compiled


@inlined
def span_number(n, i, j):
    """Number of the span i..j (0 <= i < j <= n) among those of a sentence of n words."""
    return i * n - i * (i - 1) // 2 + j - i - 1


@merged
def anchored_pair(c, i, n, b, e, x):
    """Split, and pair of symbols, of the anchored rule of a span; -1 where there is none."""
    anchor = x.anchor_of[span_number(n, b, e)]
    if anchor < 0:
        return -1, -1
    a = c.anchors[i] + anchor
    return np.int64(c.anchor_split[a]), np.int64(c.pair[c.anchor_rule[a]])
