"""All outputs of one graph of variables and factors, listed; the private parts follow each factor's own rule."""

from __future__ import annotations

from itertools import pairwise, product
from math import prod

import numpy as np

from structopt.core.structure_kind import check_count
from structopt.kernels.factors import (
    AUTOMATON,
    BUDGET,
    EXACTLY_ONE,
    FACTORS,
    PAIRS,
    TABLE,
    TREE,
    Factors,
    private_start,
)
from structopt.kernels.record import Array, Record


def factor_vertices(structure: Record, i: int, parts: int, most: int) -> Array:
    """Part vectors of all outputs of instance i that the factors allow."""
    f = FACTORS.open(structure)
    shared = _variable_parts(f, i, most)
    private = np.zeros((len(shared), parts - shared.shape[1]))
    allowed = np.ones(len(shared), bool)
    for factor in range(f.factors[i], f.factors[i + 1]):
        first = private_start.py_func(f, i, factor) - f.shared[i]
        width = int(f.privates[factor + 1] - f.privates[factor])
        for row, x in enumerate(shared):
            allowed[row] &= _extend(f, i, factor, x, private[row, first : first + width])
    return np.asarray(np.hstack([shared, private])[allowed])


def _variable_parts(f: Factors, i: int, most: int) -> Array:
    """Indicators of all configurations of the variables; where a TREE covers them all, one head for every token."""
    widths = f.widths[f.variables[i] : f.variables[i + 1]]
    for factor in range(f.factors[i], f.factors[i + 1]):
        links = f.linked[f.links[factor] : f.links[factor + 1]]
        if f.kinds[factor] == TREE and len(set(links.tolist())) == len(widths):
            n, modifiers = _tree(f, factor)[0], _tree(f, factor)[2]
            groups = [links[modifiers == m] for m in range(n)]
            check_count(i, prod(map(len, groups)), "choices of heads", most)
            rows = [np.concatenate([np.zeros(0, int), *chosen]) for chosen in product(*(g[:, None] for g in groups))]
            parts = np.zeros((len(rows), len(widths)))
            for x, row in zip(parts, rows, strict=True):
                x[row] = 1.0
            return parts
    check_count(i, prod(float(max(w, 2)) for w in widths), "joint states", most)
    states = [np.array([[0.0], [1.0]]) if w == 1 else np.eye(w) for w in widths]
    return np.array([np.concatenate([np.zeros(0), *chosen]) for chosen in product(*states)])


def _tree(f: Factors, factor: int) -> tuple[int, tuple[bool, bool], Array, Array]:
    extra = f.extra[f.extras[factor] : f.extras[factor + 1]]
    return int(extra[0]), (bool(extra[1]), bool(extra[2])), extra[3::2], extra[4::2]


def _extend(f: Factors, i: int, factor: int, x: Array, private: Array) -> bool:
    """Write the private parts of a factor, given those of the variables; whether it allows them."""
    linked, kind = f.linked[f.links[factor] : f.links[factor + 1]], int(f.kinds[factor])
    starts = f.starts[f.variables[i] + linked]
    on = x[starts] > 0
    if kind == TREE:
        n, (single_root, projective), modifiers, heads = _tree(f, factor)
        return bool(on.sum() == n) and _is_tree(dict(zip(modifiers[on], heads[on], strict=True)), n, single_root, projective)
    if kind == AUTOMATON:
        path = [0, *(np.flatnonzero(on) + 1), len(on) + 1]
        numbers: dict[tuple[int, int], int] = {}
        for a in range(len(on) + 1):
            for b in range(a + 1, len(on) + 2):
                numbers[a, b] = len(numbers)
        private[[numbers[pair] for pair in pairwise(path)]] = 1.0
    elif kind == PAIRS:
        private[:] = on[0::2] & on[1::2]
    elif kind == TABLE:
        K, width = f.widths[f.variables[i] + linked]
        private[:] = np.outer(x[starts[0] : starts[0] + K], x[starts[1] : starts[1] + width]).ravel()
    elif kind == EXACTLY_ONE:
        return bool(on.sum() == 1)
    elif kind == BUDGET:
        return bool(on.sum() <= f.extra[f.extras[factor]])
    return True


def _is_tree(heads: dict[int, int], n: int, single_root: bool, projective: bool) -> bool:
    roots = sum(m == h for m, h in heads.items())
    if len(heads) < n or roots < 1 or (single_root and roots > 1):
        return False
    for m in range(n):
        climbed = 0
        while heads[m] != m and climbed <= n:
            m, climbed = heads[m], climbed + 1
        if climbed > n:
            return False
    spans = [(min(m, h), max(m, h)) if m != h else (-1, m) for m, h in heads.items()]
    return not projective or not any(a < c < b < d for a, b in spans for c, d in spans)
