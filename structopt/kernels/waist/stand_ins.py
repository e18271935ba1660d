"""Stand-ins for optional kernels of features, graphs and inferences, and for kernels that a caller
does not need.
"""

from __future__ import annotations

from math import nan

from structopt.kernels.waist.signatures import (
    CONDITIONALS,
    ENTROPY,
    EVALUATE,
    K_BEST,
    PREFETCH,
    ROUND,
    SLOPE,
    kernel,
)


@kernel(PREFETCH)
def no_prefetch(features, order, n):
    """Ask for nothing."""


@kernel(EVALUATE)
def no_loss(solve, structure, target, parameters, i, s, r, other, answer, memory, work):
    """Return nan for the loss."""
    return nan


@kernel(ENTROPY)
def no_entropy(structure, i, z):
    """Return nan for the entropy."""
    return nan


@kernel(SLOPE)
def no_slope(structure, i, z, d, t, out):
    """Write nan for the derivatives of the entropy."""
    out[:] = nan


@kernel(CONDITIONALS)
def no_conditionals(structure, i, z, out):
    """Write nan for the scores."""
    out[:] = nan


@kernel(K_BEST)
def no_k_best(structure, i, s, k, values, offsets, parts, counts, work):
    """List no outputs."""
    return 0


@kernel(ROUND)
def no_rounding(structure, i, z, work):
    """Leave z as it is: the solutions of the inference are outputs."""
