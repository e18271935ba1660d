"""Reweighted belief propagation by counting numbers: a bound at any messages, its gradient, and how
near it comes.

What it does on graphs of pairs is in test_trw_forests; here those have a binary variable more, and
so are no such graphs.
"""

from math import inf

import numpy as np
import pytest

from structopt.core.ability import Ability
from structopt.errors import ArgumentError, CompatibilityError
from structopt.factor_graph import kinds
from structopt.factor_graph.factor_rows import FactorRows
from structopt.inference.enumeration import Enumeration
from structopt.inference.loopy_bp import LoopyBP
from structopt.inference.trw_bp import TRWBP
from structopt.kernels.loopy.factors import FACTORS
from structopt.kernels.loopy.trw_bound import count_links, evaluate, find_cover, slope
from structopt.kernels.loopy.trw_bp import WORK
from structopt.kernels.waist.record import Record
from structopt.testing.inference import InferenceSuite, finite_differences, run
from tests.inference.factor_problems import (
    ACYCLIC,
    LOOPY,
    arc_bounds,
    factor_structure,
    random_scores,
    table_rows,
    tree_rows,
)
from tests.parts import gate_cases

exhaustive = Enumeration().kernels(kinds.LOOPY).solve


def loosened(rows):
    """With one binary variable more, in no factor, where all have several states."""
    if (np.asarray(rows.widths) < 2).any():
        return rows
    return FactorRows(np.append(rows.widths, 1), rows.kinds, rows.links, rows.privates, rows.extras)


GRAPHS = {name: loosened(rows) for name, rows in (ACYCLIC | LOOPY).items()}
graphs = pytest.mark.parametrize("name", GRAPHS)


def bounded(rows, s, temperature, **options):
    inference = TRWBP(**options)
    return run(
        inference.kernels(kinds.LOOPY).solve,
        inference.prepare(factor_structure([rows])),
        0,
        s,
        temperature,
    )


def listed(rows, s, temperature):
    return run(exhaustive, factor_structure([rows]), 0, s, temperature)


class TestTreeReweightedBP(InferenceSuite):
    """With the messages left at zero, where the value is smooth."""

    @pytest.fixture
    def inference(self):
        return TRWBP(passes=0, smoothing=0.5)

    @pytest.fixture
    def structure(self, inference):
        return inference.prepare(
            factor_structure([GRAPHS[name] for name in ("tree", "grandparents", "chain", "lonely")])
        )


class Messages:
    """The bound of one instance as a function of messages and scores."""

    def __init__(self, rows, smoothing):
        structure = TRWBP(smoothing=smoothing).prepare(factor_structure([rows]))
        self.f, self.x = FACTORS.open(structure.record), WORK.open(structure.work).reweighting
        self.cover = find_cover(self.f, 0)
        count_links(self.f, 0, self.cover, self.x.degree)
        covered = (
            0 if self.cover < 0 else int(self.f.links[self.cover + 1] - self.f.links[self.cover])
        )
        self.count = len(self.x.messages) - covered
        self.parts = len(self.x.z)

    def value(self, messages, s, temperature):
        self.x.messages[: self.count] = messages
        return evaluate(self.f, 0, self.cover, s, temperature, self.x)

    def gradients(self, messages, s, temperature):
        """By the scores, and by the messages."""
        self.value(messages, s, temperature)
        slope(self.f, 0, self.cover, self.x)
        return self.x.z.copy(), self.x.local[: self.count].copy()


@graphs
def test_a_bound_at_any_messages(name):
    """Random messages, small and large, at every temperature and smoothing."""
    rows, generator = GRAPHS[name], np.random.default_rng(5)
    bounds = [Messages(rows, smoothing) for smoothing in (0.0, 0.3, 2.0)]
    for seed in range(4):
        s = random_scores(rows, seed, (0.3, 1.0, 5.0, 50.0)[seed])
        for temperature in (0.0, 0.5, 1.0, 3.0):
            expected = listed(rows, s, temperature)[0]
            for bound in bounds:
                for size in (0.1, 1.0, 10.0):
                    messages = size * generator.normal(size=bound.count)
                    assert bound.value(messages, s, temperature) >= expected - 1e-9 * max(
                        1.0, abs(expected)
                    )


@pytest.mark.parametrize("name", gate_cases(GRAPHS, "optima", 6))
def test_bounds_fall_from_pass_to_pass(name):
    rows = GRAPHS[name]
    for seed in range(5):
        s = random_scores(rows, seed, (1.0, 50.0)[seed % 2])
        for temperature in (0.0, 0.5, 1.0):
            values = [
                bounded(rows, s, temperature, passes=passes)[0]
                for passes in (0, 1, 2, 3, 5, 10, 40)
            ]
            expected = listed(rows, s, temperature)[0]
            assert all(b <= a for a, b in zip(values, values[1:], strict=False))
            assert values[-1] >= expected - 1e-9 * max(1.0, abs(expected))


@graphs
def test_no_loss_is_negative(name):
    """The value is never below the score of any output, so of the best."""
    rows = GRAPHS[name]
    for seed in range(4):
        s = random_scores(rows, seed, 2.0)
        for temperature in (0.0, 0.5, 1.0):
            value = bounded(rows, s, temperature)[0]
            assert value >= s @ listed(rows, s, 0.0)[1] - 1e-9


@pytest.mark.parametrize("name", ["tree", "several_roots", "projective", "lonely"])
def test_tight_for_what_one_factor_covers(name):
    for seed in range(4):
        s = random_scores(GRAPHS[name], seed, 5.0)
        for temperature in (0.0, 0.5, 1.0):
            value, z = bounded(GRAPHS[name], s, temperature)
            expected, marginals = listed(GRAPHS[name], s, temperature)
            assert value == pytest.approx(expected, rel=1e-12)
            np.testing.assert_allclose(z, marginals, atol=1e-10)


@graphs
def test_gradients_at_fixed_messages(name):
    """Central differences by scores and by messages, at smoothing that makes all factors smooth."""
    rows, bound = GRAPHS[name], Messages(GRAPHS[name], 1.0)
    for seed in range(2):
        s, messages = (
            random_scores(rows, seed),
            np.random.default_rng(seed).normal(size=bound.count),
        )
        for temperature in (1.0, 3.0):
            z, slope = bound.gradients(messages, s, temperature)
            by_scores = finite_differences(
                lambda x, d=messages, t=temperature: bound.value(d, x, t), s
            )
            np.testing.assert_allclose(z[: bound.parts], by_scores, atol=1e-6)
            if bound.count:
                by_messages = finite_differences(
                    lambda d, x=s, t=temperature: bound.value(d, x, t), messages
                )
                np.testing.assert_allclose(slope, by_messages, atol=1e-6)


@graphs
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_the_answer_is_a_subgradient(name, temperature):
    """The bound at other scores and the same messages lies above the tangent at the answer, so z
    with its value supports it.
    """
    rows = GRAPHS[name]
    s = random_scores(rows, 3)
    value, z = bounded(rows, s, temperature)
    for seed in range(10):
        other = random_scores(rows, 10 + seed)
        bound = Messages(rows, 0.0)
        messages = np.random.default_rng(seed).normal(size=bound.count)
        at_s, tangent = (
            bound.value(messages, s, temperature),
            bound.gradients(messages, s, temperature)[0],
        )
        assert bound.value(messages, other, temperature) >= at_s + tangent @ (other - s) - 1e-9
    assert z.min() >= 0.0
    assert z.max() <= 1.0 + 1e-12


def test_how_near_it_comes():
    """Mean distance from log Z, as shares of what the first bound has: a regression would show
    here.
    """
    for name, share in (
        ("siblings", 0.2),
        ("grandparents", 0.25),
        ("second_order", 0.35),
        ("complete", 0.3),
    ):
        first, last = [], []
        for seed in range(6):
            s = random_scores(GRAPHS[name], seed, 2.0, 0.5)
            expected = listed(GRAPHS[name], s, 1.0)[0]
            first.append(bounded(GRAPHS[name], s, 1.0, passes=0)[0] - expected)
            last.append(bounded(GRAPHS[name], s, 1.0, passes=40)[0] - expected)
        assert np.mean(last) < share * np.mean(first), name


def test_the_best_score_is_reached_where_the_relaxation_is_tight():
    rows = loosened(table_rows([2, 3, 2], [(0, 1), (1, 2)]))
    for seed in range(10):
        s = random_scores(rows, seed)
        expected, vertex = listed(rows, s, 0.0)
        value, z = bounded(rows, s, 0.0, passes=500, tolerance=1e-9)
        assert value == pytest.approx(expected, abs=1e-5)


def test_messages_are_kept_between_visits():
    """Two visits of 10 passes with warm starts are no worse than one of 10; a second look with none
    sees the same bound.
    """
    rows = LOOPY["second_order"]
    s = random_scores(rows, 1, 2.0)
    inference = TRWBP(passes=10, warm_start=True)
    structure = inference.prepare(factor_structure([tree_rows(2), rows]))
    memory = np.zeros(int(structure.memory[-1]))[structure.memory[1] : structure.memory[2]]
    solve, values = inference.kernels(kinds.LOOPY).solve, []
    for _ in range(5):
        z, work = np.zeros(len(s)), Record(*(buffer.copy() for buffer in structure.work))
        values.append(solve(structure.record, 1, s.copy(), 1.0, z, memory, work))
    assert values[0] == bounded(rows, s, 1.0, passes=10)[0]
    assert all(b <= a for a, b in zip(values, values[1:], strict=False))
    assert values[-1] < values[0]
    assert values[-1] >= listed(rows, s, 1.0)[0]


def test_no_tree_is_minus_infinity():
    rows = tree_rows(3)
    s = random_scores(rows)
    s[: arc_bounds(rows)[1]] = -inf
    for temperature in (0.0, 1.0):
        value, z = bounded(rows, s, temperature)
        assert value == -inf
        assert not z.any()


def test_forbidden_arcs():
    rows = tree_rows(4)
    for seed in range(5):
        s = random_scores(rows, seed)
        s[np.random.default_rng(seed).choice(len(rows.widths), 3, replace=False)] = -inf
        expected, marginals = listed(rows, s, 1.0)
        if expected > -inf:
            value, z = bounded(rows, s, 1.0)
            assert np.isfinite(z).all()
            assert value >= expected
            assert not z[: len(rows.widths)][s[: len(rows.widths)] == -inf].any()


def test_promises_and_refusals():
    assert TRWBP().provides(kinds.LOOPY) == Ability.MAP | Ability.MARGINALS | Ability.UPPER
    with pytest.raises(CompatibilityError, match=r"Exact\(\)"):
        TRWBP().kernels(kinds.CHAIN)
    for options in (
        {"passes": -1},
        {"smoothing": -1.0},
        {"tolerance": inf},
        {"decoding_temperature": -1.0},
    ):
        with pytest.raises(ArgumentError, match=next(iter(options))):
            TRWBP(**options)


def test_predictions_are_made_by_belief_propagation_unless_the_bound_is_asked_for():
    made = TRWBP(decoding_temperature=0.5).decoder()
    assert isinstance(made, LoopyBP) and made.decoding_temperature == 0.5
    bound = TRWBP(predictions="bound")
    assert bound.decoder() is bound
