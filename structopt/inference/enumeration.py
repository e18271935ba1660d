"""Inference by listing every output: slow, obvious, and the reference for all others."""

from __future__ import annotations

from math import inf, log

import numpy as np

from structopt.core.ability import Ability
from structopt.core.factor_kind import FactorAbility
from structopt.core.inference import Inference
from structopt.core.structure_kind import InferenceKernels, StructureKind
from structopt.errors import CompatibilityError
from structopt.kernels.waist.record import Array, Record

MOST_OUTPUTS = 1_000_000


class Enumeration(Inference):
    """Visit every output of an instance. In plain Python: drivers run it un-compiled.

    Refuses instances with more than a million outputs.
    """

    of_factors = FactorAbility(0)

    def provides(self, kind: StructureKind) -> Ability:
        """Return what every exact inference provides."""
        if kind.vertices is None:
            return Ability(0)
        return (
            Ability.MAP
            | Ability.MARGINALS
            | Ability.K_BEST
            | Ability.EXACT
            | Ability.UPPER
            | Ability.CONVEX
        )

    def kernels(self, kind: StructureKind) -> InferenceKernels:
        """Make kernels of the list of outputs of a kind of structure."""
        vertices_of = kind.vertices
        if vertices_of is None:
            raise CompatibilityError(
                f"Enumeration(): factor graphs of kind '{kind}' do not list their outputs."
            )

        def solve(
            structure: Record,
            i: int,
            s: Array,
            temperature: float,
            z: Array,
            memory: Array,
            work: Record,
        ) -> float:
            """max_z' s^T z' + temperature * H(z'), over all outputs of instance i."""
            vertices = vertices_of(structure, i, len(s), MOST_OUTPUTS)
            return _maximum(vertices, masked_product(vertices, s), temperature, z)

        def k_best(
            structure: Record,
            i: int,
            s: Array,
            k: int,
            values: Array,
            offsets: Array,
            parts: Array,
            counts: Array,
            work: Record,
        ) -> int:
            """Sort all outputs by their score, best first."""
            vertices = vertices_of(structure, i, len(s), MOST_OUTPUTS)
            scores = masked_product(vertices, s)
            order = np.argsort(-scores, kind="stable")[:k]
            order = order[scores[order] > -inf]
            rows, columns = np.nonzero(vertices[order])
            values[: len(order)], offsets[0] = scores[order], 0
            offsets[1 : len(order) + 1] = np.cumsum(np.bincount(rows, minlength=len(order)))
            parts[: len(columns)], counts[: len(columns)] = columns, vertices[order][rows, columns]
            return len(order)

        return InferenceKernels(solve, k_best)


def masked_product(vertices: Array, s: Array) -> Array:
    """vertices @ s, where 0 * -inf counts as 0."""
    forbidden = s == -inf
    scores = vertices @ np.where(forbidden, 0.0, s)
    scores[(vertices[:, forbidden] != 0).any(axis=1)] = -inf
    return np.asarray(scores)


def _maximum(vertices: Array, scores: Array, temperature: float, z: Array) -> float:
    top = float(scores.max(initial=-inf))
    if top == -inf:
        z[:] = 0.0
        return top
    if temperature == 0.0:
        z[:] = vertices[int(scores.argmax())]
        return top
    weights = np.exp((scores - top) / temperature)
    z[:] = weights @ vertices / weights.sum()
    return top + temperature * log(weights.sum())
