"""exp of many numbers at once: without calls, so that compilers put several numbers into one
instruction.
"""

from __future__ import annotations

import numpy as np

from structopt.kernels.waist.signatures import inlined

LOWEST = -708.0  # exp of less is subnormal, and returned as 0
LOG2_E = 1.4426950408889634
# their sum is ln 2; k * LN2_HIGH is exact
LN2_HIGH, LN2_LOW = 6.93145751953125e-1, 1.42860682030941723212e-6


@inlined
def exp_nonpositive(x):
    """exp(x) for x <= 0 within 2 units in the last place; 0 below -708, -inf included.

    x = k ln 2 + r with |r| <= (ln 2)/2; exp(r) by its Taylor polynomial of degree 13, whose
    remainder is below 5e-18; 2^k by writing k into the exponent bits.
    """
    y = max(x, LOWEST)
    k = np.floor(y * LOG2_E + 0.5)
    r = (y - k * LN2_HIGH) - k * LN2_LOW
    p = 1.0 / 6227020800.0
    p = p * r + 1.0 / 479001600.0
    p = p * r + 1.0 / 39916800.0
    p = p * r + 1.0 / 3628800.0
    p = p * r + 1.0 / 362880.0
    p = p * r + 1.0 / 40320.0
    p = p * r + 1.0 / 5040.0
    p = p * r + 1.0 / 720.0
    p = p * r + 1.0 / 120.0
    p = p * r + 1.0 / 24.0
    p = p * r + 1.0 / 6.0
    p = p * r + 0.5
    p = p * r + 1.0
    p = p * r + 1.0
    power = np.int64((np.int64(k) + np.int64(1023)) << np.int64(52)).view(np.float64)
    return p * power if x >= LOWEST else 0.0
