"""Exact inference on packed forests against listed trees; and as many trees as tied charts have."""

from math import inf, log

import numpy as np
import pytest

from structopt.config import registry
from structopt.factor_graph.grammar.grammar import Grammar
from structopt.factor_graph.grammar.span import Span
from structopt.kernels.forest import forest as kernels
from structopt.kernels.waist.record import Record
from structopt.testing.inference import InferenceSuite
from tests.factor_graph.grammar.random_treebanks import random_treebank, thinned


def packed(seed, lengths, kept=1.0, allowed=2):
    """Forests of the first sentences of a random treebank, with the rules of all of it."""
    whole = random_treebank(seed, (*lengths, *[5] * 8), allowed)
    grammar, graph = Grammar(), Span()
    grammar.fit(whole)
    graph.fit(whole)
    encoded = whole.subset(0, len(lengths))
    return graph.build(thinned(encoded, grammar, seed, kept) if kept < 1 else encoded)


class TestExactForests(InferenceSuite):
    @pytest.fixture
    def inference(self):
        return registry.create("inference", {"name": "exact"})

    @pytest.fixture(params=[(0, (1, 2, 3, 4), 1.0), (1, (3, 4, 5), 0.6), (2, (2, 5), 0.4)])
    def structure(self, request):
        seed, lengths, kept = request.param
        return packed(seed, lengths, kept)


@pytest.mark.parametrize("scale", [1.0, 400.0, 1e4])
@pytest.mark.parametrize("temperature", [1e-3, 1.0, 1e3])
def test_values_marginals_and_max_rule_whatever_the_range(scale, temperature):
    structure = packed(3, (4, 5), 0.8)
    generator = np.random.default_rng(0)
    for i, size in enumerate(np.diff(structure.parts).tolist()):
        edges = int(np.diff(structure.spans("edge")[1])[i])
        vertices = structure.kind.vertices(structure.record, i, size, 10**5)
        s, z = generator.normal(size=size) * scale, np.zeros(size)
        work = Record(*(buffer.copy() for buffer in structure.work))
        value = kernels.solve(structure.record, i, s, temperature, z, np.zeros(0), work)
        scores = vertices @ s / temperature
        p = np.exp(scores - scores.max())
        assert value == pytest.approx(
            temperature * (scores.max() + log(p.sum())), rel=1e-10, abs=1e-8
        )
        np.testing.assert_allclose(z, p @ vertices / p.sum(), atol=1e-9)
        entropy = -(p / p.sum()) @ np.log(np.maximum(p / p.sum(), 1e-300))
        assert kernels.entropy(structure.record, i, z) == pytest.approx(entropy, abs=1e-8)
        mu = z.copy()
        kernels.max_rule(structure.record, i, z, work)
        with np.errstate(divide="ignore"):
            logs = np.log(mu[:edges])
        products = np.array([logs[vertex[:edges] > 0].sum() for vertex in vertices])
        chosen = np.flatnonzero((vertices == z).all(axis=1))
        assert len(chosen) == 1 and products[chosen[0]] == pytest.approx(products.max(), abs=1e-9)


def test_conditionals_have_the_marginals_again():
    structure = packed(8, (4,))
    size = int(structure.parts[1])
    s, z, again, out = (
        np.random.default_rng(1).normal(size=size),
        np.zeros(size),
        np.zeros(size),
        np.zeros(size),
    )
    kernels.solve(structure.record, 0, s, 1.0, z, np.zeros(0), structure.work)
    kernels.conditionals(structure.record, 0, z, out)
    value = kernels.solve(structure.record, 0, out, 1.0, again, np.zeros(0), structure.work)
    assert value == pytest.approx(0.0, abs=1e-10)
    np.testing.assert_allclose(again, z, atol=1e-10)


def test_sentences_without_trees():
    structure = packed(0, (2,))
    empty = structure.kind.vertices
    assert empty is not None
    assert (
        kernels.solve(
            structure.record,
            0,
            np.full(int(structure.parts[1]), -inf),
            1.0,
            np.zeros(int(structure.parts[1])),
            np.zeros(0),
            structure.work,
        )
        == -inf
    )
