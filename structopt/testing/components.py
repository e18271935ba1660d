"""Components by their names, and whether they fit together, for tests that should not know where the core keeps its classes."""

from __future__ import annotations

from typing import Any

from structopt import compatibility, registry
from structopt.core.factor_graph import FactorGraph
from structopt.core.inference import Inference
from structopt.core.loss import Loss
from structopt.core.optimizer import Optimizer


def component(kind: str, name: str, **options: Any) -> Any:
    """Make an installed component of a kind: ``component("factor_graph", "linear_chain", order=2)``."""
    return registry.create(kind, {"name": name, **options})


def check(factor_graph: FactorGraph, inference: Inference, loss: Loss, optimizer: Optimizer) -> None:
    """Raise as a run does before it reads data, where components cannot work together.

    Raises
    ------
    CompatibilityError
        Naming who needs what, and what to type.
    """
    compatibility.check(factor_graph, inference, loss, optimizer)
