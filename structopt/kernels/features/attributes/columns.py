"""Gradients of attribute rows over all instances at once, read by columns: where each attribute
occurs.
"""

from __future__ import annotations

from numba import types

from structopt.kernels.arrays.row_tables import add_beginning
from structopt.kernels.arrays.rows import add_scaled
from structopt.kernels.waist.signatures import LONGS, VECTOR, kernel
from structopt.kernels.waist.views import part


@kernel(types.void(LONGS, LONGS, VECTOR, types.int64, types.int64, types.int64, VECTOR, VECTOR))
def gather(columns, begins, values, width, first, last, residuals, dense):
    """Rows first <= a < last of sum_i F_i r_i: each the sum of the residual rows of the positions
    that have attribute a.

    The positions that have attribute a have the residual rows that begin at ``begins[columns[a] :
    columns[a + 1]]``; `values` is as long as `begins`, or empty when all are 1. `dense` receives
    the rows.
    """
    for a in range(first, last):
        row, begin, end = part(dense, a * width, (a + 1) * width), columns[a], columns[a + 1]
        row[:] = 0.0
        if len(values) > 0:
            for j in range(begin, end):
                add_scaled(row, values[j], part(residuals, begins[j], begins[j] + width))
        else:
            add_beginning(row, residuals, part(begins, begin, end))
