"""The room where all kinds of component meet: a corpus, its graphs, features, costs, loss and inference as one objective."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from structopt.core.data import Encoded, SparseVectors, Structure
from structopt.core.protocols import Executor, FactorGraph, InferenceKernels, Loss
from structopt.errors import ConfigError
from structopt.features import AttributeRows
from structopt.kernels.record import Array, Record, pack

SHARDS_PER_WORKER = 4


class Kernels(NamedTuple):
    """The functions that a driver is composed of (signatures in `structopt.kernels.signatures`)."""

    scores: Any
    pullback: Any
    add: Any
    dot: Any
    flatten: Any
    evaluate: Any
    solve: Any
    k_best: Any


class Workspace(NamedTuple):
    """Scratch of one thread: score and residual vectors, the inference's tables, an empty sparse gradient."""

    scores: Array
    residual: Array
    work: Record
    gradient: Record


def compose(inference: InferenceKernels, evaluate: Any = None) -> Kernels:
    """Put the kernels side by side; where the inference is plain Python, so is the loss, which calls it."""
    from structopt.kernels import attribute_rows as rows

    if not hasattr(inference.solve, "signatures"):
        evaluate = getattr(evaluate, "py_func", evaluate)
    return Kernels(rows.scores, rows.pullback, rows.add, rows.dot, rows.flatten, evaluate, *inference)


def driver_for(kernels: Kernels, driver: Any) -> Callable[..., Any]:
    """Pick the compiled driver, or its Python source when a kernel is a plain Python function."""
    compiled = all(hasattr(k, "signatures") for k in kernels if k is not None)
    return driver if compiled else driver.py_func  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Examples:
    """A corpus ready for inference: encoded, with its graphs and the record of its features."""

    encoded: Encoded
    structure: Structure
    features: Record
    rows: AttributeRows

    @classmethod
    def build(cls, encoded: Encoded, graph: FactorGraph, rows: AttributeRows) -> Examples:
        """Build the graphs of a corpus and pack its features for a fitted feature map."""
        structure = graph.build(encoded)
        return cls(encoded, structure, rows.record(encoded, structure), rows)

    def __len__(self) -> int:
        """Number of instances."""
        return len(self.encoded)

    def workspace(self) -> Workspace:
        """Allocate scratch for one thread."""
        k = int(np.diff(self.structure.parts).max(initial=0))
        work = Record(*(buffer.copy() for buffer in self.structure.work))
        return Workspace(np.zeros(k), np.zeros(k), work, self.rows.gradient(self.encoded, self.structure))

    def shards(self, workers: int) -> list[tuple[int, int]]:
        """Ranges of instances; more than one a worker, so that no worker waits long for another."""
        bounds = np.linspace(0, len(self), 1 + (SHARDS_PER_WORKER * workers if workers > 1 else 1)).astype(int)
        return [(int(a), int(b)) for a, b in zip(bounds[:-1], bounds[1:], strict=True) if a < b]


class Problem:
    """P(theta) = lambda/2 ||theta||^2 + (1/m) sum_i L_i(theta), with lambda = 1/(C m).

    Parameters
    ----------
    examples : Examples
        The training corpus, m instances.
    gold, cost : SparseVectors
        Gold indicators z_i and costs p_i over the parts.
    loss : Loss
    inference : InferenceKernels
    C : float
        1/(lambda m).
    seed : int
        Seed of the order of the instances.
    variant : str
        Passed on to the loss's kernel.
    """

    def __init__(
        self,
        examples: Examples,
        gold: SparseVectors,
        cost: SparseVectors,
        loss: Loss,
        inference: InferenceKernels,
        C: float,
        seed: int = 0,
        variant: str = "max_loss",
    ) -> None:
        self.examples, self.loss, self.C, self.seed = examples, loss, C, seed
        self.structure, self.features = examples.structure, examples.features
        self.m, self.dimension = len(examples), examples.rows.dimension
        self.target = pack(
            ints=[gold.parts, cost.parts], longs=[gold.offsets, cost.offsets], floats=[gold.values, cost.values]
        )
        self.parameters = np.ascontiguousarray(loss.parameters(), dtype=np.float64)
        self.kernels = compose(inference, loss.kernel(variant))
        self.objective_kernels = compose(inference, loss.kernel())
        self.messages = np.zeros(int(self.structure.memory[-1]))
        _check_gold(examples, gold)

    @cached_property
    def workspace(self) -> Workspace:
        """Scratch of the optimizer's thread."""
        return self.examples.workspace()

    def driver(self, driver: Any) -> Callable[..., Any]:
        """Pick the compiled driver, or its Python source when a kernel is a plain Python function."""
        return driver_for(self.kernels, driver)

    def order(self, epoch: int) -> Array:
        """Order of the instances in a pass: a permutation that depends on the seed and the pass alone."""
        return np.random.default_rng([self.seed, epoch]).permutation(self.m)

    def losses(self, weights: Array, executor: Executor) -> float:
        """Sum of L_i at the given weights."""
        from structopt.kernels.passes import loss_pass

        k, run = self.objective_kernels, driver_for(self.objective_kernels, loss_pass)

        def shard(bounds: tuple[int, int]) -> float:
            space = self.examples.workspace()
            return float(
                run(
                    k.scores, k.evaluate, k.solve, self.features, self.structure.record, self.target, self.parameters,
                    self.structure.parts, self.structure.memory, self.messages, *bounds, weights,
                    space.scores, space.residual, space.work,
                )
            )  # fmt: skip

        return float(sum(executor.map(shard, self.examples.shards(executor.workers))))

    def objective(self, weights: Array, executor: Executor) -> float:
        """P(theta) at the given weights."""
        return float(weights @ weights) / (2 * self.C * self.m) + self.losses(weights, executor) / self.m


def _check_gold(examples: Examples, gold: SparseVectors) -> None:
    """Refuse a training corpus whose gold outputs break the hard constraints."""
    encoded = examples.encoded
    if encoded.gold is None or not (encoded.forbidden_transitions or encoded.forbidden_starts or encoded.forbidden_ends):
        return
    L, y = len(encoded.labels), encoded.gold
    first, last = encoded.offsets[:-1], encoded.offsets[1:] - 1
    inside = np.setdiff1d(np.arange(1, len(y)), first)
    pairs = np.isin(y[inside - 1].astype(np.int64) * L + y[inside], [u * L + v for u, v in encoded.forbidden_transitions])
    broken = np.concatenate([
        inside[pairs], first[np.isin(y[first], encoded.forbidden_starts)], last[np.isin(y[last], encoded.forbidden_ends)]
    ])  # fmt: skip
    if len(broken):
        sentence = int(np.searchsorted(encoded.offsets, broken.min(), side="right"))
        raise ConfigError(
            f"The gold output of training instance {sentence} has a label sequence that the constraints forbid. "
            "Leave task.valid_tags=false, or check task.scheme."
        )
