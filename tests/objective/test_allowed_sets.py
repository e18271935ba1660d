"""Targets that are sets of outputs: losses against all outputs listed, and what learners make of
them.
"""

from dataclasses import replace
from math import inf, isinf, log

import numpy as np
import pytest

from structopt.config import registry
from structopt.core.data.targets import AllowedParts, Targets
from structopt.errors import ConfigError, InfeasibleError
from structopt.executor.threads import Threads
from structopt.factor_graph.arc_factored import ArcFactored
from structopt.factor_graph.linear_chain import LinearChain
from structopt.factor_graph.pairwise import Pairwise
from structopt.factor_graph.second_order import SecondOrder
from structopt.factor_graph.single import Single
from structopt.inference.ad3 import AD3
from structopt.inference.enumeration import Enumeration
from structopt.inference.exact import Exact
from structopt.loss.cost.labeled_arcs import LabeledArcs
from structopt.loss.difference import LossDifference
from structopt.loss.family import HAMMING, LossFamily
from structopt.objective.problem import Problem
from structopt.testing.inference import finite_differences
from structopt.testing.problems import (
    gold_and_cost,
    instance_scores,
    loss_and_gradient,
    make_problem,
    random_encoded,
    random_graphs,
    random_trees,
    random_weights,
    residual,
    with_open_gold,
)

MEMBERS = [(1.0, 0.0), (inf, 1.0), (0.5, 2.5)]
members = pytest.mark.parametrize(("beta", "gamma"), MEMBERS)
CASES = {
    "chain": (LinearChain(), Exact(), lambda: random_encoded(3, lengths=(1, 2, 4))),
    "chain of order 2": (
        LinearChain(2),
        Exact(),
        lambda: random_encoded(3, lengths=(1, 2, 4), constrained=True),
    ),
    "anchored chain": (
        LinearChain(),
        Exact(),
        lambda: random_encoded(3, anchored=True, partial=True),
    ),
    "single": (Single(), Exact(), lambda: random_encoded(3, lengths=(1, 1, 1, 1))),
    "trees": (ArcFactored(), Exact(), lambda: random_trees(1, lengths=(1, 2, 3))),
    "labelled trees": (
        ArcFactored(labeled=True),
        Exact(),
        lambda: random_trees(1, lengths=(1, 2, 3), labels=2),
    ),
    "projective trees": (
        ArcFactored(True, True),
        Exact(),
        lambda: random_trees(2, lengths=(1, 2, 3), projective=True),
    ),
    "pruned trees": (
        ArcFactored(single_root=False),
        Exact(),
        lambda: random_trees(1, (1, 2, 3), 3, candidates=True),
    ),
    "graphs": (Pairwise(), Enumeration(), lambda: random_graphs(1, sizes=(2, 3), labels=3)),
    "wide graphs": (Pairwise(), Enumeration(), lambda: random_graphs(1, sizes=(3, 3), wide=True)),
    "second order": (
        SecondOrder(prune_ratio=0.0, max_heads=0),
        Enumeration(),
        lambda: random_trees(1, lengths=(1, 2, 3)),
    ),
}
cases = pytest.mark.parametrize("case", CASES)


def made(case: str, loss: LossFamily, seed: int = 0) -> Problem:
    graph, inference, corpus = CASES[case]
    return make_problem(with_open_gold(corpus(), seed), graph, loss, inference)


def listed(problem: Problem, i: int) -> tuple[np.ndarray, np.ndarray]:
    """All outputs of an instance, and which of them the target allows."""
    structure, size = problem.structure, int(np.diff(problem.structure.parts)[i])
    vertices = structure.kind.vertices(structure.record, i, size, 100_000)
    if not problem.targets.sets[i]:
        gold, _ = gold_and_cost(problem, i, size)
        return vertices, (vertices == gold).all(axis=1)
    own = problem.targets.allowed.subset(i, i + 1)
    fits = np.ones(len(vertices), bool)
    for v, (start, end) in enumerate(zip(own.starts, own.ends, strict=True)):
        allowed = own.parts[own.offsets[v] : own.offsets[v + 1]]
        outside = np.setdiff1d(np.arange(start, end), allowed)
        fits &= (vertices[:, outside] == 0).all(axis=1)
    return vertices, fits


def soft(beta: float, scores: np.ndarray) -> float:
    """(1/beta) log sum exp beta s, or the maximum."""
    top = scores.max()
    return top if isinf(beta) else top + log(np.exp(beta * (scores - top)).sum()) / beta


@cases
@members
def test_loss_is_the_difference_of_two_sums(case, beta, gamma):
    problem = made(case, LossFamily(beta, gamma))
    assert problem.targets.sets.any()
    weights = random_weights(problem, 1)
    for i in range(problem.m):
        s = instance_scores(problem, weights, i)
        (vertices, fits), (_, p) = listed(problem, i), gold_and_cost(problem, i, len(s))
        costs = vertices @ p
        costs -= costs[fits].min()
        assert costs.min() >= 0.0
        np.testing.assert_allclose(costs[fits], 0.0, atol=1e-12)  # 0 on the allowed set
        expected = soft(beta, vertices @ s + gamma * costs) - soft(beta, (vertices @ s)[fits])
        value, r = residual(problem, s, i)
        assert value == pytest.approx(expected, abs=1e-9)
        assert value >= -1e-9
        if not isinf(beta):
            slope = finite_differences(lambda x, i=i: residual(problem, x, i)[0], s)
            np.testing.assert_allclose(r, slope, atol=1e-6)


@cases
def test_residual_is_marginals_of_both_sides(case):
    """At beta = 1: z_bar over all outputs less z_bar over the allowed ones, to 1e-9."""
    problem = made(case, LossFamily(1.0, 1.0))
    weights = random_weights(problem, 2)
    for i in range(problem.m):
        s = instance_scores(problem, weights, i)
        (vertices, fits), (_, p) = listed(problem, i), gold_and_cost(problem, i, len(s))
        augmented = vertices @ (s + p)
        sides = []
        for kept in (np.ones(len(fits), bool), fits):
            q = np.exp(augmented[kept] - augmented[kept].max())
            sides.append(q @ vertices[kept] / q.sum())
        np.testing.assert_allclose(residual(problem, s, i)[1], sides[0] - sides[1], atol=1e-9)


@cases
@members
def test_sets_of_one_output_are_points(case, beta, gamma):
    """Where every variable is known, the loss is that of the gold output, and takes its branch: the
    same bits.
    """
    graph, inference, corpus = CASES[case]
    encoded = corpus()
    opened = with_open_gold(encoded, share=0.0)
    points, sets = (
        make_problem(one, graph, LossFamily(beta, gamma), inference) for one in (encoded, opened)
    )
    assert not sets.targets.sets.any()
    weights = random_weights(points, 1)
    assert [loss_and_gradient(points, weights, i)[0] for i in range(points.m)] == [
        loss_and_gradient(sets, weights, i)[0] for i in range(sets.m)
    ]


@cases
def test_the_set_of_all_outputs_has_no_loss(case):
    graph, inference, corpus = CASES[case]
    encoded = with_open_gold(corpus(), share=1.1)
    encoded.gold_sets[:] = True
    for beta in (1.0, inf):
        problem = make_problem(encoded, graph, LossFamily(beta, 0.0), inference)
        weights = random_weights(problem, 1)
        assert [
            residual(problem, instance_scores(problem, weights, i), i)[0] for i in range(problem.m)
        ] == pytest.approx([0.0] * problem.m, abs=1e-12)


def test_prediction_based_loss_completes_the_target():
    problem = make_problem(
        with_open_gold(random_encoded(3)),
        LinearChain(),
        LossFamily(inf, 1.0),
        Exact(),
        variant="prediction",
    )
    weights = random_weights(problem, 1)
    for i in range(problem.m):
        s = instance_scores(problem, weights, i)
        (vertices, fits), (_, p) = listed(problem, i), gold_and_cost(problem, i, len(s))
        scores, costs = vertices @ s, vertices @ p
        best = scores.argmax()
        expected = scores[best] - scores[fits].max() + costs[best] - costs[fits][0]
        assert residual(problem, s, i)[0] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("beta", [1.0, inf])
def test_ramp_and_risk(beta):
    problem = made("chain", LossDifference(beta, 1.5))
    weights = random_weights(problem, 1)
    for i in range(problem.m):
        s = instance_scores(problem, weights, i)
        (vertices, fits), (_, p) = listed(problem, i), gold_and_cost(problem, i, len(s))
        costs = vertices @ p
        costs -= costs[fits].min()
        expected = soft(beta, vertices @ s + 1.5 * costs) - soft(beta, vertices @ s)
        assert residual(problem, s, i)[0] == pytest.approx(expected, abs=1e-9)


def test_costs_count_the_allowed_arcs_of_their_role():
    """Labels of an arc cost where head or relation is none of the allowed; a free head and relation
    cost nothing.
    """
    encoded = with_open_gold(random_trees(1, labels=3))
    graph = ArcFactored(labeled=True)
    problem = make_problem(encoded, graph, LossFamily(inf, 1.0, LabeledArcs()), Exact())
    for i in range(problem.m):
        vertices, fits = listed(problem, i)
        _, p = gold_and_cost(problem, i, vertices.shape[1])
        costs = vertices @ p
        np.testing.assert_allclose(costs[fits], costs.min(), atol=1e-12)
        assert (costs[~fits] > costs.min() + 0.5).all()


def test_features_that_an_allowed_output_has_may_move():
    """Of an open label all attributes have a weight; of a known one only those of the label."""
    encoded = with_open_gold(random_encoded(3))
    problem = make_problem(encoded, LinearChain(), LossFamily(), Exact(), support="seen")
    closed = make_problem(random_encoded(3), LinearChain(), LossFamily(), Exact(), support="seen")
    assert closed.scorer.support.sum() < problem.scorer.support.sum()
    assert (problem.scorer.support | ~closed.scorer.support).all()


def test_possible_parts_are_those_of_allowed_outputs():
    problem = made("chain", LossFamily())
    found = problem.targets.possible(problem.structure.parts)
    for i in range(problem.m):
        vertices, fits = listed(problem, i)
        reached = np.flatnonzero(vertices[fits].any(axis=0))
        own = found.parts[found.offsets[i] : found.offsets[i + 1]]
        assert set(reached) <= set(own.tolist())


def test_subsets():
    targets = made("labelled trees", LossFamily()).targets
    m = len(targets)
    for first, last in [(0, m), (1, 3), (2, 2), (m - 1, m)]:
        part = targets.subset(first, last)
        assert len(part) == last - first
        np.testing.assert_array_equal(part.sets, targets.sets[first:last])
        v = slice(*targets.allowed.variables[[first, last]])
        np.testing.assert_array_equal(part.allowed.starts, targets.allowed.starts[v])
        a = slice(*targets.allowed.offsets[[v.start, v.stop]])
        np.testing.assert_array_equal(part.allowed.parts, targets.allowed.parts[a])


def test_parts_of_variables():
    """Free variables have no range; the parts of the others count within the instance."""
    table = np.array([[1, 1, 1], [0, 1, 0], [1, 0, 1]], bool)
    allowed = AllowedParts.of_table(np.array([0, 2, 3]), np.array([0, 3, 0]), table)
    assert (allowed.starts.tolist(), allowed.ends.tolist()) == ([0, 3, 0], [0, 6, 3])
    assert (allowed.offsets.tolist(), allowed.parts.tolist()) == ([0, 0, 1, 3], [4, 0, 2])
    second = allowed.of_instances(np.array([False, True]))
    assert (second.variables.tolist(), second.starts.tolist(), second.parts.tolist()) == (
        [0, 0, 1],
        [0],
        [0, 2],
    )
    weighted = allowed.weighted(np.array([1.0, 2.0, 3.0]))
    assert (weighted.offsets.tolist(), weighted.values.tolist()) == ([0, 1, 3], [2.0, 3.0, 3.0])


@pytest.mark.parametrize(
    ("name", "beta", "gamma"),
    [
        ("dca", 1.0, 0.0),
        ("dca", inf, 1.0),
        ("mira", inf, 1.0),
        ("perceptron", inf, 0.0),
        ("pegasos", inf, 1.0),
        ("sgd", 1.0, 1.0),
        ("adagrad", inf, 1.0),
        ("adadelta", 1.0, 0.0),
        ("lbfgs", 1.0, 0.0),
        ("cutting_plane", inf, 1.0),
        ("online_cutting_plane", inf, 1.0),
    ],
)
def test_learners_lower_the_objective(name, beta, gamma):
    """From zero weights, losses fall; no learner claims to know a bound."""
    encoded = with_open_gold(random_encoded(5, lengths=(4, 5, 3, 6, 4)))
    problem = make_problem(encoded, LinearChain(), LossFamily(beta, gamma), Exact())
    optimizer = registry.create("optimizer", {"name": name})
    state = optimizer.init(problem, np.zeros(problem.dimension))
    reached = [problem.losses(np.zeros(problem.dimension))]
    for _ in range(10):
        state, report = optimizer.step(problem, state)
        assert report.dual is None
        reached.append(problem.losses(optimizer.weights(state)))
    if gamma > 0.0 or not isinf(beta):
        assert reached[-1] < 0.8 * reached[0]
    else:
        assert np.abs(optimizer.weights(state)).sum() > 0.0
    assert not problem.convex


def test_k_best_mira_completes_the_target():
    """With one allowed set and k = 1 the step is that of the best allowed output; k > 1 takes it
    for its planes too.
    """
    problem = make_problem(
        with_open_gold(random_encoded(5)), LinearChain(), LossFamily(inf, 1.0), Exact()
    )
    found = {}
    for k in (1, 3):
        optimizer = registry.create(
            "optimizer", {"name": "mira", "C": 1.0, "k_best": k, "epochs": 5}
        )
        state = optimizer.init(problem, np.zeros(problem.dimension))
        for _ in range(5):
            state, _ = optimizer.step(problem, state)
        found[k] = problem.objective(optimizer.weights(state))
        assert optimizer.verify(problem, state, range(problem.m)) == pytest.approx(0.0, abs=1e-5)
    assert max(found.values()) < problem.objective(np.zeros(problem.dimension))


def test_shards_see_the_same_losses():
    encoded = with_open_gold(random_encoded(5, lengths=(4, 5, 3, 6, 4, 2, 7)))
    one, other = (make_problem(encoded, LinearChain(), LossFamily(), Exact()) for _ in range(2))
    other.executor = Threads(workers=2)
    weights = random_weights(one, 1)
    expected, found = one.gradient(weights), other.gradient(weights)
    assert found[0] == pytest.approx(expected[0], rel=1e-12)
    np.testing.assert_allclose(found[1], expected[1], atol=1e-12)


def test_relaxed_inference_bounds_the_set_too():
    """AD3 with exact=true answers as the listing does, restricted or not."""
    encoded = with_open_gold(random_graphs(1, labels=2))
    exact, listing = (
        make_problem(encoded, Pairwise(), LossFamily(inf, 1.0), inference)
        for inference in (AD3(exact=True), Enumeration())
    )
    weights = random_weights(listing, 3)
    for i in range(listing.m):
        s = instance_scores(listing, weights, i)
        assert residual(exact, s, i)[0] == pytest.approx(residual(listing, s, i)[0], abs=1e-6)


def test_a_set_without_outputs_is_refused():
    encoded = random_encoded(3, constrained=True)
    sets = np.ones((len(encoded.gold), len(encoded.labels)), bool)
    sets[int(encoded.offsets[1])] = np.arange(len(encoded.labels)) == encoded.forbidden_starts[0]
    with pytest.raises(
        InfeasibleError, match="instance 1: No output agrees with the partial labels"
    ):
        make_problem(replace(encoded, gold_sets=sets), LinearChain(), LossFamily(), Exact())


def test_graphs_that_cannot_be_restricted_say_so():
    class Fixed(LinearChain):
        def allowed(self, encoded, structure, role="variable"):
            return super(LinearChain, self).allowed(encoded, structure, role)

    with pytest.raises(
        ConfigError,
        match="Some gold outputs are open, and this factor graph does not say",
    ):
        make_problem(with_open_gold(random_encoded(3)), Fixed(), LossFamily(), Exact())


def test_points_have_no_variables():
    problem = make_problem(random_encoded(3), LinearChain(), LossFamily(inf, 1.0, HAMMING), Exact())
    targets = Targets.of_points(problem.targets.points)
    assert not targets.sets.any()
    assert targets.allowed.variables[-1] == 0
