"""The quadratic program of a few half-spaces with a common cap, solved by steps between pairs of rows.

Rows j = 0..K stand for lower bounds  a_j^T theta + b_j  of a loss; row 0 is the null row (a_0 = 0, b_0 = 0). The dual is

    max_alpha  sum_j alpha_j b_j - 1/2 || theta_0 - sum_j alpha_j a_j ||^2,    alpha >= 0,  sum_j alpha_j = cap.

One coordinate at a time sticks once the sum is full; moving mass between two rows does not.
"""

from __future__ import annotations

from math import inf

from numba import types

from structopt.kernels.waist.signatures import VECTOR, kernel

MATRIX = types.float64[:, ::1]


@kernel(types.int64(MATRIX, VECTOR, VECTOR, types.int64, types.float64, types.int64))
def pair_steps(gram, values, alpha, rows, tolerance, most):
    """Move mass from the lowest active row to the highest until their values differ by at most `tolerance`.

    With  i = argmin_{alpha_i > 0} v,  j = argmax v:   t = min(alpha_i, (v_j - v_i) / ||a_j - a_i||^2),
    alpha_j += t,  alpha_i -= t,  theta -= t (a_j - a_i).

    Parameters
    ----------
    gram : float64, shape (at least rows, at least rows)
        a_j^T a_k; row and column 0 are zero.
    values : float64, shape (at least rows,)
        v_j = a_j^T theta + b_j; kept up to date.
    alpha : float64, shape (at least rows,)
        The masses, their sum the cap; updated.
    rows : int
        K + 1.
    tolerance : float
        In units of the values.
    most : int
        Largest number of steps.

    Returns
    -------
    int
        How many steps were made; `most` may mean that the tolerance was not reached.
    """
    for step in range(most):
        low, high = -1, 0
        for j in range(rows):
            if values[j] > values[high]:
                high = j
            if alpha[j] > 0.0 and (low < 0 or values[j] < values[low]):
                low = j
        if low < 0 or values[high] - values[low] <= tolerance:
            return step
        norm = gram[high, high] + gram[low, low] - 2.0 * gram[high, low]
        room = alpha[low]
        t = min(room, (values[high] - values[low]) / norm) if norm > 0.0 else room
        alpha[high] += t
        alpha[low] = 0.0 if t == room else room - t
        for k in range(rows):
            values[k] -= t * (gram[k, high] - gram[k, low])
    return most


@kernel(types.float64(VECTOR, VECTOR, types.int64))
def violation(values, alpha, rows):
    """Return the largest value less the smallest value of an active row: 0 at the optimum."""
    highest, lowest = values[0], inf
    for j in range(rows):
        highest = max(highest, values[j])
        if alpha[j] > 0.0:
            lowest = min(lowest, values[j])
    return highest - lowest
