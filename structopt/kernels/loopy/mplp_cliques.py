"""Updates of factors over any number of variables: an upper bound on the best score that never
rises.

With messages d_fj(y_j) of the factor f to its variables and b_j = s_j + sum_f d_fj,

    g(d) = sum_j max_{y_j} b_j(y_j) + sum_f max_{y_f} ( s_f(y_f) - sum_{j in f} d_fj(y_j) )

is at any messages an upper bound on the value of the relaxation. A factor over k variables hears
n_fj = b_j - d_fj from each of them, and shares its max-marginals equally:

    m_fj(y_j) = max_{y_f has y_j} ( s_f(y_f) + sum_{i in f} n_fi(y_i) ),    d_fj = m_fj / k - n_fj.

The k variables then contribute max m_fj, and the factor 0 or less: no more than before. Messages
count up to a constant each, so that of a binary variable is one number, the log-odds. Globerson and
Jaakkola (2008), generalised MPLP, whose clusters' intersections are the variables here.
"""

from __future__ import annotations

from typing import NamedTuple

from structopt.kernels.loopy.factor_kinds import local_max
from structopt.kernels.loopy.factors import PAIRS, linked_parts, private_start
from structopt.kernels.loopy.messages import send
from structopt.kernels.waist.fields import Floats, Ints
from structopt.kernels.waist.signatures import inlined


class Cliques(NamedTuple):
    """Scratch of these updates.

    Attributes
    ----------
    messages : a number for every part of the linked variables of every factor
    b : as above, a number per part of the variables
    n, out : of one factor
    floats, ints : scratch of one factor
    """

    messages: Floats
    b: Floats
    n: Floats
    out: Floats
    floats: Floats
    ints: Ints


@inlined
def start_cliques(f, i, s, low, memory, x):
    """Read the messages from the memory, or start with 0, and sum them up."""
    at, before = 0, f.variables[i]
    for r in range(f.shared[i]):
        x.b[r] = max(s[r], low)
    for factor in range(f.factors[i], f.factors[i + 1]):
        for link in range(f.links[factor], f.links[factor + 1]):
            v = before + f.linked[link]
            for r in range(f.starts[v], f.starts[v] + f.widths[v]):
                x.messages[at] = memory[at] if len(memory) > 0 else 0.0
                x.b[r] += x.messages[at]
                at += 1


@inlined
def hear(f, before, factor, at, x):
    """Fill x.n with b less the factor's own messages."""
    q = 0
    for link in range(f.links[factor], f.links[factor + 1]):
        v = before + f.linked[link]
        for r in range(f.starts[v], f.starts[v] + f.widths[v]):
            x.n[q] = x.b[r] - x.messages[at + q]
            q += 1


@inlined
def update_pair(f, before, link, p, at, x):
    """Update both messages of a pair of a PAIRS factor, whose score is p."""
    u, v = f.starts[before + f.linked[link]], f.starts[before + f.linked[link + 1]]
    first, second = x.b[u] - x.messages[at], x.b[v] - x.messages[at + 1]
    x.b[u] = 0.5 * (first + max(0.0, second + p) - max(0.0, second))
    x.b[v] = 0.5 * (second + max(0.0, first + p) - max(0.0, first))
    x.messages[at], x.messages[at + 1] = x.b[u] - first, x.b[v] - second


@inlined
def clique_pass(f, i, s, x):
    """Update the messages of every factor in turn; return whether all allow anything."""
    before, at = f.variables[i], 0
    for factor in range(f.factors[i], f.factors[i + 1]):
        first = private_start(f, i, factor)
        p = s[first : first + f.privates[factor + 1] - f.privates[factor]]
        parts, links = linked_parts(f, i, factor), f.links[factor + 1] - f.links[factor]
        n, out = x.n[:parts], x.out[:parts]
        if f.kinds[factor] == PAIRS:
            for r in range(len(p)):
                update_pair(f, before, f.links[factor] + 2 * r, p[r], at + 2 * r, x)
            at += parts
            continue
        hear(f, before, factor, at, x)
        if not send(f, i, factor, n, p, False, out, x.floats, x.ints):
            return False
        q = 0
        for link in range(f.links[factor], f.links[factor + 1]):
            v = before + f.linked[link]
            for r in range(f.starts[v], f.starts[v] + f.widths[v]):
                x.b[r] = (n[q] + out[q]) / links
                x.messages[at + q] = x.b[r] - n[q]
                q += 1
        at += parts
    return True


@inlined
def clique_bound(f, i, s, z, x):
    """g at x.messages; z becomes the local maximisers, which are its derivative by the scores."""
    before, at, value = f.variables[i], 0, 0.0
    for v in range(before, f.variables[i + 1]):
        first, width = f.starts[v], f.widths[v]
        best = first
        for r in range(first, first + width):
            z[r] = 0.0
            best = r if x.b[r] > x.b[best] else best
        if width > 1 or x.b[best] > 0.0:
            z[best] = 1.0
            value += x.b[best]
    for factor in range(f.factors[i], f.factors[i + 1]):
        first, parts = private_start(f, i, factor), linked_parts(f, i, factor)
        last = first + f.privates[factor + 1] - f.privates[factor]
        n = x.n[:parts]
        for q in range(parts):
            n[q] = -x.messages[at + q]
        value += local_max(
            f, i, factor, n, s[first:last], x.out[:parts], z[first:last], x.floats, x.ints
        )
        at += parts
    return value
