"""Exact inference: the algorithms that the factor graph names."""

from __future__ import annotations

from structopt.core.ability import Ability
from structopt.core.inference import Inference
from structopt.core.structure_kind import InferenceKernels, StructureKind
from structopt.errors import CompatibilityError


class Exact(Inference):
    """The algorithms that the factor graph names: maximisation, marginals and k-best lists.

    Chains, whatever order: Viterbi, forward-backward, k-best Viterbi. Trees: Chu-Liu-Edmonds and
    the matrix-tree theorem; projective ones: Eisner's algorithm and inside-outside on its chart.
    Grammars: CKY, inside-outside, lazy k-best lists, and trees that maximise the product of the
    marginals of their rules. Single variables: a look at every label.
    """

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
