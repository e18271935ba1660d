"""What stands in for the calculus of a graph that has no closed forms, and for k-best lists where there are none."""

from __future__ import annotations

from math import nan

from structopt.kernels.waist.signatures import CONDITIONALS, ENTROPY, K_BEST, ROUND, SLOPE, kernel


@kernel(ENTROPY)
def no_entropy(structure, i, z):
    """Return nan."""
    return nan


@kernel(SLOPE)
def no_slope(structure, i, z, d, t, out):
    """Give nan."""
    out[:] = nan


@kernel(CONDITIONALS)
def no_conditionals(structure, i, z, out):
    """Give nan."""
    out[:] = nan


@kernel(K_BEST)
def no_k_best(structure, i, s, k, values, offsets, parts, counts, work):
    """Find nothing."""
    return 0


@kernel(ROUND)
def no_rounding(structure, i, z, work):
    """Leave z as it is: the inference's answers are outputs."""
