"""Scores that were computed before a driver runs: what stands for features in drivers, where a scorer has no kernels.

In the place of the weights, theta, stand the part scores of a run of instances, one after the other; `scores` copies those of
one. So every driver that asks for scores alone runs unchanged. There is no gradient by the weights here: drivers that make
one need sparse features, and whoever calls one all the same is told so.
"""

from __future__ import annotations

from typing import NamedTuple

from structopt.kernels.fields import Long, Longs
from structopt.kernels.layout import RecordLayout
from structopt.kernels.signatures import ACCUMULATE, ADD, ADD_BOTH, DOT, FLATTEN, PULLBACK, SCORES, SPANS, kernel


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
MISSING = "these features have no kernels for gradients of single instances"


@kernel(SCORES)
def scores(features, theta, i, s):
    """Copy the scores of an instance."""
    x = open_given(features)
    first = x.parts[i] - x.begin
    s[:] = theta[first : first + len(s)]


@kernel(PULLBACK)
def pullback(features, i, r, gradient):
    """Refuse."""
    raise NotImplementedError(MISSING)


@kernel(ADD)
def add(features, theta, gradient, step):
    """Refuse."""
    raise NotImplementedError(MISSING)


@kernel(ADD_BOTH)
def add_both(features, theta, lag, gradient, step, share):
    """Refuse."""
    raise NotImplementedError(MISSING)


@kernel(DOT)
def dot(features, theta, gradient):
    """Refuse."""
    raise NotImplementedError(MISSING)


@kernel(FLATTEN)
def flatten(features, gradient, indices, values):
    """Refuse."""
    raise NotImplementedError(MISSING)


@kernel(ACCUMULATE)
def accumulate(features, i, r, dense):
    """Refuse."""
    raise NotImplementedError(MISSING)


@kernel(SPANS)
def spans(features, i, starts, widths):
    """Refuse."""
    raise NotImplementedError(MISSING)
