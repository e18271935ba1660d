"""Minimum cuts: best outputs of graphs of pairs of two-state variables, and expansion moves."""

from __future__ import annotations

from dataclasses import replace
from math import isnan
from typing import Any, Literal

import numpy as np

from structopt.core.ability import Ability
from structopt.core.data.structure import Structure
from structopt.core.factor_graph import FactorGraph
from structopt.core.inference import Inference
from structopt.core.structure_kind import InferenceKernels, StructureKind
from structopt.errors import ArgumentError, CompatibilityError
from structopt.inference.refusals import check_kind, check_tables, check_temperature
from structopt.kernels.waist.record import Array, Record

NOISE = 1e-12
"""A pair whose weight is so small, relative to its scores, counts as linear: sums of weights that
cancel leave such numbers.
"""


class Cut(Inference):
    """Best outputs of graphs of pairs by minimum cuts, in a network with a node per variable.

    A pair of two-state variables is submodular if s(0, 0) + s(1, 1) >= s(0, 1) + s(1, 0): it
    rewards equal states. A graph of such pairs has a network whose minimum cut is the best output.

    Parameters
    ----------
    method : str
        ``relaxed``: two states per variable, any pairs. The value is that of the linear relaxation
        (roof duality), and z a point of it in halves. If all pairs are submodular, z is the best
        output. ``exact``: the same, but pairs that are not submodular are refused when they are
        met. ``expansion``: any number of states per variable. The value is the score of an output
        that no expansion move improves: a move changes any variables to one state.
    truncate : bool
        With ``expansion``: replace terms of moves that are not submodular by linear ones. Moves
        then never lower the score, but have no guarantee. Otherwise such terms are refused when
        they are met: the costs of the pairs have to be metric, V(a, b) <= V(a, c) + V(c, b).

    Notes
    -----
    With ``expansion`` `diagnostics` reports the factor 2 c of the guarantee: with costs U >= 0 of
    variables and V > 0 of pairs of different states, the output costs at most 2 c times the least
    cost, c = max V / min V of one pair. Potts models have the factor 2. Compiled except for the
    checks of ``exact`` and ``expansion``. The maximum flow is Dinic's. Boykov, Veksler and Zabih
    (2001); Kolmogorov and Rother (2007); Finley and Joachims (2008) learn with such cuts.
    """

    def __init__(
        self,
        method: Literal["relaxed", "exact", "expansion"] = "relaxed",
        truncate: bool = False,
    ) -> None:
        if truncate and method != "expansion":
            raise ArgumentError(
                f"has no effect with `method={method}`.",
                parameter="truncate",
                value=truncate,
                remedy="Set `method=expansion`, or leave it out.",
            )
        self.method, self.truncate = method, truncate
        self._moves = Moves()

    def provides(self, kind: StructureKind) -> Ability:
        """Return the relaxation's value, an exact one, or an output without a promise."""
        if not kind.loopy:
            return Ability(0)
        if self.method == "expansion":
            return Ability.MAP
        exact = Ability.EXACT if self.method == "exact" else Ability(0)
        return Ability.MAP | Ability.UPPER | Ability.CONVEX | exact

    def refusal(self, graph: FactorGraph) -> str:
        """Refuse graphs with other factors than tables over pairs of variables."""
        if not graph.traits.kind.loopy or graph.traits.pairs_only:
            return ""
        return (
            "Cut() cuts networks of pairs of variables, and this factor graph has other factors. "
            "Use AD3(), which takes all kinds, or LP() or ILP()."
        )

    def kernels(self, kind: StructureKind) -> InferenceKernels:
        """Return the solver: compiled for ``relaxed``, and a plain function around it otherwise."""
        from structopt.kernels.cut import binary, expansion

        check_kind("Cut", kind)
        if self.method == "relaxed":
            return InferenceKernels(binary.solve)
        moves = self._moves if self.method == "expansion" else None
        return InferenceKernels(
            _refusing(binary.solve_exactly if moves is None else expansion.solve, moves)
        )

    def prepare(self, structure: Structure) -> Structure:
        """Give the structure scratch for its largest instance.

        Raises
        ------
        CompatibilityError
            For factors over anything but two variables; variables of more than two states, unless
            the method is ``expansion``, and then for variables with different states.
        """
        from structopt.kernels.cut.flow import CUT
        from structopt.kernels.loopy.factors import FACTORS

        f = FACTORS.open(structure.record)
        check_tables("Cut", "cuts networks of pairs of variables", f)
        self._check_states(f)
        V, E = (int(np.diff(one).max(initial=0)) for one in (f.variables, f.factors))
        nodes, arcs = (1 + (self.method == "relaxed")) * np.array([V, 2 * E])
        work = CUT.pack(
            truncate=int(self.truncate),
            noise=NOISE,
            arcs=nodes,
            following=arcs,
            heads=arcs,
            residual=arcs,
            excess=nodes,
            levels=nodes,
            queue=nodes,
            current=nodes,
            path=nodes,
            unary=V,
            weights=E,
            states=V,
            former=V,
            fault=4,
            report=2,
        )
        return replace(structure, work=work)

    def _check_states(self, f: Any) -> None:
        """Refuse variables with other states than the method takes."""
        if self.method != "expansion":
            if (most := int(f.widths.max(initial=2))) > 2:
                raise CompatibilityError(
                    f"takes variables of two states, and this factor graph has one of {most}.",
                    parameter="method",
                    value=self.method,
                    remedy="Set `method=expansion`.",
                    kinds={"method": "inference"},
                )
            return
        begins = f.variables[:-1][np.diff(f.variables) > 0]
        if (
            len(begins)
            and (
                np.minimum.reduceat(f.widths, begins) < np.maximum.reduceat(f.widths, begins)
            ).any()
        ):
            raise CompatibilityError(
                "moves to one state of all variables, and the variables of this factor graph have "
                "different states.",
                parameter="method",
                value=self.method,
                remedy="Use AD3() or MPLP().",
                kinds={"method": "inference"},
            )

    def diagnostics(self, messages: Array) -> dict[str, float]:
        """``expansion_factor``: the largest factor of the guarantee that a search had, if it had
        one; ``truncated_terms``: how many terms of moves were replaced.
        """
        if self.truncate:
            return {"truncated_terms": self._moves.truncated}
        return {"expansion_factor": self._moves.factor} if self._moves.factor > 0.0 else {}


class Moves:
    """The largest factor of the guarantee of any search, and the number of truncated terms."""

    def __init__(self) -> None:
        self.factor, self.truncated = 0.0, 0

    def add(self, factor: float, truncated: float) -> None:
        """Count a search."""
        self.factor = max(self.factor, factor)
        self.truncated += int(truncated)


def _refusing(kernel: Any, moves: Moves | None) -> Any:
    """Return a solver that names the pair which its kernel refuses."""
    from structopt.kernels.cut.flow import CUT

    def solve(
        structure: Record,
        i: int,
        s: Array,
        temperature: float,
        z: Array,
        memory: Array,
        work: Record,
    ) -> float:
        """The value of the kernel, and z."""
        check_temperature("Cut", temperature)
        value = float(kernel(structure, i, s, temperature, z, memory, work))
        x = CUT.open(work)
        if isnan(value) and x.fault[0] >= 0:
            _refuse_pair(structure, i, s, x.fault.tolist(), moves is not None)
        if moves is not None:
            moves.add(*x.report.tolist())
        return value

    return solve


def _refuse_pair(structure: Record, i: int, s: Array, fault: list[int], moves: bool) -> None:
    """Refuse a pair of variables that is not submodular, with its scores."""
    from structopt.kernels.loopy.factors import FACTORS

    f, (factor, a, b, c) = FACTORS.open(structure), fault
    link = f.links[factor]
    one, other = (int(v) for v in f.linked[link : link + 2])
    K = int(f.widths[f.variables[i] + other])
    begin = int(f.shared[i] + f.privates[factor] - f.privates[f.factors[i]])
    rows = [(a, b), (c, c), (a, c), (c, b)] if moves else [(0, 0), (1, 1), (0, 1), (1, 0)]
    scores = [float(s[begin + u * K + t]) for u, t in rows]
    left, right = (" + ".join(f"s{pair}" for pair in some) for some in (rows[:2], rows[2:]))
    raise CompatibilityError(
        f"Cut() needs submodular pairs, and the pair of variables {one} and {other} is not: "
        f"{left} = {scores[0] + scores[1]:.6g} is less than {right} = "
        f"{scores[2] + scores[3]:.6g}.",
        where=f"instance {i}",
        remedy="Set `truncate=True` for moves without a guarantee, or use AD3() or MPLP()."
        if moves
        else "Set `method=relaxed` for the value of the relaxation, or use ILP().",
        kinds={"truncate": "inference", "method": "inference"},
    )
