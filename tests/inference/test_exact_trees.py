"""Exact inference on trees, and the list of all trees, keep the contract."""

import numpy as np
import pytest

from structopt.errors import ConfigError
from structopt.factor_graph.arc_factored import ArcFactored
from structopt.factor_graph.kinds import ARBORESCENCE
from structopt.inference.enumeration import Enumeration
from structopt.inference.exact import Exact
from structopt.testing.inference import InferenceSuite
from structopt.testing.problems import random_trees

CASES = {
    "non-projective": ({}, {"lengths": (1, 2, 4)}),
    "non-projective, several roots": ({"single_root": False}, {"lengths": (1, 4)}),
    "non-projective, labelled": ({"labeled": True}, {"lengths": (1, 3)}),
    "non-projective, pruned": ({}, {"lengths": (2, 5), "candidates": True}),
    "projective": ({"projective": True}, {"lengths": (1, 2, 4)}),
    "projective, several roots": ({"projective": True, "single_root": False}, {"lengths": (1, 4)}),
    "projective, labelled": ({"projective": True, "labeled": True}, {"lengths": (1, 3)}),
    "projective, labelled and pruned": (
        {"projective": True, "labeled": True},
        {"lengths": (2, 4), "candidates": True},
    ),
}


class Trees(InferenceSuite):
    @pytest.fixture(params=CASES)
    def structure(self, request):
        graph, corpus = CASES[request.param]
        return ArcFactored(**graph).build(
            random_trees(1, projective=graph.get("projective", False), **corpus)
        )


class TestExactTrees(Trees):
    @pytest.fixture
    def inference(self):
        return Exact()


@pytest.mark.parametrize(
    ("projective", "single_root", "counts"),
    [
        (False, True, [1, 2, 9, 64, 625, 7776]),  # n^(n-1)
        (False, False, [1, 3, 16, 125, 1296, 16807]),  # (n+1)^(n-1)
        (True, True, [1, 2, 7, 30, 143, 728]),  # C(3n-2, n-1) / n
        (True, False, [1, 3, 12, 55, 273, 1428]),  # C(3n, n) / (2n+1)
    ],
)
def test_all_trees_are_listed(projective, single_root, counts):
    structure = ArcFactored(projective, single_root=single_root).build(random_trees(0, range(1, 7)))
    for i, count in enumerate(counts):
        vertices = structure.kind.vertices(structure.record, i, (i + 1) ** 2, 10**6)
        assert len(np.unique(vertices, axis=0)) == len(vertices) == count
        assert (vertices.sum(axis=1) == i + 1).all()


def test_enumeration_refuses_long_sentences():
    for labeled, n, what in (
        (False, 8, "16,777,216 choices of heads"),
        (True, 7, "15,059,072 outputs"),
    ):
        structure = ArcFactored(labeled=labeled).build(random_trees(0, (n,)))
        s = np.zeros(int(structure.parts[1]))
        with pytest.raises(
            ConfigError,
            match=rf"instance 1 has {what}, more than 1,000,000\. Take another inference",
        ):
            Enumeration().kernels(ARBORESCENCE).solve(
                structure.record, 0, s, 1.0, s.copy(), np.zeros(0), structure.work
            )
