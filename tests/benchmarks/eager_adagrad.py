"""AdaGrad as it is defined, every coordinate at every step: what the lazy pass must equal, and what
it is timed against.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
from numba import types

from structopt.kernels.learn.adagrad import DELTA
from structopt.kernels.waist.signatures import LONGS, VECTOR, driver
from structopt.kernels.waist.visit import size, visit


@driver(
    types.float64,
    LONGS,
    types.int64,
    VECTOR,
    VECTOR,
    VECTOR,
    types.float64,
    types.float64,
    types.boolean,
)
def adagrad_eager_pass(
    k, data, space, order, batch, theta, squares, dense, eta, regularization, sparse
):
    """`theta` and `squares` are updated; `dense` is scratch, zero before and after. Returns the sum
    of the losses.
    """
    losses = 0.0
    for first in range(0, len(order), batch):
        chosen = order[first : first + batch]
        for i in chosen:
            losses += visit(k, data, space, i, theta)
            k.pullback(data.features, i, space.residual[: size(data, i)], space.gradient)
            k.add(data.features, dense, space.gradient, 1.0 / len(chosen))
        for f in range(len(theta)):
            g = dense[f]
            dense[f] = 0.0
            squares[f] += g * g
            rate = eta / sqrt(DELTA + squares[f])
            x, a = theta[f] - rate * g, rate * regularization
            theta[f] = np.sign(x) * max(0.0, abs(x) - a) if sparse else x / (1.0 + a)
    return losses
