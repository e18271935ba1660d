"""Outputs of scores: the best one, the k best, and samples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from structopt.core import checks
from structopt.core.ability import Ability
from structopt.core.data.sparse_vectors import SparseVectors
from structopt.core.inference import Inference
from structopt.core.parts.batch import Batch
from structopt.core.parts.parts import Parts
from structopt.errors import ArgumentError, InfeasibleError
from structopt.kernels.waist.record import Array
from structopt.objective import decoding
from structopt.verbs.given_scores import Solver, executor_of, refuse_infeasible, solver_of
from structopt.verbs.inferring import infer, scores_batch


@dataclass(frozen=True)
class Best:
    """An output per instance.

    Attributes
    ----------
    parts : Parts
        Indicators, and counts in tied groups.
    views : mapping of str to int64 array
        Numbers that the outputs consist of, one position after the other: ``labels``; ``heads``
        (0: the root, else counted from 1) and ``relations``; ``derivations``, with a row per span.
    score : float64, shape (instances,)
    upper : float64, shape (instances,)
        No output of the instance scores higher; +inf without a bound.
    """

    parts: Parts
    views: Mapping[str, Array]
    score: Array
    upper: Array

    @property
    def optimal(self) -> Array:
        """Whether the bound proves that no output scores higher, bool, shape (instances,)."""
        return decoding.proved(self.upper, self.score)

    def __len__(self) -> int:
        """Number of instances."""
        return len(self.parts)

    def __getitem__(self, key: str | int) -> Any:
        """Return a view, or the output of one instance as ``gold`` takes it."""
        if isinstance(key, str):
            return _view(self.views, key)
        batch = self.parts.batch
        return batch.of_instance(self.views, batch.instance_index(key))

    def padded(self, fill: int) -> Array:
        """Return the first view as an array (instances, longest length), with `fill` at other
        places.
        """
        batch = self.parts.batch
        layout = batch.variable_layout
        return layout.padded(next(iter(self.views.values())), fill)


@dataclass(frozen=True)
class Several:
    """The k best outputs of each instance, or k samples.

    Attributes
    ----------
    views : mapping of str to int64 array, shape (k, positions)
        -1 if an instance has fewer outputs.
    score : float64, shape (k, instances)
        -inf if an instance has fewer outputs.
    batch : Batch
    """

    views: Mapping[str, Array]
    score: Array
    batch: Batch

    def __len__(self) -> int:
        """Return k."""
        return len(self.score)

    def __getitem__(self, name: str) -> Array:
        """Return a view, int64, shape (k, positions)."""
        return _view(self.views, name)


def argmax(scores: Parts, inference: Inference | None = None, *, threads: int = 1) -> Best:
    """Return an output of each instance with the highest score, as far as the inference finds it.

    Parameters
    ----------
    scores : Parts
    inference : Inference or None
        None: exact inference. Of relaxations the output is a rounding, and `Best.upper` is the
        value of the relaxation.
    threads : int

    Raises
    ------
    ArgumentError
        If the graph has no exact inference and none is given.
    InfeasibleError
        If scores of -inf leave an instance without an output.
    """
    batch = scores_batch(scores)
    solver = solver_of(batch, inference, Ability.MAP)
    if _finds_vertices(solver):
        found = infer(scores, inference, temperature=0.0, threads=threads)
        score = scores @ found.marginals
        views = batch.views(_sparse(batch, found.marginals.flat))
        return Best(found.marginals, views, score, score.copy())
    given = np.array(scores.flat)
    T, executor = solver.inference.decoding_temperature, executor_of(threads)
    try:
        outputs = decoding.best_outputs(solver.examples, solver.kernels, given, executor, T)
    except InfeasibleError:
        infer(scores, inference, temperature=0.0)  # names all instances without an output
        raise
    parts = batch.dense(outputs)
    score = scores @ parts
    upper = np.full(len(batch), np.inf)
    if Ability.EXACT in solver.provides:
        upper = score.copy()
    elif Ability.UPPER in solver.provides:
        upper = infer(scores, inference, temperature=0.0, threads=threads).value
    return Best(parts, batch.views(outputs), score, upper)


def _finds_vertices(solver: Solver) -> bool:
    """Whether maximization gives the indicators of an output."""
    return Ability.EXACT in solver.provides and solver.inference.decoding_temperature == 0.0


def _sparse(batch: Batch, flat: Array) -> SparseVectors:
    """Return indicators of the instances that are not empty, given indicators of all parts."""
    index, begins = np.flatnonzero(flat), batch.structure.parts
    instance = np.searchsorted(begins, index, side="right") - 1
    parts = (index - begins[instance]).astype(np.int32)
    return SparseVectors(np.searchsorted(index, begins).astype(np.int64), parts, flat[index])


def k_best(
    scores: Parts, k: int, inference: Inference | None = None, *, threads: int = 1
) -> Several:
    """Return the k best outputs of each instance, the best first.

    Parameters
    ----------
    scores : Parts
    k : int
        At least 1.
    inference : Inference or None
        None: exact inference.
    threads : int

    Raises
    ------
    ArgumentError
        If the inference makes no such lists on the graph.
    InfeasibleError
        If scores of -inf leave an instance without an output.
    """
    batch = scores_batch(scores)
    k = int(checks.integers("k", k, 1, shape=()))
    solver = solver_of(batch, inference, Ability.K_BEST)
    given, executor = np.array(scores.flat), executor_of(threads)
    try:
        lists = decoding.k_best(solver.examples, solver.list_kernels, given, k, executor)
    except InfeasibleError:
        infer(scores, inference, temperature=0.0)  # names all instances without an output
        raise
    refuse_infeasible(
        batch, np.array([one.scores[0] if len(one.scores) else -inf for one in lists])
    )
    score = np.full((k, len(batch)), -np.inf)
    views = dict[str, list[Array]]()
    for rank in range(k):
        own = [one if rank < len(one.scores) else None for one in lists]
        score[rank, batch.kept] = [-np.inf if one is None else one.scores[rank] for one in own]
        outputs = decoding.joined(
            [_NONE if one is None else one.outputs.subset(rank, rank + 1) for one in own]
        )
        absent = np.repeat([one is None for one in own], batch.view_lengths[batch.kept])
        for name, view in batch.views(outputs).items():
            view[absent] = -1
            views.setdefault(name, []).append(view)
    score[0, batch.lengths == 0] = 0.0
    return Several({name: np.stack(rows) for name, rows in views.items()}, score, batch)


def sample(
    scores: Parts,
    k: int,
    seed: int,
    inference: Inference | None = None,
    *,
    temperature: float = 1.0,
    threads: int = 1,
) -> Several:
    """Draw k outputs of each instance from p(y) ~ exp(s^T z_y / T).

    Each variable is drawn from its marginals given the variables before it, which takes as many
    inferences as the longest instance has variables. Trees of grammars are drawn from the root
    down, which takes one inference. Samples are exact if the marginals are.

    Parameters
    ----------
    scores : Parts
    k : int
        At least 1.
    seed : int
        Equal seeds draw equal outputs.
    inference : Inference or None
        None: exact inference.
    temperature : float
        Above 0.
    threads : int

    Raises
    ------
    ArgumentError
        If outputs of the graph are not chosen variable by variable.
    InfeasibleError
        If scores of -inf leave an instance without an output.
    """
    batch = scores_batch(scores)
    k = int(checks.integers("k", k, 1, shape=()))
    generator = np.random.default_rng(int(checks.integers("seed", seed, 0, shape=())))

    def marginals(own: Parts) -> Parts:
        return infer(own, inference, temperature=temperature, threads=threads).marginals

    def best(own: Parts) -> Parts:
        return argmax(own, inference, threads=threads).parts

    try:
        parts = batch.draw(scores, k, marginals, best, generator)
    except InfeasibleError:
        marginals(scores)  # names instances, and not their copies
        raise
    copies = parts.batch
    tiled = Parts(copies, np.tile(scores.flat, k))
    score = (tiled @ parts).reshape(k, len(batch))
    views = copies.views(_sparse(copies, parts.flat)).items()
    return Several({n: v.reshape(k, len(v) // k, *v.shape[1:]) for n, v in views}, score, batch)


_NONE = SparseVectors(np.zeros(2, np.int64), np.zeros(0, np.int32), np.zeros(0))


def _view(views: Mapping[str, Array], name: str) -> Array:
    if name not in views:
        raise ArgumentError(
            "is not a view of these outputs.",
            parameter="key",
            value=name,
            remedy=f"Choose one of: {', '.join(views)}.",
        )
    return views[name]
