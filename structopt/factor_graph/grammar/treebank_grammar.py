"""What all graphs over the trees of a treebank's grammar share: rules, pruning, what costs count,
readings.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any, Literal, NamedTuple

import numpy as np

from structopt.core.data.encoded import Encoded, EncodedConstituents
from structopt.core.data.saved_state import SavedState
from structopt.core.data.sparse_vectors import SparseVectors
from structopt.core.data.structure import Structure
from structopt.core.factor_graph import Calculus, Counted, FactorGraph, Pruning
from structopt.core.parts.ragged import ends_of
from structopt.core.parts.sizes import Sizes
from structopt.errors import ArgumentError
from structopt.factor_graph.grammar import forests
from structopt.factor_graph.grammar.binarization import Binarization
from structopt.factor_graph.grammar.charts import span_number
from structopt.factor_graph.grammar.constituents import (
    Uses,
    by_span,
    check_categories,
    constituents_of,
    uses_of,
)
from structopt.factor_graph.grammar.derivations import EncodedDerivations
from structopt.factor_graph.grammar.given_rules import GivenRules
from structopt.factor_graph.grammar.grammar_batches import GrammarBatch, batch_of_trees
from structopt.factor_graph.grammar.heads import head_of
from structopt.factor_graph.grammar.rules import Rules
from structopt.factor_graph.grammar.symbol_pruning import SymbolPruning
from structopt.factor_graph.kinds import FOREST
from structopt.kernels.waist.record import Array


class Anchors(NamedTuple):
    """The uses of rules and steps in the gold trees, sentence by sentence; of a span the step
    before the rule.

    Attributes
    ----------
    offsets : int64, shape (sentences + 1,)
    span : int64
        Numbers of their spans.
    split : int64
        Where the right half begins; 0: a step.
    number : int64
        Of the rule, or of the step.
    """

    offsets: Array
    span: Array
    split: Array
    number: Array


class TreebankGrammar(FactorGraph):
    """Base of graphs whose outputs are the trees of a grammar that is read off the training trees.

    Parameters
    ----------
    binarization, horizontal, vertical, pruner, prune_threshold, pruner_epochs, pruner_C
        See `structopt.factor_graph.grammar.grammar.Grammar`.
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
        for name, value, least in (("horizontal", horizontal, 0), ("vertical", vertical, 1)):
            if value < least:
                raise ArgumentError(f"must be at least {least}.", parameter=f"{name}", value=value)
        if not 0.0 <= prune_threshold < 1.0:
            raise ArgumentError(
                "must be at least 0 and below 1; 0 means no pruning.",
                parameter="prune_threshold",
                value=prune_threshold,
            )
        self.binarization, self.horizontal, self.vertical = binarization, horizontal, vertical
        self.binarizer = Binarization(binarization, horizontal, vertical, head_of)
        self.pruner, self.prune_threshold = pruner, prune_threshold
        self.pruner_epochs, self.pruner_C = pruner_epochs, float(pruner_C)
        self._rules: Rules | None = None

    _given = False
    """Whether the rules are given for a batch, and not read off a treebank."""

    @property
    def rules(self) -> Rules:
        """The rules of the training trees."""
        assert self._rules is not None, "the grammar is not fitted"
        return self._rules

    def fit(self, encoded: Encoded, earlier: TreebankGrammar | None = None) -> None:
        """Read the rules off the gold trees, beside those of an `earlier` grammar that is binarized
        alike.
        """
        trees = constituents_of(encoded)
        check_categories(trees)
        alike = earlier is not None and earlier.binarizer == self.binarizer
        self._rules = Rules.of(
            trees, self.binarizer, earlier.rules if earlier is not None and alike else None
        )

    def batch(
        self,
        lengths: Any = None,
        *,
        mask: Any = None,
        tags: Sequence[str],
        rules: Sequence[Sequence[str]],
        steps: Sequence[Sequence[str]] | None = None,
        root: str = "ROOT",
    ) -> GrammarBatch:
        """Return a batch of sentences whose outputs are trees of a given grammar.

        Each span of a tree has a symbol below, one step, and a symbol above. Above a word is a tag.
        Over a longer span there is a rule, whose halves are the symbols above two spans. Settings
        for treebanks, such as `binarization`, have no effect.

        Parameters
        ----------
        lengths : array-like of int, shape (instances,)
        mask : array-like of bool, shape (instances, width)
            Instead of `lengths`: true at words.
        tags : sequence of str
            Each word has one of them.
        rules : sequence of (str, str, str)
            The symbols above, of the left half, and of the right half.
        steps : sequence of tuples of str, or None
            Unary chains, the symbol above first. Each symbol except the root also has a step that
            does not change it. None: steps from each symbol of the rules and tags to the root only.
        root : str
            The symbol above the whole sentence; it is in no rule.

        Raises
        ------
        ArgumentError
            For rules and steps that have other lengths or are listed twice, and tags above others.
        """
        options = {"root": root, "tags": tags, "rules": rules, "steps": steps}
        return self.batch_of(Sizes.of(lengths, mask), **options)

    def batch_of(self, sizes: Sizes, **options: Any) -> GrammarBatch:
        """See `structopt.core.factor_graph.FactorGraph`."""
        given, graph = GivenRules.of(**options), copy(self)
        graph._rules = given.numbered
        graph._given = True
        own = {"root": options["root"], "tags": given.tags, "rules": given.rules}
        return batch_of_trees(graph, sizes, {**own, "steps": given.steps})

    def configuration_order(self, group: str, **options: Any) -> Array | None:
        """See `structopt.core.factor_graph.FactorGraph`; rules and steps have an order."""
        given = GivenRules.of(**options)
        return {"rule": given.rule_order, "step": given.step_order}.get(group)

    def state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """The rules."""
        return self.rules.state()

    def restore(self, state: SavedState) -> None:
        """Undo `state`."""
        self._rules = Rules.restore(state)

    @property
    def views(self) -> Mapping[str, str]:
        """The constituents of a sentence and the tags of its words."""
        return {"constituents": "node"}

    @property
    def calculus(self) -> Calculus:
        """The closed forms of forests."""
        return forests.forest_calculus()

    @property
    def pruning(self) -> Pruning | None:
        """The same grammar without memory, by relative frequencies."""
        if self.prune_threshold == 0.0 and self.pruner is None:
            return None
        direction = self.binarizer.direction
        return SymbolPruning(
            self.pruner, self.prune_threshold, self.pruner_epochs, self.pruner_C, direction
        )

    def configuration_names(self, group: str) -> list[Any] | None:
        """Rules by their symbols, steps by their chains, symbols as such; of other groups the
        task's names.
        """
        rules = self.rules
        if group == "rule":
            symbols = rules.symbols
            return [
                f"{symbols[above]} → {symbols[left]} {symbols[right]}"
                for left, right, above in rules.binary.tolist()
            ]
        others: dict[str, list[Any]] = {"step": list(rules.chains), "symbol": list(rules.symbols)}
        return others.get(group)

    def counted(self, role: str, encoded: Encoded) -> Counted:
        """Uses of rules and steps, by the symbols above; or symbols at spans."""
        self.check_role(role)
        trees, rules = constituents_of(encoded), self.rules
        uses = self.uses(trees)
        if self.roles[role] == "node":
            # as in the part vector: below, above
            both = np.stack(rules.ends(uses, trees), axis=1)[by_span(uses)]
            return Counted(rules.symbols, both.ravel().astype(np.int32), 2 * np.diff(uses.offsets))
        anchors = anchors_of(trees, uses)
        above, rule = np.empty(len(anchors.number), np.int32), anchors.split > 0
        above[rule], above[~rule] = (
            rules.binary[anchors.number[rule], 2],
            rules.tops[anchors.number[~rule]],
        )
        return Counted(rules.symbols, above, np.diff(anchors.offsets))

    def cost(
        self,
        encoded: Encoded,
        structure: Structure,
        weights: Array,
        role: str = "variable",
        gold: SparseVectors | None = None,
    ) -> SparseVectors:
        """See `FactorGraph`; of forests at the gold edges, or the nodes above them."""
        if structure.kind != FOREST:
            return super().cost(encoded, structure, weights, role, gold)
        self.check_role(role)
        trees = constituents_of(encoded)
        return forests.cost_of_parts(
            structure, trees, self.rules, self.uses(trees), weights, self.roles[role] == "node"
        )

    @abstractmethod
    def probabilities(
        self, name: str, encoded: Encoded, structure: Structure, marginals: list[Array]
    ) -> list[Array]:
        """The probable constituents of each sentence: rows of category, first word, the word after
        its last, probability.
        """

    def no_probabilities(self, encoded: Encoded) -> Array:
        """Return no constituents."""
        return np.zeros((0, 4))

    def choices(
        self, name: str, encoded: Encoded, structure: Structure, marginals: list[Array]
    ) -> list[dict[str, Array]]:
        """The same as columns ``label``, ``begin`` (from 1), ``end`` and ``probability``."""
        columns = []
        for table in self.probabilities(name, encoded, structure, marginals):
            label, begin, end = table[:, :3].T.astype(np.int64)
            columns.append(
                {"label": label, "begin": begin + 1, "end": end, "probability": table[:, 3]}
            )
        return columns

    def uses(self, trees: EncodedConstituents) -> Uses:
        """The uses of rules and steps in the gold trees; none of unlabelled input."""
        if isinstance(trees, EncodedDerivations) and trees.uses is not None:
            return trees.uses
        if trees.constituents is None:
            return Uses(np.zeros(len(trees) + 1, np.int64), *[np.zeros(0, np.int64)] * 5)
        return uses_of(trees, self.binarizer, self.rules.numbering)


def anchors_of(trees: EncodedConstituents, uses: Uses) -> Anchors:
    """The uses of rules and steps that have numbers, in the order of the spans."""
    sentence = uses.sentence
    span = span_number(np.diff(trees.offsets)[sentence], uses.begin, uses.end)
    both = np.stack([uses.step, np.where(uses.split > 0, uses.rule, -1)], axis=1)
    split = np.stack([np.zeros(len(span), np.int64), uses.split], axis=1)
    known = both >= 0
    counts = np.bincount(np.repeat(sentence, known.sum(axis=1)), minlength=len(trees))
    return Anchors(ends_of(counts), np.repeat(span, known.sum(axis=1)), split[known], both[known])
