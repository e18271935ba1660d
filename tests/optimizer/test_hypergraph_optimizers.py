"""Optimizers on graphs whose outputs are derivations of hypergraphs, against the optimum: what
closed forms have to satisfy.
"""

from dataclasses import dataclass, replace
from math import inf
from types import MappingProxyType

import numpy as np
import pytest

from structopt.core.data.attribute_table import AttributeTable
from structopt.core.data.encoded import Encoded
from structopt.core.data.sparse_vectors import SparseVectors
from structopt.core.factor_graph import FactorGraph, GraphTraits
from structopt.factor_graph.hypergraph import HYPERGRAPH, hypergraph_calculus
from structopt.inference.enumeration import Enumeration
from structopt.inference.exact import Exact
from structopt.loss.family import LossFamily
from structopt.optimizer.dca import DCA
from structopt.optimizer.eg import EG
from structopt.optimizer.sdca import SDCA
from structopt.optimizer.smo import SMO
from structopt.reference.linearised import linearised_step
from structopt.testing.problems import (
    gold_and_cost,
    loss_and_gradient,
    make_problem,
    random_weights,
)
from tests.kernels.hypergraph.random_hypergraphs import packed, random_ways
from tests.optimizer.composed import check
from tests.optimizer.listings import minimum_of

pytestmark = pytest.mark.nightly("optima")

ATTRIBUTES = 6
HINGE, LOGISTIC, SOFT = LossFamily(inf, 1.0), LossFamily(1.0, 0.0), LossFamily(2.0, 1.0)


@dataclass(frozen=True, kw_only=True)
class EncodedDerivations(Encoded):
    """Hypergraphs, of which `packed` makes a structure, and a gold derivation of each; a variable
    is a vertex of this.
    """

    ways: list
    outputs: SparseVectors

    def subset(self, first, last):
        known = self._sliced(EncodedDerivations, first, last)
        return replace(
            self, **known, ways=self.ways[first:last], outputs=self.outputs.subset(first, last)
        )

    def _rows(self, name, first, last):
        """The rows of the table of edges."""
        ends = np.cumsum([0, *(sum(map(len, ways)) for ways in self.ways)])
        return int(ends[first]), int(ends[last])


def random_derivations(seed):
    """Random hypergraphs and derivations, with random attributes of edges."""
    generator, ways = np.random.default_rng(seed), random_ways(seed)
    structure, outputs = packed(ways), []
    for i, parts in enumerate(np.diff(structure.parts)):
        vertices = HYPERGRAPH.vertices(structure.record, i, int(parts), 10_000)
        outputs.append(np.flatnonzero(vertices[generator.integers(len(vertices))]))
    counts = generator.integers(0, 4, int(structure.groups[0].offsets[-1]))
    ids = generator.integers(0, ATTRIBUTES, int(counts.sum())).astype(np.int32)
    table = AttributeTable(
        np.cumsum([0, *counts]), ids, generator.normal(size=len(ids)), ATTRIBUTES
    )
    # half of the parts are vertices
    offsets = np.cumsum([0, *(len(parts) // 2 for parts in outputs)])
    gold = SparseVectors(
        2 * offsets, np.concatenate(outputs).astype(np.int32), np.ones(2 * int(offsets[-1]))
    )
    return EncodedDerivations(
        offsets,
        {"edge": table},
        ("y",),
        np.zeros(int(offsets[-1]), np.int32),
        ways=ways,
        outputs=gold,
    )


class Derivations(FactorGraph):
    """The hypergraphs of the corpus."""

    traits = GraphTraits(HYPERGRAPH, anchored=True, closed_forms=True)
    views = MappingProxyType({"derivation": "edge"})
    roles = MappingProxyType({"variable": "vertex"})

    @property
    def calculus(self):
        return hypergraph_calculus()

    def view(self, name, encoded, structure, outputs):
        return outputs

    def build(self, encoded, positional=False):
        return packed(encoded.ways)

    def gold(self, encoded, structure):
        return encoded.outputs


def problem_of(loss, C, inference=None, seed=0):
    return make_problem(
        random_derivations(seed),
        Derivations(),
        loss,
        inference or Exact(),
        C,
        seed,
        positional=True,
    )


def trained(problem, method, passes):
    """State, weights after every pass, and reports."""
    state, weights, reports = method.init(problem, np.zeros(problem.dimension)), [], []
    for _ in range(passes):
        state, report = method.step(problem, state)
        weights.append(method.weights(state).copy())
        reports.append(report)
    return state, weights, reports


METHODS = {
    "smo": (lambda C: SMO(steps=3), HINGE, 300),
    "eg": (lambda C: EG(), LOGISTIC, 60),
    "eg soft": (lambda C: EG(), SOFT, 60),
    "eg hinge": (lambda C: EG(), HINGE, 400),
    "eg after smo": (lambda C: EG(initial="smo", smo_passes=3), HINGE, 400),
    "eg batch": (
        lambda C: EG(online=False, eta=10.0, initial=0.0),
        LOGISTIC,
        400,
    ),
    "sdca": (lambda C: SDCA(), LOGISTIC, 100),
    "sdca soft": (lambda C: SDCA(), SOFT, 100),
}


@pytest.mark.parametrize("C", [0.1, 1.0])
@pytest.mark.parametrize("name", METHODS)
def test_dual_methods_reach_the_optimum(name, C):
    """D <= P* <= P at every pass, D does not fall, and both meet."""
    make, loss, passes = METHODS[name]
    method, problem = make(C), problem_of(loss, C)
    check(method, loss, Derivations())
    best = minimum_of(problem)
    _, weights, reports = trained(problem, method, passes)
    duals = [report.dual for report in reports]
    assert max(duals) <= best.value * (1 + 1e-6)
    assert min(map(problem.objective, weights[::10] + weights[-1:])) >= best.value * (1 - 1e-6)
    assert np.diff(duals).min() >= -1e-9
    assert problem.objective(weights[-1]) == pytest.approx(best.value, rel=1e-3)
    assert duals[-1] == pytest.approx(best.value, rel=1e-3)


@pytest.mark.parametrize("loss", [HINGE, LOGISTIC, SOFT], ids=["hinge", "logistic", "soft"])
def test_steps_of_dca_are_those_of_the_solver(loss):
    problem, method = problem_of(loss, 0.3), DCA(average=False)
    start = random_weights(problem, 2, 0.5)
    for i in range(problem.m):
        problem.order = lambda epoch, i=i: np.array([i])
        theta = method.step(problem, method.init(problem, start))[0].theta
        np.testing.assert_allclose(
            theta, linearised_step(start, *loss_and_gradient(problem, start, i), 0.3), atol=1e-6
        )


@pytest.mark.parametrize(
    ("loss", "method", "passes"),
    [(HINGE, SMO(), 1), (SOFT, EG(), 2)],
    ids=["smo", "eg"],
)
def test_listings_give_the_same_weights(loss, method, passes):
    """A step of smo makes the scores of two outputs equal: in a second pass their last bits would
    decide which is the better.
    """
    weights = [
        trained(problem_of(loss, 0.5, inference), method, passes)[1][-1]
        for inference in (Exact(), Enumeration())
    ]
    np.testing.assert_allclose(*weights, atol=1e-9)


def test_dual_points_are_marginals():
    problem = problem_of(HINGE, 1.0)
    state = trained(problem, SMO(), 5)[0]
    for i in range(problem.m):
        inside = slice(*problem.structure.parts[i : i + 2])
        vertices = HYPERGRAPH.vertices(
            problem.structure.record, i, inside.stop - inside.start, 10_000
        )
        mu = state.residuals[inside] + gold_and_cost(problem, i, vertices.shape[1])[0]
        coefficients = np.linalg.lstsq(vertices.T, mu, rcond=None)[0]
        assert mu.min() >= -1e-12
        np.testing.assert_allclose(coefficients @ vertices, mu, atol=1e-9)
