"""Weights as scale * v, so that a step that shrinks all of them costs O(nnz).

In the drivers `theta` holds v until `fold` multiplies it by the scale. The sum of the iterates is
kept along (`structopt.kernels.learn.averaging`): `total`, and b_t, which is called `scale_sum`.
"""

from __future__ import annotations

from structopt.kernels.learn.averaging import scaled_total_step, settle_total
from structopt.kernels.waist.signatures import driven, inlined
from structopt.kernels.waist.views import part
from structopt.kernels.waist.visit import evaluate, size

# of the scale: below it, b v and the sum that is taken from it would cancel in more than five of
# sixteen digits
SMALLEST = 1e-5


@driven
def scaled_visit(k, data, space, i, theta, scale, residual):
    """Return L_i at the weights scale * theta; `residual` becomes z_bar - z."""
    s = part(space.scores, 0, size(data, i))
    k.scores(data.features, theta, i, s, space.gradient)
    for p in range(len(s)):
        s[p] *= scale
    return evaluate(k, data, space, i, s, residual)


@driven
def scaled_step(k, data, space, theta, total, scale, scale_sum, step):
    """scale * theta += step * gradient, with `space.gradient` as the last pullback left it."""
    k.add(data.features, theta, space.gradient, step / scale)
    scaled_total_step(k, data, space, total, scale, scale_sum, step)


@inlined
def shrink(theta, total, scale, scale_sum, factor):
    """Multiply the scale by a factor; return (scale, b_t), which are (1, 0) again where the scale
    became too small.
    """
    if scale * factor >= SMALLEST:
        return scale * factor, scale_sum
    fold(theta, total, scale * factor, scale_sum)
    return 1.0, 0.0


@inlined
def fold(theta, total, scale, scale_sum):
    """Make `theta` the weights themselves (scale 1) and `total` the sum of the iterates so far (b_t
    = 0).
    """
    settle_total(theta, total, scale_sum)
    for j in range(len(theta)):
        theta[j] *= scale
