"""Corpora of trees: required by some factor graphs, refused by others."""

from __future__ import annotations

from structopt.core.data.encoded import Encoded, EncodedTrees
from structopt.errors import ConfigError


def trees_of(encoded: Encoded) -> EncodedTrees:
    """Return the corpus, if it is one of trees."""
    if not isinstance(encoded, EncodedTrees):
        raise ConfigError(
            "This factor graph needs dependency trees.",
            remedy="Use Dependency(), or the factor graph of your task.",
        )
    return encoded


def refuse_trees(encoded: Encoded, name: str) -> None:
    """Refuse a corpus of trees for the graph of this name; its variables choose heads and not
    labels.
    """
    if isinstance(encoded, EncodedTrees):
        raise ConfigError(
            "labels variables, and this task has trees.",
            parameter="factor_graph",
            value=name,
            remedy="Use ArcFactored() or SecondOrder().",
        )
