"""What a primal and a dual objective prove together, and when they prove nothing."""

from __future__ import annotations

from typing import NamedTuple

ROUNDING = 1e-6
"""A dual that comes out above the objective by at most this share of it does so by rounding."""


class Certificate(NamedTuple):
    """P at some weights, and a lower bound D on the least P there is (nats)."""

    primal: float
    dual: float


def certified_gap(primal: float, dual: float) -> float | None:
    """How far P is from its minimum at most: P - D.

    In exact arithmetic D <= P. A dual that is above P by at most 1e-6 |P| is rounding, and gives 0.
    One that is farther above is a numerical failure, of D or of P, and proves nothing.

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
