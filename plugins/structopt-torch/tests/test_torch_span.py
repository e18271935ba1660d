"""The contract by finite differences; the equation; words and their classes; kernels against
operations of PyTorch; refusals.
"""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs PyTorch: pip install structopt-torch")

import torch
from structopt_torch import span_slices
from structopt_torch.span import TorchSpan
from structopt_torch.span_corpus import classes_of, neighbours
from structopt_torch.span_network import AnchorScores

from structopt.plugin import ConfigError, LossFamily, ModelError
from structopt.plugin.kernels import forest_sentences
from structopt.plugin.provisional import DenseTable
from structopt.testing.components import component
from structopt.testing.problems import make_problem, random_encoded
from structopt.testing.scorer import ScorerContract

TREES = """
( (S (NP (DT the) (NN dog)) (VP (VBZ sees) (NP (DT the) (NN cat)))) )
( (S (NP (NN snow)) (VP (VBZ falls))) )
( (NP (NNP Oslo)) )
( (S (NP (NP (DT the) (NN dog)) (PP (IN of) (NP (NNP Oslo)))) (VP (VBZ barks))) )
( (S (VP (VBZ sees) (NP (NN snow)) (PP (IN in) (NP (NNP Bergen))))) )
"""
LISTS = {
    "spans": ["bias", "length", "first.word", "before.tag & first.tag"],
    "splits": ["left.tag", "right.word & left_length"],
    "words": ["w.word"],
}
SMALL = {"hidden": 6, "embeddings": 4, "init_scale": 0.7, "precision": "float64"}
TAGS = ["DT", "IN", "NN", "NNP", "VBZ"]


def treebank(folder, tags="free", dense=False):
    """The small treebank; with dense numbers of its words, of two tables, the second of a window,
    where some rows are missing.
    """
    (folder / "trees.mrg").write_text(TREES, encoding="utf8")
    templates = {} if tags == "free" else LISTS
    task = component(
        "task",
        "constituency",
        train=str(folder / "trees.mrg"),
        tags=tags,
        features={"min_count": 1, **templates},
    )
    encoded, generator = task.fit(task.read(folder / "trees.mrg")), np.random.default_rng(4)
    if not dense:
        return encoded
    tables = tuple(
        DenseTable(
            generator.integers(-1, 3, (len(encoded.words), k)).astype(np.int32),
            np.float32(generator.normal(size=(3, d))),
        )
        for k, d in ((1, 2), (2, 3))
    )
    return replace(encoded, dense={"word": tables})


def span(encoded):
    graph = component("factor_graph", "span")
    graph.fit(encoded)
    return graph


class WithTrees(ScorerContract):
    @pytest.fixture
    def encoded(self, tmp_path):
        return treebank(tmp_path)

    @pytest.fixture
    def graph(self, encoded):
        return span(encoded)


class TestTagsAreChosen(WithTrees):
    @pytest.fixture(params=[{}, {"tag_size": 2, "word_min_count": 1}, {"hidden": 1}], ids=str)
    def scorer(self, request):
        return TorchSpan(**SMALL | request.param)


class TestTagsAreGiven(WithTrees):
    @pytest.fixture(params=[{"tag_size": 2}, {"tag_size": 2, "embeddings": 0}], ids=str)
    def scorer(self, request):
        return TorchSpan(**SMALL | request.param)

    @pytest.fixture
    def encoded(self, tmp_path):
        return treebank(tmp_path, "gold")


class TestDenseNumbersOfWords(WithTrees):
    @pytest.fixture(params=[{}, {"tag_size": 2}], ids=str)
    def scorer(self, request):
        return TorchSpan(**SMALL | request.param)

    @pytest.fixture
    def encoded(self, tmp_path):
        return treebank(tmp_path, dense=True)


class TestBesideSparseFeatures(WithTrees):
    @pytest.fixture(params=[{"rate": 0.3}, {"unseen": 0.0, "joined": ["rule"]}], ids=str)
    def scorer(self, request):
        return TorchSpan(**SMALL, sparse=True, **{**LISTS, "hash_bits": 12, **request.param})

    @pytest.fixture
    def encoded(self, tmp_path):
        return treebank(tmp_path, "gold")


def fitted(scorer, encoded):
    return make_problem(
        encoded, span(encoded), LossFamily(), component("inference", "exact"), scorer=scorer
    )


def named_parameters(scorer, theta):
    pieces = np.split(
        theta[: scorer.network],
        np.cumsum([np.prod(shape, dtype=int) for _, shape in scorer.layout])[:-1],
    )
    return {
        name: piece.reshape(shape)
        for (name, shape), piece in zip(scorer.layout, pieces, strict=True)
    }


@pytest.mark.parametrize("dense", [False, True])
def test_the_equation(tmp_path, dense):
    """Scores of all parts of a sentence, one after the other, from twelve vectors of words each."""
    encoded = treebank(tmp_path, "gold", dense)
    problem = fitted(TorchSpan(**SMALL, tag_size=2, word_min_count=1), encoded)
    scorer, graph, i, H = problem.scorer, span(encoded), 3, 6
    theta = scorer.initial(0) + 0.1 * np.random.default_rng(0).normal(size=scorer.dimension)
    w, sizes, first = named_parameters(scorer, theta), scorer.sizes, int(encoded.offsets[i])
    n = int(encoded.offsets[i + 1]) - first
    V, outside = w["slots"].reshape(3, 4, H, -1), w["outside"].reshape(3, 4, H)

    def x(t):
        tag = w["tags.weight"][1 + int(encoded.gold[t])]
        if dense:
            return np.concatenate([*(table.values([t])[0] for table in encoded.dense["word"]), tag])
        return np.concatenate([w["words.weight"][1 + sizes["words"].index(encoded.words[t])], tag])

    rules = graph.rules
    R, U = len(rules.binary), len(rules.chains)
    edges, vertices = list(forest_sentences(problem.structure))[i]
    expected = []
    for head, number, split in zip(edges.head, edges.number, edges.split, strict=True):
        z = w["bias"].copy()
        places = [vertices.begin[head], vertices.end[head], *([split] if split > 0 else [])]
        for role, place in enumerate(places):
            for slot, offset in enumerate((-2, -1, 0, 1)):
                t = place + offset
                z += V[role, slot] @ x(first + t) if 0 <= t < n else outside[role, slot]
        h, label = np.maximum(z, 0.0), R + U + vertices.symbol[head]
        phi = [number, label] if split > 0 else [R + number, label] if split == 0 else [label]
        expected.append(sum(w["output"][f] @ h + w["output_bias"][f] for f in phi))
    scores = problem.examples.scores(theta, np.array([i]))
    assert {*np.sign(edges.split)} == {-1, 0, 1} and n == 5
    np.testing.assert_allclose(scores[: len(expected)], expected, atol=1e-12)
    assert not scores[len(expected) :].any()


def test_words_around_a_place():
    rows = [[-1, -1, 0, 1], [-1, 0, 1, -1], [0, 1, -1, -1], [-1, -1, 2, -1], [-1, 2, -1, -1]]
    np.testing.assert_array_equal(neighbours(np.array([2, 1])), rows)
    assert neighbours(np.zeros(0, np.int64)).shape == (0, 4)


def test_rare_words_are_classes(tmp_path):
    encoded = treebank(tmp_path)
    scorer = fitted(TorchSpan(**SMALL), encoded).scorer
    assert scorer.sizes["words"] == ["the", "Oslo", "dog", "sees", "snow"]
    assert scorer.sizes["classes"] == ["x"]
    assert classes_of("Bergen") == ("Xx en", "Xx")
    prepared = scorer.prepare(encoded, span(encoded).build(encoded)).network
    numbers = dict(
        zip(encoded.words, prepared.words.words[prepared.words.kinds].tolist(), strict=True)
    )
    assert [numbers[word] for word in ("the", "snow", "cat", "Bergen")] == [1, 5, 6, 0]


def test_operations_for_other_devices_are_those_of_the_kernels(tmp_path):
    encoded = treebank(tmp_path)
    problem = fitted(TorchSpan(**SMALL), encoded)
    scorer, generator, corpus = (
        problem.scorer,
        np.random.default_rng(0),
        problem.examples.prepared.network,
    )
    module = scorer.module(scorer.initial(0) + 0.1 * generator.normal(size=scorer.dimension), True)
    instances, outs = np.array([3, 0, 2]), np.concatenate([[0], np.cumsum(corpus.parts[[3, 0, 2]])])
    seen = {}

    def scores_and_slopes(apply):
        seen.clear()
        AnchorScores.apply = apply
        values = module(corpus, instances)
        r = torch.from_numpy(np.random.default_rng(1).normal(size=len(values)))
        return values, torch.autograd.grad(values, list(module.parameters()), r, allow_unused=True)

    class Sliced(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *inputs):
            ctx.inputs = inputs
            return span_slices.scores(inputs[3], *inputs[:3])

        @staticmethod
        def backward(ctx, residuals):
            return *span_slices.slopes(ctx.inputs[3], *ctx.inputs[:3], residuals), None

    assert outs[-1] > 0
    kernels = AnchorScores.apply
    try:
        (one, slopes), (other, expected) = (
            scores_and_slopes(kernels),
            scores_and_slopes(Sliced.apply),
        )
    finally:
        AnchorScores.apply = kernels
    np.testing.assert_allclose(one.detach(), other.detach(), atol=1e-12)
    for slope, wanted in zip(slopes, expected, strict=True):
        np.testing.assert_allclose(slope, wanted, atol=1e-12)


def test_noise_is_drawn_by_its_numbers_alone(tmp_path):
    problem = fitted(TorchSpan(**SMALL, dropout=0.5), treebank(tmp_path))
    generator, chosen = np.random.default_rng(0), np.arange(3)
    theta, prepared = (
        problem.scorer.initial(0) + 0.1 * generator.normal(size=problem.dimension),
        problem.examples.prepared,
    )
    (first, pullback), (again, _), (other, _) = (
        problem.scorer.training(theta, prepared, chosen, noise)
        for noise in ((0, 1), (0, 1), (0, 2))
    )
    np.testing.assert_array_equal(first, again)
    assert not np.allclose(first, other)
    r, direction = generator.normal(size=len(first)), generator.normal(size=len(theta))
    ahead, behind = (
        problem.scorer.training(theta + sign * 1e-5 * direction, prepared, chosen, (0, 1))[0] @ r
        for sign in (1, -1)
    )
    assert (ahead - behind) / 2e-5 == pytest.approx(pullback(r) @ direction, rel=1e-6, abs=1e-6)


def test_weights_of_another_rate_are_other_numbers_for_the_same_network(tmp_path):
    encoded = treebank(tmp_path)
    one, tenth = (fitted(TorchSpan(**SMALL, rate=rate), encoded) for rate in (1.0, 0.1))
    theta, everything = one.scorer.initial(2), np.arange(len(encoded))
    np.testing.assert_allclose(tenth.scorer.initial(2) * 0.1, theta, atol=1e-12)
    theta = theta + 0.1 * np.random.default_rng(0).normal(size=len(theta))
    np.testing.assert_allclose(
        tenth.examples.scores(theta / 0.1, everything),
        one.examples.scores(theta, everything),
        atol=1e-12,
    )
    np.testing.assert_allclose(
        tenth.minibatch(theta / 0.1, everything)[1],
        0.1 * one.minibatch(theta, everything)[1],
        atol=1e-12,
    )


def test_single_precision_is_close(tmp_path):
    encoded = treebank(tmp_path, dense=True)
    one, other = (
        fitted(TorchSpan(**SMALL | {"precision": name}), encoded) for name in ("float32", "float64")
    )
    theta = one.scorer.initial(0) + 0.1 * np.random.default_rng(0).normal(size=one.dimension)
    (loss, gradient), (exact, slope) = (
        problem.minibatch(theta, np.arange(5)) for problem in (one, other)
    )
    assert loss == pytest.approx(exact, rel=1e-5)
    np.testing.assert_allclose(gradient, slope, atol=1e-4)


def test_refusals(tmp_path):
    sequences, chain = random_encoded(1, (3, 2)), component("factor_graph", "linear_chain")
    structure = chain.build(sequences)
    with pytest.raises(ConfigError, match=r"Take task=constituency factor_graph=span\."):
        TorchSpan().fit(sequences, structure, chain.gold(sequences, structure))
    encoded, dense = treebank(tmp_path), treebank(tmp_path, dense=True)
    with pytest.raises(
        ConfigError,
        match="leave nothing to read, without numbers of words. Set features.vectors=FILE",
    ):
        fitted(TorchSpan(embeddings=0), encoded)
    with pytest.raises(
        ConfigError, match="needs words, as task=constituency has them, or their vectors"
    ):
        fitted(TorchSpan(), replace(encoded, words=()))
    scorer = fitted(TorchSpan(**SMALL), dense).scorer
    with pytest.raises(
        ConfigError, match=r"weights for dense tables of \[2, 6\] numbers, but this corpus has \[\]"
    ):
        scorer.prepare(encoded, span(encoded).build(encoded))
    with pytest.raises(ConfigError, match="there are 5 tags in training, but 6 here"):
        scorer.prepare(replace(dense, labels=(*dense.labels, "X")), span(encoded).build(encoded))
    few = dense.subset(0, 2)
    with pytest.raises(ConfigError, match="another grammar than the one of training"):
        scorer.prepare(few, span(few).build(few))


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"hidden": 0}, r"features\.hidden=0 must be a whole number from 1"),
        ({"embeddings": -1}, r"features\.embeddings=-1 must be a whole number from 0"),
        ({"dropout": 1.0}, r"features\.dropout=1.0 must be at least 0 and below 1"),
        ({"init_scale": 0.0}, r"features\.init_scale=0.0 must be from 1e-6 to 1000"),
        ({"rate": 1e4}, r"features\.rate=10000.0 must be from 1e-6 to 1000"),
    ],
)
def test_numbers_out_of_range(options, text):
    with pytest.raises(ConfigError, match=text):
        TorchSpan(**options)


@pytest.mark.parametrize(
    ("change", "arrays", "text"),
    [
        ({"options": {"hidden": "x"}}, {}, "options.hidden must be an option of TorchSpan"),
        ({"sizes": {"words": 3}}, {}, "sizes.words must be a list of distinct strings"),
        ({"sizes": {"symbols": 2}}, {}, "above must be numbers of symbols, below 2"),
        ({}, {"above": np.zeros(2)}, "above must be"),
    ],
)
def test_saved_values_that_are_wrong(tmp_path, change, arrays, text):
    layout, own = fitted(TorchSpan(**SMALL), treebank(tmp_path)).scorer.state()
    changed = json.loads(json.dumps(layout))
    for key, values in change.items():
        changed[key] |= values
    with pytest.raises(ModelError, match=text):
        TorchSpan.restore(changed, own | arrays)
