"""Loopy belief propagation: quick and often good, but no bound."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from structopt.core.ability import Ability
from structopt.core.data.structure import Structure
from structopt.core.factor_kind import COMPILED
from structopt.core.inference import Inference
from structopt.core.structure_kind import InferenceKernels, StructureKind
from structopt.errors import ArgumentError
from structopt.inference.refusals import admit_kinds, check_kind
from structopt.kernels.waist.record import Array


class LoopyBP(Inference):
    """Pass messages between factors and variables, trees and other hard constraints being factors
    like any other.

    The value is temperature times the logarithm of the Bethe partition function, the marginals are
    the beliefs; both are exact on graphs without cycles. On others the value is no bound and not
    convex, so that losses may be negative. At temperature 0 messages are max-product, and the
    answer is an output with its score.

    Parameters
    ----------
    passes : int
        The most passes over the factors of an instance.
    damping : float
        Share of the old message (its log-odds) in the new one, 0 <= damping < 1.
    tolerance : float
        Passes end when none has changed a variable's marginal by more than this.
    decoding_temperature : float
        Temperature of the marginals that predictions are read off, as the output of least expected
        cost; 0 takes the output that max-product finds.

    Notes
    -----
    Smith and Eisner (2008); Yedidia et al. (2005) for the value. A pass is linear in the private
    parts, and O(n^3) in a tree's tokens; max-product through a tree takes a best tree an arc.
    """

    of_factors = COMPILED

    def __init__(
        self,
        passes: int = 10,
        damping: float = 0.0,
        tolerance: float = 1e-4,
        decoding_temperature: float = 1.0,
    ) -> None:
        if passes < 1:
            raise ArgumentError(
                "must be at least 1.",
                parameter="passes",
                value=passes,
                remedy="Ten passes are usual.",
            )
        if not 0.0 <= damping < 1.0:
            raise ArgumentError(
                "must be at least 0 and below 1; 0 means no damping.",
                parameter="damping",
                value=damping,
            )
        if not tolerance >= 0.0:
            raise ArgumentError(
                "must be at least 0; 0 runs all passes.",
                parameter="tolerance",
                value=tolerance,
            )
        if not 0.0 <= decoding_temperature < np.inf:
            raise ArgumentError(
                "must be 0 or a finite number above 0.",
                parameter="decoding_temperature",
                value=decoding_temperature,
                remedy="Set 1 to predict from the marginals, or 0 for the best output found.",
            )
        self.passes, self.damping, self.tolerance = passes, damping, tolerance
        self.decoding_temperature = decoding_temperature

    def provides(self, kind: StructureKind) -> Ability:
        """Outputs and marginals, neither exact nor bounded."""
        return Ability.MAP | Ability.MARGINALS if kind.loopy else Ability(0)

    def kernels(self, kind: StructureKind) -> InferenceKernels:
        """Pick the algorithm for a kind of structure."""
        from structopt.kernels.loopy.loopy_bp import solve

        check_kind("LoopyBP", kind)
        return InferenceKernels(solve)

    def prepare(self, structure: Structure) -> Structure:
        """Give the structure scratch for its largest instance, and each instance memory for the
        number of its passes.
        """
        from structopt.inference.factor_sizes import factor_sizes
        from structopt.kernels.loopy.loopy_bp import PROPAGATION

        admit_kinds(self, structure.record)
        size = factor_sizes(structure.record)
        work = PROPAGATION.pack(
            passes=self.passes,
            damping=self.damping,
            tolerance=self.tolerance,
            b=size.shared,
            odds=size.shared,
            norm=size.shared,
            seen=size.shared,
            messages=size.messages,
            n=size.linked,
            out=size.linked,
            floats=size.floats,
            ints=size.ints,
        )
        return replace(structure, work=work, memory=np.arange(len(structure) + 1))

    def diagnostics(self, messages: Array) -> dict[str, float]:
        """``unconverged``: share of the instances visited whose messages still moved when their
        last visit's passes were over.
        """
        visited = messages[messages != 0.0]
        return {"unconverged": float((visited < 0.0).mean()) if len(visited) else 0.0}
