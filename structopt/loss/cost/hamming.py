"""Wrong variables, counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from structopt.core.cost import Cost
from structopt.kernels.waist.record import Array


class Hamming(Cost):
    """The number of wrong variables,  sum_t [y'_t != y_t].

    Notes
    -----
    Taskar et al. (2003); Martins et al. (2010), footnote 4; Bartlett et al. (2004), example 1.
    """

    def of_variables(
        self, labels: Sequence[str], gold: Array, lengths: Array, numbers: Mapping[str, float]
    ) -> Array:
        """1 for each variable."""
        return np.ones(len(gold))
