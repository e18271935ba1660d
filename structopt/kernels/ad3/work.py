"""The work record of dual decomposition, and the copies of an instance."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structopt.kernels.ad3.configuration_set import Scratch
from structopt.kernels.arrays.rows import set_row
from structopt.kernels.loopy.factors import private_start
from structopt.kernels.waist.fields import Flag, Float, Floats, Ints, Long, Longs
from structopt.kernels.waist.layout import RecordLayout
from structopt.kernels.waist.signatures import inlined


class Work(NamedTuple):
    """The work record, opened. C copies, P parts of variables, N parts, F factors in the largest
    instance.

    Attributes
    ----------
    passes : most passes over the factors
    exact : whether to branch until the best output is proved
    spent : (1,) passes of the last visit
    tolerance : root mean square of disagreement and movement of the copies at which the passes end;
    times eta where that
        is above the root mean square of the scores
    eta : first penalty, in units of the root mean square of the scores
    part : (C,) the part that each copy is of
    begins : (F + 1,) where the copies of each factor begin
    counts : (F,) configurations in the active sets
    fixed : (P,) parts that are fixed while branching, by depth
    state : (P,) at each depth: the value that is tried, plus 2 where it is the second
    multipliers, copies, inputs : (C,) lambda, q, and the input that q is the solution of
    share, degree, mean, sums : (P,) s_v / d_v, d_v, u, and sums over copies
    output : (P,) states of the variables in the best output found
    best : (N,) the best output while branching
    scores : (N,) scores in which parts are fixed
    sets, members : floats and ints of the active sets, one after the other
    shifts : (P,) mean of the copies less u
    moves : (C n,) how the last n passes moved u + lambda / eta
    products, shares : (n n,) and (n,) products of the moves, and the weights of an extrapolation
    aside : (C + P,) lambda and u before an extrapolation
    scratch : of the quadratic problems and of `local_max`
    """

    passes: Long
    exact: Flag
    spent: Longs
    tolerance: Float
    eta: Float
    part: Ints
    begins: Longs
    counts: Longs
    fixed: Ints
    state: Ints
    multipliers: Floats
    copies: Floats
    inputs: Floats
    share: Floats
    degree: Floats
    mean: Floats
    sums: Floats
    output: Floats
    best: Floats
    scores: Floats
    sets: Floats
    members: Ints
    shifts: Floats
    moves: Floats
    products: Floats
    shares: Floats
    aside: Floats
    scratch: Scratch


WORK = RecordLayout(Work)
open_work = WORK.compiled


@inlined
def gather(f, i, w):
    """List the part that each copy is of and where those of each factor begin, and count the copies
    of each part.

    Returns how many copies there are.
    """
    before, first, c = f.variables[i], f.factors[i], 0
    w.degree[: f.shared[i]] = 0.0
    w.begins[0] = 0
    for factor in range(first, f.factors[i + 1]):
        for link in range(f.links[factor], f.links[factor + 1]):
            v = before + f.linked[link]
            for part in range(f.starts[v], f.starts[v] + f.widths[v]):
                w.part[c] = part
                w.degree[part] += 1.0
                c += 1
        w.begins[factor - first + 1] = c
    return c


@inlined
def divide(f, i, s, w, z):
    """Divide the scores among the copies; the value of the variables without factors, whose best
    states go to z.
    """
    value = 0.0
    for part in range(f.shared[i]):
        w.share[part] = s[part] / max(1.0, w.degree[part])
    for v in range(f.variables[i], f.variables[i + 1]):
        first, width = f.starts[v], f.widths[v]
        if w.degree[first] > 0.0:
            continue
        states = s[first : first + width]
        z[first : first + width] = 0.0
        best = np.argmax(states)
        if width > 1 or states[0] > 0.0:
            z[first + best] = 1.0
            value += states[best]
    return value


@inlined
def copies_of(f, i, factor, w):
    """First copy of a factor, and how many it has."""
    number = factor - f.factors[i]
    c = w.begins[number]
    return c, w.begins[number + 1] - c


@inlined
def private_parts(f, i, factor):
    """First private part of a factor, and the one after its last."""
    first = private_start(f, i, factor)
    return first, first + f.privates[factor + 1] - f.privates[factor]


@inlined
def remember(copies, shared, w, memory):
    """Keep lambda and u for the next visit."""
    if len(memory) > 0:
        set_row(memory[:copies], w.multipliers[:copies])
        set_row(memory[copies : copies + shared], w.mean[:shared])
        memory[copies + shared] = 1.0
