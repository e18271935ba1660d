"""The layout of hashed templates: templates, numbers of bits, distance bins; and the record that
kernels open.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from structopt.core.data.encoded import EncodedTrees
from structopt.core.data.saved_state import SavedState
from structopt.core.data.structure import Structure
from structopt.core.storage.record_frame import RecordFrame
from structopt.errors import ArgumentError, ConfigError
from structopt.features.support import support_words
from structopt.kernels.waist.record import Array, Record
from structopt.templates.arc_templates import ARCS, BETWEEN
from structopt.templates.part_templates import Template, check_columns, columns_of

KINDS = {
    "label": "labels",
    "arc": "templates",
    "sibling": "siblings",
    "grandparent": "grandparents",
}
"""The templates that score each part group, in the order in which the kernels number the kinds of
parts.
"""
JOINED = {"label": "arc", "arc": "arc", "sibling": "sibling", "grandparent": "grandparent"}
"""The entry of `Structure.part_tokens` that has the tokens of each kind's parts."""
NO_STARTS = [0, 0, 0]
SHAPES = 4
VARIANTS, ROW_VARIANTS = 16, 4
MOST_DISTANCES = 6


@dataclass(frozen=True)
class Layout:
    """All that must agree for the weights of two scorers to mean the same.

    Attributes
    ----------
    hash_bits : int
        2^hash_bits weights of arcs, siblings and grandparents.
    label_bits : int
        2^label_bits rows of label weights.
    labels : int
        Weights of a row; 0 where arcs carry no labels.
    distances : tuple of int
        Upper bounds of the distance bins, ascending; greater distances share a last bin.
    texts : mapping of the list of templates to their texts
    columns : tuple of str
        The columns that the templates look at.
    """

    hash_bits: int
    label_bits: int
    labels: int
    distances: tuple[int, ...]
    texts: Mapping[str, tuple[str, ...]]
    columns: tuple[str, ...]

    @classmethod
    def fit(
        cls,
        texts: Mapping[str, Sequence[str]],
        columns: Sequence[str],
        labels: int,
        hash_bits: int,
        label_bits: int,
        distances: Sequence[int],
    ) -> Layout:
        """Parse the lists of templates for a corpus with these columns and so many labels, or raise
        `ConfigError`.
        """
        lists = {which: ARCS.parse(texts[which], which) for which in ARCS.roles}
        for which, templates in lists.items():
            check_columns(templates, which, columns)
        return cls(
            hash_bits=hash_bits,
            label_bits=label_bits,
            labels=labels,
            distances=tuple(map(int, distances)),
            texts={which: tuple(map(str, templates)) for which, templates in lists.items()},
            columns=columns_of(template for templates in lists.values() for template in templates),
        )

    @cached_property
    def templates(self) -> dict[str, tuple[Template, ...]]:
        """The lists of templates, parsed."""
        return {which: ARCS.parse(self.texts[which], which) for which in ARCS.roles}

    @property
    def weights(self) -> int:
        """Weights before the rows of label weights."""
        return 1 << self.hash_bits

    @property
    def rows(self) -> int:
        """Rows of label weights."""
        return 1 << self.label_bits if self.labels else 0

    @property
    def dimension(self) -> int:
        """Number of weights."""
        return self.weights + self.rows * self.labels

    def ordered(self, kind: str) -> list[tuple[int, Template]]:
        """Templates of a kind of parts by shape, each with its number in the hash: counted from 1
        over all lists.
        """
        which = KINDS[kind]
        first = 1 + sum(
            len(self.texts[other]) for other in list(ARCS.roles)[: list(ARCS.roles).index(which)]
        )
        numbered = list(enumerate(self.templates[which], first))
        return sorted(
            numbered,
            key=lambda pair: (shape(pair[1], which), self.column_number(ARCS.swept(pair[1]))),
        )

    def column_number(self, column: str | None) -> int:
        """Number of a column in the records' codes; -1 for none."""
        return -1 if column is None else self.columns.index(column)

    def state(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "hash_bits": self.hash_bits,
            "label_bits": self.label_bits,
            "relations": self.labels,
            "distances": list(self.distances),
            "columns": list(self.columns),
            **{which: list(texts) for which, texts in self.texts.items()},
        }

    @classmethod
    def restore(cls, saved: SavedState) -> Layout:
        """Undo `state`."""
        texts = {which: saved.strings(which, distinct=False) for which in ARCS.roles}
        columns, labels = saved.strings("columns"), saved.whole("relations")
        bits, distances = (
            (saved.whole("hash_bits"), saved.whole("label_bits")),
            saved.wholes("distances", 1),
        )
        check_sizes(*bits, distances)
        layout = cls.fit(texts, columns, labels, *bits, distances)
        if list(layout.columns) != columns:
            saved.refuse(
                "columns", f"those that the templates look at: {', '.join(layout.columns)}"
            )
        return layout

    def record(self, encoded: EncodedTrees, structure: Structure, support: Array | None) -> Record:
        """Pack a corpus for the kernels of hashed templates (see
        `structopt.kernels.features.template_parts`).
        """
        kinds = list(KINDS)
        groups = [kinds.index(_known(group.name)) for group in structure.groups]
        slots, starts = _slots(structure)
        positions = [np.zeros(0, np.int64), *(group.offsets for group in structure.groups)]
        bits, row_bits = (
            (np.zeros(0, np.int64),) * 2 if support is None else self._support_words(support)
        )
        return self._frame.pack(
            groups=np.array(groups, np.int32),
            codes=self.codes(encoded).ravel(),
            slots=slots,
            starts=np.array(starts, np.int64),
            tokens=encoded.offsets,
            positions=np.concatenate(positions),
            support=bits,
            row_support=row_bits,
        )

    @cached_property
    def _frame(self) -> RecordFrame:
        """The fields of the record that corpora share."""
        from structopt.kernels.features.template_parts import HASHED

        bounds, templates, atoms = self._tables()
        return RecordFrame(
            HASHED,
            {
                "hash_bits": self.hash_bits,
                "label_bits": self.label_bits,
                "labels": self.labels,
                "columns": max(len(self.columns), 1),
                "bounds": bounds,
                "templates": templates,
                "atoms": atoms,
                "bins": distance_bins(self.distances),
            },
        )

    def codes(self, encoded: EncodedTrees) -> Array:
        """Codes of the columns that the templates look at, shape (tokens, columns); a column of
        zeros if they look at none.
        """
        if not self.columns:
            return np.zeros((int(encoded.offsets[-1]), 1), np.int32)
        if encoded.columns == self.columns:
            return encoded.codes
        for which, templates in self.templates.items():
            check_columns(templates, which, encoded.columns)
        return encoded.codes[:, [encoded.columns.index(column) for column in self.columns]]

    def _tables(self) -> tuple[list[int], list[list[int]], list[tuple[int, int, int]]]:
        """Where the templates of each kind and shape begin; the templates; their atoms."""
        shapes: list[int] = []
        templates: list[list[int]] = []
        atoms: list[tuple[int, int, int]] = []
        for k, (kind, which) in enumerate(KINDS.items()):
            for number, template in self.ordered(kind):
                own = [
                    (ARCS.roles[which].index(a.role), self.column_number(a.column), a.offset)
                    for a in template.atoms
                ]
                templates.append(
                    [
                        number,
                        len(atoms),
                        len(atoms) + len(own),
                        self.column_number(ARCS.swept(template)),
                    ]
                )
                atoms += own
                shapes.append(SHAPES * k + shape(template, which))
        bounds = [sum(shape < k for shape in shapes) for k in range(SHAPES * len(KINDS) + 1)]
        return bounds, templates, atoms

    def _support_words(self, support: Array) -> tuple[Array, Array]:
        """Support as bits in int64 words, lowest bit first; each row of label weights in whole
        words.
        """
        rows = support[self.weights :].reshape(self.rows, self.labels)
        padded = np.zeros((self.rows, -(-self.labels // 64) * 64), bool)
        padded[:, : self.labels] = rows
        return support_words(support[: self.weights]), support_words(padded.ravel())


def shape(template: Template, which: str) -> int:
    """Which tokens of a part a template looks at: 0 the head, 1 the modifier (or none), 2 several,
    3 those between them too.
    """
    roles = {atom.role for atom in template.atoms}
    if which not in ("templates", "labels"):
        return 2
    if BETWEEN in roles:
        return 3
    return 2 if len(roles) == 2 else 0 if roles == {"h"} else 1


def distance_bins(distances: Sequence[int]) -> list[int]:
    """Bin of the distances 0, 1, 2, ... up to the first of the last bin."""
    last = distances[-1] if distances else 0
    return (
        np.searchsorted(distances, np.arange(last + 2), side="left").tolist() if distances else [0]
    )


def _known(group: str) -> str:
    if group not in KINDS:
        raise ConfigError(
            f"features: there are no templates for parts of the group '{group}', only for: "
            f"{', '.join(KINDS)}."
        )
    return group


def _slots(structure: Structure) -> tuple[Array, list[int]]:
    """Slots of the parts' tokens (position + 2), one array a role, and where those of each kind and
    role begin.
    """
    arrays, starts, size = [np.zeros(0, np.int32)], {}, 0
    for name, tokens in structure.part_tokens.items():
        count, roles = tokens.shape
        starts[name] = [size + count * (role if role < roles else 0) for role in range(3)]
        arrays.append((tokens.T + np.int32(2)).ravel())
        size += tokens.size
    return np.concatenate(arrays, dtype=np.int32), [
        start for kind in KINDS for start in starts.get(JOINED[kind], NO_STARTS)
    ]


def check_sizes(hash_bits: int, label_bits: int, distances: Sequence[int]) -> None:
    """Refuse numbers of bits and bins of distances that the kernels do not take, with a
    `ConfigError`.
    """
    _check_bits("hash_bits", hash_bits, 10, 28)
    _check_bits("label_bits", label_bits, 4, 24)
    _check_distances(distances)


def _check_bits(key: str, value: Any, least: int, most: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ArgumentError(
            f"must be an integer from {least} to {most}.", parameter=f"{key}", value=value
        )


def _check_distances(distances: Any) -> None:
    bounds = list(distances)
    whole = all(isinstance(d, int) and not isinstance(d, bool) and d > 0 for d in bounds)
    if not whole or sorted(set(bounds)) != bounds or len(bounds) > MOST_DISTANCES:
        raise ArgumentError(
            f"must have at most {MOST_DISTANCES} ascending integers from 1, the upper bounds of "
            "the distance bins.",
            parameter="distances",
            value=bounds,
        )
