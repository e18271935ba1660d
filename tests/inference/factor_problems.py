"""Small random factor graphs for the inferences over them: second-order parsing shapes, pairwise
tables, hard constraints.
"""

from __future__ import annotations

import numpy as np

from structopt.core.data.structure import PartGroup, Structure, part_offsets
from structopt.factor_graph import kinds
from structopt.factor_graph.factor_rows import FactorRows, pack_factors
from structopt.kernels.loopy.factors import AUTOMATON, BUDGET, EXACTLY_ONE, PAIRS, TABLE, TREE


def tree_rows(
    n, single_root=True, projective=False, automata=True, pairs=True, density=1.0, seed=0
):
    """A sentence of n tokens: candidate arcs, TREE, an AUTOMATON for each head and side, a PAIRS
    row of grandparents.

    `density` is the share of arcs that are candidates; those of the chain (each token hangs on the
    one before) always are. `pairs` may be a number: that many pairs, drawn at random.
    """
    generator = np.random.default_rng([seed, n, single_root])
    arcs = [
        (m, h)
        for m in range(n)
        for h in range(n)
        if h == m - 1 or (m == h == 0) or generator.random() < density
    ]
    number = {arc: v for v, arc in enumerate(arcs)}
    rows = FactorRows(np.ones(len(arcs), np.int64))
    rows.add(
        TREE,
        np.arange(len(arcs)),
        0,
        np.array([n, single_root, projective, *(x for arc in arcs for x in arc)]),
    )
    if automata:
        for h in [-1, *range(n)]:
            for side in (range(h - 1, -1, -1), range(h + 1, n)):
                linked = [
                    number[m, h if h >= 0 else m] for m in side if (m, h if h >= 0 else m) in number
                ]
                if linked:
                    rows.add(AUTOMATON, linked, (len(linked) + 1) * (len(linked) + 2) // 2)
    if pairs:
        chosen = [
            (number[h, g], v)
            for (m, h), v in number.items()
            if h != m
            for g in range(n)
            if g != m and (h, g) in number
        ]
        if pairs is not True:
            chosen = [chosen[j] for j in sorted(generator.permutation(len(chosen))[: int(pairs)])]
        if chosen:
            rows.add(PAIRS, np.ravel(chosen), len(chosen))
    return rows


def table_rows(widths, edges):
    """Variables of the given widths (each more than 1), and a TABLE for every edge."""
    rows = FactorRows(np.asarray(widths))
    for u, v in edges:
        rows.add(TABLE, [u, v], widths[u] * widths[v])
    return rows


def binary_rows(count, budgets=(), ones=(), pairs=(), automata=()):
    """Binary variables with BUDGET factors (limit, variables), EXACTLY_ONE factors, PAIRS and
    AUTOMATON factors.
    """
    rows = FactorRows(np.ones(count, np.int64))
    for limit, linked in budgets:
        rows.add(BUDGET, linked, 0, [limit])
    for linked in ones:
        rows.add(EXACTLY_ONE, linked)
    if len(pairs):
        rows.add(PAIRS, np.ravel(pairs), len(pairs))
    for linked in automata:
        rows.add(AUTOMATON, linked, (len(linked) + 1) * (len(linked) + 2) // 2)
    return rows


def summary_rows(lengths, budget, holders):
    """Sentences of these lengths within a budget, and a COVERAGE factor, with two bigrams, for
    every set of sentences that have the same bigrams.
    """
    rows = FactorRows(np.ones(len(lengths), np.int64))
    for sentences in holders:
        rows.add("coverage", sentences, privates=2)
    rows.add("length_budget", np.arange(len(lengths)), extra=np.array([budget, *lengths]))
    return rows


def factor_structure(rows):
    """The structure of kind ``factors`` of some instances: one part group for the variables, one
    for the private parts.
    """
    shared = np.cumsum([0, *(int(np.sum(row.widths)) for row in rows)]).astype(np.int64)
    private = np.cumsum([0, *(sum(row.privates) for row in rows)]).astype(np.int64)
    groups = (PartGroup("variable", 1, shared), PartGroup("private", 1, private))
    return Structure(
        pack_factors(rows),
        groups,
        part_offsets(groups),
        kinds.LOOPY,
        np.zeros(len(rows) + 1, np.int64),
    )


def arc_bounds(row):
    """Where the arcs of each token begin among those of a graph with a TREE factor, and where the
    last token's end.
    """
    n, _, _, *arcs = row.extras[row.kinds.index(TREE)].tolist()
    return np.searchsorted(arcs[::2], np.arange(n + 1)).tolist()


def beside_a_tree(rows):
    """Two more binary variables; a pair of one with the arc 1, and an automaton of the other and
    the arc 4.
    """
    count = len(rows.widths)
    more = FactorRows(
        np.ones(count + 2, np.int64), rows.kinds, rows.links, rows.privates, rows.extras
    )
    more.add(PAIRS, [count, 1], 1)
    more.add(AUTOMATON, [4, count + 1], 6)
    return more


def chain_edges(count):
    return [(v, v + 1) for v in range(count - 1)]


def complete_edges(count):
    return [(u, v) for u in range(count) for v in range(u + 1, count)]


ACYCLIC = {
    "tree": tree_rows(4, automata=False, pairs=False),
    "several_roots": tree_rows(3, single_root=False, automata=False, pairs=False),
    "projective": tree_rows(4, projective=True, automata=False, pairs=False),
    "tree_and_more": beside_a_tree(tree_rows(3, automata=False, pairs=False, density=0.6)),
    "chain": table_rows([2, 3, 2, 4], chain_edges(4)),
    "star": table_rows([3, 2, 2, 3], [(0, 1), (2, 0), (0, 3)]),
    "lonely": table_rows([2, 3], []),
    "automaton": binary_rows(4, automata=[[2, 0, 1, 3]]),
    "pairs": binary_rows(4, pairs=[(0, 1), (2, 1), (3, 2)]),
    "budget": binary_rows(5, budgets=[(2, [4, 0, 1, 3])], pairs=[(0, 2)]),
    "exactly_one": binary_rows(5, ones=[[0, 3, 1], [1, 4]], pairs=[(2, 3)]),
    "own_bigrams": summary_rows([3, 2, 0, 4, 9], 6, [[0], [2], [3], [4]]),
}
"""Graphs without cycles, on which belief propagation is exact."""

LOOPY = {
    "siblings": tree_rows(3, pairs=False),
    "grandparents": tree_rows(4, automata=False),
    "second_order": tree_rows(4),
    "sparse_second_order": tree_rows(4, density=0.6, seed=1),
    "projective_second_order": tree_rows(4, projective=True, single_root=False),
    "cycle": table_rows([3, 3, 3], complete_edges(3)),
    "complete": table_rows([2, 2, 3, 2, 2], complete_edges(5)),
    "constrained": binary_rows(
        6,
        budgets=[(2, [0, 1, 2, 3])],
        ones=[[3, 4, 5], [0, 5]],
        pairs=[(0, 1), (1, 4), (2, 5), (0, 4)],
    ),
    "summary": summary_rows([3, 2, 4, 1, 5], 8, [[0], [0, 2], [1, 2, 3], [2, 4]]),
}


def random_scores(rows, seed=0, scale=1.0, own=1.0):
    """Normal scores of all parts of an instance; those of the private parts scaled by `scale *
    own`.
    """
    generator, shared = np.random.default_rng(seed), int(np.sum(rows.widths))
    private = generator.normal(size=sum(rows.privates))
    return scale * np.concatenate([generator.normal(size=shared), own * private])
