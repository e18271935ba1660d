"""Dependency trees over sentences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from structopt.estimators.application import further_settings
from structopt.estimators.estimator import COMMON, Estimator


@dataclass(kw_only=True, eq=False, repr=False)
class DependencyParser(Estimator):
    """The head of every word, and the relation to it.

    X is a list of sentences: lists of words, of tuples of cells (form, lemma, upos, xpos, feats),
    or mappings from column to cells. y is a list of trees: for every word its head, from 1 (0 is
    the root), or a pair (head, relation). Predictions are lists of `Arc`s (head, relation); the
    relation is None where `labeled` is not set.

    Parameters
    ----------
    labeled : bool or None
        Whether relations are predicted; None: where y has any.
    projective : bool or None
        Whether arcs may not cross.
    factor_graph : str or None
        ``arc_factored``, or ``second_order``, which predicts no relations.
    optimizer, loss, inference, C, epochs, beta, gamma, cost, cost_weights, seed, threads,
    overrides, verbose, folder
        See `structopt.estimators.estimator.Estimator`.

    Examples
    --------
    >>> DependencyParser(epochs=5).fit([["Ann", "slept"]], [[(2, "nsubj"), (0, "root")]])
    """

    keys: ClassVar[Mapping[str, str]] = {
        "factor_graph": "factor_graph",
        **COMMON,
        "labeled": "factor_graph.labeled",
        "projective": "factor_graph.projective",
    }

    labeled: bool | None = None
    projective: bool | None = None
    factor_graph: str | None = None

    @property
    def task_name(self) -> str:
        """Dependency trees."""
        return "dependency"

    def _typed(self, y: Any) -> dict[str, Any]:
        """Whether relations are predicted, where nobody says: y has some."""
        graph = further_settings(self.overrides).get("factor_graph", self.factor_graph)
        if self.labeled is not None or graph not in (None, "arc_factored"):
            return {}
        trees = y if isinstance(y, Iterable) else ()
        cells = [cell for tree in trees if isinstance(tree, (list, tuple)) for cell in tree]
        related = any(
            isinstance(cell, (list, tuple)) and len(cell) == 2 and cell[1] is not None
            for cell in cells
        )
        return {"factor_graph.labeled": True} if related else {}
