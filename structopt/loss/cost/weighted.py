"""Wrong variables, each at the price of its gold label."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from structopt.core.cost import Cost
from structopt.core.data import ranges
from structopt.errors import ArgumentError, ConfigError, did_you_mean
from structopt.kernels.waist.record import Array


class Weighted(Cost):
    """Wrong variables at the price of their gold labels,  sum_t w(y_t) [y'_t != y_t].

    Its numbers, ``loss.cost_weights``, are the prices w by label, from 0 to 1e12; labels that are
    not listed cost 1.
    """

    def check(self, numbers: Mapping[str, float]) -> None:
        """Refuse to go without prices, and prices out of range."""
        if not numbers:
            raise ArgumentError(
                "needs `cost_weights`.",
                parameter="cost",
                value="weighted",
                remedy="Set for example 'cost_weights={O: 0.5}'.",
            )
        for label, price in numbers.items():
            ranges.check_at_least(f"cost_weights.{label}", price)

    def of_variables(
        self, labels: Sequence[str], gold: Array, lengths: Array, numbers: Mapping[str, float]
    ) -> Array:
        """The price of each variable's gold label; refuses prices of labels that the training data
        do not have.
        """
        if unknown := set(numbers) - set(labels):
            name = min(unknown)
            raise ConfigError(
                f"has the label '{name}', which the training data do not have."
                f"{did_you_mean(name, labels)}",
                parameter="cost_weights",
                remedy=f"Labels: {', '.join(labels)}.",
                kinds={"cost_weights": "loss"},
            )
        return np.array([numbers.get(label, 1.0) for label in labels], np.float64)[gold]
