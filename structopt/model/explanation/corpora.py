"""What explanations look at: one instance of an input, and the gold parts of a corpus, whose
features have names.
"""

from __future__ import annotations

from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from structopt.config import registry
from structopt.core.data.encoded import Encoded
from structopt.core.executor import Executor
from structopt.core.weights.coordinates import Occurring
from structopt.errors import ConfigError, DataError
from structopt.kernels.waist.record import Array
from structopt.model.explanation.rivals import Against
from structopt.model.predictor import Inputs, Predictor
from structopt.objective.examples import Examples


def one_instance(
    model: Predictor, instances: Inputs, number: int, against: Against, executor: Executor
) -> Examples:
    """Instance `number`, from 1, of a file or of some in memory, as a corpus of its own; with gold
    where that is to be compared.

    Raises
    ------
    ConfigError, DataError
        Where there is no such instance, or no gold that was asked for.
    """
    what = "the input"
    if isinstance(instances, (str, PathLike)):
        corpus, what = _labelled(model, instances, against), f"{instances}: it"
    else:
        corpus = model.task.corpus(instances)
    examples = model.examples(corpus, executor=executor)
    if not 1 <= number <= examples.count:
        raise ConfigError(
            f"does not exist: {what} has {examples.count} {model.task.instance}s, counted from 1.",
            parameter="sentence",
            value=number,
        )
    index = examples.index(number - 1)
    if index is None:
        raise ConfigError(
            f"must be a {model.task.instance} with {model.task.unit}, and this one has none.",
            parameter="sentence",
            value=number,
        )
    one = examples.encoded.subset(index, index + 1)
    return Examples.build(one, model.graph, model.scorer, model.inference)


def _labelled(model: Predictor, path: Any, against: Against) -> Any:
    """Read a file; with its labels where gold is asked for, or may have to stand against a
    prediction.
    """
    if against == "gold":
        return model.task.read(path)
    if against == "auto":
        with suppress(DataError):  # it has no labels, or not all columns
            return model.task.read(path)
    return model.task.read(path, labelled=False)


def occurring(
    model: Predictor, path: str | Path, executor: Executor | None = None
) -> list[Occurring]:
    """The gold parts of a labelled file, of all instances whose gold outputs the model can express,
    in runs of these.

    Of sets of gold outputs they are the parts that one of them has.
    """
    corpus = model.task.read(path)
    if model.annotator is not None:
        corpus = model.annotator.annotated(model.task, corpus, executor)
    encoded, _ = model.graph.admit(model.task.encode(corpus).without_empty()[0])
    if model.pruner is not None:
        encoded = model.pruner.prune(
            encoded, keep_gold=True, executor=executor or registry.serial()
        ).encoded
    edges = np.flatnonzero(
        np.diff(np.concatenate([[False], _expressible(model, encoded), [False]]).astype(int))
    )
    return [_gold_parts(model, encoded.subset(int(a), int(b))) for a, b in edges.reshape(-1, 2)]


def _expressible(model: Predictor, encoded: Encoded) -> Array:
    """Whether training has shown all that the gold output of an instance is made of: bool, shape
    (instances,).
    """
    nearest = model.graph.nearest(encoded, model.graph.build(encoded))
    allowed = np.ones(len(encoded), bool) if nearest is None else nearest.allowed.copy()
    if encoded.gold is not None:
        allowed[np.repeat(np.arange(len(encoded)), np.diff(encoded.offsets))[encoded.gold < 0]] = (
            False
        )
    return allowed


def _gold_parts(model: Predictor, encoded: Encoded) -> Occurring:
    structure = model.graph.build(encoded)
    targets = model.graph.targets(encoded, structure)
    return Occurring(
        encoded,
        structure,
        targets.possible(structure.parts) if targets.sets.any() else targets.points,
    )
