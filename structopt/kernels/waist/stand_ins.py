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
    inlined,
    kernel,
)

NO_LISTS = "these kernels have no lists of outputs; Objective.list_kernels may have them"


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


@inlined
def refuse_lists():
    """Raise. The caller returns a value all the same, from which Numba infers its type."""
    raise NotImplementedError(NO_LISTS)


@kernel(K_BEST)
def no_k_best(structure, i, s, k, values, offsets, parts, counts, work):
    """Raise: the inference has no lists, or they were not loaded."""
    refuse_lists()
    return 0


@kernel(ROUND)
def no_rounding(structure, i, z, work):
    """Leave z as it is: the solutions of the inference are outputs."""
