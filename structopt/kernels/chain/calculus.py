"""Entropy, its derivatives and conditionals from the marginals of a first-order chain with
transition parts at every position.

With edge marginals x_e and label marginals x_j, the largest entropy of any distribution with these
marginals is that of the Markov chain:  H(x) = -sum_edges x_e log x_e + sum_inner x_j log x_j,
inner being all positions but the first and last.
"""

from __future__ import annotations

from math import inf, log

from structopt.kernels.chain.record import open_chain
from structopt.kernels.waist.signatures import CONDITIONALS, ENTROPY, SLOPE, inlined, kernel

SMALLEST = 1e-300  # replaces marginals that rounding has made zero or negative


@inlined
def negative_entropy(x, first, last):
    """Sum of x log x over a range of parts, 0 log 0 = 0."""
    total = 0.0
    for j in range(first, last):
        if x[j] > SMALLEST:
            total += x[j] * log(x[j])
    return total


@kernel(ENTROPY)
def entropy(structure, i, z):
    """H(z) in nats."""
    c = open_chain(structure)
    n, L = c.tokens[i + 1] - c.tokens[i], c.labels
    if n == 1:
        return -negative_entropy(z, 0, L)
    return negative_entropy(z, L, (n - 1) * L) - negative_entropy(z, n * L, len(z))


@inlined
def add_slopes(z, d, t, sign, first, last, out):
    """Add sign * (sum d log x, sum d^2 / x, and where `out` has a third entry sum x log x), x = z +
    t d, over some parts.
    """
    slope, curvature, value, whole = 0.0, 0.0, 0.0, len(out) > 2
    for j in range(first, last):
        x = max(z[j] + t * d[j], SMALLEST)
        if d[j] != 0.0 or (whole and x > SMALLEST):
            logarithm = log(x)
            slope += d[j] * logarithm
            curvature += d[j] * d[j] / x
            value += x * logarithm
    out[0] += sign * slope
    out[1] += sign * curvature
    if whole:
        out[2] += sign * value


@kernel(SLOPE)
def slope(structure, i, z, d, t, out):
    """First and second derivative of H(z + t d) by t, and where `out` has a third entry H(z + t d);
    d keeps every sum.
    """
    c = open_chain(structure)
    n, L = c.tokens[i + 1] - c.tokens[i], c.labels
    out[:] = 0.0
    if n == 1:
        add_slopes(z, d, t, -1.0, 0, L, out)
    else:
        add_slopes(z, d, t, 1.0, L, (n - 1) * L, out)
        add_slopes(z, d, t, -1.0, n * L, len(z), out)


@kernel(CONDITIONALS)
def conditionals(structure, i, z, out):
    """Scores whose Gibbs distribution has the marginals z: log z of the first label, log of edge
    over left label marginal.
    """
    c = open_chain(structure)
    n, L = c.tokens[i + 1] - c.tokens[i], c.labels
    out[:] = 0.0
    for y in range(L):
        out[y] = log(z[y]) if z[y] > 0.0 else -inf
    for t in range(n - 1):
        for u in range(L):
            left = z[t * L + u]
            for y in range(L):
                edge = n * L + t * L * L + u * L + y
                out[edge] = log(z[edge] / left) if z[edge] > 0.0 and left > 0.0 else -inf
