"""The linear relaxation: the best point of the factor graph's local polytope, by HiGHS."""

from __future__ import annotations

from structopt.core.protocols import Ability, InferenceKernels
from structopt.inference.polytopes import local_polytope
from structopt.inference.programs import best_point, check_kind, check_temperature
from structopt.kernels.record import Array, Record


class LinearProgram:
    """max s^T z over the local polytope of the factor graph: an upper bound on the best score, exact where z is integral.

    In plain Python: a driver that is given it runs un-compiled. It is the reference for `ad3`, which is the faster one.

    Notes
    -----
    The value is convex in the scores, a maximum of linear functions, and z is a subgradient of it. Martins, Smith and Xing
    (2009), section 3.
    """

    def provides(self, structure_kind: str) -> Ability:
        """Return what a relaxation provides: a maximum, never below the best score."""
        return Ability.MAP | Ability.UPPER | Ability.CONVEX if structure_kind == "factors" else Ability(0)

    def kernels(self, structure_kind: str) -> InferenceKernels:
        """Return the solver."""
        check_kind("lp", structure_kind)
        return InferenceKernels(solve)


def solve(structure: Record, i: int, s: Array, temperature: float, z: Array, memory: Array, work: Record) -> float:
    """max_z s^T z over the local polytope of instance i, and its maximiser z.

    Parts with the score -inf are fixed to 0. Where nothing is left, the value is -inf and z is zero.
    """
    check_temperature("lp", temperature)
    answer = best_point(local_polytope(structure, i, len(s)), s)
    z[:] = answer.z
    return answer.bound
