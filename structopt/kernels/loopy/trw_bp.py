"""An upper bound on the log-partition function of a factor graph that holds at any messages, and
its gradient.

Graphs of pairs of variables with two or more states have that of
`structopt.kernels.loopy.forests.bound`, which is much tighter; what follows is for all others.

With counting numbers c_f >= 0 of which those of the factors at each variable sum to at least 1,
H(Y) <= sum_f c_f H(Y_f) (fractional subadditivity of the entropy). So for all messages d_fi from
factors to the variables that they link,

    T log Z(s)  <=  B(d)  =  sum_f c_f T log Z_f( (s_f + share of variables' scores - d_f) / (c_f T)
    ),

where a factor with c_f = 0, and every factor at T = 0, takes the maximum. The shares of the
variables' scores are:

    where the first TREE of an instance covers variable i:  that factor, which has c = 1, holds s_i
    + sum_f d_fi, others -d_fi; elsewhere, in d_i links:                               each holds
    (s_i + sum_f d_fi) / d_i - d_fi; in no link:                                            the
    variable is a factor of its own, with c = 1.

The messages cancel in every output's score, whatever they are. Factors other than the TREE have c_f
= smoothing / d, d the most links of one of their variables, where it covers all their variables
(H(Y) <= H_TREE already); otherwise at least 1 / d_i for the least d_i of those that it does not
cover. Each pair of a PAIRS row is a factor.

B is convex in scores and messages together. Its derivative by the score of a private part is that
part's local marginal; by s_i, z_i: the TREE's marginal or the mean of the local ones; by d_fi, z_i
less the local marginal. Messages move against that derivative, to which half of the step before is
added (Camerini et al., 1975), with Polyak's step size for a level below the least bound so far:
farther below after a success, nearer after a failure. The value returned is the least bound.
"""

from __future__ import annotations

from math import inf
from typing import NamedTuple

from structopt.kernels.arrays.rows import set_row
from structopt.kernels.loopy.factors import linked_parts, open_factors
from structopt.kernels.loopy.forests.bound import solve_forests
from structopt.kernels.loopy.forests.layout import ForestWork, open_forests
from structopt.kernels.loopy.trw_bound import count_links, evaluate, find_cover, slope
from structopt.kernels.waist.fields import Float, Floats, Ints, Long
from structopt.kernels.waist.halting import halted
from structopt.kernels.waist.layout import RecordLayout
from structopt.kernels.waist.signatures import SOLVE, inlined, kernel

FIRST, GROWTH, DECAY, RETREAT = 0.1, 1.5, 0.7, 0.4
"""Of the level: its first distance as a share of the squared norm of the derivative, and its
factors after a success, after a failure, and after a failure by more than the level, where the
messages go back to the best ones.
"""
INERTIA = 0.5


class Reweighting(NamedTuple):
    """Section of the work record: what instances without forests need.

    Attributes
    ----------
    passes, tolerance, smoothing : as the options of the inference
    u : scores of the variables' parts and all messages to them
    z : (sub)gradient of the bound at the messages, over all parts
    degree : links of each variable; -1 less their number where the TREE covers it
    messages, local, direction : messages, local marginals and direction of the last step, over the
    parts of all links kept, kept_local : messages of the least bound, and the derivative there n, p
    : scores that one factor sees floats, ints : scratch of one factor
    """

    passes: Long
    tolerance: Float
    smoothing: Float
    u: Floats
    z: Floats
    degree: Ints
    messages: Floats
    local: Floats
    direction: Floats
    kept: Floats
    kept_local: Floats
    n: Floats
    p: Floats
    floats: Floats
    ints: Ints


class Work(NamedTuple):
    """The work record, opened."""

    reweighting: Reweighting
    forests: ForestWork


WORK = RecordLayout(Work)
open_work = WORK.compiled


@inlined
def turn(derivative, direction):
    """Multiply the direction by INERTIA and add the derivative; return its squared norm."""
    norm = 0.0
    for q in range(len(direction)):
        direction[q] = derivative[q] + INERTIA * direction[q]
        norm += direction[q] * direction[q]
    return norm


@inlined
def start(f, i, cover, memory, x):
    """Set the messages to those in memory, or to 0 where there is none; return how many numbers
    they are.
    """
    links = 0
    for factor in range(f.factors[i], f.factors[i + 1]):
        if factor != cover:
            links += linked_parts(f, i, factor)
    messages = x.messages[:links]
    messages[:] = 0.0
    if len(memory) > 0:
        set_row(messages, memory[:links])
    return links


@inlined
def descend(f, i, cover, s, temperature, links, least, z, x):
    """Move the messages against the derivative of the bound, and return the least bound met.

    z becomes its (sub)gradient by the scores, and x.kept its messages; `least` is the bound at the
    messages in x, and x.z and x.local are those of `evaluate` there.
    """
    messages, direction, value = x.messages[:links], x.direction[:links], least
    direction[:] = 0.0
    set_row(z, x.z[: len(z)])
    slant = slope(f, i, cover, x)
    level = FIRST * slant
    x.kept[:links], x.kept_local[:links] = messages, x.local[:links]
    for _ in range(x.passes):
        if halted():
            break
        norm = turn(x.local, direction)
        if slant <= x.tolerance * x.tolerance or level <= x.tolerance or norm == 0.0:
            break
        step = (value - least + level) / norm
        for q in range(links):
            messages[q] -= step * direction[q]
        value = evaluate(f, i, cover, s, temperature, x)
        slant = slope(f, i, cover, x)
        if value < least:
            level *= GROWTH if value < least - 0.5 * level else 1.0
            least = value
            set_row(z, x.z[: len(z)])
            x.kept[:links], x.kept_local[:links] = messages, x.local[:links]
        elif value > least + DECAY * level:
            level *= RETREAT
            value = least
            messages[:], x.local[:links], direction[:] = x.kept[:links], x.kept_local[:links], 0.0
        else:
            level *= DECAY
    return least


@kernel(SOLVE)
def solve(structure, i, s, temperature, z, memory, work):
    """The least bound met; z becomes its (sub)gradient by the scores at the messages that gave it.

    `memory`, where there is any, holds the messages to begin with, and receives those of the least
    bound. Returns -inf, with z = 0, where a factor allows nothing. An instance that has a graph
    among those of the work record takes its forests.
    """
    f, w = open_factors(structure), open_work(work)
    x = w.reweighting
    if w.forests.graph[i] >= 0:
        return solve_forests(
            f, i, s, temperature, z, memory, x.passes, x.tolerance, open_forests(f, i, w.forests)
        )
    cover = find_cover(f, i)
    count_links(f, i, cover, x.degree)
    links = start(f, i, cover, memory, x)
    least = evaluate(f, i, cover, s, temperature, x)
    if not least > -inf:
        z[:] = 0.0
        return -inf
    least = descend(f, i, cover, s, temperature, links, least, z, x)
    if len(memory) > 0:
        set_row(memory[:links], x.kept[:links])
    return least
