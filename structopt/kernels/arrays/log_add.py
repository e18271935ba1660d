"""The sum of two numbers that are known by their logarithms."""

from __future__ import annotations

from math import exp, inf, log

from structopt.kernels.waist.signatures import inlined


@inlined
def log_add(a, b):
    """log(exp a + exp b), also where one or both are -inf."""
    if a == -inf:
        return b
    if b == -inf:
        return a
    top = max(a, b)
    return top + log(exp(a - top) + exp(b - top))


@inlined
def add_or_max(a, b, hot):
    """log(exp a + exp b) where `hot` (sum-product), else max(a, b) (max-product)."""
    return log_add(a, b) if hot else max(a, b)
