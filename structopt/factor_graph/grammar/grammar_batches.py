"""Batches of sentences whose outputs are the trees of a given grammar."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from structopt.core.data.attribute_table import AttributeTable
from structopt.core.data.sparse_vectors import SparseVectors
from structopt.core.factor_graph import FactorGraph
from structopt.core.parts.batch import Batch, Gold, Variables
from structopt.core.parts.layouts import GroupLayout
from structopt.core.parts.parts import Parts
from structopt.core.parts.ragged import ends_of
from structopt.core.parts.sizes import Sizes, numbers_within
from structopt.errors import ArgumentError
from structopt.factor_graph.batches import (
    Positions,
    counted_layout,
    layout_of,
    refuse_rows,
    tied_layout,
)
from structopt.factor_graph.grammar import forests
from structopt.factor_graph.grammar.charts import cells_of, ends_of_spans
from structopt.factor_graph.grammar.constituents import Uses
from structopt.factor_graph.grammar.derivations import (
    COLUMNS,
    EncodedDerivations,
    derivations,
    faults,
    rows_of,
)
from structopt.factor_graph.grammar.given_rules import GivenRules
from structopt.factor_graph.grammar.tree_samples import drawn_trees, forest_scores
from structopt.factor_graph.kinds import FOREST
from structopt.kernels.waist.record import Array

SPLIT, RULE, STEP = 2, 3, 4
"""Columns of derivations."""


@dataclass(frozen=True, eq=False)
class GrammarBatch(Batch):
    """Sentences whose outputs are trees of a grammar, as derivations.

    A derivation of n words is an integer table (2 n - 1, 5) with a row per span, parents before
    their children. Its columns are ``begin`` and ``end`` (the words begin <= t < end), ``split``
    (the first word of the right half; 0 of single words), ``rule`` (of single words the tag), and
    ``step``. Rules, steps and tags are counted from 0 in the order of the arguments of ``batch``;
    `steps` has all steps.
    """

    @cached_property
    def grammar(self) -> GivenRules:
        """The grammar, with the order of its rules and steps."""
        return GivenRules.of(**self.options)

    @property
    def steps(self) -> tuple[tuple[str, ...], ...]:
        """The chains of symbols of all steps, in the order of their scores."""
        return self.grammar.steps

    @property
    def symbols(self) -> tuple[str, ...]:
        """The symbols, in the order of the last axis of ``node``."""
        return self.grammar.symbols

    @property
    def view_lengths(self) -> Array:
        """Rows of the derivation of each sentence."""
        return rows_of(self.lengths)

    @property
    def variables(self) -> Variables:
        """Refuse: trees are not chosen variable by variable."""
        raise ArgumentError(
            "must be scores of a graph whose outputs are chosen variable by variable, and not of "
            f"{type(self.graph).__name__}.",
            parameter="scores",
        )

    @property
    def variable_layout(self) -> GroupLayout:
        """Layout of derivations."""
        rows = self.view_lengths
        numbers, sides = numbers_within(rows)[:, None], (int(rows.max(initial=0)),)
        begins, extents = np.zeros(len(rows), np.int64), rows[:, None]
        cells = (len(COLUMNS),)
        return GroupLayout("trees", cells, ends_of(rows), begins, numbers, numbers, extents, sides)

    def gold(self, trees: Any) -> Gold:
        """Return gold outputs.

        Parameters
        ----------
        trees : array-like of int
            Derivations: flat, padded, or an array per instance; parents need not be first.

        Raises
        ------
        ArgumentError
            For tables that are not derivations of the grammar.
        """
        layout, grammar = self.variable_layout, self.grammar
        numbers = layout.read(trees)
        whole = np.isfinite(numbers) & (numbers == np.floor(numbers)) & (numbers >= 0)
        refuse_rows("trees", whole.all(axis=1), "a number that is not an index.", layout)
        table = numbers.astype(np.int64)
        begin, end, split, rule, step = table.T
        word = end - begin == 1
        known = rule < np.where(word, len(grammar.tags), len(grammar.rules))
        refuse_rows("trees", known, "a rule or a tag that there is not.", layout)
        refuse_rows("trees", step < len(grammar.steps), "a step that there is not.", layout)
        lengths = self.lengths[self.kept]
        own_rule = np.full(len(rule), -1)
        own_rule[~word] = np.argsort(grammar.rule_order)[rule[~word]]
        own_step = np.argsort(grammar.step_order)[step]
        uses = Uses(ends_of(rows_of(lengths)), begin, end, split, own_step, own_rule)
        for what, wrong in faults(self.grammar.numbered, lengths, uses, rule).items():
            refuse_rows("trees", ~wrong, what, layout)
        encoded = self.encoded
        assert isinstance(encoded, EncodedDerivations)
        tags = np.zeros(int(encoded.offsets[-1]), np.int32)
        tags[encoded.offsets[uses.sentence[word]] + begin[word]] = rule[word]
        encoded = replace(encoded, gold=tags, uses=uses)
        return Gold(self, encoded, self.graph.targets(encoded, self.structure))

    def draw(
        self,
        scores: Parts,
        k: int,
        marginals: Callable[[Parts], Parts],
        best: Callable[[Parts], Parts],
        generator: np.random.Generator,
    ) -> Parts:
        """See `structopt.core.parts.batch.Batch.draw`; from the root down."""
        if self.structure.kind != FOREST:
            scores = forest_scores(scores, self.forest)
        z = marginals(scores)
        trees = drawn_trees(scores.batch, self.grammar.numbered, z, k, generator)
        copies = self.repeated(k)
        assert isinstance(copies, GrammarBatch)
        return copies.gold(trees).parts

    @cached_property
    def forest(self) -> GrammarBatch:
        """The same sentences, with a part for each use of a rule at its place."""
        return replace(self, positional=True)

    def views(self, outputs: SparseVectors) -> dict[str, Array]:
        """Return the derivations."""
        encoded, grammar = self.encoded, self.grammar
        assert isinstance(encoded, EncodedDerivations)
        table = derivations(encoded, self.grammar.numbered, self.structure, outputs)
        longer, known = table[:, SPLIT] > 0, table[:, STEP] >= 0
        table[longer, RULE] = grammar.rule_order[table[longer, RULE]]
        table[known, STEP] = grammar.step_order[table[known, STEP]]
        return {"derivations": table}


def batch_of_trees(graph: FactorGraph, sizes: Sizes, options: Mapping[str, Any]) -> GrammarBatch:
    """Return a batch of sentences of a graph that has the rules of the options."""
    offsets, tags = sizes.offsets, tuple(options["tags"])
    words = int(offsets[-1])
    # one attribute that all words have, by which forests tie the scores of tags
    ones = AttributeTable(np.arange(words + 1), np.zeros(words, np.int32), None, 1)
    encoded = EncodedDerivations(
        offsets,
        {"label": ones},
        tags,
        allowed=np.ones((words, len(tags)), bool),
        categories=GivenRules.of(**options).numbered.categories,
    )
    return GrammarBatch(graph, encoded, sizes, options, _layouts)


def _layouts(batch: GrammarBatch) -> dict[str, GroupLayout]:
    """Return the layouts of the groups of charts or of forests."""
    structure, sizes, grammar = batch.structure, batch.sizes, batch.grammar
    groups = {group.name: group for group in structure.groups}
    lengths = sizes.lengths[sizes.kept]
    layouts = dict[str, GroupLayout]()
    for name in ("rule", "step"):
        if name in groups:
            tied = tied_layout(structure, groups[name], sizes, (groups[name].width,))
            order = batch.graph.configuration_order(name, **batch.options)
            layouts[name] = replace(tied, order=order)
    if "label" in groups:
        columns = sizes.columns[:, None]
        places = Positions(
            numbers_within(lengths)[:, None], columns, lengths[:, None], (sizes.width,)
        )
        cells = (len(grammar.tags),)
        layouts["label"] = layout_of(structure, groups["label"], sizes, cells, places)
    if "edge" in groups:
        edges = _edges(batch)
        layouts["edge"] = counted_layout(structure, groups["edge"], sizes, (), edges)
    begin, end, above, symbol = _nodes(batch)
    first = np.repeat(ends_of(lengths)[:-1], np.diff(groups["node"].offsets))
    padded = sizes.columns[first + begin], sizes.columns[first + end - 1] + 1
    fixed = np.broadcast_to([2, len(grammar.symbols)], (len(lengths), 2))
    places = Positions(
        np.stack([begin, end, above, symbol], axis=1),
        np.stack([*padded, above, symbol], axis=1),
        np.concatenate([lengths[:, None], lengths[:, None] + 1, fixed], axis=1),
        (sizes.width, sizes.width + 1, 2, len(grammar.symbols)),
    )
    layouts["node"] = layout_of(structure, groups["node"], sizes, (), places)
    return layouts


def _edges(batch: GrammarBatch) -> Array:
    """Return begin, end, split and number of each edge: split 0 is a step, -1 a tag."""
    grammar, rows = batch.grammar, [np.zeros((0, 4), np.int64)]
    for edges, vertices in forests.sentences(batch.structure):
        split = edges.split.astype(np.int64)
        number = edges.number.astype(np.int64)
        step, tag = split == forests.STEP, split == forests.TAG
        rule = ~step & ~tag
        number[rule] = grammar.rule_order[number[rule]]
        number[step] = grammar.step_order[number[step]]
        number[tag] -= batch.grammar.numbered.first_tag
        words = vertices.begin[edges.head], vertices.end[edges.head]
        rows.append(np.stack([*words, split, number], axis=1).astype(np.int64))
    return np.concatenate(rows)


def _nodes(batch: GrammarBatch) -> tuple[Array, ...]:
    """Return begin, end, layer (0: below the step, 1: above) and symbol of each node."""
    encoded = batch.encoded
    assert isinstance(encoded, EncodedDerivations)
    if batch.structure.kind == FOREST:
        columns = [np.zeros((4, 0), np.int64)]
        for _, vertices in forests.sentences(batch.structure):
            own = vertices.begin, vertices.end, vertices.above, vertices.symbol
            columns.append(np.stack(own).astype(np.int64))
        return tuple(np.concatenate(columns, axis=1))
    cells = cells_of(encoded, batch.grammar.numbered)
    span = np.repeat(np.arange(len(cells.lists)), cells.sizes)
    within, lists = numbers_within(cells.sizes), cells.lists[span]
    begin, end = ends_of_spans(encoded.offsets)
    symbol = cells.symbols[cells.starts[lists] + within].astype(np.int64)
    return begin[span], end[span], (within >= cells.bottoms[lists]).astype(np.int64), symbol
