"""PAIRS factors: independent pairs of binary variables, each with a private part that is on where
both are.
"""

from __future__ import annotations

from math import exp, log

from structopt.kernels.waist.signatures import inlined


@inlined
def pairs_max(s, p, out, private_out):
    """Write the best of the four configurations of every pair; among equals the one with fewer
    variables on.
    """
    total = 0.0
    for r in range(len(p)):
        u, v = s[2 * r], s[2 * r + 1]
        best = max(max(0.0, u + v + p[r]), max(u, v))
        total += best
        # no branches: in rows of pairs they are not foreseen
        some, first, second = best != 0.0, best == u, best == v
        out[2 * r] = 1.0 if some & (first | (not second)) else 0.0
        out[2 * r + 1] = 1.0 if some & (not first) else 0.0
        private_out[r] = 1.0 if some & (not (first | second)) else 0.0
    return total


@inlined
def pairs_marginals(s, p, out, private_out):
    """Write the marginals of every pair: the four configurations weigh 1, e^u, e^v and e^(u + v +
    p).
    """
    total = 0.0
    for r in range(len(p)):
        u, v = s[2 * r], s[2 * r + 1]
        both = u + v + p[r]
        top = max(max(0.0, both), max(u, v))
        first, second, joint = exp(u - top), exp(v - top), exp(both - top)
        mass = exp(-top) + first + second + joint
        total += top + log(mass)
        private_out[r] = joint / mass
        out[2 * r], out[2 * r + 1] = (first + joint) / mass, (second + joint) / mass
    return total
