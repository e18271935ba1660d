"""Corpora of trees: required by some factor graphs, refused by others."""

from __future__ import annotations

from structopt.core.data.encoded import Encoded, EncodedTrees
from structopt.errors import ConfigError


def trees_of(encoded: Encoded) -> EncodedTrees:
    """Return the corpus, if it is one of trees."""
    if not isinstance(encoded, EncodedTrees):
        raise ConfigError(
            "factor_graph: trees are made for task=dependency; take the task's own factor graph, "
            "or that task."
        )
    return encoded


def refuse_trees(encoded: Encoded, name: str) -> None:
    """Refuse a corpus of trees, whose variables choose heads and not labels."""
    if isinstance(encoded, EncodedTrees):
        raise ConfigError(
            f"factor_graph={name} labels variables, and this task has trees. Take arc_factored "
            "or second_order."
        )
