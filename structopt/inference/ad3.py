"""Alternating directions dual decomposition: the linear relaxation of any factor graph, fast, and
exact on demand.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf

import numpy as np

from structopt.core.ability import Ability
from structopt.core.data.structure import Structure
from structopt.core.factor_kind import FactorAbility
from structopt.core.inference import Inference, Messages
from structopt.core.structure_kind import InferenceKernels, StructureKind
from structopt.errors import ArgumentError
from structopt.inference.refusals import admit_kinds, check_kind
from structopt.kernels.waist.record import Array, Record

TOLERANCE, OF_TABLES = 5e-4, 2e-5
"""Default tolerances; the second is for graphs of tables alone, where a pass takes little time and
converges fast.
"""

CONVERGED = {"passes": 20_000, "tolerance": 1e-6}
"""Options with which copies count as converged."""


class AD3(Inference):
    """The best score of the linear relaxation by dual decomposition: an upper bound, whenever the
    passes end.

    Parameters
    ----------
    passes : int
        Most passes over the factors of an instance.
    tolerance : float or None
        Root mean square by which the factors' copies of the variables may disagree, or move in a
        pass, when the passes end. None: 2e-5 in graphs of pairs of variables, which leaves the
        bound within about 1e-4 of the relaxation's value, relatively; 5e-4 in others, whose passes
        take longer.
    eta : float
        First penalty of disagreement, in units of the root mean square of the scores; it is adapted
        as the passes go.
    exact : bool
        Whether to branch until the best output is proved, exponential in the worst case; else the
        relaxation's value.
    warm_start : bool
        Whether an instance starts from where its last visit ended: a copy of every part of a
        variable for each of its factors is kept between visits.

    Notes
    -----
    Martins et al. (2015). Compiled; O(passes) times the work of the factors' own maximisations.
    With `warm_start` the value depends on earlier visits; `converged` is its limit.
    """

    of_factors = FactorAbility.MAXIMUM

    def __init__(
        self,
        passes: int = 1000,
        tolerance: float | None = None,
        eta: float = 1.0,
        exact: bool = False,
        warm_start: bool = False,
    ) -> None:
        if passes < 1:
            raise ArgumentError(
                "must be at least 1.",
                parameter="passes",
                value=passes,
                remedy="Set the maximum number of passes over the factors, such as 500.",
            )
        for name, value in (("tolerance", tolerance), ("eta", eta)):
            if value is not None and not 0 < value < inf:
                raise ArgumentError(
                    "must be a finite number above 0.", parameter=f"{name}", value=value
                )
        self.passes, self.tolerance, self.eta = passes, tolerance, eta
        self.exact, self.warm_start = exact, warm_start

    @property
    def messages(self) -> Messages:
        """Kept from visit to visit with `warm_start`, else new ones at every visit."""
        return Messages.KEPT if self.warm_start else Messages.FRESH

    def provides(self, kind: StructureKind) -> Ability:
        """Return upper bounds, or exact maximisation where it branches.

        The bounds are near a convex function of the scores, the relaxation's value, but convex only
        where they have reached it.
        """
        if not kind.loopy:
            return Ability(0)
        return (
            Ability.MAP
            | Ability.UPPER
            | (Ability.EXACT | Ability.CONVEX if self.exact else Ability(0))
        )

    def kernels(self, kind: StructureKind) -> InferenceKernels:
        """Return the solver."""
        from structopt.kernels.ad3.solve import solve

        check_kind("AD3", kind)
        return InferenceKernels(solve)

    def prepare(self, structure: Structure) -> Structure:
        """Give the structure scratch for its largest instance, and memory where visits start from
        the last.
        """
        from structopt.inference.factor_sizes import factor_scratch
        from structopt.kernels.ad3.extrapolation import PASSES
        from structopt.kernels.ad3.work import WORK

        admit_kinds(self, structure.record)
        sizes = Sizes(structure.record)
        floats, ints = factor_scratch(structure.record)
        C, P, N = (
            int(one.max(initial=1))
            for one in (sizes.copies, sizes.shared, np.diff(structure.parts))
        )
        F, k, kept = sizes.factors.max(initial=1), sizes.most_linked, sizes.most_kept
        work = WORK.pack(
            passes=self.passes,
            exact=self.exact,
            spent=1,
            tolerance=sizes.tolerance if self.tolerance is None else self.tolerance,
            eta=self.eta,
            part=C,
            begins=F + 1,
            counts=F,
            fixed=P,
            state=P,
            multipliers=C,
            copies=C,
            inputs=C,
            share=P,
            degree=P,
            mean=P,
            sums=P,
            output=P,
            best=N,
            scores=N,
            sets=sizes.sets.max(initial=0),
            members=sizes.members.max(initial=0),
            shifts=P,
            moves=PASSES * C,
            products=PASSES * PASSES,
            shares=PASSES,
            aside=C + P,
            scratch={
                "image": kept,
                "target": kept,
                "sines": kept,
                "residual": k,
                "vector": k,
                "tops": k,
                "places": k,
                "private": sizes.most_private,
                "floats": floats,
                "ints": ints,
            },
        )
        held = (
            sizes.copies + sizes.shared + 1
            if self.warm_start
            else np.zeros(len(structure), np.int64)
        )
        return replace(
            structure, work=work, memory=np.concatenate([[0], np.cumsum(held)]).astype(np.int64)
        )

    def converged(self, structure: Structure | None = None) -> Inference:
        """Return itself, or with `warm_start` the limit of its value: itself stateless, and run
        until the copies agree.
        """
        if not self.warm_start:
            return self
        passes, tolerance = (
            max(self.passes, CONVERGED["passes"]),
            min(self.tolerance or inf, CONVERGED["tolerance"]),
        )
        return AD3(int(passes), tolerance, self.eta, self.exact)


class Sizes:
    """Sizes of the scratch and the memory that instances of a record of factor graphs need.

    Attributes
    ----------
    factors, shared, copies, sets, members : int64, shape (instances,)
        Factors, parts of variables, parts of the variables that each factor links, and floats and
        ints of active sets.
    most_linked, most_kept, most_private : int
        Of any factor: linked parts, configurations of an active set, and private parts.
    tolerance : float
        The default tolerance.
    """

    def __init__(self, record: Record) -> None:
        from structopt.kernels.ad3.factor_problems import kept_size, set_size
        from structopt.kernels.loopy.factors import FACTORS, TABLE

        f = FACTORS.open(record)
        self.tolerance = OF_TABLES if (f.kinds == TABLE).all() else TOLERANCE
        self.factors, self.shared = np.diff(f.factors), f.shared
        factor = np.repeat(np.arange(len(f.kinds)), np.diff(f.links))
        instance = np.repeat(np.arange(len(f.shared)), self.factors)
        linked = _sums(f.widths[f.variables[instance[factor]] + f.linked].astype(np.int64), f.links)
        pairs = list(zip(f.kinds.tolist(), linked.tolist(), strict=True))
        kept = np.array([set_size(*pair) for pair in pairs], np.int64).reshape(-1, 2)
        self.copies = _sums(linked, f.factors)
        self.sets, self.members = _sums(kept[:, 0], f.factors), _sums(kept[:, 1], f.factors)
        self.most_linked = int(linked.max(initial=1))
        self.most_kept = max((kept_size(*pair) for pair in pairs), default=1)
        self.most_private = int(np.diff(f.privates).max(initial=1))


def _sums(values: Array, bounds: Array) -> Array:
    """Sums of the values between neighbouring bounds."""
    return np.asarray(np.diff(np.concatenate([[0], np.cumsum(values)])[bounds]), dtype=np.int64)
