"""The charts of one sentence of up to `WORDS` words, allocated once per model.

A general prediction lays out the charts of a corpus with NumPy: once to prune them, once to check
that a tree is left, and once for the tree. For one sentence that takes many times longer than the
inference. Here compiled functions write the symbols of each span into the same records.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from structopt.core.data.constituents import Bracketings
from structopt.core.data.encoded import Candidates, Encoded, EncodedConstituents
from structopt.core.parts.ragged import ends_of
from structopt.core.scorer import Scorer, SparseFeatures
from structopt.factor_graph.grammar.constituents import constituents_of
from structopt.factor_graph.grammar.rules import Rules
from structopt.kernels.passes import LEAST
from structopt.kernels.waist.record import Array, Record

if TYPE_CHECKING:
    from structopt.factor_graph.grammar.grammar import Grammar
    from structopt.kernels.waist.signatures import Kernels

WORDS = 40
"""Words of a sentence; charts of longer ones take memory, and an interrupt waits for each."""
NODES = 1 << 17
"""Most nodes of a chart."""

Tables = Mapping[str, Array]
"""The index of the weight of each (attribute, configuration) pair by part group; -1: none."""


def capacity(rules: Rules) -> int:
    """Return the most nodes of a sentence."""
    spans = WORDS * (WORDS + 1) // 2
    return 2 * (spans * (rules.first_tag - 1) + WORDS * len(rules.symbols))


def tables_of(graph: Grammar, scorer: Scorer, trees: Encoded) -> Tables | None:
    """Return the indices of the weights of a grammar; None if its scores are not sums of them.

    `trees` is any corpus that the task has encoded.
    """
    if not isinstance(scorer, SparseFeatures):
        return None
    tables, rules = scorer.tables_of(np.arange(scorer.dimension), absent=-1), graph.rules
    shapes = {"rule": (1, len(rules.binary)), "step": (1, len(rules.chains))}
    shapes["label"] = trees.tables["label"].size, len(rules.tags)
    if tables is None or {name: table.shape for name, table in tables.items()} != shapes:
        return None
    return tables


class Charts:
    """The charts of a grammar with capacity for one sentence, and their scores.

    Parameters
    ----------
    graph : Grammar
    tables : Tables
        Has the groups ``rule``, ``step`` and ``label``.
    full : bool
        True if spans have all symbols that they may have; false if a pruner keeps some of them.
    """

    def __init__(self, graph: Grammar, tables: Tables, full: bool) -> None:
        from structopt.kernels.grammar.grammar import scratch
        from structopt.kernels.grammar.sentence import fill_scores

        rules, spans = graph.rules, WORDS * (WORDS + 1) // 2
        nodes = min(capacity(rules), NODES)
        phrases = np.arange(1, rules.first_tag, dtype=np.int32)
        shared = [phrases, phrases, phrases] if full else []
        self.record = graph.frame(full).pack(
            first=np.zeros(spans, np.int64),
            node_symbols=[*shared, np.zeros(nodes, np.int32)],
            **{name: np.zeros(spans, np.int32) for name in ("bottoms", "tops", "node")},
            **{name: np.zeros(2, np.int64) for name in ("tokens", "spans", "anchors")},
            **{f"anchor_{name}": np.zeros(0, np.int32) for name in ("span", "split", "rule")},
        )
        self.rules, self.tags = rules, len(rules.tags)
        self.tied = len(rules.binary) + len(rules.chains)
        most = self.tied + WORDS * self.tags + nodes
        self.work = scratch(self.record, WORDS, nodes, most)
        self.scores, self.marginals = np.zeros(most), np.zeros(most)
        self._weights = [tables[name].ravel() for name in ("rule", "step", "label")]
        self._fill_scores = fill_scores

    def parts(self, words: int, nodes: int) -> int:
        """Return the number of parts of a sentence."""
        return self.tied + words * self.tags + nodes

    def score(self, weights: Array, trees: EncodedConstituents, i: int, parts: int) -> None:
        """Write the scores of a sentence whose symbols have been listed."""
        table, (begin, end) = trees.tables["label"], trees.offsets[i : i + 2].tolist()
        words, s = table.offsets[begin : end + 1], self.scores[:parts]
        self._fill_scores(self.record, weights, *self._weights, words, table.ids, s)

    def solve(self, solve: Any, temperature: float, parts: int, z: Array) -> bool:
        """Call a kernel of inference; return whether there is a tree."""
        s, none = self.scores[:parts], self.scores[:0]
        return bool(solve(self.record, 0, s, temperature, z, none, self.work) > LEAST)


class SentencePruning:
    """The symbols that a coarser grammar leaves each span of a sentence, as
    `structopt.factor_graph.grammar.symbol_pruning.SymbolPruning` keeps them; of one thread.

    Parameters
    ----------
    graph : Grammar
        The coarser one.
    weights : float64 vector
        Its weights.
    tables : Tables
        Their indices.
    solve : kernel
        Its inference.
    threshold : float
    temperature : float
        The temperature of its marginals.
    """

    def __init__(
        self,
        graph: Grammar,
        weights: Array,
        tables: Tables,
        solve: Any,
        threshold: float,
        temperature: float,
    ) -> None:
        from structopt.kernels.grammar import sentence

        self._weights, self.rules, self._solve = weights, graph.rules, solve
        self._threshold, self._temperature = threshold, temperature
        self._every, self._kept = Charts(graph, tables, True), Charts(graph, tables, False)
        self._reachable = self.rules.reachable[self.rules.first_tag :]
        self._list_all, self._list_probable = (
            sentence.list_every_symbol,
            sentence.list_probable_symbols,
        )

    def takes(self, trees: Encoded) -> bool:
        """Whether the sentences are short, and only their words are known."""
        if not isinstance(trees, EncodedConstituents) or trees.constituents is not None:
            return False
        return trees.candidates is None and int(np.diff(trees.offsets).max()) <= WORDS

    def chart(self, trees: EncodedConstituents, i: int) -> Record | None:
        """Return the chart of sentence i with the symbols that are kept, which is valid until the
        next call; None if no tree exists.
        """
        every, kept, (begin, end) = self._every, self._kept, trees.offsets[i : i + 2].tolist()
        n, none = end - begin, every.scores[:0]
        assert trees.allowed is not None
        nodes = self._list_all(every.record, n, trees.allowed[begin:end], self._reachable)
        parts = every.parts(n, nodes)
        z = every.marginals[:parts]
        every.score(self._weights, trees, i, parts)
        if not every.solve(self._solve, self._temperature, parts, z):
            return None
        of = every.record, z, self._threshold
        some = kept.parts(n, self._list_probable(*of, none, kept.record))
        kept.score(self._weights, trees, i, some)
        if not kept.solve(self._solve, 0.0, some, kept.marginals[:some]):
            best = kept.marginals[:parts]
            if not every.solve(self._solve, 0.0, parts, best):
                return None
            self._list_probable(*of, best, kept.record)
        return kept.record

    def candidates(self, encoded: Encoded) -> Candidates | None:
        """Return the symbols that are kept; None if a sentence has no tree."""
        from structopt.kernels.grammar.charts import CHARTS

        trees = constituents_of(encoded)
        pieces: dict[str, list[Array]] = {"sizes": [], "bottoms": [], "numbers": []}
        for i in range(len(trees)):
            if (record := self.chart(trees, i)) is None:
                return None
            c = CHARTS.open(record)
            bottoms = c.bottoms[: c.spans[1]]
            sizes = bottoms + c.tops[: c.spans[1]]
            own = bottoms.copy(), sizes, c.node_symbols[: int(sizes.sum())].copy()
            for name, array in zip(("bottoms", "sizes", "numbers"), own, strict=True):
                pieces[name].append(array)
        spans = ends_of(np.array(list(map(len, pieces["sizes"]))))
        joined = {name: np.concatenate(arrays) for name, arrays in pieces.items()}
        offsets = ends_of(joined["sizes"].astype(np.int64))
        return Candidates(self.rules.symbols, spans, offsets, joined["bottoms"], joined["numbers"])


class SentenceTrees:
    """The trees of sentences under a pruned grammar; of one thread.

    Parameters
    ----------
    pruning : SentencePruning
    graph : Grammar
    tables : Tables
        The indices of its weights.
    kernels : Kernels
        The kernels of the model.
    """

    def __init__(
        self, pruning: SentencePruning, graph: Grammar, tables: Tables, kernels: Kernels
    ) -> None:
        from structopt.kernels.grammar.sentence import list_finer_symbols, read_tree

        self._pruning, self._charts = pruning, Charts(graph, tables, False)
        self._solve, self._round = kernels.solve, kernels.round
        self._list_finer, self._read_tree = list_finer_symbols, read_tree
        sizes, self._finer = graph.rules.expanded(pruning.rules.symbols)
        self._starts = ends_of(sizes)
        starts, categories = graph.rules.chain_categories
        self._chains = starts.astype(np.int64), categories.astype(np.int32)
        longest = int(np.diff(starts).max(initial=0))
        self._constituents = np.zeros(3 * 2 * WORDS * longest, np.int32)
        self._tags = np.zeros(WORDS, np.int32)

    def takes(self, encoded: Encoded) -> bool:
        """Whether the sentences are short, and only their words are known."""
        return self._pruning.takes(encoded)

    def view(self, weights: Array, encoded: Encoded, temperature: float) -> Bracketings | None:
        """Return the trees of some sentences, as the general prediction reads them off its outputs;
        None if a sentence has no tree, or its charts no space.
        """
        found, trees = [], constituents_of(encoded)
        for i, words in enumerate(np.diff(trees.offsets).tolist()):
            if (one := self._tree(weights, trees, i, words, temperature)) is None:
                return None
            found.append(one)
        constituents, tags = zip(*found, strict=True)
        offsets = ends_of(np.array(list(map(len, constituents))))
        return Bracketings(offsets, np.concatenate(constituents), np.concatenate(tags))

    def _tree(
        self, weights: Array, trees: EncodedConstituents, i: int, words: int, temperature: float
    ) -> tuple[Array, Array] | None:
        """Return the constituents and the tags of a sentence."""
        charts, coarse = self._charts, self._pruning.chart(trees, i)
        if coarse is None:
            return None
        nodes = self._list_finer(coarse, self._starts, self._finer, charts.record)
        if nodes < 0:
            return None
        parts = charts.parts(words, nodes)
        z = charts.marginals[:parts]
        charts.score(weights, trees, i, parts)
        if not charts.solve(self._solve, temperature, parts, z):
            return None
        self._round(charts.record, 0, z, charts.work)
        count = self._read_tree(charts.record, z, *self._chains, self._constituents, self._tags)
        constituents = self._constituents[: 3 * count].reshape(count, 3)
        return constituents.copy(), self._tags[:words].copy()
