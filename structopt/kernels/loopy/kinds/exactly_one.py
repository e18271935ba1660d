"""EXACTLY_ONE factors: exactly one of the linked binary variables is on."""

from __future__ import annotations

from math import exp, inf, log

import numpy as np

from structopt.kernels.waist.signatures import inlined


@inlined
def exactly_one_max(s, out):
    """Write the indicator of the best variable."""
    best = np.argmax(s)
    if s[best] > -inf:
        out[best] = 1.0
    return s[best]


@inlined
def exactly_one_marginals(s, out):
    """Write exp(s) in proportion."""
    top = s.max()
    if top == -inf:
        return top
    total = 0.0
    for j in range(len(s)):
        out[j] = exp(s[j] - top)
        total += out[j]
    for j in range(len(s)):
        out[j] /= total
    return top + log(total)
