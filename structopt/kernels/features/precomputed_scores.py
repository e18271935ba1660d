"""Kernels for scorers that have none: drivers read scores that were computed before.

The vector of weights, theta, holds the part scores of a run of instances instead, one after the
other; `scores` copies those of one. So every driver that needs scores alone runs unchanged. There
is no gradient by the weights: the other kernels raise.
"""

from __future__ import annotations

from typing import NamedTuple

from structopt.kernels.arrays.rows import set_row
from structopt.kernels.waist.fields import Long, Longs
from structopt.kernels.waist.layout import RecordLayout
from structopt.kernels.waist.signatures import (
    ACCUMULATE,
    ADD,
    ADD_BOTH,
    DOT,
    FLATTEN,
    PULLBACK,
    SCORES,
    SPANS,
    inlined,
    kernel,
)


class Precomputed(NamedTuple):
    """The record, opened.

    Attributes
    ----------
    begin : where the parts of the first instance of the run begin in a vector over all parts
    parts : (instances + 1,) where the parts of each instance begin there
    """

    begin: Long
    parts: Longs


PRECOMPUTED = RecordLayout(Precomputed)
open_precomputed = PRECOMPUTED.compiled
MISSING = "these features have no kernels for visits of single instances"


@inlined
def refuse():
    """Raise. Callers return a value all the same, from which Numba infers their types."""
    raise NotImplementedError(MISSING)


@kernel(SCORES)
def scores(features, theta, i, s, scratch):
    """Copy the scores of an instance; raise where theta is too short to hold them."""
    x = open_precomputed(features)
    first = x.parts[i] - x.begin
    if first < 0 or first + len(s) > len(theta):
        refuse()
    set_row(s, theta[first : first + len(s)])


@kernel(PULLBACK)
def pullback(features, i, r, gradient):
    """Raise: there is no gradient."""
    refuse()
    return 0.0


@kernel(ADD)
def add(features, theta, gradient, step):
    """Raise: there is no gradient."""
    refuse()


@kernel(ADD_BOTH)
def add_both(features, theta, lag, gradient, step, share):
    """Raise: there is no gradient."""
    refuse()


@kernel(DOT)
def dot(features, theta, gradient):
    """Raise: there is no gradient."""
    refuse()
    return 0.0


@kernel(FLATTEN)
def flatten(features, gradient, indices, values):
    """Raise: there is no gradient."""
    refuse()
    return 0


@kernel(ACCUMULATE)
def accumulate(features, i, r, dense):
    """Raise: there is no gradient."""
    refuse()


@kernel(SPANS)
def spans(features, i, starts, widths, scratch):
    """Raise: there are no weights."""
    refuse()
    return 0
