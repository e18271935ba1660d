"""What a training run leaves beside its model, so that another run can go on from there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from structopt.kernels.waist.record import Array


@dataclass(frozen=True)
class Trained:
    """The end of a training run.

    Attributes
    ----------
    config : mapping
        The validated config of the run.
    folder : Path or None
        The run folder, which may have been deleted; None without one.
    state : dict
        Of the optimizer, after the last pass: arrays over the weights are over those of the run's
        model. Empty where it is bound to the data (`structopt.core.optimizer.Plan.bound`).
    instances : int
        Of the training split.
    parts : int
        Of all these instances.
    seen : int
        Instances that the weights were trained on: those of the training split, and of the runs
        before that this one went on from.
    messages : float64 vector
        What the inference kept of the instances.
    unfinished : str
        Why training ended before the optimizer's own criterion, and what to do, or the empty
        string.
    """

    config: Mapping[str, Any]
    folder: Path | None
    state: dict[str, Any]
    instances: int
    parts: int
    seen: int
    messages: Array
    unfinished: str = ""
