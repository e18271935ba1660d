"""Exact inference and the calculus of marginals where an instance is one variable: its L parts are
its outputs.
"""

from __future__ import annotations

from math import exp, inf, log

from structopt.kernels.chain.calculus import add_slopes, negative_entropy
from structopt.kernels.waist.signatures import CONDITIONALS, ENTROPY, SLOPE, SOLVE, kernel


@kernel(SOLVE)
def solve(structure, i, s, temperature, z, memory, work):
    """Return the largest score, or temperature * log sum exp(s / temperature); z becomes its
    (sub)gradient.

    Where every label has the score -inf, the value is -inf and z is zero.
    """
    best = 0
    for y in range(1, len(s)):
        if s[y] > s[best]:
            best = y
    top = s[best]
    if top == -inf or temperature == 0.0:
        z[:] = 0.0
        if top > -inf:
            z[best] = 1.0
        return top
    total = 0.0
    for y in range(len(s)):
        z[y] = exp((s[y] - top) / temperature)
        total += z[y]
    for y in range(len(s)):
        z[y] /= total
    return top + temperature * log(total)


@kernel(ENTROPY)
def entropy(structure, i, z):
    """H(z) = -sum_y z_y log z_y in nats."""
    return -negative_entropy(z, 0, len(z))


@kernel(SLOPE)
def slope(structure, i, z, d, t, out):
    """First and second derivative of H(z + t d) by t, and where `out` has a third entry H(z + t d);
    d sums to zero.
    """
    out[:] = 0.0
    add_slopes(z, d, t, -1.0, 0, len(z), out)


@kernel(CONDITIONALS)
def conditionals(structure, i, z, out):
    """Scores whose Gibbs distribution is z: log z_y."""
    for y in range(len(z)):
        out[y] = log(z[y]) if z[y] > 0.0 else -inf
