"""Layout, gold indicators, costs and outputs of arc-factored trees."""

import numpy as np
import pytest

from structopt.core.data.encoded import ROOT, EncodedTrees
from structopt.core.data.sparse_vectors import SparseVectors
from structopt.core.data.structure import PartGroup, Structure, part_offsets
from structopt.errors import ConfigError
from structopt.factor_graph import kinds
from structopt.factor_graph.arc_factored import ArcFactored
from structopt.factor_graph.linear_chain import LinearChain
from structopt.factor_graph.single import Single
from structopt.inference.exact import Exact
from structopt.kernels.waist.record import EMPTY
from structopt.objective.decoding import joined
from structopt.testing.inference import best_listed
from structopt.testing.problems import random_encoded, random_trees


def dense(vectors, structure, i):
    z = np.zeros(int(np.diff(structure.parts)[i]))
    inside = slice(*vectors.offsets[i : i + 2])
    np.add.at(z, vectors.parts[inside], vectors.values[inside])
    return z


def sparse(outputs):
    """Outputs of all instances, given as dense vectors."""
    parts = [np.flatnonzero(z) for z in outputs]
    values = [z[own] for z, own in zip(outputs, parts, strict=True)]
    return SparseVectors(
        np.cumsum([0, *map(len, parts)]),
        np.concatenate(parts).astype(np.int32),
        np.concatenate(values),
    )


def small(**more):
    """Two sentences of two and three tokens: 2 -> 1 under the root; 1 -> 2 -> 3 likewise."""
    codes, heads = np.ones((5, 1), np.int32), np.array([1, 1, 0, 0, 1], np.int32)
    gold = np.array([1, 0, 0, 1, 1], np.int32)
    return EncodedTrees(
        np.array([0, 2, 5]),
        {},
        ("root", "dep"),
        gold,
        columns=("form",),
        codes=codes,
        heads=heads,
        **more,
    )


CANDIDATES = np.array([0, 2, 3, 5, 6, 8]), np.array([0, 1, 1, 0, 2, 0, 1, 2], np.int32)


def test_layout_without_labels():
    structure = ArcFactored().build(small())
    assert structure.kind is kinds.ARBORESCENCE
    assert [(g.name, g.width, g.tied) for g in structure.groups] == [("arc", 1, False)]
    assert structure.parts.tolist() == [0, 4, 13]
    assert structure.active == 3
    assert structure.part_tokens["arc"][:5].tolist() == [
        [ROOT, 0],
        [1, 0],
        [0, 1],
        [ROOT, 1],
        [ROOT, 0],
    ]
    assert ArcFactored(projective=True).build(small()).kind is kinds.PROJECTIVE


def test_layout_with_labels_and_candidates():
    structure = ArcFactored(labeled=True).build(small(candidates=CANDIDATES))
    assert [(g.name, g.width, g.offsets.tolist()) for g in structure.groups] == [
        ("label", 2, [0, 3, 8]),
        ("arc", 1, [0, 3, 8]),
    ]
    assert structure.parts.tolist() == [0, 9, 24]
    assert structure.active == 6
    assert [tuple(map(np.ndarray.tolist, structure.spans(name))) for name in ("label", "arc")] == [
        ([0, 0], [0, 6, 16]),
        ([6, 10], [0, 3, 8]),
    ]
    assert structure.part_tokens["arc"].tolist() == [
        [ROOT, 0],
        [1, 0],
        [ROOT, 1],
        [ROOT, 0],
        [2, 0],
        [0, 1],
        [1, 2],
        [ROOT, 2],
    ]


def test_gold_indicators():
    structure, graph = ArcFactored().build(small()), ArcFactored()
    gold = graph.gold(small(), structure)
    assert np.flatnonzero(dense(gold, structure, 0)).tolist() == [1, 3]
    assert np.flatnonzero(dense(gold, structure, 1)).tolist() == [0, 3, 7]
    encoded, graph = small(candidates=CANDIDATES), ArcFactored(labeled=True)
    structure = graph.build(encoded)
    gold = graph.gold(encoded, structure)
    assert np.flatnonzero(dense(gold, structure, 0)).tolist() == [
        2 * 1 + 1,
        2 * 2 + 0,
        6 + 1,
        6 + 2,
    ]
    assert np.flatnonzero(dense(gold, structure, 1)).tolist() == [
        0,
        2 * 2 + 1,
        2 * 3 + 1,
        10 + 0,
        10 + 2,
        10 + 3,
    ]


@pytest.mark.parametrize("candidates", [False, True])
@pytest.mark.parametrize("labeled", [False, True])
@pytest.mark.parametrize("projective", [False, True])
def test_gold_is_an_output(projective, labeled, candidates):
    """Found where scores point at it, decoded to itself, at no cost; every wrong choice costs its
    token's weight.
    """
    graph = ArcFactored(projective, labeled)
    encoded = random_trees(5, (1, 2, 4, 7), candidates=candidates, projective=projective)
    structure, generator = graph.build(encoded), np.random.default_rng(0)
    gold, kernels = graph.gold(encoded, structure), Exact().kernels(structure.kind)
    weights = generator.uniform(1, 2, len(encoded.heads))
    position = np.arange(len(encoded.heads)) - np.repeat(
        encoded.offsets[:-1], np.diff(encoded.offsets)
    )
    gold_heads = np.where(encoded.heads == position, 0, encoded.heads + 1)
    best = []
    for i in range(len(encoded)):
        first, last = encoded.offsets[i : i + 2]
        z, n = dense(gold, structure, i), int(last - first)
        values, vertices = best_listed(kernels.lists, structure, i, z, 30)
        assert values[0] == z.sum() == n * (1 + labeled)
        best.append(sparse([vertices[0]]))
        for role in ("variable", "arc", "labeled_arc")[: 2 + labeled]:
            cost = dense(graph.cost(encoded, structure, weights, role), structure, i)
            for vertex in vertices:
                outputs = [
                    dense(gold, structure, j) if j != i else vertex for j in range(len(encoded))
                ]
                heads, relations = graph.view("heads", encoded, structure, sparse(outputs))[
                    first:last
                ].T
                wrong = heads != gold_heads[first:last]
                if labeled and role != "arc":
                    wrong |= relations != encoded.gold[first:last]
                assert cost @ vertex - cost @ z == pytest.approx(weights[first:last][wrong].sum())
    found = graph.view("heads", encoded, structure, joined(best))
    assert found.dtype == np.int32
    assert found[:, 0].tolist() == gold_heads.tolist()
    assert found[:, 1].tolist() == (encoded.gold.tolist() if labeled else [-1] * len(gold_heads))


def test_head_tables():
    """Two sentences, pruned candidates; two labels an arc, or none."""
    tokens = np.array([[ROOT, 0], [1, 0], [ROOT, 1], [0, 1], [ROOT, 0]])
    arcs, nothing = np.array([0, 4, 5]), np.zeros(3, np.int64)
    groups = (PartGroup("label", 2, arcs), PartGroup("arc", 1, arcs))
    structure = Structure(
        EMPTY,
        groups,
        part_offsets(groups),
        kinds.ARBORESCENCE,
        nothing,
        part_tokens={"arc": tokens},
    )
    labels = [np.array([0.1, 0.2, 0.3, 0.4, 0.0, 0.5, 0.25, 0.25]), np.array([0.75, 0.25])]
    for marginals in (labels, [table.reshape(-1, 2).sum(axis=1) for table in labels]):
        first, second = ArcFactored(labeled=True).probabilities(
            "heads", small(), structure, marginals
        )
        np.testing.assert_allclose(first, [[0.3, 0.0, 0.7], [0.5, 0.5, 0.0]])
        np.testing.assert_allclose(second, [[1.0, 0.0]])


def test_views_and_roles():
    assert dict(ArcFactored().views) == {"heads": "arc"}
    assert dict(ArcFactored().roles) == {"variable": "arc", "arc": "arc"}
    assert dict(ArcFactored(labeled=True).views) == {"heads": "label"}
    assert dict(ArcFactored(labeled=True).roles) == {
        "variable": "label",
        "arc": "arc",
        "labeled_arc": "label",
    }


def test_admits_by_its_own_options():
    encoded = random_trees(0, (9,) * 20, single_root=False)
    assert ArcFactored(single_root=False).admit(encoded) == (encoded, "")
    said = ArcFactored(projective=True).admit(encoded)[1]
    assert "of 20 gold trees have several roots" in said
    assert "of 20 gold trees are not projective" in said
    with pytest.raises(ConfigError, match="training sentence"):
        ArcFactored(projective=True, repair="refuse").admit(encoded)


def test_empty_corpus():
    encoded = random_trees(0, ())
    for labeled in (False, True):
        graph = ArcFactored(labeled=labeled)
        structure = graph.build(encoded)
        assert len(structure) == len(graph.gold(encoded, structure).parts) == 0


def test_refuses():
    words = random_encoded()
    with pytest.raises(
        ConfigError,
        match=r"This factor graph needs dependency trees\. Use Dependency\(\)",
    ):
        ArcFactored().build(words)
    graph = ArcFactored()
    structure = graph.build(small())
    with pytest.raises(
        ConfigError,
        match=r"counts parts of the role labeled_arc, and this graph has: variable, arc\.",
    ):
        graph.cost(small(), structure, np.ones(5), "labeled_arc")
    chain = LinearChain()
    with pytest.raises(
        ConfigError, match=r"counts parts of the role arc, and this graph has: variable, label\."
    ):
        chain.cost(words, chain.build(words), np.ones(10), "arc")


@pytest.mark.parametrize("graph", [LinearChain(), Single()])
def test_graphs_of_labels_refuse_trees(graph):
    with pytest.raises(
        ConfigError,
        match="labels variables, and this task has trees. Use ArcFactored",
    ):
        graph.build(random_trees())
