"""The regulariser of P as data: which shares of lambda stand before the l1 norm and before half the
squared norm.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from structopt.core import checks
from structopt.core.component import check_types
from structopt.kernels.waist.record import Array


@dataclass(frozen=True)
class Penalty:
    """R(theta) = lambda (l1 ||theta||_1 + l2/2 ||theta||^2), with lambda = 1/(C m).

    The shares are those of the whole problem: a shard or a block of a stream has the same ones,
    with the lambda of the whole.

    Attributes
    ----------
    l1, l2 : float
        At least 0. With lambda = 1/(C m), m R(theta) is l1/C ||theta||_1 + l2/(2 C) ||theta||^2:
        CRFsuite's c1 is l1/C, and its c2 is l2/(2 C).
    """

    l1: float = 0.0
    l2: float = 1.0

    def __post_init__(self) -> None:
        check_types(type(self), vars(self))
        for name, share in vars(self).items():
            checks.floats(name, share, (), least=0.0)

    @property
    def sparse(self) -> bool:
        """Whether it has the kink that sets weights to exactly 0."""
        return self.l1 > 0.0

    def value(self, weights: Array, regularization: float) -> float:
        """R at some weights, given lambda; a term whose share is 0 costs nothing."""
        absolute = regularization * self.l1 * float(np.abs(weights).sum()) if self.l1 else 0.0
        square = regularization * self.l2 / 2 * float(weights @ weights) if self.l2 else 0.0
        return absolute + square

    def gradient(self, weights: Array, regularization: float) -> Array:
        """Return a subgradient of R at some weights: that of the l1 norm is 0 at weights of 0."""
        out = regularization * self.l2 * weights
        return out + regularization * self.l1 * np.sign(weights) if self.l1 else out


RIDGE, LASSO = Penalty(), Penalty(1.0, 0.0)
PENALTIES = {"l2": RIDGE, "l1": LASSO}
"""The penalties with one term, by their names."""


def L2() -> Penalty:  # named like a class of penalties
    """Return the penalty lambda/2 ||theta||^2."""
    return RIDGE


def L1() -> Penalty:
    """Return the penalty lambda ||theta||_1."""
    return LASSO
