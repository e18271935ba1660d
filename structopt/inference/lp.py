"""The linear relaxation: the best point of the factor graph's local polytope, by HiGHS."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from structopt.core.ability import Ability
from structopt.core.data.structure import Structure
from structopt.core.factor_kind import FactorAbility
from structopt.core.inference import Inference
from structopt.core.structure_kind import InferenceKernels, StructureKind
from structopt.inference.refusals import (
    admit_kinds,
    check_kind,
    check_temperature,
)
from structopt.kernels.waist.record import Array, Record


class LP(Inference):
    """max s^T z over the local polytope of the factor graph: an upper bound on the best score,
    exact where z is integral.

    In plain Python: drivers run it un-compiled. It is the reference for `ad3`, which is faster.

    Parameters
    ----------
    warm_start : bool
        Whether an instance starts from the basis where its last visit ended, which its memory
        keeps: a number for each row and column of its program. That pays, several times over on
        large graphs, where scores hardly move between visits; while they do move, in the first
        passes of learning, it costs up to twice the time. The value stays the same function of the
        scores, but for rounding; where several points are best, the one that is returned depends on
        earlier visits, so that a resumed run may differ. Without it, answers depend on the scores
        alone.

    Notes
    -----
    Two-state variables and tables over two of them have a column each
    (`structopt.inference.compact_polytope`), and graphs of the same shape share one model in HiGHS,
    of which scores change costs and bounds. The value is convex in the scores, a maximum of linear
    functions, and z is a subgradient of it. Martins, Smith and Xing (2009), section 3.
    """

    of_factors = FactorAbility.ROWS

    def __init__(self, warm_start: bool = False) -> None:
        self.warm_start = warm_start

    def provides(self, kind: StructureKind) -> Ability:
        """Return what a relaxation provides: a maximum, never below the best score."""
        return Ability.MAP | Ability.UPPER | Ability.CONVEX if kind.loopy else Ability(0)

    def kernels(self, kind: StructureKind) -> InferenceKernels:
        """Return the solver, with models of its own."""
        from structopt.inference.program_pool import Programs

        check_kind("LP", kind)
        programs = Programs()

        def solve(
            structure: Record,
            i: int,
            s: Array,
            temperature: float,
            z: Array,
            memory: Array,
            work: Record,
        ) -> float:
            """max_z s^T z over the local polytope of instance i, and its maximiser z; `memory`
            keeps the basis, unless empty.

            Parts with the score -inf are fixed to 0. Where nothing is left, the value is -inf and z
            is zero.
            """
            check_temperature("LP", temperature)
            with programs.program(structure, i, len(s)) as program:
                answer = program.best_point(s, memory if len(memory) else None)
            z[:] = answer.z
            return answer.bound

        return InferenceKernels(solve)

    def prepare(self, structure: Structure) -> Structure:
        """Give the structure memory for the bases, where visits start from the last."""
        from structopt.inference.program_pool import Programs

        admit_kinds(self, structure.record)
        if not self.warm_start:
            return structure
        programs, kept = Programs(), np.zeros(len(structure) + 1, np.int64)
        for i, parts in enumerate(np.diff(structure.parts).tolist()):
            with programs.program(structure.record, i, parts) as program:
                kept[i + 1] = program.kept
        return replace(structure, memory=np.cumsum(kept))
