"""Loopy belief propagation: exact without cycles, near on mild ones, the same in odds and in logs,
honest about convergence.
"""

from itertools import pairwise
from math import inf

import numpy as np
import pytest

from structopt.core.ability import Ability
from structopt.errors import ArgumentError, CompatibilityError
from structopt.factor_graph import kinds
from structopt.factor_graph.factor_rows import FactorRows
from structopt.inference.enumeration import Enumeration
from structopt.inference.loopy_bp import LoopyBP
from structopt.kernels.loopy.bp_in_odds import MODERATE
from structopt.kernels.loopy.factors import PAIRS
from structopt.kernels.waist.record import Record
from structopt.testing.inference import InferenceSuite, finite_differences, run
from tests.inference.factor_problems import (
    ACYCLIC,
    LOOPY,
    arc_bounds,
    beside_a_tree,
    factor_structure,
    random_scores,
    tree_rows,
)

exhaustive = Enumeration().kernels(kinds.LOOPY).solve
patient = LoopyBP(passes=200, tolerance=1e-13)


def propagated(inference, rows, s, temperature):
    return run(
        inference.kernels(kinds.LOOPY).solve,
        inference.prepare(factor_structure([rows])),
        0,
        s,
        temperature,
    )


def listed(rows, s, temperature):
    return run(exhaustive, factor_structure([rows]), 0, s, temperature)


class TestLoopyBP(InferenceSuite):
    tolerance = 1e-8

    @pytest.fixture
    def inference(self):
        return patient

    @pytest.fixture
    def structure(self, inference):
        return inference.prepare(
            factor_structure([ACYCLIC[name] for name in ("tree", "chain", "pairs", "budget")])
        )


@pytest.mark.parametrize("name", ACYCLIC)
def test_exact_without_cycles(name):
    for seed in range(4):
        for scale in (1.0, 5.0, 50.0):
            s = random_scores(ACYCLIC[name], seed, scale)
            for temperature in (0.0, 0.5, 1.0, 3.0):
                value, z = propagated(patient, ACYCLIC[name], s, temperature)
                expected, marginals = listed(ACYCLIC[name], s, temperature)
                assert value == pytest.approx(expected, rel=1e-9, abs=1e-9)
                np.testing.assert_allclose(z, marginals, atol=1e-8)


@pytest.mark.parametrize("name", ACYCLIC)
def test_forbidden_parts(name):
    """Scores of -inf, where something remains allowed."""
    for seed in range(6):
        s = random_scores(ACYCLIC[name], seed)
        s[np.random.default_rng(seed).random(len(s)) < 0.15] = -inf
        expected, marginals = listed(ACYCLIC[name], s, 1.0)
        value, z = propagated(patient, ACYCLIC[name], s, 1.0)
        if expected == -inf:
            assert not value > -100.0
        else:
            assert value == pytest.approx(expected, rel=1e-8)
            np.testing.assert_allclose(z, marginals, atol=1e-8)


@pytest.mark.parametrize(
    ("name", "of_value", "of_marginals"),
    [
        ("siblings", 0.1, 0.35),
        ("grandparents", 0.1, 0.25),
        ("second_order", 0.2, 0.4),
        ("sparse_second_order", 0.05, 0.1),
        ("projective_second_order", 0.15, 0.3),
        ("cycle", 0.002, 0.005),
        ("complete", 0.002, 0.005),
    ],
)
def test_near_on_graphs_with_cycles(name, of_value, of_marginals):
    """With private scores a tenth of the others; only the hard factor of a tree makes short cycles
    that matter.
    """
    for seed in range(6):
        s = random_scores(LOOPY[name], seed, own=0.1)
        value, z = propagated(patient, LOOPY[name], s, 1.0)
        expected, marginals = listed(LOOPY[name], s, 1.0)
        assert value == pytest.approx(expected, abs=of_value)
        np.testing.assert_allclose(z, marginals, atol=of_marginals)


@pytest.mark.parametrize("name", ["siblings", "grandparents", "complete"])
def test_beliefs_are_the_gradient_where_messages_converged(name):
    for seed in range(3):
        s = random_scores(LOOPY[name], seed, own=0.3)
        z = propagated(patient, LOOPY[name], s, 1.0)[1]
        slopes = finite_differences(
            lambda x, name=name: propagated(patient, LOOPY[name], x, 1.0)[0], s
        )
        np.testing.assert_allclose(z, slopes, atol=1e-5)


@pytest.mark.parametrize(
    "name", ["tree", "tree_and_more", "second_order", "projective_second_order"]
)
def test_heads_of_a_token_sum_to_one(name):
    rows = (ACYCLIC | LOOPY)[name]
    z = propagated(LoopyBP(passes=2), rows, random_scores(rows, 1, 3.0), 1.0)[1]
    for first, last in pairwise(arc_bounds(rows)):
        assert z[first:last].sum() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("damping", [0.0, 0.3])
@pytest.mark.parametrize(
    "name", ["siblings", "grandparents", "second_order", "automaton", "pairs", "tree_and_more"]
)
def test_odds_and_logs_agree(name, damping):
    """A pair beside the problem, with a score too large for odds, sends it through the logs."""
    rows = (ACYCLIC | LOOPY)[name]
    inference = LoopyBP(passes=3, damping=damping, tolerance=0.0)
    wide = len(rows.widths)
    lists = [list(given) for given in (rows.kinds, rows.links, rows.privates, rows.extras)]
    apart = FactorRows(np.ones(wide + 2, np.int64), *lists)
    apart.add(PAIRS, [wide, wide + 1], 1)
    for seed in range(5):
        for scale in (1.0, 8.0):
            s = random_scores(rows, seed, scale)
            far = np.concatenate([s[:wide], [0.0, 0.0], s[wide:], [MODERATE + 10.0]])
            value, z = propagated(inference, rows, s, 1.0)
            other, y = propagated(inference, apart, far, 1.0)
            assert value == pytest.approx(
                other - np.log(3.0 + np.exp(MODERATE + 10.0)), rel=1e-6, abs=1e-6
            )
            np.testing.assert_allclose(z, np.concatenate([y[:wide], y[wide + 2 : -1]]), atol=1e-6)


def test_large_odds_are_not_lost():
    """Arcs that must be on, and strong private scores: the beliefs keep what the clipped odds
    cannot hold.
    """
    rows = tree_rows(4, density=0.6, seed=1)
    for seed in range(5):
        s = random_scores(rows, seed, 10.0)
        value, z = propagated(patient, rows, s, 0.5)
        expected, marginals = listed(rows, s, 0.5)
        assert value == pytest.approx(expected, rel=1e-4)
        np.testing.assert_allclose(z, marginals, atol=1e-4)


@pytest.mark.parametrize("name", LOOPY)
def test_at_temperature_zero_the_value_is_the_score_of_the_answer(name):
    for seed in range(6):
        s = random_scores(LOOPY[name], seed)
        value, z = propagated(LoopyBP(), LOOPY[name], s, 0.0)
        assert value == pytest.approx(s @ z)
        assert set(z.tolist()) <= {0.0, 1.0}
        if name != "constrained":
            assert value <= listed(LOOPY[name], s, 0.0)[0] + 1e-9


def test_extreme_scores_stay_finite():
    for name, rows in LOOPY.items():
        for seed in range(3):
            s = random_scores(rows, seed, 1e3)
            for temperature in (0.0, 0.1, 1.0):
                value, z = propagated(LoopyBP(), rows, s, temperature)
                assert np.isfinite(value), name
                assert np.isfinite(z).all(), name
                assert z.min() >= -1e-9
                assert z.max() <= 1.0 + 1e-9


def test_no_tree_is_minus_infinity():
    rows = tree_rows(3)
    s = random_scores(rows)
    s[: arc_bounds(rows)[1]] = -inf
    for temperature in (0.0, 1.0):
        value, z = propagated(LoopyBP(), rows, s, temperature)
        assert value == -inf
        assert not z.any()


def test_convergence_is_reported_for_every_instance():
    graphs = [ACYCLIC["tree"], LOOPY["second_order"], ACYCLIC["chain"]]
    inference = LoopyBP(passes=3, tolerance=1e-9)
    structure = inference.prepare(factor_structure(graphs))
    memory, solve = np.zeros(int(structure.memory[-1])), inference.kernels(kinds.LOOPY).solve
    assert inference.diagnostics(memory)["unconverged"] == 0.0
    for i, rows in enumerate(graphs):
        s, work = random_scores(rows, i), Record(*(buffer.copy() for buffer in structure.work))
        solve(
            structure.record,
            i,
            s,
            1.0,
            np.zeros(len(s)),
            memory[structure.memory[i] : structure.memory[i + 1]],
            work,
        )
    assert memory[0] == 2.0
    assert memory[1] == -3.0
    assert inference.diagnostics(memory)["unconverged"] >= 1 / 3
    assert inference.diagnostics(np.array([5.0, -3.0, 0.0, -1.0]))["unconverged"] == pytest.approx(
        2 / 3
    )


def test_instances_do_not_disturb_one_another():
    """The answer does not depend on what the scratch was used for before."""
    graphs = [
        LOOPY["second_order"],
        ACYCLIC["chain"],
        beside_a_tree(tree_rows(3)),
        LOOPY["complete"],
    ]
    inference = LoopyBP()
    structure = inference.prepare(factor_structure(graphs))
    solve, work = (
        inference.kernels(kinds.LOOPY).solve,
        Record(*(buffer.copy() for buffer in structure.work)),
    )
    for _ in range(2):
        for i, rows in enumerate(graphs):
            s, z = random_scores(rows, i), np.zeros(len(random_scores(rows, i)))
            value = solve(structure.record, i, s.copy(), 1.0, z, np.zeros(1), work)
            expected, marginals = propagated(inference, rows, s, 1.0)
            assert value == expected
            np.testing.assert_array_equal(z, marginals)


def test_promises_and_refusals():
    assert LoopyBP().provides(kinds.LOOPY) == Ability.MAP | Ability.MARGINALS
    with pytest.raises(CompatibilityError, match=r"Exact\(\)"):
        LoopyBP().kernels(kinds.CHAIN)
    for options in (
        {"passes": 0},
        {"damping": 1.0},
        {"tolerance": -1.0},
        {"decoding_temperature": -1.0},
    ):
        with pytest.raises(ArgumentError, match=next(iter(options))):
            LoopyBP(**options)
