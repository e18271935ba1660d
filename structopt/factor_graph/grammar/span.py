"""Span parsing: trees of a treebank's grammar, of which every use of a rule at its place is scored
by its words.
"""

from __future__ import annotations

from collections.abc import Mapping

from structopt.core.data.constituents import Bracketings
from structopt.core.data.encoded import Encoded
from structopt.core.data.sparse_vectors import SparseVectors
from structopt.core.data.structure import PartGroup, Structure
from structopt.core.factor_graph import GraphTraits, Nearest
from structopt.factor_graph.grammar import forests
from structopt.factor_graph.grammar.charts import cells_of
from structopt.factor_graph.grammar.constituents import constituents_of
from structopt.factor_graph.grammar.treebank_grammar import TreebankGrammar
from structopt.factor_graph.kinds import FOREST
from structopt.kernels.waist.record import Array


class Span(TreebankGrammar):
    """Trees of the grammar of `structopt.factor_graph.grammar.grammar.Grammar` whose rules are
    scored where they are used.

    A rule A -> B C at words i..k and k..j, an *anchored rule*, is a part of its own, as are the
    unary steps of spans and the tags of words: a scorer sees all words around i, k and j. Parts, in
    this order: ``edge`` (an anchored rule, an anchored step, or the tag of a word) and ``node`` (a
    symbol at a span, below the step or above). Only what a pruned chart has of them is looked at,
    and no list of them is kept.

    Parameters
    ----------
    binarization, horizontal, vertical, pruner, prune_threshold, pruner_epochs, pruner_C
        See `structopt.factor_graph.grammar.grammar.Grammar`. The pruner is such a grammar.

    Notes
    -----
    Hall, Durrett and Klein (2014), "Less grammar, more features".
    """

    @property
    def traits(self) -> GraphTraits:
        """Packed forests, whose marginals have closed forms."""
        return GraphTraits(FOREST, anchored=True, closed_forms=True)

    @property
    def roles(self) -> Mapping[str, str]:
        """``rule``: uses of rules and steps at their places; ``bracket``: symbols at spans. A
        variable is a rule's use.
        """
        return {"variable": "edge", "rule": "edge", "bracket": "node"}

    def build(self, encoded: Encoded, positional: bool = False) -> Structure:
        """Lay out the forests of every sentence: of the symbols that a pruner kept, or of all
        symbols at all spans.
        """
        trees = constituents_of(encoded)
        return forests.forest_structure(trees, self.rules, cells_of(trees, self.rules))

    def gold(self, encoded: Encoded, structure: Structure) -> SparseVectors:
        """Indicators of the gold edges and nodes."""
        trees = constituents_of(encoded)
        return forests.gold_parts(structure, trees, self.rules, self.uses(trees))

    def place(self, encoded: Encoded, structure: Structure, group: PartGroup, position: int) -> str:
        """The words below the rule, the step or the tag."""
        edges, vertices = next(forests.sentences(structure))
        above = position if group.name == "node" else int(edges.head[position])
        begin, end = int(vertices.begin[above]), int(vertices.end[above])
        return " ".join(
            [
                f"{begin + 1}" if end == begin + 1 else f"{begin + 1}–{end}",
                *encoded.words[begin:end],
            ]
        )

    def view(
        self, name: str, encoded: Encoded, structure: Structure, outputs: SparseVectors
    ) -> Bracketings:
        """The constituents of the trees; none where there is no tree."""
        return forests.bracketings(structure, constituents_of(encoded), self.rules, outputs)

    def probabilities(
        self, name: str, encoded: Encoded, structure: Structure, marginals: list[Array]
    ) -> list[Array]:
        """See `TreebankGrammar`."""
        return forests.probable_constituents(structure, self.rules, marginals)

    def nearest(self, encoded: Encoded, structure: Structure) -> Nearest | None:
        """Scores by which gold constituents are better than none, and others worse; and which gold
        trees the forests have.
        """
        trees = constituents_of(encoded)
        if trees.constituents is None:
            return None
        return forests.nearest(structure, trees, self.rules, self.uses(trees))
