"""The factor graphs of a corpus: groups of parts, and the offsets of every instance in vectors over
parts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from structopt.core.data.attribute_table import AttributeTable
from structopt.core.data.sparse_vectors import SparseVectors
from structopt.core.structure_kind import StructureKind
from structopt.errors import ArgumentError, did_you_mean
from structopt.kernels.waist.record import EMPTY, Array, Record

FEW_PARTS, FEW_PARTS_OF_LOOPY = 1 << 15, 1 << 12
"""Parts of an instance that is decoded without a second thread. Inferences on loopy graphs visit
each part up to a thousand times; others take O(parts^1.5), as the cubic ones of trees do.
"""


@dataclass(frozen=True)
class PartGroup:
    """A run of parts of every instance: `positions` of them, each with `width` configurations.

    The part vector of an instance is the concatenation, over the groups in order, of its positions
    x width parts. A *tied* group has one position an instance, whose parts all factors with the
    same scores share; their marginals are expected counts.

    Attributes
    ----------
    name : str
    width : int
        Configurations of one position (labels, or pairs of labels).
    offsets : int64, shape (instances + 1,)
        Where the positions of each instance begin.
    tied : bool
    scored : bool
        Whether features score its parts; others have costs alone, or tell what an output is.
    weights : tuple of (str, int, int)
        Name, configurations and attributes of groups whose weights its parts have, where each part
        has a position of its own and the group stands for several that are tied: the weights of one
        after the other, those of an attribute side by side. The number of each part's weight is its
        attribute in `Structure.attributes`.
    """

    name: str
    width: int
    offsets: Array
    tied: bool = False
    scored: bool = True
    weights: tuple[tuple[str, int, int], ...] = ()


@dataclass(frozen=True)
class Structure:
    """The factor graphs of a corpus: their layout of parts, and the record that the inference
    kernels open.

    Attributes
    ----------
    record : Record
    groups : tuple of PartGroup
    parts : int64, shape (instances + 1,)
        Offsets of the instances in a vector over all parts of the corpus.
    kind : StructureKind
        How `record` reads, and the algorithms that are exact on it.
    memory : int64, shape (instances + 1,)
        Offsets of what a stateful inference keeps for each instance; all zero when it is stateless.
    work : Record
        Scratch for one thread, large enough for the largest instance.
    active : int or None
        The most parts that an output has; None: all of its instance.
    part_tokens : mapping of part group name to int32 array, shape (positions, tokens a part)
        The tokens that a part joins, by their positions in the sentence, where features are
        computed from them. ``arc``: head, modifier; ``sibling``: head, nearer modifier, farther
        modifier; ``grandparent``: head's head, head, modifier. Of charts ``edge``: its kind, its
        number among those of its kind, its word or the number of its span, and its split. The root
        and no token are `structopt.core.data.encoded.ROOT` and `NONE`.
    attributes : mapping of part group name to AttributeTable
        Attributes that the graph gives to the positions of groups, beside those of the task.
    """

    record: Record
    groups: tuple[PartGroup, ...]
    parts: Array
    kind: StructureKind
    memory: Array
    work: Record = field(default=EMPTY)
    active: int | None = None
    part_tokens: Mapping[str, Array] = field(default_factory=dict)
    attributes: Mapping[str, AttributeTable] = field(default_factory=dict)

    def __len__(self) -> int:
        """Number of instances."""
        return len(self.parts) - 1

    @property
    def quick(self) -> bool:
        """Whether inference on all instances takes less than 0.2 s, for which an interrupt may
        wait.
        """
        if self.kind.loopy:
            return bool(self.parts[-1] <= FEW_PARTS_OF_LOOPY)
        if self.parts[-1] <= FEW_PARTS:  # then the sum of powers is below its bound, too
            return True
        return bool((np.diff(self.parts) ** 1.5).sum() <= FEW_PARTS**1.5)

    @property
    def most_active(self) -> int:
        """The most parts that an output of any instance has."""
        return int(np.diff(self.parts).max(initial=0)) if self.active is None else self.active

    def spans(self, name: str) -> tuple[Array, Array]:
        """Where the parts of a group begin within each instance, and the offsets of the instances
        in a vector over the group.

        Raises
        ------
        ArgumentError
            For a group that the structure does not have.
        """
        begins = np.zeros(len(self), np.int64)
        for group in self.groups:
            if group.name == name:
                return begins, group.offsets * group.width
            begins = begins + np.diff(group.offsets) * group.width
        known = [group.name for group in self.groups]
        raise ArgumentError(
            f"is not a group of parts of this structure.{did_you_mean(name, known)}",
            parameter="name",
            value=name,
            remedy=f"Choose one of: {', '.join(known)}.",
        )

    def numbered_in(self, name: str, outputs: SparseVectors) -> tuple[Array, Array]:
        """Indices of all parts of outputs in a vector over the parts of a group, and which of them
        belong to the group.
        """
        begins, offsets = self.spans(name)
        if len(self) == 1:
            within = outputs.parts - begins[0]
            return within, (within >= 0) & (within < offsets[1])
        instance = np.repeat(np.arange(len(self)), np.diff(outputs.offsets))
        within = outputs.parts - begins[instance]
        return within + offsets[instance], (within >= 0) & (within < np.diff(offsets)[instance])

    def active_in(self, name: str, outputs: SparseVectors) -> tuple[Array, Array]:
        """The parts of outputs that belong to a group: their indices in a vector over the group,
        and their values.
        """
        indices, inside = self.numbered_in(name, outputs)
        return indices[inside], outputs.values[inside]


def part_offsets(groups: tuple[PartGroup, ...]) -> Array:
    """Offsets of the instances in the vector over all parts: the sum of positions x width over the
    groups.
    """
    return np.asarray(sum(group.offsets * group.width for group in groups), dtype=np.int64)
