"""Scores that were computed before a driver runs: what stands for features in drivers, where a scorer has no kernels.

In the place of the weights, theta, stand the part scores of a run of instances, one after the other; `scores` copies those of
one. So every driver that asks for scores alone runs unchanged. There is no gradient by the weights here: drivers that make
one need sparse features, and whoever calls one all the same is told so.
"""

from __future__ import annotations

from typing import NamedTuple

from structopt.kernels.waist.fields import Long, Longs
from structopt.kernels.waist.layout import RecordLayout
from structopt.kernels.waist.signatures import ACCUMULATE, ADD, ADD_BOTH, DOT, FLATTEN, PULLBACK, SCORES, SPANS, inlined, kernel


class Given(NamedTuple):
    """The record, opened.

    Attributes
    ----------
    begin : where the parts of the first instance of the run begin in a vector over all parts
    parts : (instances + 1,) where the parts of each instance begin there
    """

    begin: Long
    parts: Longs


GIVEN = RecordLayout(Given)
open_given = GIVEN.compiled
MISSING = "these features have no kernels for visits of single instances"


@inlined
def refuse():
    """Raise; what calls it has a return of its own, by which Numba knows its type."""
    raise NotImplementedError(MISSING)


@kernel(SCORES)
def scores(features, theta, i, s):
    """Copy the scores of an instance; weights are refused, which are not as long."""
    x = open_given(features)
    first = x.parts[i] - x.begin
    if first < 0 or first + len(s) > len(theta):
        refuse()
    s[:] = theta[first : first + len(s)]


@kernel(PULLBACK)
def pullback(features, i, r, gradient):
    """Refuse."""
    refuse()
    return 0.0


@kernel(ADD)
def add(features, theta, gradient, step):
    """Refuse."""
    refuse()


@kernel(ADD_BOTH)
def add_both(features, theta, lag, gradient, step, share):
    """Refuse."""
    refuse()


@kernel(DOT)
def dot(features, theta, gradient):
    """Refuse."""
    refuse()
    return 0.0


@kernel(FLATTEN)
def flatten(features, gradient, indices, values):
    """Refuse."""
    refuse()
    return 0


@kernel(ACCUMULATE)
def accumulate(features, i, r, dense):
    """Refuse."""
    refuse()


@kernel(SPANS)
def spans(features, i, starts, widths):
    """Refuse."""
    refuse()
    return 0
