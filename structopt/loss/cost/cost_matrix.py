"""Wrong variables, each at the cost of its gold and its predicted label."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from structopt.core import checks
from structopt.core.cost import LABEL, Cost
from structopt.errors import ArgumentError
from structopt.kernels.waist.record import Array


class CostMatrix(Cost):
    """The sum of a matrix of costs over the variables,  sum_t M[y_t, y'_t].

    If several gold labels of a variable are allowed, the cheapest one counts.

    Parameters
    ----------
    matrix : array-like, shape (labels, labels)
        M: rows are gold labels, columns predicted ones; at least 0, with zeros on the diagonal.

    Raises
    ------
    ArgumentError
        For another shape, negative and infinite numbers, and a diagonal that is not zero.

    Examples
    --------
    >>> import structopt as so
    >>> loss = so.SVM(cost=so.CostMatrix([[0.0, 1.0], [5.0, 0.0]]))  # missing label 1 costs 5
    """

    role = LABEL

    def __init__(self, matrix: Any) -> None:
        M = checks.floats("matrix", matrix, (None, None), least=0.0)
        if M.shape[0] != M.shape[1]:
            raise ArgumentError(
                f"has the shape {M.shape}, and must have a row and a column per label.",
                parameter="matrix",
            )
        wrong = np.flatnonzero(M.diagonal())
        if len(wrong):
            i = int(wrong[0])
            raise ArgumentError(
                "must be 0: the gold label costs nothing.",
                parameter="matrix",
                value=float(M[i, i]),
                where=checks.at_index((i, i)),
            )
        M.setflags(write=False)
        self.matrix = M

    def of_variables(
        self, labels: Sequence[str], gold: Array, lengths: Array, numbers: Mapping[str, float]
    ) -> Array:
        """The row of each variable's gold label.

        Raises
        ------
        ArgumentError
            For another number of labels.
        """
        if len(labels) != len(self.matrix):
            raise ArgumentError(
                f"has {len(self.matrix)} rows, and there are {len(labels)} labels.",
                parameter="matrix",
            )
        return np.asarray(self.matrix[gold])
