"""The best extract: the sentences within a budget that cover most of the references, which learning
takes for gold.
"""

from __future__ import annotations

import numpy as np

from structopt.errors import NumericalError
from structopt.kernels.waist.record import Array

SECONDS = 60.0
"""What a document may take; it takes hundredths of a second."""


def best_extract(lengths: Array, budget: int, holders: tuple[Array, Array], worth: Array) -> Array:
    r"""Return the sentences, bool of shape (sentences,), that cover the most, by an integer
    program.

        max  sum_b worth_b c_b    with  c_b <= sum_{j has b} y_j,   sum_j len_j y_j <= budget,   y_j
        in {0, 1}

    Of several, one that takes least of the budget: sentences that cover nothing more are out.

    Parameters
    ----------
    lengths : int, shape (sentences,)
    budget : int
    holders : (int of shape (bigrams + 1,), int of shape (entries,))
        The sentences of each bigram, and where those of each begin.
    worth : float64, shape (bigrams,)
        At least 0.

    Raises
    ------
    NumericalError
        If the solver does not prove that an extract is the best within `SECONDS`.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import coo_array

    n, useful = len(lengths), np.flatnonzero(worth)
    if not len(useful) or lengths.min() > budget:
        return np.zeros(n, bool)
    starts, sentences = holders
    counts = np.diff(starts)[useful]
    row = np.repeat(np.arange(len(useful)), counts)
    entry = np.arange(int(counts.sum())) + np.repeat(
        starts[useful] - np.concatenate([[0], np.cumsum(counts)[:-1]]), counts
    )
    k = len(useful)
    own = coo_array((np.ones(k), (np.arange(k), n + np.arange(k))), shape=(k, n + k))
    held = coo_array((np.ones(len(row)), (row, sentences[entry])), shape=(k, n + k))
    # all lengths together count less than any bigram
    tie = worth[useful].min() / (2.0 * (1.0 + lengths.sum()))
    answer = milp(
        np.concatenate([tie * lengths, -worth[useful]]),
        integrality=np.concatenate([np.ones(n), np.zeros(k)]),
        bounds=Bounds(0.0, np.concatenate([(lengths <= budget).astype(float), np.ones(k)])),
        constraints=[
            LinearConstraint((own - held).tocsr(), -np.inf, 0.0),
            LinearConstraint(np.concatenate([lengths, np.zeros(k)])[None, :], -np.inf, budget),
        ],
        options={"time_limit": SECONDS, "mip_rel_gap": 0.0},
    )
    if answer.status != 0:
        raise NumericalError(
            f"The best extract of a document with {n} sentences was not found within {SECONDS:g} s."
        )
    return np.asarray(answer.x[:n] > 0.5)
