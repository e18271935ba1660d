"""The derivations of the hypergraph of a chart are exactly the chart's trees, listed by recursion."""

from itertools import product

import numpy as np
import pytest

from structopt.core.data.structure import PartGroup
from structopt.factor_graph.hypergraph import hypergraph_structure
from structopt.kernels.grammar import hyperedges as listing
from structopt.kernels.grammar.charts import CHARTS, span_number

SYMBOLS, TAGS = 5, 2
"""0 is the root, the last two are tags."""
LENGTHS = (1, 2, 3, 4, 5)


def random_grammar(generator):
    """Rules (left, right, parent), sorted by what is below, and steps (bottom, top), sorted by the bottom."""
    inner = range(1, SYMBOLS - TAGS)
    rules = [(b, c, a) for b, c, a in product(range(1, SYMBOLS), range(1, SYMBOLS), inner) if generator.random() < 0.4]
    pairs = [(b, t) for b, t in product(range(1, SYMBOLS), range(SYMBOLS - TAGS)) if b != t]
    steps = [(b, t) for b, t in pairs if generator.random() < (0.3 if t else 0.7)]
    return rules, sorted(steps + [(b, b) for b in range(1, SYMBOLS)])


def random_chart(seed, kept=0.8):
    """The record of charts, and per span the symbols of its bottoms and tops and its first node, in dictionaries by span."""
    generator = np.random.default_rng(seed)
    rules, steps = random_grammar(generator)
    pairs = sorted({rule[:2] for rule in rules})
    sentences, spans, counts = [], [], []
    for n in LENGTHS:
        sentence, nodes = {}, 0
        for b in range(n):
            for e in range(b + 1, n + 1):
                bottoms = range(SYMBOLS - TAGS, SYMBOLS) if e == b + 1 else range(1, SYMBOLS - TAGS)
                tops = range(1, SYMBOLS) if e - b < n else range(SYMBOLS)
                symbols = [[y for y in layer if generator.random() < kept or y == 0] for layer in (bottoms, tops)]
                sentence[b, e] = nodes, *symbols
                spans.append(symbols)
                nodes += sum(map(len, symbols))
        sentences.append(sentence)
        counts.append([first for first, *_ in sentence.values()])
    sizes = [len(bottoms) + len(tops) for bottoms, tops in spans]
    record = CHARTS.pack(
        symbols=SYMBOLS, rules=len(rules), steps=len(steps), tags=TAGS, root=0,
        full=0, ranges=6, inner=0, inner_places=0, outer=0,
        left_pairs=np.searchsorted([b for b, _ in pairs], range(SYMBOLS + 1)),
        left=np.array([b for b, _ in pairs]), right=np.array([c for _, c in pairs]),
        pair_rules=np.searchsorted([pairs.index(rule[:2]) for rule in rules], range(len(pairs) + 1)),
        parent=np.array([a for *_, a in rules]), sorted=np.argsort([a for *_, a in rules], kind="stable"),
        below=np.searchsorted(sorted(a for *_, a in rules), range(SYMBOLS + 1)),
        pair=np.array([pairs.index(rule[:2]) for rule in rules]),
        bottom_steps=np.searchsorted([b for b, _ in steps], range(SYMBOLS + 1)), step_top=np.array([t for _, t in steps]),
        tag_symbol=np.arange(SYMBOLS - TAGS, SYMBOLS), tokens=np.cumsum([0, *LENGTHS]),
        spans=np.cumsum([0, *map(len, sentences)]), first=np.cumsum([0, *sizes])[:-1],
        bottoms=np.array([len(bottoms) for bottoms, _ in spans]), tops=np.array([len(tops) for _, tops in spans]),
        node=np.concatenate(counts), node_symbols=np.array([y for bottoms, tops in spans for y in [*bottoms, *tops]]),
        anchors=np.zeros(len(LENGTHS) + 1, np.int64), anchor_span=0, anchor_split=0, anchor_rule=0,
    )  # fmt: skip
    return record, sentences, rules, steps


def trees(sentence, n, rules, steps):
    """All trees as sets of (head node, kind, number, place, split)."""

    def bottoms(b, e):
        first, symbols, _ = sentence[b, e]
        for q, symbol in enumerate(symbols):
            if e == b + 1:
                yield symbol, frozenset([(first + q, listing.TAG, symbol - SYMBOLS + TAGS, b, 0)])
                continue
            for split in range(b + 1, e):
                for (left, below), (right, beside) in product(tops(b, split), tops(split, e)):
                    for r, rule in enumerate(rules):
                        if rule == (left, right, symbol):
                            own = first + q, listing.RULE, r, span_number.py_func(n, b, e), split
                            yield symbol, below | beside | {own}

    def tops(b, e):
        if (b, e) not in known:
            first, lower, upper = sentence[b, e]
            known[b, e] = [
                (top, below | {(first + len(lower) + upper.index(top), listing.STEP, u, span_number.py_func(n, b, e), 0)})
                for symbol, below in bottoms(b, e)
                for u, (bottom, top) in enumerate(steps)
                if bottom == symbol and top in upper
            ]
        return known[b, e]

    known = {}
    return [tree for top, tree in tops(0, n) if top == 0]


def structure_of(h):
    """The hypergraph alone, as a structure."""
    vertices = np.array([0, len(h.nodes)])
    groups = PartGroup("edge", 1, h.edges[vertices]), PartGroup("vertex", 1, vertices)
    return hypergraph_structure(vertices, h.edges, h.left, h.right, groups)


@pytest.mark.parametrize(("seed", "kept"), [(5, 1.0), (7, 1.0), (3, 0.85), (5, 0.85), (7, 0.85), (7, 0.7)])
def test_derivations_are_the_trees_of_the_chart(seed, kept):
    record, sentences, rules, steps = random_chart(seed, kept)
    for i, (sentence, n) in enumerate(zip(sentences, LENGTHS, strict=True)):
        expected, h = trees(sentence, n, rules, steps), listing.hyperedges(record, i)
        structure = structure_of(h)
        vertices = structure.kind.vertices(structure.record, 0, int(structure.parts[1]), 10_000)
        heads = np.repeat(np.arange(len(h.nodes)), np.diff(h.edges))
        edges = list(zip(*(x.tolist() for x in (h.nodes[heads], h.kind, h.number, h.place, h.split)), strict=True))
        derivations = [frozenset(edges[e] for e in np.flatnonzero(vertex[: len(edges)])) for vertex in vertices]
        assert len(set(derivations)) == len(derivations) == len(expected)
        assert set(derivations) == set(expected)
        assert vertices.any(axis=0).all()  # nothing is listed that no tree has


def test_charts_without_trees_have_no_vertices():
    record, sentences, rules, steps = random_chart(7, 0.5)
    counts = [len(trees(sentence, n, rules, steps)) for sentence, n in zip(sentences, LENGTHS, strict=True)]
    assert counts[:2] == [0, 1]
    assert [len(listing.hyperedges(record, i).nodes) > 0 for i in range(len(LENGTHS))] == [count > 0 for count in counts]
    assert listing.hyperedges(record, 0).edges.tolist() == [0]


def test_lists_that_outgrow_the_first_room():
    record, *_ = random_chart(0, 1.0)
    before = listing.hyperedges(record, len(LENGTHS) - 1)
    assert len(before.left) > 10
    again = listing.edges_of(record, len(LENGTHS) - 1, 10)
    for one, other in zip(before, again, strict=True):
        np.testing.assert_array_equal(one, other)
