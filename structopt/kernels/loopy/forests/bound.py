"""An upper bound on the log-partition function of a pairwise graph as a convex combination of those
of spanning forests.

F forests T of equal weight hold every edge e, in copies_e of them. With s^T_e = s_e F / copies_e on
the edges of a forest, and any potentials s^T_v of its variables of which the mean over the forests
is s_v, the mean of the forests' scores is s, and

    T log Z(s)  <=  B  =  (1/F) sum_T T log Z_T(s^T / T),

by convexity, whatever the potentials are; at temperature T = 0 the best scores of the forests
replace the log-sums, and B is no less than the linear relaxation's value. A pass minimises B
exactly over the potentials of one variable after another: with m^T_v the messages of all neighbours
of v in T, summed,

    b_v = s_v + (1/F) sum_T m^T_v,      s^T_v = b_v - m^T_v,

after which v has the same marginals in all forests. So B never rises; at T > 0 it comes down to its
least value over all potentials, the tree-reweighted free energy (Wainwright et al., 2005), and at T
= 0 it may stick above the relaxation.

Every tree has a *front*, the variable that was visited last, towards which all messages are up to
date; a visit renews those on the way from there. Messages are logarithms, not normalised, so that
those at the front sum to log Z of the tree. Passes go through the variables forwards and backwards
in turn, in an order in which the ways are short: 2 messages a tree of complete graphs, one of
grids.

The derivative by s at fixed deviations s^T_v - s_v is the mean over the forests of the marginals of
the variables, and of those of an edge over the forests that have it. The deviations are what an
instance keeps between visits, in the scores' unit. A pass of complete graphs and grids costs
O(edges K^2), as do the bound and its derivative. Passes in the manner of Kolmogorov (2006),
sequential tree-reweighted message passing, and of Meltzer, Globerson and Weiss (2009).
"""

from __future__ import annotations

from math import exp, inf

import numpy as np

from structopt.kernels.loopy.factors import private_start
from structopt.kernels.loopy.forests.layout import COLUMNS, FIRST, ROWS, SPAN, TABLE
from structopt.kernels.loopy.forests.marginals import best_states, marginals
from structopt.kernels.loopy.forests.passes import collect, sweep
from structopt.kernels.waist.halting import halted
from structopt.kernels.waist.signatures import inlined


@inlined
def load(f, i, s, heat, hot, memory, x):
    """Fill x.state, x.edges and the tables: scores over `heat`, and deviations, of which the mean
    is taken away.

    Return what the tables leave out of B / T.
    """
    F, S, W, before, left_out = x.count, f.shared[i], x.width, f.variables[i], 0.0
    n = f.variables[i + 1] - before
    for v in range(n):
        first = f.starts[before + v]
        for y in range(f.widths[before + v]):
            r, mean = first + y, 0.0
            for q in range(r, len(memory), S):
                mean += memory[q] / F
            for T in range(F):
                deviation = memory[T * S + r] - mean if len(memory) > 0 else 0.0
                x.state[(T * n + v) * 3 * W + y] = (s[r] + deviation) / heat
    for e in range(f.factors[i + 1] - f.factors[i]):
        factor = f.factors[i] + e
        p, one, other = (
            private_start(f, i, factor),
            f.linked[f.links[factor]],
            f.linked[f.links[factor] + 1],
        )
        fields = x.edges[e * SPAN : (e + 1) * SPAN]
        fields[TABLE], fields[FIRST] = p - S, one
        fields[ROWS], fields[COLUMNS] = f.widths[before + one], f.widths[before + other]
        size = np.int64(fields[ROWS]) * fields[COLUMNS]
        scale, top = F / (x.copies[e] * heat), s[p : p + size].max()
        if top == -inf:
            return -inf
        left_out += top / heat
        for r in range(p, p + size):
            x.table[r - S] = (s[r] - top) * scale
            if hot:
                x.power[r - S] = exp(x.table[r - S])
    return left_out


@inlined
def keep(f, i, s, heat, memory, x):
    """Write the deviations to the memory; 0 for a state that is forbidden, which it is in all
    forests.
    """
    S, before = f.shared[i], f.variables[i]
    n = f.variables[i + 1] - before
    for T in range(x.count):
        for v in range(n):
            first = f.starts[before + v]
            for y in range(f.widths[before + v]):
                potential = x.state[(T * n + v) * 3 * x.width + y]
                memory[T * S + first + y] = (
                    potential * heat - s[first + y] if potential > -inf else 0.0
                )


@inlined
def solve_forests(f, i, s, temperature, z, memory, passes, tolerance, x):
    """B after the passes; z becomes its derivative by the scores where they ended: -inf and zeros
    where nothing is allowed.

    Passes end when one lowers the bound by no more than the tolerance. `memory`, where there is
    any, holds the deviations to begin with (their mean over the forests is taken away), and
    receives those at the end.
    """
    hot, n, begin, end = (
        temperature > 0.0,
        f.variables[i + 1] - f.variables[i],
        f.variables[i],
        f.variables[i + 1],
    )
    starts, widths, heat = f.starts[begin:end], f.widths[begin:end], temperature if hot else 1.0
    z[:] = 0.0
    left_out = load(f, i, s, heat, hot, memory, x)
    if left_out == -inf:
        return -inf
    value = collect(n, widths, hot, x)
    if value == -inf:
        return -inf
    for turn in range(passes):
        if halted():
            break
        fall = sweep(n, starts, widths, s, turn % 2 == 1, heat, hot, x)
        if fall == inf:
            return -inf
        if fall * heat <= tolerance:
            break
    if passes > 0:
        value = collect(n, widths, hot, x)
    if hot:
        marginals(n, starts, widths, f.shared[i], z, x)
    else:
        best_states(n, starts, widths, f.shared[i], z, x)
    if len(memory) > 0:
        keep(f, i, s, heat, memory, x)
    return (value + left_out) * heat
