"""Weighted context-free grammars over binary trees: the rules of a treebank, with a weight each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from structopt.core.data.constituents import Bracketings
from structopt.core.data.encoded import Encoded, EncodedConstituents
from structopt.core.data.saved_state import SavedState
from structopt.core.data.sparse_vectors import SparseVectors
from structopt.core.data.structure import PartGroup, Structure, part_offsets
from structopt.core.factor_graph import Calculus, Counted, FactorGraph, GraphTraits, Nearest, Pruning
from structopt.errors import ConfigError
from structopt.factor_graph.grammar import readings
from structopt.factor_graph.grammar.binarization import Binarization
from structopt.factor_graph.grammar.charts import Cells, cells_of, span_number
from structopt.factor_graph.grammar.constituents import Uses, by_span, check_categories, constituents_of, uses_of
from structopt.factor_graph.grammar.heads import head_of
from structopt.factor_graph.grammar.positional import cost_of_edges, gold_edges, gold_of_edges, positional_structure
from structopt.factor_graph.grammar.rules import Rules
from structopt.factor_graph.grammar.symbol_pruning import SymbolPruning
from structopt.factor_graph.hypergraph import HYPERGRAPH, hypergraph_calculus
from structopt.factor_graph.kinds import GRAMMAR
from structopt.factor_graph.ragged import ends_of
from structopt.kernels.waist.record import Array


class Grammar(FactorGraph):
    """A context-free grammar with a weight a rule, read off the training trees.

    A span of a sentence has a bottom symbol, one unary step and a top symbol. A tree over n words uses n - 1 binary rules
    A -> B C and 2 n - 1 steps; a step carries the chain of labels above its bottom, none being the most frequent. Rules and steps
    are tied: one weight wherever they are used. Parts, in this order: ``rule``, ``step``, ``label`` (a word's tag), ``node`` (a
    symbol at a span) and ``anchor`` (a use of a rule or step in the gold tree, where the cost stands).

    Parameters
    ----------
    binarization : str
        How constituents with more than two children are split: ``left`` (the last child first), ``right`` (the first), ``head``
        (the children beside the head, from both ends).
    horizontal : int
        Labels of the children split off last that a symbol between remembers.
    vertical : int
        Labels of constituents that a symbol remembers, its own included: 1 for no others.
    pruner : str or None
        A model of factor_graph=grammar whose symbols remember nothing; None: one is made of relative frequencies.
    prune_threshold : float
        Keep the symbols of a span that have at least this probability, below and above the step; 0: all.
    pruner_epochs : int
        Passes of the pruner's training, which begins at relative frequencies.
    pruner_C : float
        Its 1/(lambda m).

    Notes
    -----
    Charniak (1996); Johnson (1998) for the vertical, Klein and Manning (2003) for both orders; Bartlett et al. (2004), example 2.
    """

    def __init__(
        self,
        binarization: Literal["left", "right", "head"] = "head",
        horizontal: int = 0,
        vertical: int = 1,
        pruner: str | None = None,
        prune_threshold: float = 0.0,
        pruner_epochs: int = 0,
        pruner_C: float = 1.0,
    ) -> None:
        if horizontal < 0 or vertical < 1:
            raise ConfigError(
                f"factor_graph.horizontal={horizontal} must be at least 0, and factor_graph.vertical={vertical} at least 1."
            )
        if not 0.0 <= prune_threshold < 1.0:
            raise ConfigError(f"factor_graph.prune_threshold={prune_threshold} must be at least 0 (no pruning) and below 1.")
        self.binarization = Binarization(binarization, horizontal, vertical, head_of)
        self.pruner, self.prune_threshold = pruner, prune_threshold
        self.pruner_epochs, self.pruner_C = pruner_epochs, float(pruner_C)
        self._rules: Rules | None = None

    @property
    def rules(self) -> Rules:
        """The rules of the training trees."""
        assert self._rules is not None, "the grammar is not fitted"
        return self._rules

    def fit(self, encoded: Encoded) -> None:
        """Read the rules off the gold trees."""
        trees = constituents_of(encoded)
        check_categories(trees)
        self._rules = Rules.of(trees, self.binarization)

    def state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """The rules."""
        return self.rules.state()

    def restore(self, state: SavedState) -> None:
        """Undo `state`."""
        self._rules = Rules.restore(state)

    @property
    def traits(self) -> GraphTraits:
        """Charts of a grammar; where every rule has parts of its own, hypergraphs, whose marginals have closed forms."""
        return GraphTraits(GRAMMAR, closed_forms=True)

    @property
    def views(self) -> Mapping[str, str]:
        """The constituents of a sentence and the tags of its words."""
        return {"constituents": "node"}

    @property
    def roles(self) -> Mapping[str, str]:
        """``rule``: uses of rules and steps at their places; ``bracket``: symbols at spans. A variable is a rule's use."""
        return {"variable": "anchor", "rule": "anchor", "bracket": "node"}

    @property
    def calculus(self) -> Calculus:
        """The closed forms of hypergraphs."""
        return hypergraph_calculus()

    @property
    def pruning(self) -> Pruning | None:
        """The same grammar without memory, by relative frequencies."""
        if self.prune_threshold == 0.0 and self.pruner is None:
            return None
        direction = self.binarization.direction
        return SymbolPruning(self.pruner, self.prune_threshold, self.pruner_epochs, self.pruner_C, direction)

    @property
    def classes(self) -> Mapping[str, Array]:
        """Rules and steps are chosen given the symbol above; words given their tags."""
        rules = self.rules
        return {"rule": rules.binary[:, 2].astype(np.int64), "step": rules.tops, "label": np.arange(len(rules.tags))}

    def configuration_names(self, group: str) -> list[Any] | None:
        """Rules by their symbols, steps by their chains; of other groups the task's names."""
        rules = self.rules
        if group == "rule":
            return [tuple(rules.symbols[k] for k in rule) for rule in rules.binary.tolist()]
        return list(rules.chains) if group == "step" else None

    def build(self, encoded: Encoded, positional: bool = False) -> Structure:
        """Lay out the charts of every sentence: all symbols at all spans, or those that a pruner kept.

        `positional`: as hypergraphs, with the parts ``edge`` (a use of a rule or a step at its place, or a tag) and ``node``.
        """
        from structopt.kernels.grammar.charts import CHARTS
        from structopt.kernels.grammar.grammar import scratch

        trees, rules = constituents_of(encoded), self.rules
        cells = cells_of(trees, self.rules)
        uses, anchors = self._anchors(trees)
        groups = self._groups(trees, cells, anchors[0])
        longest, R, U = int(np.diff(trees.offsets).max(initial=1)), len(rules.binary), len(rules.chains)
        record = CHARTS.pack(
            symbols=len(rules.symbols), rules=R, steps=U, tags=len(rules.tags), root=0,
            full=int(trees.candidates is None), **_indexed(rules),
            tag_symbol=rules.first_tag + np.arange(len(rules.tags)), tokens=trees.offsets, spans=cells.spans,
            first=cells.starts[cells.lists], bottoms=cells.bottoms[cells.lists], tops=cells.sizes - cells.bottoms[cells.lists],
            node=cells.first_nodes, node_symbols=cells.symbols, anchors=anchors[0], anchor_span=anchors[1],
            anchor_split=anchors[2], anchor_rule=anchors[3],
        )  # fmt: skip
        if positional:
            return positional_structure(record, trees, rules)
        parts = part_offsets(groups)
        sizes = longest, int(np.diff(cells.nodes).max(initial=1)), int(np.diff(parts).max(initial=1))
        return Structure(
            record=record,
            groups=groups,
            parts=parts,
            kind=self.kind,
            memory=np.zeros(len(trees) + 1, np.int64),
            work=scratch(record, *sizes),
            active=13 * longest,  # n - 1 rules, 2 n - 1 steps, n tags, 4 n - 2 nodes, and 3 n - 2 anchors
        )

    def gold(self, encoded: Encoded, structure: Structure) -> SparseVectors:
        """How often the gold trees use each rule and step, and indicators of tags, nodes and anchors; or of edges and nodes."""
        trees, rules = constituents_of(encoded), self.rules
        if structure.kind == HYPERGRAPH:
            return gold_of_edges(structure, gold_edges(structure, self._anchors(trees)[0], trees))
        assert trees.gold is not None
        cells, (uses, anchors) = cells_of(trees, self.rules), self._anchors(trees)
        sentence, n = uses.sentence, np.diff(trees.offsets)[uses.sentence]
        span = span_number(n, uses.begin, uses.end)
        R, U, T = len(rules.binary), len(rules.chains), len(rules.tags)
        nodes, word = R + U + n * T, uses.split == 0
        tag = trees.gold[trees.offsets[sentence[word]] + uses.begin[word]]
        ends, below = rules.ends(uses, trees), np.zeros(len(span), bool)
        bottom, top = cells.node(sentence, span, ends[0], below), cells.node(sentence, span, ends[1], ~below)
        assert (bottom >= 0).all() and (top >= 0).all(), "a gold symbol is no candidate"
        own = np.repeat(np.arange(len(trees)), np.diff(anchors[0]))
        first_anchor = R + U + np.diff(trees.offsets) * T + np.diff(cells.nodes)
        owners = [sentence[~word], sentence, sentence[word], sentence, sentence, own]
        parts = [
            uses.rule[~word], R + uses.step, (R + U + uses.begin[word] * T + tag), nodes + bottom, nodes + top,
            first_anchor[own] + np.arange(len(own)) - anchors[0][own],
        ]  # fmt: skip
        return SparseVectors.of_parts(np.concatenate(owners), np.concatenate(parts), len(trees))

    def counted(self, role: str, encoded: Encoded) -> Counted:
        """Uses of rules and steps, by the symbols above; or symbols at spans."""
        self.check_role(role)
        trees, rules = constituents_of(encoded), self.rules
        uses, anchors = self._anchors(trees)
        if self.roles[role] == "node":
            both = np.stack(rules.ends(uses, trees), axis=1)[by_span(uses)]  # as in the part vector: below, above
            return Counted(rules.symbols, both.ravel().astype(np.int32), 2 * np.diff(uses.offsets))
        offsets, _, split, number = anchors
        above = np.empty(len(number), np.int32)
        above[split > 0], above[split == 0] = rules.binary[number[split > 0], 2], rules.tops[number[split == 0]]
        return Counted(rules.symbols, above, np.diff(offsets))

    def cost(
        self,
        encoded: Encoded,
        structure: Structure,
        weights: Array,
        role: str = "variable",
        gold: SparseVectors | None = None,
    ) -> SparseVectors:
        """See `FactorGraph`; of positional structures at the gold edges, or the nodes above them."""
        if structure.kind != HYPERGRAPH:
            return super().cost(encoded, structure, weights, role, gold)
        self.check_role(role)
        trees = constituents_of(encoded)
        uses = self._anchors(trees)[0]
        edges = gold_edges(structure, uses, trees)
        return cost_of_edges(structure, uses, edges, weights, self.roles[role] == "node")

    def view(self, name: str, encoded: Encoded, structure: Structure, outputs: SparseVectors) -> Bracketings:
        """The constituents of the trees; none where there is no tree."""
        trees = constituents_of(encoded)
        return readings.bracketings(trees, self.rules, cells_of(trees, self.rules), structure, outputs)

    def probabilities(self, name: str, encoded: Encoded, structure: Structure, marginals: list[Array]) -> list[Array]:
        """The probable constituents of each sentence: rows of category, first word, the word after its last, probability."""
        trees = constituents_of(encoded)
        return readings.probable_constituents(self.rules, cells_of(trees, self.rules), trees, marginals)

    def choices(self, name: str, encoded: Encoded, structure: Structure, marginals: list[Array]) -> list[dict[str, Array]]:
        """The same as columns ``label``, ``begin`` (from 1), ``end`` and ``probability``."""
        columns = []
        for table in self.probabilities(name, encoded, structure, marginals):
            label, begin, end = table[:, :3].T.astype(np.int64)
            columns.append({"label": label, "begin": begin + 1, "end": end, "probability": table[:, 3]})
        return columns

    def nearest(self, encoded: Encoded, structure: Structure) -> Nearest | None:
        """Scores by which gold constituents are better than none, and others worse; and which gold trees the charts have."""
        trees, rules = constituents_of(encoded), self.rules
        if trees.constituents is None:
            return None
        cells, uses = cells_of(trees, rules), self._anchors(trees)[0]
        sentence = uses.sentence
        span, below = span_number(np.diff(trees.offsets)[sentence], uses.begin, uses.end), np.zeros(len(sentence), bool)
        bottom, top = rules.ends(uses, trees)
        lacking = (cells.node(sentence, span, bottom, below) < 0) | (cells.node(sentence, span, top, ~below) < 0)
        allowed = uses.known & (np.bincount(sentence[lacking], minlength=len(trees)) == 0)
        return Nearest(readings.scores_of_gold(trees, rules, cells, structure), allowed)

    def _groups(self, trees: EncodedConstituents, cells: Cells, anchors: Array) -> tuple[PartGroup, ...]:
        once, rules = np.arange(len(trees) + 1, dtype=np.int64), self.rules
        return (
            PartGroup("rule", len(rules.binary), once, tied=True),
            PartGroup("step", len(rules.chains), once, tied=True),
            PartGroup("label", len(rules.tags), trees.offsets),
            PartGroup("node", 1, cells.nodes, scored=False),
            PartGroup("anchor", 1, anchors, scored=False),
        )

    def _anchors(self, trees: EncodedConstituents) -> tuple[Uses, tuple[Array, ...]]:
        """The uses of rules and steps in the gold trees, and where they are: offsets, spans, splits (0: a step), numbers."""
        if trees.constituents is None:
            none = np.zeros(0, np.int64)
            return Uses(np.zeros(len(trees) + 1, np.int64), *[none] * 5), (np.zeros(len(trees) + 1, np.int64), *[none] * 3)
        uses = uses_of(trees, self.binarization, self.rules.numbering)
        sentence = uses.sentence
        span = span_number(np.diff(trees.offsets)[sentence], uses.begin, uses.end)
        both = np.stack([uses.step, np.where(uses.split > 0, uses.rule, -1)], axis=1)
        split = np.stack([np.zeros(len(span), np.int64), uses.split], axis=1)
        known = both >= 0
        counts = np.bincount(np.repeat(sentence, known.sum(axis=1)), minlength=len(trees))
        return uses, (ends_of(counts), np.repeat(span, known.sum(axis=1)), split[known], both[known])


def _indexed(rules: Rules) -> dict[str, Any]:
    """The rules by the pairs of symbols below them, and the steps by their bottoms, as the record of charts has them."""
    from structopt.kernels.grammar.matrices import places, ranges

    N, binary = len(rules.symbols), rules.binary.astype(np.int64)
    pairs, first, pair = np.unique(binary[:, 0] * N + binary[:, 1], return_index=True, return_inverse=True)
    found = ranges(binary[:, 2], binary[:, 0], binary[:, 1], rules.first_tag)
    return {
        "ranges": found, **places(pairs // N, pairs % N, found),
        "left_pairs": np.searchsorted(pairs // N, np.arange(N + 1)), "left": pairs // N, "right": pairs % N,
        "pair_rules": np.append(first, len(binary)), "parent": binary[:, 2], "pair": pair.ravel(),
        "sorted": np.argsort(binary[:, 2], kind="stable"), "below": np.searchsorted(np.sort(binary[:, 2]), np.arange(N + 1)),
        "bottom_steps": np.searchsorted(rules.bottoms, np.arange(N + 1)), "step_top": rules.tops,
    }  # fmt: skip
