"""Reweighted belief propagation: an upper bound on the log-partition function that holds at any messages."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np

from structopt.core.data import Structure
from structopt.core.protocols import Ability, InferenceKernels
from structopt.errors import CompatibilityError, ConfigError
from structopt.inference.loopy_bp import LoopyBP
from structopt.kernels.record import pack


class TreeReweightedBP:
    """Bound temperature * log Z (at temperature 0 the best score) from above, and pass messages that lower the bound.

    Every factor has a counting number, such that the entropies of the factors, so weighted, are together no less than the
    entropy of the outputs. Where a TREE factor covers the variables its number is 1 and the others' are 0 (their best
    configurations) or small; elsewhere a factor's is 1 over the number of factors at its variables. Because the bound holds
    at any messages, and after any number of passes, losses are never negative.

    Parameters
    ----------
    passes : int
        The most steps of an instance's messages; each evaluates the bound once more. 0 leaves the messages as they are.
    tolerance : float
        Steps end when they aim at lowering the bound by no more than this (scores' unit).
    smoothing : float
        Counting number of the factors beside a TREE, all those at a variable together. 0 gives the tightest bound, larger
        values marginals of the factors that change smoothly with the scores.
    warm_start : bool
        Whether each instance keeps its messages until its next visit: few passes then do, for a float a link of memory.
    predictions : str
        ``loopy_bp``: by belief propagation, since a bound that is loose before its steps have converged has poor marginals;
        ``bound``: by the bound's own.
    decoding_temperature : float
        Temperature of the marginals that predictions are read off, as the output of least expected cost; 0 takes those of
        the best score.

    Notes
    -----
    The value is convex in the scores at given messages, of which the marginals are the gradient; but messages follow the
    scores, and convexity as a whole holds only where they have converged. Wainwright et al. (2005); the entropies' inequality
    is Madiman and Tetali's (2010).
    """

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
            raise ConfigError(f"inference.passes must not be negative, not {passes}. 20 are usual; 0 keeps the first bound.")
        for name, value in (("tolerance", tolerance), ("smoothing", smoothing), ("decoding_temperature", decoding_temperature)):
            if not 0.0 <= value < np.inf:
                raise ConfigError(f"inference.{name} must be 0 or a positive number, not {value:g}.")
        self.passes, self.tolerance, self.smoothing = passes, tolerance, smoothing
        self.warm_start, self.predictions, self.decoding_temperature = warm_start, predictions, decoding_temperature

    def decoder(self) -> Any:
        """Return the inference that makes predictions."""
        return LoopyBP(decoding_temperature=self.decoding_temperature) if self.predictions == "loopy_bp" else self

    def provides(self, structure_kind: str) -> Ability:
        """Bounds from above, with their gradients."""
        return Ability.MAP | Ability.MARGINALS | Ability.UPPER if structure_kind == "factors" else Ability(0)

    def kernels(self, structure_kind: str) -> InferenceKernels:
        """Pick the algorithm for a kind of structure."""
        if structure_kind != "factors":
            raise CompatibilityError(
                f"inference=trw_bp is for factor graphs of kind 'factors', not '{structure_kind}'. Take inference=exact."
            )
        from structopt.kernels.trw_bp import solve

        return InferenceKernels(solve)

    def prepare(self, structure: Structure) -> Structure:
        """Give the structure scratch for its largest instance, and with `warm_start` room for messages."""
        from structopt.inference.factor_sizes import factor_sizes, message_offsets

        size = factor_sizes(structure.record)
        settings = [self.passes, self.tolerance, self.smoothing]
        floats = [size.shared, size.shared + size.private, *[size.messages] * 5, size.linked]
        floats += [max(size.private, size.linked), size.floats]
        work = pack(ints=[np.zeros(size.ints), np.zeros(size.shared)], floats=[settings, *map(np.zeros, floats)])
        memory = message_offsets(structure.record) if self.warm_start else np.zeros(len(structure) + 1, np.int64)
        return replace(structure, work=work, memory=memory)
