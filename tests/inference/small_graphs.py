"""Small factor graphs of every kind of factor, and all of their outputs, listed without any of the
package's algorithms.
"""

from itertools import product

import numpy as np

from structopt.core.data.structure import PartGroup, Structure
from structopt.factor_graph.factor_rows import FactorRows, pack_factors
from structopt.factor_graph.kinds import LOOPY
from structopt.kernels.loopy.factors import AUTOMATON, BUDGET, EXACTLY_ONE, PAIRS, TABLE, TREE


def structure_of(rows):
    """Make the structure of some factor graphs, one an instance."""
    parts = np.cumsum([0, *(int(np.sum(row.widths)) + sum(row.privates) for row in rows)])
    groups = (PartGroup("part", 1, parts),)
    return Structure(pack_factors(rows), groups, parts, LOOPY, np.zeros(len(rows) + 1, np.int64))


def binary(count):
    return FactorRows(np.ones(count, np.int32))


def tree(
    n, single_root=False, projective=False, siblings=False, pairs=0, generator=None, candidates=None
):
    """Candidate arcs of n tokens with a TREE factor; consecutive siblings as AUTOMATON factors;
    random PAIRS.
    """
    arcs = [(m, h) for m in range(n) for h in range(n) if candidates is None or candidates[m, h]]
    row = binary(len(arcs))
    row.add(TREE, np.arange(len(arcs)), extra=[n, single_root, projective, *np.ravel(arcs)])
    if siblings:
        for h in range(n):
            for side in ([m for m in range(h - 1, -1, -1)], [m for m in range(h + 1, n)]):
                automaton(row, [arcs.index((m, h)) for m in side if (m, h) in arcs])
    if pairs:
        row.add(
            PAIRS,
            [a for _ in range(pairs) for a in generator.choice(len(arcs), 2, replace=False)],
            pairs,
        )
    return row


def automaton(row, linked):
    k = len(linked)
    if k:
        row.add(AUTOMATON, linked, (k + 1) * (k + 2) // 2)


def mixed(generator):
    """Binary variables under an EXACTLY_ONE, two BUDGETs, an AUTOMATON and PAIRS; one is in no
    factor.
    """
    row = binary(8)
    row.add(EXACTLY_ONE, [0, 1, 2])
    row.add(BUDGET, [1, 2, 3, 4, 5], extra=[2])
    row.add(BUDGET, [0, 4, 5, 6], extra=[1])
    automaton(row, [6, 3, 4, 2])
    row.add(PAIRS, [a for _ in range(6) for a in generator.choice(7, 2, replace=False)], 6)
    return row


def complete(widths, loose=0):
    """Variables of more than one state, a TABLE for every two of them; `loose` more are in no
    factor.
    """
    row = FactorRows(np.array([*widths, *[3] * loose], np.int32))
    for b in range(len(widths)):
        for a in range(b):
            row.add(TABLE, [a, b], widths[a] * widths[b])
    return row


def random_rows(seed=0):
    """Make one graph of every shape."""
    generator = np.random.default_rng(seed)
    candidates = generator.random((4, 4)) < 0.6
    candidates[np.arange(4), np.arange(4)] = True
    return [
        mixed(generator),
        complete([2, 2, 2, 2, 2]),
        complete([3, 2, 4, 3], loose=1),
        tree(4, siblings=True),
        tree(3, single_root=True, siblings=True, pairs=12, generator=generator),
        tree(4, single_root=True, projective=True, siblings=True, pairs=15, generator=generator),
        tree(4, candidates=candidates, siblings=True, pairs=5, generator=generator),
    ]


def outputs(row):
    """List the part vectors of all outputs, shape (outputs, parts)."""
    starts = np.cumsum([0, *row.widths])
    size = starts[-1]
    vertices = []
    for shared in candidates_of(row, starts):
        parts = [shared]
        for factor in zip(row.kinds, row.links, row.privates, row.extras, strict=True):
            private = configuration(*factor, shared, starts)
            if private is None:
                break
            parts.append(private)
        else:
            vertices.append(np.concatenate(parts))
    return np.array(vertices).reshape(-1, size + sum(row.privates))


def candidates_of(row, starts):
    """Joint states of the variables: one head a token where there is a tree, else every state of
    every variable.
    """
    size = starts[-1]
    if TREE in row.kinds:
        extra = row.extras[row.kinds.index(TREE)]
        runs = [np.flatnonzero(extra[3::2] == m) for m in range(extra[0])]
        for chosen in product(*runs):
            shared = np.zeros(size)
            shared[list(chosen)] = 1.0
            yield shared
        return
    for states in product(*(range(max(2, width)) for width in row.widths)):
        shared = np.zeros(size)
        for v, y in enumerate(states):
            if row.widths[v] == 1:
                shared[starts[v]] = y
            else:
                shared[starts[v] + y] = 1.0
        yield shared


def configuration(kind, linked, privates, extra, shared, starts):
    """Private parts of a factor at a joint state; None where it forbids that."""
    on = shared[starts[linked]]
    private = np.zeros(privates)
    if kind == TREE:
        return private if is_tree(extra, on) else None
    if kind == AUTOMATON:
        path = [0, *(np.flatnonzero(on) + 1), len(on) + 1]
        before, after = np.triu_indices(len(on) + 2, 1)
        for i, j in zip(path[:-1], path[1:], strict=True):
            private[np.flatnonzero((before == i) & (after == j))] = 1.0
    elif kind == PAIRS:
        private = on[::2] * on[1::2]
    elif (kind == EXACTLY_ONE and on.sum() != 1) or (kind == BUDGET and on.sum() > extra[0]):
        return None
    elif kind == TABLE:
        a, b = (shared[starts[v] : starts[v + 1]] for v in linked)
        private = np.outer(a, b).ravel()
    return private


def is_tree(extra, on):
    """Whether the arcs that are on are a tree over the tokens, of the kind that `extra` asks
    for.
    """
    n, single_root, projective = extra[:3]
    heads = {m: h for m, h, one in zip(extra[3::2], extra[4::2], on, strict=True) if one}
    roots = sum(m == h for m, h in heads.items())
    if len(heads) < n or roots == 0 or (single_root and roots > 1):
        return False
    for m in heads:
        above = m
        for _ in range(n):
            above = heads[above]
        if heads[above] != above:
            return False
    arcs = [sorted((m + 1, 0 if h == m else h + 1)) for m, h in heads.items()]
    crossing = any(a < c < b < d for a, b in arcs for c, d in arcs)
    return not (projective and crossing)
