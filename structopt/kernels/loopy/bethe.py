"""Beliefs, and the logarithm of the Bethe partition function, at the messages of belief
propagation.
"""

from __future__ import annotations

from math import exp, inf

from structopt.kernels.arrays.log_add import add_or_max
from structopt.kernels.loopy.bp_in_logs import incoming_logs
from structopt.kernels.loopy.bp_in_odds import WIDEST, pair_beliefs
from structopt.kernels.loopy.factor_kinds import local_marginals
from structopt.kernels.loopy.factors import EXACTLY_ONE, PAIRS, TREE, private_start
from structopt.kernels.waist.signatures import inlined


@inlined
def believe(f, i, x, z):
    """Write the beliefs of the variables to z, and log Z_i(b_i) to x.norm; return the sum of the
    latter.
    """
    total = 0.0
    for v in range(f.variables[i], f.variables[i + 1]):
        first, width = f.starts[v], f.widths[v]
        norm = 0.0 if width == 1 else -inf  # the state off, of which a wider variable has none
        for r in range(first, first + width):
            norm = add_or_max(norm, x.b[r], True)
        for r in range(first, first + width):
            z[r] = exp(x.b[r] - norm) if norm > -inf else 0.0
        x.norm[first] = norm
        total += norm
    return total


@inlined
def bethe(f, i, s, in_odds, x, z):
    """Logarithm of the Bethe partition function; z becomes the beliefs.

    Variables in a TREE or EXACTLY_ONE factor take that factor's belief, which sums to one over the
    candidates.
    """
    before, at = f.variables[i], 0
    total = believe(f, i, x, z)
    if in_odds:
        for r in range(f.shared[i]):
            x.odds[r] = exp(min(max(x.b[r], -WIDEST), WIDEST))
    for factor in range(f.factors[i], f.factors[i + 1]):
        first = private_start(f, i, factor)
        last = first + f.privates[factor + 1] - f.privates[factor]
        linked = f.linked[f.links[factor] : f.links[factor + 1]]
        if in_odds and f.kinds[factor] == PAIRS:
            starts, messages = (
                f.starts[before : f.variables[i + 1]],
                x.messages[at : at + len(linked)],
            )
            total += pair_beliefs(linked, starts, s[first:last], messages, x.b, x.odds, z, first)
            at += len(linked)
            for v in linked:
                total -= x.norm[starts[v]]
            continue
        parts = incoming_logs(f, i, factor, x, in_odds, at)
        at += parts
        out = x.out[:parts]
        value = local_marginals(
            f, i, factor, x.n[:parts], s[first:last], out, z[first:last], x.floats, x.ints
        )
        if value == -inf:
            z[:] = 0.0
            return -inf
        total += value
        for v in linked:
            total -= x.norm[f.starts[before + v]]
        if f.kinds[factor] == TREE or f.kinds[factor] == EXACTLY_ONE:
            for j in range(parts):
                z[f.starts[before + linked[j]]] = out[j]
    return total
