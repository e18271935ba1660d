"""Entropy, its derivatives and conditionals from the marginals of a chain with n-gram parts at
every position.

With marginals x_e of the longest n-grams (edges at order 1) and x_j of the n-grams one label
shorter, the largest entropy of any distribution with these marginals is that of the Markov chain:
H(x) = -sum_e x_e log x_e + sum_inner x_j log x_j, inner being all positions but the first and last.
"""

from __future__ import annotations

from math import inf, log

from structopt.kernels.chain.ngram_parts import first_part
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


@inlined
def ranges(c, n):
    """Return the bounds of the inner n-grams that are one label shorter than the longest, and where
    the longest begin.
    """
    k = min(c.order, n - 1)
    if k == 0:
        return 0, 0, 0
    first, last = first_part(c, n, k - 1, k), first_part(c, n, k - 1, n - 1)
    return first, last, first_part(c, n, k, k)


@kernel(ENTROPY)
def entropy(structure, i, z):
    """H(z) in nats."""
    c = open_chain(structure)
    first, last, longest = ranges(c, c.tokens[i + 1] - c.tokens[i])
    return negative_entropy(z, first, last) - negative_entropy(z, longest, len(z))


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
    first, last, longest = ranges(c, c.tokens[i + 1] - c.tokens[i])
    out[:] = 0.0
    add_slopes(z, d, t, 1.0, first, last, out)
    add_slopes(z, d, t, -1.0, longest, len(z), out)


@kernel(CONDITIONALS)
def conditionals(structure, i, z, out):
    """Scores whose Gibbs distribution has the marginals z: log z of the first label, log of the
    longest n-grams over the marginals of their histories.
    """
    c = open_chain(structure)
    n, L = c.tokens[i + 1] - c.tokens[i], c.labels
    out[:] = 0.0
    for y in range(L):
        out[y] = log(z[y]) if z[y] > 0.0 else -inf
    for t in range(1, n):
        h = min(t, c.order)
        histories, longest = first_part(c, n, h - 1, t - 1), first_part(c, n, h, t)
        for u in range(L**h):
            left = z[histories + u]
            for y in range(L):
                e = longest + u * L + y
                out[e] = log(z[e] / left) if z[e] > 0.0 and left > 0.0 else -inf
