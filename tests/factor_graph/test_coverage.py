"""Coverage graphs: the contract, the cost, and programs over them against a listing of all summaries."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from structopt.core.data.encoded import Encoded
from structopt.errors import ConfigError
from structopt.factor_graph.coverage import Coverage
from structopt.inference.ad3 import AD3
from structopt.inference.ilp import IntegerProgram
from structopt.inference.lp import LinearProgram
from structopt.testing.factor_graph import FactorGraphSuite, dense
from structopt.testing.inference import run
from tests.factor_graph.random_texts import random_texts


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
    held = [set(corpus.holders[1][starts[b] : starts[b + 1]].tolist()) for b in range(corpus.bigrams[i], corpus.bigrams[i + 1])]
    for y in product((0, 1), repeat=n):
        if np.dot(y, lengths) <= corpus.budgets[i]:
            chosen = {j for j in range(n) if y[j]}
            yield np.array([*y, *(bool(own & chosen) for own in held)], float)


@pytest.mark.parametrize("seed", range(6))
def test_programs_and_their_bounds(seed):
    """ILP = the best of all summaries <= ad3 <= LP, for scores of both signs."""
    corpus = random_texts(seed, (1, 5, 9, 12), words=10)
    structures = {one: one.prepare(Coverage().build(corpus)) for one in (IntegerProgram(), LinearProgram(), AD3(tolerance=1e-6))}
    generator = np.random.default_rng(seed)
    for i in range(len(corpus)):
        size = int(np.diff(structures[next(iter(structures))].parts)[i])
        s = generator.normal(size=size)
        best = max(float(s @ z) for z in summaries(corpus, i))
        values = []
        for inference, structure in structures.items():
            value, z = run(inference.kernels(structure.kind).solve, structure, i, s, 0.0)
            values.append(value)
            if isinstance(inference, IntegerProgram):
                assert value == pytest.approx(best, abs=1e-8) and s @ z == pytest.approx(best, abs=1e-8)
        ilp, lp, ad3 = values
        assert ilp <= ad3 + 1e-6 and ad3 <= lp + 1e-4


def test_cost_is_the_recall_that_is_lost():
    corpus, graph = random_texts(3, (5, 6)), Coverage()
    structure = graph.build(corpus)
    bigrams = len(corpus.worth)
    cost, gold = graph.cost(corpus, structure, np.ones(bigrams), "bigram"), graph.gold(corpus, structure)
    for i, size in enumerate(np.diff(structure.parts).tolist()):
        p, y = dense(cost, i, size), dense(gold, i, size)
        worth = corpus.worth[corpus.bigrams[i] : corpus.bigrams[i + 1]]
        n = size - len(worth)
        for z in summaries(corpus, i):
            assert p @ (z - y) == pytest.approx(worth @ y[n:] - worth @ z[n:], abs=1e-12)
    with pytest.raises(ConfigError, match="counts bigrams of references, and these texts have none"):
        graph.cost(replace(corpus, worth=None), structure, np.ones(bigrams), "bigram")


def test_documents_are_taken_apart():
    whole = random_texts(4, (3, 7, 2, 5))
    part, graph = whole.subset(1, 3), Coverage()
    one, other = graph.build(whole), graph.build(part)
    gold, own = graph.gold(whole, one), graph.gold(part, other)
    for i, size in enumerate(np.diff(other.parts).tolist()):
        assert size == np.diff(one.parts)[i + 1]
        np.testing.assert_array_equal(dense(own, i, size), dense(gold, i + 1, size))
    np.testing.assert_array_equal(part.tables["bigram"].ids, whole.tables["bigram"].ids[whole.bigrams[1] : whole.bigrams[3]])


def test_refusals():
    with pytest.raises(ConfigError, match="selects sentences of task=summarization"):
        Coverage().build(Encoded(np.array([0, 1]), {}, ("a",)))
    with pytest.raises(ConfigError, match="budgets and lengths of sentences must be at least 0"):
        Coverage().build(replace(random_texts(0, (2,)), budgets=np.array([-1], np.int32)))
