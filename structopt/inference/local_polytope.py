"""Linear descriptions of factor graphs: each factor's local polytope as rows over parts and
auxiliary columns.

The local polytope of a factor is the convex hull of its configurations; that of the graph is their
intersection over the shared variables, which contains every output and, unless the graph is a tree
of factors, fractional points besides.
"""

from __future__ import annotations

import numpy as np

from structopt.core.data.polytope import Polytope, Rows
from structopt.core.factor_kind_table import kind_of
from structopt.kernels.loopy.factors import FACTORS, Factors, private_start
from structopt.kernels.waist.record import Array, Record


def local_polytope(structure: Record, i: int, parts: int) -> Polytope:
    """Describe the local polytope of instance i, which has `parts` parts; O(rows) time and space.

    Every kind of factor describes its own (`structopt.core.factor_kind.FactorKind.describe`).
    """
    f = FACTORS.open(structure)
    widths = f.widths[f.variables[i] : f.variables[i + 1]]
    return described(f, i, parts, widths > 1, np.arange(f.factors[i], f.factors[i + 1])).polytope(
        int(f.shared[i])
    )


def described(f: Factors, i: int, parts: int, listed: Array, factors: Array) -> Rows:
    """Rows of some factors of instance i, and of its `listed` variables: bool, those of which one
    of several parts is on.
    """
    first, last = f.variables[i], f.variables[i + 1]
    starts, widths = f.starts[first:last], f.widths[first:last].astype(np.int64)
    rows = Rows(parts)
    states = _ranges(starts[listed], widths[listed])
    rows.add(
        1.0,
        1.0,
        (np.repeat(np.arange(listed.sum()), widths[listed]), states, 1.0),
        count=int(listed.sum()),
    )
    kinds = {number: kind_of(number) for number in np.unique(f.kinds[factors]).tolist()}
    for factor in factors.tolist():
        linked = f.linked[f.links[factor] : f.links[factor + 1]]
        extra = f.extra[f.extras[factor] : f.extras[factor + 1]]
        own = private_start.py_func(f, i, factor) + np.arange(
            f.privates[factor + 1] - f.privates[factor]
        )
        shared = _ranges(starts[linked], widths[linked])
        kinds[int(f.kinds[factor])].describe(rows, shared, own, widths[linked], extra)
    return rows


def _ranges(starts: Array, lengths: Array) -> Array:
    """Concatenate the ranges that begin at `starts`."""
    before = np.cumsum(lengths) - lengths
    return np.asarray(
        np.repeat(starts - before, lengths) + np.arange(lengths.sum()), dtype=np.int64
    )
