"""Sum and product of the three semirings in which charts are filled."""

from __future__ import annotations

from math import exp, inf, log1p

from structopt.kernels.waist.signatures import inlined

MAX = 0
"""Sum: the larger; product: +. The best output."""
SUM = 1
"""Sum and product of numbers: weights that are exponentials of scores."""
LOG = 2
"""Sum and product of numbers represented by their logarithms."""


@inlined
def times(semiring, a, b):
    """Product in a semiring."""
    return a * b if semiring == SUM else a + b


@inlined
def plus(semiring, a, b):
    """Sum in a semiring."""
    if semiring == SUM:
        return a + b
    top = max(a, b)
    if semiring == MAX or top == -inf:
        return top
    return top + log1p(exp(-abs(a - b)))
