"""The two outputs that an explanation compares: the one that was chosen, and what stands against
it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np

from structopt.core.ability import Ability
from structopt.core.data.sparse_vectors import SparseVectors
from structopt.core.executor import Executor
from structopt.errors import ConfigError
from structopt.kernels.waist.record import Array
from structopt.model.predictor import Predictor
from structopt.objective.decoding import k_best, predicted_outputs
from structopt.objective.examples import Examples

Against = Literal["auto", "runner_up", "gold", "change"]
CHOICES: tuple[Against, ...] = ("auto", "runner_up", "gold", "change")
MEANING = {
    "runner_up": "the second best output",
    "gold": "the gold output",
    "change": "the best output that differs in one variable",
}


class Rivals(NamedTuple):
    """Two outputs of one instance, and which the second one is."""

    chosen: SparseVectors
    other: SparseVectors
    which: str


def rivals(model: Predictor, examples: Examples, against: Against, executor: Executor) -> Rivals:
    """The prediction of a corpus of one instance, and what is to stand against it.

    With ``auto`` that is the second best output where the inference lists it; else the gold one,
    where the input has it and it is another; else the best one that differs in the label of one
    variable.

    Raises
    ------
    ConfigError
        Where there is no such output.
    """
    of = model.task, model.inference, model.kernels, model.weights
    chosen = predicted_outputs(examples, *of, executor, model.temperature)
    for which in ("runner_up", "gold", "change") if against == "auto" else (against,):
        other = OTHERS[which](model, examples, chosen, executor)
        if other is not None:
            return Rivals(chosen, other, which)
    advice = (
        "This inference lists no second output, and there is no gold one that differs and is a "
        "candidate. Give an input with "
        "gold, or in Python take model.with_inference(...) with exact, or enumeration, which "
        "lists the k best of few outputs."
        if against == "auto"
        else f"Set against={' or '.join(choice for choice in CHOICES if choice != against)}."
    )
    raise ConfigError(
        f"against={against}: there is no such output to hold the prediction against.",
        remedy=advice,
    )


def _runner_up(
    model: Predictor, examples: Examples, chosen: SparseVectors, executor: Executor
) -> SparseVectors | None:
    """The best of the two best outputs that is not the chosen one."""
    if Ability.K_BEST not in model.inference.provides(model.graph.kind):
        return None
    (best,) = k_best(examples, model.list_kernels, model.weights, 2, executor)
    outputs = [best.outputs.subset(rank, rank + 1) for rank in range(len(best.scores))]
    return next((output for output in outputs if not same(output, chosen)), None)


def _gold(
    model: Predictor, examples: Examples, chosen: SparseVectors, executor: Executor
) -> SparseVectors | None:
    """The gold output, where the input has it in full, the model can express it, and it is not the
    chosen one.
    """
    encoded, structure = examples.encoded, examples.structure
    if encoded.gold is None or (encoded.gold < 0).any():
        return None
    nearest = model.graph.nearest(encoded, structure)
    if _pruned_away(model, examples, executor) if nearest is None else not nearest.allowed.all():
        return None
    gold = model.graph.gold(encoded, structure)
    return None if (gold.parts < 0).any() or same(gold, chosen) else gold


def _pruned_away(model: Predictor, examples: Examples, executor: Executor) -> bool:
    """Whether the gold output has parts that the pruner leaves out: with all that it has there
    would be more candidates.
    """
    if model.pruner is None:
        return False
    kept = model.pruner.prune(examples.encoded, keep_gold=True, executor=executor).encoded
    return bool(model.graph.build(kept).parts[-1] != examples.structure.parts[-1])


def _change(
    model: Predictor, examples: Examples, chosen: SparseVectors, _executor: Executor
) -> SparseVectors | None:
    """The best output that differs in the label of one variable, where outputs are labels of
    variables.
    """
    encoded, graph = examples.encoded, model.graph
    if model.task.view != "labels" or not encoded.labels or "labels" not in graph.views:
        return None
    labels = np.asarray(graph.view("labels", encoded, examples.structure, chosen), np.int32)
    scores, best, score = examples.scores(model.weights, np.arange(1)), None, -np.inf
    for variable in range(len(labels)):
        for label in range(len(encoded.labels)):
            if label == labels[variable] or (
                encoded.allowed is not None and not encoded.allowed[variable, label]
            ):
                continue
            changed = labels.copy()
            changed[variable] = label
            output = graph.gold(replace(encoded, gold=changed), examples.structure)
            if (value := score_of(output, scores)) > score:
                best, score = output, value
    return best


OTHERS = {"runner_up": _runner_up, "gold": _gold, "change": _change}


def same(one: SparseVectors, other: SparseVectors) -> bool:
    """Whether two outputs of an instance have the same parts, each as often."""
    return not len(difference(one, other)[0])


def difference(one: SparseVectors, other: SparseVectors) -> tuple[Array, Array]:
    """The parts of which two outputs of an instance have unlike numbers: int64, ascending; and the
    differences.
    """
    parts, index = np.unique(np.concatenate([one.parts, other.parts]), return_inverse=True)
    counts = np.bincount(index.ravel(), np.concatenate([one.values, -other.values]), len(parts))
    return parts[counts != 0].astype(np.int64), counts[counts != 0]


def score_of(output: SparseVectors, scores: Array) -> float:
    """s(y), given the part scores of the instance."""
    return float(scores[output.parts] @ output.values)
