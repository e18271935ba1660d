"""Branch and bound over the linear relaxation: the best output, proved."""

from __future__ import annotations

from math import inf

from structopt.kernels.ad3.relaxation import relax
from structopt.kernels.arrays.rows import set_row
from structopt.kernels.loopy.private_parts import fill_private
from structopt.kernels.waist.halting import halted
from structopt.kernels.waist.signatures import inlined
from structopt.kernels.waist.target import product


@inlined
def most_fractional(f, i, depth, w):
    """The part whose u is nearest to 1/2 among those that are not fixed yet; -1 where all are."""
    nearest, least = -1, inf
    for part in range(f.shared[i]):
        distance = abs(w.mean[part] - 0.5)
        if w.degree[part] > 0.0 and w.scores[part] > -inf and distance < least:
            free = True
            for j in range(depth):
                free = free and w.fixed[j] != part
            if free:
                nearest, least = part, distance
    return nearest


@inlined
def fix(s, w, depth, length, weight):
    """Scores at the first fixed parts: -inf for those that are off; those that are on get more than
    anything could cost.

    Returns how much they get in all, which scores then have too much.
    """
    set_row(w.scores[:length], s)
    surplus = 0.0
    for j in range(depth):
        if w.state[j] % 2 == 1:
            w.scores[w.fixed[j]] += weight
            surplus += weight
        else:
            w.scores[w.fixed[j]] = -inf
    return surplus


@inlined
def branch(f, i, s, memory, w, z):
    """Depth-first branch and bound: the score of the best output, and its parts."""
    N = len(s)
    incumbent, depth, weight = -inf, 0, 1.0
    w.best[:N] = 0.0
    for r in range(N):
        if s[r] > -inf:
            weight += abs(s[r])
    while True:
        surplus = fix(s, w, depth, N, weight)
        slack = 1e-10 * max(1.0, abs(incumbent)) if incumbent > -inf else 0.0
        kept = memory[: len(memory) if depth == 0 else 0]
        value, best_score = relax(f, i, w.scores[:N], kept, incumbent + slack + surplus, w, z)
        part = -1
        if value - surplus > incumbent + slack:
            part = most_fractional(f, i, depth, w) if value > best_score else -1
            if best_score > -inf:
                set_row(z[: f.shared[i]], w.output[: f.shared[i]])
                fill_private(f, i, z)
                output = product(z, s)
                if output > incumbent:
                    incumbent = output
                    set_row(w.best[:N], z[:N])
        if part >= 0 and not halted():
            w.fixed[depth], w.state[depth] = part, 1 if w.mean[part] > 0.5 else 0
            depth += 1
            continue
        while depth > 0 and w.state[depth - 1] >= 2:
            depth -= 1
        if depth == 0 or halted():
            set_row(z[:N], w.best[:N])
            return incumbent
        w.state[depth - 1] = 3 - w.state[depth - 1]
