"""Names of weights, for people: which attribute a weight belongs to, and which configuration of
which parts it scores.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from structopt.core.data.encoded import Encoded
from structopt.core.data.sparse_vectors import SparseVectors
from structopt.core.data.structure import Structure


class Coordinate(NamedTuple):
    """The feature that a weight belongs to.

    Attributes
    ----------
    group : str
        The part group that it scores; empty where that is not known.
    attribute : str
        A property of the input; empty where every position has it.
    configuration : str
        What it scores of a part, such as a label or a pair of labels; empty where parts have one
        configuration.
    """

    group: str
    attribute: str
    configuration: str = ""

    def __str__(self) -> str:
        """Attribute and configuration."""
        return " ".join(
            text
            for text in (self.attribute, self.configuration and f"[{self.configuration}]")
            if text
        )


class Names(Protocol):
    """Names of attributes, configurations, and values of columns in a model."""

    def attributes(self, group: str, size: int) -> Sequence[str]:
        """Names of so many attributes of a part group."""

    def configurations(self, group: str, width: int) -> Sequence[str]:
        """Names of so many configurations of a part of a group."""

    def values(self, column: str) -> Mapping[int, str]:
        """Names of the values of a column by their codes, where features are made of codes."""


class Occurring(NamedTuple):
    """Parts of a corpus whose features have names that no scorer stores.

    Attributes
    ----------
    encoded, structure : the corpus and its graphs
    outputs : SparseVectors
        The parts.
    """

    encoded: Encoded
    structure: Structure
    outputs: SparseVectors


Named = dict[int, list[Coordinate]]
"""Names by the indices of weights: none where none was found, several where features share a
weight.
"""


def unnamed(index: int) -> Coordinate:
    """What stands for the name of a weight that has none."""
    return Coordinate("", f"weight {index}")
