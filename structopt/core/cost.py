"""The contract of costs: what a wrong output costs, variable by variable, and in parts of which
role it counts.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar

from structopt.core.component import Component
from structopt.errors import ConfigError
from structopt.kernels.waist.record import Array


class Cost(Component):
    r"""A cost that decomposes over the parts of a role,  cost(y', y) = p^T z' + q,  of which the
    factor graph makes p.

    Its numbers are the loss's ``cost_weights``; which there may be, the cost says (`check`).

    Attributes
    ----------
    role : str
        What it counts: ``variable``, or another role that factor graphs have (`FactorGraph.roles`),
        such as ``arc``.
    """

    kind_of_component: ClassVar[str] = "cost"

    role: str = "variable"

    def check(self, numbers: Mapping[str, float]) -> None:
        """Refuse numbers that mean nothing to it; by default, any.

        Raises
        ------
        ConfigError
        """
        if numbers:
            raise ConfigError(
                "This cost has no numbers of its own.",
                remedy="Leave out loss.cost_weights, or set loss.cost=weighted.",
            )

    @abstractmethod
    def of_variables(
        self, labels: Sequence[str], gold: Array, lengths: Array, numbers: Mapping[str, float]
    ) -> Array:
        """What it costs to miss the gold part of each unit of its role (`FactorGraph.counted`),
        shape (units,): of each variable.

        Parameters
        ----------
        labels : sequence of str
        gold : int32, shape (units,)
            Gold label numbers.
        lengths : int64, shape (instances,)
            Units of each instance.
        numbers : mapping
            The loss's ``cost_weights``.
        """
