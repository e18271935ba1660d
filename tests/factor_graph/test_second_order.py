"""Second-order structures: their parts, factors and gold, against definitions written out in plain
Python.
"""

from itertools import pairwise, product

import numpy as np
import pytest

from structopt.config import registry
from structopt.core.data import encoded
from structopt.core.data.encoded import NONE, ROOT, EncodedTrees
from structopt.core.data.sparse_vectors import SparseVectors
from structopt.errors import ArgumentError, ConfigError
from structopt.factor_graph.second_order import SecondOrder
from structopt.kernels.loopy.factors import AUTOMATON, FACTORS, PAIRS, TREE, private_start
from structopt.kernels.loopy.kinds.automaton import row_start
from structopt.kernels.trees import second_order as kernels
from tests.messages import raises

SIBLINGS = ("consecutive", "all", "none")


def trees(*sentences, candidates=None):
    """A corpus of the given heads; `candidates`: for each sentence, for each token, the heads that
    it may take.
    """
    lengths = [len(heads) for heads in sentences]
    offsets = np.cumsum([0, *lengths]).astype(np.int64)
    total = int(offsets[-1])
    listed = None
    if candidates is not None:
        rows = [sorted(row) for sentence in candidates for row in sentence]
        listed = (
            np.cumsum([0, *map(len, rows)]).astype(np.int64),
            np.array([h for row in rows for h in row], np.int32),
        )
    return EncodedTrees(
        offsets=offsets,
        tables={},
        labels=("r",),
        gold=np.zeros(total, np.int32),
        columns=("form",),
        codes=np.zeros((total, 1), np.int32),
        heads=np.concatenate([np.zeros(0), *sentences]).astype(np.int32),
        candidates=listed,
    )


def is_tree(heads, single_root, projective=False):
    n = len(heads)
    for m in range(n):
        seen = set()
        while heads[m] != m and m not in seen:
            seen.add(m)
            m = heads[m]
        if heads[m] != m:
            return False
    arcs = [(min(h, m), max(h, m)) if h != m else (-1, m) for m, h in enumerate(heads)]
    crossing = any(a < c < b < d for (a, b), (c, d) in product(arcs, arcs))
    return (not single_root or sum(h == m for m, h in enumerate(heads)) == 1) and not (
        projective and crossing
    )


def all_trees(n, single_root=True, projective=False, candidates=None):
    choices = candidates or [range(n)] * n
    return [heads for heads in product(*choices) if is_tree(heads, single_root, projective)]


def second_order_parts(heads, siblings, grandparents):
    """Names of the parts that a tree has: (group, places)."""
    n = len(heads)
    head = [ROOT if h == m else h for m, h in enumerate(heads)]
    parts = {("arc", head[m], m) for m in range(n)}
    for h in range(-1, n):
        before = [m for m in reversed(range(n)) if head[m] == h and m < h]
        after = [m for m in range(n) if head[m] == h and m > h]
        for side in (before, after):
            chain = [NONE, *side, NONE]
            if siblings == "consecutive":
                parts |= {("sibling", h, a, b, side is before) for a, b in pairwise(chain)}
            if siblings == "all":
                parts |= {
                    ("sibling", h, a, b, side is before)
                    for k, a in enumerate(side)
                    for b in side[k + 1 :]
                }
    if grandparents:
        parts |= {("grandparent", head[head[m]], head[m], m) for m in range(n) if head[m] != ROOT}
    return parts


def expected(names, heads, siblings="consecutive", grandparents=True):
    """Names of the parts of a tree; a side on which no arc may be has no automaton, hence no pair
    (NONE, NONE).
    """
    return {
        name
        for name in second_order_parts(heads, siblings, grandparents)
        if name in names or name[2:4] != (NONE, NONE)
    }


def names_of(structure, i):
    """Name of every part of an instance; a pair (NONE, NONE) has the side of the automaton that it
    belongs to.
    """
    f, names = FACTORS.open(structure.record), []
    for group in structure.groups:
        rows = structure.part_tokens[group.name][group.offsets[i] : group.offsets[i + 1]].tolist()
        names += [(group.name, *row) for row in rows]
    arcs = structure.part_tokens["arc"][structure.groups[0].offsets[i] :]
    for factor in range(f.factors[i], f.factors[i + 1]):
        first = private_start(f, i, factor)
        for part in range(first, first + f.privates[factor + 1] - f.privates[factor]):
            if names[part][0] == "sibling":
                head, modifier = (
                    arcs[f.linked[f.links[factor]]]
                    if f.kinds[factor] == AUTOMATON
                    else names[part][1:3]
                )
                names[part] = (*names[part], bool(modifier < head))
    return names


def vertices_of(structure, i):
    """Part vectors of all trees that the kind lists, by their heads."""
    begin, end = structure.groups[0].offsets[i : i + 2]
    arcs, vertices = structure.part_tokens["arc"][begin:end].tolist(), {}
    for vertex in structure.kind.vertices(
        structure.record, i, int(np.diff(structure.parts)[i]), 10_000
    ):
        heads = {m: m if h == ROOT else h for (h, m), on in zip(arcs, vertex, strict=False) if on}
        vertices[tuple(heads[m] for m in range(len(heads)))] = vertex
    return vertices


def pruned(generator, n):
    """Random candidates that leave at least one tree: those of a random tree among them."""
    listed = all_trees(n)
    tree = listed[generator.integers(len(listed))]
    return tree, [sorted({tree[m], *generator.integers(0, n, 2).tolist()}) for m in range(n)]


def test_the_kernels_name_missing_tokens_as_the_data_do():
    assert (kernels.ROOT, kernels.NONE) == (encoded.ROOT, encoded.NONE)


def test_pairs_of_an_automaton_are_numbered_in_lexicographic_order():
    for k in range(5):
        pairs = [(i, j) for i in range(k + 2) for j in range(i + 1, k + 2)]
        assert [row_start(k, i) + j for i, j in pairs] == list(range((k + 1) * (k + 2) // 2))


def test_parts_of_two_tokens_by_hand():
    structure = SecondOrder().build(trees([0, 0]))
    assert [group.name for group in structure.groups] == ["arc", "sibling", "grandparent"]
    assert structure.part_tokens["arc"].tolist() == [[ROOT, 0], [1, 0], [0, 1], [ROOT, 1]]
    right_of_0 = [[0, NONE, 1], [0, NONE, NONE], [0, 1, NONE]]
    left_of_1 = [[1, NONE, 0], [1, NONE, NONE], [1, 0, NONE]]
    root = [
        [ROOT, NONE, 0],
        [ROOT, NONE, 1],
        [ROOT, NONE, NONE],
        [ROOT, 0, 1],
        [ROOT, 0, NONE],
        [ROOT, 1, NONE],
    ]
    assert structure.part_tokens["sibling"].tolist() == right_of_0 + left_of_1 + root
    assert structure.part_tokens["grandparent"].tolist() == [[ROOT, 1, 0], [ROOT, 0, 1]]
    assert structure.parts.tolist() == [0, 4 + 12 + 2]


def test_corpora_without_sentences_or_second_order():
    empty = trees()
    structure = SecondOrder().build(empty)
    assert (len(structure), structure.parts.tolist()) == (0, [0])
    assert SecondOrder().gold(empty, structure).offsets.tolist() == [0]
    lonely = trees([0], [0])
    structure = SecondOrder(siblings="none").build(lonely)
    assert structure.parts.tolist() == [0, 1, 2]
    assert SecondOrder(siblings="none").gold(lonely, structure).parts.tolist() == [0, 0]


def test_gold_of_a_hand_made_tree():
    """0 <- 1 -> 2 -> 3, 2 -> 4, and 1 -> 5 is the second modifier on the right."""
    corpus = trees([1, 1, 1, 2, 2, 1])
    graph = SecondOrder()
    structure = graph.build(corpus)
    gold = graph.gold(corpus, structure)
    arcs, siblings = (int(group.offsets[-1]) for group in structure.groups[:2])
    arc, sibling = (
        gold.parts[gold.parts < arcs],
        gold.parts[(gold.parts >= arcs) & (gold.parts < arcs + siblings)] - arcs,
    )
    grandparent = gold.parts[gold.parts >= arcs + siblings] - arcs - siblings
    assert structure.part_tokens["arc"][arc].tolist() == [
        [1, 0],
        [ROOT, 1],
        [1, 2],
        [2, 3],
        [2, 4],
        [1, 5],
    ]
    chains = structure.part_tokens["sibling"][sibling].tolist()
    assert [row for row in chains if row[1:] != [NONE, NONE]] == [
        [1, NONE, 0],
        [1, 0, NONE],
        [1, NONE, 2],
        [1, 2, 5],
        [1, 5, NONE],
        [2, NONE, 3],
        [2, 3, 4],
        [2, 4, NONE],
        [ROOT, NONE, 1],
        [ROOT, 1, NONE],
    ]
    # 0 and 5: no left, no right side
    assert [row[0] for row in chains if row[1:] == [NONE, NONE]] == [0, 2, 3, 3, 4, 4, 5]
    chains = [[ROOT, 1, 0], [ROOT, 1, 2], [1, 2, 3], [1, 2, 4], [ROOT, 1, 5]]
    assert structure.part_tokens["grandparent"][grandparent].tolist() == chains
    assert (gold.values == 1.0).all()


@pytest.mark.parametrize("siblings", SIBLINGS)
@pytest.mark.parametrize("grandparents", [True, False])
def test_every_tree_has_exactly_its_parts(siblings, grandparents):
    """s^T z of the vertex of a tree is the sum of the scores of its arcs, siblings and
    grandparents.
    """
    generator = np.random.default_rng(3)
    graph = SecondOrder(siblings=siblings, grandparents=grandparents, single_root=False)
    for n in (1, 2, 3, 4):
        structure = graph.build(trees([0] * n))
        names = names_of(structure, 0)
        assert len(set(names)) == len(names) == structure.parts[-1]
        s = generator.normal(size=len(names))
        vertices = vertices_of(structure, 0)
        assert sorted(vertices) == all_trees(n, single_root=False)
        for heads, z in vertices.items():
            wanted = expected(names, heads, siblings, grandparents)
            assert {name for name, on in zip(names, z, strict=True) if on == 1.0} == wanted
            assert ((z == 0.0) | (z == 1.0)).all()
            np.testing.assert_allclose(
                s @ z, sum(s[names.index(name)] for name in wanted), rtol=1e-12, atol=1e-12
            )


@pytest.mark.parametrize("siblings", SIBLINGS)
def test_gold_of_pruned_sentences_is_the_vertex_of_the_gold_trees(siblings):
    generator = np.random.default_rng(5)
    sentences = [pruned(generator, n) for n in (1, 4, 2, 5, 3)]
    corpus = trees(*(tree for tree, _ in sentences), candidates=[rows for _, rows in sentences])
    graph = SecondOrder(siblings=siblings)
    structure = graph.build(corpus)
    gold = graph.gold(corpus, structure)
    for i, (tree, _) in enumerate(sentences):
        names = names_of(structure, i)
        gold_parts = gold.parts[gold.offsets[i] : gold.offsets[i + 1]]
        assert {names[part] for part in gold_parts} == expected(names, tree, siblings)
        assert (
            np.flatnonzero(vertices_of(structure, i)[tuple(tree)]).tolist() == gold_parts.tolist()
        )


@pytest.mark.parametrize("siblings", SIBLINGS)
def test_factors_link_the_arcs_that_their_parts_name(siblings):
    generator = np.random.default_rng(7)
    sentences = [pruned(generator, n) for n in (3, 1, 5, 4)]
    corpus = trees(*(tree for tree, _ in sentences), candidates=[rows for _, rows in sentences])
    structure = SecondOrder(siblings=siblings, projective=True, single_root=False).build(corpus)
    f = FACTORS.open(structure.record)
    for i in range(len(corpus)):
        arcs = structure.part_tokens["arc"][
            structure.groups[0].offsets[i] : structure.groups[0].offsets[i + 1]
        ]
        names, at = names_of(structure, i), len(arcs)
        assert f.variables[i + 1] - f.variables[i] == f.shared[i] == len(arcs)
        assert f.starts[f.variables[i] : f.variables[i + 1]].tolist() == list(range(len(arcs)))
        kinds = f.kinds[f.factors[i] : f.factors[i + 1]].tolist()
        assert kinds == sorted(kinds)
        assert kinds.count(TREE) == 1
        for factor in range(f.factors[i], f.factors[i + 1]):
            linked = f.linked[f.links[factor] : f.links[factor + 1]]
            extra = f.extra[f.extras[factor] : f.extras[factor + 1]].tolist()
            size = int(f.privates[factor + 1] - f.privates[factor])
            assert private_start(f, i, factor) == at
            parts = names[at : at + size]
            at += size
            if f.kinds[factor] == TREE:
                assert linked.tolist() == list(range(len(arcs)))
                assert extra[:3] == [len(sentences[i][0]), 0, 1]
                assert extra[3:] == [int(x) for h, m in arcs for x in (m, m if h == ROOT else h)]
                continue
            assert extra == []
            if f.kinds[factor] == AUTOMATON:
                heads, modifiers = arcs[linked].T.tolist()
                assert len(set(heads)) == 1
                distances = [abs(m - heads[0]) for m in modifiers]
                assert distances == sorted(distances)
                places = [NONE, *modifiers, NONE]
                k = len(linked)
                assert [part[1:4] for part in parts] == [
                    (heads[0], places[a], places[b])
                    for a in range(k + 1)
                    for b in range(a + 1, k + 2)
                ]
            else:
                assert f.kinds[factor] == PAIRS
                for part, (first, second) in zip(parts, linked.reshape(-1, 2), strict=True):
                    (g, h), (head, m) = arcs[first].tolist(), arcs[second].tolist()
                    assert part[1:4] == ((head, h, m) if part[0] == "sibling" else (g, h, m))
                    assert (g == head) if part[0] == "sibling" else (h == head)
        assert at == structure.parts[i + 1] - structure.parts[i] == len(names)
        heads_of = {}
        for h, m in arcs.tolist():
            heads_of.setdefault(m, []).append(h)
        chains = {(g, h, m) for h, m in arcs.tolist() if h != ROOT for g in heads_of[h] if g != m}
        assert {name[1:] for name in names if name[0] == "grandparent"} == chains


@pytest.mark.parametrize(
    ("single_root", "projective"), [(True, False), (False, False), (True, True), (False, True)]
)
def test_rounding_finds_the_tree_with_the_largest_sum_of_marginals(single_root, projective):
    generator = np.random.default_rng(11)
    graph = SecondOrder(single_root=single_root, projective=projective)
    for n in (1, 2, 3, 4, 5):
        gold, rows = pruned(generator, n)
        while not is_tree(gold, True, True):
            gold, rows = pruned(generator, n)
        structure = graph.build(trees(gold, candidates=[rows]))
        vertices = vertices_of(structure, 0)
        assert sorted(vertices) == sorted(all_trees(n, single_root, projective, rows))
        arcs = int(structure.groups[0].offsets[-1])
        for vertex in vertices.values():
            z = vertex.copy()
            graph.rounding(structure.record, 0, z, structure.work)
            assert (z == vertex).all()
        for _ in range(20):
            z = generator.random(int(structure.parts[-1]))
            best = max(vertices.values(), key=lambda vertex: vertex[:arcs] @ z[:arcs])
            graph.rounding(structure.record, 0, z, structure.work)
            assert (z == best).all()


def exact_values(structure, rows, single_root, projective, s):
    """Scores of all trees, and the vertex of the best."""
    listed = vertices_of(structure, 0)
    vertices = [listed[heads] for heads in all_trees(len(rows), single_root, projective, rows)]
    scores = np.array([s @ z for z in vertices])
    return scores, vertices[int(scores.argmax())]


@pytest.mark.parametrize("siblings", SIBLINGS)
@pytest.mark.parametrize(("single_root", "projective"), [(True, False), (False, True)])
@pytest.mark.parametrize("name", ["enumeration", "ilp"])
def test_exact_inferences_find_the_best_tree(name, siblings, single_root, projective):
    generator = np.random.default_rng(17)
    graph = SecondOrder(siblings=siblings, single_root=single_root, projective=projective)
    inference = registry.create("inference", {"name": name})
    for n in (1, 2, 3, 4):
        gold, rows = pruned(generator, n)
        while not is_tree(gold, True, True):
            gold, rows = pruned(generator, n)
        structure = inference.prepare(graph.build(trees(gold, candidates=[rows])))
        s, z = generator.normal(size=int(structure.parts[-1])), np.zeros(int(structure.parts[-1]))
        scores, best = exact_values(structure, rows, single_root, projective, s)
        memory, solve = np.zeros(int(structure.memory[-1])), inference.kernels(structure.kind).solve
        value = solve(structure.record, 0, s.copy(), 0.0, z, memory, structure.work)
        np.testing.assert_allclose(value, scores.max(), rtol=1e-7)
        np.testing.assert_allclose(z, best, atol=1e-6)
        if name == "enumeration":
            value = solve(structure.record, 0, s.copy(), 1.0, z, memory, structure.work)
            np.testing.assert_allclose(value, np.logaddexp.reduce(scores), rtol=1e-12)


def test_cost_counts_wrong_heads():
    generator = np.random.default_rng(13)
    (first, _), (second, _) = pruned(generator, 3), pruned(generator, 4)
    corpus, graph = trees(first, second), SecondOrder()
    structure = graph.build(corpus)
    weights = np.arange(1.0, 8.0)
    for role in ("variable", "arc"):
        cost = graph.cost(corpus, structure, weights, role)
        gold = graph.gold(corpus, structure)
        dense = np.zeros(int(structure.parts[2] - structure.parts[1]))
        dense[cost.parts[3:]] = cost.values[3:]
        assert cost.offsets.tolist() == [0, 3, 7]
        for heads, vertex in vertices_of(structure, 1).items():
            z = vertex.copy()
            z[gold.parts[gold.offsets[1] :]] -= 1.0
            assert dense @ z == sum(
                w for w, h, g in zip(weights[3:], heads, second, strict=True) if h != g
            )
    with pytest.raises(
        ConfigError,
        match=r"counts parts of the role labeled_arc, and this graph has: variable, arc\.",
    ):
        graph.cost(corpus, structure, weights, "labeled_arc")


def test_outputs_are_heads_counted_from_one_without_relations():
    corpus = trees([1, 1, 0], candidates=[[[1], [0, 1], [0, 1]]])
    graph = SecondOrder()
    structure = graph.build(corpus)
    parts = np.flatnonzero(vertices_of(structure, 0)[1, 1, 0]).astype(np.int32)
    outputs = SparseVectors(np.array([0, len(parts)]), parts, np.ones(len(parts)))
    assert len(parts) > 3
    assert graph.view("heads", corpus, structure, outputs).tolist() == [[2, -1], [0, -1], [1, -1]]


def test_training_trees_are_made_to_fit():
    crossing = trees([2, 3, 2, 2])  # 3 -> 1 crosses 2 -> 0
    assert SecondOrder().admit(crossing)[1] == ""
    changed, said = SecondOrder(projective=True).admit(crossing)
    assert is_tree(changed.heads.tolist(), True, True)
    assert "not projective" in said


def test_what_is_to_be_pruned():
    assert SecondOrder().pruning is not None
    assert SecondOrder(prune_ratio=0.0, max_heads=0).pruning is None
    wanted = SecondOrder(projective=True, prune_ratio=0.0, max_heads=4, pruner="runs/a").pruning
    assert (wanted.model, wanted.ratio, wanted.max_heads, wanted.projective) == (
        "runs/a",
        0.0,
        4,
        True,
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [("prune_ratio", 1.0), ("max_heads", -1), ("pruner_epochs", 0), ("pruner_C", 0.0)],
)
def test_options_out_of_range(name, value):
    with raises(ArgumentError, parameter=name, value=value):
        SecondOrder(**{name: value})
