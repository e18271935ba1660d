"""Packed forests: the charts of a grammar as structures in which every use of a rule has a part of
its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np

from structopt.core.data.constituents import Bracketings
from structopt.core.data.encoded import EncodedConstituents
from structopt.core.data.sparse_vectors import SparseVectors
from structopt.core.data.structure import PartGroup, Structure, part_offsets
from structopt.core.factor_graph import Calculus, Nearest
from structopt.core.parts.ragged import ends_of, numbers
from structopt.core.storage.record_frame import RecordFrame
from structopt.factor_graph.grammar import readings
from structopt.factor_graph.grammar.charts import Cells, ends_of_spans
from structopt.factor_graph.grammar.constituents import Uses, by_span
from structopt.factor_graph.grammar.rules import Rules
from structopt.factor_graph.kinds import FOREST
from structopt.kernels.waist.record import Array

STEP, TAG = 0, -1
"""The splits of edges that are no rules (`structopt.kernels.forest.record.Listing`)."""


class Edges(NamedTuple):
    """The edges of a sentence: the vertex above, number of the rule, of the step or of the tag's
    symbol, and split.
    """

    head: Array
    number: Array
    split: Array


class Vertices(NamedTuple):
    """The vertices of a sentence: symbol, first word, the word after the last, and whether it
    stands above the step.
    """

    symbol: Array
    begin: Array
    end: Array
    above: Array


def forest_structure(trees: EncodedConstituents, rules: Rules, cells: Cells) -> Structure:
    """Lay out the forests of every sentence: parts ``edge``, a use of a rule, a step or a tag at
    its place, and ``node``.
    """
    from structopt.kernels.forest.edges import find_useful
    from structopt.kernels.forest.forest import scratch

    order, frame = _order_of_spans(trees, cells), _frame(rules)
    sizes, bottoms = cells.sizes, cells.bottoms[cells.lists]
    within = numbers(ends_of(sizes[order]))
    symbol = cells.symbols[np.repeat(cells.starts[cells.lists[order]], sizes[order]) + within]
    places = {"tokens": trees.offsets, "spans": cells.spans}
    edges, used = np.zeros(len(trees) + 1, np.int64), np.zeros(len(symbol), bool)
    every = frame.pack(
        **places, **_placed(cells.spans, order, sizes, bottoms), symbol=symbol, edges=edges
    )
    find_useful(every, edges, used)
    span = np.repeat(order, sizes[order])[used]
    sizes = np.bincount(span, minlength=len(sizes))
    bottoms = np.bincount(span[within[used] < bottoms[span]], minlength=len(sizes))
    placed = _placed(cells.spans, order, sizes, bottoms)
    record = frame.pack(**places, **placed, symbol=symbol[used], edges=edges)
    groups = PartGroup("edge", 1, edges), PartGroup("node", 1, placed["vertices"], scored=False)
    parts = part_offsets(groups)
    return Structure(
        record=record,
        groups=groups,
        parts=parts,
        kind=FOREST,
        memory=np.zeros(len(trees) + 1, np.int64),
        work=scratch(
            *(int(np.diff(offsets).max(initial=0)) for offsets in (parts, placed["vertices"]))
        ),
        # n tags, n - 1 rules, 2 n - 1 steps, 4 n - 2 nodes
        active=8 * int(np.diff(trees.offsets).max(initial=1)),
    )


def forest_calculus() -> Calculus:
    """Load the closed forms of the marginals of forests."""
    from structopt.kernels.forest import forest

    return Calculus(forest.entropy, forest.slope, forest.conditionals)


def parts_of_trees(
    structure: Structure, trees: EncodedConstituents, rules: Rules, uses: Uses
) -> Array:
    """The parts of the gold trees: of each span the edge below its bottom, the bottom, the step's
    edge, and the top.

    int32, shape (spans, 4), in the order of the uses; numbers among the parts of the sentence, -1
    for what forests do not have.
    """
    from structopt.kernels.forest.edges import find_parts

    bottom, top = rules.ends(uses, trees)
    word = uses.split == 0
    columns = (
        uses.begin,
        uses.end,
        np.where(word, TAG, uses.split),
        np.where(word, bottom, uses.rule),
        bottom,
        uses.step,
        top,
    )
    parts = np.full((len(word), 4), -1, np.int32)
    find_parts(structure.record, uses.offsets, np.stack(columns, axis=1).astype(np.int64), parts)
    return parts


def gold_parts(
    structure: Structure, trees: EncodedConstituents, rules: Rules, uses: Uses
) -> SparseVectors:
    """The gold edges and vertices."""
    parts = parts_of_trees(structure, trees, rules, uses)
    assert (parts >= 0).all(), "a gold rule is no candidate"
    return SparseVectors.of_parts(np.repeat(uses.sentence, 4), parts.ravel(), len(structure))


def cost_of_parts(
    structure: Structure,
    trees: EncodedConstituents,
    rules: Rules,
    uses: Uses,
    weights: Array,
    nodes: bool,
) -> SparseVectors:
    """Costs of missing gold rules and steps, given in the order of the uses, the step of a span
    before its rule.

    Of nodes, in the order of the numbers of spans, the node below the step before the one above.
    """
    parts, order = parts_of_trees(structure, trees, rules, uses), by_span(uses)
    chosen = (
        parts[order][:, [1, 3]]
        if nodes
        else np.stack([parts[:, 2], np.where(uses.split > 0, parts[:, 0], -1)], axis=1)
    )
    sentence, counted = (uses.sentence[order] if nodes else uses.sentence), chosen >= 0
    owner = np.repeat(sentence, counted.sum(axis=1))
    offsets = np.searchsorted(owner, np.arange(len(structure) + 1)).astype(np.int64)
    return SparseVectors(offsets, chosen[counted].astype(np.int32), -weights)


def bracketings(
    structure: Structure, trees: EncodedConstituents, rules: Rules, outputs: SparseVectors
) -> Bracketings:
    """The constituents of outputs, read off their edges."""
    first, categories = rules.chain_categories
    counts, rows, of_words = (
        [0],
        [np.zeros((0, 3), np.int64)],
        np.full(int(trees.offsets[-1]), -1, np.int32),
    )
    for i, (edges, vertices) in enumerate(sentences(structure)):
        chosen = outputs.parts[outputs.offsets[i] : outputs.offsets[i + 1]]
        chosen = chosen[chosen < len(edges.head)]
        head, number, split = (column[chosen] for column in edges)
        of_words[trees.offsets[i] + vertices.begin[head[split == TAG]]] = (
            number[split == TAG] - rules.first_tag
        )
        step, span = number[split == STEP], head[split == STEP]
        order = np.lexsort((-vertices.end[span], vertices.begin[span]))
        step, span = step[order], span[order]
        labels = np.diff(first)[step]
        index = np.repeat(first[step], labels) + numbers(ends_of(labels))
        ends = (np.repeat(column[span], labels) for column in (vertices.begin, vertices.end))
        rows.append(np.stack([categories[index], *ends], axis=1))
        counts.append(len(index))
    return Bracketings(
        np.cumsum(counts).astype(np.int64), np.concatenate(rows).astype(np.int32), of_words
    )


def probable_constituents(
    structure: Structure, rules: Rules, marginals: list[Array]
) -> list[Array]:
    """See `readings.probable_constituents`."""
    from structopt.kernels.forest.record import FORESTS

    symbol, offsets = FORESTS.open(structure.record).symbol, structure.spans("node")[1]
    tables = []
    for i, values in enumerate(marginals):
        vertices = _vertices(structure, i, symbol[offsets[i] : offsets[i + 1]])
        category = rules.category[vertices.symbol]
        tables.append(
            readings.listed(category, vertices.begin, vertices.end, vertices.above, values)
        )
    return tables


def nearest(
    structure: Structure, trees: EncodedConstituents, rules: Rules, uses: Uses
) -> Nearest | None:
    """Scores by which gold constituents are better than none, and others worse; and which gold
    trees the forests have.

    As `readings.scores_of_gold` has them.
    """
    assert trees.constituents is not None
    further, (starts, gold) = readings.further_labels(rules), trees.constituents
    offsets, parts, values = [0], [np.zeros(0, np.int64)], [np.zeros(0)]
    for i, (edges, vertices) in enumerate(sentences(structure)):
        right = {tuple(row) for row in gold[starts[i] : starts[i + 1]].tolist()}
        category = rules.category[vertices.symbol]
        rows = zip(category.tolist(), vertices.begin.tolist(), vertices.end.tolist(), strict=True)
        signs = np.array([1.0 if row in right else -1.0 for row in rows])
        step = np.flatnonzero(edges.split == STEP)
        step = step[further[edges.number[step]] > 0]
        labelled = np.flatnonzero(category >= 0)
        parts += [step, len(edges.head) + labelled]
        values += [further[edges.number[step]], signs[labelled]]
        offsets.append(len(step) + len(labelled))
    scores = SparseVectors(
        np.cumsum(offsets).astype(np.int64),
        np.concatenate(parts).astype(np.int32),
        np.concatenate(values),
    )
    lacking = (parts_of_trees(structure, trees, rules, uses) < 0).any(axis=1)
    return Nearest(
        scores, uses.known & (np.bincount(uses.sentence[lacking], minlength=len(trees)) == 0)
    )


def sentences(structure: Structure) -> Iterator[tuple[Edges, Vertices]]:
    """The edges and vertices of every sentence."""
    from structopt.kernels.forest.edges import write_edges
    from structopt.kernels.forest.record import FORESTS

    sizes, offsets = np.diff(structure.spans("edge")[1]), structure.spans("node")[1]
    symbol = FORESTS.open(structure.record).symbol
    for i, size in enumerate(sizes.tolist()):
        edges = Edges(*(np.empty(size, np.int32) for _ in range(3)))
        write_edges(structure.record, i, *edges)
        yield edges, _vertices(structure, i, symbol[offsets[i] : offsets[i + 1]])


def _vertices(structure: Structure, i: int, symbol: Array) -> Vertices:
    from structopt.kernels.forest.edges import write_vertices

    begin, end = (np.empty(len(symbol), np.int32) for _ in range(2))
    vertices = Vertices(symbol, begin, end, np.empty(len(symbol), bool))
    write_vertices(structure.record, i, *vertices[1:])
    return vertices


def _order_of_spans(trees: EncodedConstituents, cells: Cells) -> Array:
    """The spans, sentence by sentence, in an order in which all stand after those within them."""
    begin, end = ends_of_spans(trees.offsets)
    sentence = np.repeat(np.arange(len(trees)), np.diff(cells.spans))
    return np.lexsort((end, -begin, sentence))


def _placed(spans: Array, order: Array, sizes: Array, bottoms: Array) -> dict[str, Array]:
    """Where the vertices of sentences and of their spans are, given their number at each span."""
    first, ends = np.empty(len(sizes), np.int64), ends_of(sizes[order])
    first[order] = ends[:-1]
    vertices = ends[spans]  # the spans of a sentence stay together
    first -= np.repeat(vertices[:-1], np.diff(spans))
    return {"first": first, "bottoms": bottoms, "tops": sizes - bottoms, "vertices": vertices}


def _frame(rules: Rules) -> RecordFrame:
    """Return the fields of the record that depend on the grammar only."""
    from structopt.kernels.forest.record import FORESTS

    if FOREST.name not in rules.frames:
        rules.frames[FOREST.name] = RecordFrame(FORESTS, {"root": 0, **_indexed(rules)})
    return rules.frames[FOREST.name]


def _indexed(rules: Rules) -> dict[str, Any]:
    """The rules by the pairs of symbols below them, the steps by their bottoms, and their names."""
    N, binary = len(rules.symbols), rules.binary.astype(np.int64)
    found, first = np.unique(binary[:, 0] * N + binary[:, 1], return_index=True)
    pairs = np.full(N * N, -1, np.int32)
    pairs[found] = np.arange(len(found))
    bits = np.left_shift(np.int64(1), binary[:, 2] % 64)
    parents = np.bitwise_or.reduceat(bits, first) if len(binary) else bits
    names = [
        " ".join(rules.symbols[k] for k in (above, left, right))
        for left, right, above in binary.tolist()
    ]
    return {
        "symbols": N,
        "pairs": pairs,
        "pair_rules": np.append(first, len(binary)),
        "parent": binary[:, 2],
        "parents": parents,
        "bottom_steps": np.searchsorted(rules.bottoms, np.arange(N + 1)),
        "step_top": rules.tops,
        "symbol_names": _hashes(rules.symbols),
        "rule_names": _hashes(names),
        "step_names": _hashes([" ".join(("", *chain)) for chain in rules.chains]),
    }


def _hashes(names: Any) -> Array:
    """64 bits of each name, the same in every process."""
    digests = (blake2b(name.encode(), digest_size=8).digest() for name in names)
    return np.array([int.from_bytes(digest, "little", signed=True) for digest in digests], np.int64)
