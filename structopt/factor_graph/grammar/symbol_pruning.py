"""Symbol pruning: a grammar whose symbols remember nothing leaves each span few of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np

from structopt.core.data.encoded import Candidates, Encoded, EncodedConstituents
from structopt.core.factor_graph import CoarseOutputs, FactorGraph, Pruned, Pruning
from structopt.core.parts.ragged import ends_of
from structopt.core.scorer import Scorer
from structopt.errors import ConfigError
from structopt.factor_graph.grammar.binarization import Binarization, Direction
from structopt.factor_graph.grammar.charts import Cells, cells_of, span_number
from structopt.factor_graph.grammar.constituents import constituents_of, uses_of
from structopt.factor_graph.grammar.heads import head_of
from structopt.factor_graph.grammar.rules import Rules
from structopt.factor_graph.grammar.sentence_charts import (
    NODES,
    SentencePruning,
    capacity,
    tables_of,
)
from structopt.kernels.waist.record import Array

BLOCK = 256
"""Sentences whose charts are in memory at once."""


@dataclass(frozen=True)
class SymbolPruning(Pruning):
    """Keeps the symbols A of each span with p(A, i, j) >= threshold, below and above the unary
    step.

    p are the marginals of a grammar with horizontal=0 and vertical=1: the probability that the tree
    has the span, and the symbol there. The symbols of gold trees are kept in training. Where what
    is left of a sentence makes no tree, the symbols of its best tree are kept as well: one survives
    whatever is pruned.

    Parameters
    ----------
    model, epochs, C : see `Pruning`
    threshold : float
    direction : str
        Of the binarization, which both grammars share.

    Notes
    -----
    Charniak and Johnson (2005), section 4; Hall, Durrett and Klein (2014) keep what is above e^-9.
    """

    model: str | None
    threshold: float
    epochs: int
    C: float
    direction: Direction

    group: ClassVar[str] = "node"
    features: ClassVar[dict[str, Any]] = {"name": "attribute_rows", "support": "seen"}
    outputs: ClassVar[str] = "trees"
    numbered: ClassVar[str] = "words or labels"
    from_counts: ClassVar[bool] = True

    @property
    def graph(self) -> dict[str, Any]:
        """A grammar with the same binary trees, whose symbols remember nothing."""
        return {"name": "grammar", "binarization": self.direction, "horizontal": 0, "vertical": 1}

    @property
    def least(self) -> float:
        """The threshold: what less probable symbols hand on to those below them is left out, and
        little is gained by it.
        """
        return self.threshold

    @property
    def thresholds(self) -> dict[str, float]:
        """The least probability of a symbol at a span."""
        return {"threshold": self.threshold}

    def plan(
        self,
        graph: FactorGraph,
        scorer: Scorer,
        weights: Array,
        solve: Any,
        temperature: float,
        encoded: Encoded,
    ) -> SentencePruning | None:
        """See `Pruning`; None if charts are too large, or scores are not sums of rows of
        weights.
        """
        coarse = cast(Any, graph.coarsened(self.least))  # it is a grammar
        tables, rules = tables_of(coarse, scorer, encoded), coarse.rules
        if tables is None or capacity(rules) > NODES or rules.symbols != rules.coarse:
            return None
        return SentencePruning(coarse, weights, tables, solve, self.threshold, temperature)

    def prune(
        self, graph: FactorGraph, encoded: Encoded, coarse: CoarseOutputs, keep_gold: bool
    ) -> Pruned:
        """See `Pruning`.

        The metrics are the symbols a span that are kept, the share that they are of all, and the
        share of the gold symbols that are kept without `keep_gold`. Gold symbols that the coarser
        grammar does not have are not counted.
        """
        trees = constituents_of(encoded)
        rules: Rules = cast(Any, graph).rules  # it is a grammar
        if rules.symbols != rules.coarse:
            raise ConfigError(
                f"`pruner`: the symbols of {self.model} remember labels around them.",
                remedy="Give a model of horizontal=0 vertical=1, or leave pruner=None to make one.",
                kinds=dict.fromkeys(("pruner", "horizontal", "vertical"), "factor_graph"),
            )
        if len(trees) <= BLOCK:
            blocks = [self._block(trees, rules, coarse, keep_gold)]
        else:
            blocks = [
                self._block(trees.subset(first, last), rules, coarse.subset(first, last), keep_gold)
                for first, last in pairwise([*range(0, len(trees), BLOCK), len(trees)])
            ]
        candidates = _joined(rules.symbols, [block.candidates for block in blocks])
        kept, every, gold, lost = (sum(block.counts[k] for block in blocks) for k in range(4))
        mean, share = kept / max(len(candidates.bottoms), 1), kept / max(every, 1)
        recall = 1.0 - lost / gold if gold else None
        summary = f"{mean:.2f} symbols a span ({100 * share:.2f} % of all)"
        summary += "" if recall is None else f", {100 * recall:.2f} % of gold symbols"
        metrics = {"pruner_symbols": mean, "pruner_share": share, "pruner_recall": recall}
        return Pruned(replace(trees, candidates=candidates), metrics, summary)

    def _block(
        self, trees: EncodedConstituents, rules: Rules, coarse: CoarseOutputs, keep_gold: bool
    ) -> _Block:
        """The symbols that are kept of some sentences."""
        cells = cells_of(trees, rules)
        keep = coarse.marginals() >= self.threshold
        gold, every_tree = _gold_nodes(trees, rules, cells, self.direction)
        lost = int((~keep[gold]).sum())
        if keep_gold:
            keep[gold] = True
        candidates = _candidates(rules.symbols, cells, keep)
        if not (keep_gold and every_tree):
            without = coarse.without_output(replace(trees, candidates=candidates)).tolist()
            for i in without:
                keep[cells.nodes[i] + coarse.subset(i, i + 1).best()] = True
            if without:
                candidates = _candidates(rules.symbols, cells, keep)
        return _Block(candidates, (len(candidates.numbers), len(keep), len(gold), lost))


class _Block(NamedTuple):
    """The candidates of some sentences; and symbols that are kept, all symbols, gold symbols, and
    those lost.
    """

    candidates: Candidates
    counts: tuple[int, int, int, int]


def _candidates(names: tuple[str, ...], cells: Cells, keep: Array) -> Candidates:
    """The symbols that are kept of all that spans may have."""
    sizes, node = cells.sizes, np.flatnonzero(keep)
    starts = ends_of(sizes)[:-1]
    span = np.searchsorted(starts, node, side="right") - 1
    within = node - starts[span]
    lists = cells.lists[span]
    symbols = cells.symbols[cells.starts[lists] + within]
    below = within < cells.bottoms[lists]
    offsets = ends_of(np.bincount(span, minlength=len(sizes)))
    bottoms = np.bincount(span[below], minlength=len(sizes)).astype(np.int32)
    return Candidates(names, cells.spans, offsets, bottoms, symbols.astype(np.int32))


def _gold_nodes(
    trees: EncodedConstituents, rules: Rules, cells: Cells, direction: Direction
) -> tuple[Array, bool]:
    """The nodes of the gold trees, numbered over all sentences, and whether the grammar has all
    these trees.

    Nodes that the grammar does not have are left out.
    """
    if trees.constituents is None:
        return np.zeros(0, np.int64), False
    uses = uses_of(trees, Binarization(direction, 0, 1, head_of), rules.numbering)
    sentence = uses.sentence
    bottom, top = rules.ends(uses, trees)
    span = span_number(np.diff(trees.offsets)[sentence], uses.begin, uses.end)
    layers = [
        cells.node(sentence, span, symbol, np.full(len(span), above))
        for symbol, above in ((bottom, False), (top, True))
    ]
    known = [nodes >= 0 for nodes in layers]
    nodes = [
        (nodes + cells.nodes[sentence])[some] for nodes, some in zip(layers, known, strict=True)
    ]
    return np.concatenate(nodes), bool(uses.known.all() and all(some.all() for some in known))


def _joined(symbols: tuple[str, ...], candidates: Sequence[Candidates]) -> Candidates:
    """The candidates of consecutive sentences, put together."""
    spans, offsets = [np.zeros(1, np.int64)], [np.zeros(1, np.int64)]
    for one in candidates:
        spans.append(one.spans[1:] + spans[-1][-1])
        offsets.append(one.offsets[1:] + offsets[-1][-1])
    none = np.zeros(0, np.int32)
    return Candidates(
        symbols,
        np.concatenate(spans),
        np.concatenate(offsets),
        np.concatenate([none, *(one.bottoms for one in candidates)]),
        np.concatenate([none, *(one.numbers for one in candidates)]),
    )
