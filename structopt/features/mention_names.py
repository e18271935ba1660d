"""Names of the features of mentions and links: values and weights of templates at given parts, as
the kernels have them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from structopt.core.data.encoded import EncodedMentions
from structopt.core.weights.coordinates import Names, Occurring
from structopt.features.mention_layout import Layout
from structopt.features.template_layout import distance_bins
from structopt.features.template_names import Features, Values, bin_names, hashes_of, parts_of_group
from structopt.kernels.independent.record import INDEPENDENT
from structopt.kernels.waist.record import Array
from structopt.templates.mention_templates import ANTECEDENT, DISTANCE, MENTION, SAME, SENTENCES
from structopt.templates.part_templates import Atom, Template


class MentionNames:
    """The features of mentions that start an entity, and of links.

    Parameters
    ----------
    layout : Layout
    names : Names
    occurring : Occurring
        Parts of a corpus of documents.
    """

    def __init__(self, layout: Layout, names: Names, occurring: Occurring) -> None:
        assert isinstance(occurring.encoded, EncodedMentions)
        self.layout, self.names, self.documents, self.occurring = (
            layout,
            names,
            occurring.encoded,
            occurring,
        )
        self.known = {column: names.values(column) for column in layout.columns}

    def features(self) -> Iterator[Features]:
        """Those of every template at the parts."""
        structure = self.occurring.structure
        parts = INDEPENDENT.open(structure.record).parts
        (group,) = (group.name for group in structure.groups)
        instances, positions, _ = parts_of_group(structure, group, self.occurring.outputs)
        mention = np.searchsorted(parts, positions, side="right") - 1
        choice, room = positions - parts[mention], np.diff(parts)[mention]
        mention += self.documents.context
        antecedent = np.where(choice == 0, -1, mention - (room - 1) + choice - 1)
        new, links = self.layout.conjunctions
        for number, template in enumerate((*new, *links), 1):
            chosen = (choice == 0) == (number <= len(new))
            yield self._features(group, number, template, mention[chosen], antecedent[chosen])

    def _features(
        self, group: str, number: int, template: Template, mention: Array, antecedent: Array
    ) -> Features:
        """Those of one template."""
        values: Values = [self._values(atom, mention, antecedent) for atom in template.atoms]
        atoms = [(str(atom), self._known(atom)) for atom in template.atoms]
        indices = (
            hashes_of(number, values, len(mention)) >> np.uint64(64 - self.layout.hash_bits)
        ).astype(np.int64)
        return Features(
            group,
            atoms,
            values,
            (),
            indices[np.newaxis],
            np.zeros((1, len(mention)), np.int64),
            lambda _variant: "",
        )

    def _values(self, atom: Atom, mention: Array, antecedent: Array) -> Array:
        """Values of an atom."""
        documents = self.documents
        if atom.role in (MENTION, ANTECEDENT):
            of = mention if atom.role == MENTION else antecedent
            return np.asarray(documents.codes[of, documents.columns.index(atom.column)], np.int64)
        if atom.role == SAME:
            compared = documents.compared[:, documents.compared_columns.index(atom.column)]
            return np.asarray(
                (compared[mention] >= 0) & (compared[mention] == compared[antecedent]), np.int64
            )
        bins = np.array(distance_bins(self._bounds(atom.role)))
        apart = (
            mention - antecedent
            if atom.role == DISTANCE
            else documents.sentences[mention] - documents.sentences[antecedent]
        )
        return np.asarray(bins[np.minimum(apart, len(bins) - 1)])

    def _known(self, atom: Atom) -> Mapping[int, str]:
        """Names of an atom's values."""
        if atom.role in (MENTION, ANTECEDENT):
            return self.known[atom.column]
        if atom.role == SAME:
            return {0: "no", 1: "yes"}
        return bin_names(0 if atom.role == SENTENCES else 1, self._bounds(atom.role))

    def _bounds(self, measure: str) -> tuple[int, ...]:
        return self.layout.distances if measure == DISTANCE else self.layout.sentence_distances
