"""A corpus as a network and the sparse features beside it read it."""

from __future__ import annotations

from typing import Any, NamedTuple

from structopt.plugin import Array


class Corpus(NamedTuple):
    """A corpus as scores are computed of it.

    Attributes
    ----------
    network : object
        What `TorchScorer.read` made.
    beside : object or None
        What the sparse features beside the network prepared.
    parts : int64, shape (instances + 1,)
        Where the parts of each instance begin.
    """

    network: Any
    beside: Any
    parts: Array
