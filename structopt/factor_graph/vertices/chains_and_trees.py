"""All outputs of chains, independent variables and trees, listed: slow, obvious, and what every
inference is compared with.
"""

from __future__ import annotations

from itertools import pairwise, product
from math import inf, prod

import numpy as np

from structopt.core.structure_kind import check_count
from structopt.kernels.waist.record import Array, Record


def chain_vertices(structure: Record, i: int, parts: int, most: int) -> Array:
    """Part vectors of all labellings of chain i that the hard constraints allow."""
    from structopt.kernels.chain.constraints import constrain
    from structopt.kernels.chain.ngram_parts import mark
    from structopt.kernels.chain.record import CHAIN

    c = CHAIN.open(structure)
    n, L = int(c.tokens[i + 1] - c.tokens[i]), c.labels
    check_count(i, float(L) ** n, f"outputs ({L}^{n})", most)
    s = np.zeros(parts)
    constrain.py_func(c, i, n, s)
    labellings = np.array(list(product(range(L), repeat=n)), dtype=np.int32)
    vertices = np.zeros((len(labellings), parts))
    for y, vertex in zip(labellings, vertices, strict=True):
        for t in range(n):
            history = sum(int(y[t - d]) * L ** (d - 1) for d in range(1, min(t, c.order) + 1))
            mark.py_func(c, n, t, history, int(y[t]), vertex, 1.0)
    return np.asarray(vertices[~(vertices[:, s == -inf] != 0).any(axis=1)])


def single_vertices(_structure: Record, i: int, parts: int, most: int) -> Array:
    """Indicators of all labels of a single variable."""
    check_count(i, parts, "labels", most)
    return np.eye(parts)


def independent_vertices(structure: Record, i: int, parts: int, most: int) -> Array:
    """Part vectors of all configurations of the variables of instance i, which no factor joins."""
    from structopt.kernels.independent.record import INDEPENDENT

    x = INDEPENDENT.open(structure)
    begin, end = x.variables[i : i + 2].tolist()
    bounds = (x.parts[begin : end + 1] - x.parts[begin]).tolist()
    check_count(i, prod(float(b - a) for a, b in pairwise(bounds)), "outputs", most)
    chosen = np.array(list(product(*(range(a, b) for a, b in pairwise(bounds)))), np.int64)
    vertices = np.zeros((len(chosen), parts))
    vertices[np.arange(len(chosen))[:, None], chosen] = 1.0
    return vertices


def tree_vertices(
    structure: Record, i: int, parts: int, most: int, projective: bool = False
) -> Array:
    """Part vectors of all trees that the candidate arcs of sentence i make, with all labels."""
    from structopt.kernels.trees.arcs import ARCS

    a = ARCS.open(structure)
    arcs = a.arcs[a.tokens[i] : a.tokens[i + 1] + 1]
    check_count(i, prod(np.diff(arcs).tolist()), "choices of heads", most)
    chosen = np.array(list(product(*(range(int(count)) for count in np.diff(arcs)))), np.int32)
    heads = a.heads[arcs[:-1] + chosen].astype(np.int64)
    chosen = chosen[_are_trees(heads, a.single_root) & (not projective or _are_planar(heads))]
    n, L = chosen.shape[1], max(a.labels, 1)
    check_count(i, len(chosen) * L**n, "outputs", most)
    labels = np.array(list(product(range(L), repeat=n)), np.int32)
    choices = (chosen[:, None, :] * L + labels).reshape(-1, n)
    vertices = np.zeros((len(choices), parts))
    rows, before = np.arange(len(choices))[:, None], arcs[:-1] - arcs[0]
    vertices[rows, (arcs[-1] - arcs[0]) * a.labels + before + choices // L] = 1.0
    if a.labels:
        vertices[rows, before * L + choices] = 1.0
    return vertices


def _are_trees(heads: Array, single_root: bool) -> Array:
    """Which rows of heads (own position: the root) are trees: from every token the root is
    reached.
    """
    own = np.arange(heads.shape[1])
    reached = heads
    for _ in own:
        reached = np.take_along_axis(reached, reached, axis=1)
    rooted = (np.take_along_axis(heads, reached, axis=1) == reached).all(axis=1)
    return np.asarray(rooted & ((heads == own).sum(axis=1) == 1) if single_root else rooted)


def _are_planar(heads: Array) -> Array:
    """In which rows no two arcs cross, the root standing left of the sentence."""
    own = np.arange(heads.shape[1])
    ends = np.where(heads == own, -1, heads)
    low, high = np.minimum(ends, own), np.maximum(ends, own)
    crossing = np.zeros(len(heads), bool)
    for m, k in product(own, own):
        crossing |= (low[:, m] < low[:, k]) & (low[:, k] < high[:, m]) & (high[:, m] < high[:, k])
    return ~crossing
