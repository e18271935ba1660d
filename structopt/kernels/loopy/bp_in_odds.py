"""Belief propagation through PAIRS and AUTOMATON factors in odds instead of log-odds.

There is neither exponential nor logarithm in these loops, which are nearly all of second-order
parsing. They serve private scores up to `MODERATE`; `structopt.kernels.loopy.bp_in_logs` takes any.
"""

from __future__ import annotations

from math import exp, inf, log

from structopt.kernels.loopy.factors import AUTOMATON, PAIRS, linked_parts, private_start
from structopt.kernels.loopy.kinds.automaton import row_start
from structopt.kernels.loopy.messages import automaton_messages
from structopt.kernels.waist.signatures import inlined

MODERATE = 60.0
"""Private scores (over the temperature) within which messages are passed in odds; they change
log-odds by at most thrice this.
"""
WIDEST = 400.0
"""Log-odds beyond which the messages of such factors are the same to the last bit."""
LARGEST = 1e200
"""Odds stay below this number and above its inverse."""
TINY = 1e-50
"""Between this number and its inverse, odds may be multiplied."""
LOST = -1.0
"""Stands for odds that left these limits, or began outside."""


@inlined
def moderate(f, i, s):
    """Whether the private scores of PAIRS and AUTOMATON factors are within the limits for messages
    in odds.
    """
    for factor in range(f.factors[i], f.factors[i + 1]):
        if f.kinds[factor] == PAIRS or f.kinds[factor] == AUTOMATON:
            first = private_start(f, i, factor)
            for r in range(first, first + f.privates[factor + 1] - f.privates[factor]):
                if not abs(s[r]) <= MODERATE:
                    return False
    return True


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
                automaton_through_logs(n, s[private_start(f, i, factor) :], out, x.floats)
            for j in range(parts):
                if x.damping > 0.0:
                    out[j] = out[j] ** (1.0 - x.damping) * messages[j] ** x.damping
                messages[j] = out[j]
                x.odds[f.starts[before + linked[j]]] = min(
                    max(n[j] * out[j], 1.0 / LARGEST), LARGEST
                )
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
    """Pass messages through every pair in turn: that of u, whose odds are n, to v is (1 + n e^p) /
    (1 + n).
    """
    for r in range(len(linked) // 2):
        u, v, weight = starts[linked[2 * r]], starts[linked[2 * r + 1]], private[r]
        without_first, without_second = 1.0 / messages[2 * r], 1.0 / messages[2 * r + 1]
        a, b = min(odds[u] * without_first, 1e150), min(odds[v] * without_second, 1e150)
        to_first, to_second = (1.0 + b * weight) / (1.0 + b), (1.0 + a * weight) / (1.0 + a)
        if damping > 0.0:
            to_first = to_first ** (1.0 - damping) * messages[2 * r] ** damping
            to_second = to_second ** (1.0 - damping) * messages[2 * r + 1] ** damping
        messages[2 * r], messages[2 * r + 1] = to_first, to_second
        # the next pair often waits for these odds: what changes them is ready by now
        odds[u] = min(max(odds[u] * (to_first * without_first), 1.0 / LARGEST), LARGEST)
        odds[v] = min(max(odds[v] * (to_second * without_second), 1.0 / LARGEST), LARGEST)


@inlined
def pair_beliefs(linked, starts, p, messages, b, odds, z, first):
    """Sum of log Z of the pairs of a row; z[first:], where e^p is, becomes the beliefs that both
    variables of a pair are on.

    `odds` are e^b, within limits. Pairs whose odds are large or small are computed in logs. The
    logarithm is that of products.
    """
    total, product = 0.0, 1.0
    for r in range(len(linked) // 2):
        u, v = starts[linked[2 * r]], starts[linked[2 * r + 1]]
        on, also = odds[u] / messages[2 * r], odds[v] / messages[2 * r + 1]
        if TINY < on < 1.0 / TINY and TINY < also < 1.0 / TINY:
            both = on * also * z[first + r]
            mass = 1.0 + on + also + both
            product *= mass
            if product > 1.0 / TINY:
                total, product = total + log(product), 1.0
            z[first + r] = both / mass
        else:
            x, y = b[u] - log(messages[2 * r]), b[v] - log(messages[2 * r + 1])
            top = max(max(0.0, x + y + p[r]), max(x, y))
            mass = exp(-top) + exp(x - top) + exp(y - top) + exp(x + y + p[r] - top)
            total += top + log(mass)
            z[first + r] = exp(x + y + p[r] - top) / mass
    return total + log(product)


@inlined
def automaton_in_odds(n, weight, out, floats):
    """`structopt.kernels.loopy.messages.automaton_messages` in odds; return whether no number
    became too large or too small.
    """
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
    sound = largest < 1e150  # then sums that became 0 do not count beside the others
    for j in range(k):
        sound = sound and over[j + 1] > 1e-100 and out[j] > 1e-100
        out[j] /= over[j + 1]
    return sound


@inlined
def automaton_through_logs(n, p, out, floats):
    """The same messages, computed in logs."""
    k = len(n)
    for j in range(k):
        n[j] = log(n[j]) if n[j] > 0.0 else -inf
    automaton_messages(n, p, True, out, floats)
    for j in range(k):
        n[j], out[j] = exp(n[j]), exp(out[j])
