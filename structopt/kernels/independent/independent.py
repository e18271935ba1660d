"""Exact inference where no factor joins the variables of an instance: one after the other.

The closed forms of the marginals are sums over all parts, as those of one variable:
`structopt.kernels.chain.single_variable`.
"""

from __future__ import annotations

from math import exp, inf, log

from structopt.kernels.independent.record import open_independent
from structopt.kernels.waist.signatures import SOLVE, kernel


@kernel(SOLVE)
def solve(structure, i, s, temperature, z, memory, work):
    """Return sum_v temperature * log sum_r exp(s_r / temperature), r the parts of variable v; z
    becomes its (sub)gradient.

    At temperature 0 that is the sum of the largest scores. Where all parts of a variable have the
    score -inf, the value is -inf and z is zero. O(parts).
    """
    x, total = open_independent(structure), 0.0
    before = x.parts[x.variables[i]]
    for v in range(x.variables[i], x.variables[i + 1]):
        first, last = x.parts[v] - before, x.parts[v + 1] - before
        best = first
        for r in range(first + 1, last):
            if s[r] > s[best]:
                best = r
        top = s[best] if last > first else -inf
        if top == -inf:
            z[:] = 0.0
            return -inf
        total += top
        if temperature == 0.0:
            z[first:last] = 0.0
            z[best] = 1.0
            continue
        mass = 0.0
        for r in range(first, last):
            z[r] = exp((s[r] - top) / temperature)
            mass += z[r]
        for r in range(first, last):
            z[r] /= mass
        total += temperature * log(mass)
    return total
