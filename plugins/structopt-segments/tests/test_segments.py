"""The contracts of graphs, inferences, losses and optimizers; a chain as the special case; gold
labels, refusals, training.
"""

from __future__ import annotations

import json
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from structopt_segments.graph import Segments

from structopt.plugin import ConfigError, InfeasibleError, LossFamily, Structure
from structopt.plugin.provisional import Encoded
from structopt.testing.components import component, run_words
from structopt.testing.factor_graph import FactorGraphSuite, dense
from structopt.testing.inference import InferenceSuite, run
from structopt.testing.loss import LossSuite
from structopt.testing.optimizer import OptimizerSuite, passes
from structopt.testing.problems import gold_and_cost, make_problem, outputs, random_encoded

IOB2 = ("B-LOC", "B-PER", "I-LOC", "I-PER", "O")
BIOES = ("B-X", "E-X", "I-X", "O", "S-X")
ENTITIES = {
    "iob2": ["O B-PER I-PER O", "B-LOC", "B-PER B-PER I-PER I-PER B-LOC", "O O"],
    "bioes": ["O B-X E-X S-X", "O", "B-X I-X I-X E-X", "S-X S-X"],
}


def exact() -> Any:
    return component("inference", "exact")


def entities(scheme: str, **changes: Any) -> Encoded:
    """A small corpus with labels of a scheme."""
    sentences, labels = (
        [line.split() for line in ENTITIES[scheme]],
        IOB2 if scheme == "iob2" else BIOES,
    )
    gold = np.array([labels.index(label) for sentence in sentences for label in sentence], np.int32)
    encoded = random_encoded(0, tuple(map(len, sentences)), len(labels))
    return replace(encoded, **({"labels": labels, "gold": gold} | changes))


CORPORA = {
    "plain": (lambda: random_encoded(0, (1, 2, 3, 5), 2), 2),
    "three": (lambda: random_encoded(1, (1, 4, 3), 3), 3),
    "constrained": (lambda: random_encoded(2, (1, 2, 4), 3, constrained=True), 2),
    "partial": (lambda: random_encoded(3, (2, 3, 4), 3, partial=True), 2),
    "iob2": (lambda: entities("iob2"), 4),
    "bioes": (lambda: entities("bioes"), 4),
    "starts": (
        lambda: entities("iob2", forbidden_starts=(2, 3), forbidden_transitions=((4, 2), (0, 3))),
        3,
    ),
}


@pytest.fixture(params=CORPORA)
def case(request: pytest.FixtureRequest) -> tuple[Encoded, int]:
    make, length = CORPORA[request.param]
    return make(), length


class TestGraph(FactorGraphSuite):
    @pytest.fixture
    def encoded(self, case: tuple[Encoded, int]) -> Encoded:
        return case[0]

    @pytest.fixture
    def graph(self, case: tuple[Encoded, int]) -> Segments:
        return Segments(case[1])


class TestExact(InferenceSuite):
    @pytest.fixture
    def inference(self) -> Any:
        return exact()

    @pytest.fixture
    def structure(self, case: tuple[Encoded, int]) -> Structure:
        return Segments(case[1]).build(case[0])


@pytest.mark.parametrize("beta", [1.0, inf])
class TestLoss(LossSuite):
    @pytest.fixture
    def problem(self, beta: float) -> Any:
        return make_problem(
            entities("iob2"), Segments(4), LossFamily(beta=beta, gamma=1.0), exact()
        )


@pytest.mark.parametrize(
    ("name", "beta"), [("lbfgs", 1.0), ("sdca", 1.0), ("sdca", inf), ("mira", inf)]
)
class TestOptimizers(OptimizerSuite):
    decrease, many = 0.95, 20

    @pytest.fixture
    def optimizer(self, name: str) -> Any:
        return lambda: component("optimizer", name)

    @pytest.fixture
    def problem(self, beta: float) -> Any:
        loss = LossFamily(beta=beta, gamma=1.0)
        return lambda seed: make_problem(entities("iob2"), Segments(4), loss, exact(), seed=seed)

    def test_starts_from_given_weights(self, optimizer: Any, problem: Any) -> None:
        """Optimizers that keep dual variables refuse initial weights."""
        try:
            super().test_starts_from_given_weights(optimizer, problem)
        except ConfigError as refused:
            assert "optimizer=sdca starts from a dual point" in str(refused)


def test_optimizers_agree() -> None:
    reached = []
    for name in ("lbfgs", "sdca"):
        problem = make_problem(
            entities("iob2"), Segments(4), LossFamily(beta=1.0, gamma=1.0), exact()
        )
        optimizer = component("optimizer", name)
        state = passes(optimizer, problem, optimizer.init(problem, np.zeros(problem.dimension)), 30)
        reached.append(problem.objective(optimizer.weights(state)))
    assert reached[0] == pytest.approx(reached[1], rel=1e-6)


@pytest.mark.parametrize("constrained", [False, True])
def test_segments_of_one_token_are_a_chain(constrained: bool) -> None:
    encoded = random_encoded(4, (1, 3, 6), 3, constrained=constrained)
    chain = component("factor_graph", "linear_chain").build(encoded)
    segments, random = Segments(1).build(encoded), np.random.default_rng(0)
    for i, n in enumerate(np.diff(encoded.offsets)):
        s, first = random.normal(size=3 * n + 9), slice(0, 3 * n)
        same = np.concatenate([s[first], np.zeros(3), s[3 * n :]])
        for temperature in (0.0, 0.5, 1.0):
            value, z = run(exact().kernels(chain.kind).solve, chain, i, s, temperature)
            other, marginals = run(
                exact().kernels(segments.kind).solve, segments, i, same, temperature
            )
            assert other == pytest.approx(value, rel=1e-12)
            np.testing.assert_allclose(marginals[first], z[first], atol=1e-12)
            np.testing.assert_allclose(marginals[3 * n + 3 :], z[3 * n :], atol=1e-12)


@pytest.mark.parametrize("scheme", ["iob2", "bioes"])
def test_only_segmentations_are_outputs(scheme: str) -> None:
    encoded = entities(scheme)
    structure = Segments(4).build(encoded)
    vertices = structure.kind.vertices(structure.record, 0, int(structure.parts[1]), 100_000)
    lines = {" ".join(encoded.labels[y] for y in np.flatnonzero(v[:20]) % 5) for v in vertices}
    good = {"iob2": "B-LOC I-LOC O B-PER", "bioes": "S-X B-X I-X E-X"}[scheme]
    bad = {
        "iob2": ["O I-LOC O O", "B-LOC I-PER O O"],
        "bioes": ["B-X O O O", "B-X I-X I-X I-X", "S-X E-X O O"],
    }[scheme]
    assert good in lines
    assert lines.isdisjoint(bad)


def test_view_of_segments() -> None:
    encoded, graph = entities("iob2"), Segments(4)
    structure = graph.build(encoded)
    segments = graph.view("segments", encoded, structure, graph.gold(encoded, structure))
    expected = [
        [0, 1, 4],
        [1, 3, 1],
        [3, 4, 4],
        [4, 5, 0],
        [5, 6, 1],
        [6, 9, 1],
        [9, 10, 0],
        [10, 11, 4],
        [11, 12, 4],
    ]
    np.testing.assert_array_equal(segments, expected)


def test_runs_are_cut_at_the_longest_length() -> None:
    sentence = random_encoded(0, (7,), 2)
    graph, encoded = Segments(3), replace(sentence, gold=np.array([0, 0, 0, 0, 0, 0, 1], np.int32))
    structure = graph.build(encoded)
    np.testing.assert_array_equal(
        graph.view("segments", encoded, structure, graph.gold(encoded, structure)),
        [[0, 3, 0], [3, 6, 0], [6, 7, 1]],
    )


def test_cost_counts_tokens() -> None:
    problem = make_problem(entities("iob2"), Segments(4), LossFamily(beta=inf, gamma=1.0), exact())
    for i in range(problem.m):
        listed = outputs(problem, i)
        n = int(np.diff(problem.examples.encoded.offsets)[i])
        wrong = n - listed.vertices[:, : 5 * n] @ listed.gold[: 5 * n]
        np.testing.assert_allclose(listed.costs, wrong, atol=1e-12)


def test_partial_labels_restrict_the_target() -> None:
    labelled = entities("iob2")
    sets = np.eye(5, dtype=bool)[labelled.gold]
    sets[2] = sets[5] = True
    encoded = replace(labelled, gold=sets.argmax(axis=1).astype(np.int32), gold_sets=sets)
    graph = Segments(4)
    structure = graph.build(encoded)
    np.testing.assert_array_equal(
        graph.targets(encoded, structure).sets, [True, False, True, False]
    )
    problem = make_problem(encoded, graph, LossFamily(beta=1.0, gamma=1.0), exact())
    assert problem.objective(np.zeros(problem.dimension)) > 0
    sets[0] = [False, False, True, True, False]
    with pytest.raises(
        InfeasibleError, match="instance 0: No output agrees with the partial labels"
    ):
        make_problem(encoded, graph, LossFamily(beta=1.0, gamma=1.0), exact())


@pytest.mark.parametrize(
    ("sentences", "words"),
    [
        (
            "O I-PER",
            "instance 1 of the training data has labels that are no segments, from its token 1 "
            "on: O I-PER",
        ),
        ("B-PER I-LOC", "from its token 1 on: B-PER I-LOC"),
        (
            "B-PER I-PER I-PER",
            r"has a segment of 3 tokens \(B-PER\). Set factor_graph.max_length=3",
        ),
    ],
)
def test_gold_that_is_no_output(sentences: str, words: str) -> None:
    labels = sentences.split()
    encoded = replace(
        random_encoded(0, (len(labels),), 5),
        labels=IOB2,
        gold=np.array([IOB2.index(label) for label in labels], np.int32),
    )
    graph = Segments(2)
    with pytest.raises(ConfigError, match=words):
        graph.gold(encoded, graph.build(encoded))


def test_refusals() -> None:
    with pytest.raises(ConfigError, match="factor_graph.max_length=0 must be at least 1"):
        Segments(0)
    with pytest.raises(ConfigError, match=r"features.transitions=\[\]"):
        Segments().build(random_encoded(0, anchored=True))
    with pytest.raises(ConfigError, match="cannot forbid O after I-PER"):
        Segments(4).build(entities("iob2", forbidden_transitions=((3, 4),)))


def test_gold_is_counted_in_tied_groups() -> None:
    encoded, graph = entities("iob2"), Segments(4)
    structure = graph.build(encoded)
    z = dense(graph.gold(encoded, structure), 0, int(structure.parts[1]))
    lengths, pairs = z[20:40].reshape(4, 5), z[40:].reshape(5, 5)
    assert (lengths[0, 4], lengths[1, 1], lengths.sum()) == (2, 1, 3)
    assert (pairs[4, 1], pairs[1, 4], pairs.sum()) == (1, 1, 2)
    assert not gold_and_cost(make_problem(encoded, graph, LossFamily(), exact()), 0, len(z))[1][
        20:
    ].any()


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run over the shipped corpus."""
    folder = tmp_path_factory.mktemp("segments")
    words = ("task=ner", "factor_graph=segments", "loss=crf", "optimizer=dca", "optimizer.epochs=5")
    done = run_words(folder, *words, "tracker=none", "hydra.run.dir=run")
    assert done.code == 0, done.err
    return folder


def test_trains(trained: Path) -> None:
    assert json.loads((trained / "run" / "metrics.json").read_text())["dev"]["f1"] > 0.8


def test_predicts(trained: Path) -> None:
    (trained / "new.txt").write_text(
        "Ann NNP B-NP\nSmith NNP I-NP\nslept VBD B-VP\n. . O\n", encoding="utf8"
    )
    done = run_words(
        trained,
        "predict",
        "model=run",
        "input=new.txt",
        "output=out.txt",
        "probabilities=true",
        "k_best=2",
    )
    assert done.code == 0, done.err
    rows = [
        line.split()
        for line in (trained / "out.txt").read_text(encoding="utf8").splitlines()
        if line
    ]
    assert len(rows) == 4
    assert all(row[3] in ("O",) or row[3][:2] in ("B-", "I-") for row in rows)


def test_warm_start_carries_all_weights_over(trained: Path) -> None:
    words = (
        "factor_graph=segments",
        "factor_graph.max_length=6",
        "loss=crf",
        "optimizer=dca",
        "optimizer.epochs=0",
    )
    done = run_words(trained, *words, "warm_start=run", "tracker=none", "hydra.run.dir=again")
    assert done.code == 0, done.err
    scores = [
        json.loads((trained / name / "metrics.json").read_text())["dev"]["f1"]
        for name in ("run", "again")
    ]
    assert scores[1] == pytest.approx(scores[0], abs=0.02)


def test_too_short_a_length_is_refused(tmp_path: Path) -> None:
    done = run_words(tmp_path, "factor_graph=segments", "factor_graph.max_length=2", "tracker=none")
    assert done.code == 2
    assert "Set factor_graph.max_length=4." in done.err
