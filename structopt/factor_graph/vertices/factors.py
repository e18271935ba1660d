"""All outputs of one graph of variables and factors, listed; the kind of a factor determines its
private parts.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from structopt.core.factor_kind import FactorKind
from structopt.core.factor_kind_table import kind_of
from structopt.core.structure_kind import check_count
from structopt.kernels.waist.record import Array, Record

if TYPE_CHECKING:  # compiled functions are not loaded before they are needed
    from structopt.kernels.loopy.factors import Factors


def factor_vertices(structure: Record, i: int, parts: int, most: int) -> Array:
    """Part vectors of all outputs of instance i that the factors allow."""
    from structopt.kernels.loopy.factors import FACTORS, private_start

    f = FACTORS.open(structure)
    kinds = {
        number: kind_of(number) for number in set(f.kinds[f.factors[i] : f.factors[i + 1]].tolist())
    }
    shared = _variable_parts(f, i, kinds, most)
    private = np.zeros((len(shared), parts - shared.shape[1]))
    allowed = np.ones(len(shared), bool)
    for factor in range(f.factors[i], f.factors[i + 1]):
        first = private_start.py_func(f, i, factor) - f.shared[i]
        width = int(f.privates[factor + 1] - f.privates[factor])
        kind, extra = kinds[int(f.kinds[factor])], _extra(f, factor)
        linked, widths = _linked(f, i, factor)
        outputs = zip(
            np.ascontiguousarray(shared[:, linked]), private[:, first : first + width], strict=True
        )
        allowed &= np.array([kind.extend(x, own, widths, extra) for x, own in outputs], bool)
    return np.asarray(np.hstack([shared, private])[allowed])


def _variable_parts(f: Factors, i: int, kinds: Mapping[int, FactorKind], most: int) -> Array:
    """Indicators of the joint states of the variables.

    Where a factor links all variables and has exclusive groups of them (`FactorKind.exclusive`),
    only those with one variable of each group on are listed: no others are allowed.
    """
    widths = f.widths[f.variables[i] : f.variables[i + 1]]
    for factor in range(f.factors[i], f.factors[i + 1]):
        links = f.linked[f.links[factor] : f.links[factor + 1]]
        exclusive = kinds[int(f.kinds[factor])].exclusive(_extra(f, factor))
        if exclusive is not None and len(set(links.tolist())) == len(widths):
            groups = [links[group] for group in exclusive]
            check_count(i, prod(map(len, groups)), "choices of heads", most)
            rows = [
                np.concatenate([np.zeros(0, int), *chosen])
                for chosen in product(*(g[:, None] for g in groups))
            ]
            parts = np.zeros((len(rows), len(widths)))
            for x, row in zip(parts, rows, strict=True):
                x[row] = 1.0
            return parts
    check_count(i, prod(float(max(w, 2)) for w in widths), "joint states", most)
    states = [np.array([[0.0], [1.0]]) if w == 1 else np.eye(w) for w in widths]
    return np.array([np.concatenate([np.zeros(0), *chosen]) for chosen in product(*states)])


def _linked(f: Factors, i: int, factor: int) -> tuple[Array, Array]:
    """Parts of the linked variables of a factor, one variable after the other, and the widths of
    these.
    """
    variables = f.variables[i] + f.linked[f.links[factor] : f.links[factor + 1]]
    widths = f.widths[variables].astype(np.int64)
    parts = [
        np.arange(start, start + width)
        for start, width in zip(f.starts[variables], widths, strict=True)
    ]
    return np.concatenate([np.zeros(0, np.int64), *parts]), widths


def _extra(f: Factors, factor: int) -> Array:
    """The extra numbers of a factor."""
    return f.extra[f.extras[factor] : f.extras[factor + 1]]
