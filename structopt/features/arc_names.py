"""Names of the features of dependency trees: values, variants and weights of templates at given
parts, as kernels have them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from structopt.core.data.encoded import EncodedTrees
from structopt.core.weights.coordinates import Names, Occurring
from structopt.features.template_layout import (
    JOINED,
    KINDS,
    ROW_VARIANTS,
    VARIANTS,
    Layout,
    distance_bins,
)
from structopt.features.template_names import Features, bin_names, hashes_of, parts_of_group
from structopt.kernels.waist.record import Array
from structopt.templates.arc_templates import ARCS, BETWEEN
from structopt.templates.part_templates import Template

SIDES = {0: "none", 1: "left", 2: "right"}
TOKENS = 2
"""Slots before that of the first token: no token, and the root."""


class ArcNames:
    """The features of the parts of dependency trees.

    Parameters
    ----------
    layout : Layout
    names : Names
    occurring : Occurring
        Parts of a corpus of trees.
    """

    def __init__(self, layout: Layout, names: Names, occurring: Occurring) -> None:
        assert isinstance(occurring.encoded, EncodedTrees)
        self.layout, self.names, self.occurring = layout, names, occurring
        self.codes, self.offsets = layout.codes(occurring.encoded), occurring.encoded.offsets
        self.known = {column: names.values(column) for column in layout.columns}

    def features(self) -> Iterator[Features]:
        """Those of every template at the parts."""
        structure, outputs = self.occurring.structure, self.occurring.outputs
        for group in structure.groups:
            instances, positions, configurations = parts_of_group(structure, group.name, outputs)
            slots = structure.part_tokens[JOINED[group.name]][positions].astype(np.int64) + TOKENS
            for number, template in self.layout.ordered(group.name):
                yield self._features(group.name, number, template, instances, slots, configurations)

    def _features(
        self,
        kind: str,
        number: int,
        template: Template,
        instances: Array,
        slots: Array,
        configurations: Array,
    ) -> Features:
        """Those of one template."""
        swept = ARCS.swept(template)
        if swept is not None:
            rows, between = self._between(self.layout.column_number(swept), instances, slots)
            instances, slots, configurations = instances[rows], slots[rows], configurations[rows]
        roles = ARCS.roles[KINDS[kind]]
        values = [
            between
            if atom.role == BETWEEN
            else self._values(
                self.layout.column_number(atom.column),
                slots[:, roles.index(atom.role)],
                atom.offset,
                instances,
            )
            for atom in template.atoms
        ]
        atoms = [(str(atom), self.known[atom.column]) for atom in template.atoms]
        variants = np.stack([np.zeros(len(slots), np.int64), self._variants(kind, slots)])
        hashes, labels = hashes_of(number, values, len(slots)), list[str]()
        if kind == "label":
            labels = [
                self.names.configurations(kind, self.layout.labels)[y]
                for y in configurations.tolist()
            ]
        return Features(
            kind,
            atoms,
            values,
            labels,
            self._indices(kind, hashes, variants, configurations),
            variants,
            lambda variant: self._remark(kind, variant),
        )

    def _values(self, column: int, slots: Array, offset: int, instances: Array) -> Array:
        """Values of a column at neighbours of slots."""
        from structopt.kernels.features.hashing import (
            END,
            NONE_CODE,
            NONE_SLOT,
            ROOT_CODE,
            ROOT_SLOT,
            START,
        )

        lengths, at = np.diff(self.offsets)[instances], slots - TOKENS + offset
        inside = (at >= 0) & (at < lengths)
        values = np.where(at < 0, START, END)
        values[inside] = self.codes[(self.offsets[instances] + at)[inside], column]
        if offset == 0:
            values[slots == ROOT_SLOT] = ROOT_CODE
        values[slots == NONE_SLOT] = NONE_CODE
        return values

    def _between(self, column: int, instances: Array, slots: Array) -> tuple[Array, Array]:
        """The distinct values of a column between head and modifier: the parts that have them, and
        the values.
        """
        rows, values = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for k, (i, head, modifier) in enumerate(
            zip(instances.tolist(), slots[:, 0], slots[:, 1], strict=True)
        ):
            first, last = sorted((int(head) - TOKENS, int(modifier) - TOKENS))
            begin = int(self.offsets[i])
            values.append(
                np.unique(self.codes[begin + first + 1 : begin + last, column]).astype(np.int64)
            )
            rows.append(np.full(len(values[-1]), k))
        return np.concatenate(rows), np.concatenate(values)

    def _variants(self, kind: str, slots: Array) -> Array:
        """As `structopt.kernels.features.template_parts.variants_of`."""
        from structopt.kernels.features.hashing import NONE_SLOT, ROOT_SLOT

        p, q, r = slots[:, 0], slots[:, 1], slots[:, -1]
        if kind == "label":
            return np.asarray(np.where(p == ROOT_SLOT, 3, 1 + (p < q)))
        if kind == "arc":
            bins = np.array(distance_bins(self.layout.distances))
            bin_of = bins[np.minimum(np.abs(p - q), len(bins) - 1)]
            return np.asarray(np.where(p == ROOT_SLOT, 3 + 2 * bins[-1], 1 + 2 * bin_of + (p < q)))
        if kind == "sibling":
            sides = [np.where(slot == NONE_SLOT, 0, 1 + (slot > p)) for slot in (q, r)]
            return np.asarray(1 + 3 * sides[0] + sides[1])
        return np.asarray(1 + 2 * (p < q) + (q < r))

    def _remark(self, kind: str, variant: int) -> str:
        """A variant in words."""
        if kind == "label":
            return {1: "head to the right", 2: "head to the left", 3: "from the root"}[variant]
        if kind == "arc":
            far = bin_names(1, self.layout.distances)
            if variant == 1 + 2 * len(far):
                return "from the root"
            return (
                f"head {far[(variant - 1) // 2]} to the {'left' if (variant - 1) % 2 else 'right'}"
            )
        if kind == "sibling":
            return f"nearer {SIDES[(variant - 1) // 3]}, farther {SIDES[(variant - 1) % 3]}"
        sides = list(
            product(
                ("head's head to the right", "head's head to the left"),
                ("head to the right", "head to the left"),
            )
        )
        return ", ".join(sides[variant - 1])

    def _indices(self, kind: str, hashes: Array, variants: Array, configurations: Array) -> Array:
        """The weights of features and their variants, as
        `structopt.kernels.features.hashing.rotated`.
        """
        bits, size = (
            (self.layout.label_bits, ROW_VARIANTS)
            if kind == "label"
            else (self.layout.hash_bits, VARIANTS)
        )
        plain = (hashes >> np.uint64(64 - bits)).astype(np.int64)
        places = (plain & ~(size - 1)) | ((plain + variants) & (size - 1))
        return (
            self.layout.weights + places * self.layout.labels + configurations
            if kind == "label"
            else places
        )
