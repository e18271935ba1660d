"""An output from the beliefs of max-product belief propagation."""

from __future__ import annotations

from math import inf

import numpy as np

from structopt.kernels.loopy.bp_in_logs import incoming_logs
from structopt.kernels.loopy.factor_kinds import local_max
from structopt.kernels.loopy.factors import BUDGET, EXACTLY_ONE, TREE, linked_parts, private_start
from structopt.kernels.loopy.open_kinds import is_hard
from structopt.kernels.loopy.private_parts import fill_private
from structopt.kernels.waist.signatures import inlined
from structopt.kernels.waist.target import product


@inlined
def choose(f, i, factor, s, parts, x, z):
    """Write the best states of a factor of a kind that the core does not know; x.n holds the
    messages of its variables to it.
    """
    first = private_start(f, i, factor)
    last = first + f.privates[factor + 1] - f.privates[factor]
    out, q = x.out[:parts], 0
    if (
        local_max(f, i, factor, x.n[:parts], s[first:last], out, z[first:last], x.floats, x.ints)
        > -inf
    ):
        for link in range(f.links[factor], f.links[factor + 1]):
            v = f.variables[i] + f.linked[link]
            z[f.starts[v] : f.starts[v] + f.widths[v]] = out[q : q + f.widths[v]]
            q += f.widths[v]


@inlined
def decode(f, i, s, x, z):
    """Write an output to z and return its score: the best state of each variable, and the best
    configurations of hard factors.

    Trees are decoded last; other hard factors that share variables may be left unsatisfied.
    """
    before = f.variables[i]
    z[:] = 0.0
    for v in range(before, f.variables[i + 1]):
        first, width = f.starts[v], f.widths[v]
        best = first + np.argmax(x.b[first : first + width])
        z[best] = 1.0 if width > 1 or x.b[best] > 0.0 else 0.0
    for trees in (False, True):
        at = 0
        for factor in range(f.factors[i], f.factors[i + 1]):
            kind, parts = f.kinds[factor], linked_parts(f, i, factor)
            if (kind == TREE) if trees else kind in (EXACTLY_ONE, BUDGET):
                incoming_logs(f, i, factor, x, False, at)
                local_max(f, i, factor, x.n[:parts], s[:0], x.out[:parts], z[:0], x.floats, x.ints)
                for j in range(parts):
                    z[f.starts[before + f.linked[f.links[factor] + j]]] = x.out[j]
            elif not trees and is_hard(kind):
                incoming_logs(f, i, factor, x, False, at)
                choose(f, i, factor, s, parts, x, z)
            at += parts
    fill_private(f, i, z)
    return product(z, s)
