"""The layout of mention templates: conjunctions of atoms, bins of distances, and the tables in
which kernels look them up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from structopt.core.data.encoded import EncodedMentions
from structopt.core.data.saved_state import SavedState
from structopt.core.data.structure import Structure
from structopt.errors import ArgumentError
from structopt.features.support import support_words
from structopt.features.template_layout import distance_bins
from structopt.kernels.independent.record import INDEPENDENT
from structopt.kernels.waist.record import Array, Record
from structopt.templates.mention_templates import (
    ANTECEDENT,
    DISTANCE,
    LINKS,
    MENTION,
    SAME,
    SENTENCES,
    all_joined,
    parsed,
)
from structopt.templates.part_templates import Template, check_columns

MOST_BINS = 32
Columns = frozenset[str]
EVERYTHING: Columns = frozenset({"*"})
"""In place of columns: all that there is to know of a mention."""


class Signature(NamedTuple):
    """What a template looks at: columns of the mention and of the antecedent, and measures of the
    pair, in order.
    """

    mention: Columns
    antecedent: Columns
    measures: tuple[str, ...]

    @classmethod
    def of(cls, template: Template) -> Signature:
        """That of a template of links."""
        mention, antecedent = (
            frozenset(atom.column for atom in template.atoms if atom.role == role)
            for role in (MENTION, ANTECEDENT)
        )
        measures = sorted(
            str(atom) for atom in template.atoms if atom.role not in (MENTION, ANTECEDENT)
        )
        return cls(mention, antecedent, tuple(measures))


@dataclass(frozen=True)
class Layout:
    """All that must agree for the weights of two scorers to mean the same.

    Attributes
    ----------
    hash_bits : int
        2^hash_bits weights.
    distances, sentence_distances : tuple of int
        Upper ends of the bins of distances in mentions and in sentences, ascending; greater ones
        share a last bin.
    texts : mapping of the list of templates to their texts
    columns : tuple of str
        The columns that the templates look at.
    compared : tuple of str
        Those of which they look whether mention and antecedent have the same value.
    """

    hash_bits: int
    distances: tuple[int, ...]
    sentence_distances: tuple[int, ...]
    texts: Mapping[str, tuple[str, ...]]
    columns: tuple[str, ...]
    compared: tuple[str, ...]

    @classmethod
    def of(
        cls,
        hash_bits: int,
        distances: Sequence[int],
        sentence_distances: Sequence[int],
        texts: Mapping[str, Sequence[str]],
    ) -> Layout:
        """Check all, and parse the templates; `ConfigError` where something is wrong."""
        if (
            isinstance(hash_bits, bool)
            or not isinstance(hash_bits, int)
            or not 10 <= hash_bits <= 28
        ):
            raise ArgumentError(
                "must be an integer from 10 to 28.", parameter="hash_bits", value=hash_bits
            )
        bins = (
            _bounds("distances", distances, 1),
            _bounds("sentence_distances", sentence_distances, 0),
        )
        lists = parsed(texts)
        atoms = [
            atom
            for templates in lists.values()
            for template in templates
            for atom in template.atoms
        ]
        columns = tuple(
            dict.fromkeys(atom.column for atom in atoms if atom.role in (MENTION, ANTECEDENT))
        )
        compared = tuple(dict.fromkeys(atom.column for atom in atoms if atom.role == SAME))
        named = {which: tuple(map(str, templates)) for which, templates in lists.items()}
        return cls(hash_bits, *bins, named, columns, compared)

    @cached_property
    def lists(self) -> dict[str, tuple[Template, ...]]:
        """The templates by their list."""
        return parsed(self.texts)

    @cached_property
    def conjunctions(self) -> tuple[list[Template], list[Template]]:
        """Every template of mentions that start an entity, and of links, with what it is joined
        with; hashed by their numbers.
        """
        joined = self.lists["joined"] or (Template(()),)
        return all_joined(self.lists["new"], joined, (MENTION,)), all_joined(
            self.lists["links"], joined, (MENTION, ANTECEDENT)
        )

    @property
    def weights(self) -> int:
        """Number of weights."""
        return 1 << self.hash_bits

    @property
    def most(self) -> int:
        """The most features of a part."""
        return max(map(len, self.conjunctions))

    def state(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "hash_bits": self.hash_bits,
            "distances": list(self.distances),
            "sentence_distances": list(self.sentence_distances),
            **{which: list(texts) for which, texts in self.texts.items()},
        }

    @classmethod
    def restore(cls, saved: SavedState) -> Layout:
        """Undo `state`."""
        texts = {which: saved.strings(which, distinct=False) for which in LINKS.roles}
        return cls.of(
            saved.whole("hash_bits"),
            saved.wholes("distances", 1),
            saved.wholes("sentence_distances", 0),
            texts,
        )

    def record(
        self, encoded: EncodedMentions, structure: Structure, support: Array | None
    ) -> Record:
        """Pack a corpus for the kernels of mention templates (see
        `structopt.kernels.features.mentions.record`).
        """
        from structopt.kernels.features.mentions.record import MENTIONS

        self._check(encoded)
        codes = encoded.codes[:, [encoded.columns.index(column) for column in self.columns]]
        compared = encoded.compared[
            :, [encoded.compared_columns.index(column) for column in self.compared]
        ]
        return MENTIONS.pack(
            graph=INDEPENDENT.open(structure.record)._asdict(),
            hash_bits=self.hash_bits,
            context=encoded.context,
            columns=max(len(self.columns), 1),
            values=max(len(self.compared), 1),
            **self._tables,
            distances=distance_bins(self.distances),
            sentences=distance_bins(self.sentence_distances),
            codes=_at_least_one(codes),
            compared=_at_least_one(compared),
            sentence=encoded.sentences,
            support=np.zeros(0, np.int64) if support is None else support_words(support),
        )

    def _check(self, encoded: EncodedMentions) -> None:
        """Refuse templates that look at columns which the corpus lacks."""
        if {*self.columns} <= {*encoded.columns} and {*self.compared} <= {
            *encoded.compared_columns
        }:
            return
        for which, templates in self.lists.items():
            of_mentions = [
                Template(tuple(atom for atom in one.atoms if atom.role != SAME))
                for one in templates
            ]
            check_columns(of_mentions, which, encoded.columns)
            of_pairs = [
                Template(tuple(atom for atom in one.atoms if atom.role == SAME))
                for one in templates
            ]
            check_columns(of_pairs, which, encoded.compared_columns)

    @cached_property
    def _tables(self) -> dict[str, Any]:
        """The templates in the order of the tables that they fill, as the record has them."""
        new, links = self.conjunctions
        grouped: dict[Signature, dict[Signature, list[int]]] = {}
        for t, template in enumerate(links, len(new)):
            signature = Signature.of(template)
            grouped.setdefault(self._table_of(signature), {}).setdefault(signature, []).append(t)
        sets: list[Columns] = [EVERYTHING, frozenset()]
        order, measured = list(range(len(new))), [0]
        tables, lists, measures = list[list[int]](), list[list[int]](), list[int]()
        for table, signatures in grouped.items():
            own_sets = [_numbered(sets, table.mention), _numbered(sets, table.antecedent)]
            tables.append([*own_sets, len(lists), len(lists) + len(signatures)])
            measures += [self._measure(name) for name in table.measures]
            measured.append(len(measures))
            for own, numbers in signatures.items():
                own_sets = [_numbered(sets, own.mention), _numbered(sets, own.antecedent)]
                lists.append([*own_sets, len(order), len(order) + len(numbers)])
                order += numbers
        templates, atoms = list[list[int]](), list[list[int]]()
        for t in order:
            template = (*new, *links)[t]
            table_measures = Signature.of(template).measures
            templates.append([t + 1, len(atoms), len(atoms) + len(template.atoms)])
            for number, atom in enumerate(template.atoms, 1):
                if atom.role in (MENTION, ANTECEDENT):
                    atoms.append(
                        [
                            (MENTION, ANTECEDENT).index(atom.role),
                            self.columns.index(atom.column),
                            number,
                        ]
                    )
                else:
                    atoms.append([2, table_measures.index(str(atom)), number])
        columns = [
            sorted(self.columns.index(column) for column in one if one != EVERYTHING)
            for one in sets
        ]
        return {
            "sets": np.cumsum([0, *map(len, columns)]),
            "set_columns": [column for one in columns for column in one],
            "new": [0, len(new)],
            "tables": _rows(tables, 4),
            "lists": _rows(lists, 4),
            "measured": measured,
            "measures": measures,
            "templates": _rows(templates, 3),
            "atoms": _rows(atoms, 3),
        }

    def _table_of(self, signature: Signature) -> Signature:
        """The table that templates of a signature fill: one for all that differ in the columns of
        one mention alone.
        """
        joined = [Signature.of(template) for template in self.lists["joined"]]
        wide, wide_too = (
            max([frozenset[str](), *sets], key=len)
            for sets in ([one.mention for one in joined], [one.antecedent for one in joined])
        )
        mention, antecedent, measures = signature
        if measures:
            return Signature(
                wide if mention <= wide else mention,
                wide_too if antecedent <= wide_too else antecedent,
                measures,
            )
        if antecedent <= wide_too:
            return Signature(EVERYTHING, wide_too, ())
        return Signature(wide, EVERYTHING, ()) if mention <= wide else signature

    def _measure(self, name: str) -> int:
        """The number of a measure in the record (`structopt.kernels.features.mentions.record`)."""
        distances = (DISTANCE, SENTENCES)
        return (
            distances.index(name)
            if name in distances
            else len(distances) + self.compared.index(name.removeprefix(f"{SAME}."))
        )


def _numbered(sets: list[Columns], columns: Columns) -> int:
    """The number of a set of columns, which is added where it is new."""
    if columns not in sets:
        sets.append(columns)
    return sets.index(columns)


def _rows(rows: Sequence[Sequence[int]], width: int) -> Array:
    return np.array(rows, np.int32).reshape(-1, width)


def _at_least_one(table: Array) -> Array:
    """A table with a column of zeros, where it has none."""
    return np.ascontiguousarray(table) if table.shape[1] else np.zeros((len(table), 1), np.int32)


def _bounds(key: str, bounds: Sequence[int], least: int) -> tuple[int, ...]:
    """Upper ends of bins, checked."""
    known = list(bounds)
    whole = all(
        isinstance(bound, int) and not isinstance(bound, bool) and bound >= least for bound in known
    )
    if not whole or sorted({*known}) != known or len(known) >= MOST_BINS:
        raise ArgumentError(
            f"must have fewer than {MOST_BINS} ascending integers from {least}, the upper bounds "
            "of the bins.",
            parameter=f"{key}",
            value=known,
        )
    return tuple(known)
