"""What travels between components: attribute tables, encoded corpora, part layouts; ragged data as buffers and offsets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from structopt.kernels.record import EMPTY, Array, Record


@dataclass(frozen=True)
class AttributeTable:
    """Sparse attributes of positions, as compressed rows.

    Attributes
    ----------
    offsets : int64, shape (positions + 1,)
        Where the attributes of each position begin and end in `ids`.
    ids : int32, shape (entries,)
        Attribute numbers, 0 <= id < size.
    values : float64, shape (entries,), or None
        Values of the attributes; None when every value is 1.
    size : int
        Number of distinct attributes.
    """

    offsets: Array
    ids: Array
    values: Array | None
    size: int


@dataclass(frozen=True)
class Encoded:
    """A corpus as arrays, made by the task: what the factor graph and the feature map are built from.

    Attributes
    ----------
    offsets : int64, shape (instances + 1,)
        Where the variables (for sequences: the tokens) of each instance begin.
    tables : mapping of part group name to AttributeTable
        One row a position of that group: ``label`` has one position a variable; ``transition`` one a pair of neighbours.
    labels : tuple of str
        The label set.
    gold : int32, shape (variables,), or None
        Gold label numbers; -1 where the gold label was not seen in training; None for unlabelled input.
    allowed : bool, shape (variables, labels), or None
        Partially labelled input: which labels each variable may take.
    forbidden_starts, forbidden_ends, forbidden_transitions : label numbers, and pairs of them
        Hard constraints that the task asks for (valid BIO, say).
    """

    offsets: Array
    tables: Mapping[str, AttributeTable]
    labels: tuple[str, ...]
    gold: Array | None = None
    allowed: Array | None = None
    forbidden_starts: tuple[int, ...] = ()
    forbidden_ends: tuple[int, ...] = ()
    forbidden_transitions: tuple[tuple[int, int], ...] = ()

    def __len__(self) -> int:
        """Number of instances."""
        return len(self.offsets) - 1


@dataclass(frozen=True)
class PartGroup:
    """A run of parts of every instance: `positions` of them, each with `width` configurations.

    The part vector of an instance is the concatenation, over the groups in order, of its positions x width parts.
    A *tied* group has one position an instance, whose parts stand for all the factors that share their scores, and
    whose marginals are expected counts.

    Attributes
    ----------
    name : str
    width : int
        Configurations of one position (labels, or pairs of labels).
    offsets : int64, shape (instances + 1,)
        Where the positions of each instance begin.
    tied : bool
    """

    name: str
    width: int
    offsets: Array
    tied: bool = False


@dataclass(frozen=True)
class Structure:
    """The factor graphs of a corpus: their layout of parts, and the record that the inference kernels open.

    Attributes
    ----------
    record : Record
    groups : tuple of PartGroup
    parts : int64, shape (instances + 1,)
        Offsets of the instances in a vector over all parts of the corpus.
    kind : str
        Which algorithms understand `record`; the key under which `inference=exact` finds them.
    memory : int64, shape (instances + 1,)
        Offsets of what a stateful inference keeps for each instance; all zero when it is stateless.
    work : Record
        Scratch for one thread, large enough for the largest instance.
    """

    record: Record
    groups: tuple[PartGroup, ...]
    parts: Array
    kind: str
    memory: Array
    work: Record = field(default=EMPTY)

    def __len__(self) -> int:
        """Number of instances."""
        return len(self.parts) - 1


@dataclass(frozen=True)
class SparseVectors:
    """One sparse vector over the parts of every instance (gold indicators, costs).

    Attributes
    ----------
    offsets : int64, shape (instances + 1,)
    parts : int32, shape (entries,)
        Part numbers within the instance.
    values : float64, shape (entries,)
    """

    offsets: Array
    parts: Array
    values: Array


def part_offsets(groups: tuple[PartGroup, ...]) -> Array:
    """Offsets of the instances in the vector over all parts: the sum of positions x width over the groups."""
    return np.asarray(sum(group.offsets * group.width for group in groups), dtype=np.int64)


Config = Mapping[str, Any]
