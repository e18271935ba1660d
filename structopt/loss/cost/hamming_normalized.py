"""The share of wrong variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from structopt.core.cost import Cost
from structopt.kernels.waist.record import Array


class HammingNormalized(Cost):
    """The share of wrong variables,  (1/n) sum_t [y'_t != y_t],  so that long instances cost no
    more than short ones.
    """

    def of_variables(
        self, labels: Sequence[str], gold: Array, lengths: Array, numbers: Mapping[str, float]
    ) -> Array:
        """One over the number of the instance's variables."""
        return 1.0 / np.repeat(lengths, lengths)
