"""Selections of items within a budget as factor graphs: one binary variable an item, and one
KNAPSACK factor over all.
"""

from __future__ import annotations

from itertools import pairwise, product
from types import MappingProxyType
from typing import Any

import numpy as np

from structopt.plugin import (
    Array,
    ConfigError,
    FactorGraph,
    FactorRows,
    GraphTraits,
    InferenceKernels,
    PartGroup,
    SparseVectors,
    Structure,
    pack_factors,
    part_offsets,
)
from structopt.plugin.kernels import FACTORS, Record, StructureKind, check_count
from structopt.plugin.provisional import Encoded
from structopt_knapsack.data import EncodedKnapsacks

MOST_CELLS = 50_000_000
"""Numbers in the tables of one instance, 8 bytes each."""


def algorithms() -> InferenceKernels:
    """The exact algorithms; importing them compiles them."""
    from structopt_knapsack import kernels

    return InferenceKernels(kernels.solve, kernels.k_best)


def vertices(structure: Record, i: int, parts: int, most: int) -> Array:
    """Indicators of all selections of instance i that are within the budget."""
    f = FACTORS.open(structure)
    budget, *weights = f.extra[f.extras[f.factors[i]] : f.extras[f.factors[i] + 1]].tolist()
    check_count(i, 2.0**parts, f"selections to look at (2^{parts})", most)
    listed = np.array(list(product((0.0, 1.0), repeat=parts)))
    return np.asarray(listed[listed @ np.array(weights, float) <= budget])


KIND = StructureKind("knapsack", algorithms, vertices, loopy=True, lists=True)
"""Its record has variables and factors, which ad3, lp, ilp, loopy_bp and trw_bp read;
inference=exact is a dynamic program.
"""


class KnapsackGraph(FactorGraph):
    r"""Any selection y of items that weighs at most the budget, the empty one too.

        score(y) = sum_{j in y} s_j,    sum_{j in y} w_j <= B

    An item has one part, which is on if the item is selected. Inference costs O(n B).

    Notes
    -----
    The cost of a wrong item, missed or selected by mistake, is its weight c_j in the cost: +c_j at
    the parts of items that are not gold, -c_j at the parts of gold items. The weights w_j and the
    budget B are integers.
    """

    traits = GraphTraits(KIND, anchored=True)
    views = MappingProxyType({"selection": "item"})

    @property
    def rounding(self) -> Any:
        """The kernel that selects the most probable items within the budget."""
        from structopt_knapsack.kernels import round_selection

        return round_selection

    def build(self, encoded: Encoded, positional: bool = False) -> Structure:
        """Lay out one part per item; no part is tied, whether `positional` or not.

        Raises
        ------
        ConfigError
            For a corpus of another task, negative weights, and tables that are too large.
        """
        from structopt_knapsack.kernels import SCRATCH

        knapsacks = _knapsacks_of(encoded)
        weights, budgets = _by_instance(knapsacks)
        size = _table_size(weights, budgets)
        rows = []
        for items, budget in zip(weights, budgets, strict=True):
            factor = FactorRows(np.ones(len(items), np.int32))
            factor.add("knapsack", np.arange(len(items)), extra=np.array([budget, *items]))
            rows.append(factor)
        groups = (PartGroup("item", 1, encoded.offsets),)
        memory = np.zeros(len(encoded) + 1, np.int64)
        work = SCRATCH.pack(table=size)
        return Structure(pack_factors(rows), groups, part_offsets(groups), self.kind, memory, work)

    def gold(self, encoded: Encoded, structure: Structure) -> SparseVectors:
        """Indicators of the selected items.

        Raises
        ------
        ConfigError
            For a gold selection over the budget.
        """
        knapsacks = _knapsacks_of(encoded)
        assert encoded.gold is not None
        chosen = np.flatnonzero(encoded.gold == 1)
        instance = np.searchsorted(encoded.offsets, chosen, side="right") - 1
        taken = np.bincount(instance, knapsacks.weights[chosen], len(encoded))
        over = np.flatnonzero(taken > knapsacks.budgets)
        if len(over):
            raise ConfigError(
                f"factor_graph=knapsack: the gold selection of instance {over[0] + 1} weighs "
                f"{taken[over[0]]:g}, over the budget "
                f"of {knapsacks.budgets[over[0]]}. Correct the training data."
            )
        offsets = np.searchsorted(chosen, encoded.offsets).astype(np.int64)
        return SparseVectors(
            offsets, (chosen - encoded.offsets[instance]).astype(np.int32), np.ones(len(chosen))
        )

    def cost(
        self,
        encoded: Encoded,
        structure: Structure,
        weights: Array,
        role: str = "variable",
        gold: SparseVectors | None = None,
    ) -> SparseVectors:
        """Cost of wrong items: +weights_j at the part of an item that is not gold, -weights_j at
        the part of a gold item.
        """
        self.check_role(role)
        assert encoded.gold is not None
        parts = np.arange(len(weights)) - np.repeat(encoded.offsets[:-1], np.diff(encoded.offsets))
        return SparseVectors(
            encoded.offsets, parts.astype(np.int32), np.where(encoded.gold == 1, -weights, weights)
        )

    def view(
        self, name: str, encoded: Encoded, structure: Structure, outputs: SparseVectors
    ) -> Array:
        """Whether each item is selected, bool of shape (items,)."""
        parts, counts = structure.active_in("item", outputs)
        selected = np.zeros(int(encoded.offsets[-1]), bool)
        selected[parts[counts > 0.5]] = True
        return selected

    def probabilities(
        self, name: str, encoded: Encoded, structure: Structure, marginals: list[Array]
    ) -> list[Array]:
        """Probabilities that each item is out, and that it is in, shape (items, 2)."""
        return [np.stack([1.0 - p, p], axis=1) for p in marginals]


def _knapsacks_of(encoded: Encoded) -> EncodedKnapsacks:
    """Return the corpus, or refuse one without budgets."""
    if not isinstance(encoded, EncodedKnapsacks):
        raise ConfigError(
            "factor_graph=knapsack selects the items of task=knapsack; take the task's own "
            "factor graph."
        )
    return encoded


def _by_instance(knapsacks: EncodedKnapsacks) -> tuple[list[Array], list[int]]:
    """Weights and budget of every instance; a budget above the weight of all items is lowered to
    it.
    """
    if (
        len(knapsacks.weights)
        and knapsacks.weights.min() < 0
        or len(knapsacks.budgets)
        and knapsacks.budgets.min() < 0
    ):
        raise ConfigError("factor_graph=knapsack: weights of items and budgets must be at least 0.")
    weights = [knapsacks.weights[a:b] for a, b in pairwise(knapsacks.offsets.tolist())]
    return weights, [
        min(int(b), int(w.sum())) for b, w in zip(knapsacks.budgets, weights, strict=True)
    ]


def _table_size(weights: list[Array], budgets: list[int]) -> int:
    """The size of the tables of the largest instance."""
    from structopt_knapsack.kernels import cells

    sizes = cells([len(items) for items in weights], budgets)
    if sizes.max(initial=0) > MOST_CELLS:
        i = int(sizes.argmax())
        raise ConfigError(
            f"factor_graph=knapsack: instance {i + 1} has {len(weights[i])} items and a budget "
            f"of {budgets[i]}, whose tables "
            f"need {8 * int(sizes[i]) / 1e9:.1f} GB. Give weights and budget in larger units."
        )
    return int(sizes.max(initial=0))
