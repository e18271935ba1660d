"""Counts of instances: scores of any resample are those of the corpus made of its instances, of
every task.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from structopt.formats.labelled_images import Image, images_of
from structopt.kernels.waist.record import Array
from structopt.metrics import attachment, entities, label_sets
from structopt.metrics.f1 import macro_f1
from structopt.metrics.instance_counts import GOLD, PREDICTED, RIGHT, InstanceCounts
from structopt.task.grid import Grid
from structopt.task.multiclass import Multiclass
from structopt.task.sequence_labelling import SequenceLabelling
from structopt.task.synthetic import Synthetic
from structopt.task.token_labelling import TokenLabelling

M = 12
CountsAndScores = tuple[InstanceCounts, Callable[[Array], dict[str, float]]]
"""Counts, and the scores of the corpus of the instances of these numbers."""


def tagged(generator: np.random.Generator) -> tuple[list[list[str]], list[list[str]]]:
    tags = ["O", "O", "B-PER", "I-PER", "B-LOC"]
    gold = [
        [str(tag) for tag in generator.choice(tags, size)] for size in generator.integers(1, 9, M)
    ]
    return gold, [
        [tag if generator.random() < 0.6 else str(generator.choice(tags)) for tag in one]
        for one in gold
    ]


def of_entities(generator: np.random.Generator) -> CountsAndScores:
    gold, predicted = tagged(generator)
    return entities.outcomes(gold, predicted), lambda i: entities.score(
        [gold[k] for k in i], [predicted[k] for k in i]
    )


def of_plain_labels(generator: np.random.Generator) -> CountsAndScores:
    gold, predicted = tagged(generator)

    def accuracy(numbers: Array) -> dict[str, float]:
        pairs = [pair for k in numbers for pair in zip(gold[k], predicted[k], strict=True)]
        return {"accuracy": sum(a == b for a, b in pairs) / len(pairs)}

    return entities.token_outcomes(gold, predicted), accuracy


def of_label_sets(generator: np.random.Generator) -> CountsAndScores:
    gold, predicted = generator.random((M, 5)) < 0.3, generator.random((M, 5)) < 0.3
    return label_sets.outcomes(gold, predicted), lambda i: label_sets.score(gold[i], predicted[i])


def of_classes(generator: np.random.Generator) -> CountsAndScores:
    gold, predicted = (generator.choice(["1", "2", "3"], M).tolist() for _ in range(2))

    def corpus(numbers: Array) -> Any:
        return SimpleNamespace(labels=[gold[k] for k in numbers])

    task = Multiclass()
    everything = task.outcomes(corpus(np.arange(M)), predicted)
    return everything, lambda i: task.evaluate(corpus(i), [predicted[k] for k in i])


def of_images(generator: np.random.Generator) -> CountsAndScores:
    shapes = generator.integers(1, 6, (M, 2)).tolist()
    gold = [
        Image(np.zeros((*shape, 1), np.uint8), generator.integers(0, 3, shape)) for shape in shapes
    ]
    predicted = [
        Image(image.pixels, np.where(generator.random(image.labels.shape) < 0.7, image.labels, 7))
        for image in gold
    ]
    task = Grid()
    outcomes = task.outcomes(images_of(gold), predicted)
    return outcomes, lambda i: task.evaluate(
        images_of([gold[k] for k in i]), [predicted[k] for k in i]
    )


def of_samples(generator: np.random.Generator) -> CountsAndScores:
    task = Synthetic(variables=4)
    gold, predicted = generator.integers(0, 2, (M, 4)), generator.integers(0, 2, (M, 4))

    class Corpus(SimpleNamespace):
        def __len__(self) -> int:
            return len(self.y)

    return task.outcomes(Corpus(y=gold), predicted), lambda i: task.evaluate(
        Corpus(y=gold[i]), predicted[i]
    )


def of_trees(generator: np.random.Generator, labelled: bool = True) -> CountsAndScores:
    words = generator.integers(1, 9, M)

    def heads() -> list[Array]:
        return [
            np.array([0, *(generator.integers(0, i) for i in range(1, n))], np.int32) for n in words
        ]

    gold, predicted = heads(), heads()
    counted = [generator.random(n) < 0.8 for n in words]
    cut = [
        (a == b) & (generator.random(len(a)) < 0.7) for a, b in zip(gold, predicted, strict=True)
    ]
    right = [one & (generator.random(len(one)) < 0.8) for one in cut]

    def comparison(numbers: Array) -> attachment.Comparison:
        lists = ([one[k] for k in numbers] for one in (gold, predicted, right, cut, counted))
        first, second, *relations, counts = map(np.concatenate, lists)
        offsets = np.concatenate([[0], np.cumsum(words[numbers])])
        return attachment.Comparison(
            offsets, first, second, *(relations if labelled else (None, None)), counts
        )

    return attachment.outcomes(comparison(np.arange(M))), lambda i: attachment.metrics(
        comparison(i)
    )


def of_bare_trees(generator: np.random.Generator) -> CountsAndScores:
    return of_trees(generator, labelled=False)


@pytest.mark.parametrize(
    "make",
    [
        of_entities,
        of_plain_labels,
        of_label_sets,
        of_classes,
        of_images,
        of_samples,
        of_trees,
        of_bare_trees,
    ],
)
def test_scores_of_resamples_are_those_of_the_corpora(
    make: Callable[[np.random.Generator], CountsAndScores],
) -> None:
    generator = np.random.default_rng(0)
    for _ in range(5):
        outcomes, scores = make(generator)
        assert len(outcomes) == M
        assert outcomes.scores() == scores(np.arange(M))
        for _ in range(5):
            drawn = generator.integers(0, M, M)
            assert outcomes.scores(np.bincount(drawn, minlength=M)) == pytest.approx(
                scores(drawn), abs=1e-14
            )


@pytest.mark.parametrize(
    ("scheme", "names"),
    [("none", {"accuracy"}), ("iob2", {"accuracy", "precision", "recall", "f1"})],
)
def test_plain_labels_have_no_entities(scheme: str, names: set[str]) -> None:
    task: TokenLabelling = SequenceLabelling(scheme=scheme, target_scheme=scheme)
    corpus = task.read(task.files["dev"])
    scores = task.outcomes(corpus, task.gold_outputs(corpus)).scores()
    assert {name for name in scores if "_" not in name} == names
    assert scores["accuracy"] == 1.0


def test_many_events_an_instance_are_kept_as_a_table() -> None:
    events = (
        np.array([0, 0, 0, 1]),
        np.array([0, 0, 1, 1]),
        np.array([RIGHT, RIGHT, PREDICTED, GOLD]),
    )
    table = np.array([[1.0], [2.0]])

    def counts(*events: Array) -> InstanceCounts:
        return InstanceCounts.of_classes(
            table, events, 2, lambda totals: {"first": totals[0], "last": totals[6]}
        )

    few, many = counts(*events), counts(*(np.tile(one, 9) for one in events))
    assert few.totals().tolist() == [3, 2, 0, 0, 0, 1, 1]
    assert many.totals().tolist() == [3, 18, 0, 0, 0, 9, 9]
    assert (len(few.values), len(many.values)) == (6, 5)
    assert many.scores(np.array([0, 2])) == {"first": 4, "last": 18}


def test_macro_f1_of_nothing() -> None:
    assert macro_f1(np.zeros((3, 3))) == 0.0
