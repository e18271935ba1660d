"""Exact inference on charts of grammars against listed trees: values, marginals, lists, decoding,
and the range of numbers.
"""

from functools import partial
from math import comb, exp, inf, log

import numpy as np
import pytest

from structopt.config import registry
from structopt.core.data.attribute_table import AttributeTable
from structopt.core.data.encoded import EncodedConstituents
from structopt.core.data.structure import Structure
from structopt.factor_graph.grammar import forests
from structopt.factor_graph.grammar.charts import cells_of, span_number
from structopt.factor_graph.grammar.grammar import Grammar
from structopt.kernels.grammar import grammar as kernels
from structopt.kernels.grammar.k_best import k_best
from structopt.kernels.waist.record import Record
from structopt.testing.inference import InferenceSuite, run
from tests.factor_graph.grammar.random_treebanks import random_treebank, thinned


def charts(seed, lengths, kept=1.0, allowed=2) -> tuple[Structure, Grammar]:
    """Charts of the first sentences of a random treebank, with the rules of all of it."""
    whole = random_treebank(seed, (*lengths, *[5] * 8), allowed)
    graph = Grammar()
    graph.fit(whole)
    encoded = whole.subset(0, len(lengths))
    return graph.build(thinned(encoded, graph, seed, kept) if kept < 1 else encoded), graph


def listed(structure, i):
    return structure.kind.vertices(structure.record, i, int(np.diff(structure.parts)[i]), 10**5)


class TestExactCharts(InferenceSuite):
    @pytest.fixture
    def inference(self):
        return registry.create("inference", {"name": "exact"})

    @pytest.fixture(params=[(0, (1, 2, 3, 4), 1.0), (1, (3, 4, 5), 0.6), (2, (2, 5), 0.4)])
    def structure(self, request):
        seed, lengths, kept = request.param
        return charts(seed, lengths, kept)[0]


def expected(structure, i, s, temperature):
    """Value and marginals at a temperature above 0, and which vertices there are."""
    vertices = listed(structure, i)
    scores = np.array([vertex[vertex > 0] @ s[vertex > 0] for vertex in vertices]) / temperature
    top = scores.max()
    if top == -inf:
        return -inf, np.zeros(len(s)), vertices
    p = np.exp(scores - top)
    return temperature * (top + log(p.sum())), p @ vertices / p.sum(), vertices


@pytest.mark.parametrize("scale", [1.0, 30.0, 400.0, 1e4])
@pytest.mark.parametrize("temperature", [1e-3, 1.0, 1e3])
def test_whatever_the_range_of_scores(scale, temperature):
    structure, _ = charts(3, (4, 5), 0.8)
    generator = np.random.default_rng(0)
    for i in range(2):
        s = generator.normal(size=int(np.diff(structure.parts)[i])) * scale
        value, z = run(kernels.solve, structure, i, s, temperature)
        right, marginals, _ = expected(structure, i, s, temperature)
        assert value == pytest.approx(right, rel=1e-10)
        np.testing.assert_allclose(z, marginals, atol=1e-8)


def test_lost_weights_go_to_logarithms():
    """Scores of nodes that push one word's only good tag out of the range of numbers."""
    structure, _ = charts(4, (4,), allowed=3)
    s, filled = np.zeros(int(structure.parts[1])), set()
    for push in (0.0, 300.0, 900.0):
        begins, offsets = structure.spans("node")
        s[int(begins[0])] = -push
        work = Record(*(buffer.copy() for buffer in structure.work))
        z = np.zeros(len(s))
        value = kernels.solve(structure.record, 0, s, 1.0, z, np.zeros(0), work)
        filled.add(int(kernels.SCRATCH.open(work).filled[0]))
        right, marginals, _ = expected(structure, 0, s, 1.0)
        assert value == pytest.approx(right) and int(offsets[1]) > 0
        np.testing.assert_allclose(z, marginals, atol=1e-8)
    assert filled <= {1, 2}


def test_forbidden_parts():
    structure, _ = charts(5, (4,))
    size, generator = int(structure.parts[1]), np.random.default_rng(1)
    for _ in range(20):
        s = np.where(generator.random(size) < 0.15, -inf, generator.normal(size=size))
        for temperature in (0.0, 1.0):
            value, z = run(kernels.solve, structure, 0, s, temperature)
            right, marginals, vertices = expected(structure, 0, s, temperature or 1.0)
            if right == -inf:
                assert value == -inf and not z.any()
            elif temperature:
                assert value == pytest.approx(right)
                np.testing.assert_allclose(z, marginals, atol=1e-9)
            else:
                assert (np.abs(vertices - z).sum(axis=1) == 0).any() and value == pytest.approx(
                    z[z > 0] @ s[z > 0]
                )


def test_scores_are_left_as_they_are():
    structure, _ = charts(6, (4,))
    s = np.random.default_rng(2).normal(size=int(structure.parts[1]))
    for temperature in (0.0, 0.5, 1.0):
        before, z = s.copy(), np.zeros(len(s))
        kernels.solve(structure.record, 0, s, temperature, z, np.zeros(0), structure.work)
        np.testing.assert_array_equal(s, before)


@pytest.mark.parametrize("temperature", [0.3, 1.0])
@pytest.mark.parametrize("scale", [1.0, 300.0])
def test_max_rule_by_its_definition(temperature, scale):
    """The tree that maximises the sum of log mu over its anchored rules and steps; the positional
    chart has a part for each.
    """
    whole = random_treebank(7, (4, 5, *[5] * 8), 2)
    graph = Grammar()
    graph.fit(whole)
    encoded = whole.subset(0, 2)
    structure, positional = graph.build(encoded), graph.build(encoded, positional=True)
    generator = np.random.default_rng(3)
    R, U = len(graph.rules.binary), len(graph.rules.chains)
    for i in range(2):
        s = np.zeros(int(np.diff(structure.parts)[i]))
        n = int(np.diff(encoded.offsets)[i])
        scored = R + U + n * len(graph.rules.tags)
        s[:scored] = generator.normal(size=scored) * scale
        work, z = Record(*(buffer.copy() for buffer in structure.work)), np.zeros(len(s))
        kernels.solve(structure.record, i, s, temperature, z, np.zeros(0), work)
        kernels.max_rule(structure.record, i, z, work)
        edges, spans = list(forests.sentences(positional))[i]
        tags = (
            R
            + U
            + spans.begin[edges.head] * len(graph.rules.tags)
            + edges.number
            - graph.rules.first_tag
        )
        number = np.select(
            [edges.split == forests.TAG, edges.split == forests.STEP],
            [tags, R + edges.number],
            edges.number,
        )
        weight = s[number]
        vertices = listed(positional, i)[:, : len(number)]
        scores = vertices @ weight / temperature
        p = np.exp(scores - scores.max())
        mu = p @ vertices / p.sum()
        with np.errstate(divide="ignore"):
            logs = np.where(edges.split != forests.TAG, np.log(mu), 0.0)
        products = np.array([logs[vertex > 0].sum() for vertex in vertices])
        assert (np.abs(listed(structure, i) - z).sum(axis=1) == 0).any()
        value = _product(structure, positional, (encoded, graph), i, z, logs)
        assert value == pytest.approx(products.max(), abs=1e-6 * scale)


def _product(structure, positional, of, i, z, logs):
    """The sum of log mu over a tree of the chart: the tree of the forest with the same nodes and
    counts.
    """
    encoded, graph = of
    R, U = len(graph.rules.binary), len(graph.rules.chains)
    edges, spans = list(forests.sentences(positional))[i]
    counts = z[: R + U]
    nodes = z[structure.spans("node")[0][i] :][: int(np.diff(structure.spans("node")[1])[i])]
    vertices, sentence = listed(positional, i), np.full(len(spans.begin), i)
    place = span_number(np.diff(encoded.offsets)[sentence], spans.begin, spans.end)
    reached = cells_of(encoded, graph.rules).node(sentence, place, spans.symbol, spans.above)
    best = -inf
    for vertex in vertices:
        chosen = vertex[: len(edges.head)] > 0
        own = np.zeros(R + U)
        for number, split in zip(edges.number[chosen], edges.split[chosen], strict=True):
            if split != forests.TAG:
                own[number if split > 0 else R + number] += 1
        used = np.zeros(len(nodes))
        used[reached[np.flatnonzero(vertex[len(edges.head) :])]] = 1
        if (own == counts).all() and (used == nodes).all():
            best = max(best, logs[chosen].sum())
    return best


def test_one_label_has_as_many_trees_as_there_are_bracketings():
    n = 7
    rows = [
        (0, 0, n),
        *((1, begin, n) for begin in range(n - 1)),
        *((1, t, t + 1) for t in range(n)),
    ]
    rows = sorted(rows, key=lambda row: (row[1], -row[2], row[0]))
    encoded = EncodedConstituents(
        np.array([0, n]),
        {"label": AttributeTable(np.arange(n + 1), np.zeros(n, np.int32), None, 1)},
        ("t",),
        np.zeros(n, np.int32),
        np.ones((n, 1), bool),
        categories=("R", "A"),
        words=["w"] * n,
        constituents=(np.array([0, len(rows)]), np.array(rows, np.int32)),
    )
    graph = Grammar()
    graph.fit(encoded)
    structure = graph.build(encoded)
    forbidden = np.array([chain == ("/t",) for chain in graph.rules.chains])
    s = np.zeros(int(structure.parts[1]))
    # every word has a label above its tag
    s[len(graph.rules.binary) :][: len(forbidden)][forbidden] = -inf
    value, _ = run(kernels.solve, structure, 0, s, 1.0)
    assert exp(value) == pytest.approx(comb(2 * (n - 1), n - 1) / n)


def test_two_hundred_words():
    structure, _ = charts(8, (200,), 0.3)
    s = np.random.default_rng(4).normal(size=int(structure.parts[1]))
    value, z = run(kernels.solve, structure, 0, s, 1.0)
    best, tree = run(kernels.solve, structure, 0, s, 0.0)
    assert (
        np.isfinite(value) and value >= best and tree[tree > 0] @ s[tree > 0] == pytest.approx(best)
    )
    assert z[: structure.groups[0].width].sum() == pytest.approx(199.0)


def test_words_without_a_tree():
    structure, _ = charts(9, (4,))
    s = np.full(int(structure.parts[1]), -inf)
    for temperature in (0.0, 1.0):
        value, z = run(kernels.solve, structure, 0, s, temperature)
        assert value == -inf and not z.any()
    lists = partial(
        k_best,
        structure.record,
        0,
        s,
        3,
        np.zeros(3),
        np.zeros(4, np.int64),
        np.zeros(300, np.int32),
    )
    assert lists(np.zeros(300), structure.work) == 0
