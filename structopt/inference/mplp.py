"""Max-product linear programming: messages that lower an upper bound on the best score of a graph
of pairs.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf

import numpy as np

from structopt.core.ability import Ability
from structopt.core.data.structure import Structure
from structopt.core.factor_graph import FactorGraph
from structopt.core.factor_kind_table import component_of
from structopt.core.inference import Inference, Messages
from structopt.core.structure_kind import InferenceKernels, StructureKind
from structopt.errors import ArgumentError, CompatibilityError
from structopt.inference.refusals import check_kind
from structopt.kernels.waist.record import Array, Record

CONVERGED = {"passes": 20_000, "tolerance": 1e-6}
"""Options with which messages count as converged: a pass lowers the bound by no more than the
tolerance.
"""


class MPLP(Inference):
    """The dual of the linear relaxation over pairs of variables, minimised variable by variable
    (max-sum diffusion in stars).

    The value is an upper bound on the relaxation's, whenever the passes end; it never rises from
    one pass to the next. Where all variables have two states it comes down to the relaxation's
    value. With more states it can stick above it; smoothing then comes nearer, slowly.

    Parameters
    ----------
    passes : int
        Most passes over the variables at a visit; 0 leaves the messages as they are.
    tolerance : float
        Passes end when one lowers the bound by no more than this (scores' unit); 0 does them all.
    smoothing : float
        K of the soft maximum (1/K) log sum exp(K .) that replaces every maximum, in units of one
        over the scores': the value lies above the bound, by at most log(configurations) / K a
        variable or edge. 0 takes the maximum itself.
    warm_start : bool
        Whether an instance starts from the messages of its last visit: few passes then do, for a
        number an edge and variable where there are two states, and one for each state otherwise.

    Notes
    -----
    The (sub)gradient is the one at the messages where the passes end: indicators of the best states
    of every variable and of the best pairs of every edge, each taken for itself. They agree where
    the bound is the best score. The states of the variables are the predictions. Compiled; O(edges
    K^2) a pass. Meshi et al. (2010), section 3.1; Globerson and Jaakkola (2008).
    """

    def __init__(
        self,
        passes: int = 1000,
        tolerance: float = 1e-4,
        smoothing: float = 0.0,
        warm_start: bool = False,
    ) -> None:
        if passes < 0:
            raise ArgumentError(
                "must be at least 0.",
                parameter="passes",
                value=passes,
                remedy="Set the maximum number of passes over the variables, such as 10.",
            )
        for name, value in (("tolerance", tolerance), ("smoothing", smoothing)):
            if not 0 <= value < inf:
                raise ArgumentError(
                    "must be 0 or a finite number above 0.",
                    parameter=f"{name}",
                    value=value,
                )
        self.passes, self.tolerance, self.smoothing, self.warm_start = (
            passes,
            tolerance,
            smoothing,
            warm_start,
        )

    @property
    def messages(self) -> Messages:
        """Kept from visit to visit with `warm_start`, else new ones at every visit."""
        return Messages.KEPT if self.warm_start else Messages.FRESH

    def provides(self, kind: StructureKind) -> Ability:
        """Return upper bounds; not convex ones, as messages follow the scores."""
        return Ability.MAP | Ability.UPPER if kind.loopy else Ability(0)

    def refusal(self, graph: FactorGraph) -> str:
        """It solves graphs with factors over pairs of variables alone."""
        if not graph.traits.kind.loopy or graph.traits.pairs_only:
            return ""
        return (
            "MPLP() passes messages along tables over two variables, and this factor graph has "
            "other factors. Use AD3(), which takes all kinds, or LP() or ILP()."
        )

    def kernels(self, kind: StructureKind) -> InferenceKernels:
        """Return the solver."""
        from structopt.kernels.loopy.mplp import solve

        check_kind("MPLP", kind)
        return InferenceKernels(solve)

    def prepare(self, structure: Structure) -> Structure:
        """Give the structure scratch for its largest instance, and memory where visits start from
        the last.

        Raises
        ------
        CompatibilityError
            For factors over anything but two variables.
        """
        from structopt.inference.factor_sizes import message_offsets
        from structopt.kernels.loopy.factors import FACTORS
        from structopt.kernels.loopy.mplp import STARS

        f = FACTORS.open(structure.record)
        _check_factors(f.kinds, f.widths)
        offsets, links = message_offsets(structure.record), f.links[f.factors]
        V, H, M = (int(np.diff(one).max(initial=0)) for one in (f.variables, links, offsets))
        work = STARS.pack(
            passes=self.passes,
            tolerance=self.tolerance,
            smoothing=self.smoothing,
            first=V + 1,
            links=H,
            slots=H,
            twin=H,
            starts=H,
            messages=M,
            belief=max(V, int(f.widths.max(initial=0))),
            r=H,
            w=H,
        )
        kept = (
            np.where(_are_binary(structure.record), np.diff(links), np.diff(offsets))
            * self.warm_start
        )
        return replace(
            structure, work=work, memory=np.concatenate([[0], np.cumsum(kept)]).astype(np.int64)
        )

    def converged(self, structure: Structure | None = None) -> Inference:
        """Return what gives the relaxation's value: itself, stateless and run to convergence;
        without smoothing.

        Given a structure that has variables of more than two states, on which it might stick, the
        linear program.
        """
        if structure is not None and not _are_binary(structure.record).all():
            from structopt.inference.lp import LP

            return LP()
        return MPLP(**CONVERGED)  # type: ignore[arg-type]


def _are_binary(record: Record) -> Array:
    """Whether all variables of an instance have two states, shape (instances,)."""
    from structopt.kernels.loopy.factors import FACTORS

    f = FACTORS.open(record)
    others = np.concatenate([[0], np.cumsum(f.widths != 2)])[f.variables]
    binary: Array = np.diff(others) == 0
    return binary


def _check_factors(kinds: Array, widths: Array) -> None:
    from structopt.kernels.loopy.factors import TABLE

    numbers = np.unique(kinds[kinds != TABLE]).tolist()
    others = [component_of(number).name.upper() for number in numbers]
    if others or (widths < 2).any():
        unfit = (
            f"factors of other kinds: {', '.join(others)}"
            if others
            else "variables that are not listed state by state"
        )
        raise CompatibilityError(
            f"passes messages along tables over two variables, and this factor graph has {unfit}.",
            parameter="inference",
            value="MPLP",
            remedy="Use AD3(), which takes all kinds, or LP() or ILP().",
        )
