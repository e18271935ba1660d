"""Layout, gold indicators, costs and outputs of graphs of any shape; learning on them against the
listing of all outputs.
"""

from dataclasses import replace
from math import inf

import numpy as np
import pytest

from structopt.config import registry
from structopt.core.data.attribute_table import AttributeTable
from structopt.core.data.encoded import EncodedGraphs
from structopt.errors import ConfigError
from structopt.executor.serial import Serial
from structopt.factor_graph import kinds, pairwise
from structopt.factor_graph.pairwise import Pairwise
from structopt.factor_graph.single import Single
from structopt.inference.ad3 import AD3
from structopt.inference.enumeration import Enumeration
from structopt.inference.exact import Exact
from structopt.inference.ilp import ILP
from structopt.inference.loopy_bp import LoopyBP
from structopt.kernels.loopy.factors import TABLE, open_factors
from structopt.loss.cost.hamming_normalized import HammingNormalized
from structopt.loss.family import HAMMING, LossFamily
from structopt.objective.decoding import best_outputs, marginals
from structopt.optimizer.dca import DCA
from structopt.testing.inference import finite_differences
from structopt.testing.problems import (
    instance_scores,
    loss_and_gradient,
    make_problem,
    outputs,
    random_encoded,
    random_graphs,
    random_weights,
)


def dense(vectors, structure, i):
    z = np.zeros(int(np.diff(structure.parts)[i]))
    inside = slice(*vectors.offsets[i : i + 2])
    np.add.at(z, vectors.parts[inside], vectors.values[inside])
    return z


def small(**more):
    """A triangle in which only two edges are given, and a pair; three states."""
    table = AttributeTable(np.arange(6), np.arange(5, dtype=np.int32), None, 5)
    edges = np.array([0, 2, 3]), np.array([[0, 2], [1, 2], [0, 1]], np.int32)
    gold = np.array([2, 0, 1, 1, 2], np.int32)
    fields = {
        "tables": {"label": table},
        "labels": ("a", "b", "c"),
        "gold": gold,
        "edges": edges,
    } | more
    return EncodedGraphs(np.array([0, 3, 5]), **fields)


def test_layout():
    structure = Pairwise().build(small())
    assert (structure.kind, len(structure), structure.memory.any()) == (kinds.TABLES, 2, False)
    assert [(g.name, g.width, g.offsets.tolist()) for g in structure.groups] == [
        ("label", 3, [0, 3, 5]),
        ("edge", 9, [0, 2, 3]),
    ]
    assert not any(g.tied for g in structure.groups)
    assert structure.parts.tolist() == [0, 27, 42]
    assert structure.active == 5
    f = open_factors.py_func(structure.record)
    assert f.widths.tolist() == [3] * 5
    assert f.starts.tolist() == [0, 3, 6, 0, 3]
    assert (f.variables.tolist(), f.shared.tolist()) == ([0, 3, 5], [9, 6])
    assert (f.kinds.tolist(), f.factors.tolist(), f.links.tolist()) == (
        [TABLE] * 3,
        [0, 2, 3],
        [0, 2, 4, 6],
    )
    assert (f.linked.tolist(), f.privates.tolist()) == ([0, 2, 1, 2, 0, 1], [0, 9, 18, 27])


@pytest.mark.parametrize(
    ("edges", "listed"), [("complete", [[0, 1], [0, 2], [1, 2], [0, 1]]), ("none", [])]
)
def test_edges_of_its_own(edges, listed):
    structure = Pairwise(edges).build(small())
    f = open_factors.py_func(structure.record)
    assert f.linked.reshape(-1, 2).tolist() == listed
    assert [g.name for g in structure.groups] == ["label", "edge"][: 1 + bool(listed)]
    assert structure.parts.tolist() == ([0, 36, 51] if listed else [0, 9, 15])


def wide(labels_wide=True):
    """Two copies of one graph of three variables and two edges."""
    rows = 2 if labels_wide else 6
    table = AttributeTable(np.arange(rows + 1), np.zeros(rows, np.int32), None, 1)
    edges = np.array([0, 2, 4]), np.array([[0, 1], [1, 2]] * 2, np.int32)
    gold = np.array([1, 0, 1, 1, 1, 0], np.int32)
    return EncodedGraphs(
        np.array([0, 3, 6]), {"label": table}, ("off", "on"), gold, edges=edges, wide=True
    )


@pytest.mark.parametrize("labels_wide", [True, False])
def test_wide_layout(labels_wide):
    structure = Pairwise().build(wide(labels_wide))
    labels = ("label", 6, [0, 1, 2]) if labels_wide else ("label", 2, [0, 3, 6])
    assert [(g.name, g.width, g.offsets.tolist()) for g in structure.groups] == [
        labels,
        ("edge", 8, [0, 1, 2]),
    ]
    assert (structure.parts.tolist(), structure.active) == ([0, 14, 28], 5)
    complete = Pairwise("complete").build(wide(labels_wide))
    assert complete.groups[1].width == 12


def test_a_task_without_edges_is_asked_which_there_are():
    no_edges = np.zeros(3, np.int64), np.zeros((0, 2), np.int32)
    encoded = replace(wide(), edges=no_edges)
    with pytest.raises(
        ConfigError,
        match=r"this task gives none\. Set edges='complete' .*, or `'none'` for indep",
    ):
        Pairwise().build(encoded)
    assert Pairwise("complete").build(encoded).parts.tolist() == [0, 18, 36]
    assert Pairwise("none").build(encoded).parts.tolist() == [0, 6, 12]
    one = replace(encoded, offsets=np.arange(3), gold=np.zeros(2, np.int32))
    assert Pairwise().build(one).parts.tolist() == [0, 2, 4]
    # such graphs there are
    assert Pairwise().build(replace(encoded, wide=False, tables={})).parts.tolist() == [0, 6, 12]


def test_complete_graphs_that_do_not_fit_are_refused(monkeypatch):
    encoded = small()
    for room in (4 * (pairwise.EDGE_BYTES + 8 * 9), 4 * (pairwise.EDGE_BYTES + 8 * 9) - 1):
        monkeypatch.setattr("structopt.core.memory.ALWAYS_FITS", 0)
        monkeypatch.setattr("structopt.core.memory.free_bytes", lambda room=room: float(room))
        if room % 4 == 0:
            assert Pairwise("complete").build(encoded).parts.tolist() == [0, 36, 51]
    with pytest.raises(
        ConfigError,
        match=r"makes 4 edges of 2 instances with up to 3 variables.*Keep fewer .*most_frequent",
    ):
        Pairwise("complete").build(encoded)
    Pairwise("task").build(encoded)


def test_wide_and_narrow_graphs_have_the_same_parts():
    narrow = replace(wide(False), wide=False)
    graph = Pairwise()
    for encoded in (narrow, wide()):
        structure = graph.build(encoded)
        assert np.flatnonzero(dense(graph.gold(encoded, structure), structure, 1)).tolist() == [
            1,
            3,
            4,
            6 + 3,
            10 + 2,
        ]


def test_gold_and_cost():
    encoded, graph = small(), Pairwise()
    structure = graph.build(encoded)
    gold, cost = graph.gold(encoded, structure), graph.cost(encoded, structure, np.arange(1.0, 6.0))
    assert np.flatnonzero(dense(gold, structure, 0)).tolist() == [
        2,
        3,
        7,
        9 + 3 * 2 + 1,
        18 + 3 * 0 + 1,
    ]
    assert np.flatnonzero(dense(gold, structure, 1)).tolist() == [1, 5, 6 + 3 * 1 + 2]
    assert gold.parts.dtype == cost.parts.dtype == np.int32
    assert dense(cost, structure, 0)[[2, 3, 7]].tolist() == [-1, -2, -3]
    assert dense(cost, structure, 1)[[1, 5]].tolist() == [-4, -5]


GRAPHS = {
    "complete": {},
    "chain": {"edges": "chain", "labels": 3, "values": True, "edge_attributes": 3},
    "grid": {"edges": "grid", "labels": 3, "sizes": (1, 4, 5)},
    "wide": {"sizes": (3, 3, 3), "labels": 3, "wide": True, "values": True},
    "wide, attributes of edges": {"sizes": (4, 4), "wide": True, "edge_attributes": 2},
}
graphs = pytest.mark.parametrize("options", GRAPHS.values(), ids=GRAPHS)


def problem_of(options, beta=1.0, gamma=0.0, inference=None, edges="task", cost=HAMMING, **more):
    encoded = random_graphs(3, **options)
    return make_problem(
        encoded, Pairwise(edges), LossFamily(beta, gamma, cost), inference or Enumeration(), **more
    )


@graphs
def test_outputs_are_all_states(options):
    """K^d outputs, the gold one among them at no cost; every wrong state costs as much as it
    should.
    """
    problem = problem_of(options, inf, 1.0, cost=HammingNormalized())
    encoded, K = problem.examples.encoded, len(problem.examples.encoded.labels)
    for i in range(problem.m):
        first, last = encoded.offsets[i : i + 2]
        d, gold = int(last - first), encoded.gold[first:last]
        listed = outputs(problem, i)
        states = listed.vertices[:, : d * K].reshape(-1, d, K).argmax(axis=2)
        assert len(np.unique(states, axis=0)) == len(states) == K**d
        np.testing.assert_allclose(listed.costs, (states != gold).mean(axis=1), atol=1e-12)
        right = listed.vertices[(states == gold).all(axis=1)]
        np.testing.assert_array_equal(right, listed.gold[None])


@graphs
def test_scores_are_what_the_equation_says(options):
    """Every vertex scores sum_i s_i(y_i) + sum_ij s_ij(y_i, y_j), written out."""
    problem = problem_of(options)
    encoded, K = problem.examples.encoded, len(problem.examples.encoded.labels)
    weights = random_weights(problem, 1)
    for i in range(problem.m):
        d = int(np.diff(encoded.offsets)[i])
        inside = slice(*encoded.edges[0][i : i + 2])
        joined = encoded.edges[1][inside]
        s, vertices = instance_scores(problem, weights, i), outputs(problem, i).vertices
        for vertex in vertices[:: max(1, len(vertices) // 20)]:
            y = vertex[: d * K].reshape(d, K).argmax(axis=1)
            nodes = sum(s[k * K + y[k]] for k in range(d))
            pairs = sum(
                s[d * K + e * K * K + y[a] * K + y[b]] for e, (a, b) in enumerate(joined.tolist())
            )
            assert s @ vertex == pytest.approx(nodes + pairs, abs=1e-12)


@graphs
@pytest.mark.parametrize(("beta", "gamma"), [(1.0, 0.0), (3.0, 2.0), (inf, 1.0)])
def test_gradient_is_that_of_the_losses(options, beta, gamma):
    problem = problem_of(options, beta, gamma)
    weights = random_weights(problem, 2)
    slopes = finite_differences(lambda w: loss_and_gradient(problem, w, 1)[0], weights)
    np.testing.assert_allclose(loss_and_gradient(problem, weights, 1)[1], slopes, atol=1e-5)


def test_no_edges_are_independent_variables():
    """The marginals and the objective are those of single variables, one an instance."""
    options = {"sizes": (2, 1, 3), "labels": 3, "values": True}
    weights = None
    for inference in (Enumeration(), LoopyBP()):
        graph = problem_of(options, edges="none", inference=inference)
        encoded = graph.examples.encoded
        alone = replace(
            encoded, offsets=np.arange(7), edges=(np.zeros(7, np.int64), np.zeros((0, 2), np.int32))
        )
        single = make_problem(alone, Single(), LossFamily(), Exact())
        weights = random_weights(graph, 4) if weights is None else weights
        assert graph.dimension == single.dimension
        assert graph.losses(weights) == pytest.approx(single.losses(weights), abs=1e-10)
        of_labels = marginals(graph.examples, graph.kernels, weights, "label", Serial())
        expected = marginals(single.examples, single.kernels, weights, "label", Serial())
        assert [table.shape for table in of_labels] == [(6,), (3,), (9,)]
        tables = Pairwise("none").probabilities("labels", encoded, graph.structure, of_labels)
        assert [table.shape for table in tables] == [(2, 3), (1, 3), (3, 3)]
        np.testing.assert_allclose(np.concatenate(of_labels), np.concatenate(expected), atol=1e-8)


@graphs
def test_decodes_as_the_listing_does(options):
    listed = problem_of(options)
    weights, rest = random_weights(listed, 5), problem_of(options, inf, 1.0, ILP())
    expected = best_outputs(listed.examples, listed.kernels, weights, Serial())
    outputs = best_outputs(rest.examples, rest.kernels, weights, Serial())
    for one in ("offsets", "parts", "values"):
        np.testing.assert_array_equal(getattr(outputs, one), getattr(expected, one))


def test_weights_of_ones_own_variables():
    """A wide graph learns that one variable is always on and another always off, which shared
    weights cannot tell.
    """
    gold = np.array([1, 0, 1] * 4, np.int32)
    edges = np.arange(0, 9, 2), np.array([[0, 1], [1, 2]] * 4, np.int32)
    wrong = {}
    for name in (True, False):
        rows = 4 if name else 12
        table = AttributeTable(np.arange(rows + 1), np.zeros(rows, np.int32), None, 1)
        encoded = EncodedGraphs(
            np.arange(0, 13, 3), {"label": table}, ("off", "on"), gold, edges=edges, wide=name
        )
        problem = make_problem(encoded, Pairwise("none"), LossFamily(inf, 1.0), AD3(), 10.0)
        optimizer = DCA()
        state = optimizer.init(problem, np.zeros(problem.dimension))
        for _ in range(10):
            state, _ = optimizer.step(problem, state)
        outputs = best_outputs(
            problem.examples, problem.kernels, optimizer.weights(state), Serial()
        )
        wrong[name] = int(
            (Pairwise("none").view("labels", encoded, problem.structure, outputs) != gold).sum()
        )
    assert wrong == {True: 0, False: 4}


def test_empty_corpora_and_graphs_without_edges():
    for options in (
        {"sizes": ()},
        {"sizes": (), "wide": True},
        {"sizes": (1, 1)},
        {"sizes": (1, 1), "wide": True},
    ):
        encoded = random_graphs(0, **options)
        for edges in ("task", "complete", "none"):
            graph = Pairwise(edges)
            structure = graph.build(encoded)
            assert len(structure) == len(encoded)
            assert len(graph.gold(encoded, structure).parts) == len(encoded)


@pytest.mark.parametrize(
    ("encoded", "edges", "message"),
    [
        (random_encoded(), "task", r"needs Multilabel\(\), Grid\(\) or Synthetic\(\)"),
        (
            small(labels=("a",)),
            "task",
            "needs variables with at least 2 states, but the training data have 1",
        ),
        (small(forbidden_starts=(0,)), "task", "has no hard constraints between labels"),
        (
            small(edges=(np.array([0, 1, 2]), np.array([[0, 2], [0, 2]]))),
            "task",
            r"instance 1: edges=\[0, 2\] must have two different variables from 0 to 1",
        ),
        (
            small(edges=(np.array([0, 1, 1]), np.array([[1, 0]]))),
            "task",
            r"instance 0: edges=\[1, 0\] .* the lower one first",
        ),
        (small(edges=(np.array([0, 1, 1]), np.array([[1, 1]]))), "task", "two different variables"),
        (small(edges=(np.array([0, 1]), np.array([[0, 1]]))), "task", "edges must have 3 offsets"),
        (small(wide=True), "none", "instance 1: differs from instance 0"),
        (
            random_graphs(0, edge_attributes=2),
            "complete",
            r"features on its edges\. Set edges='task'",
        ),
    ],
)
def test_refuses(encoded, edges, message):
    with pytest.raises(ConfigError, match=message):
        Pairwise(edges).build(encoded)


def test_labels_that_are_kept():
    """The parts of the labels that are kept, of each variable that is not free."""
    kept = np.ones((5, 3), bool)
    kept[1], kept[4] = (False, True, False), (True, False, True)
    encoded, graph = small(allowed=kept), Pairwise()
    structure = graph.build(encoded)
    allowed = graph.restricted(encoded, structure)
    excluded = allowed.excluded(structure.parts, (0, len(encoded)))
    labels = structure.spans("label")
    begins = np.repeat(structure.parts[:-1] + labels[0], np.diff(encoded.offsets))
    position = np.arange(5) - np.repeat(encoded.offsets[:-1], np.diff(encoded.offsets))
    for variable in range(5):
        first = begins[variable] + 3 * position[variable]
        assert (~excluded[first : first + 3] == kept[variable]).all()
    assert excluded.sum() == 3
    last = len(encoded) - 1
    assert (
        allowed.excluded(structure.parts, (last, last + 1)) == excluded[structure.parts[last] :]
    ).all()
    assert graph.restricted(small(), structure) is None


def test_refuses_other_edges_in_wide_graphs():
    encoded = replace(
        wide(), edges=(np.array([0, 2, 4]), np.array([[0, 1], [1, 2], [0, 1], [0, 2]], np.int32))
    )
    with pytest.raises(ConfigError, match=r"instance 1: .* Encode the graphs with wide=False"):
        Pairwise().build(encoded)


def test_refuses_costs_of_trees():
    graph = Pairwise()
    with pytest.raises(
        ConfigError, match=r"counts parts of the role arc, and this graph has: variable, label\."
    ):
        graph.cost(small(), graph.build(small()), np.ones(5), "arc")


def test_its_options():
    with pytest.raises(ConfigError, match=r"factor_graph\.edges"):
        registry.create("factor_graph", {"name": "pairwise", "edges": "grid"})
