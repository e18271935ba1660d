"""The stage that evaluates trained weights: the metrics of the run."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from math import isfinite
from typing import Any

import numpy as np

from structopt.errors import NumericalError
from structopt.kernels.waist.record import Array
from structopt.objective.decoding import best_outputs
from structopt.run.components import Components
from structopt.run.reading import TrainingData
from structopt.run.trainer import Trainer

log = logging.getLogger(__name__)
Metrics = dict[str, dict[str, Any]]
"""By split, then by name."""


def evaluate(
    config: Mapping[str, Any], components: Components, data: TrainingData, trainer: Trainer, weights: Array,
    shards: int,
) -> Metrics:  # fmt: skip
    """Metrics of training, and of the weights on the dev and test splits.

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
    training = _training_metrics(components, data, trainer, weights)
    if data.beginning:
        training["convex_passes"] = min(data.beginning.passes, trainer.progress.epoch)
    if trainer.progress.repeated:
        training["repeated_passes"] = trainer.progress.repeated
    if shards:
        training["mixed_shards"] = shards
    training |= components.inference.diagnostics(data.problem.messages)
    if config.get("time_decoding"):
        training["decoding_seconds"] = _decoding_seconds(components, data, weights)
    _warn_of_zeros(components, trainer, weights, training["objective"])
    metrics: Metrics = {"train": training} | {split: data.held_out.scores(split, weights) for split in data.held_out.splits}
    return {split: {**values, **data.pruned.metrics.get(split, {})} for split, values in metrics.items()}


def _training_metrics(components: Components, data: TrainingData, trainer: Trainer, weights: Array) -> dict[str, Any]:
    progress, problem = trainer.progress, data.problem
    objective = problem.objective(weights)
    if not isfinite(objective):
        raise NumericalError(f"The objective of the trained weights came out as {objective:g}. {trainer.advice}")
    beside = sum(progress.passes) - sum(progress.evaluations)
    return {
        "objective": objective,
        "dual": progress.dual,
        "gap": trainer.gap(objective),
        "epochs": progress.epoch,
        "seconds": progress.seconds,
        "seconds_per_epoch": float(np.median(progress.passes)) if progress.passes else None,
        "seconds_per_evaluation": float(np.median(progress.evaluations)) if progress.evaluations else None,
        "overhead_per_epoch": beside / progress.epoch if progress.evaluations else None,
        "instances": problem.m,
        "features": problem.scorer.count,
        "featurize_seconds": data.seconds,
        "negative_losses": progress.negative_losses,
        **({"impossible_duals": progress.impossible_duals} if progress.impossible_duals else {}),
    }


def _warn_of_zeros(components: Components, trainer: Trainer, weights: Array, objective: float) -> None:
    """Warn where training changed nothing, and say why."""
    if not trainer.progress.epoch or weights.any():
        return
    log.warning(
        "Every weight is still zero: %s %s.", components.loss.member,
        f"has a loss there, but no step changed it. {trainer.advice}".rstrip(".") if objective > 0
        else "has no loss there to step by. Set loss.gamma=1, or type warm_start=MODEL",
    )  # fmt: skip


def _decoding_seconds(components: Components, data: TrainingData, weights: Array) -> float:
    """Seconds of predicting the training split, scores and search: the median of three times."""
    decoder, examples, seconds = components.inference.decoder(), data.problem.examples, []
    if decoder is not components.inference:
        examples = examples.solved_by(decoder)
    for _ in range(3):  # the first may compile
        started = time.perf_counter()
        best_outputs(examples, data.held_out.kernels, weights, components.executor)
        seconds.append(time.perf_counter() - started)
    return float(np.median(seconds))
