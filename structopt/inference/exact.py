"""Exact inference: the algorithms that the factor graph names."""

from __future__ import annotations

from structopt.core.ability import Ability
from structopt.core.data.structure import Structure
from structopt.core.inference import Inference
from structopt.core.structure_kind import InferenceKernels, StructureKind
from structopt.errors import ArgumentError, CompatibilityError


class Exact(Inference):
    """The algorithms that the factor graph names: maximisation, marginals and k-best lists.

    Chains, whatever order: Viterbi, forward-backward, k-best Viterbi. Trees: Chu-Liu-Edmonds and
    the matrix-tree theorem; projective ones: Eisner's algorithm and inside-outside on its chart.
    Grammars: CKY, inside-outside, lazy k-best lists, and trees that maximise the product of the
    marginals of their rules. Single variables: a look at every label. Graphs of small tree-width:
    variable elimination in min-fill order.

    Parameters
    ----------
    max_table : int
        The most entries of a table of variable elimination. On a graph that needs a larger one,
        inference is refused.

    Notes
    -----
    Variable elimination takes O(number of variables * K^(w + 1)) time and memory for K states and
    an order of width w. Bertele and Brioschi (1972); Lauritzen and Spiegelhalter (1988).
    """

    def __init__(self, max_table: int = 1_000_000) -> None:
        if max_table < 1:
            raise ArgumentError(
                "must be at least 1.",
                parameter="max_table",
                value=max_table,
                remedy="A million entries take about 40 MB.",
            )
        self.max_table = max_table

    def provides(self, kind: StructureKind) -> Ability:
        """Exact maximisation and marginals; lists, and outputs made of marginals, where the graph
        knows how.
        """
        if kind.exact is None:
            return Ability(0)
        lists = Ability.K_BEST if kind.lists else Ability(0)
        rounding = Ability.ROUNDING if kind.rounds else Ability(0)
        return (
            Ability.MAP
            | Ability.MARGINALS
            | Ability.EXACT
            | Ability.UPPER
            | Ability.CONVEX
            | lists
            | rounding
        )

    def kernels(self, kind: StructureKind) -> InferenceKernels:
        """Load the algorithms for a kind of structure."""
        if kind.exact is None:
            raise CompatibilityError(
                f"Exact(): factor graphs of kind '{kind}' name no exact algorithm.",
                remedy="Try Enumeration() on small graphs.",
            )
        return kind.exact()

    def prepare(self, structure: Structure) -> Structure:
        """Give structures whose variables are eliminated the junction trees of their graphs.

        Raises
        ------
        CompatibilityError
            If a graph needs a table of more than `max_table` entries.
        """
        if not structure.kind.eliminates:
            return structure
        from structopt.inference.junction_trees import with_junction_trees

        return with_junction_trees(structure, self.max_table)
