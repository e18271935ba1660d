"""The work record of dual decomposition, and the copies of an instance."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structopt.kernels.active_set import Scratch
from structopt.kernels.factors import private_start
from structopt.kernels.signatures import inlined


class Work(NamedTuple):
    """The work record, opened. C copies, P parts of variables, N parts, F factors in the largest instance.

    Attributes
    ----------
    passes : most passes over the factors
    exact : whether to branch until the best output is proved
    spent : (1,) passes of the last visit
    tolerance : root mean square of disagreement and movement of the copies at which the passes end; times eta where that
        is above the root mean square of the scores
    eta : first penalty, in units of the root mean square of the scores
    part : (C,) the part that each copy is of
    begins : (F + 1,) where the copies of each factor begin
    counts : (F,) configurations in the active sets
    fixed : (P,) parts that are fixed while branching, by depth
    state : (P,) at each depth: the value that is tried, plus 2 where it is the second
    multipliers, copies, asked : (C,) lambda, q, and the input that q answers
    share, degree, mean, sums : (P,) s_v / d_v, d_v, u, and sums over copies
    output : (P,) states of the variables in the best output found
    best : (N,) the best output while branching
    scores : (N,) scores in which parts are fixed
    sets, members : floats and ints of the active sets, one after the other
    total, centre : (C,) and (P,) sums of lambda and u over passes
    scratch : of the quadratic problems and of `local_max`
    """

    passes: int
    exact: bool
    spent: np.ndarray
    tolerance: float
    eta: float
    part: np.ndarray
    begins: np.ndarray
    counts: np.ndarray
    fixed: np.ndarray
    state: np.ndarray
    multipliers: np.ndarray
    copies: np.ndarray
    asked: np.ndarray
    share: np.ndarray
    degree: np.ndarray
    mean: np.ndarray
    sums: np.ndarray
    output: np.ndarray
    best: np.ndarray
    scores: np.ndarray
    sets: np.ndarray
    members: np.ndarray
    total: np.ndarray
    centre: np.ndarray
    scratch: Scratch


@inlined
def open_work(work):
    """Open the work record, packed by `structopt.inference.ad3`."""
    i, n, f, at = work.ints, work.longs, work.floats, work.at
    b = at[10:]
    scratch = Scratch(
        f[b[12] : b[13]], f[b[13] : b[14]], f[b[14] : b[15]], f[b[15] : b[16]], f[b[16] : b[17]], f[b[17] : b[18]],
        f[b[18] : b[19]], i[at[4] : at[5]],
    )  # fmt: skip
    return Work(
        n[at[6]], n[at[6] + 1] != 0, n[at[6] + 2 : at[7]], f[b[0]], f[b[0] + 1],
        i[at[0] : at[1]], n[at[8] : at[9]], n[at[7] : at[8]], i[at[1] : at[2]], i[at[2] : at[3]],
        f[b[1] : b[2]], f[b[2] : b[3]], f[b[3] : b[4]], f[b[4] : b[5]], f[b[5] : b[6]], f[b[6] : b[7]], f[b[7] : b[8]],
        f[b[8] : b[9]], f[b[9] : b[10]], f[b[10] : b[11]], f[b[11] : b[12]], i[at[3] : at[4]],
        f[b[19] : b[20]], f[b[20] : b[21]], scratch,
    )  # fmt: skip


@inlined
def gather(f, i, w):
    """List the part that each copy is of and where those of each factor begin, and count the copies of each part.

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
    """Divide the scores among the copies; the value of the variables without factors, whose best states go to z."""
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
        memory[:copies] = w.multipliers[:copies]
        memory[copies : copies + shared] = w.mean[:shared]
        memory[copies + shared] = 1.0
