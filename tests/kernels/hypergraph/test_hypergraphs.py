"""Inference on hypergraphs keeps the contract; extremes, lists and rounding against listings."""

from math import inf, log

import numpy as np
import pytest

from structopt.core.structure_kind import TooManyOutputs
from structopt.factor_graph.hypergraph import HYPERGRAPH, hypergraph_structure
from structopt.inference.enumeration import Enumeration
from structopt.inference.exact import Exact
from structopt.kernels.hypergraph import hypergraph
from structopt.kernels.hypergraph.k_best import k_best
from structopt.testing.inference import InferenceSuite, best_listed, run
from tests.covering import covering
from tests.kernels.hypergraph.random_hypergraphs import SHAPES, packed, random_structure

GENERATOR = np.random.default_rng(8)
instances = pytest.mark.parametrize("i", range(len(SHAPES)))


def listed(structure, i):
    return HYPERGRAPH.vertices(structure.record, i, int(np.diff(structure.parts)[i]), 100_000)


def left_branching(n, symbols):
    """A sentence whose every span begins with the first word: edges over all pairs of symbols, the
    right one a word's.
    """
    words = [[[(-1, -1)] for _ in range(symbols)] for _ in range(n)]
    ways, before = list(words[0]), list(range(symbols))
    for word in words[1:]:
        own = list(range(len(ways), len(ways) + symbols))
        ways += word
        tails = [[(left, right) for left in before for right in own] for _ in range(symbols)]
        before = list(range(len(ways), len(ways) + symbols))
        ways += tails
    return packed([[*ways, [(vertex, -1) for vertex in before]]])


class TestExact(InferenceSuite):
    @pytest.fixture
    def inference(self):
        return Exact()

    @pytest.fixture(params=range(2))
    def structure(self, request):
        return random_structure(request.param)


@instances
def test_scores_are_left_as_they_are(i):
    """Losses read the gold output's scores after the inference."""
    structure = random_structure(2)
    parts, memory = int(np.diff(structure.parts)[i]), np.zeros(0)
    s = GENERATOR.normal(size=parts)
    for temperature in (0.0, 2.0):
        before, z = s.copy(), np.zeros(parts)
        hypergraph.solve(structure.record, i, s, temperature, z, memory, structure.work)
        np.testing.assert_array_equal(s, before)


@instances
def test_lists_have_every_derivation(i):
    structure = random_structure(3)
    vertices = listed(structure, i)
    s = GENERATOR.normal(size=vertices.shape[1])
    values, outputs = best_listed(k_best, structure, i, s, len(vertices) + 5)
    best = vertices[np.argsort(-(vertices @ s), kind="stable")]
    np.testing.assert_allclose(values, best @ s, atol=1e-12)
    np.testing.assert_array_equal(outputs, best)


@instances
def test_lists_leave_out_what_is_forbidden(i):
    structure = random_structure(4)
    vertices = listed(structure, i)
    s = np.where(
        GENERATOR.random(vertices.shape[1]) < 0.2, -inf, GENERATOR.normal(size=vertices.shape[1])
    )
    allowed = vertices[~(vertices[:, s == -inf] > 0).any(axis=1)]
    values, _ = best_listed(k_best, structure, i, s, len(vertices))
    np.testing.assert_allclose(
        values, np.sort(allowed @ np.where(s == -inf, 0.0, s))[::-1], atol=1e-12
    )


def test_long_lists_of_equal_scores_are_different_derivations():
    structure = left_branching(6, 2)
    values, outputs = best_listed(k_best, structure, 0, np.zeros(int(structure.parts[1])), 3000)
    assert len(values) == 2**11
    assert len(np.unique(outputs, axis=0)) == len(outputs)


@instances
def test_max_rule_is_the_best_product_of_marginals(i):
    structure = random_structure(5)
    vertices, edges = (
        listed(structure, i),
        int(structure.groups[0].offsets[i + 1] - structure.groups[0].offsets[i]),
    )
    _, z = run(hypergraph.solve, structure, i, 2 * GENERATOR.normal(size=vertices.shape[1]), 1.0)
    best = vertices[np.argmax(vertices[:, :edges] @ np.log(np.maximum(z[:edges], 1e-300)))]
    hypergraph.max_rule(structure.record, i, z, structure.work)
    np.testing.assert_array_equal(z, best)


def test_max_rule_may_take_another_derivation_than_the_best():
    """Of probabilities 0.26 and 0.34, through one vertex, and 0.4: the product of marginals is 0.6
    * 0.34 against 0.4 * 0.4.
    """
    structure = packed([[[(-1, -1), (-1, -1)], [(-1, -1)], [(0, -1), (1, -1)]]])
    s = np.log([0.26, 0.34, 0.4, 1.0, 1.0, 1.0, 1.0, 1.0])
    assert run(hypergraph.solve, structure, 0, s, 0.0)[1].tolist() == [0, 0, 1, 0, 1, 0, 1, 1]
    _, z = run(hypergraph.solve, structure, 0, s, 1.0)
    hypergraph.max_rule(structure.record, 0, z, structure.work)
    assert z.tolist() == [0, 1, 0, 1, 0, 1, 0, 1]


def test_max_rule_of_no_derivation_is_none():
    structure, z = packed([[[(-1, -1)], [(0, -1)]]]), np.zeros(4)
    hypergraph.max_rule(structure.record, 0, z, structure.work)
    assert not z.any()


@pytest.mark.parametrize(
    ("i", "scale", "temperature"),
    covering(range(len(SHAPES)), [30.0, 400.0, 1e4], [1e-3, 1.0, 1e3]),
)
def test_any_range_of_scores_on_small_hypergraphs(i, scale, temperature):
    structure = random_structure(9)
    s = scale * GENERATOR.normal(size=int(np.diff(structure.parts)[i]))
    value, z = run(hypergraph.solve, structure, i, s, temperature)
    expected, marginals = run(Enumeration().kernels(HYPERGRAPH).solve, structure, i, s, temperature)
    assert value == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(z, marginals, atol=1e-9)


@pytest.mark.parametrize("scale", [1.0, 400.0, 1e4])
@pytest.mark.parametrize("temperature", [0.0, 1e-3, 1.0, 1e3])
def test_any_range_of_scores(scale, temperature):
    """A sentence of 200 words, compared with sums in logarithms; the slopes of the value are the
    marginals.
    """
    structure = left_branching(200, 3)
    edges, s = (
        int(structure.groups[0].offsets[1]),
        scale * GENERATOR.normal(size=int(structure.parts[1])),
    )
    value, z = run(hypergraph.solve, structure, 0, s, temperature)
    assert value == pytest.approx(log_value(structure, s, temperature), rel=1e-12)
    assert z.min() >= 0
    assert z.max() <= 1 + 1e-12
    assert z[-1] == 1.0
    assert value >= s @ z - 1e-9 * abs(value)
    step = 1e-2 * max(temperature, scale * 1e-3)
    for part in np.argsort(-z[:edges])[:1000:100]:
        ahead, behind = (
            log_value(structure, s + x * (np.arange(len(s)) == part), temperature)
            for x in (step, -step)
        )
        # the value is convex
        assert (behind - value) / -step - 1e-6 <= z[part] <= (ahead - value) / step + 1e-6


def log_value(structure, s, temperature):
    """The value by numpy's sums in logarithms."""
    from structopt.kernels.hypergraph.record import HYPERGRAPHS

    h = HYPERGRAPHS.open(structure.record)
    inside = np.zeros(len(h.edges))
    for v in range(len(h.edges) - 1):
        run_of = slice(h.edges[v], h.edges[v + 1])
        inside[-1] = 0.0  # the score of no tail
        values = s[run_of] + inside[h.left[run_of]] + inside[h.right[run_of]]
        total = (
            values.max()
            if temperature == 0
            else temperature * np.logaddexp.reduce(values / temperature)
        )
        inside[v] = s[len(h.left) + v] + total
    return inside[len(h.edges) - 2]


@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize("level", [-1e4, 0.0, 1e4])
def test_one_vertex(temperature, level):
    structure = packed([[[(-1, -1), (-1, -1), (-1, -1)]]])
    value, z = run(
        hypergraph.solve, structure, 0, np.array([-inf, level, level + log(3.0), -1.0]), temperature
    )
    assert value == pytest.approx(level - 1 + (log(4.0) if temperature else log(3.0)), rel=1e-12)
    np.testing.assert_allclose(z, [0, 0.25, 0.75, 1] if temperature else [0, 0, 1, 1], rtol=1e-11)


@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize("ways", [[], [[]], [[], [(0, -1)]], [[(-1, -1)], [], [(0, 1)]]], ids=str)
def test_without_a_derivation(ways, temperature):
    structure = packed([ways])
    s = np.zeros(int(structure.parts[1]))
    value, z = run(hypergraph.solve, structure, 0, s, temperature)
    assert value == -inf
    assert not z.any()
    assert len(listed(structure, 0)) == 0
    assert best_listed(k_best, structure, 0, s, 3)[0].tolist() == []


def test_forbidden_roots_have_no_derivation():
    structure = packed([[[(-1, -1)], [(0, -1)]]])
    for s in ([0.0, 0.0, 0.0, -inf], [0.0, 0.0, -inf, 0.0], [-inf, 0.0, 0.0, 0.0]):
        for temperature in (0.0, 1.0):
            value, z = run(hypergraph.solve, structure, 0, np.array(s), temperature)
            assert (value, z.any()) == (-inf, False)


def test_the_first_of_equal_edges_wins():
    structure = packed([[[(-1, -1), (-1, -1)], [(0, -1), (0, -1)]]])
    assert run(hypergraph.solve, structure, 0, np.zeros(6), 0.0)[1].tolist() == [1, 0, 1, 0, 1, 1]


def test_the_most_parts_of_a_derivation_are_known():
    structure = random_structure(6)
    assert structure.most_active == max(
        listed(structure, i).sum(axis=1).max() for i in range(len(structure))
    )


def test_long_listings_are_refused():
    structure = left_branching(30, 2)
    with pytest.raises(TooManyOutputs, match=r"instance 1 has 5\.8e\+17 derivations"):
        listed(structure, 0)


def test_vertices_that_the_root_does_not_need_are_not_listed():
    structure = packed([[[(-1, -1)] * 50, [], [(0, 1), (-1, -1)]]])
    assert len(HYPERGRAPH.vertices(structure.record, 0, 55, 1)) == 1


def test_refuses_what_is_no_hypergraph():
    with pytest.raises(ValueError, match="Every edge has two tails that stand before its head"):
        packed([[[(0, -1)]]])
    structure = packed([[[(-1, -1)]]])
    arrays = np.array([0, 1]), np.array([0, 1]), np.array([-1], np.int32), np.array([-1], np.int32)
    with pytest.raises(ValueError, match="The groups have other numbers of parts"):
        hypergraph_structure(*arrays, structure.groups[:1])
