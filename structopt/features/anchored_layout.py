"""The layout of anchored templates: templates, bins of lengths, and which places of the hash gold
features have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from structopt.core.data.encoded import EncodedConstituents
from structopt.core.data.saved_state import SavedState
from structopt.core.data.structure import Structure
from structopt.errors import ArgumentError
from structopt.features.support import support_words
from structopt.features.template_layout import distance_bins
from structopt.kernels.waist.record import Array, Record
from structopt.templates.anchored_templates import ANCHORED
from structopt.templates.part_templates import Template, check_columns, columns_of

JOINED = {"rule": 1, "parent": 2}
"""What templates are joined with, and the bits of it in the record."""
MOST_BINS = 32
_NUMBERS = (
    "first",
    "last",
    "before",
    "after",
    "left",
    "right",
    "span",
    "w",
    "length",
    "left_length",
    "right_length",
)
"""The roles in the order of their numbers in the record."""
_GROUPS = {"begin": 1, "end": 2, "length": 3, "split": 4, "left_length": 5, "right_length": 6}
_PLACES = {
    "first": "begin",
    "before": "begin",
    "last": "end",
    "after": "end",
    "left": "split",
    "right": "split",
}
_NOTHING, _SPAN, _ANCHOR, _WORD = 0, 7, 8, 9


class Index(NamedTuple):
    """Which weight a feature has: that of its place, if gold features are there, else one of the
    bins.

    Attributes
    ----------
    seen : int64, shape (2^hash_bits / 64, 2)
        One bit a place, lowest bit first, set where a gold feature is; and how many bits are set
        before each word.
    gold, others : int
        Weights of gold features, and after them bins for all other features.
    """

    seen: Array
    gold: int
    others: int

    @classmethod
    def of(cls, seen: Array, others: int) -> Index:
        """The index of gold features at these places, bool of shape (2^hash_bits,)."""
        counts = seen.reshape(-1, 64).sum(axis=1)
        return cls(
            np.stack([support_words(seen), np.cumsum(counts) - counts], axis=1),
            int(counts.sum()),
            others,
        )


@dataclass(frozen=True)
class Layout:
    """All that must agree for the features of two scorers to mean the same.

    Attributes
    ----------
    hash_bits : int
        2^hash_bits places.
    lengths : tuple of int
        Upper ends of the bins of lengths, ascending; greater lengths share a last bin.
    joined : tuple of str
        ``rule``, ``parent``, or both.
    texts : mapping of the list of templates to their texts
    columns : tuple of str
        The columns that the templates look at.
    """

    hash_bits: int
    lengths: tuple[int, ...]
    joined: tuple[str, ...]
    texts: Mapping[str, tuple[str, ...]]
    columns: tuple[str, ...]

    @classmethod
    def of(
        cls,
        hash_bits: int,
        lengths: Sequence[int],
        joined: Sequence[str],
        texts: Mapping[str, Sequence[str]],
    ) -> Layout:
        """Check all, and parse the templates; `ConfigError` where something is wrong."""
        if isinstance(hash_bits, bool) or not 10 <= hash_bits <= 30:
            raise ArgumentError(
                "must be an integer from 10 to 30.", parameter="hash_bits", value=hash_bits
            )
        bounds = list(lengths)
        if (
            sorted({*bounds}) != bounds
            or len(bounds) >= MOST_BINS
            or not all(bound > 0 for bound in bounds)
        ):
            raise ArgumentError(
                f"must have fewer than {MOST_BINS} ascending integers from 1, the upper bounds of "
                "the bins of lengths.",
                parameter="lengths",
                value=bounds,
            )
        if not joined or {*joined} - {*JOINED} or len({*joined}) < len(joined):
            raise ArgumentError(
                "must be [rule], [parent] or [rule, parent].",
                parameter="joined",
                value=list(joined),
            )
        lists = {which: ANCHORED.parse(texts[which], which) for which in ANCHORED.roles}
        columns = columns_of(template for templates in lists.values() for template in templates)
        named = {which: tuple(map(str, templates)) for which, templates in lists.items()}
        return cls(hash_bits, tuple(map(int, bounds)), tuple(joined), named, columns)

    @cached_property
    def lists(self) -> dict[str, tuple[Template, ...]]:
        """The templates by their list."""
        return {which: ANCHORED.parse(self.texts[which], which) for which in ANCHORED.roles}

    @cached_property
    def templates(self) -> list[tuple[int, Template]]:
        """The group of every template, and the template, in the order of their numbers in the hash,
        from 1.
        """
        return [
            (_group(template, which), template)
            for which, templates in self.lists.items()
            for template in templates
        ]

    @property
    def most(self) -> int:
        """The most features of an edge."""
        words = len(self.texts["words"])
        return max(words, len(self.joined) * (len(self.templates) - words))

    def state(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "hash_bits": self.hash_bits,
            "lengths": list(self.lengths),
            "joined": list(self.joined),
            **{which: list(texts) for which, texts in self.texts.items()},
        }

    @classmethod
    def restore(cls, saved: SavedState) -> Layout:
        """Undo `state`."""
        texts = {which: saved.strings(which, distinct=False) for which in ANCHORED.roles}
        return cls.of(
            saved.whole("hash_bits"),
            saved.wholes("lengths", 1),
            saved.strings("joined", least=1),
            texts,
        )

    def record(self, encoded: EncodedConstituents, structure: Structure, index: Index) -> Record:
        """Pack a corpus with its forests for the kernels of anchored templates
        (`structopt.kernels.features.anchored.record`).
        """
        from structopt.kernels.features.anchored.record import ANCHORED as RECORD
        from structopt.kernels.forest.record import FORESTS

        return RECORD.pack(
            forest=FORESTS.open(structure.record)._asdict(),
            gold=index.gold,
            others=index.others,
            seen=index.seen,
            codes=self._codes(encoded),
            **self._packed,
        )

    @cached_property
    def _packed(self) -> dict[str, Any]:
        """The fields of the record that depend on the layout only."""
        from structopt.kernels.features.anchored.record import GROUPS

        numbered = sorted(enumerate(self.templates, 1), key=lambda pair: pair[1][0])
        templates: list[list[int]] = []
        atoms: list[tuple[int, int, int]] = []
        for number, (_, template) in numbered:
            own = [
                (
                    _NUMBERS.index(atom.role),
                    self.columns.index(atom.column) if atom.column else -1,
                    atom.offset,
                )
                for atom in template.atoms
            ]
            templates.append([number, len(atoms), len(atoms) + len(own)])
            atoms += own
        groups = [group for _, (group, _) in numbered]
        return {
            "hash_bits": self.hash_bits,
            "joined": sum(JOINED[name] for name in self.joined),
            "columns": max(len(self.columns), 1),
            "bounds": np.searchsorted(groups, np.arange(GROUPS + 1)),
            "templates": np.array(templates, np.int32).reshape(-1, 3),
            "atoms": np.array(atoms, np.int32).reshape(-1, 3),
            "bins": np.array(distance_bins(self.lengths)),
        }

    def _codes(self, encoded: EncodedConstituents) -> Array:
        """Codes of the columns that the templates look at, shape (words, columns); a column of
        zeros if they look at none.
        """
        for which, templates in self.lists.items():
            check_columns(templates, which, encoded.columns)
        if encoded.codes is None or not self.columns:
            return np.zeros((int(encoded.offsets[-1]), 1), np.int32)
        return np.ascontiguousarray(
            encoded.codes[:, [encoded.columns.index(column) for column in self.columns]]
        )


def _group(template: Template, which: str) -> int:
    """The group of a template (`structopt.kernels.features.anchored.record`), by the places that it
    looks at.
    """
    if which == "words":
        return _WORD
    places = {_PLACES.get(atom.role, atom.role) for atom in template.atoms}
    if which == "spans":
        return (
            _NOTHING
            if not places
            else _GROUPS.get(places.pop(), _SPAN)
            if len(places) == 1
            else _SPAN
        )
    return (
        _GROUPS[places.pop()]
        if len(places) == 1 and places <= {"split", "left_length", "right_length"}
        else _ANCHOR
    )
