"""Loopy belief propagation on factor graphs: sum-product at positive temperatures, max-product at
temperature 0.

A link joins a factor and one of its variables. Its message has the parts of the variable: log-odds
for a binary one, log weights of the states for a wider one. The belief b of a variable is its score
plus all messages to it; its message n to a factor is the belief less that factor's message. One
pass goes through the PAIRS and AUTOMATON factors, pair by pair and factor by factor, and then
through the others in their order, and the beliefs follow every message at once.

With scores divided by the temperature, the logarithm of the Bethe partition function is

    sum_f log Z_f(n)  +  sum_i log Z_i(b_i)  -  sum over links log Z_i(b_i),        Z_i(b) = 1 +
    e^b, or sum_y e^b_y,

which is exact, and whose gradient the beliefs are, on graphs without cycles; elsewhere it is no
bound and not convex. It is stationary in the messages where they have converged. At temperature 0
the answer is an output, and the value is its score.

PAIRS and AUTOMATON factors, nearly all of second-order parsing, are passed in odds instead of
log-odds, with neither exponential nor logarithm in their loops, where their scores allow
(`MODERATE`).
"""

from __future__ import annotations

from math import exp, inf
from typing import NamedTuple

from structopt.kernels.arrays.rows import set_row
from structopt.kernels.loopy.bethe import bethe
from structopt.kernels.loopy.bp_decoding import decode
from structopt.kernels.loopy.bp_in_logs import pass_in_logs
from structopt.kernels.loopy.bp_in_odds import moderate, pass_in_odds
from structopt.kernels.loopy.factors import (
    AUTOMATON,
    PAIRS,
    linked_parts,
    open_factors,
    private_start,
)
from structopt.kernels.waist.fields import Float, Floats, Ints, Long
from structopt.kernels.waist.halting import halted
from structopt.kernels.waist.layout import RecordLayout
from structopt.kernels.waist.signatures import SOLVE, inlined, kernel


class Propagation(NamedTuple):
    """The work record, opened.

    Attributes
    ----------
    passes, damping, tolerance : as the options of the inference
    b : beliefs, over the parts of variables
    odds : exp(b) of binary variables, within limits
    norm : log Z_i(b_i), at the first part of each variable
    seen : marginals after the pass before
    messages : over the parts of all links; odds for PAIRS and AUTOMATON factors that are passed in
    odds n, out : messages of the variables to one factor, and of the factor to them floats, ints :
    scratch of one factor
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
def start(f, i, s, in_odds, x, z):
    """Set all messages to uniform ones; where they are passed in odds, the private parts of z
    become exp of their scores.
    """
    shared = f.shared[i]
    set_row(x.b[:shared], s[:shared])
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
    """Largest change of exp(b) / (1 + exp(b)) since `seen`, which receives the new values."""
    most = 0.0
    for r in range(len(b)):
        now = 1.0 / (1.0 + exp(-b[r]))
        most = max(most, abs(now - seen[r]))
        seen[r] = now
    return most


@kernel(SOLVE)
def solve(structure, i, s, temperature, z, memory, work):
    """Value and beliefs of all parts; at temperature 0 the score and the indicators of an output.

    `memory`, where there is any, receives the number of passes, or minus that number where the
    messages still moved at the end. Returns -inf, with z = 0, where a factor allows nothing.
    """
    f, x, hot = open_factors(structure), open_propagation(work), temperature > 0.0
    if hot:
        for r in range(len(s)):
            s[r] /= temperature
    in_odds = hot and moderate(f, i, s)
    start(f, i, s, in_odds, x, z)
    passes, settled, possible = 0, False, True
    while possible and not settled and passes < x.passes and not halted():
        if in_odds:
            pass_in_odds(f, i, s, x, z)
        else:
            pass_in_logs(f, i, s, hot, True, x)
        possible = pass_in_logs(f, i, s, hot, False, x)
        settled = movement(x.b[: f.shared[i]], x.seen) <= x.tolerance
        passes += 1
    if len(memory) > 0:
        memory[0] = passes if settled else -passes
    if not possible:
        z[:] = 0.0
        return -inf
    if hot:
        return temperature * bethe(f, i, s, in_odds, x, z)
    return decode(f, i, s, x, z)
