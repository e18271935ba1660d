"""Exact inference: the algorithm that the factor graph names."""

from __future__ import annotations

from importlib import import_module

from structopt.core.ability import Ability
from structopt.core.inference import Inference, InferenceKernels
from structopt.errors import CompatibilityError

KINDS = ("chain", "single", "arborescence", "projective")
"""Kinds of structures; the algorithms of each are the module of that name in `structopt.kernels`."""


class Exact(Inference):
    """The algorithms that the factor graph names.

    Chains, whatever order: Viterbi, forward-backward, k-best Viterbi. Trees: Chu-Liu-Edmonds and the matrix-tree theorem;
    projective ones: Eisner's algorithm and inside-outside on its chart. Single variables: a look at every label.
    """

    def provides(self, structure_kind: str) -> Ability:
        """Exact maximisation, marginals and k-best lists."""
        if structure_kind not in KINDS:
            return Ability(0)
        return Ability.MAP | Ability.MARGINALS | Ability.K_BEST | Ability.EXACT | Ability.UPPER | Ability.CONVEX

    def kernels(self, structure_kind: str) -> InferenceKernels:
        """Pick the algorithms for a kind of structure."""
        if structure_kind not in KINDS:
            raise CompatibilityError(
                f"inference=exact knows no algorithm for factor graphs of kind '{structure_kind}'. "
                f"It has one for: {', '.join(KINDS)}. Try inference=enumeration on small graphs."
            )
        algorithms = import_module(f"structopt.kernels.{structure_kind}")
        return InferenceKernels(algorithms.solve, algorithms.k_best, algorithms.vertex)
