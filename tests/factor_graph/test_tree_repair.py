"""Gold trees outside the model are lifted, left out or refused."""

import numpy as np
import pytest

from structopt.config.wording import keyed
from structopt.core.data.encoded import EncodedTrees
from structopt.errors import ConfigError
from structopt.factor_graph.tree_repair import admitted
from structopt.testing.problems import random_trees


def corpus(*sentences, **more):
    """A corpus of gold heads, own position for the root; the codes number the tokens."""
    heads = np.array([h for sentence in sentences for h in sentence], np.int32)
    tokens = np.arange(len(heads), dtype=np.int32)
    offsets = np.cumsum([0, *map(len, sentences)])
    return EncodedTrees(
        offsets, {}, ("r",), tokens, columns=("form",), codes=tokens[:, None], heads=heads, **more
    )


def trees(encoded):
    return [
        encoded.heads[a:b].tolist()
        for a, b in zip(encoded.offsets[:-1], encoded.offsets[1:], strict=True)
    ]


CROSSING = [1, 1, 0, 1]  # the arc 0 -> 2 crosses 1's, the root's
TWO_ROOTS = [0, 0, 2, 2]
FINE = [1, 1, 1]


def above(heads, k):
    way = [k]
    while heads[k] != k:
        k = heads[k]
        way.append(k)
    return way


def is_projective(heads):
    return all(
        heads[m] in above(heads, k)
        for m in range(len(heads))
        for k in range(*sorted((m, heads[m])))
    )


def test_lift_moves_the_shortest_arc_first():
    encoded, said = admitted(corpus(FINE, CROSSING, TWO_ROOTS), True, False, "lift")
    assert trees(encoded) == [FINE, [1, 1, 1, 1], TWO_ROOTS]
    assert said == "1 of 3 gold trees are not projective: 1 arc was lifted"
    # the arc from 2 to 0 goes first; if that from 0 to 3 went, 3 would stay under 2
    encoded, said = admitted(corpus([2, 1, 1, 0, 3]), True, True, "lift")
    assert trees(encoded) == [[1, 1, 1, 1, 3]]
    assert said == "1 of 1 gold trees are not projective: 2 arcs were lifted"


def test_several_roots_are_attached_to_the_first():
    encoded, said = admitted(corpus(FINE, TWO_ROOTS, [0, 1, 2]), False, True, "lift")
    assert trees(encoded) == [FINE, [0, 0, 0, 2], [0, 0, 0]]
    assert said == "2 of 3 gold trees have several roots: 3 roots were attached to the first"


def test_both_repairs_are_told():
    encoded, said = admitted(corpus([3, 1, 1, 3, 0]), True, True, "lift")
    assert trees(encoded) == [[1, 1, 1, 1, 1]]
    assert said == (
        "1 of 1 gold trees have several roots: 1 root was attached to the first; "
        "1 of 1 gold trees are not projective: 2 arcs were lifted"
    )


@pytest.mark.parametrize("single_root", [True, False])
def test_lifted_trees_are_projective(single_root):
    """Arcs move upwards only; trees that are projective, and single roots, stay."""
    encoded = random_trees(3, [*range(1, 30)] * 3, single_root=single_root)
    lifted, _ = admitted(encoded, True, False, "lift")
    changed = 0
    for before, after in zip(trees(encoded), trees(lifted), strict=True):
        assert is_projective(after)
        assert all(new in above(before, m)[1:] or new == m for m, new in enumerate(after))
        assert (before == after) == is_projective(before)
        assert not single_root or sum(h == m for m, h in enumerate(after)) == 1
        changed += before != after
    assert changed > 50
    assert admitted(lifted, True, single_root, "refuse") == (lifted, "")


def test_drop_rebuilds_every_field():
    offsets = np.cumsum([0, 2, 3, 3, 2, 2, 1, 4, 1, 2, 1, 1])
    candidates = (
        offsets,
        np.array([0, 1, 0, 1, 2, 0, 1, 2, 1, 2, 0, 1, 1, 0, 1, 2, 3, 2, 0, 1, 2, 3], np.int32),
    )
    original = corpus(
        FINE, CROSSING, TWO_ROOTS, candidates=candidates, allowed=np.eye(11, 1, dtype=bool)
    )
    encoded, said = admitted(original, True, True, "drop")
    assert said == (
        "1 of 3 gold trees have several roots: their sentences were left out; "
        "1 of 3 gold trees are not projective: their sentences were left out"
    )
    assert encoded.offsets.tolist() == [0, 3]
    assert trees(encoded) == [FINE]
    assert encoded.codes.tolist() == [[0], [1], [2]]
    assert encoded.gold.tolist() == [0, 1, 2]
    assert encoded.allowed.tolist() == [[True], [False], [False]]
    encoded, _ = admitted(original, False, True, "drop")
    assert trees(encoded) == [FINE, CROSSING]
    encoded, _ = admitted(original, True, False, "drop")
    assert trees(encoded) == [FINE, TWO_ROOTS]
    assert encoded.codes.ravel().tolist() == [0, 1, 2, 7, 8, 9, 10]
    assert encoded.gold.tolist() == [0, 1, 2, 7, 8, 9, 10]
    arcs, heads = encoded.candidates
    counts = np.diff(original.candidates[0])
    assert np.diff(arcs).tolist() == [*counts[:3], *counts[7:]]
    assert heads.tolist() == [*candidates[1][: offsets[3]], *candidates[1][offsets[7] :]]


def test_lifted_arcs_become_candidates():
    candidates = np.array([0, 1, 3, 4, 6]), np.array([1, 0, 1, 0, 1, 3], np.int32)
    encoded, _ = admitted(corpus(CROSSING, candidates=candidates), True, True, "lift")
    arcs, heads = encoded.candidates
    assert arcs.tolist() == [0, 1, 3, 5, 7]
    assert heads.tolist() == [1, 0, 1, 0, 1, 1, 3]


def test_refusals():
    refused = (
        r"factor_graph\.repair=refuse: 1 of 3 gold trees {}, the first in training sentence {}\. "
        r"Set factor_graph\.{}=false"
    )
    with (
        pytest.raises(ConfigError, match=refused.format("are not projective", 2, "projective")),
        keyed(),
    ):
        admitted(corpus(FINE, CROSSING, TWO_ROOTS), True, False, "refuse")
    with (
        pytest.raises(ConfigError, match=refused.format("have several roots", 3, "single_root")),
        keyed(),
    ):
        admitted(corpus(FINE, CROSSING, TWO_ROOTS), True, True, "refuse")
    with pytest.raises(
        ConfigError,
        match=r"repair=drop leaves no sentence to train on\. Set repair='lift'",
    ):
        admitted(corpus(CROSSING), True, True, "drop")


def test_nothing_to_do():
    for encoded in (
        corpus(FINE),
        corpus(),
        EncodedTrees(np.array([0]), {}, (), columns=(), codes=np.zeros((0, 0), np.int32)),
    ):
        for repair in ("lift", "drop", "refuse"):
            assert admitted(encoded, True, True, repair) == (encoded, "")
    encoded = corpus(CROSSING, TWO_ROOTS)
    assert admitted(encoded, False, False, "refuse") == (encoded, "")
