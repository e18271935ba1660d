"""What is read off outputs and marginals of charts: constituents; and the scores by which an output
is the nearest to gold.
"""

from __future__ import annotations

import numpy as np

from structopt.core.data.constituents import Bracketings
from structopt.core.data.encoded import EncodedConstituents
from structopt.core.data.sparse_vectors import SparseVectors
from structopt.core.data.structure import Structure
from structopt.core.parts.ragged import ends_of
from structopt.factor_graph.grammar.charts import Cells, ends_of_spans, span_number
from structopt.factor_graph.grammar.rules import Rules
from structopt.kernels.waist.record import Array

FURTHER = 0.5
"""Between 0 and 1: less than a right label, more than none."""
LEAST_PROBABILITY = 1e-3
"""Constituents that are less probable are not listed."""


def bracketings(
    trees: EncodedConstituents, rules: Rules, structure: Structure, outputs: SparseVectors
) -> Bracketings:
    """The constituents of outputs, read off their nodes."""
    sentence, begin, end, bottom, _, step = spans_of_outputs(trees, rules, structure, outputs)
    first, categories = rules.chain_categories
    counts = np.diff(first)[step]
    index = np.repeat(first[step] - ends_of(counts)[:-1], counts) + np.arange(int(counts.sum()))
    listed = np.stack([categories[index], np.repeat(begin, counts), np.repeat(end, counts)], axis=1)
    of_words = np.full(int(trees.offsets[-1]), -1, np.int32)
    words = end - begin == 1
    of_words[trees.offsets[sentence[words]] + begin[words]] = bottom[words] - rules.first_tag
    offsets = ends_of(np.bincount(np.repeat(sentence, counts), minlength=len(trees)))
    return Bracketings(offsets, listed.astype(np.int32), of_words)


def spans_of_outputs(
    trees: EncodedConstituents, rules: Rules, structure: Structure, outputs: SparseVectors
) -> tuple[Array, ...]:
    """Return the spans of outputs: sentence, begin, end, symbols below and above the step, step.

    They are ordered by sentence and first word, parents before their children. If several steps
    have the same bottom and top, the numbers of their uses say which of them the tree has; if it
    has several of these, its spans have them from left to right in the order of their numbers.
    """
    from structopt.kernels.grammar.charts import open_charts

    c = open_charts(structure.record)
    node, _ = structure.active_in("node", outputs)
    node = np.sort(node)  # bottom and top of a span become neighbours
    starts = ends_of(c.bottoms + c.tops)
    span = np.searchsorted(starts, node, side="right") - 1
    symbol = c.node_symbols[c.first[span] + node - starts[span]].astype(np.int64)
    span, bottom, top = span[::2], symbol[::2], symbol[1::2]
    sentence = np.searchsorted(c.spans, span, side="right") - 1
    begin, end = (ends[span] for ends in ends_of_spans(trees.offsets))
    order = np.lexsort((-end, begin, sentence))
    sentence, begin, end, bottom, top = (one[order] for one in (sentence, begin, end, bottom, top))
    step = steps_of_outputs(rules, structure, outputs, sentence, bottom, top)
    return sentence, begin, end, bottom, top, step


def steps_of_outputs(
    rules: Rules,
    structure: Structure,
    outputs: SparseVectors,
    sentence: Array,
    bottom: Array,
    top: Array,
) -> Array:
    """The step of every span, given its bottom and its top."""
    N = len(rules.symbols)
    keys = rules.bottoms * N + rules.tops  # ascending
    wanted = bottom * N + top
    step = np.searchsorted(keys, wanted)
    several = np.searchsorted(keys, wanted, side="right") - step > 1
    if several.any():
        used, values = structure.active_in("step", outputs)
        left = {
            (int(i), int(u)): int(k)
            for i, u, k in zip(used // len(keys), used % len(keys), values, strict=True)
        }
        for at in np.flatnonzero(several).tolist():
            step[at] = _taken(
                left,
                int(sentence[at]),
                range(int(step[at]), int(np.searchsorted(keys, wanted[at], side="right"))),
            )
    return step


def _taken(left: dict[tuple[int, int], int], sentence: int, steps: range) -> int:
    """The first of some steps of which a sentence has uses left, one less from then on; the first
    of all where it has none.
    """
    for step in steps:
        if left.get((sentence, step), 0) > 0:
            left[sentence, step] -= 1
            return step
    return steps[0]


def probable_constituents(
    rules: Rules, cells: Cells, trees: EncodedConstituents, marginals: list[Array]
) -> list[Array]:
    """The constituents of each sentence with their probabilities, given the marginals of its nodes:
    see `listed`.
    """
    begin, end = ends_of_spans(trees.offsets)
    tables = []
    for i, values in enumerate(marginals):
        spans = np.arange(cells.spans[i], cells.spans[i + 1])
        sizes = cells.sizes[spans]
        span = np.repeat(spans, sizes)
        lists = cells.lists[span]
        within = np.arange(len(span)) - np.repeat(ends_of(sizes)[:-1], sizes)
        category = rules.category[cells.symbols[cells.starts[lists] + within]]
        tables.append(
            listed(category, begin[span], end[span], within >= cells.bottoms[lists], values)
        )
    return tables


def listed(category: Array, begin: Array, end: Array, above: Array, values: Array) -> Array:
    """The constituents of a sentence with their probabilities, given the marginals of its nodes.

    That of a constituent is the larger one of the probabilities that its label stands below the
    step of its span, and above; labels within a longer chain of labels are not listed. Shape
    (constituents, 4): category, first word, the word after its last, probability; parents first.

    Parameters
    ----------
    category : int64, shape (nodes,)
        -1 for nodes that are no constituents.
    begin, end : integers, shape (nodes,)
        The words of their spans.
    above : bool, shape (nodes,)
        Whether they stand above the step.
    values : float64, shape (nodes,)
    """
    kept = (category >= 0) & (values > 0)
    places, number = np.unique(
        np.stack([category, begin, end], axis=1)[kept], axis=0, return_inverse=True
    )
    layers = [
        np.bincount(number.ravel(), values[kept] * (above[kept] == one), len(places))
        for one in (False, True)
    ]
    p = np.minimum(np.max(layers, axis=0), 1.0)
    table = np.column_stack([places, p])[p >= LEAST_PROBABILITY]
    return np.asarray(table[np.lexsort((-table[:, 3], -table[:, 2], table[:, 1]))])


def further_labels(rules: Rules) -> Array:
    """What a step counts, for the labels beyond the first on its chain, where constituents count 1:
    `FURTHER` each.
    """
    return np.asarray(FURTHER * np.maximum(np.diff(rules.chain_categories[0]) - 1, 0))


def scores_of_gold(
    trees: EncodedConstituents, rules: Rules, cells: Cells, structure: Structure
) -> SparseVectors:
    """1 for nodes whose labels are those of gold constituents at their spans, -1 for those of other
    labels.

    A span with one label has it below its step and above. So that this does not count as much as
    two labels, steps have `FURTHER` for each label beyond the first.
    """
    assert trees.constituents is not None
    starts, gold = trees.constituents
    lengths, C = np.diff(trees.offsets), len(rules.categories)
    sentence = np.repeat(np.arange(len(trees)), np.diff(starts))
    category, first, last = gold.T.astype(np.int64)
    n = lengths[sentence]
    cell = cells.spans[sentence] + span_number(n, first, last)
    right = np.unique((cell * C + category)[category >= 0])
    sizes = cells.sizes
    span = np.repeat(np.arange(len(sizes)), sizes)
    within = np.arange(len(span)) - np.repeat(ends_of(sizes)[:-1], sizes)
    of_node = rules.category[cells.symbols[cells.starts[cells.lists[span]] + within]]
    labelled = np.flatnonzero(of_node >= 0)
    keys = span[labelled] * C + of_node[labelled]
    values = np.where(np.isin(keys, right), 1.0, -1.0)
    begins, offsets = structure.spans("node")
    owner = np.searchsorted(cells.spans, span[labelled], side="right") - 1
    m, further = len(trees), further_labels(rules)
    steps = len(rules.binary) + np.arange(len(further))
    owners = np.concatenate([np.repeat(np.arange(m), len(steps)), owner])
    parts = np.concatenate([np.tile(steps, m), labelled - offsets[owner] + begins[owner]])
    order = np.argsort(owners, kind="stable")
    ends = np.searchsorted(owners[order], np.arange(m + 1)).astype(np.int64)
    return SparseVectors(
        ends, parts[order].astype(np.int32), np.concatenate([np.tile(further, m), values])[order]
    )
