"""Weighted context-free grammars over binary trees: the rules of a treebank, with a weight each."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from structopt.core.data.attribute_table import AttributeTable
from structopt.core.data.constituents import Bracketings
from structopt.core.data.encoded import Encoded, EncodedConstituents
from structopt.core.data.sparse_vectors import SparseVectors
from structopt.core.data.structure import PartGroup, Structure, part_offsets
from structopt.core.factor_graph import CandidatePlan, GraphTraits, Nearest
from structopt.core.parts.ragged import ends_of
from structopt.core.scorer import Scorer
from structopt.core.storage.record_frame import RecordFrame
from structopt.factor_graph.grammar import forests, readings
from structopt.factor_graph.grammar.charts import Cells, cells_of, span_number
from structopt.factor_graph.grammar.constituents import Uses, constituents_of
from structopt.factor_graph.grammar.rules import Rules
from structopt.factor_graph.grammar.sentence_charts import (
    SentencePruning,
    SentenceTrees,
    tables_of,
)
from structopt.factor_graph.grammar.treebank_grammar import Anchors, TreebankGrammar, anchors_of
from structopt.factor_graph.kinds import FOREST, GRAMMAR
from structopt.kernels.waist.record import Array

if TYPE_CHECKING:
    from structopt.kernels.waist.signatures import Kernels


class Grammar(TreebankGrammar):
    """A context-free grammar with a weight a rule, read off the training trees.

    A span of a sentence has a bottom symbol, one unary step and a top symbol. A tree over n words
    uses n - 1 binary rules A -> B C and 2 n - 1 steps; a step carries the chain of labels above its
    bottom, none being the most frequent. Rules and steps are tied: one weight wherever they are
    used. Parts, in this order: ``rule``, ``step``, ``label`` (a word's tag), ``node`` (a symbol at
    a span) and ``anchor`` (a use of a rule or step in the gold tree, where the cost stands).

    Parameters
    ----------
    binarization : str
        How constituents with more than two children are split: ``left`` (the last child first),
        ``right`` (the first), ``head`` (the children beside the head, from both ends).
    horizontal : int
        Labels of the children split off last that a symbol between remembers.
    vertical : int
        Labels of constituents that a symbol remembers, its own included: 1 for no others.
    pruner : str or None
        A model of `Grammar` whose symbols remember nothing; None: relative
        frequencies make one.
    prune_threshold : float
        Keep the symbols of a span that have at least this probability, below and above the step; 0:
        all.
    pruner_epochs : int
        Passes of the pruner's training, which begins at relative frequencies.
    pruner_C : float
        Its 1/(lambda m).

    Notes
    -----
    Charniak (1996); Johnson (1998) for the vertical, Klein and Manning (2003) for both orders;
    Bartlett et al. (2004), example 2.
    """

    _floor = 0.0

    def coarsened(self, least: float) -> Grammar:
        """The same grammar, whose charts hand nothing on from nodes with smaller marginals."""
        graph = copy(self)
        graph._floor = least
        return graph

    @property
    def traits(self) -> GraphTraits:
        """Charts of a grammar; where every rule has parts of its own, forests, whose marginals have
        closed forms.
        """
        return GraphTraits(GRAMMAR, closed_forms=True)

    @property
    def roles(self) -> Mapping[str, str]:
        """``rule``: uses of rules and steps at their places; ``bracket``: symbols at spans. A
        variable is a rule's use. If the rules are given for a batch, a variable is a symbol at a
        span.
        """
        if self._given:  # without anchors, which are places of rules in gold trees
            return {"variable": "node", "bracket": "node"}
        return {"variable": "anchor", "rule": "anchor", "bracket": "node"}

    @property
    def classes(self) -> Mapping[str, Array]:
        """Rules and steps are chosen given the symbol above; words given their tags."""
        rules = self.rules
        return {
            "rule": rules.binary[:, 2].astype(np.int64),
            "step": rules.tops,
            "label": np.arange(len(rules.tags)),
        }

    def view_plan(
        self, scorer: Scorer, kernels: Kernels, candidates: CandidatePlan | None, encoded: Encoded
    ) -> SentenceTrees | None:
        """See `structopt.core.factor_graph.FactorGraph`: for pruned grammars with rows of
        weights.
        """
        # a plugin's class may have other charts
        if type(self) is not Grammar or not isinstance(candidates, SentencePruning):
            return None
        tables = tables_of(self, scorer, encoded)
        return None if tables is None else SentenceTrees(candidates, self, tables, kernels)

    def build(self, encoded: Encoded, positional: bool = False) -> Structure:
        """Lay out the charts of every sentence: all symbols at all spans, or those that a pruner
        kept.

        `positional`: as forests, with the parts ``edge`` (a use of a rule or a step at its place,
        or a tag) and ``node``.
        """
        from structopt.kernels.grammar.grammar import scratch

        trees, rules = constituents_of(encoded), self.rules
        cells = cells_of(trees, rules)
        if positional:
            return weighted_forests(trees, rules, cells)
        anchors = self._anchors(trees, self.uses(trees))
        groups = self._groups(trees, cells, anchors.offsets)
        longest = int(np.diff(trees.offsets).max(initial=1))
        bottoms = cells.bottoms[cells.lists]
        record = self.frame(trees.candidates is None).pack(
            tokens=trees.offsets,
            spans=cells.spans,
            first=cells.starts[cells.lists],
            bottoms=bottoms.astype(np.int32),
            tops=(cells.sizes - bottoms).astype(np.int32),
            node=cells.first_nodes.astype(np.int32),
            node_symbols=cells.symbols,
            anchors=anchors.offsets,
            anchor_span=anchors.span.astype(np.int32),
            anchor_split=anchors.split.astype(np.int32),
            anchor_rule=anchors.number.astype(np.int32),
        )
        parts = part_offsets(groups)
        sizes = (
            longest,
            int(np.diff(cells.nodes).max(initial=1)),
            int(np.diff(parts).max(initial=1)),
        )
        return Structure(
            record=record,
            groups=groups,
            parts=parts,
            kind=self.kind,
            memory=np.zeros(len(trees) + 1, np.int64),
            work=scratch(record, *sizes),
            # n - 1 rules, 2 n - 1 steps, n tags, 4 n - 2 nodes, and 3 n - 2 anchors
            active=13 * longest,
        )

    def frame(self, full: bool) -> RecordFrame:
        """Return the fields of the record that depend on the grammar only."""
        from structopt.kernels.grammar.charts import CHARTS

        rules, key = self.rules, (full, self._floor)
        if key not in rules.frames:
            constants = {
                "symbols": len(rules.symbols),
                "rules": len(rules.binary),
                "steps": len(rules.chains),
                "tags": len(rules.tags),
                "root": 0,
                "full": int(full),
                "floor": self._floor,
                **_indexed(rules),
                "tag_symbol": rules.first_tag + np.arange(len(rules.tags)),
            }
            rules.frames[key] = RecordFrame(CHARTS, constants)
        return rules.frames[key]

    def gold(self, encoded: Encoded, structure: Structure) -> SparseVectors:
        """How often the gold trees use each rule and step, and indicators of tags, nodes and
        anchors; or of edges and nodes.
        """
        trees, rules = constituents_of(encoded), self.rules
        uses = self.uses(trees)
        if structure.kind == FOREST:
            return forests.gold_parts(structure, trees, rules, uses)
        assert trees.gold is not None
        cells, first_of_own = cells_of(trees, rules), self._anchors(trees, uses).offsets
        sentence, n = uses.sentence, np.diff(trees.offsets)[uses.sentence]
        span = span_number(n, uses.begin, uses.end)
        R, U, T = len(rules.binary), len(rules.chains), len(rules.tags)
        nodes, word = R + U + n * T, uses.split == 0
        tag = trees.gold[trees.offsets[sentence[word]] + uses.begin[word]]
        ends, below = rules.ends(uses, trees), np.zeros(len(span), bool)
        bottom, top = (
            cells.node(sentence, span, ends[0], below),
            cells.node(sentence, span, ends[1], ~below),
        )
        assert (bottom >= 0).all() and (top >= 0).all(), "a gold symbol is no candidate"
        own = np.repeat(np.arange(len(trees)), np.diff(first_of_own))
        first_anchor = R + U + np.diff(trees.offsets) * T + np.diff(cells.nodes)
        owners = [sentence[~word], sentence, sentence[word], sentence, sentence, own]
        parts = [
            uses.rule[~word],
            R + uses.step,
            (R + U + uses.begin[word] * T + tag),
            nodes + bottom,
            nodes + top,
            first_anchor[own] + np.arange(len(own)) - first_of_own[own],
        ]
        return SparseVectors.of_parts(np.concatenate(owners), np.concatenate(parts), len(trees))

    def view(
        self, name: str, encoded: Encoded, structure: Structure, outputs: SparseVectors
    ) -> Bracketings:
        """The constituents of the trees; none where there is no tree."""
        return readings.bracketings(constituents_of(encoded), self.rules, structure, outputs)

    def probabilities(
        self, name: str, encoded: Encoded, structure: Structure, marginals: list[Array]
    ) -> list[Array]:
        """See `TreebankGrammar`."""
        trees = constituents_of(encoded)
        return readings.probable_constituents(
            self.rules, cells_of(trees, self.rules), trees, marginals
        )

    def nearest(self, encoded: Encoded, structure: Structure) -> Nearest | None:
        """Scores by which gold constituents are better than none, and others worse; and which gold
        trees the charts have.
        """
        trees, rules = constituents_of(encoded), self.rules
        if trees.constituents is None:
            return None
        cells, uses = cells_of(trees, rules), self.uses(trees)
        sentence = uses.sentence
        span, below = (
            span_number(np.diff(trees.offsets)[sentence], uses.begin, uses.end),
            np.zeros(len(sentence), bool),
        )
        bottom, top = rules.ends(uses, trees)
        lacking = (cells.node(sentence, span, bottom, below) < 0) | (
            cells.node(sentence, span, top, ~below) < 0
        )
        allowed = uses.known & (np.bincount(sentence[lacking], minlength=len(trees)) == 0)
        return Nearest(readings.scores_of_gold(trees, rules, cells, structure), allowed)

    def _anchors(self, trees: EncodedConstituents, uses: Uses) -> Anchors:
        """Return the anchors of gold trees; none if the rules are given for a batch."""
        anchors = anchors_of(trees, uses)
        if not self._given:
            return anchors
        return Anchors(np.zeros(len(trees) + 1, np.int64), *(one[:0] for one in anchors[1:]))

    def _groups(
        self, trees: EncodedConstituents, cells: Cells, anchors: Array
    ) -> tuple[PartGroup, ...]:
        once, rules = np.arange(len(trees) + 1, dtype=np.int64), self.rules
        return (
            PartGroup("rule", len(rules.binary), once, tied=True),
            PartGroup("step", len(rules.chains), once, tied=True),
            PartGroup("label", len(rules.tags), trees.offsets),
            PartGroup("node", 1, cells.nodes, scored=False),
            PartGroup("anchor", 1, anchors, scored=False),
        )


def _indexed(rules: Rules) -> dict[str, Any]:
    """The rules by the pairs of symbols below them, and the steps by their bottoms, as the record
    of charts has them.
    """
    from structopt.kernels.grammar.matrices import places, ranges

    N, binary = len(rules.symbols), rules.binary.astype(np.int64)
    pairs, first, pair = np.unique(
        binary[:, 0] * N + binary[:, 1], return_index=True, return_inverse=True
    )
    found = ranges(binary[:, 2], binary[:, 0], binary[:, 1], rules.first_tag)
    return {
        "ranges": found,
        **places(pairs // N, pairs % N, N, found),
        "left_pairs": np.searchsorted(pairs // N, np.arange(N + 1)),
        "left": pairs // N,
        "right": pairs % N,
        "pair_rules": np.append(first, len(binary)),
        "parent": binary[:, 2],
        "pair": pair.ravel(),
        "sorted": np.argsort(binary[:, 2], kind="stable"),
        "below": np.searchsorted(np.sort(binary[:, 2]), np.arange(N + 1)),
        "bottom_steps": np.searchsorted(rules.bottoms, np.arange(N + 1)),
        "step_top": rules.tops,
    }


def weighted_forests(trees: EncodedConstituents, rules: Rules, cells: Cells) -> Structure:
    """The forests of charts whose edges have the weights of rules, of steps, and of words with
    tags.

    A word that is not known has no weight.
    """
    structure = forests.forest_structure(trees, rules, cells)
    table, R, U, T = trees.tables["label"], len(rules.binary), len(rules.chains), len(rules.tags)
    attributes = np.append(table.ids, 0)[table.offsets[:-1]]
    attributes[np.diff(table.offsets) == 0] = -1
    numbers = [np.zeros(0, np.int64)]
    for i, (edges, vertices) in enumerate(forests.sentences(structure)):
        tag, step = edges.split == forests.TAG, edges.split == forests.STEP
        number = edges.number + np.where(step, R, 0)
        word = attributes[trees.offsets[i] + vertices.begin[edges.head[tag]]]
        number[tag] = np.where(
            word >= 0, R + U + word * T + edges.number[tag] - rules.first_tag, -1
        )
        numbers.append(number)
    ids = np.concatenate(numbers)
    weights = AttributeTable(
        ends_of((ids >= 0).astype(np.int64)),
        ids[ids >= 0].astype(np.int32),
        None,
        R + U + table.size * T,
    )
    edge, node = structure.groups
    layout = ("rule", R, 1), ("step", U, 1), ("label", T, table.size)
    return replace(
        structure, groups=(replace(edge, weights=layout), node), attributes={"edge": weights}
    )
