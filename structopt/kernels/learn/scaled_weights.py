"""Weights as scale * v, so that shrinking all of them costs O(1), and the sum of all iterates in O(nnz) a visit.

With theta_t = scale_t v_t, b_t = scale_1 + ... + scale_t and v_{t+1} = v_t + d_t, the sum of the iterates before each update is

    theta_1 + ... + theta_t = b_t v_{t+1} - (b_1 d_1 + ... + b_t d_t),

whose second sum is as sparse as the steps. In the drivers `theta` holds v and `total` the second sum (with its sign, and what
was folded in before) until `fold` makes them the weights and the sum of the iterates.
"""

from __future__ import annotations

from structopt.kernels.waist.signatures import driven, inlined
from structopt.kernels.waist.visit import evaluate, size

SMALLEST = 1e-5  # of the scale: below it, b v and its counterpart would cancel in more than five of sixteen digits


@driven
def scaled_visit(k, data, space, i, theta, scale, residual):
    """L_i at scale * theta; `residual` receives z_bar - z."""
    s = space.scores[: size(data, i)]
    k.scores(data.features, theta, i, s)
    for p in range(len(s)):
        s[p] *= scale
    return evaluate(k, data, space, i, s, residual)


@driven
def scaled_step(k, data, space, theta, total, scale, scales, step):
    """scale * theta += step * gradient, `space.gradient` as the last pullback left it; `scales` is b_t."""
    k.add(data.features, theta, space.gradient, step / scale)
    if len(total) > 0:
        k.add(data.features, total, space.gradient, -scales * step / scale)


@inlined
def shrink(theta, total, scale, scales, factor):
    """Multiply scale by factor; return (scale, b_t), afresh where the scale became too small to go on with."""
    if scale * factor >= SMALLEST:
        return scale * factor, scales
    fold(theta, total, scale * factor, scales)
    return 1.0, 0.0


@inlined
def fold(theta, total, scale, scales):
    """Make `theta` the weights (scale 1) and `total` the sum of the iterates so far (b_t = 0)."""
    for j in range(len(total)):
        total[j] += scales * theta[j]
    for j in range(len(theta)):
        theta[j] *= scale
