"""Any task with any factor graph, a plugin's too, as an estimator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from structopt.estimators.estimator import COMMON, Estimator


@dataclass(kw_only=True, eq=False, repr=False)
class StructuredEstimator(Estimator):
    """Any task that learns from instances in memory, with any factor graph.

    X and y are in the forms of the task: X as ``model.predict`` takes it, and y as it returns it.
    Components of plugins are named like the others.

    Parameters
    ----------
    task : str
    factor_graph, features : str or None
        Components by their names; None: those that the task chooses.
    optimizer, loss, inference, C, epochs, beta, gamma, cost, cost_weights, seed, threads,
    overrides, verbose, folder
        See `structopt.estimators.estimator.Estimator`.

    Examples
    --------
    >>> StructuredEstimator(task="multiclass", loss="svm", optimizer="sdca").fit(X, y)
    """

    keys: ClassVar[Mapping[str, Any]] = {
        "factor_graph": "factor_graph",
        "features": "features",
        **COMMON,
    }

    task: str = "ner"
    factor_graph: str | None = None
    features: str | None = None

    @property
    def task_name(self) -> str:
        """The task that was chosen."""
        return self.task
