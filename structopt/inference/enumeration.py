"""Inference by listing every output: slow, obvious, and the reference for all others."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product
from math import inf, log, prod

import numpy as np

from structopt.core.ability import Ability
from structopt.core.factor_kind import FactorAbility
from structopt.core.inference import Inference, InferenceKernels
from structopt.errors import CompatibilityError, ConfigError
from structopt.inference.factor_outputs import factor_outputs
from structopt.kernels.record import Array, Record

MOST_OUTPUTS = 1_000_000


class Enumeration(Inference):
    """Visit every output of an instance. In plain Python: a driver that is given it runs un-compiled.

    Refuses instances with more than a million outputs.
    """

    of_factors = FactorAbility(0)

    def provides(self, structure_kind: str) -> Ability:
        """Return what every exact inference provides."""
        if structure_kind not in OUTPUTS:
            return Ability(0)
        return Ability.MAP | Ability.MARGINALS | Ability.K_BEST | Ability.EXACT | Ability.UPPER | Ability.CONVEX

    def kernels(self, structure_kind: str) -> InferenceKernels:
        """Pick the list of outputs for a kind of structure."""
        if structure_kind not in OUTPUTS:
            raise CompatibilityError(
                f"inference=enumeration cannot list the outputs of factor graphs of kind '{structure_kind}'. "
                f"It can for: {', '.join(OUTPUTS)}."
            )
        outputs = OUTPUTS[structure_kind]

        def solve(structure: Record, i: int, s: Array, temperature: float, z: Array, memory: Array, work: Record) -> float:
            """max_z' s^T z' + temperature * H(z'), over all outputs of instance i."""
            assignments, vertices = outputs(structure, i, s)
            return _maximum(vertices, _masked_product(vertices, s), temperature, z)

        def k_best(structure: Record, i: int, s: Array, k: int, values: Array, assignments: Array, work: Record) -> int:
            """Sort all outputs by their score, best first."""
            listed, vertices = outputs(structure, i, s)
            scores = _masked_product(vertices, s)
            order = np.argsort(-scores, kind="stable")[:k]
            order = order[scores[order] > -inf]
            values[: len(order)] = scores[order]
            assignments[: len(order) * listed.shape[1]] = listed[order].ravel()
            return len(order)

        def vertex(structure: Record, i: int, assignment: Array, z: Array) -> None:
            """Part indicators of one output."""
            listed, vertices = outputs(structure, i, np.zeros(len(z)))
            z[:] = vertices[int((listed == assignment).all(axis=1).argmax())]

        return InferenceKernels(solve, k_best, vertex)


def _masked_product(vertices: Array, s: Array) -> Array:
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


def _chain_outputs(structure: Record, i: int, s: Array) -> tuple[Array, Array]:
    """All labellings of chain i, and their part vectors; hard constraints go into s."""
    from structopt.kernels.chain import CHAIN, constrain, mark

    c = CHAIN.open(structure)
    n = int(c.tokens[i + 1] - c.tokens[i])
    if c.labels**n > MOST_OUTPUTS:
        raise ConfigError(
            f"inference=enumeration: instance {i + 1} has {c.labels}^{n} outputs, more than {MOST_OUTPUTS:,}. "
            "Use inference=exact, or shorter instances."
        )
    constrain.py_func(c, i, n, s)
    assignments = np.array(list(product(range(c.labels), repeat=n)), dtype=np.int32)
    vertices = np.zeros((len(assignments), len(s)))
    for y, vertex in zip(assignments, vertices, strict=True):
        for t in range(n):
            history = sum(int(y[t - d]) * c.labels ** (d - 1) for d in range(1, min(t, c.order) + 1))
            mark.py_func(c, n, t, history, int(y[t]), vertex, 1.0)
    return assignments, vertices


def _single_outputs(structure: Record, i: int, s: Array) -> tuple[Array, Array]:
    """All labels of a single variable, and their indicators."""
    return np.arange(len(s), dtype=np.int32)[:, None], np.eye(len(s))


def _tree_outputs(structure: Record, i: int, s: Array, projective: bool = False) -> tuple[Array, Array]:
    """All trees that the candidate arcs of sentence i make, with all labels, and their part vectors."""
    from structopt.kernels.arcs import ARCS

    a = ARCS.open(structure)
    arcs = a.arcs[a.tokens[i] : a.tokens[i + 1] + 1]
    _check_count(i, prod(np.diff(arcs).tolist()), "choices of heads")
    chosen = np.array(list(product(*(range(int(count)) for count in np.diff(arcs)))), np.int32)
    heads = a.heads[arcs[:-1] + chosen].astype(np.int64)
    chosen = chosen[_are_trees(heads, a.single_root) & (not projective or _are_planar(heads))]
    n, L = chosen.shape[1], max(a.labels, 1)
    _check_count(i, len(chosen) * L**n, "outputs")
    labels = np.array(list(product(range(L), repeat=n)), np.int32)
    assignments = (chosen[:, None, :] * L + labels).reshape(-1, n)
    vertices = np.zeros((len(assignments), len(s)))
    rows, before = np.arange(len(assignments))[:, None], arcs[:-1] - arcs[0]
    vertices[rows, (arcs[-1] - arcs[0]) * a.labels + before + assignments // L] = 1.0
    if a.labels:
        vertices[rows, before * L + assignments] = 1.0
    return assignments, vertices


def _are_trees(heads: Array, single_root: bool) -> Array:
    """Which rows of heads (own position: the root) are trees: from every token the root is reached."""
    own = np.arange(heads.shape[1])
    reached = heads
    for _ in own:
        reached = np.take_along_axis(reached, reached, axis=1)
    rooted = (np.take_along_axis(heads, reached, axis=1) == reached).all(axis=1)
    return np.asarray(rooted & ((heads == own).sum(axis=1) == 1) if single_root else rooted)


def _are_planar(heads: Array) -> Array:
    """In which rows no two arcs cross, the root standing left of the sentence."""
    own = np.arange(heads.shape[1])
    ends = np.where(heads == own, -1, heads)
    low, high = np.minimum(ends, own), np.maximum(ends, own)
    crossing = np.zeros(len(heads), bool)
    for m, k in product(own, own):
        crossing |= (low[:, m] < low[:, k]) & (low[:, k] < high[:, m]) & (high[:, m] < high[:, k])
    return ~crossing


def _check_count(i: int, count: int, what: str) -> None:
    if count > MOST_OUTPUTS:
        raise ConfigError(
            f"inference=enumeration: instance {i + 1} has {count:,} {what}, more than {MOST_OUTPUTS:,}. "
            "Use inference=exact, or shorter instances."
        )


OUTPUTS: dict[str, Callable[[Record, int, Array], tuple[Array, Array]]] = {
    "arborescence": _tree_outputs,
    "chain": _chain_outputs,
    "factors": factor_outputs,
    "projective": partial(_tree_outputs, projective=True),
    "single": _single_outputs,
}
