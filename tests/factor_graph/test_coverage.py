"""Coverage graphs: the contract, the cost, and programs over them against a listing of all
summaries.
"""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from structopt.core.data.encoded import Encoded
from structopt.errors import ArgumentError, ConfigError
from structopt.factor_graph.coverage import Coverage
from structopt.factor_graph.pairwise import Pairwise
from structopt.inference.ad3 import AD3
from structopt.inference.greedy import Greedy
from structopt.inference.ilp import ILP
from structopt.inference.loopy_bp import LoopyBP
from structopt.inference.lp import LP
from structopt.inference.trw_bp import TRWBP
from structopt.loss.presets import CRF, SoftmaxMargin
from structopt.testing.factor_graph import FactorGraphSuite, dense
from structopt.testing.inference import finite_differences, run
from structopt.testing.problems import loss_and_gradient, make_problem, random_weights
from tests.factor_graph.random_texts import random_texts
from tests.messages import raises


class TestContract(FactorGraphSuite):
    @pytest.fixture
    def encoded(self):
        return random_texts(0, (4, 1, 6))

    @pytest.fixture
    def graph(self):
        return Coverage()


def summaries(corpus, i):
    """Part indicators of all summaries of document i, from the definition."""
    n, starts = int(np.diff(corpus.offsets)[i]), corpus.holders[0]
    lengths = corpus.lengths[corpus.offsets[i] : corpus.offsets[i + 1]]
    held = [
        set(corpus.holders[1][starts[b] : starts[b + 1]].tolist())
        for b in range(corpus.bigrams[i], corpus.bigrams[i + 1])
    ]
    for y in product((0, 1), repeat=n):
        if np.dot(y, lengths) <= corpus.budgets[i]:
            chosen = {j for j in range(n) if y[j]}
            yield np.array([*y, *(bool(own & chosen) for own in held)], float)


def solved(inference, corpus, scores, budget="length_budget"):
    """Value and point of every document, at scores of its parts."""
    structure = inference.prepare(Coverage(budget).build(corpus))
    solve = inference.kernels(structure.kind).solve
    return [run(solve, structure, i, s, 0.0) for i, s in enumerate(scores)]


def random_scores(corpus, seed, lowest=-np.inf):
    generator = np.random.default_rng(seed)
    sizes = np.diff(Coverage().build(corpus).parts).tolist()
    return [np.maximum(generator.normal(size=size), lowest) for size in sizes]


@pytest.mark.parametrize("seed", range(6))
def test_programs_and_their_bounds(seed):
    """ILP = the best of all summaries <= ad3 <= LP, for scores of both signs; LP = ad3 with a
    linear budget.
    """
    corpus = random_texts(seed, (1, 5, 9, 12, 15), words=10)
    scores = random_scores(corpus, seed)
    best = [max(float(s @ z) for z in summaries(corpus, i)) for i, s in enumerate(scores)]
    ilp, lp = solved(ILP(), corpus, scores), solved(LP(), corpus, scores)
    ad3, linear = (
        solved(AD3(tolerance=1e-6), corpus, scores, budget)
        for budget in ("length_budget", "linear_budget")
    )
    for i, s in enumerate(scores):
        assert ilp[i][0] == pytest.approx(best[i], abs=1e-8) and s @ ilp[i][1] == pytest.approx(
            best[i], abs=1e-8
        )
        assert ilp[i][0] <= ad3[i][0] + 1e-6 and ad3[i][0] <= lp[i][0] + 1e-4
        assert linear[i][0] == pytest.approx(lp[i][0], abs=1e-4)


@pytest.mark.parametrize("seed", range(10))
def test_forbidden_sentences_and_bigrams(seed):
    """Rows that programs leave out, and copies of columns, are needed where a part is forbidden:
    the best of what is allowed.
    """
    corpus = random_texts(seed, (1, 5, 9, 12), words=25)
    generator, scores = np.random.default_rng(seed), random_scores(corpus, seed)
    for s in scores:
        s[generator.random(len(s)) < 0.1] = -np.inf
    programs = ILP(), LP(), AD3(tolerance=1e-6, exact=True)
    answers = [solved(inference, corpus, scores) for inference in programs]
    for i, s in enumerate(scores):
        best = max(float(np.where(z > 0, s, 0.0).sum()) for z in summaries(corpus, i))
        ilp, lp, ad3 = (own[i] for own in answers)
        assert ilp[0] == pytest.approx(best, abs=1e-8) and ad3[0] == pytest.approx(best, abs=1e-6)
        assert lp[0] >= best - 1e-8 and not ilp[1][s == -np.inf].any()
        assert ilp[1].tolist() in [z.tolist() for z in summaries(corpus, i)]


@pytest.mark.parametrize("seed", range(3))
def test_programs_for_score_after_score(seed):
    """One program, of which rows come and go as signs change."""
    corpus = random_texts(seed, (7, 9), words=25)
    structure = Coverage().build(corpus)
    solve = ILP().kernels(structure.kind).solve
    for number in range(6):
        for i, s in enumerate(random_scores(corpus, 10 * seed + number)):
            s *= (1.0, -1.0, 0.0)[number % 3] if number < 3 else 1.0
            value, _ = run(solve, structure, i, s, 0.0)
            assert value == pytest.approx(max(float(s @ z) for z in summaries(corpus, i)), abs=1e-8)


@pytest.mark.parametrize("seed", range(8))
def test_greedy(seed):
    """A summary, at its score; at least 1 - 1 / sqrt(e) of the best where no score is negative, and
    a step never worth less.
    """
    corpus = random_texts(seed, (1, 5, 9, 12), words=10)
    for lowest in (0.0, -np.inf):
        scores = random_scores(corpus, seed, lowest)
        for scaling in (1.0, 0.0):
            for i, (value, z) in enumerate(solved(Greedy(scaling), corpus, scores)):
                listed = [one.tolist() for one in summaries(corpus, i)]
                assert z.tolist() in listed and value == pytest.approx(float(scores[i] @ z))
                best = max(float(scores[i] @ np.array(one)) for one in listed)
                assert value <= best + 1e-9
                assert value >= 0.0
                if lowest == 0.0 and scaling == 1.0:
                    assert value >= (1 - np.exp(-0.5)) * best
    forbidden = np.where(
        np.arange(len(scores[1])) == int(solved(Greedy(), corpus, scores)[1][1].argmax()),
        -np.inf,
        scores[1],
    )
    value, z = solved(Greedy(), corpus, [scores[0], forbidden])[1]
    assert np.isfinite(value) and not z[forbidden == -np.inf].any()


def test_greedy_is_for_summaries():
    with raises(ArgumentError, parameter="scaling"):
        Greedy(-1.0)
    assert Greedy().refusal(Coverage()) == ""
    assert "Use Coverage(), or AD3()" in Greedy().refusal(Pairwise())


@pytest.mark.parametrize("seed", range(4))
def test_fractional_points_become_summaries(seed):
    """Rounding leaves summaries alone, and makes summaries of the relaxation's points."""
    corpus = random_texts(seed, (1, 5, 9, 12), words=10)
    graph, scores = Coverage(), random_scores(corpus, seed, 0.0)
    structure = graph.build(corpus)
    for inference in (LP(), ILP()):
        for i, (_, z) in enumerate(solved(inference, corpus, scores)):
            rounded = z.copy()
            graph.rounding(structure.record, i, rounded, structure.record)
            assert rounded.tolist() in [one.tolist() for one in summaries(corpus, i)]
            if isinstance(inference, ILP):
                np.testing.assert_array_equal(rounded, z)


def test_searches_that_end_early_are_told(caplog):
    corpus = random_texts(5, (12, 14), words=40)
    scores = random_scores(corpus, 5, 0.0)
    exact, early = ILP(), ILP(time_limit=1e-9)
    best, bounds = solved(exact, corpus, scores), solved(early, corpus, scores)
    assert exact.diagnostics(np.zeros(0)) == {}
    told = early.diagnostics(np.zeros(0))
    assert told == {"unproved_searches": 2, "largest_gap": 1.0}
    assert all(bound >= value - 1e-9 for (bound, _), (value, _) in zip(bounds, best, strict=True))
    assert caplog.text.count("a search ended with no output: its value is the bound") == 1
    rough = ILP(gap=0.5)
    for (bound, z), (value, _), s in zip(solved(rough, corpus, scores), best, scores, strict=True):
        assert bound >= value - 1e-9 and s @ z >= 0.5 * bound - 1e-9


def sums(corpus, i, s, temperature):
    """T log of the sum of exp(score / T) over all summaries of a document, and the marginals."""
    z = np.array(list(summaries(corpus, i)))
    weights = np.exp(z @ s / temperature)
    return temperature * np.log(weights.sum()), weights @ z / weights.sum()


@pytest.mark.parametrize("seed", range(4))
def test_sums_over_summaries(seed):
    """Belief propagation is exact where each bigram is in one sentence; where several have it, it
    is near if bigrams weigh little. The reweighted bound is above the sum on both.
    """
    shared = random_texts(seed, (1, 5, 9, 12), words=8)
    starts, sentences = shared.holders
    ends = np.arange(len(starts), dtype=np.int64)
    own = replace(shared, holders=(ends, sentences[starts[:-1]]))
    patient = LoopyBP(passes=300, tolerance=1e-12, damping=0.3)
    for corpus, scale, near, nearly in ((own, 3.0, 1e-8, 1e-8), (shared, 0.1, 0.1, 0.2)):
        for temperature in (0.5, 1.0):
            scores = [s.copy() for s in random_scores(corpus, seed)]
            for s, n in zip(scores, np.diff(corpus.offsets), strict=True):
                s[n:] *= scale
            structures = [one.prepare(Coverage().build(corpus)) for one in (patient, TRWBP())]
            solves = [one.kernels(structures[0].kind).solve for one in (patient, TRWBP())]
            for i, s in enumerate(scores):
                expected, marginals = sums(corpus, i, s, temperature)
                value, z = run(solves[0], structures[0], i, s, temperature)
                assert value == pytest.approx(expected, abs=near)
                np.testing.assert_allclose(z, marginals, atol=nearly)
                assert run(solves[1], structures[1], i, s, temperature)[0] >= expected - 1e-9


@pytest.mark.parametrize("loss", [CRF, SoftmaxMargin])
def test_approximate_likelihood_has_its_gradient(loss):
    """Central differences of the loss by the weights, at messages that have converged."""
    inference = LoopyBP(passes=500, tolerance=1e-13, damping=0.3)
    problem = make_problem(random_texts(2, (3, 4, 5)), Coverage(), loss(), inference)
    weights = random_weights(problem, 1, 0.3)
    for i in range(problem.m):
        slopes = finite_differences(lambda w, i=i: loss_and_gradient(problem, w, i)[0], weights)
        np.testing.assert_allclose(loss_and_gradient(problem, weights, i)[1], slopes, atol=1e-5)


def test_cost_is_the_recall_that_is_lost():
    corpus, graph = random_texts(3, (5, 6)), Coverage()
    structure = graph.build(corpus)
    bigrams = len(corpus.worth)
    cost, gold = (
        graph.cost(corpus, structure, np.ones(bigrams), "bigram"),
        graph.gold(corpus, structure),
    )
    for i, size in enumerate(np.diff(structure.parts).tolist()):
        p, y = dense(cost, i, size), dense(gold, i, size)
        worth = corpus.worth[corpus.bigrams[i] : corpus.bigrams[i + 1]]
        n = size - len(worth)
        for z in summaries(corpus, i):
            assert p @ (z - y) == pytest.approx(worth @ y[n:] - worth @ z[n:], abs=1e-12)
    with pytest.raises(
        ConfigError, match="counts bigrams of references, and these texts have none"
    ):
        graph.cost(replace(corpus, worth=None), structure, np.ones(bigrams), "bigram")


def test_documents_are_taken_apart():
    whole = random_texts(4, (3, 7, 2, 5))
    part, graph = whole.subset(1, 3), Coverage()
    one, other = graph.build(whole), graph.build(part)
    gold, own = graph.gold(whole, one), graph.gold(part, other)
    for i, size in enumerate(np.diff(other.parts).tolist()):
        assert size == np.diff(one.parts)[i + 1]
        np.testing.assert_array_equal(dense(own, i, size), dense(gold, i + 1, size))
    np.testing.assert_array_equal(
        part.tables["bigram"].ids, whole.tables["bigram"].ids[whole.bigrams[1] : whole.bigrams[3]]
    )


def test_refusals():
    with pytest.raises(ConfigError, match="selects sentences of Summarization"):
        Coverage().build(Encoded(np.array([0, 1]), {}, ("a",)))
    with pytest.raises(ConfigError, match="Budgets and lengths of sentences must be at least 0"):
        Coverage().build(replace(random_texts(0, (2,)), budgets=np.array([-1], np.int32)))
