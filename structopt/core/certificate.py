"""What a primal and a dual objective prove together, and when they prove nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:  # they compile
    pass

ROUNDING = 1e-6
"""By so much of the objective a dual may come out above it: that much is rounding."""


def certified_gap(primal: float, dual: float) -> float | None:
    """How far P is from its minimum at most: P - D.

    In exact arithmetic D <= P. A dual that is above P by rounding, at most 1e-6 |P|, gives 0. One that is farther above is a
    numerical failure, of D or of P, and proves nothing.

    Parameters
    ----------
    primal, dual : float
        P and D, finite (nats).

    Returns
    -------
    float or None
        At least 0; None where nothing is proved.
    """
    gap = primal - dual
    if gap < -ROUNDING * abs(primal):
        return None
    return max(gap, 0.0)


class Certificate(NamedTuple):
    """P at some weights, and a lower bound D on the least P there is."""

    primal: float
    dual: float
