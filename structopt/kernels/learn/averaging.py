"""The mean of the iterates as passes collect it: `lag` or `total`, which
`structopt.learning.averaging` defines.

`lag` is for steps that change the weights of one gradient only: it changes where theta does
(`averaged_step`). `total` is for steps that shrink all weights, and is kept up in one of two ways:

- Where theta_t = scale_t v_t and v_{t+1} = v_t + d_t (`structopt.kernels.learn.scaled_weights`),
  with weights w_t of the iterates and b_t = w_1 scale_1 + ... + w_t scale_t,

      w_1 theta_1 + ... + w_t theta_t = b_t v_{t+1} - (b_1 d_1 + ... + b_t d_t).

  `total` holds the second sum, which is as sparse as the steps, until `settle_total` adds the
  first.
- Where a coordinate takes many steps without a gradient at once
  (`structopt.kernels.learn.lazy_regularization`), the sum of its iterates is a geometric series
  (`geometric_sum`, l2) or an arithmetic one (`arithmetic_sum`, l1).
"""

from __future__ import annotations

from math import expm1, floor, log1p

from structopt.kernels.waist.signatures import driven, inlined


@driven
def averaged_step(k, data, space, theta, lag, step, weight):
    """theta += step * gradient and, unless `lag` is empty, lag += weight * step * gradient.

    The gradient is `space.gradient`; `weight` is the sum of the weights of the iterates before the
    step.
    """
    k.add_both(data.features, theta, lag, space.gradient, step, weight * step)


@driven
def add_to_lag(k, data, space, lag, step, weight):
    """lag += weight * step * gradient, unless it is empty: `averaged_step` for a step that theta
    has made already.
    """
    if len(lag) > 0:
        k.add(data.features, lag, space.gradient, weight * step)


@driven
def scaled_total_step(k, data, space, total, scale, scale_sum, step):
    """total -= b_t d_t unless `total` is empty, d_t = (step / scale) * gradient; `scale_sum` is
    b_t.
    """
    if len(total) > 0:
        k.add(data.features, total, space.gradient, -scale_sum * step / scale)


@inlined
def settle_total(v, total, scale_sum):
    """total += b_t v: afterwards it is the sum of the iterates, and b begins again at 0."""
    for j in range(len(total)):
        total[j] += scale_sum * v[j]


@inlined
def geometric_sum(a, t):
    """1 + (1 + a)^-1 + ... + (1 + a)^-(t-1): the iterates of a weight of 1 that t steps divide by 1
    + a.
    """
    lost = -expm1(-t * log1p(a))  # 1 - (1 + a)^-t, to full precision for small a
    return lost * (1.0 + a) / a if a > 0.0 else float(t)


@inlined
def arithmetic_sum(length, a, t):
    """length + (length - a) + (length - 2 a) + ..., up to t terms, as long as they are positive: t
    steps of l1 towards 0.
    """
    n = min(float(t), floor(length / a) + 1.0)  # terms that are not yet zero
    return n * length - a * n * (n - 1.0) / 2.0
