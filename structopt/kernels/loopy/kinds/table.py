"""TABLE factors: two variables of several states each, with a private part for every pair of
states.
"""

from __future__ import annotations

from math import exp, inf, log

from structopt.kernels.waist.signatures import inlined


@inlined
def table_max(s, p, K, out, private_out):
    """Write the indicators of the best pair of states of two variables, of which the first has
    K.
    """
    width, best, top = len(s) - K, 0, -inf
    for r in range(len(p)):
        value = s[r // width] + s[K + r % width] + p[r]
        if value > top:
            best, top = r, value
    if top > -inf:
        private_out[best] = out[best // width] = out[K + best % width] = 1.0
    return top


@inlined
def table_marginals(s, p, K, out, private_out):
    """Write the marginals of the states of two variables, and of the pairs of them."""
    width, top, total = len(s) - K, -inf, 0.0
    for r in range(len(p)):
        private_out[r] = s[r // width] + s[K + r % width] + p[r]
        top = max(top, private_out[r])
    if top == -inf:
        private_out[:] = 0.0
        return top
    for r in range(len(p)):
        private_out[r] = exp(private_out[r] - top)
        total += private_out[r]
    for r in range(len(p)):
        private_out[r] /= total
        out[r // width] += private_out[r]
        out[K + r % width] += private_out[r]
    return top + log(total)
