"""Numbers m 2^E with an integer exponent E of their own, both float64: sums of products of
exponentials in any range.

The functions call nothing, so that compilers put several numbers into one instruction.
"""

from __future__ import annotations

from math import inf

import numpy as np

from structopt.kernels.arrays.exponential import LN2_HIGH, LN2_LOW, LOG2_E, exp_nonpositive
from structopt.kernels.waist.signatures import inlined

BIAS = 1023.0  # of exponent bits
# adding it to an integer above -2^51 leaves the integer, plus the bias, in the low bits
SHIFT = 4503599627370496.0 + BIAS
MOST = 1e300  # larger exponents are cut off: sums of many remain finite
NOTHING = -1e307
"""Exponent of 0. In sums of exponents it is below every sum without it."""

ONE, FRACTION, FIRST = 0x3FF0000000000000, 0xFFFFFFFFFFFFF, 0x4330000000000000
"""Bits of 1.0, of the fraction of a number, and of 2^52."""


@inlined
def exp_scaled(x):
    """(m, E) with m 2^E = exp(x) and 0.49 < m <= 1; (0, NOTHING) for -inf."""
    y = min(max(x, -MOST), MOST)
    k = np.ceil(y * LOG2_E)
    # beyond 1e11 the rest is a rounding error of x, of any size
    rest = min(max((y - k * LN2_HIGH) - k * LN2_LOW, -0.7), 0.0)
    return (exp_nonpositive(rest), k) if x > -inf else (0.0, NOTHING)


@inlined
def normalized(m, E):
    """(m', E') with m' 2^E' = m 2^E and 1 <= m' < 2, for normal m > 0; (0, NOTHING) for m = 0."""
    bits = np.float64(m).view(np.int64)
    shift = np.int64((bits >> np.int64(52)) | np.int64(FIRST)).view(np.float64) - SHIFT
    fraction = np.int64((bits & np.int64(FRACTION)) | np.int64(ONE)).view(np.float64)
    return (fraction, E + shift) if m > 0.0 else (0.0, NOTHING)
