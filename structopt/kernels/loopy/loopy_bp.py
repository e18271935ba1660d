"""Loopy belief propagation on factor graphs: sum-product at positive temperatures, max-product at temperature 0.

A link is one of the places where a factor names a variable. Its message has the parts of its variable: log-odds for a binary
one, log weights of the states for a wider one. The belief b of a variable is its own score plus all messages to it; what it
tells a factor, n, is the belief less that factor's message. One pass goes through the PAIRS and AUTOMATON factors, pair by
pair and factor by factor, and then through the others in their order, and the beliefs follow every message at once.

With scores divided by the temperature, the logarithm of the Bethe partition function is

    sum_f log Z_f(n)  +  sum_i log Z_i(b_i)  -  sum over links log Z_i(b_i),        Z_i(b) = 1 + e^b, or sum_y e^b_y,

which is exact, and whose gradient the beliefs are, on graphs without cycles; elsewhere it is no bound and not convex. It is
stationary in the messages where they have converged. At temperature 0 the answer is an output, and the value is its score.

PAIRS and AUTOMATON factors, nearly all of second-order parsing, are passed in odds instead of log-odds, with neither
exponential nor logarithm in their loops, where their scores allow (`MODERATE`).
"""

from __future__ import annotations

from math import exp, inf, log
from typing import NamedTuple

import numpy as np

from structopt.kernels.loopy.automaton import row_start
from structopt.kernels.loopy.factor_kinds import either, fill_private, linked_parts, local_marginals, local_max
from structopt.kernels.loopy.factors import AUTOMATON, BUDGET, EXACTLY_ONE, PAIRS, TREE, open_factors, private_start
from structopt.kernels.loopy.messages import automaton_messages, bounded, send
from structopt.kernels.loopy.open_kinds import is_hard
from structopt.kernels.waist.fields import Float, Floats, Ints, Long
from structopt.kernels.waist.layout import RecordLayout
from structopt.kernels.waist.signatures import SOLVE, inlined, kernel
from structopt.kernels.waist.target import product

MODERATE = 60.0
"""Private scores (over the temperature) within which messages are passed in odds; they change log-odds by at most thrice this."""
WIDEST = 400.0
"""Log-odds beyond which such factors cannot tell a difference to the last bit."""
LARGEST = 1e200
LOST = -1.0
"""Stands for odds that left these limits, or began outside."""


class Propagation(NamedTuple):
    """The work record, opened.

    Attributes
    ----------
    passes, damping, tolerance : as the options of the inference
    b : beliefs, over the parts of variables
    odds : exp(b) of binary variables, within limits
    norm : log Z_i(b_i), at the first part of each variable
    seen : marginals after the pass before
    messages : over the parts of all links; odds for PAIRS and AUTOMATON factors that are passed in odds
    n, out : what the variables tell one factor, and its answer
    floats, ints : scratch of one factor
    """

    passes: Long
    damping: Float
    tolerance: Float
    b: Floats
    odds: Floats
    norm: Floats
    seen: Floats
    messages: Floats
    n: Floats
    out: Floats
    floats: Floats
    ints: Ints


PROPAGATION = RecordLayout(Propagation)
open_propagation = PROPAGATION.compiled


@inlined
def moderate(f, i, s):
    """Whether the private scores of PAIRS and AUTOMATON factors are such that these can be passed in odds."""
    for factor in range(f.factors[i], f.factors[i + 1]):
        if f.kinds[factor] == PAIRS or f.kinds[factor] == AUTOMATON:
            first = private_start(f, i, factor)
            for r in range(first, first + f.privates[factor + 1] - f.privates[factor]):
                if not abs(s[r]) <= MODERATE:
                    return False
    return True


@inlined
def start(f, i, s, in_odds, x, z):
    """Messages that say nothing; where they are passed in odds, the private parts of z become exp of their scores."""
    shared = f.shared[i]
    x.b[:shared] = s[:shared]
    x.seen[:shared] = -1.0
    at = 0
    for factor in range(f.factors[i], f.factors[i + 1]):
        odd = in_odds and (f.kinds[factor] == PAIRS or f.kinds[factor] == AUTOMATON)
        parts = linked_parts(f, i, factor)
        x.messages[at : at + parts] = 1.0 if odd else 0.0
        at += parts
        if odd:
            first = private_start(f, i, factor)
            for r in range(first, first + f.privates[factor + 1] - f.privates[factor]):
                z[r] = exp(s[r])


@inlined
def movement(b, seen):
    """Largest change of exp(b) / (1 + exp(b)) since it was `seen`, and see it again."""
    most = 0.0
    for r in range(len(b)):
        now = 1.0 / (1.0 + exp(-b[r]))
        most = max(most, abs(now - seen[r]))
        seen[r] = now
    return most


@inlined
def pass_in_odds(f, i, s, x, z):
    """Pass messages through all PAIRS and AUTOMATON factors; the beliefs follow."""
    shared, before = f.shared[i], f.variables[i]
    for r in range(shared):
        x.odds[r] = exp(min(max(x.b[r], -WIDEST), WIDEST))
    at = 0
    for factor in range(f.factors[i], f.factors[i + 1]):
        linked = f.linked[f.links[factor] : f.links[factor + 1]]
        private = z[private_start(f, i, factor) :]
        parts = linked_parts(f, i, factor)
        messages = x.messages[at : at + parts]
        if f.kinds[factor] == PAIRS:
            starts = f.starts[before : f.variables[i + 1]]
            pairs_in_odds(linked, starts, private, x.damping, messages, x.odds)
        elif f.kinds[factor] == AUTOMATON:
            n, out = x.n[:parts], x.out[:parts]
            for j in range(parts):
                n[j] = x.odds[f.starts[before + linked[j]]] / messages[j]
            if not automaton_in_odds(n, private, out, x.floats):
                automaton_with_care(n, s[private_start(f, i, factor) :], out, x.floats)
            for j in range(parts):
                if x.damping > 0.0:
                    out[j] = out[j] ** (1.0 - x.damping) * messages[j] ** x.damping
                messages[j] = out[j]
                x.odds[f.starts[before + linked[j]]] = min(max(n[j] * out[j], 1.0 / LARGEST), LARGEST)
        at += parts
    lost = False
    for r in range(shared):
        if x.b[r] == -inf:
            continue
        if abs(x.b[r]) < WIDEST and 1.0 / LARGEST < x.odds[r] < LARGEST:
            x.b[r] = log(x.odds[r])
        else:
            x.b[r], x.odds[r], lost = s[r], LOST, True
    if lost:
        add_up(f, i, x)


@inlined
def add_up(f, i, x):
    """Add all messages to the beliefs of variables whose odds are LOST."""
    q = 0
    for factor in range(f.factors[i], f.factors[i + 1]):
        odd = f.kinds[factor] == PAIRS or f.kinds[factor] == AUTOMATON
        for link in range(f.links[factor], f.links[factor + 1]):
            v = f.variables[i] + f.linked[link]
            for r in range(f.starts[v], f.starts[v] + f.widths[v]):
                if x.odds[r] == LOST:
                    x.b[r] += log(x.messages[q]) if odd else x.messages[q]
                q += 1


@inlined
def pairs_in_odds(linked, starts, private, damping, messages, odds):
    """Through every pair in turn: what u with odds n tells v is (1 + n e^p) / (1 + n)."""
    for r in range(len(linked) // 2):
        u, v, weight = starts[linked[2 * r]], starts[linked[2 * r + 1]], private[r]
        first, second = odds[u] / messages[2 * r], odds[v] / messages[2 * r + 1]
        a, b = min(first, 1e150), min(second, 1e150)
        to_first, to_second = (1.0 + b * weight) / (1.0 + b), (1.0 + a * weight) / (1.0 + a)
        if damping > 0.0:
            to_first = to_first ** (1.0 - damping) * messages[2 * r] ** damping
            to_second = to_second ** (1.0 - damping) * messages[2 * r + 1] ** damping
        messages[2 * r], messages[2 * r + 1] = to_first, to_second
        odds[u] = min(max(first * to_first, 1.0 / LARGEST), LARGEST)
        odds[v] = min(max(second * to_second, 1.0 / LARGEST), LARGEST)


@inlined
def automaton_in_odds(n, weight, out, floats):
    """`structopt.kernels.loopy.messages.automaton_messages` in odds; whether nothing became too large or too small for it."""
    k = len(n)
    ahead, behind, over = floats[: k + 1], floats[k + 1 : 2 * k + 3], floats[2 * k + 3 : 3 * k + 4]
    ahead[0] = largest = 1.0
    over[:] = 0.0
    for j in range(1, k + 1):
        total = 0.0
        for i in range(j):
            total += ahead[i] * weight[row_start(k, i) + j]
        out[j - 1] = total
        ahead[j] = total * n[j - 1]
        largest = max(largest, ahead[j])
    for i in range(k, -1, -1):
        row, a = row_start(k, i), ahead[i]
        beyond = weight[row + k + 1]
        for j in range(k, i, -1):
            over[j] += a * beyond
            beyond += weight[row + j] * behind[j]
        if i > 0:
            behind[i] = n[i - 1] * beyond
            out[i - 1] *= beyond
            largest = max(largest, max(beyond, behind[i]))
    sound = largest < 1e150  # then what fell below the smallest number was nothing beside what follows
    for j in range(k):
        sound = sound and over[j + 1] > 1e-100 and out[j] > 1e-100
        out[j] /= over[j + 1]
    return sound


@inlined
def automaton_with_care(n, p, out, floats):
    """The same messages by way of logs."""
    k = len(n)
    for j in range(k):
        n[j] = log(n[j]) if n[j] > 0.0 else -inf
    automaton_messages(n, p, True, out, floats)
    for j in range(k):
        n[j], out[j] = exp(n[j]), exp(out[j])


@inlined
def tell(f, i, factor, x, in_odds, at):
    """Fill x.n with what its variables tell a factor, in logs, and return how many parts these have."""
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
    """Pass messages through the PAIRS and AUTOMATON factors (`soft`), or through all others; whether they allow something."""
    before, at, old = f.variables[i], 0, x.damping
    for factor in range(f.factors[i], f.factors[i + 1]):
        if (f.kinds[factor] == PAIRS or f.kinds[factor] == AUTOMATON) != soft:
            at += linked_parts(f, i, factor)
            continue
        first = private_start(f, i, factor)
        p = s[first : first + f.privates[factor + 1] - f.privates[factor]]
        if f.kinds[factor] == PAIRS:
            linked = f.linked[f.links[factor] : f.links[factor + 1]]
            messages = x.messages[at : at + len(linked)]
            pairs_in_logs(linked, f.starts[before : f.variables[i + 1]], p, hot, old, messages, x.b)
            at += len(linked)
            continue
        parts = tell(f, i, factor, x, False, at)
        out = x.out[:parts]
        if not send(f, i, factor, x.n[:parts], p, hot, out, x.floats, x.ints):
            return False
        q = 0
        for link in range(f.links[factor], f.links[factor + 1]):
            v = before + f.linked[link]
            for r in range(f.starts[v], f.starts[v] + f.widths[v]):
                message = (1.0 - old) * out[q] + old * x.messages[at + q]
                x.b[r] = x.n[q] + message
                x.messages[at + q] = message
                q += 1
        at += parts
    return True


@inlined
def pairs_in_logs(linked, starts, p, hot, damping, messages, b):
    """`pairs_in_odds`, whatever the scores."""
    for r in range(len(linked) // 2):
        u, v = starts[linked[2 * r]], starts[linked[2 * r + 1]]
        first, second = b[u] - messages[2 * r], b[v] - messages[2 * r + 1]
        to_first = bounded(either(0.0, second + p[r], hot), either(0.0, second, hot))
        to_second = bounded(either(0.0, first + p[r], hot), either(0.0, first, hot))
        messages[2 * r] = (1.0 - damping) * to_first + damping * messages[2 * r]
        messages[2 * r + 1] = (1.0 - damping) * to_second + damping * messages[2 * r + 1]
        b[u], b[v] = first + messages[2 * r], second + messages[2 * r + 1]


@inlined
def believe(f, i, x, z):
    """Write the beliefs of the variables to z, and log Z_i(b_i) to x.norm; return the sum of the latter."""
    total = 0.0
    for v in range(f.variables[i], f.variables[i + 1]):
        first, width = f.starts[v], f.widths[v]
        norm = 0.0 if width == 1 else -inf  # the state off, of which a wider variable has none
        for r in range(first, first + width):
            norm = either(norm, x.b[r], True)
        for r in range(first, first + width):
            z[r] = exp(x.b[r] - norm) if norm > -inf else 0.0
        x.norm[first] = norm
        total += norm
    return total


@inlined
def bethe(f, i, s, in_odds, x, z):
    """Logarithm of the Bethe partition function; z becomes the beliefs.

    Variables in a TREE or EXACTLY_ONE factor take that factor's belief, which sums to one over the candidates.
    """
    before, at = f.variables[i], 0
    total = believe(f, i, x, z)
    for factor in range(f.factors[i], f.factors[i + 1]):
        parts = tell(f, i, factor, x, in_odds, at)
        at += parts
        first = private_start(f, i, factor)
        last = first + f.privates[factor + 1] - f.privates[factor]
        out = x.out[:parts]
        value = local_marginals(f, i, factor, x.n[:parts], s[first:last], out, z[first:last], x.floats, x.ints)
        if value == -inf:
            z[:] = 0.0
            return -inf
        total += value
        linked = f.linked[f.links[factor] : f.links[factor + 1]]
        for v in linked:
            total -= x.norm[f.starts[before + v]]
        if f.kinds[factor] == TREE or f.kinds[factor] == EXACTLY_ONE:
            for j in range(parts):
                z[f.starts[before + linked[j]]] = out[j]
    return total


@inlined
def choose(f, i, factor, s, parts, x, z):
    """Write the states that a factor finds best, of a kind that the core does not know; x.n is what its variables tell it."""
    first = private_start(f, i, factor)
    last = first + f.privates[factor + 1] - f.privates[factor]
    out, q = x.out[:parts], 0
    if local_max(f, i, factor, x.n[:parts], s[first:last], out, z[first:last], x.floats, x.ints) > -inf:
        for link in range(f.links[factor], f.links[factor + 1]):
            v = f.variables[i] + f.linked[link]
            z[f.starts[v] : f.starts[v] + f.widths[v]] = out[q : q + f.widths[v]]
            q += f.widths[v]


@inlined
def decode(f, i, s, x, z):
    """Write an output to z and return its score: the best state of each variable, and what hard factors find best for theirs.

    Trees have the last word; other hard factors that share variables may be left unsatisfied.
    """
    before = f.variables[i]
    z[:] = 0.0
    for v in range(before, f.variables[i + 1]):
        first, width = f.starts[v], f.widths[v]
        best = first + np.argmax(x.b[first : first + width])
        z[best] = 1.0 if width > 1 or x.b[best] > 0.0 else 0.0
    for last_word in (False, True):
        at = 0
        for factor in range(f.factors[i], f.factors[i + 1]):
            kind, parts = f.kinds[factor], linked_parts(f, i, factor)
            if (kind == TREE) if last_word else kind in (EXACTLY_ONE, BUDGET):
                tell(f, i, factor, x, False, at)
                local_max(f, i, factor, x.n[:parts], s[:0], x.out[:parts], z[:0], x.floats, x.ints)
                for j in range(parts):
                    z[f.starts[before + f.linked[f.links[factor] + j]]] = x.out[j]
            elif not last_word and is_hard(kind):
                tell(f, i, factor, x, False, at)
                choose(f, i, factor, s, parts, x, z)
            at += parts
    fill_private(f, i, z)
    return product(z, s)


@kernel(SOLVE)
def solve(structure, i, s, temperature, z, memory, work):
    """Value and beliefs of all parts; at temperature 0 the score and the indicators of an output.

    `memory`, where there is any, receives the number of passes made, or minus that number where the messages still moved.
    Returns -inf, with z = 0, where a factor allows nothing.
    """
    f, x, hot = open_factors(structure), open_propagation(work), temperature > 0.0
    if hot:
        for r in range(len(s)):
            s[r] /= temperature
    in_odds = hot and moderate(f, i, s)
    start(f, i, s, in_odds, x, z)
    made, settled, possible = 0, False, True
    while possible and not settled and made < x.passes:
        if in_odds:
            pass_in_odds(f, i, s, x, z)
        else:
            pass_in_logs(f, i, s, hot, True, x)
        possible = pass_in_logs(f, i, s, hot, False, x)
        settled = movement(x.b[: f.shared[i]], x.seen) <= x.tolerance
        made += 1
    if len(memory) > 0:
        memory[0] = made if settled else -made
    if not possible:
        z[:] = 0.0
        return -inf
    if hot:
        return temperature * bethe(f, i, s, in_odds, x, z)
    return decode(f, i, s, x, z)
