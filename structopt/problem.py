"""The room where all kinds of component meet: a corpus, its graphs, features, costs, loss and inference as one objective."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from structopt.core.data import Encoded, SparseVectors, Structure
from structopt.core.protocols import (
    BatchMap,
    Calculus,
    Executor,
    FactorGraph,
    FeatureKernels,
    FeatureMap,
    FeatureScratch,
    Inference,
    InferenceKernels,
    Loss,
)
from structopt.errors import ConfigError
from structopt.kernels.record import EMPTY, Array, Record, pack
from structopt.kernels.signatures import Data, Kernels, Space
from structopt.memory import free_bytes

SHARDS = 8


def compose(
    features: FeatureKernels,
    inference: InferenceKernels,
    evaluate: Any = None,
    calculus: Calculus | None = None,
    rounding: Any = None,
) -> Kernels:
    """Put the kernels side by side; where the inference is plain Python, so is the loss, which calls it."""
    from structopt.kernels import calculus as missing
    from structopt.kernels import loss

    evaluate = evaluate or loss.family
    if not hasattr(inference.solve, "signatures"):
        evaluate = getattr(evaluate, "py_func", evaluate)
    closed_forms = calculus or Calculus(missing.no_entropy, missing.no_slope, missing.no_conditionals)
    lists = inference.k_best or missing.no_k_best, inference.vertex or missing.no_vertex
    return Kernels(*features, evaluate, inference.solve, *lists, rounding or missing.no_rounding, *closed_forms)


def run_driver(driver: Any, kernels: Kernels, data: Data, space: Space, *arguments: Any) -> Any:
    """Call a driver: compiled, or its Python source when a kernel is a plain Python function."""
    compiled = all(hasattr(kernel, "signatures") for kernel in kernels)
    return (driver if compiled else driver.py_func)(tuple(kernels), data, space, *arguments)


def structure_for(inference: Any, structure: Structure) -> Structure:
    """Return the structure with the memory and the scratch that an inference needs, where it says so."""
    prepared: Structure = inference.prepare(structure) if hasattr(inference, "prepare") else structure
    return prepared


def converged(inference: Any, structure: Structure | None = None) -> Any:
    """The inference by which, given the training structure, P is reported; without it, what a decoder falls back on.

    It is the inference itself, unless that says what it comes to when it starts from nothing and is given the time.
    """
    return inference.converged(structure) if hasattr(inference, "converged") else inference


def decoder_of(inference: Any) -> Any:
    """Return the inference that predictions are made with: its own ``decoder()``, where it has one, else converged."""
    return inference.decoder() if hasattr(inference, "decoder") else converged(inference)


def predicting(feature_map: FeatureMap, graph: Any, inference: Any) -> Kernels:
    """Kernels for outputs and marginals, without a loss."""
    return compose(feature_map.kernels, inference.kernels(graph.kind), rounding=getattr(graph, "rounding", None))


@dataclass(frozen=True)
class Examples:
    """A corpus ready for inference: encoded, with its graphs and the record of its features."""

    encoded: Encoded
    structure: Structure
    features: Record
    feature_map: FeatureMap

    @classmethod
    def build(
        cls, encoded: Encoded, graph: FactorGraph, feature_map: FeatureMap, inference: Inference | None = None
    ) -> Examples:
        """Build the graphs of a corpus, with what the inference needs, and pack its features for a fitted feature map."""
        structure = structure_for(inference, graph.build(encoded))
        return cls(encoded, structure, feature_map.record(encoded, structure), feature_map)

    def __len__(self) -> int:
        """Number of instances."""
        return len(self.encoded)

    def solved_by(self, inference: Inference) -> Examples:
        """The same corpus with the memory and the scratch that another inference needs."""
        stateless = replace(self.structure, memory=np.zeros(len(self) + 1, np.int64), work=EMPTY)
        return replace(self, structure=structure_for(inference, stateless))

    @cached_property
    def most_parts(self) -> int:
        """Parts of the largest instance."""
        return int(np.diff(self.structure.parts).max(initial=0))

    @cached_property
    def batch(self) -> BatchMap:
        """The features, for evaluations over all instances."""
        return self.feature_map.batch(self.encoded, self.structure)

    def data(self, target: Record = EMPTY, parameters: Array | None = None) -> Data:
        """Put together what drivers read; the messages of a stateful inference start at zero."""
        messages = np.zeros(int(self.structure.memory[-1]))
        given = np.zeros(2) if parameters is None else np.ascontiguousarray(parameters, dtype=np.float64)
        structure = self.structure
        return Data(self.features, structure.record, target, given, structure.parts, structure.memory, messages)

    def space(self) -> Space:
        """Allocate scratch for one thread."""
        work = Record(*(buffer.copy() for buffer in self.structure.work))
        found: FeatureScratch = self.feature_map.scratch(self.encoded, self.structure)
        vectors = [np.zeros(self.most_parts) for _ in range(4)]
        numbers = [np.zeros(size, np.int64) for size in (found.runs, found.runs, found.coordinates)]
        return Space(*vectors, work, found.gradient, *numbers, np.zeros(found.coordinates))  # type: ignore[call-arg, arg-type]

    def shards(self) -> list[tuple[int, int]]:
        """Ranges of instances: as many whatever the number of workers, so that sums have the same bits."""
        bounds = np.linspace(0, len(self), SHARDS + 1).astype(int)
        return [(int(a), int(b)) for a, b in zip(bounds[:-1], bounds[1:], strict=True) if a < b]


class Certificate(NamedTuple):
    """P at some weights, and a lower bound D on the least P there is."""

    primal: float
    dual: float


class Problem:
    """P(theta) = lambda/2 ||theta||^2 + (1/m) sum_i L_i(theta), with lambda = 1/(C m).

    Parameters
    ----------
    examples : Examples
        The training corpus, m instances.
    gold, cost : SparseVectors
        Gold indicators z_i and costs p_i over the parts.
    loss : Loss
    inference : Inference
        By which optimizers step. P and its gradient are computed by what it comes to: see `converged`.
    C : float
        1/(lambda m).
    seed : int
        Seed of the order of the instances.
    variant : str
        Which residual the optimizer steps by; handed to the loss.
    calculus : Calculus or None
        Closed forms of the structures' marginals, where they are positional and the graph knows them.
    executor : Executor or None
        For batch work; None does it in this thread.
    judge : callable or None
        Weights to a score, higher is better, by which optimizers choose what they were told to choose; None takes -P.
    penalty : str
        The regulariser of P: ``l2`` (lambda/2 ||theta||^2) or ``l1`` (lambda ||theta||_1).
    rounding : kernel or None
        The graph's, which makes an output of fractional marginals.
    """

    def __init__(
        self,
        examples: Examples,
        gold: SparseVectors,
        cost: SparseVectors,
        loss: Loss,
        inference: Inference,
        C: float,
        seed: int = 0,
        variant: str = "max_loss",
        calculus: Calculus | None = None,
        executor: Executor | None = None,
        judge: Callable[[Array], float] | None = None,
        penalty: str = "l2",
        rounding: Any = None,
    ) -> None:
        self.penalty = penalty
        self.examples, self.loss, self.C, self.seed, self.calculus = examples, loss, C, seed, calculus
        self.structure, self.feature_map = examples.structure, examples.feature_map
        self.m, self.dimension = len(examples), examples.feature_map.dimension
        target = pack(
            ints=[gold.parts, cost.parts], longs=[gold.offsets, cost.offsets], floats=[gold.values, cost.values]
        )
        self.data = examples.data(target, loss.parameters())
        features = examples.feature_map.kernels
        solver = inference.kernels(self.structure.kind)
        self.kernels = compose(features, solver, loss.kernel(variant), calculus, rounding)
        self._reported, self._objective_data = examples, self.data
        reported = converged(inference, self.structure)
        if reported is not inference:
            solver, self._reported = reported.kernels(self.structure.kind), examples.solved_by(reported)
            self._objective_data = self._reported.data(target, loss.parameters())
        self.objective_kernels = compose(features, solver, loss.kernel(), calculus, rounding)
        self.executor = executor or InThisThread()
        self.judge = judge or (lambda weights: -self.objective(weights))
        self._spaces: deque[Space] = deque()  # scratch that no thread is using
        _check_gold(examples, gold)

    @property
    def regularization(self) -> float:
        """lambda = 1/(C m)."""
        return 1.0 / (self.C * self.m)

    @cached_property
    def space(self) -> Space:
        """Scratch of the optimizer's thread."""
        return self.examples.space()

    def run(self, driver: Any, *arguments: Any) -> Any:
        """Call an optimizer's driver on this problem's kernels and data, in this thread."""
        return run_driver(driver, self.kernels, self.data, self.space, *arguments)

    @property
    def messages(self) -> Array:
        """What the inference keeps between visits, of all instances; empty where it is stateless. Checkpoints hold it."""
        return self.data.messages

    def order(self, epoch: int) -> Array:
        """Order of the instances in a pass: a permutation that depends on the seed and the pass alone."""
        return np.random.default_rng([self.seed, epoch]).permutation(self.m)

    def part_vector(self, name: str) -> Array:
        """Return zeros over the parts of all instances; refused, with its size, where the machine has no room for it."""
        size = 8 * int(self.structure.parts[-1])
        if size > free_bytes():
            raise ConfigError(
                f"optimizer: {name} of all {self.m} instances need {size / 1e9:.1f} GB, more than this machine has free. "
                "Set task.limit, or take an optimizer without dual variables: dca, sgd or lbfgs."
            )
        return np.zeros(int(self.structure.parts[-1]))

    def losses(self, weights: Array) -> float:
        """Sum of L_i at the given weights."""
        from structopt.kernels.passes import loss_pass

        return float(sum(self._over_shards(loss_pass, self._objective_data, weights)))

    def objective(self, weights: Array) -> float:
        """P(theta) at the given weights."""
        return self.regularizer(weights) + self.losses(weights) / self.m

    def regularizer(self, weights: Array) -> float:
        """lambda/2 ||theta||^2, or lambda ||theta||_1 with penalty l1."""
        return self.regularization * float(np.abs(weights).sum()) if self.penalty == "l1" else self.ridge(weights)

    def ridge(self, weights: Array) -> float:
        """lambda/2 ||theta||^2."""
        return self.regularization / 2 * float(weights @ weights)

    def gradient(self, weights: Array, out: Array | None = None) -> tuple[float, Array]:
        """Sum of L_i at the given weights, and its (sub)gradient sum_i F_i (z_bar_i - z_i), written to `out` if given."""
        from structopt.kernels.passes import residual_pass

        out = np.empty(self.dimension) if out is None else out
        data = self._objective_data._replace(features=self.examples.batch.record)
        losses = sum(self._over_shards(residual_pass, data, self.examples.batch.widen(weights), self._residuals))
        self.sum_gradients(self._residuals, out)
        return float(losses), out

    def sum_gradients(self, residuals: Array, out: Array) -> None:
        """Fill `out` with sum_i F_i r_i, given residuals over the parts of all instances; on all the executor's workers."""
        self.examples.batch.gradient_sum(residuals, self.executor, out)

    def certificate(self, weights: Array) -> Certificate:
        """P at the given weights, and the best lower bound on its minimum that one evaluation gives.

        With z_bar_i the inference's answers at theta and g = (1/m) sum_i F_i (z_bar_i - z_i), the points
        z_i + t (z_bar_i - z_i) are feasible for the dual and, the entropy being concave,

            D(t) >= t ((1/m) sum_i L_i(theta) - theta^T g) - t^2 ||g||^2 / (2 lambda),   0 <= t <= 1.

        At t = 1 the gap P - D is ||lambda theta + g||^2 / (2 lambda): the squared norm of the (sub)gradient of P. It
        certifies only if the inference is exact or an upper bound.
        """
        losses, g = self.gradient(weights)
        bound = self.bound((losses - float(weights @ g)) / self.m, float(g @ g) / self.m**2)
        return Certificate(self.ridge(weights) + losses / self.m, bound)

    def bound(self, slope: float, norm: float) -> float:
        """max over 0 <= t <= 1 of t * slope - t^2 * norm / (2 lambda): see `certificate`."""
        t = min(1.0, max(0.0, slope * self.regularization / norm)) if norm > 0 else 1.0
        return t * slope - t * t * norm / (2 * self.regularization)

    @cached_property
    def _residuals(self) -> Array:
        return np.zeros(int(self.structure.parts[-1]))

    def _over_shards(self, driver: Any, data: Data, *arguments: Any) -> list[Any]:
        """Run a driver over ranges of instances, at the loss that is reported; results in the order of the ranges."""

        def shard(bounds: tuple[int, int]) -> Any:
            try:
                space = self._spaces.pop()
            except IndexError:
                space = self._reported.space()
            result = run_driver(driver, self.objective_kernels, data, space, *bounds, *arguments)
            self._spaces.append(space)
            return result

        return self.executor.map(shard, self.examples.shards())


class InThisThread:
    """The executor of whoever was given none."""

    workers = 1

    def map(self, function: Callable[[Any], Any], shards: Any) -> list[Any]:
        """Apply `function` to each shard."""
        return [function(shard) for shard in shards]


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
