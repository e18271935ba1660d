"""How much memory a training run takes: said in the log, and refused where it exceeds what is
free.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from structopt.config.fit_settings import FitSettings
from structopt.core.memory import (
    Footprint,
    ProblemSizes,
    in_words,
    refuse_what_does_not_fit,
    refuse_what_the_disk_lacks,
)
from structopt.core.optimizer import Optimizer
from structopt.objective.memory import gradient_bytes, scratch_bytes, sizes_of
from structopt.objective.problem import Problem

log = logging.getLogger(__name__)

REMEDIES = {
    "factor_graph.order": "a smaller factor_graph.order",
    "features.min_count": "a greater features.min_count",
    "features.hash_bits": "a smaller features.hash_bits",
    "features.templates": "fewer features.templates",
    "optimizer.average": "optimizer.average=false",
    "optimizer.memory": "a smaller optimizer.memory",
    "optimizer.cache_mb": "a smaller optimizer.cache_mb",
    "optimizer.planes": "fewer optimizer.planes",
    "patience": "patience=null",
    "keep": "keep=last",
    "threads": "threads=1",
    "task.limit": "a task.limit",
}
"""What to type for less memory, by the setting that a run must have for it."""
FRUGAL = "dca"
LEAST = {
    "factor_graph.order": 1,
    "features.min_count": -1,
    "threads": 1,
    "optimizer.average": False,
}
"""Values of these settings from which nothing can be saved."""


def check(
    config: Mapping[str, Any],
    problem: Problem,
    optimizer: Optimizer,
    fit: FitSettings,
    best: bool,
) -> None:
    """Log the memory that training is going to take, and refuse it where it exceeds what is free.

    Parameters
    ----------
    config : mapping
    problem : Problem
    optimizer : Optimizer
    fit : FitSettings
    best : bool
        Whether a copy of the best weights is kept.

    Raises
    ------
    ConfigError
        With the largest amounts, and the settings of this run by which it takes less.
    """
    sizes, name = sizes_of(problem, fit.epochs), config["optimizer"]["name"]
    footprint = optimizer.footprint(sizes, problem.loss)
    footprint = replace(footprint, gradients=footprint.gradients or fit.certificate)
    check_disk(problem, footprint)
    items = amounts(problem, footprint, sizes, best)
    largest = sorted((one for one in items.items() if one[1] > 0), key=lambda one: -one[1])
    total, listed = (
        sum(items.values()),
        ", ".join(f"{what} {in_words(size)}" for what, size in largest),
    )
    log.info("memory: training takes up to %s with optimizer=%s: %s", in_words(total), name, listed)
    refuse_what_does_not_fit(
        total,
        f"{sizes.weights:,} weights ({in_words(sizes.weight_vector)} a copy) and "
        f"{sizes.instances:,} instances with "
        f"optimizer={name} ({listed})",
        advice(config),
    )


def amounts(
    problem: Problem, footprint: Footprint, sizes: ProblemSizes, best: bool
) -> dict[str, int]:
    """Bytes that training takes beside what is read already, by what they are.

    Parameters
    ----------
    problem : Problem
    footprint : Footprint
        Of the optimizer.
    sizes : ProblemSizes
    best : bool
        Whether the best weights are kept beside the last ones.
    """
    mapped = footprint.mapped if problem.storage.in_files else ()
    state = {name: size for name, size in footprint.state.items() if name not in mapped}
    state |= {"best weights so far": sizes.weight_vector} if best else {}
    step = footprint.step + (0 if problem.storage.in_files else footprint.mapped_step)
    # the mean of the iterates, and its computation
    shown = 2 * sizes.weight_vector if len(footprint.state) > 1 else 0
    return state | {
        "vectors of the optimizer": footprint.kept,
        "a pass, or its checkpoint": max(step, shown, checkpoint_bytes(state, sizes)),
        "scratch of threads": scratch_bytes(problem),
        "shards of the gradient": gradient_bytes(problem) if footprint.gradients else 0,
    }


def check_disk(problem: Problem, footprint: Footprint) -> None:
    """Refuse vectors of all parts or instances for which the disk has no room, where they are to be
    files.
    """
    storage = problem.storage
    if storage.folder is None:
        return
    size = footprint.mapped_step + sum(footprint.state.get(name, 0) for name in footprint.mapped)
    log.info("storage: the optimizer maps %s of files in %s", in_words(size), storage.folder)
    refuse_what_the_disk_lacks(
        2 * size,
        storage.folder,
        f"{', '.join(footprint.mapped)} of all {problem.m:,} instances, and their checkpoint,",
        "Set storage.folder to a folder of another disk, task.limit, or take "
        f"optimizer={FRUGAL}, which keeps none.",
    )


def checkpoint_bytes(state: Mapping[str, int], sizes: ProblemSizes) -> int:
    """Bytes of a checkpoint while it is made: the content of the file, and before that a copy of
    the weights that may move.
    """
    packed = [
        min(size, sizes.moving_vector) for size in state.values() if size == sizes.weight_vector
    ]
    others = [size for size in state.values() if size != sizes.weight_vector]
    return (2 if sizes.moving < sizes.weights else 1) * sum(packed) + sum(others)


def advice(config: Mapping[str, Any]) -> str:
    """The settings of this run that can be changed for less memory."""
    remedies = [remedy for key, remedy in REMEDIES.items() if _can_change(config, key)]
    if config["optimizer"]["name"] != FRUGAL:
        remedies.append(f"optimizer={FRUGAL}, which keeps two vectors of weights")
    return f"Set one or more of these: {'; '.join(remedies)}."


def _can_change(config: Mapping[str, Any], key: str) -> bool:
    value: Any = config
    for name in key.split("."):
        if not isinstance(value, Mapping) or name not in value:
            return False
        value = value[name]
    return key == "task.limit" or (value is not None and value != LEAST.get(key))
