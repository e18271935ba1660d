"""Integer linear programming: the best output of a factor graph, by HiGHS' branch and bound."""

from __future__ import annotations

import logging
from math import inf

from structopt.core.ability import Ability
from structopt.core.data.structure import Structure
from structopt.core.factor_kind import FactorAbility
from structopt.core.inference import Inference
from structopt.core.structure_kind import InferenceKernels, StructureKind
from structopt.errors import ArgumentError
from structopt.inference.refusals import (
    admit_kinds,
    check_kind,
    check_temperature,
)
from structopt.kernels.waist.record import Array, Record

log = logging.getLogger(__name__)

TINY = 1e-10
PROVED = 1e-9
"""Relative distance up to which bound and score are one."""


class ILP(Inference):
    """max s^T z over the outputs of any factor graph, by branch and bound; exponential in the worst
    case.

    In plain Python: drivers run it un-compiled. The programs are those of `lp`, with integers.

    Parameters
    ----------
    time_limit : float
        Seconds an instance. An instance that takes longer gives the bound proved so far as its
        value and the best output found so far as its maximiser: the loss stays an upper bound. inf:
        exact.
    gap : float
        Relative distance between value and best output at which the search may end. 0: exact.

    Notes
    -----
    Searches that ended early are counted, with the largest relative distance between bound and
    output (`diagnostics`), and the first is told in the log.
    """

    of_factors = FactorAbility.ROWS

    def __init__(self, time_limit: float = inf, gap: float = 0.0) -> None:
        if not time_limit > 0:
            raise ArgumentError(
                "must be above 0.",
                parameter="time_limit",
                value=time_limit,
                remedy="Set the seconds per instance, or inf.",
            )
        if not 0 <= gap < inf:
            raise ArgumentError(
                "must be a finite number, at least 0.",
                parameter="gap",
                value=gap,
                remedy="Set 0 for exact solutions, or 0.01 for bounds within 1 % of them.",
            )
        self.time_limit, self.gap = time_limit, gap
        self._unproved = Unproved()

    def provides(self, kind: StructureKind) -> Ability:
        """Return exact maximisation, or upper bounds where the search may end early."""
        if not kind.loopy:
            return Ability(0)
        exact = self.time_limit == inf and self.gap == 0
        return (
            Ability.MAP | Ability.UPPER | (Ability.EXACT | Ability.CONVEX if exact else Ability(0))
        )

    def kernels(self, kind: StructureKind) -> InferenceKernels:
        """Return the solver, with models of its own."""
        from structopt.inference.highs_program import Program
        from structopt.inference.program_pool import Programs

        check_kind("ILP", kind)
        programs = Programs(lambda polytope: Program(polytope, self.time_limit, self.gap))

        def solve(
            structure: Record,
            i: int,
            s: Array,
            temperature: float,
            z: Array,
            memory: Array,
            work: Record,
        ) -> float:
            """max_z s^T z over the outputs of instance i, or a bound on it; z is the best output
            found.

            Parts with the score -inf are fixed to 0. Where no output is left, the value is -inf and
            z is zero; where the time was too short to find any, value and z are the linear
            relaxation's.
            """
            check_temperature("ILP", temperature)
            with programs.program(structure, i, len(s)) as program:
                answer = program.best_output(s)
            z[:] = answer.z
            unproved.add(answer.bound, answer.score)
            return answer.bound

        unproved = self._unproved
        return InferenceKernels(solve)

    def prepare(self, structure: Structure) -> Structure:
        """Refuse kinds of factors without a linear description."""
        admit_kinds(self, structure.record)
        return structure

    def diagnostics(self, messages: Array) -> dict[str, float]:
        """How many searches ended with a bound above the output, and the largest relative distance;
        nothing where none did.
        """
        if not self._unproved.count:
            return {}
        return {"unproved_searches": self._unproved.count, "largest_gap": self._unproved.largest}


class Unproved:
    """Searches whose output was not proved to be the best.

    Attributes
    ----------
    count : int
    largest : float
        The largest distance between bound and score of the output, relative to the bound; 1 where
        no output was found.
    """

    def __init__(self) -> None:
        self.count, self.largest = 0, 0.0

    def add(self, bound: float, score: float) -> None:
        """Count a search, if its bound is above the score."""
        distance = min(1.0, (bound - score) / max(abs(bound), TINY)) if bound > -inf else 0.0
        if distance <= PROVED:
            return
        if not self.count:
            log.warning(
                "ILP: a search ended with %s: its value is the bound. `time_limit` and `gap` say "
                "when it may end.",
                "no output"
                if score == -inf
                else f"an output that may be {100 * distance:.2g} % below the best",
            )
        self.count, self.largest = self.count + 1, max(self.largest, distance)
