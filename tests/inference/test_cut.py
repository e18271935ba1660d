"""Minimum cuts: the relaxation on pairs of two states, best outputs of submodular pairs, expansion
moves with their guarantee, and refusals that name the pair.
"""

from itertools import product
from math import inf

import numpy as np
import pytest

import structopt as so
from structopt.config.compatibility import check
from structopt.core.ability import Ability
from structopt.errors import ArgumentError, CompatibilityError
from structopt.factor_graph.factor_rows import FactorRows
from structopt.factor_graph.kinds import CHAIN, LOOPY
from structopt.factor_graph.pairwise import Pairwise
from structopt.inference.cut import Cut
from structopt.inference.exact import Exact
from structopt.inference.ilp import ILP
from structopt.inference.lp import LP
from structopt.kernels.loopy.factors import TABLE
from structopt.loss.family import LossFamily
from structopt.optimizer.sdca import SDCA
from structopt.testing.inference import InferenceSuite, run
from structopt.testing.problems import make_problem, random_graphs
from tests.inference.small_graphs import complete, mixed, outputs, structure_of
from tests.messages import raises


def grid(rows, columns, states=2):
    row = FactorRows(np.full(rows * columns, states, np.int32))
    for a, b in so.grid_edges(rows, columns).tolist():
        row.add(TABLE, [a, b], states**2)
    return row


ROWS = [
    complete([2] * 5),
    grid(3, 3),
    complete([2, 2], loose=0),
    FactorRows(np.full(3, 2, np.int32)),
]
PLAIN = structure_of(ROWS)
SIZES = (2, 3, 5)
each = pytest.mark.parametrize("i", range(len(ROWS)))


def tables(row, s):
    """The scores of the pairs as a view, shape (pairs, states, states); all variables have equal
    states.
    """
    K, V = int(row.widths[0]), len(row.widths)
    return s[K * V :].reshape(len(row.links), K, K)


def submodular(row, s):
    """Exchange the columns of pairs that are not submodular."""
    own = tables(row, s)
    wrong = own[:, 0, 0] + own[:, 1, 1] < own[:, 0, 1] + own[:, 1, 0]
    own[wrong] = own[wrong][:, :, ::-1]
    return s


def draws(row, count=6, seed=0):
    generator = np.random.default_rng([seed, len(row.links)])
    for _ in range(count):
        yield generator.normal(size=int(row.widths.sum()) + sum(row.privates))


def solved(row, s, **options):
    """Value and z of one graph."""
    inference = Cut(**options)
    structure = inference.prepare(structure_of([row]))
    return run(inference.kernels(LOOPY).solve, structure, 0, s, 0.0)


def value_of(inference, row, s):
    structure = inference.prepare(structure_of([row]))
    return run(inference.kernels(LOOPY).solve, structure, 0, s, 0.0)[0]


class TestRelaxed(InferenceSuite):
    @pytest.fixture
    def inference(self):
        return Cut()

    @pytest.fixture
    def structure(self, inference):
        return inference.prepare(PLAIN)


class TestExact(InferenceSuite):
    @pytest.fixture
    def inference(self):
        return Cut(method="exact")

    @pytest.fixture
    def structure(self, inference):
        return inference.prepare(Pairwise().build(random_graphs(0, SIZES)))

    @pytest.fixture
    def admit(self):
        return lambda i, s: submodular(complete([2] * SIZES[i]), s)


class TestExpansion(InferenceSuite):
    @pytest.fixture
    def inference(self):
        return Cut(method="expansion", truncate=True)

    @pytest.fixture
    def structure(self, inference):
        return inference.prepare(
            structure_of([complete([3] * 3), grid(2, 2, 4), complete([2] * 4)])
        )


@each
def test_the_value_is_the_relaxation_s(i):
    """Also with forbidden parts; z is a best point in halves."""
    generator, halves = np.random.default_rng(i), 0
    for s in draws(ROWS[i], 20):
        for forbidden in (0, 1, 2):
            s[generator.choice(len(s), forbidden, replace=False)] = -inf
            value, z = solved(ROWS[i], s)
            assert value == pytest.approx(value_of(LP(), ROWS[i], s), abs=1e-7)
            assert set(z.tolist()) <= {0.0, 0.5, 1.0}
            assert not z[s == -inf].any()
            if value > -inf:
                assert z @ np.where(z > 0, s, 0.0) == pytest.approx(value, abs=1e-9)
            halves += (z == 0.5).any()
    assert (halves > 0) == (i == 0)


def test_large_grids_have_the_value_of_the_integer_program():
    row = grid(12, 9)
    for s in draws(row, 2):
        s[2 * len(row.widths) :] *= 0.5
        s = submodular(row, s)
        value, z = solved(row, s, method="exact")
        assert value == pytest.approx(value_of(ILP(), row, s), abs=1e-8)
        assert value == pytest.approx(solved(row, s)[0], abs=1e-12)
        assert set(z.tolist()) <= {0.0, 1.0}


def test_flipped_variables_leave_the_cut_exact():
    """Pairs that reward different states are submodular after an exchange of the states of one
    side, so the relaxation is tight on a grid of them.
    """
    row = grid(3, 4)
    for s in draws(row, 4):
        s = submodular(row, s)
        own = tables(row, s)
        own[:] = own[:, :, ::-1]
        value, z = solved(row, s)
        assert value == pytest.approx(value_of(ILP(), row, s), abs=1e-8)
        assert set(z.tolist()) <= {0.0, 1.0}


def test_forbidden_pairs_are_submodular_if_they_can_be():
    """A forbidden pair of different states has any low score; one of equal states is refused."""
    row = complete([2, 2, 2])
    for s in draws(row):
        own = tables(row, submodular(row, s))
        own[0, 0, 1] = own[1, 1, 0] = -inf
        vertices = outputs(row)
        allowed = vertices[~(vertices[:, s == -inf] > 0).any(axis=1)]
        best = (allowed @ np.where(s == -inf, 0.0, s)).max()
        assert solved(row, s, method="exact")[0] == pytest.approx(best, abs=1e-9)
        own[2, 1, 1] = -inf
        with pytest.raises(CompatibilityError, match="the pair of variables 1 and 2 is not"):
            solved(row, s, method="exact")


def test_pairs_that_are_not_submodular_are_named():
    row, s = complete([2] * 3), np.zeros(6 + 12)
    tables(row, s)[1] = [[1.0, 2.0], [0.5, 1.0]]
    text = (
        r"Cut\(\) needs submodular pairs, and the pair of variables 0 and 2 is not: "
        r"s\(0, 0\) \+ s\(1, 1\) = 2 is less than s\(0, 1\) \+ s\(1, 0\) = 2\.5"
    )
    with raises(CompatibilityError, match=text, where="instance 0"):
        solved(row, s, method="exact")
    tables(row, s)[1, 0, 1] = 1.5 + 1e-15  # rounding
    solved(row, s, method="exact")


def metric(row, generator, spread=1.0):
    """Scores whose costs of pairs are distances of points, and lean on single states."""
    V, K = len(row.widths), int(row.widths[0])
    s = generator.normal(size=V * K + sum(row.privates))
    for table in tables(row, s):
        points = generator.normal(size=(K, 2))
        lean, other = generator.normal(size=(2, K))
        distance = np.linalg.norm(points[:, None] - points, axis=2)
        table[:] = lean[:, None] + other - spread * distance
    return s


def costs(table):
    """V(a, b) of a pair, with u(a) - t(a) the mean of s(a, .) - s(., a)."""
    diagonal, lean = np.diag(table), (table - table.T).mean(axis=1)
    return (diagonal[:, None] + diagonal + lean[:, None] - lean) / 2 - table


@pytest.mark.parametrize("row", [complete([3] * 4), grid(2, 3, 3), grid(2, 2, 4)])
def test_expansions_keep_their_guarantee(row):
    """No move improves the output, and it costs no more than U(y*) + 2 c V(y*)."""
    generator, K = np.random.default_rng(0), int(row.widths[0])
    for spread in (0.3, 1.0, 3.0):
        s = metric(row, generator, spread)
        inference = Cut(method="expansion")
        structure = inference.prepare(structure_of([row]))
        value, z = run(inference.kernels(LOOPY).solve, structure, 0, s, 0.0)
        vertices = outputs(row)
        scores = vertices @ s
        assert z.tolist() in vertices.tolist()
        assert value == pytest.approx(z @ s)
        own, states = z[: K * len(row.widths)].reshape(-1, K), vertices[:, : K * len(row.widths)]
        for state in range(K):
            unit = np.eye(K)[state]
            kept = (states.reshape(-1, *own.shape) == own) | (
                states.reshape(-1, *own.shape) == unit
            )
            assert scores[kept.all(axis=2).all(axis=1)].max() <= value + 1e-9
        pairs = [costs(table) for table in tables(row, s)]
        off = [table[~np.eye(K, dtype=bool)] for table in pairs]
        c = max(table.max() / table.min() for table in off)
        assert inference.diagnostics(np.zeros(0)) == {"expansion_factor": pytest.approx(2 * c)}
        V = vertices[:, K * len(row.widths) :] @ np.concatenate([table.ravel() for table in pairs])
        U = (-scores - V) - (-scores - V).min()
        at, best = vertices.tolist().index(z.tolist()), scores.argmax()
        assert U[at] + V[at] <= U[best] + 2 * c * V[best] + 1e-9


def test_expansions_are_exact_on_two_states_and_near_on_potts_models():
    generator = np.random.default_rng(1)
    for s in draws(ROWS[1]):
        s = submodular(ROWS[1], s)
        assert solved(ROWS[1], s, method="expansion")[0] == pytest.approx(
            solved(ROWS[1], s, method="exact")[0], abs=1e-9
        )
    row = grid(6, 6, 4)
    s = generator.normal(size=4 * 36 + sum(row.privates))
    tables(row, s)[:] = 0.4 * np.eye(4)
    inference = Cut(method="expansion")
    assert value_of(inference, row, s) >= 0.98 * value_of(ILP(), row, s)
    assert inference.diagnostics(np.zeros(0)) == {"expansion_factor": pytest.approx(2.0)}


def test_costs_that_are_not_metric_are_named_or_truncated():
    row = complete([3, 3])
    s = np.array([0, 3, 0, 0, 0, 3, *(0.0, -5.0, 0.0, 0.0, 0.0, -5.0, 0.0, 0.0, 0.0)])
    with raises(CompatibilityError, match=r"variables 0 and 1 is not: s\(1, 2\) \+ s\(0, 0\) = -5"):
        solved(row, s, method="expansion")
    inference = Cut(method="expansion", truncate=True)
    structure = inference.prepare(structure_of([row]))
    value, z = run(inference.kernels(LOOPY).solve, structure, 0, s, 0.0)
    assert value == pytest.approx(z @ s)
    assert value >= 1.0
    assert inference.diagnostics(np.zeros(0))["truncated_terms"] > 0


def test_truncated_moves_never_lower_the_score():
    """The first output has the best state of each variable."""
    row = complete([4] * 5)
    starts = [4 * v for v in range(5)]
    for s in draws(row, 10):
        first = np.zeros(len(s))
        states = [int(s[r : r + 4].argmax()) for r in starts]
        first[[r + y for r, y in zip(starts, states, strict=True)]] = 1.0
        pairs = [first[4 * a : 4 * a + 4, None] * first[4 * b : 4 * b + 4] for a, b in row.links]
        first[20:] = np.concatenate([pair.ravel() for pair in pairs])
        assert solved(row, s, method="expansion", truncate=True)[0] >= first @ s - 1e-9


def test_forbidden_labels_are_never_chosen():
    row, generator = grid(2, 3, 3), np.random.default_rng(5)
    for _ in range(10):
        s = metric(row, generator)
        s[generator.choice(18, 5, replace=False)] = -inf
        forbidden = (s[:18].reshape(6, 3) == -inf).all(axis=1).any()
        value, z = solved(row, s, method="expansion")
        assert (value == -inf) == forbidden
        assert not z[s == -inf].any()


def test_learning_by_cuts_is_learning_by_the_relaxation():
    """The certified gap of sdca closes with either, at the same P."""
    encoded = random_graphs(1, (4, 5, 3, 4), 2, "complete", values=True)
    values = []
    for inference in (Cut(), LP()):
        problem = make_problem(encoded, Pairwise(), LossFamily(inf, 1.0), inference, C=0.5)
        optimizer = SDCA()
        state = optimizer.init(problem, np.zeros(problem.dimension))
        for _ in range(300):
            state, report = optimizer.step(problem, state)
        values.append(optimizer.objective(problem, state))
        assert values[-1] - report.dual <= 2e-3 * values[-1]
    assert values[0] == pytest.approx(values[1], rel=4e-3)


def test_best_outputs_of_scores():
    """`argmax` proves outputs of submodular pairs optimal."""
    batch = so.Pairwise().batch(sizes=[12], edges=[so.grid_edges(3, 4)], labels=2)
    generator = np.random.default_rng(0)
    s = batch.scores(label=generator.normal(size=(12, 2)), edge=0.4 * np.eye(2)[None].repeat(17, 0))
    best, exact = so.argmax(s, so.Cut()), so.argmax(s, Exact())
    assert best.optimal.all()
    np.testing.assert_array_equal(best["labels"], exact["labels"])


def test_abilities():
    exact = Ability.MAP | Ability.UPPER | Ability.CONVEX | Ability.EXACT
    assert Cut(method="exact").provides(LOOPY) == exact
    assert Cut().provides(LOOPY) == exact & ~Ability.EXACT
    assert Cut(method="expansion").provides(LOOPY) == Ability.MAP
    assert Cut().provides(CHAIN) == Ability(0)
    check(Pairwise(), Cut(), LossFamily(inf, 1.0), SDCA())


def test_refusals():
    with raises(ArgumentError, parameter="method", value="swap"):
        Cut(method="swap")
    with raises(ArgumentError, parameter="truncate", value=True):
        Cut(truncate=True)
    with raises(CompatibilityError, match="takes variables of two states", parameter="method"):
        Cut().prepare(structure_of([complete([2, 3])]))
    with raises(CompatibilityError, match="have different states", parameter="method"):
        Cut(method="expansion").prepare(structure_of([complete([2, 3])]))
    with raises(CompatibilityError, match="factors of other kinds", value="Cut"):
        Cut().prepare(structure_of([mixed(np.random.default_rng(0))]))
    with raises(CompatibilityError, match="solves factor graphs of kind 'factors'"):
        Cut().kernels(CHAIN)
    with pytest.raises(CompatibilityError, match="has other factors"):
        check(so.SecondOrder(), Cut(), LossFamily(inf, 1.0), SDCA())


def test_empty_graphs():
    row = FactorRows(np.zeros(0, np.int32))
    for method in ("relaxed", "exact", "expansion"):
        assert solved(row, np.zeros(0), method=method)[0] == 0.0


def test_ties_have_an_output():
    row = grid(2, 2)
    for s in product((0.0, 1.0), repeat=2):
        scores = np.zeros(8 + sum(row.privates))
        scores[[0, 3]] = s
        assert solved(row, scores, method="exact")[0] == sum(s)
