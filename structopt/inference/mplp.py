"""Max-product linear programming: messages that lower an upper bound on the best score of a factor
graph.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf

import numpy as np

from structopt.core.ability import Ability
from structopt.core.data.structure import Structure
from structopt.core.factor_graph import FactorGraph
from structopt.core.factor_kind import FactorAbility
from structopt.core.inference import Inference, Messages
from structopt.core.structure_kind import InferenceKernels, StructureKind
from structopt.errors import ArgumentError, CompatibilityError
from structopt.inference.refusals import admit_kinds, check_kind
from structopt.kernels.waist.record import Array, Record

CONVERGED = {"passes": 20_000, "tolerance": 1e-6}
"""Options with which messages count as converged: a pass lowers the bound by no more than the
tolerance.
"""


class MPLP(Inference):
    """The dual of the linear relaxation, minimised variable by variable in graphs of pairs (max-sum
    diffusion in stars), and factor by factor in others (generalised MPLP).

    The value is an upper bound on the relaxation's, whenever the passes end; it never rises from
    one pass to the next. On pairs of variables of two states it comes down to the relaxation's
    value. With more states and with other factors it can stick above it; in graphs of pairs
    smoothing then comes nearer, slowly.

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
    K^2) a pass on pairs. Other factors take the work of their max-product messages; that of a TREE
    factor is a best tree for every arc. Meshi et al. (2010), section 3.1 and the discussion of
    larger cliques; Globerson and Jaakkola (2008).
    """

    of_factors = FactorAbility.MAXIMUM | FactorAbility.MESSAGES

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
            For kinds of factors without a compiled maximum and messages; with smoothing, for
            factors other than tables over two variables.
        """
        from structopt.inference.factor_sizes import factor_sizes, message_offsets
        from structopt.kernels.loopy.factors import FACTORS
        from structopt.kernels.loopy.mplp import STARS

        admit_kinds(self, structure.record)
        f, pairwise = FACTORS.open(structure.record), _are_pairwise(structure.record)
        if self.smoothing > 0 and not pairwise.all():
            raise CompatibilityError(
                "smooths tables over two variables, and this factor graph has other factors.",
                parameter="smoothing",
                value=self.smoothing,
                remedy="Set `smoothing=0`.",
                kinds={"smoothing": "inference"},
            )
        offsets, links = message_offsets(structure.record), f.links[f.factors]
        V, H, M = (int(np.diff(one).max(initial=0)) for one in (f.variables, links, offsets))
        sizes = None if pairwise.all() else factor_sizes(structure.record)
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
            cliques={
                "messages": sizes.messages if sizes else 0,
                "b": sizes.shared if sizes else 0,
                "n": sizes.linked if sizes else 0,
                "out": sizes.linked if sizes else 0,
                "floats": sizes.floats if sizes else 0,
                "ints": sizes.ints if sizes else 0,
            },
        )
        binary = pairwise & _are_binary(structure.record)
        kept = np.where(binary, np.diff(links), np.diff(offsets)) * self.warm_start
        return replace(
            structure, work=work, memory=np.concatenate([[0], np.cumsum(kept)]).astype(np.int64)
        )

    def converged(self, structure: Structure | None = None) -> Inference:
        """Return the inference that computes the relaxation's value on a structure.

        Minimum cuts, if all factors are tables over variables of two states; the linear program, if
        they are tables over two variables; else AD3. Without a structure: itself, stateless and run
        to convergence; without smoothing.
        """
        if structure is None:
            return MPLP(**CONVERGED)  # type: ignore[arg-type]
        from structopt.inference.ad3 import AD3
        from structopt.inference.cut import Cut
        from structopt.inference.lp import LP

        if not _are_pairwise(structure.record).all():
            return AD3(**CONVERGED)  # type: ignore[arg-type]
        return Cut() if _are_binary(structure.record).all() else LP()

    def reports(self, graph: FactorGraph) -> Ability:
        """Return the abilities of the relaxation's value: convex, if it is computed exactly."""
        convex = Ability.CONVEX if graph.traits.pairs_only else Ability(0)
        return self.provides(graph.kind) | convex


def _are_pairwise(record: Record) -> Array:
    """Whether all factors of an instance are tables over two variables, shape (instances,)."""
    from structopt.kernels.loopy.factors import FACTORS, TABLE

    f = FACTORS.open(record)
    others = np.concatenate([[0], np.cumsum(f.kinds != TABLE)])[f.factors]
    single = np.concatenate([[0], np.cumsum(f.widths < 2)])[f.variables]
    pairwise: Array = (np.diff(others) == 0) & (np.diff(single) == 0)
    return pairwise


def _are_binary(record: Record) -> Array:
    """Whether all variables of an instance have two states, shape (instances,)."""
    from structopt.kernels.loopy.factors import FACTORS

    f = FACTORS.open(record)
    others = np.concatenate([[0], np.cumsum(f.widths != 2)])[f.variables]
    binary: Array = np.diff(others) == 0
    return binary
