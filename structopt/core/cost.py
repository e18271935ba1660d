"""The contract of costs: what a wrong output costs, variable by variable, and in parts of which
role it counts.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from structopt.core.component import Component
from structopt.core.data.encoded import Encoded
from structopt.core.data.sparse_vectors import SparseVectors
from structopt.core.data.structure import Structure
from structopt.errors import ArgumentError, ConfigError
from structopt.kernels.waist.record import Array

if TYPE_CHECKING:
    from structopt.core.factor_graph import FactorGraph
    from structopt.core.parts.batch import Gold
    from structopt.core.parts.parts import Parts

LABEL = "label"
NO_NUMBERS: Mapping[str, float] = MappingProxyType({})


class Cost(Component):
    r"""A cost that decomposes over the parts of a role,  cost(y', y) = p^T z' + q;  the factor
    graph builds p.

    Its numbers are the loss's ``cost_weights``; which there may be, the cost says (`check`).

    Attributes
    ----------
    role : str
        What it counts: ``variable``, or another role that factor graphs have (`FactorGraph.roles`),
        such as ``arc``. In ``label`` a variable has one part per label, so that each label can have
        another cost.
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
                remedy="Leave out `cost_weights`, or set cost=weighted.",
            )

    @abstractmethod
    def of_variables(
        self, labels: Sequence[str], gold: Array, lengths: Array, numbers: Mapping[str, float]
    ) -> Array:
        """What it costs to miss the gold part of each unit of its role (`FactorGraph.counted`),
        shape (units,): of each variable.

        Costs of the role ``label`` return shape (units, labels): the cost of each predicted label,
        which is 0 for the gold one.

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

    def parts(self, gold: Gold, numbers: Mapping[str, float] = NO_NUMBERS) -> tuple[Parts, Array]:
        """Return p and q of  cost(y', y) = p^T z' + q.

        Parameters
        ----------
        gold : Gold
            Gold outputs y of a batch. Outputs that agree with an open one cost 0.
        numbers : mapping
            The loss's ``cost_weights``.

        Returns
        -------
        (Parts, float64 of shape (instances,))
        """
        batch, encoded = gold.batch, gold.encoded
        z = batch.graph.gold(encoded, batch.structure)
        unit_costs = partial(self.of_variables, numbers=numbers)
        p = batch.dense(
            cost_vectors(batch.graph, encoded, batch.structure, self.role, unit_costs, z)
        )
        return p, 0.0 - p @ batch.dense(z)


def cost_vectors(
    graph: FactorGraph,
    encoded: Encoded,
    structure: Structure,
    role: str,
    unit_costs: Callable[[Sequence[str], Array, Array], Array],
    gold: SparseVectors,
) -> SparseVectors:
    """Return p of  cost(y', y) = p^T z' + q  of each instance.

    Parameters
    ----------
    graph : FactorGraph
    encoded : Encoded
        With gold outputs.
    structure : Structure
    role : str
        One of `FactorGraph.roles`.
    unit_costs : callable
        `Cost.of_variables` without its last argument.
    gold : SparseVectors
        The gold outputs; of open instances it may have no entries.

    Raises
    ------
    ConfigError
        For a role that the graph does not have.
    ArgumentError
        If a cost of another role than ``label`` has a number per label.
    """
    graph.check_role(role)
    labels, units, lengths = graph.counted(role, encoded)
    of_units = unit_costs(labels, units, lengths)
    if of_units.ndim == 1:
        return graph.cost(encoded, structure, of_units, role, gold)
    if role != LABEL:
        raise ArgumentError(
            f"has a number per label, and counts parts of the role {role}.",
            parameter="cost",
            remedy=f"Set role = {LABEL!r} in the class of the cost.",
        )
    begins, ends = structure.spans(graph.roles[role])
    if encoded.gold_sets is not None:
        # of several allowed gold labels the cheapest counts
        of_units = np.full(of_units.shape, np.inf)
        for label in range(len(labels)):
            allowed = encoded.gold_sets[:, label]
            table = unit_costs(labels, np.full_like(units, label), lengths)
            np.minimum(of_units, table, out=of_units, where=allowed[:, None])
    of_units = encoded.of_label_parts(of_units)
    index = np.flatnonzero(of_units)
    instance = np.searchsorted(ends, index, side="right") - 1
    parts = (index - ends[instance] + begins[instance]).astype(np.int32)
    offsets = np.searchsorted(index, ends).astype(np.int64)
    return SparseVectors(offsets, parts, of_units[index])
