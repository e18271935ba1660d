"""Exact inference and enumeration keep the contract; unknown kinds of graphs are refused."""

import numpy as np
import pytest

from structopt.core.data.encoded import Encoded
from structopt.core.structure_kind import StructureKind
from structopt.errors import CompatibilityError, ConfigError
from structopt.factor_graph.kinds import CHAIN
from structopt.factor_graph.linear_chain import LinearChain
from structopt.inference.enumeration import Enumeration
from structopt.inference.exact import Exact
from structopt.testing.inference import InferenceSuite
from structopt.testing.problems import random_encoded

CASES = {
    "bigram": (1, {}),
    "bigram constrained": (1, {"constrained": True}),
    "trigram partial": (2, {"partial": True, "lengths": (1, 3)}),
    "four-gram": (3, {"labels": 2, "lengths": (1, 2, 5)}),
    "anchored": (1, {"anchored": True, "constrained": True}),
    "anchored trigram": (2, {"anchored": True, "constrained": True, "lengths": (1, 2, 4)}),
    "one label": (2, {"labels": 1}),
}


class Chains(InferenceSuite):
    @pytest.fixture(params=CASES)
    def structure(self, request):
        order, options = CASES[request.param]
        return LinearChain(order).build(random_encoded(1, **options))


class TestExact(Chains):
    @pytest.fixture
    def inference(self):
        return Exact()


class TestEnumeration(Chains):
    @pytest.fixture
    def inference(self):
        return Enumeration()

    @pytest.fixture
    def reference(self, structure):
        return Exact().kernels(structure.kind)


@pytest.mark.parametrize("inference", [Exact(), Enumeration()])
def test_refuses_other_graphs(inference):
    kind = StructureKind("loop")
    assert not inference.provides(kind)
    with pytest.raises(CompatibilityError, match="factor graphs of kind 'loop'"):
        inference.kernels(kind)


def test_enumeration_refuses_many_outputs():
    encoded = Encoded(np.array([0, 40]), {}, ("A", "B"))
    structure = LinearChain().build(encoded)
    s = np.zeros(84)
    with pytest.raises(
        ConfigError,
        match=r"instance 1 has 1\.1e\+12 outputs \(2\^40\), more than 1,000,000\. Take another",
    ):
        Enumeration().kernels(CHAIN).solve(
            structure.record, 0, s, 1.0, s.copy(), np.zeros(0), structure.work
        )
