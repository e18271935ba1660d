"""Reweighted belief propagation: an upper bound on the log-partition function that holds at any
messages.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np

from structopt.core.ability import Ability
from structopt.core.data.structure import Structure
from structopt.core.factor_kind import FactorAbility
from structopt.core.inference import Inference, Messages
from structopt.core.structure_kind import InferenceKernels, StructureKind
from structopt.errors import ArgumentError
from structopt.inference.loopy_bp import LoopyBP
from structopt.inference.refusals import admit_kinds, check_kind
from structopt.inference.spanning_forests import Forests, forests_of
from structopt.kernels.waist.record import Array, Record


class TRWBP(Inference):
    """Bound temperature * log Z (at temperature 0 the best score) from above, and pass messages
    that lower the bound.

    Graphs of pairs of variables (`Pairwise`) are divided among a few spanning forests,
    whose log Z have the bound as their mean; the potentials of the variables in the forests are the
    messages, and passes minimise over those of one variable after another. So the bound never
    rises, and without a temperature of 0 it comes down to the least of its kind. On graphs without
    cycles it is exact.

    In other graphs every factor has a counting number, such that the entropies of the factors, so
    weighted, are together no less than the entropy of the outputs. Where a TREE factor covers the
    variables its number is 1 and the others' are 0 (their best configurations) or small; elsewhere
    a factor's is 1 over the number of factors at its variables.

    Because the bound holds at any messages, and after any number of passes, losses are never
    negative.

    Parameters
    ----------
    passes : int
        The most passes over the variables of a graph of pairs; in others, the most steps of an
        instance's messages, each of which evaluates the bound once more. 0 leaves the messages as
        they are.
    tolerance : float
        Passes end when one lowers the bound by no more than this (scores' unit), steps when they
        aim at no more.
    smoothing : float
        Counting number of the factors beside a TREE, all those at a variable together. 0 gives the
        tightest bound, larger values marginals of the factors that change smoothly with the scores:
        second-order trees scored higher after training with 0.3 or 1. Graphs of pairs have no use
        for it.
    warm_start : bool
        Whether each instance keeps its messages until its next visit: few passes then do, for a
        float a link of memory; in graphs of pairs, one a forest and state of a variable (d/2
        forests where d variables are all joined).
    predictions : str
        ``loopy_bp``: by belief propagation, since a bound that is loose before its steps have
        converged has poor marginals; ``bound``: by the bound's own.
    decoding_temperature : float
        Temperature of the marginals that predictions are read off, as the output of least expected
        cost; 0 takes those of the best score.

    Notes
    -----
    The value is convex in the scores at given messages, of which the marginals are the gradient;
    but messages follow the scores, and convexity as a whole holds only where they have converged. A
    pass of a graph of pairs costs O(edges K^2). Wainwright et al. (2005); passes after Kolmogorov
    (2006); the entropies' inequality is Madiman and Tetali's (2010).
    """

    of_factors = FactorAbility.MAXIMUM | FactorAbility.MARGINALS

    def __init__(
        self,
        passes: int = 20,
        tolerance: float = 1e-3,
        smoothing: float = 0.0,
        warm_start: bool = False,
        predictions: Literal["loopy_bp", "bound"] = "loopy_bp",
        decoding_temperature: float = 1.0,
    ) -> None:
        if passes < 0:
            raise ArgumentError(
                "must be at least 0; 0 keeps the first bound.",
                parameter="passes",
                value=passes,
                remedy="Twenty passes are usual.",
            )
        for name, value in (
            ("tolerance", tolerance),
            ("smoothing", smoothing),
            ("decoding_temperature", decoding_temperature),
        ):
            if not 0.0 <= value < np.inf:
                raise ArgumentError(
                    "must be 0 or a finite number above 0.",
                    parameter=f"{name}",
                    value=value,
                )
        self.passes, self.tolerance, self.smoothing = passes, tolerance, smoothing
        self.warm_start, self.predictions, self.decoding_temperature = (
            warm_start,
            predictions,
            decoding_temperature,
        )

    def decoder(self) -> Any:
        """Return the inference that makes predictions."""
        return (
            LoopyBP(decoding_temperature=self.decoding_temperature)
            if self.predictions == "loopy_bp"
            else self
        )

    @property
    def messages(self) -> Messages:
        """Kept from visit to visit with `warm_start`, else new ones at every visit."""
        return Messages.KEPT if self.warm_start else Messages.FRESH

    def provides(self, kind: StructureKind) -> Ability:
        """Bounds from above, with their gradients."""
        return Ability.MAP | Ability.MARGINALS | Ability.UPPER if kind.loopy else Ability(0)

    def converged(self, structure: Structure | None = None) -> TRWBP:
        """Return itself, or with `warm_start` the limit of its bound: itself stateless, with more
        passes.
        """
        if not self.warm_start:
            return self
        passes, tolerance = max(self.passes, 1000), min(self.tolerance, 1e-6)
        return TRWBP(
            passes, tolerance, self.smoothing, False, self.predictions, self.decoding_temperature
        )

    def kernels(self, kind: StructureKind) -> InferenceKernels:
        """Pick the algorithm for a kind of structure."""
        from structopt.kernels.loopy.trw_bp import solve

        check_kind("TRWBP", kind)
        return InferenceKernels(solve)

    def prepare(self, structure: Structure) -> Structure:
        """Choose forests, and give the structure scratch for its largest instance, and with
        `warm_start` room for messages.
        """
        from structopt.inference.factor_sizes import message_offsets
        from structopt.kernels.loopy.trw_bp import WORK

        admit_kinds(self, structure.record)
        forests, graph = forests_of(structure.record)
        options = {"passes": self.passes, "tolerance": self.tolerance, "smoothing": self.smoothing}
        work = WORK.pack(
            reweighting=options | _scratch(structure.record, bool((graph < 0).any())),
            forests=_forest_work(structure.record, graph, forests),
        )
        memory = np.zeros(len(structure) + 1, np.int64)
        if self.warm_start:
            count = np.array([len(one.nodes) for one in forests] + [0])[graph]
            kept = np.where(
                graph < 0,
                np.diff(message_offsets(structure.record)),
                count * _shared(structure.record),
            )
            memory[1:] = np.cumsum(kept)
        return replace(structure, work=work, memory=memory)


def _scratch(record: Record, used: bool) -> dict[str, int]:
    """Sizes of the scratch for the largest instance without forests; none where there is no such
    instance.
    """
    from structopt.inference.factor_sizes import factor_sizes

    size = factor_sizes(record)
    sizes = {
        "u": size.shared,
        "z": size.shared + size.private,
        "degree": size.shared,
        "n": size.linked,
    }
    sizes |= dict.fromkeys(("messages", "local", "direction", "kept", "kept_local"), size.messages)
    sizes |= {"p": max(size.private, size.linked), "floats": size.floats, "ints": size.ints}
    return sizes if used else dict.fromkeys(sizes, 0)


def _forest_work(record: Record, graph: Array, forests: list[Forests]) -> dict[str, Any]:
    """The forests, the number of each instance's graph, and sizes of the scratch for the
    largest.
    """
    from structopt.inference.factor_sizes import factor_sizes
    from structopt.kernels.loopy.factors import FACTORS

    packed = [one.packed() for one in forests]
    rows = max((one.downwards.size for one in forests), default=0)
    width = int(FACTORS.open(record).widths.max(initial=0))
    private = factor_sizes(record).private if forests else 0
    return {
        "graph": graph,
        "begins": np.cumsum([0, *map(len, packed)]),
        "packed": np.concatenate([np.zeros(0, np.int32), *packed]),
        "width": width,
        "front": rows,
        "path": max((len(one.order) for one in forests), default=0),
        "edges": 4 * max((len(one.copies) for one in forests), default=0),
        "logs": rows,
        "state": 3 * rows * width,
        "table": private,
        "power": private,
        "scratch": 3 * width,
    }


def _shared(record: Record) -> Array:
    """Parts of the variables of each instance."""
    from structopt.kernels.loopy.factors import FACTORS

    shared: Array = FACTORS.open(record).shared
    return shared
