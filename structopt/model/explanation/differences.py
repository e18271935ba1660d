"""What decided a prediction: the score difference of two outputs as a sum over attributes, exactly.

With r = chi(y) - chi(y') over the parts of the instance, s(y) - s(y') = theta^T F r: every weight
theta_f has the share theta_f (F r)_f. Part by part, that is theta_f (F e_p)_f r_p, so that shares
add up by attribute, by place and by configuration.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from structopt.core.data.sparse_vectors import SparseVectors
from structopt.core.data.structure import PartGroup
from structopt.core.executor import Executor
from structopt.core.scorer import SparseFeatures
from structopt.core.weights.coordinates import Coordinate, Occurring, unnamed
from structopt.model.explanation import difference_pages
from structopt.model.explanation.explanation import Explanation
from structopt.model.explanation.naming import ModelNames, linear
from structopt.model.explanation.rivals import Against, Rivals, difference, rivals, score_of
from structopt.model.predictor import Predictor
from structopt.objective.decoding import decoded
from structopt.objective.examples import Examples


class Share(NamedTuple):
    """What one weight adds to the score difference at one part.

    Attributes
    ----------
    place : str
        Where the part stands.
    configuration : str
        What the part says: a label, a pair of labels; empty where it says that it is there.
    feature : Coordinate
        The feature of the weight; where several share it, the one that the part has, else their
        names together.
    times : float
        How much more of the feature the prediction has at this part: its value, negative where the
        other output has it.
    weight : float
    """

    place: str
    configuration: str
    feature: Coordinate
    times: float
    weight: float

    @property
    def amount(self) -> float:
        """Weight times feature (nats)."""
        return self.times * self.weight


@dataclass(frozen=True)
class Difference(Explanation):
    """Two outputs of one instance, and the shares of the difference of their scores.

    Attributes
    ----------
    title : str
        What was predicted: for example ``sentence 3``.
    words : list of str
        Of the instance, where the task knows words.
    chosen, other : object
        The outputs, as `Predictor.predict` returns them.
    which : str
        What the other output is: ``runner_up``, ``gold`` or ``change``.
    scores : (float, float)
        Of both outputs (nats).
    shares : list of Share
        Those that are not 0, the largest first.
    remarks : list of str
        What a reader should know, such as names that could not be found.
    top : int
        Rows of the tables in texts and pages.
    """

    title: str
    words: list[str]
    chosen: Any
    other: Any
    which: str
    scores: tuple[float, float]
    shares: list[Share]
    remarks: list[str]
    top: int = 20

    @property
    def difference(self) -> float:
        """s(y) - s(y')."""
        return self.scores[0] - self.scores[1]

    @property
    def total(self) -> float:
        """The sum of all shares, which is the difference but for rounding."""
        return float(sum(share.amount for share in self.shares))

    def by(self, key: Callable[[Share], str]) -> list[tuple[str, float]]:
        """Sums of shares by what `key` says of them, the largest first."""
        sums: dict[str, float] = {}
        for share in self.shares:
            sums[key(share)] = sums.get(key(share), 0.0) + share.amount
        return sorted(sums.items(), key=lambda pair: (-abs(pair[1]), pair[0]))

    @property
    def by_attribute(self) -> list[tuple[str, float]]:
        """Sums by attribute."""
        return self.by(lambda share: share.feature.attribute or share.feature.group)

    @property
    def by_place(self) -> list[tuple[str, float]]:
        """Sums by place."""
        return self.by(lambda share: share.place)

    @property
    def by_configuration(self) -> list[tuple[str, float]]:
        """Sums by configuration."""
        return self.by(
            lambda share: share.configuration or share.feature.configuration or share.feature.group
        )

    def text(self) -> str:
        """See `structopt.model.explanation.difference_pages`."""
        return difference_pages.text(self)

    def data(self) -> dict[str, Any]:
        """See `structopt.model.explanation.difference_pages`."""
        return difference_pages.data(self)

    def body(self) -> Iterator[str]:
        """See `structopt.model.explanation.difference_pages`."""
        return difference_pages.body(self)


def explained(
    model: Predictor,
    examples: Examples,
    number: int,
    against: Against,
    top: int,
    executor: Executor,
) -> Difference:
    """Explain the prediction for a corpus of one instance, which is the one of this number in its
    file.

    Raises
    ------
    ConfigError
        Where scores are no sums of weights, or nothing stands against the prediction.
    """
    scorer = linear(model.scorer)
    pair = rivals(model, examples, against, executor)
    scores = examples.scores(model.weights, np.arange(1))
    outputs = [
        model.task.written(decoded(model.task, model.graph, examples, output))[0]
        for output in (pair.chosen, pair.other)
    ]
    shares = sorted(_shares(model, scorer, examples, pair), key=lambda share: -abs(share.amount))
    one = Difference(
        f"{model.task.instance} {number}",
        list(examples.encoded.words),
        outputs[0],
        outputs[1],
        pair.which,
        (score_of(pair.chosen, scores), score_of(pair.other, scores)),
        shares,
        [],
        top,
    )
    return replace(one, remarks=list(_remarks(one)))


def _shares(
    model: Predictor, scorer: SparseFeatures, examples: Examples, pair: Rivals
) -> Iterator[Share]:
    """The shares of all weights at all parts that the outputs do not have in common."""
    names, space = ModelNames(model.task, model.graph), examples.space()
    parts, counts = difference(pair.chosen, pair.other)
    for part, count in zip(parts.tolist(), counts.tolist(), strict=True):
        residual = np.zeros(int(examples.structure.parts[-1]))
        residual[part] = count
        scorer.kernels.pullback(examples.features, 0, residual, space.gradient)
        size = int(
            scorer.kernels.flatten(examples.features, space.gradient, space.indices, space.values)
        )
        indices, times = space.indices[:size].copy(), space.values[:size].copy()
        kept = model.weights[indices] != 0.0
        indices, times = indices[kept], times[kept]
        place, configuration = _placed(model, examples, names, part)
        features = scorer.named(
            np.unique(indices), names, Occurring(examples.encoded, examples.structure, _only(part))
        )
        for index, number in zip(indices.tolist(), times.tolist(), strict=True):
            yield Share(
                place,
                configuration,
                _joined(features[index], index),
                number,
                float(model.weights[index]),
            )


def _only(part: int) -> SparseVectors:
    return SparseVectors(np.array([0, 1]), np.array([part], np.int32), np.ones(1))


def _joined(names: list[Coordinate], index: int) -> Coordinate:
    """The name of a weight of a part; where features of the part share it, their names together."""
    if not names:
        return unnamed(index)
    attributes = " or ".join(dict.fromkeys(name.attribute for name in names))
    return Coordinate(names[0].group, attributes, names[0].configuration)


def _placed(model: Predictor, examples: Examples, names: ModelNames, part: int) -> tuple[str, str]:
    """Where a part stands, and what it says."""
    group, position, configuration = part_of(examples, part)
    place = model.graph.place(examples.encoded, examples.structure, group, position)
    return place, names.configurations(group.name, group.width)[configuration]


def part_of(examples: Examples, part: int) -> tuple[PartGroup, int, int]:
    """The group of a part of a corpus of one instance, its position and its configuration."""
    for group in examples.structure.groups:
        size = int(group.offsets[1]) * group.width
        if part < size:
            return group, part // group.width, part % group.width
        part -= size
    raise IndexError(part)


def _remarks(one: Difference) -> Iterator[str]:
    """What a reader may not expect of these outputs and weights."""
    if one.which == "runner_up" and one.difference < 0:
        yield (
            "The other output has the higher score: this model predicts by marginals, or by an "
            "inference that is not exact."
        )
    if one.difference == 0.0 and not one.shares:
        yield "Both outputs have the same features."
    if nameless := sum(not share.feature.group for share in one.shares):
        yield f"{nameless} of {len(one.shares)} shares are of features whose names are not known."
