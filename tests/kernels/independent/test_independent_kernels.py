"""Inference on variables without factors keeps the contract, and agrees with a listing of all
outputs.
"""

from itertools import pairwise
from math import inf

import numpy as np
import pytest

from structopt.core.data.structure import PartGroup, Structure, part_offsets
from structopt.factor_graph.antecedent import Antecedent
from structopt.factor_graph.kinds import INDEPENDENT
from structopt.inference.enumeration import Enumeration
from structopt.inference.exact import Exact
from structopt.kernels.independent import independent
from structopt.kernels.independent.k_best import k_best
from structopt.kernels.independent.record import INDEPENDENT as RECORD
from structopt.testing.inference import InferenceSuite, best_listed, run
from tests.random_documents import random_documents


def structure_of(*instances):
    """Variables with so many parts each."""
    sizes = [size for one in instances for size in one]
    variables, parts = np.cumsum([0, *map(len, instances)]), np.cumsum([0, *sizes])
    groups = (PartGroup("link", 1, parts[variables].astype(np.int64)),)
    return Structure(
        record=RECORD.pack(variables=variables, parts=parts),
        groups=groups,
        parts=part_offsets(groups),
        kind=INDEPENDENT,
        memory=np.zeros(len(instances) + 1, np.int64),
        active=max(map(len, instances)),
    )


class Variables(InferenceSuite):
    @pytest.fixture(params=["documents", "sizes"])
    def structure(self, request):
        if request.param == "documents":
            return Antecedent(distance=3).build(random_documents())
        return structure_of((2, 1, 3), (4,), (1, 1), (3, 3, 2, 2))


class TestExact(Variables):
    @pytest.fixture
    def inference(self):
        return Exact()


class TestEnumeration(Variables):
    @pytest.fixture
    def inference(self):
        return Enumeration()

    @pytest.fixture
    def reference(self, structure):
        return Exact().kernels(structure.kind)


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_a_variable_without_any_part_that_may_be_left_has_no_output(temperature):
    value, z = run(
        independent.solve,
        structure_of((2, 3)),
        0,
        np.array([0.0, 1.0, -inf, -inf, -inf]),
        temperature,
    )
    assert (value, z.any()) == (-inf, False)


def test_no_variables_are_one_output():
    structure = structure_of((2,), ())
    assert run(independent.solve, structure, 1, np.zeros(0), 1.0)[0] == 0.0
    assert len(best_listed(k_best, structure, 1, np.zeros(0), 3)[0]) == 1


@pytest.mark.parametrize("k", [1, 2, 7, 40, 1000])
def test_the_k_best_of_products(k):
    structure = structure_of((3, 2, 4, 3))
    s = np.random.default_rng(k).normal(size=12)
    s[4] = -inf
    bounds = list(pairwise([0, 3, 5, 9, 12]))
    sums = np.zeros(1)
    for a, b in bounds:
        sums = np.add.outer(sums, s[a:b]).ravel()
    expected = np.sort(sums[sums > -inf])[::-1][:k]
    values, outputs = best_listed(k_best, structure, 0, s, k)
    np.testing.assert_allclose(values, expected, atol=1e-12)
    assert len({output.tobytes() for output in outputs}) == len(outputs)
    assert all(output[a:b].sum() == 1.0 for output in outputs for a, b in bounds)
