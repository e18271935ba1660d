"""Anchored templates against a slow listing of the features of every edge; gradients, gold
features, bins, states, refusals.
"""

from dataclasses import replace

import numpy as np
import pytest

from structopt.config import registry
from structopt.errors import ArgumentError, ConfigError, ModelError
from structopt.factor_graph.grammar import forests
from structopt.factor_graph.grammar.grammar import Grammar
from structopt.factor_graph.grammar.span import Span
from structopt.features.anchored_templates import AnchoredTemplates
from structopt.kernels.features.anchored.notes import SCRATCH
from structopt.kernels.waist.record import EMPTY
from structopt.testing.factor_graph import dense
from structopt.testing.problems import loss_and_gradient, make_problem, random_weights
from tests.factor_graph.grammar.random_treebanks import random_treebank, thinned

LISTS = {
    "spans": [
        "bias",
        "length",
        "first.a",
        "last.b",
        "before.a[-1] & first.b",
        "after.a",
        "first.a & last.a",
        "span.a",
        "length & first.a",
    ],
    "splits": [
        "left.a",
        "right.b[1]",
        "left_length",
        "right_length",
        "left.a & right.a",
        "first.a & left.b",
        "span.b & right_length",
    ],
    "words": ["w.a", "w.b[-1] & w.a[1]", "bias"],
}
LENGTHS = (1, 2, 3, 4, 4)
BINS = (1, 3)


def treebank(seed=0, kept=0.7):
    whole = random_treebank(seed, (*LENGTHS, 5, 9, 12), allowed=2)
    codes = np.random.default_rng(seed).integers(0, 3, (int(whole.offsets[-1]), 2)).astype(np.int32)
    whole = replace(whole, columns=("a", "b"), codes=codes)
    grammar, graph = Grammar(), Span()
    grammar.fit(whole)
    graph.fit(whole)
    encoded = thinned(whole, grammar, seed, kept) if kept < 1 else whole
    structure = graph.build(encoded)
    return graph, encoded, structure, graph.gold(encoded, structure)


def fitted(encoded, structure, gold, **options):
    return AnchoredTemplates(**{"hash_bits": 24, "lengths": BINS, **LISTS, **options}).fit(
        encoded, structure, gold
    )


def run_of(values):
    """The first four and the last three values of a span, runs as one value and a mark."""
    halves = [values] if len(values) <= 7 else [values[:4], values[-3:]]
    return tuple(
        tuple(
            (v, half[k + 1 : k + 2] == [v])
            for k, v in enumerate(half)
            if k == 0 or half[k - 1] != v
        )
        for half in halves
    )


def values_of(template, codes, b, e, k):
    """The values of a template's atoms, by the words of a sentence."""
    binned = np.searchsorted(BINS, [e - b, k - b, e - k])
    if template == "bias":
        return ()
    found = []
    for atom in template.split(" & "):
        role, _, rest = atom.partition(".")
        if not rest:
            found.append(int(binned[("length", "left_length", "right_length").index(role)]))
            continue
        column, _, offset = rest.partition("[")
        column = "ab".index(column)
        if role == "span":
            found.append(run_of(codes[b:e, column].tolist()))
            continue
        at = {
            "first": b,
            "last": e - 1,
            "before": b - 1,
            "after": e,
            "left": k - 1,
            "right": k,
            "w": b,
        }[role]
        at += int(offset[:-1]) if offset else 0
        found.append(int(codes[at, column]) if 0 <= at < len(codes) else "<" if at < 0 else ">")
    return tuple(found)


def features_of(graph, encoded, structure, i, joined=("rule", "parent"), lists=LISTS):
    """Of every edge of sentence i its features, as tuples."""
    rules, codes = graph.rules, encoded.codes[encoded.offsets[i] : encoded.offsets[i + 1]]
    edges, nodes = list(forests.sentences(structure))[i]
    found = []
    for head, number, k in zip(
        edges.head.tolist(), edges.number.tolist(), edges.split.tolist(), strict=True
    ):
        b, e = int(nodes.begin[head]), int(nodes.end[head])
        if k == forests.TAG:
            found.append(
                [("words", t, values_of(t, codes, b, e, b), number) for t in lists["words"]]
            )
            continue
        names = {
            "rule": ("step", number) if k == forests.STEP else ("rule", number),
            "parent": int(nodes.symbol[head]),
        }
        kinds = ("spans",) if k == forests.STEP else ("spans", "splits")
        found.append(
            [
                (which, t, values_of(t, codes, b, e, max(k, 0)), names[j])
                for which in kinds
                for t in lists[which]
                for j in joined
            ]
        )
    assert rules.symbols
    return found


def test_every_feature_has_a_weight_and_every_gold_feature_its_own():
    """With all features gold, scores are those of the slow listing under some one-to-one map of
    features to weights.
    """
    graph, encoded, structure, _ = treebank()
    everything = np.concatenate([np.arange(size) for size in np.diff(structure.spans("edge")[1])])
    gold = replace(
        structure_gold(structure, everything), values=np.ones(len(everything))
    )  # every edge counts as gold
    features = fitted(encoded, structure, gold, unseen=0.0)
    names = {
        f
        for i in range(len(encoded))
        for edge in features_of(graph, encoded, structure, i)
        for f in edge
    }
    assert features.dimension == len(names) and features.note.startswith(
        f"{len(names):,} features of gold trees, 0.0% share"
    )
    record, weight = features.record(encoded, structure), {}
    k = features.kernels
    for i, size in enumerate(np.diff(structure.parts).tolist()):
        listed = features_of(graph, encoded, structure, i)
        for e, own in enumerate(listed):
            counts, r = np.zeros(features.dimension), np.zeros(size)
            r[e] = 1.0
            k.accumulate(record, i, r, counts)
            assert len(own) == counts.sum()
            for f in own:
                possible = set(np.flatnonzero(counts).tolist())
                weight[f] = weight.get(f, possible) & possible
    assert all(weight.values())
    theta = np.random.default_rng(0).normal(size=features.dimension)
    for i, size in enumerate(np.diff(structure.parts).tolist()):
        s, rows = np.full(size, np.nan), np.zeros((size, features.dimension))
        k.scores(record, theta, i, s, EMPTY)
        for e in range(size):
            r = np.zeros(size)
            r[e] = 1.0
            k.accumulate(record, i, r, rows[e])
        np.testing.assert_allclose(s, rows @ theta, atol=1e-12)


def structure_gold(structure, parts):
    from structopt.core.data.sparse_vectors import SparseVectors

    return SparseVectors(
        structure.spans("edge")[1].copy(), parts.astype(np.int32), np.ones(len(parts))
    )


@pytest.mark.parametrize("joined", [("rule",), ("parent",), ("rule", "parent")])
@pytest.mark.parametrize("unseen", [0.0, 0.5])
def test_gold_features_and_bins(joined, unseen):
    graph, encoded, structure, gold = treebank(1)
    features = fitted(encoded, structure, gold, joined=joined, unseen=unseen)
    own = set()
    for i in range(len(encoded)):
        chosen = np.flatnonzero(dense(gold, i, int(np.diff(structure.parts)[i])))
        listed = features_of(graph, encoded, structure, i, joined)
        own |= {f for e in chosen if e < len(listed) for f in listed[e]}
    assert features.dimension == len(own) + int(unseen * len(own))
    record, k = features.record(encoded, structure), features.kernels
    for i, size in enumerate(np.diff(structure.parts).tolist()):
        for e, names in enumerate(features_of(graph, encoded, structure, i, joined)):
            counts, r = np.zeros(features.dimension), np.zeros(size)
            r[e] = 1.0
            k.accumulate(record, i, r, counts)
            assert counts[: len(own)].sum() == sum(f in own for f in names)
            assert counts.sum() == (len(names) if unseen else sum(f in own for f in names))


@pytest.mark.parametrize("cost", ["rules", "brackets"])
@pytest.mark.parametrize(("beta", "gamma"), [(1.0, 0.0), (1.0, 1.0), (3.0, 0.5)])
def test_gradients_are_finite_differences(beta, gamma, cost):
    graph, encoded, structure, gold = treebank(2, 0.6)
    few = encoded.subset(2, 5)
    loss = registry.create("loss", {"name": "family", "beta": beta, "gamma": gamma, "cost": cost})
    exact, scorer = (
        registry.create("inference", {"name": "exact"}),
        fitted(encoded, structure, gold),
    )
    problem = make_problem(few, graph, loss, exact, scorer=scorer)
    weights = random_weights(problem, 1, 0.3)
    for i in range(len(few)):
        _, gradient = loss_and_gradient(problem, weights, i)
        for direction in np.random.default_rng(i).normal(size=(3, problem.dimension)) / np.sqrt(
            problem.dimension
        ):
            h = 1e-5
            values = [
                loss_and_gradient(problem, weights + step * direction, i)[0] for step in (h, -h)
            ]
            assert (values[0] - values[1]) / (2 * h) == pytest.approx(
                direction @ gradient, abs=1e-8
            )


def test_sparse_gradients_are_the_dense_ones():
    _, encoded, structure, gold = treebank(3)
    features = fitted(encoded, structure, gold)
    record, scratch, k = (
        features.record(encoded, structure),
        features.scratch(encoded, structure),
        features.kernels,
    )
    generator = np.random.default_rng(0)
    for i, size in enumerate(np.diff(structure.parts).tolist()):
        r, theta, want = (
            generator.normal(size=size),
            generator.normal(size=features.dimension),
            np.zeros(features.dimension),
        )
        k.accumulate(record, i, r, want)
        norm = k.pullback(record, i, r, scratch.gradient)
        assert norm == pytest.approx(want @ want)
        assert k.dot(record, theta, scratch.gradient) == pytest.approx(theta @ want)
        got, lag = np.zeros(features.dimension), np.zeros(features.dimension)
        k.add_both(record, got, lag, scratch.gradient, 1.0, 0.5)
        np.testing.assert_allclose(got, want, atol=1e-12)
        np.testing.assert_allclose(lag, want / 2, atol=1e-12)
        indices, values = np.zeros(scratch.coordinates, np.int64), np.zeros(scratch.coordinates)
        count = k.flatten(record, scratch.gradient, indices, values)
        assert len(np.unique(indices[:count])) == count == np.count_nonzero(got)
        np.testing.assert_allclose(want[indices[:count]], values[:count], atol=1e-12)
        starts, widths = np.zeros(scratch.runs, np.int64), np.zeros(scratch.runs, np.int64)
        read = k.spans(record, i, starts, widths, EMPTY)
        mask = np.zeros(features.dimension, bool)
        for start, width in zip(starts[:read], widths[:read], strict=True):
            mask[start : start + width] = True
        assert mask[want != 0].all()
        assert (
            k.spans(record, i, starts[:1], widths[:1], EMPTY) == 1
            and widths[0] == features.dimension
        )


def test_notes_on_the_sentence_last_scored_change_nothing():
    """Gradients are the same with notes of the sentence, with those of another one, and where there
    is no room for notes.
    """
    _, encoded, structure, gold = treebank(3)
    features = fitted(encoded, structure, gold)
    record, k, generator = (
        features.record(encoded, structure),
        features.kernels,
        np.random.default_rng(0),
    )
    noted, narrow = (
        features.scratch(encoded, structure).gradient,
        features.scratch(encoded, structure).gradient,
    )
    fields = SCRATCH.open(narrow)
    nested = {name: len(getattr(fields.gradient, name)) for name in fields.gradient._fields}
    narrow = SCRATCH.pack(
        gradient=nested, noted=3, edges=len(fields.edges), parts=8, starts=3, weights=5
    )
    sizes, theta = np.diff(structure.parts).tolist(), generator.normal(size=features.dimension)
    for i in [*range(len(sizes)), *range(len(sizes)), 0, 0]:
        r, first, second, third = generator.normal(size=sizes[i]), *np.zeros((3, sizes[i]))
        k.scores(record, theta, i, first, EMPTY)
        k.scores(record, theta, i, second, noted)
        k.scores(record, theta, i, third, narrow)
        assert SCRATCH.open(noted).noted[0] == i + 1 and SCRATCH.open(narrow).noted[0] == 0
        assert (first == second).all() and (first == third).all()
        for at in (i, 0, i):
            own, other = np.zeros(features.dimension), np.zeros(features.dimension)
            size = sizes[at]
            given = r if at == i else np.ones(size)
            assert k.pullback(record, at, given, noted) == k.pullback(record, at, given, narrow)
            k.add(record, own, noted, 1.0)
            k.add(record, other, narrow, 1.0)
            assert (own == other).all()


def test_states_are_restored_and_forged_ones_refused():
    _, encoded, structure, gold = treebank(4)
    features = fitted(encoded, structure, gold)
    values, arrays = features.state()
    again = AnchoredTemplates.restore(values, arrays)
    assert again.dimension == features.dimension and again.state()[0] == values
    theta, s, t = (
        np.random.default_rng(0).normal(size=features.dimension),
        *np.zeros((2, int(structure.parts[1]))),
    )
    features.kernels.scores(features.record(encoded, structure), theta, 0, s, EMPTY)
    again.kernels.scores(again.record(encoded, structure), theta, 0, t, EMPTY)
    assert (s == t).all()
    with pytest.raises(ModelError):
        AnchoredTemplates.restore(values, {"seen": arrays["seen"][:-1]})
    with pytest.raises((ModelError, ArgumentError)):
        AnchoredTemplates.restore({**values, "joined": ["word"]}, arrays)


def test_weights_are_carried_by_names():
    """A model of half of the trees: rules have other numbers, and gold features that both have keep
    their weights.
    """
    _, encoded, structure, gold = treebank(5, 1.0)
    half = encoded.subset(0, 4)
    graph = Span()
    graph.fit(half)
    small = graph.build(half)
    earlier = fitted(half, small, graph.gold(half, small))
    features = fitted(encoded, structure, gold)

    class Same:
        keeps_codes = True

    weights = np.random.default_rng(0).normal(size=earlier.dimension)
    weights[int(earlier.seen_places.sum()) :] = 0.0
    carried = features.carried(earlier, Same(), weights)
    assert np.count_nonzero(carried) == int(earlier.seen_places.sum())
    mine, theirs = graph.gold(half, small), gold
    for i in range(len(half)):
        s, t = np.zeros(int(np.diff(small.parts)[i])), np.zeros(int(np.diff(structure.parts)[i]))
        earlier.kernels.scores(earlier.record(half, small), weights, i, s, EMPTY)
        features.kernels.scores(features.record(encoded, structure), carried, i, t, EMPTY)
        assert s @ dense(mine, i, len(s)) == pytest.approx(t @ dense(theirs, i, len(t)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"unseen": -1.0}, "unseen=-1.0 must be from 0"),
        ({"joined": []}, r"joined=\[\] must be \[rule\]"),
        (
            {"joined": ["word"]},
            r"joined=\['word'\] must be \[rule\], \[parent\] or \[rule, parent\]",
        ),
        (
            {"lengths": [3, 1]},
            r"lengths=\[3, 1\] must have fewer than 32 ascending integers",
        ),
        ({"spans": ["left.a"]}, "features.spans: the template 'left.a' has the role 'left'"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, message):
    with pytest.raises((ArgumentError, ConfigError), match=message):
        AnchoredTemplates(**{**LISTS, **options})


def test_columns_and_graphs_that_there_are_not():
    graph, encoded, structure, gold = treebank(6)
    with pytest.raises(
        ConfigError, match="the template 'first.c' looks at the column 'c', which does not exist"
    ):
        fitted(encoded, structure, gold, spans=["first.c"])
    tied = Grammar()
    tied.fit(encoded)
    charts = tied.build(encoded)
    with pytest.raises(ConfigError, match=r"Use Constituency\(\) with Span\(\)"):
        fitted(encoded, charts, tied.gold(encoded, charts))
