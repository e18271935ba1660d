"""Packed forests of the trees of a grammar: the record of its rules and of the symbols that every
span may have.

A span i..j of a sentence has a bottom symbol, one unary step, and a top symbol. Below the bottom of
a span of one word stands the word; below that of a longer one, a binary rule and the tops of two
spans. A *vertex* is a bottom or a top symbol at a span, an *edge* a way to make it: an anchored
rule ⟨A -> B C, i, k, j⟩, an anchored step, or the tag of a word.

Only vertices are stored; the edges are all ways to make them from each other, and
`structopt.kernels.forest.edges` lists them anew whenever they are needed. There are many more edges
than vertices: a treebank's would fill the memory.

Spans are stored from left to right, those with the same left end side by side. Vertices are
numbered in an order in which all stand after those below them: the spans with the last left end
first, and of those with the same left end the shortest first. The parts of a sentence are its
edges, in the order of the vertices above them, then its vertices.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structopt.kernels.waist.fields import Int, Ints, Longs
from structopt.kernels.waist.layout import RecordLayout


class Forests(NamedTuple):
    """The record of the forests of m sentences, opened. N symbols, G pairs of symbols that have
    rules, R rules, U steps.

    Attributes
    ----------
    symbols, root : N, and the number of the symbol that the whole sentence has
    pairs : (N * N,) the number of each pair of a left and a right symbol; -1 where it has no rules
    pair_rules : (G + 1,) where the rules of each pair begin
    parent : (R,) the symbol above each rule
    parents : (G,) bits of the symbols above each pair, by their numbers modulo 64
    bottom_steps : (N + 1,) where the unary steps from each bottom symbol begin
    step_top : (U,) the symbol above each step
    symbol_names, rule_names, step_names : numbers that tell names apart, in any model
    tokens : (m + 1,) where the words of each sentence begin
    spans : (m + 1,) where the spans of each sentence begin: n (n + 1) / 2
    vertices, edges : (m + 1,) where the vertices of each sentence begin, and its edges among those
    of all first : number, within the sentence, of the first vertex of each span bottoms, tops : how
    many bottoms a span has, which come first, and how many tops symbol : of each vertex; ascending
    among the bottoms of a span, and among its tops
    """

    symbols: Int
    root: Int
    pairs: Ints
    pair_rules: Ints
    parent: Ints
    parents: Longs
    bottom_steps: Ints
    step_top: Ints
    symbol_names: Longs
    rule_names: Longs
    step_names: Longs
    tokens: Longs
    spans: Longs
    vertices: Longs
    edges: Longs
    first: Ints
    bottoms: Ints
    tops: Ints
    symbol: Ints


FORESTS = RecordLayout(Forests)
open_forests = FORESTS.compiled


class Listing(NamedTuple):
    """The edges of the forest of one sentence: E edges, V vertices.

    Attributes
    ----------
    edges : int64, shape (V + 1,)
        Where the edges of each vertex begin; those of a bottom are in the order of their splits.
    left, right : int32, shape (E,)
        Vertices below each edge; -1: none. A step has a left one only, a tag none.
    number : int32, shape (E,)
        Of the rule, of the step, or of the tag's symbol.
    split : int32, shape (E,)
        Where the right half begins, below a rule; 0 below a step, -1 below a tag.
    """

    edges: np.ndarray
    left: np.ndarray
    right: np.ndarray
    number: np.ndarray
    split: np.ndarray
