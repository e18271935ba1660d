"""Exact inference: the algorithm that the factor graph names."""

from __future__ import annotations

from structopt.core.protocols import Ability, InferenceKernels
from structopt.errors import CompatibilityError


class Exact:
    """Viterbi, forward-backward and k-best Viterbi on chains, whatever order."""

    def provides(self, structure_kind: str) -> Ability:
        """Exact maximisation, marginals and k-best lists."""
        return Ability.MAP | Ability.MARGINALS | Ability.K_BEST | Ability.EXACT | Ability.UPPER | Ability.CONVEX

    def kernels(self, structure_kind: str) -> InferenceKernels:
        """Pick the algorithms for a kind of structure."""
        if structure_kind != "chain":
            raise CompatibilityError(
                f"inference=exact knows no algorithm for factor graphs of kind '{structure_kind}'. It has one for: chain. "
                "Try inference=enumeration on small graphs."
            )
        from structopt.kernels import chain

        return InferenceKernels(chain.solve, chain.k_best, chain.vertex)
