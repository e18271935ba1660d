"""Kinds of structures travel between processes, and long lists are refused before they are made."""

import copy
import pickle

import pytest

from structopt.core.structure_kind import StructureKind, TooManyOutputs, check_count
from structopt.factor_graph import kinds
from structopt.factor_graph.hypergraph import HYPERGRAPH

KINDS = (kinds.CHAIN, kinds.SINGLE, kinds.ARBORESCENCE, kinds.PROJECTIVE, kinds.LOOPY, HYPERGRAPH)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_copy_is_the_same_kind(kind):
    for other in (pickle.loads(pickle.dumps(kind)), copy.deepcopy(kind)):
        assert other == kind
        assert hash(other) == hash(kind)
    assert sum(kind == one for one in KINDS) == 1


def test_a_kind_of_ones_own_has_no_algorithms():
    kind = StructureKind("selections")
    assert (str(kind), kind.exact, kind.vertices, kind.loopy, kind.lists) == (
        "selections",
        None,
        None,
        False,
        False,
    )


@pytest.mark.parametrize(
    ("count", "shown"), [(11, "11"), (12345, "12,345"), (2.0**60, r"1\.2e\+18")]
)
def test_counts_are_checked(count, shown):
    check_count(0, 10, "outputs", 10)
    with pytest.raises(
        TooManyOutputs,
        match=rf"instance 3 has {shown} trees, more than 10\. Take another inference",
    ):
        check_count(2, count, "trees", 10)


def test_graphs_of_factors_have_one_form():
    """Plugins of the kind `LOOPY` may build their record by `Pairwise`, whose kind is `TABLES`."""
    assert kinds.LOOPY == kinds.TABLES
    assert (kinds.LOOPY.exact, kinds.TABLES.lists) == (None, True)
