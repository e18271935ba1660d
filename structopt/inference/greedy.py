"""Greedy choice of sentences within a budget: a baseline, without a bound."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from math import inf
from typing import NamedTuple

import numpy as np

from structopt.core.ability import Ability
from structopt.core.factor_graph import FactorGraph
from structopt.core.factor_kind_table import number_of
from structopt.core.inference import Inference
from structopt.core.structure_kind import InferenceKernels, StructureKind
from structopt.errors import ArgumentError
from structopt.inference.refusals import check_kind, check_temperature
from structopt.kernels.waist.record import Array, Record

BUDGETS = ("length_budget", "linear_budget")


class Greedy(Inference):
    r"""Turn variables on one after the other, each time the one that gains most for its length,
    while the budget lasts.

        gain_j = s_j + sum_{F has j, F not covered} t_F,    next: the j that fits with the highest
        gain_j / len_j^r, if gain_j > 0

    The answer is that, or the best variable alone if it scores more. For coverage graphs: variables
    of two states, COVERAGE factors, and one budget of lengths.

    Parameters
    ----------
    scaling : float
        r, at least 0; 0: the highest gain, whatever its length.

    Notes
    -----
    In plain Python: drivers run it un-compiled. Lazy: the heap keeps gains that are out of date
    until they come up; O(k log k) for k entries of the factors' links. Where no t is negative and r
    = 1, the score is at least 1 - 1 / sqrt(e) of the best (Khuller, Moss and Naor, 1999; Lin and
    Bilmes, 2010). The value is the score of an output, and so a lower bound of the best.
    """

    def __init__(self, scaling: float = 1.0) -> None:
        if not 0 <= scaling < inf:
            raise ArgumentError(
                "must be a finite number, at least 0.",
                parameter="scaling",
                value=scaling,
                remedy="Set 1 to divide gains by lengths, or 0 to use gains as they are.",
            )
        self.scaling = scaling

    def provides(self, kind: StructureKind) -> Ability:
        """Return an output, of which nothing is promised."""
        return Ability.MAP if kind.loopy else Ability(0)

    def refusal(self, graph: FactorGraph) -> str:
        """It solves coverage graphs alone."""
        if not graph.traits.kind.loopy or graph.traits.covers:
            return ""
        return (
            "Greedy() chooses sentences within a budget, and this factor graph is another. Use "
            "Coverage(), or AD3(), which takes all kinds, or LP() or ILP()."
        )

    def kernels(self, kind: StructureKind) -> InferenceKernels:
        """Return the search."""
        check_kind("Greedy", kind)
        scaling = self.scaling

        def solve(
            structure: Record,
            i: int,
            s: Array,
            temperature: float,
            z: Array,
            memory: Array,
            work: Record,
        ) -> float:
            """The score of the output that is found, which goes to z; parts with the score -inf
            stay off.
            """
            check_temperature("Greedy", temperature)
            cover = _Cover.of(structure, i)
            on = _search(cover, s, scaling)
            cover.write(on, z)
            return float(np.where(z > 0, s, 0.0).sum())

        return InferenceKernels(solve)


class _Cover(NamedTuple):
    """One instance: what its factors link, where their parts are, and the budget.

    Attributes
    ----------
    first : int
        Number of variables, and of the first private part.
    links, linked : int, shapes (factors + 1,) and (entries,)
        The variables of every COVERAGE factor.
    privates : int, shape (factors + 1,)
        Their parts, from 0.
    lengths : int, shape (variables,)
    budget : int
    """

    first: int
    links: Array
    linked: Array
    privates: Array
    lengths: Array
    budget: int

    @classmethod
    def of(cls, structure: Record, i: int) -> _Cover:
        """Open instance i."""
        from structopt.kernels.loopy.factors import FACTORS

        f = FACTORS.open(structure)
        factors = np.arange(f.factors[i], f.factors[i + 1])
        limited = np.isin(f.kinds[factors], list(map(number_of, BUDGETS)))
        (budget,), kept = factors[limited], factors[~limited]
        counts = f.links[kept + 1] - f.links[kept]
        links = np.concatenate([[0], np.cumsum(counts)])
        linked = f.linked[np.repeat(f.links[kept] - links[:-1], counts) + np.arange(links[-1])]
        extra = f.extra[f.extras[budget] : f.extras[budget + 1]]
        lengths = np.zeros(int(f.shared[i]), np.int64)
        lengths[f.linked[f.links[budget] : f.links[budget + 1]]] = extra[1:]
        privates = np.concatenate([[0], np.cumsum(f.privates[kept + 1] - f.privates[kept])])
        return cls(int(f.shared[i]), links, linked, privates, lengths, int(extra[0]))

    def write(self, on: list[int], z: Array) -> None:
        """Write the parts of an output."""
        z[:] = 0.0
        z[on] = 1.0
        covered = np.bincount(self.factors, z[self.linked], len(self.links) - 1) > 0
        z[self.first :] = np.repeat(covered, np.diff(self.privates))

    @property
    def factors(self) -> Array:
        """The factor of every entry of `linked`."""
        return np.repeat(np.arange(len(self.links) - 1), np.diff(self.links))


def _search(cover: _Cover, s: Array, scaling: float) -> list[int]:
    """The variables that are on."""
    count = len(cover.links) - 1
    worth = np.bincount(
        np.repeat(np.arange(count), np.diff(cover.privates)), s[cover.first :], count
    )
    gains = s[: cover.first] + np.bincount(cover.linked, worth[cover.factors], cover.first)
    single = gains.copy()
    factors = cover.factors[np.argsort(cover.linked, kind="stable")]
    starts = np.searchsorted(np.sort(cover.linked), np.arange(cover.first + 1))
    scales = np.maximum(cover.lengths, 1e-9) ** scaling
    covered, rest, on, score = np.zeros(len(worth), bool), cover.budget, list[int](), 0.0
    heap = [
        (-rate, j, gain)
        for j, (rate, gain) in enumerate(
            zip((gains / scales).tolist(), gains.tolist(), strict=True)
        )
    ]
    heapify(heap)
    while heap:
        _, j, gain = heappop(heap)
        # out of date, of no use, or too long
        if gain != gains[j] or not gain > 0 or cover.lengths[j] > rest:
            continue
        on.append(j)
        gains[j], rest, score = -inf, rest - cover.lengths[j], score + gain
        for factor in factors[starts[j] : starts[j + 1]].tolist():
            if not covered[factor]:
                covered[factor] = True
                others = cover.linked[cover.links[factor] : cover.links[factor + 1]]
                gains[others] -= worth[factor]
                for other in others.tolist():
                    if gains[other] > 0:
                        heappush(heap, (-gains[other] / scales[other], other, gains[other]))
    fits = np.flatnonzero(cover.lengths <= cover.budget)
    best = fits[np.argmax(single[fits])] if len(fits) else -1
    return [int(best)] if best >= 0 and single[best] > score else on
