"""What one evaluation of P and its gradient proves of the least P there is."""

from __future__ import annotations


def dual_bound(slope: float, norm: float, regularization: float) -> float:
    """max over 0 <= t <= 1 of t * slope - t^2 * norm / (2 lambda).

    With z_bar_i the inference's answers at theta and g = (1/m) sum_i F_i (z_bar_i - z_i), the
    points z_i + t (z_bar_i - z_i) are feasible for the dual and, the entropy being concave,

        D(t) >= t ((1/m) sum_i L_i(theta) - theta^T g) - t^2 ||g||^2 / (2 lambda),   0 <= t <= 1.

    At t = 1 the gap P - D is ||lambda theta + g||^2 / (2 lambda): the squared norm of the
    (sub)gradient of P. It certifies only if the inference is exact or an upper bound.

    Parameters
    ----------
    slope : float
        (1/m) sum_i L_i(theta) - theta^T g (nats).
    norm : float
        ||g||^2.
    regularization : float
        lambda.
    """
    t = min(1.0, max(0.0, slope * regularization / norm)) if norm > 0 else 1.0
    return t * slope - t * t * norm / (2 * regularization)
