"""Hashed templates: against features listed one by one in Python, from the definition of the
hash.
"""

import json
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from structopt.core.data.encoded import NONE, ROOT, EncodedTrees
from structopt.core.data.sparse_vectors import SparseVectors
from structopt.core.data.structure import PartGroup, Structure, part_offsets
from structopt.core.scorer import FeatureScratch
from structopt.core.structure_kind import StructureKind
from structopt.errors import ArgumentError, ConfigError
from structopt.features import collisions
from structopt.features.hashed_templates import HashedTemplates
from structopt.kernels.waist.record import EMPTY
from structopt.model.restoring import restored_scorer
from structopt.objective import scoring

COLUMNS = ("form", "upos", "feat(Case)")
OPTIONS = {
    "support": "seen",
    "templates": [
        "bias",
        "h.form",
        "h.upos[-1] & h.upos[1]",
        "m.form & m.feat( Case )",
        "m.upos[2]",
        "h.form & m.form",
        "h.upos & h.upos[1] & m.upos[-1] & m.upos",
        "h.upos & between.upos & m.upos",
        "between.form",
        "h.upos & between.upos",
    ],
    "labels": ["bias", "h.upos", "m.form[1]", "h.upos & m.upos", "h.form & between.upos"],
    "siblings": ["bias", "h.upos & s.upos & m.upos", "s.form & m.form[-1]"],
    "grandparents": ["g.upos & h.upos & m.upos", "g.form", "g.form[1] & m.form"],
    "hash_bits": 10,
    "label_bits": 5,
}
LENGTHS = (1, 4, 6, 2, 9, 3)


def trees_of(lengths=LENGTHS, seed=0, labels=3, pruned=False):
    generator = np.random.default_rng(seed)
    offsets = np.cumsum([0, *lengths]).astype(np.int64)
    tokens = int(offsets[-1])
    codes = (
        np.stack([generator.integers(0, size, tokens) for size in (6, 3, 2)], axis=1)
        .astype(np.int32)
        .reshape(-1, 3)
    )
    heads = np.concatenate([[0], *(generator.integers(0, n, n) for n in lengths)])[1:].astype(
        np.int32
    )
    candidates = None
    if pruned:
        kept = [
            sorted({int(heads[t]), *np.flatnonzero(generator.random(n) < 0.4).tolist()})
            for t, n in tokens_of(lengths)
        ]
        candidates = (
            np.cumsum([0, *map(len, kept)]).astype(np.int64),
            np.concatenate(kept).astype(np.int32),
        )
    names = tuple("abcdefgh"[:labels])
    gold = generator.integers(0, max(labels, 1), tokens).astype(np.int32)
    return EncodedTrees(
        offsets, {}, names, gold, columns=COLUMNS, codes=codes, heads=heads, candidates=candidates
    )


def tokens_of(lengths):
    return list(enumerate(n for n in lengths for _ in range(n)))


def structure_of(trees, groups=("label", "arc")):
    """Lay out parts as the factor graphs do; siblings and grandparents are a few of those there
    might be.
    """
    generator, lengths = np.random.default_rng(7), np.diff(trees.offsets).tolist()
    arcs, triples, others, sizes = [], [], [], []
    for i, n in enumerate(lengths):
        mine = []
        for m in range(n):
            t = trees.offsets[i] + m
            heads = (
                range(n)
                if trees.candidates is None
                else trees.candidates[1][slice(*trees.candidates[0][t : t + 2])].tolist()
            )
            mine += [(ROOT if h == m else h, m) for h in heads]
        near = [
            (h, int(generator.integers(NONE, n)), int(generator.integers(NONE, n))) for h, _ in mine
        ]
        siblings = [(h, s if s >= 0 else NONE, m if m >= 0 else NONE) for h, s, m in near]
        grand = [(int(generator.integers(ROOT, n)), h, m) for h, m in mine if h != ROOT]
        arcs, triples, others = arcs + mine, triples + siblings, others + grand
        sizes.append((len(mine), len(siblings), len(grand)))
    offsets = np.concatenate(
        [np.zeros((1, 3), np.int64), np.cumsum(np.array(sizes).reshape(-1, 3), axis=0)]
    ).astype(np.int64)
    column = {"label": 0, "arc": 0, "sibling": 1, "grandparent": 2}
    found = tuple(
        PartGroup(g, len(trees.labels) if g == "label" else 1, offsets[:, column[g]])
        for g in groups
    )
    part_tokens = {
        name: np.array(rows, np.int32).reshape(-1, width)
        for name, rows, width in (
            ("arc", arcs, 2),
            ("sibling", triples, 3),
            ("grandparent", others, 3),
        )
        if name in groups or (name == "arc" and "label" in groups)
    }
    kind, memory = StructureKind("by hand"), np.zeros(len(lengths) + 1, np.int64)
    return Structure(EMPTY, found, part_offsets(found), kind, memory, part_tokens=part_tokens)


def gold_of(trees, structure):
    """The gold arcs and labels, and every third part of other groups."""
    offsets, parts = [0], []
    for i, (first, last) in enumerate(pairwise(trees.offsets.tolist())):
        start = 0
        for group in structure.groups:
            begin, end = group.offsets[i : i + 2].tolist()
            if group.name in ("sibling", "grandparent"):
                parts += range(start, start + end - begin, 3)
            else:
                for e, (h, m) in enumerate(structure.part_tokens["arc"][begin:end].tolist()):
                    if trees.heads[first + m] == (m if h == ROOT else h):
                        parts.append(
                            start
                            + e * group.width
                            + (trees.gold[first + m] if group.name == "label" else 0)
                        )
            start += (end - begin) * group.width
        offsets.append(len(parts))
        assert last >= first
    return SparseVectors(
        np.array(offsets, np.int64), np.array(parts, np.int32), np.ones(len(parts))
    )


# ---- the features, one by one ----

ALL = 2**64 - 1
LISTS = {
    "label": "labels",
    "arc": "templates",
    "sibling": "siblings",
    "grandparent": "grandparents",
}
PLACES = {"label": "hm", "arc": "hm", "sibling": "hsm", "grandparent": "ghm"}


def mix(z):
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & ALL
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & ALL
    return z ^ (z >> 31)


def hashed(number, values):
    total = mix(0x9E3779B97F4A7C15 * 64 * number & ALL)
    for atom, value in enumerate(values, 1):
        total += mix((0x9E3779B97F4A7C15 * (64 * number + atom) + value) & ALL)
    total &= ALL
    return (total ^ (total >> 32)) * 0xD6E8FEB86659FD93 & ALL


def value(codes, column, place, offset):
    if place == NONE:
        return -4
    if place == ROOT and offset == 0:
        return -3
    q = place + offset
    return -1 if q < 0 else -2 if q >= len(codes) else int(codes[q, column])


def variant(kind, places):
    if kind == "label":
        h, m = places
        return 3 if h == ROOT else 1 + (h < m)
    if kind == "arc":
        h, m = places
        return (
            15 if h == ROOT else 1 + 2 * sum(abs(h - m) > b for b in (1, 2, 3, 4, 5, 10)) + (h < m)
        )
    if kind == "sibling":
        h, s, m = places
        return 1 + 3 * (0 if s == NONE else 1 + (s > h)) + (0 if m == NONE else 1 + (m > h))
    g, h, m = places
    return 1 + 2 * (g < h) + (h < m)


def hashes(kind, places, codes, options):
    """Hash of every feature of a part."""
    order = ("templates", "labels", "siblings", "grandparents")
    number = sum(len(options.get(which, ())) for which in order[: order.index(LISTS[kind])])
    for template in options.get(LISTS[kind], ()):
        number += 1
        atoms = (
            []
            if template == "bias"
            else [atom.strip().split(".", 1) for atom in template.split("&")]
        )
        inside = codes[min(places[:2]) + 1 : max(places[:2])] if kind in ("label", "arc") else codes
        looks = next((COLUMNS.index(column) for role, column in atoms if role == "between"), None)
        for seen in [None] if looks is None else sorted(set(inside[:, looks].tolist())):
            values = []
            for role, text in atoms:
                name, _, offset = text.replace(" ", "").partition("[")
                place = seen if role == "between" else places[PLACES[kind].index(role)]
                found = (
                    place
                    if role == "between"
                    else value(codes, COLUMNS.index(name), place, int(offset.strip("]") or 0))
                )
                values.append(found)
            yield hashed(number, values)


def matrix(trees, structure, i, options, labelled=True):
    """F of an instance, shape (dimension, parts)."""
    codes = trees.codes[trees.offsets[i] : trees.offsets[i + 1]]
    L = next((g.width for g in structure.groups if g.name == "label"), 0)
    bits, row_bits = options["hash_bits"], options["label_bits"]
    columns = []
    for group in structure.groups:
        joined = structure.part_tokens["arc" if group.name == "label" else group.name]
        for places in joined[slice(*group.offsets[i : i + 2])].tolist():
            part = np.zeros((2**bits + 2**row_bits * L, group.width))
            for h in hashes(group.name, places, codes, options):
                size, width = (4, row_bits) if group.name == "label" else (16, bits)
                first = h >> (64 - width)
                for v in (0, variant(group.name, places)):
                    place = first // size * size + (first + v) % size
                    if group.name == "label":
                        part[2**bits + place * L + np.arange(L), np.arange(L)] += 1
                    else:
                        part[place] += 1
            columns.append(part)
    return np.concatenate(columns, axis=1)


# ---- the tests ----

CASES = {
    "unlabelled": {"groups": ("arc",)},
    "labelled": {"groups": ("label", "arc")},
    "pruned": {"groups": ("label", "arc"), "pruned": True},
    "second order": {"groups": ("label", "arc", "sibling", "grandparent")},
    "siblings alone": {"groups": ("sibling",)},
    "many labels": {"groups": ("label", "arc"), "labels": 70},
}


class Case:
    def __init__(self, groups, pruned=False, labels=3, support="seen"):
        self.trees = trees_of(pruned=pruned)
        if labels > 3:
            self.trees = replace(
                self.trees, labels=tuple(map(str, range(labels))), gold=self.trees.gold * 20
            )
        self.structure = structure_of(self.trees, groups)
        self.gold = gold_of(self.trees, self.structure)
        self.map = HashedTemplates(**(OPTIONS | {"support": support})).fit(
            self.trees, self.structure, self.gold
        )
        self.record = self.map.record(self.trees, self.structure)
        self.scratch: FeatureScratch = self.map.scratch(self.trees, self.structure)
        self.k = self.map.kernels
        self.generator = np.random.default_rng(3)

    def weights(self):
        return self.generator.normal(size=self.map.dimension) * (
            1 if self.map.support is None else self.map.support
        )

    def size(self, i):
        return int(np.diff(self.structure.parts)[i])

    def residual(self, i, sparse=False):
        r = self.generator.normal(size=self.size(i))
        return r * (self.generator.random(len(r)) < 0.2) if sparse else r

    def matrix(self, i):
        return matrix(self.trees, self.structure, i, OPTIONS)

    def masked(self, vector):
        return vector if self.map.support is None else vector * self.map.support

    def dense(self):
        """The sparse gradient as `flatten` lists it."""
        indices, values = (
            np.zeros(self.scratch.coordinates, np.int64),
            np.zeros(self.scratch.coordinates),
        )
        found = self.k.flatten(self.record, self.scratch.gradient, indices, values)
        assert len(set(indices[:found].tolist())) == found
        assert np.all(values[:found] != 0.0)
        out = np.zeros(self.map.dimension)
        out[indices[:found]] = values[:found]
        return out


RARE = (("many labels", "all"), ("pruned", "all"), ("second order", "seen"))
"""Cases that nightly runs."""


@pytest.fixture(
    params=[
        pytest.param((name, support), id=f"{name}, {support}", marks=nightly)
        for name in CASES
        for support in ("seen", "all")
        for nightly in [[pytest.mark.nightly("rest")] if (name, support) in RARE else []]
    ]
)
def case(request):
    name, support = request.param
    return Case(**CASES[name], support=support)


def test_scores(case):
    theta = case.weights()
    for i in range(len(LENGTHS)):
        s = np.full(case.size(i), np.nan)
        case.k.scores(case.record, theta, i, s, EMPTY)
        np.testing.assert_allclose(s, case.matrix(i).T @ theta, atol=1e-12)


def test_gradients(case):
    """All that is done with a sparse gradient, one after the other in one record."""
    gradient = case.scratch.gradient
    for i, sparse in [(i, sparse) for i in range(len(LENGTHS)) for sparse in (False, True, False)]:
        r, theta, lag, s = (
            case.residual(i, sparse),
            case.weights(),
            case.weights(),
            np.zeros(case.size(i)),
        )
        want = case.masked(case.matrix(i) @ r)
        norm = case.k.pullback(case.record, i, r, gradient)
        np.testing.assert_allclose(case.dense(), want, atol=1e-12)
        assert norm == pytest.approx(want @ want)
        assert case.k.dot(case.record, theta, gradient) == pytest.approx(theta @ want)
        case.k.scores(case.record, theta, i, s, EMPTY)
        assert s @ r == pytest.approx(theta @ want)  # F and F^T are adjoint
        moved, both, lagged = theta.copy(), theta.copy(), lag.copy()
        case.k.add(case.record, moved, gradient, 0.5)
        np.testing.assert_allclose(moved, theta + 0.5 * want, atol=1e-12)
        case.k.add_both(case.record, both, lagged, gradient, 0.5, -2.0)
        np.testing.assert_array_equal(both, moved)
        np.testing.assert_allclose(lagged, lag - 2.0 * want, atol=1e-12)
        both[:] = theta
        case.k.add_both(case.record, both, np.zeros(0), gradient, 0.5, -2.0)
        np.testing.assert_array_equal(both, moved)
        np.testing.assert_allclose(case.dense(), want, atol=1e-12)  # it is still there


def test_accumulate_does_not_heed_the_support(case):
    dense = want = case.weights()
    dense = dense.copy()
    for i in range(len(LENGTHS)):
        r = case.residual(i)
        case.k.accumulate(case.record, i, r, dense)
        want = want + case.matrix(i) @ r
    np.testing.assert_allclose(dense, want, atol=1e-12)


def test_spans_are_the_weights_that_scores_read_and_that_may_move(case):
    starts, widths = np.zeros(case.scratch.runs, np.int64), np.zeros(case.scratch.runs, np.int64)
    for i in range(len(LENGTHS)):
        found = case.k.spans(case.record, i, starts, widths, case.scratch.gradient)
        listed = np.zeros(case.map.dimension, np.int64)
        for start, width in zip(starts[:found], widths[:found], strict=True):
            listed[start : start + width] += 1
        read = case.matrix(i).any(axis=1) & (True if case.map.support is None else case.map.support)
        assert np.all((listed > 0) >= read)
        if found > 1:
            # rows of label weights, each once
            assert np.all(listed[case.map.layout.weights :] <= 1)
            assert listed.astype(bool).sum() < case.map.dimension
            assert case.map.support is None or np.all((listed > 0) <= case.map.support)


def test_spans_are_one_run_where_they_are_too_many():
    case = Case(("label", "arc"))
    starts, widths = np.zeros(2, np.int64), np.zeros(2, np.int64)
    assert case.k.spans(case.record, 4, starts, widths, case.scratch.gradient) == 1
    assert (starts[0], widths[0]) == (0, case.map.dimension)


def test_scores_of_the_instance_that_was_listed(case):
    """The note that `spans` takes replaces the walk; the record serves gradients before and
    after.
    """
    room, gradient = case.scratch.runs, case.scratch.gradient
    starts, widths = np.zeros(room, np.int64), np.zeros(room, np.int64)
    for i in range(len(LENGTHS)):
        theta, r, s = case.weights(), case.residual(i, sparse=True), np.full(case.size(i), np.nan)
        case.k.spans(case.record, i, starts, widths, gradient)
        case.k.listed_scores(case.record, theta, i, s, gradient)
        np.testing.assert_allclose(s, case.matrix(i).T @ theta, atol=1e-12)
        case.k.pullback(case.record, i, r, gradient)
        np.testing.assert_allclose(case.dense(), case.masked(case.matrix(i) @ r), atol=1e-12)


@pytest.mark.parametrize("room", [1, 40])
def test_scores_of_the_instance_that_was_listed_where_there_was_no_room(room):
    case = Case(("label", "arc"))
    theta, s = case.weights(), np.full(case.size(4), np.nan)
    assert (
        case.k.spans(
            case.record,
            4,
            np.zeros(room, np.int64),
            np.zeros(room, np.int64),
            case.scratch.gradient,
        )
        == 1
    )
    case.k.listed_scores(case.record, theta, 4, s, case.scratch.gradient)
    np.testing.assert_allclose(s, case.matrix(4).T @ theta, atol=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_support_is_what_gold_parts_reach(name):
    case = Case(**CASES[name])
    want = np.zeros(case.map.dimension)
    for i in range(len(LENGTHS)):
        indicators = np.zeros(case.size(i))
        indicators[case.gold.parts[slice(*case.gold.offsets[i : i + 2])]] = 1.0
        want += case.matrix(i) @ indicators
    np.testing.assert_array_equal(case.map.support, want > 0)
    assert case.map.count == int((want > 0).sum())
    assert 0 < case.map.count < case.map.dimension
    moved = np.ones(case.map.dimension)
    moved[0] = 0.0
    everything = case.map.widened(case.map, _SameNames(), moved)
    assert everything.count == case.map.dimension - (want[0] == 0)


class _SameNames:
    """Two models with the same names, each of the same number."""

    keeps_codes = True

    def attributes(self, group, earlier, size):
        return np.arange(size), np.arange(size)

    configurations = attributes


def test_batch_gradient(case):
    residuals = case.generator.normal(size=int(case.structure.parts[-1]))
    want = np.zeros(case.map.dimension)
    for i in range(len(LENGTHS)):
        want += case.matrix(i) @ residuals[slice(*case.structure.parts[i : i + 2])]
    batch = case.map.batch(case.trees, case.structure)
    for _ in range(2):  # vectors are used again
        found = batch.gradient(residuals)
        assert found.shape == (case.map.count,)
        np.testing.assert_allclose(case.map.expand(found), case.masked(want), atol=1e-11)
    theta, s, again = case.masked(case.weights()), np.zeros(case.size(2)), np.zeros(case.size(2))
    with batch.widened(case.map.compress(theta)) as widened:
        np.testing.assert_array_equal(widened, theta)
        case.k.scores(batch.record, widened, 2, s, EMPTY)
    case.k.scores(case.record, theta, 2, again, EMPTY)
    np.testing.assert_array_equal(s, again)


def test_state(case):
    layout, arrays = scoring.stored(case.map)
    assert layout["name"] == "hashed_templates"
    restored = restored_scorer(json.loads(json.dumps(layout)), arrays)
    assert scoring.stored(restored)[0] == layout
    theta, s, again = case.weights(), np.zeros(case.size(4)), np.zeros(case.size(4))
    case.k.scores(case.record, theta, 4, s, EMPTY)
    restored.kernels.scores(restored.record(case.trees, case.structure), theta, 4, again, EMPTY)
    np.testing.assert_array_equal(s, again)
    assert restored.count == case.map.count
    assert restored.covers(theta)
    np.testing.assert_array_equal(restored.expand(restored.compress(theta)), theta)
    assert not restored.covers(theta[1:])
    if case.map.support is not None:
        np.testing.assert_array_equal(restored.support, case.map.support)
        assert not restored.covers(np.ones(case.map.dimension))


def test_columns_may_stand_elsewhere_at_prediction():
    case, turned = Case(("arc",)), [2, 0, 1]
    theta, s, again = case.weights(), np.zeros(case.size(4)), np.zeros(case.size(4))
    trees = replace(
        case.trees, columns=tuple(COLUMNS[k] for k in turned), codes=case.trees.codes[:, turned]
    )
    case.k.scores(case.record, theta, 4, s, EMPTY)
    case.k.scores(case.map.record(trees, case.structure), theta, 4, again, EMPTY)
    np.testing.assert_array_equal(s, again)


def test_variants_of_a_feature_have_weights_of_their_own():
    """Distance bins, directions and the root: 15 weights and the plain one, all different."""
    trees = trees_of((30,))
    structure = structure_of(trees, ("arc",))
    found = HashedTemplates("all", templates=["bias"], hash_bits=10).fit(
        trees, structure, gold_of(trees, structure)
    )
    k, record, scratch = (
        found.kernels,
        found.record(trees, structure),
        found.scratch(trees, structure),
    )
    k.pullback(record, 0, np.ones(900), scratch.gradient)
    indices, values = np.zeros(scratch.coordinates, np.int64), np.zeros(scratch.coordinates)
    assert k.flatten(record, scratch.gradient, indices, values) == 16
    assert len(set((indices[:16] // 16).tolist())) == 1
    assert sorted(values[:16])[-1] == 900.0


@pytest.mark.parametrize("templates", [[], ["bias"], ["h.form & m.form"]])
def test_few_templates_and_no_instance(templates):
    options = {"templates": templates, "hash_bits": 10, "label_bits": 4}
    empty = trees_of(())
    structure = structure_of(empty, ("label", "arc"))
    found = HashedTemplates(**options).fit(empty, structure, gold_of(empty, structure))
    assert found.count == 0
    assert found.batch(empty, structure).gradient(np.zeros(0)).shape == (0,)
    found.scratch(empty, structure)
    trees = trees_of((3, 1))
    structure = structure_of(trees, ("label", "arc"))
    found = HashedTemplates(**options).fit(trees, structure, gold_of(trees, structure))
    s = np.full(structure.parts[1], np.nan)
    found.kernels.scores(
        found.record(trees, structure), np.ones(found.dimension) * found.support, 0, s, EMPTY
    )
    np.testing.assert_array_equal(s[: 9 * 3], 0.0)
    assert np.all(s[9 * 3 :] == 0.0) == (not templates)
    gradient = found.scratch(trees, structure).gradient
    found.kernels.pullback(found.record(trees, structure), 0, np.ones(len(s)), gradient)
    assert len(found.state()[1]["support"]) > 0


def test_a_gradient_larger_than_the_smallest_table():
    """Thousands of weights in one gradient: the table of their places grows, and shrinks again."""
    trees = trees_of((60, 2), labels=0)
    trees = replace(trees, codes=np.arange(62 * 3, dtype=np.int32).reshape(62, 3))
    options = {
        "templates": ["h.form & m.form", "h.upos & m.form[1]", "h.form"],
        "support": "all",
        "hash_bits": 16,
    }
    structure = structure_of(trees, ("arc",))
    found = HashedTemplates(**options).fit(trees, structure, gold_of(trees, structure))
    k, record, scratch = (
        found.kernels,
        found.record(trees, structure),
        found.scratch(trees, structure),
    )
    for i, size in ((1, 4), (0, 3600), (1, 4), (0, 3600)):
        r, dense, want = (
            np.random.default_rng(i).normal(size=size),
            np.zeros(found.dimension),
            np.zeros(found.dimension),
        )
        norm = k.pullback(record, i, r, scratch.gradient)
        k.add(record, dense, scratch.gradient, 1.0)
        k.accumulate(record, i, r, want)
        np.testing.assert_allclose(dense, want, atol=1e-12)
        assert norm == pytest.approx(want @ want)
    assert (dense != 0.0).sum() > 8192


def test_report_of_collisions():
    trees = trees_of((12, 15, 9, 11), seed=5)
    structure = structure_of(trees, ("label", "arc"))
    gold = gold_of(trees, structure)
    options = OPTIONS | {"siblings": [], "grandparents": []}
    places = {}
    for i in range(4):
        codes = trees.codes[trees.offsets[i] : trees.offsets[i + 1]]
        for part in gold.parts[slice(*gold.offsets[i : i + 2])]:
            labels = np.diff(structure.groups[0].offsets)[i] * 3
            if part < labels:
                continue
            arc = structure.part_tokens["arc"][
                structure.groups[1].offsets[i] + part - labels
            ].tolist()
            for h in hashes("arc", arc, codes, options):
                for v in (0, variant("arc", arc)):
                    places[h, v] = (h >> 54) // 16 * 16 + ((h >> 54) + v) % 16
    _, first = np.unique(list(places.values()), return_inverse=True)
    sharing = np.mean(np.bincount(first)[first] > 1)
    note = HashedTemplates(**options).fit(trees, structure, gold).note
    assert note.startswith(
        f"{len(places):,} distinct features of gold parts on 1,024 weights: {sharing:.0%} share "
        "theirs"
    )
    assert "features.hash_bits=" in note
    assert "on 32 rows of label weights" in note
    assert (
        "of all parts"
        in HashedTemplates(**(options | {"support": "all"})).fit(trees, structure, gold).note
    )
    roomy = (
        HashedTemplates(**(options | {"hash_bits": 22, "label_bits": 16}))
        .fit(trees, structure, gold)
        .note
    )
    assert "features.hash_bits=" not in roomy


@pytest.mark.parametrize(
    "options, message",
    [
        ({"hash_bits": 29}, "hash_bits=29"),
        ({"label_bits": 3}, "label_bits=3 must be an integer from 4 to 24"),
        ({"label_bits": 4.0}, "label_bits=4.0"),
        ({"distances": [1, 1]}, "distances"),
        ({"distances": [1, 2, 3, 4, 5, 6, 7]}, "at most 6"),
        (
            {"templates": ["h.fom"]},
            "features.templates: the template 'h.fom' looks at the column 'fom'.*Did you mean "
            "'form'",
        ),
        (
            {"labels": ["h.form & x.form"]},
            "features.labels: the template 'h.form & x.form' has the role 'x'",
        ),
    ],
)
def test_errors(options, message):
    trees = trees_of()
    structure = structure_of(trees)
    with pytest.raises((ArgumentError, ConfigError), match=message):
        HashedTemplates(**options).fit(trees, structure, gold_of(trees, structure))


def test_a_model_of_other_labels_or_columns():
    case = Case(("label", "arc"))
    other = trees_of(labels=4)
    with pytest.raises(ConfigError, match="3 labels, the corpus has 4"):
        case.map.record(other, structure_of(other))
    fewer = replace(case.trees, columns=COLUMNS[:2], codes=case.trees.codes[:, :2])
    with pytest.raises(ConfigError, match="feat"):
        case.map.record(fewer, case.structure)


def test_sampled_report(monkeypatch):
    trees = trees_of((40, 50, 45))
    trees = replace(trees, codes=np.arange(135 * 3, dtype=np.int32).reshape(135, 3))
    structure = structure_of(trees, ("arc",))
    options = {
        "templates": ["h.form & m.form", "h.upos & m.form[1]"],
        "support": "all",
        "hash_bits": 14,
    }
    exact = HashedTemplates(**options).fit(trees, structure, gold_of(trees, structure)).note
    monkeypatch.setattr(collisions, "MOST", 2000)
    estimate = HashedTemplates(**options).fit(trees, structure, gold_of(trees, structure)).note
    count, estimated = (int(note.split()[0].replace(",", "")) for note in (exact, estimate))
    assert estimated != count
    assert estimated == pytest.approx(count, rel=0.1)
    share, guess = (int(note.split(": ")[1].split("%")[0]) for note in (exact, estimate))
    assert abs(share - guess) < 5
