"""Belief propagation through factors of any kind in log-odds and log weights, sum-product or
max-product.
"""

from __future__ import annotations

from math import log

from structopt.kernels.arrays.log_add import add_or_max
from structopt.kernels.loopy.factors import AUTOMATON, PAIRS, linked_parts, private_start
from structopt.kernels.loopy.messages import bounded, send
from structopt.kernels.waist.signatures import inlined


@inlined
def incoming_logs(f, i, factor, x, in_odds, at):
    """Fill x.n with the messages of a factor's variables to it, as logs; return how many parts the
    variables have.
    """
    before, q = f.variables[i], 0
    odd = in_odds and (f.kinds[factor] == PAIRS or f.kinds[factor] == AUTOMATON)
    for link in range(f.links[factor], f.links[factor + 1]):
        v = before + f.linked[link]
        for r in range(f.starts[v], f.starts[v] + f.widths[v]):
            message = x.messages[at + q]
            x.n[q] = x.b[r] - (log(message) if odd else message)
            q += 1
    return q


@inlined
def pass_in_logs(f, i, s, hot, soft, x):
    """Pass messages through the PAIRS and AUTOMATON factors (`soft`), or all others; return whether
    these allow anything.
    """
    before, at, damping = f.variables[i], 0, x.damping
    for factor in range(f.factors[i], f.factors[i + 1]):
        if (f.kinds[factor] == PAIRS or f.kinds[factor] == AUTOMATON) != soft:
            at += linked_parts(f, i, factor)
            continue
        first = private_start(f, i, factor)
        p = s[first : first + f.privates[factor + 1] - f.privates[factor]]
        if f.kinds[factor] == PAIRS:
            linked = f.linked[f.links[factor] : f.links[factor + 1]]
            messages = x.messages[at : at + len(linked)]
            pairs_in_logs(
                linked, f.starts[before : f.variables[i + 1]], p, hot, damping, messages, x.b
            )
            at += len(linked)
            continue
        parts = incoming_logs(f, i, factor, x, False, at)
        out = x.out[:parts]
        if not send(f, i, factor, x.n[:parts], p, hot, out, x.floats, x.ints):
            return False
        q = 0
        for link in range(f.links[factor], f.links[factor + 1]):
            v = before + f.linked[link]
            for r in range(f.starts[v], f.starts[v] + f.widths[v]):
                message = (1.0 - damping) * out[q] + damping * x.messages[at + q]
                x.b[r] = x.n[q] + message
                x.messages[at + q] = message
                q += 1
        at += parts
    return True


@inlined
def pairs_in_logs(linked, starts, p, hot, damping, messages, b):
    """Pass messages through every pair in turn, as log-odds."""
    for r in range(len(linked) // 2):
        u, v = starts[linked[2 * r]], starts[linked[2 * r + 1]]
        first, second = b[u] - messages[2 * r], b[v] - messages[2 * r + 1]
        to_first = bounded(add_or_max(0.0, second + p[r], hot), add_or_max(0.0, second, hot))
        to_second = bounded(add_or_max(0.0, first + p[r], hot), add_or_max(0.0, first, hot))
        messages[2 * r] = (1.0 - damping) * to_first + damping * messages[2 * r]
        messages[2 * r + 1] = (1.0 - damping) * to_second + damping * messages[2 * r + 1]
        b[u], b[v] = first + messages[2 * r], second + messages[2 * r + 1]
