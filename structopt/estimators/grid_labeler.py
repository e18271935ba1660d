"""Labels of the cells of images."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from structopt.estimators.estimator import COMMON, Estimator


@dataclass(kw_only=True, eq=False, repr=False)
class GridLabeler(Estimator):
    """A label for every cell of an image, which depends on those of its neighbours.

    X is a list of arrays of shape (rows, columns, channels) or (rows, columns); y is a list of
    arrays of whole numbers from 0 on, of shape (rows, columns), and so are predictions.

    Parameters
    ----------
    radius : int or None
        How far away the cells are whose pixels are attributes of a cell.
    pixels : str or None
        ``symbols``: every colour is an attribute; ``values``: every channel is one; ``auto``.
    edge_features : str or None
        ``directions``, or ``pixels``.
    optimizer, loss, inference, C, epochs, beta, gamma, cost, cost_weights, seed, threads,
    overrides, verbose, folder
        See `structopt.estimators.estimator.Estimator`.
    """

    keys: ClassVar[Mapping[str, str]] = {
        **COMMON,
        "radius": "task.radius",
        "pixels": "task.pixels",
        "edge_features": "task.edge_features",
    }

    radius: int | None = None
    pixels: str | None = None
    edge_features: str | None = None

    @property
    def task_name(self) -> str:
        """Images."""
        return "grid"

    def _returned(self, outputs: list[Any]) -> list[Any]:
        return [np.asarray(image.labels) for image in outputs]

    def _note(self, X: Any, y: Any) -> None:
        self.classes_ = np.array(list(map(int, self.model_.labels)))
