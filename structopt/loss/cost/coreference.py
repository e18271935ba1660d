"""Wrong antecedents of mentions, each kind of error at its price."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from structopt.core.cost import Cost
from structopt.core.data import ranges
from structopt.errors import ArgumentError, did_you_mean
from structopt.kernels.waist.record import Array

PRICES = {"false_anaphor": 0.1, "false_new": 3.0, "wrong_link": 1.0}


class Coreference(Cost):
    """The sum of the prices of wrong choices: of mentions that start an entity, and of those that
    have an antecedent.

    Its numbers, ``loss.cost_weights``: ``false_anaphor`` for an antecedent of a mention that has
    none, ``false_new`` for none where there is one, ``wrong_link`` for an antecedent of another
    entity. By default .1, 3 and 1.

    Notes
    -----
    Durrett and Klein (2013), section 3.2; Kummerfeld et al. (2015) use the same prices.
    """

    role = "link"

    def check(self, numbers: Mapping[str, float]) -> None:
        """Refuse other errors than these, and prices out of range."""
        for name, price in numbers.items():
            if name not in PRICES:
                raise ArgumentError(
                    f"has the key '{name}', which `cost=coreference` does not have."
                    f"{did_you_mean(name, PRICES)}",
                    parameter="cost_weights",
                    remedy=f"Keys: {', '.join(PRICES)}.",
                )
            ranges.check_at_least(f"cost_weights.{name}", price)

    def of_variables(
        self, labels: Sequence[str], gold: Array, lengths: Array, numbers: Mapping[str, float]
    ) -> Array:
        """Prices of missing a unit.

        A unit ``new`` is missed by any antecedent, ``link`` by an antecedent of another entity and
        by none at all, ``anaphor`` by none at all; so the last costs what a false new costs more
        than a wrong link.
        """
        prices = PRICES | dict(numbers)
        missed = {
            "new": prices["false_anaphor"],
            "link": prices["wrong_link"],
            "anaphor": prices["false_new"] - prices["wrong_link"],
        }
        return np.array([missed[label] for label in labels], np.float64)[gold]
