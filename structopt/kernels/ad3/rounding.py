"""Outputs near u, the fractional solution of dual decomposition, and their scores."""

from __future__ import annotations

from math import floor, inf

import numpy as np

from structopt.kernels.ad3.work import copies_of, private_parts
from structopt.kernels.loopy.factor_kinds import local_max
from structopt.kernels.loopy.factors import BUDGET, EXACTLY_ONE, TREE
from structopt.kernels.loopy.open_kinds import is_hard
from structopt.kernels.loopy.private_parts import fill_open, fill_private
from structopt.kernels.waist.signatures import inlined
from structopt.kernels.waist.target import product


@inlined
def round_variables(f, i, w, z):
    """Write the state of every variable that has most weight in u; variables without factors stay
    as they are.
    """
    for v in range(f.variables[i], f.variables[i + 1]):
        first, width = f.starts[v], f.widths[v]
        if w.degree[first] == 0.0:
            continue
        if width == 1:
            z[first] = 1.0 if w.mean[first] > 0.5 and w.share[first] > -inf else 0.0
            continue
        best, most = 0, -inf
        for state in range(width):
            if w.share[first + state] > -inf and w.mean[first + state] > most:
                best, most = state, w.mean[first + state]
        z[first : first + width] = 0.0
        z[first + best] = 1.0


@inlined
def hard_max(f, i, factor, w, z, check):
    """Best configuration under u of a factor that only forbids, written to z; or whether z has one,
    if `check`.
    """
    x, on = w.scratch, 0.0
    c, k = copies_of(f, i, factor, w)
    half = 0.5 if f.kinds[factor] == BUDGET else 0.0
    for r in range(k):
        part = w.part[c + r]
        if check:
            x.residual[r], on = (1.0, on + 1.0) if z[part] > 0.0 else (-1.0, on)
        else:
            x.residual[r] = w.mean[part] - half if w.share[part] > -inf else -inf
    private = x.private[:0]
    value = local_max(
        f, i, factor, x.residual[:k], private, x.vector[:k], private, x.floats, x.ints
    )
    if check:
        return value == on
    if value > -inf:
        for r in range(k):
            z[w.part[c + r]] = x.vector[r]
    return value > -inf


@inlined
def open_hard_max(f, i, factor, w, z, check):
    """`hard_max` of a factor of a kind that the core does not know, which may have private
    parts.
    """
    if check:
        return fill_open(f, i, factor, z)
    x = w.scratch
    c, k = copies_of(f, i, factor, w)
    first, last = private_parts(f, i, factor)
    for r in range(k):
        part = w.part[c + r]
        x.residual[r] = w.mean[part] - 0.5 if w.share[part] > -inf else -inf
    private = x.private[: last - first]
    value = local_max(
        f,
        i,
        factor,
        x.residual[:k],
        np.zeros(len(private)),
        x.vector[:k],
        private,
        x.floats,
        x.ints,
    )
    if value > -inf:
        for r in range(k):
            z[w.part[c + r]] = floor(x.vector[r])  # a relaxed kind may turn a part of a variable on
    return value > -inf


@inlined
def round_output(f, i, s, w, z):
    """Score of an output near u, -inf where none was found; its parts go to z.

    The factors that only forbid choose one after the other; it is an output if those before still
    allow it at the end.
    """
    round_variables(f, i, w, z)
    hard = 0
    for check in (False, True):
        if check and hard < 2:
            break
        for factor in range(f.factors[i], f.factors[i + 1]):
            if f.kinds[factor] in (TREE, EXACTLY_ONE, BUDGET):
                hard += 1
                if not hard_max(f, i, factor, w, z, check):
                    return -inf
            elif is_hard(f.kinds[factor]):
                hard += 1
                if not open_hard_max(f, i, factor, w, z, check):
                    return -inf
    fill_private(f, i, z)
    return product(z, s)
