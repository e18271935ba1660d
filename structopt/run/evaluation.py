"""The stage that evaluates trained weights: the metrics of the run."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Any

import numpy as np

from structopt.errors import NumericalError, first_few
from structopt.kernels.waist.record import Array
from structopt.learning.training import NEAR, Training
from structopt.objective.decoding import best_outputs, decoded
from structopt.objective.examples import Examples
from structopt.progress import phases
from structopt.run.components import Components
from structopt.run.reading import TrainingData

log = logging.getLogger(__name__)
Metrics = dict[str, dict[str, Any]]
"""By split, then by name."""


def evaluate(
    config: Mapping[str, Any],
    components: Components,
    data: TrainingData,
    trainer: Training,
    weights: Array,
    shards: int,
) -> Metrics:
    """Metrics of training, and of the weights on the dev and test splits.

    Scores that an epoch had at these weights are not computed again.

    Parameters
    ----------
    config : mapping
    components, data, trainer
        Of the run.
    weights : float64, shape (dimension,)
    shards : int
        Whose states were mixed; 0 for none.

    Raises
    ------
    NumericalError
        If P is not finite at the weights.
    """
    with phases.phase("evaluating", "the training split", data.problem.m):
        objective = data.problem.objective(weights)
    if not isfinite(objective):
        raise NumericalError(
            f"The objective of the trained weights came out as {objective:g}. {trainer.advice}"
        )
    training = _training_metrics(components, data, trainer, objective, shards)
    if config.get("time_decoding"):
        with phases.phase("timing", "predictions of the training split", 3 * data.problem.m):
            training["decoding_seconds"] = _decoding_seconds(components, data, weights)
    _warn_of_zeros(components, trainer, weights, objective)
    _warn_of_new_labels(components, data, weights)
    metrics: Metrics = {"train": training} | {
        split: _scores(data, split, weights, _of_split(trainer.known, split))
        for split in data.held_out.splits
    }
    return _with_pruner(metrics, data)


def known(
    components: Components,
    data: TrainingData,
    trainer: Training,
    row: Mapping[str, Any],
    shards: int,
) -> Metrics:
    """Metrics that need no evaluation: those of a pass, whose row of the history they are taken
    from.
    """
    dev = _of_split(row, "dev")
    training = _training_metrics(components, data, trainer, row.get("primal"), shards)
    return _with_pruner({"train": training, **({"dev": dev} if dev else {})}, data)


def _with_pruner(metrics: Metrics, data: TrainingData) -> Metrics:
    """Metrics with those of the pruner."""
    return {
        split: {**values, **data.pruned.metrics.get(split, {})} for split, values in metrics.items()
    }


def _of_split(row: Mapping[str, Any], split: str) -> dict[str, Any]:
    """Return the scores on a split that an epoch's row has, by the names of the metrics."""
    prefix = f"{split}."
    return {
        name.removeprefix(prefix): value for name, value in row.items() if name.startswith(prefix)
    }


def _scores(
    data: TrainingData, split: str, weights: Array, scores: dict[str, Any]
) -> dict[str, Any]:
    """Return the metrics of the weights on a split, given its scores; empty: compute them."""
    scores = scores or data.held_out.scores(split, weights, lasting=True)
    return scores | data.held_out.limits(split)


def _training_metrics(
    components: Components,
    data: TrainingData,
    trainer: Training,
    objective: float | None,
    shards: int,
) -> dict[str, Any]:
    progress, problem = trainer.progress, data.problem
    beside = sum(progress.passes) - sum(progress.evaluations)
    return {
        "objective": objective,
        "dual": progress.dual,
        "gap": trainer.gap(objective),
        **({} if progress.rate_bound is None else {"rate_bound": progress.rate_bound}),
        "epochs": progress.epoch,
        **({"kept_epoch": progress.best_epoch} if trainer.kept is not None else {}),
        "seconds": progress.seconds,
        "seconds_per_epoch": float(np.median(progress.passes)) if progress.passes else None,
        "seconds_per_evaluation": float(np.median(progress.evaluations))
        if progress.evaluations
        else None,
        "overhead_per_epoch": beside / progress.epoch if progress.evaluations else None,
        "instances": problem.m,
        **({"instances_seen": problem.m + int(problem.before)} if problem.before else {}),
        "features": problem.scorer.count,
        "featurize_seconds": data.seconds,
        "negative_losses": progress.negative_losses,
        **({"impossible_duals": progress.impossible_duals} if progress.impossible_duals else {}),
        **({"convex_passes": min(data.beginning.passes, progress.epoch)} if data.beginning else {}),
        **({"repeated_passes": progress.repeated} if progress.repeated else {}),
        **(
            {"dual_shards" if trainer.optimizer.plan.additive else "mixed_shards": shards}
            if shards
            else {}
        ),
        **components.inference.diagnostics(problem.messages),
    }


def _warn_of_zeros(
    components: Components, trainer: Training, weights: Array, objective: float
) -> None:
    """Warn where training changed nothing, and say why."""
    if not trainer.progress.epoch or weights.any():
        return
    log.warning("Every weight is zero: %s", _cause_of_zeros(components, trainer, objective))


def _cause_of_zeros(components: Components, trainer: Training, objective: float) -> str:
    """Say why training changed no weight, and what would change that."""
    loss, labels = components.loss, components.task.vocabulary()["labels"]
    if not trainer.problem.scorer.count:
        return (
            "the training data have no feature that occurs as often as features.min_count says. "
            "Give instances with features, or lower features.min_count."
        )
    if objective > 0:
        gap = trainer.gap(objective)
        if gap is not None and gap <= NEAR * objective:
            return (
                f"that is the minimum of the objective, to {gap:.2g} of {objective:.6g}. Set a "
                "larger optimizer.C, which regularises less."
            )
        ended = trainer.progress.stopped
        return (
            f"no step changed a weight{f': {ended}' if ended else ''}. Scale numeric features to "
            "about 1, or set another optimizer."
        )
    if loss.temperature > 0 or loss.gamma > 0:
        only = f": '{labels[0]}'" if len(labels) == 1 else " that agrees with its labels"
        return (
            f"each instance has one possible output{only}, so there is nothing to learn. Give "
            "training data with different outputs."
        )
    return f"{loss.member} has no loss there to step by. Set loss.gamma=1, or set warm_start=MODEL."


def _warn_of_new_labels(components: Components, data: TrainingData, weights: Array) -> None:
    """Warn of labels that are new and are predicted nowhere in the training split yet.

    Mean weights over all steps are near zero for attributes and labels of the last steps.
    """
    if not data.new_labels:
        return
    examples = _decoded_examples(components, data)
    outputs = best_outputs(examples, data.held_out.kernels, weights, components.executor)
    predicted = set(_texts(decoded(components.task, components.graph, examples, outputs)))
    if missing := [label for label in data.new_labels if label not in predicted]:
        log.warning(
            "New labels that are not predicted for any training instance yet: %s. Make more epochs "
            "over instances that have them%s.",
            first_few(missing),
            ", or set optimizer.average=false"
            if getattr(components.optimizer, "average", False)
            else "",
        )


def _texts(outputs: Any) -> Iterator[str]:
    """Yield the texts in nested lists and tuples."""
    for one in outputs:
        if isinstance(one, str):
            yield one
        elif isinstance(one, (list, tuple, set, frozenset)):
            yield from _texts(one)


def _decoded_examples(components: Components, data: TrainingData) -> Examples:
    """Return the training split, prepared for the inference that predicts."""
    examples, decoder = data.problem.examples, components.inference.decoder()
    return examples if decoder is components.inference else examples.solved_by(decoder)


def _decoding_seconds(components: Components, data: TrainingData, weights: Array) -> float:
    """Seconds of predicting the training split, scores and search: the median of three times."""
    examples, seconds = _decoded_examples(components, data), []
    for _ in range(3):  # the first may compile
        started = time.perf_counter()
        best_outputs(examples, data.held_out.kernels, weights, components.executor)
        seconds.append(time.perf_counter() - started)
    return float(np.median(seconds))
