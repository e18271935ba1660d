"""K-best lists of trees against sorted lists of all of them."""

import numpy as np
import pytest

from structopt.core.data.encoded import EncodedTrees
from structopt.factor_graph.arc_factored import ArcFactored
from structopt.inference.enumeration import Enumeration
from structopt.inference.exact import Exact
from structopt.testing.inference import best_listed
from structopt.testing.problems import random_trees


def k_best(inference, structure, s, count):
    return best_listed(inference.kernels(structure.kind).lists, structure, 0, s, count)


@pytest.mark.parametrize("projective", [False, True])
@pytest.mark.parametrize("single_root", [False, True])
@pytest.mark.parametrize("labels", [0, 1, 3])
@pytest.mark.parametrize("candidates", [False, True])
def test_whole_list(projective, single_root, labels, candidates):
    """All outputs there are, in order, each once."""
    n = 3 if labels == 3 else 4
    encoded = random_trees(2, (n,), max(labels, 1), candidates=candidates, projective=projective)
    structure = ArcFactored(projective, labels > 0, single_root).build(encoded)
    s = np.random.default_rng(0).normal(size=int(structure.parts[1]))
    count = 4000
    values, rows = k_best(Exact(), structure, s, count)
    expected, listed = k_best(Enumeration(), structure, s, count)
    assert 0 < len(expected) < count
    np.testing.assert_allclose(values, expected, atol=1e-12)
    np.testing.assert_array_equal(rows, listed)


@pytest.mark.parametrize("projective", [False, True])
def test_ties_are_listed_once_each(projective):
    structure = ArcFactored(projective, labeled=True).build(random_trees(0, (4,)))
    s = np.zeros(int(structure.parts[1]))
    values, rows = k_best(Exact(), structure, s, 300)
    assert not values.any()
    assert len(np.unique(rows, axis=0)) == len(rows) == 300


@pytest.mark.parametrize("projective", [False, True])
def test_forbidden_choices_are_never_listed(projective):
    structure = ArcFactored(projective, labeled=True).build(random_trees(0, (3,)))
    s = np.random.default_rng(0).normal(size=int(structure.parts[1]))
    # a label of the first token's root arc, one of its second arc's..., and a whole arc
    s[[0, 5, 18 + 4]] = -np.inf
    values, rows = k_best(Exact(), structure, s, 300)
    expected, listed = k_best(Enumeration(), structure, s, 300)
    assert np.isfinite(values).all()
    np.testing.assert_allclose(values, expected, atol=1e-12)
    np.testing.assert_array_equal(rows, listed)


@pytest.mark.parametrize("projective", [False, True])
def test_no_tree_at_all(projective):
    """Two tokens that can only be each other's heads."""
    candidates = np.array([0, 1, 2]), np.array([1, 0], np.int32)
    codes = np.ones((2, 1), np.int32)
    encoded = EncodedTrees(
        np.array([0, 2]), {}, ("r",), columns=("form",), codes=codes, candidates=candidates
    )
    structure = ArcFactored(projective).build(encoded)
    for inference in (Exact(), Enumeration()):
        assert len(k_best(inference, structure, np.zeros(2), 3)[0]) == 0
        for temperature in (0.0, 1.0):
            z = np.full(2, np.nan)
            solve = inference.kernels(structure.kind).solve
            assert (
                solve(structure.record, 0, np.zeros(2), temperature, z, np.zeros(0), structure.work)
                == -np.inf
            )
            assert not z.any()
