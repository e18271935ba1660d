"""The quadratic program of k-best MIRA, solved in its dual by moving mass between pairs of planes.

    min_theta  1/2 ||theta - theta_0||^2 + cap * max_j (a_j^T theta + b_j),    j = 0..K

Planes  a_j^T theta + b_j  bound a loss from below; row 0 is the null plane (a_0 = 0, b_0 = 0). The
dual is

    max_alpha  sum_j alpha_j b_j - 1/2 || theta_0 - sum_j alpha_j a_j ||^2,    alpha >= 0,  sum_j
    alpha_j = cap,

whose solution gives  theta = theta_0 - sum_j alpha_j a_j.  Ascent in one coordinate at a time gets
stuck where the other coordinates take up the whole cap; moving mass from one plane to another does
not.

Besides MIRA (`structopt.kernels.learn.mira`), this solves the problems of exact proximal steps
(`structopt.kernels.learn.proximal_step`), of one instance's cached planes
(`structopt.kernels.learn.cutting_plane`) and of one-slack cutting planes
(`structopt.learning.one_slack`). `structopt.reference.mira_program` solves it by cvxpy.
"""

from __future__ import annotations

from numba import types

from structopt.kernels.waist.signatures import VECTOR, kernel

MATRIX = types.float64[:, ::1]


@kernel(types.int64(MATRIX, VECTOR, VECTOR, types.int64, types.float64, types.int64))
def pair_steps(gram, values, alpha, rows, tolerance, most):
    """Move mass from the lowest plane that has any to the highest one, until their values differ by
    at most `tolerance`.

    With  i = argmin_{alpha_i > 0} v,  j = argmax v:   t = min(alpha_i, (v_j - v_i) / ||a_j -
    a_i||^2), alpha_j += t,  alpha_i -= t,  theta -= t (a_j - a_i).

    Parameters
    ----------
    gram : float64, shape (at least rows, at least rows)
        a_j^T a_k; row and column 0 are zero.
    values : float64, shape (at least rows,)
        v_j = a_j^T theta + b_j; kept up to date.
    alpha : float64, shape (at least rows,)
        The masses, which sum to the cap; updated.
    rows : int
        K + 1.
    tolerance : float
        In units of the values.
    most : int
        Largest number of steps.

    Returns
    -------
    int
        How many steps were made; where it is `most`, the tolerance may not be reached.
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
        mass = alpha[low]
        t = min(mass, (values[high] - values[low]) / norm) if norm > 0.0 else mass
        alpha[high] += t
        alpha[low] = 0.0 if t == mass else mass - t
        for k in range(rows):
            values[k] -= t * (gram[k, high] - gram[k, low])
    return most
