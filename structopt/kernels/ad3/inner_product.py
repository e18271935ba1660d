"""Inner products of long vectors."""

from __future__ import annotations

from structopt.kernels.waist.signatures import inlined


@inlined
def inner_product(x, i, y, j, count):
    """sum_r x[i + r] y[j + r] over r < count, in four sums that do not wait for each other."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    even = count - count % 4
    for r in range(0, even, 4):
        a += x[i + r] * y[j + r]
        b += x[i + r + 1] * y[j + r + 1]
        c += x[i + r + 2] * y[j + r + 2]
        d += x[i + r + 3] * y[j + r + 3]
    for r in range(even, count):
        a += x[i + r] * y[j + r]
    return (a + b) + (c + d)
