r"""Functions of tensors of scores on a batch, which PyTorch differentiates.

For the scores s of an instance, with indicators z_y of its outputs y, and a temperature T > 0::

    V(s)  = T log sum_y exp(s^T z_y / T)       log_partition;  dV/ds = mu(s)
    mu(s) = sum_y p(y) z_y                     marginals;      dmu/ds = Cov(z) / T
    H(s)  = (V(s) - s^T mu(s)) / T             entropy;        dH/ds = -Cov(z) s / T^2

Scores are a mapping from the groups of the batch to tensors of real numbers, in the forms that
`structopt.core.parts.layouts.GroupLayout` lists: padded, flat, or shared by all instances. Numbers
at padding are ignored, and their gradients are 0; -inf forbids a part. Gradients have the shape,
type and device of each tensor, summed over the dimensions in which it is broadcast.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from structopt.core.inference import Inference
from structopt.core.loss import Loss
from structopt.core.parts.batch import Batch, Gold
from structopt.core.parts.differences import marginal_slope
from structopt.core.parts.inferred import Inferred
from structopt.core.parts.parts import Parts
from structopt.errors import ArgumentError
from structopt.factor_graph.batches import LabelBatch
from structopt.factor_graph.tree_batches import TreeBatch
from structopt.kernels.waist.record import Array
from structopt.torch.copies import array_type, to_arrays, to_tensors
from structopt.verbs import inferring, outputs
from structopt.verbs.inferring import infer
from structopt.verbs.losses import value_and_gradient

IGNORED = -100
"""An unknown label, as PyTorch writes it; `gold` of a batch writes -1."""


class OfScores(Protocol):
    """A number per instance as a function of its scores."""

    def values(self, scores: Parts) -> tuple[Array, Any]:
        """Return the numbers, float64 of shape (instances,), and values for the gradient."""

    def gradient(self, scores: Parts, kept: Any) -> Parts:
        """Return their (sub)gradients."""

    def slope(self, scores: Parts, direction: Parts) -> Parts:
        """Return the derivative of the gradient in a direction."""


@dataclass(frozen=True)
class LogPartition:
    """V(s)."""

    inference: Inference | None
    temperature: float
    threads: int

    def values(self, scores: Parts) -> tuple[Array, Parts]:
        """See `OfScores`."""
        T = inferring.positive(self.temperature)
        found = infer(scores, self.inference, temperature=T, threads=self.threads)
        return found.value, found.marginals

    def gradient(self, scores: Parts, kept: Parts) -> Parts:
        """Return mu(s)."""
        return kept

    def slope(self, scores: Parts, direction: Parts) -> Parts:
        """Return Cov(z) v / T."""
        return inferring.covariance_product(
            scores, direction, self.inference, self.temperature, threads=self.threads
        )


@dataclass(frozen=True)
class Entropy:
    """H(s)."""

    of: LogPartition

    def values(self, scores: Parts) -> tuple[Array, None]:
        """See `OfScores`."""
        value, marginals = self.of.values(scores)
        return (value - scores @ marginals) / self.of.temperature, None

    def gradient(self, scores: Parts, kept: None) -> Parts:
        """Return -Cov(z) s / T^2."""
        allowed = np.where(scores.flat == -np.inf, 0.0, scores.flat)
        return -1.0 / self.of.temperature * self.of.slope(scores, Parts(scores.batch, allowed))

    def slope(self, scores: Parts, direction: Parts) -> Parts:
        """Refuse third derivatives of V."""
        raise ArgumentError(
            "has first derivatives only.", parameter="entropy", remedy="Differentiate it once."
        )


@dataclass(frozen=True)
class LossOf:
    """A loss of given gold outputs."""

    loss: Loss
    gold: Gold
    inference: Inference | None
    threads: int

    def values(self, scores: Parts) -> tuple[Array, Parts]:
        """See `OfScores`."""
        return value_and_gradient(
            self.loss, scores, self.gold, self.inference, threads=self.threads
        )

    def gradient(self, scores: Parts, kept: Parts) -> Parts:
        """Return the gradient by the scores."""
        return kept

    def slope(self, scores: Parts, direction: Parts) -> Parts:
        """Return central differences of the gradient.

        Raises
        ------
        ArgumentError
            At beta = inf: the loss has subgradients only.
        """
        T = self.loss.temperature
        if T == 0.0:
            raise ArgumentError(
                "has no second derivatives at beta = inf.",
                parameter="loss",
                remedy="Differentiate it once, or give a finite beta.",
            )

        def gradients(own: Parts, **_: float) -> Inferred:
            return Inferred(*self.values(own), "none")

        return marginal_slope(gradients, scores, direction, T)


def loss(
    loss: Loss,
    batch: Batch,
    scores: Mapping[str, Tensor],
    gold: Any,
    inference: Inference | None = None,
    *,
    threads: int = 1,
) -> Tensor:
    """Return the loss of each instance, shape (B,).

    Its gradient is that of `structopt.value_and_gradient`: at beta = inf a subgradient. For finite
    beta it can be differentiated twice.

    Parameters
    ----------
    loss : Loss
    batch : Batch
        Made by a graph: ``LinearChain().batch(mask=mask, labels=9)``.
    scores : mapping of str to Tensor
    gold : Tensor, mapping of str to Tensor, or Gold
        Integers (B, T), or the arguments of ``batch.gold``, such as ``{"heads": h, "relations":
        r}``. Of labels and trees -1 and -100 mean unknown: any value is right there.
    inference : Inference or None
        None: exact inference.
    threads : int
        The instances are divided among at most so many threads, and at most one per core. Bits do
        not depend on it. A call with less than about a millisecond of work remains in one thread.

    Raises
    ------
    ArgumentError
        For scores and gold of other shapes or types, NaN and +inf, and an inference that lacks an
        ability which the loss needs.
    InfeasibleError
        If scores of -inf leave an instance without an output.
    """
    return _valued(LossOf(loss, _gold(batch, gold), inference, threads), batch, scores)


def log_partition(
    batch: Batch,
    scores: Mapping[str, Tensor],
    inference: Inference | None = None,
    *,
    temperature: float = 1.0,
    threads: int = 1,
) -> Tensor:
    """Return V(s) of each instance, nats, shape (B,); arguments and errors as of `loss`.

    It can be differentiated twice.
    """
    return _valued(LogPartition(inference, temperature, threads), batch, scores)


def entropy(
    batch: Batch,
    scores: Mapping[str, Tensor],
    inference: Inference | None = None,
    *,
    temperature: float = 1.0,
    threads: int = 1,
) -> Tensor:
    """Return H(s) of each instance, nats, shape (B,); arguments and errors as of `loss`.

    It can be differentiated once.
    """
    return _valued(Entropy(LogPartition(inference, temperature, threads)), batch, scores)


def marginals(
    batch: Batch,
    scores: Mapping[str, Tensor],
    inference: Inference | None = None,
    *,
    temperature: float = 1.0,
    threads: int = 1,
) -> dict[str, Tensor]:
    """Return the probabilities of the parts, in the layout of the tensor of each group.

    They are the gradient of the sum of `log_partition`: 0 at padding, and of a tied group that all
    instances share the expected count in the batch. Give it as (B, L, L), by `Tensor.expand`, for
    the counts of each instance. They can be differentiated once. Arguments and errors as of `loss`.
    """
    of = LogPartition(inference, temperature, threads)
    names, tensors = _tensors(batch, scores)
    own = _parts(batch, names, tensors)
    ones = torch.ones(len(batch), dtype=_type(tensors), device=tensors[0].device)
    state = own, of.values(own)[1]
    found = _Gradient.apply(of, names, state, ones, *tensors)  # type: ignore[no-untyped-call, unused-ignore]
    return dict(zip(names, found, strict=True))


def argmax(
    batch: Batch,
    scores: Mapping[str, Tensor],
    inference: Inference | None = None,
    *,
    threads: int = 1,
) -> Any:
    """Return the best output of each instance, int64 of shape (B, T), with -1 outside the mask.

    Outputs of several numbers per position, as heads and relations, are a tuple of such tensors.
    Arguments and errors as of `loss`.
    """
    names, tensors = _tensors(batch, scores)
    best = outputs.argmax(_parts(batch, names, tensors), inference, threads=threads)
    return _padded(batch, best.views, tensors[0])


def sample(
    batch: Batch,
    scores: Mapping[str, Tensor],
    k: int,
    seed: int,
    inference: Inference | None = None,
    *,
    temperature: float = 1.0,
    threads: int = 1,
) -> Any:
    """Return k outputs of each instance, drawn from p(y) ~ exp(s^T z_y / T): int64 of shape (k, B,
    T), with -1 outside the mask. Equal seeds draw equal outputs; otherwise as `argmax`.
    """
    names, tensors = _tensors(batch, scores)
    own = _parts(batch, names, tensors)
    found = outputs.sample(own, k, seed, inference, temperature=temperature, threads=threads)
    return _padded(batch, found.views, tensors[0])


class _Value(Function):  # type: ignore[misc, unused-ignore]
    """A number per instance; its gradient is `_Gradient`."""

    @staticmethod
    def forward(ctx: Any, of: OfScores, batch: Batch, names: Sequence[str], *tensors: Any) -> Any:
        own = _parts(batch, names, tensors)
        values, kept = of.values(own)
        ctx.of, ctx.names, ctx.own, ctx.kept = of, names, own, kept
        ctx.save_for_backward(*tensors)
        # copied, since a loss may keep its array
        return to_tensors([values.copy()], [_like(tensors)])[0]

    @staticmethod
    def backward(ctx: Any, weights: Any) -> Any:
        state = ctx.own, ctx.of.gradient(ctx.own, ctx.kept)
        found = _Gradient.apply(ctx.of, ctx.names, state, weights, *ctx.saved_tensors)  # type: ignore[no-untyped-call, unused-ignore]
        return None, None, None, *found


class _Gradient(Function):  # type: ignore[misc, unused-ignore]
    """The gradient of a number per instance, times a weight per instance, by group."""

    @staticmethod
    def forward(
        ctx: Any,
        of: OfScores,
        names: Sequence[str],
        state: tuple[Parts, Parts],
        weights: Any,
        *tensors: Any,
    ) -> Any:
        ctx.of, ctx.names, ctx.state = of, names, state
        ctx.save_for_backward(weights, *tensors)
        return _weighted(names, _column(weights) * state[1], tensors)

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator, unused-ignore]
    def backward(ctx: Any, *directions: Any) -> Any:
        weights, *tensors = ctx.saved_tensors
        own, gradient = ctx.state
        direction = _parts(own.batch, ctx.names, directions)
        slope = _column(weights) * ctx.of.slope(own, direction)
        by_weight = to_tensors([gradient @ direction], [weights])[0]
        return None, None, None, by_weight, *_weighted(ctx.names, slope, tensors)


def _valued(of: OfScores, batch: Batch, scores: Mapping[str, Tensor]) -> Tensor:
    names, tensors = _tensors(batch, scores)
    found: Tensor = _Value.apply(of, batch, names, *tensors)  # type: ignore[no-untyped-call, unused-ignore]
    return found


def _tensors(batch: Batch, scores: Any) -> tuple[tuple[str, ...], list[Tensor]]:
    """Return the groups of scores, and their tensors, broadcast to a form of the group.

    Raises
    ------
    ArgumentError
    """
    if not isinstance(scores, Mapping) or not scores:
        raise ArgumentError(
            "must be a mapping from groups to tensors, such as {'label': emissions}.",
            parameter="scores",
            value=scores,
        )
    tensors = []
    for name, tensor in scores.items():
        layout = batch.layout(name)
        if not isinstance(tensor, Tensor) or not tensor.is_floating_point():
            raise ArgumentError("must be a tensor of real numbers.", parameter=name, value=tensor)
        try:
            layout.form(tuple(tensor.shape))
        except ArgumentError:
            if not _broadcasts(tuple(tensor.shape), layout.padded_shape):
                raise
            tensor = tensor.expand(layout.padded_shape)
        tensors.append(tensor)
    if len(devices := {tensor.device for tensor in tensors}) > 1:
        raise ArgumentError(
            f"must be on one device, and not on {' and '.join(sorted(map(str, devices)))}.",
            parameter="scores",
        )
    return tuple(scores), tensors


def _broadcasts(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    """Whether a shape broadcasts to another."""
    try:
        return np.broadcast_shapes(shape, target) == target
    except ValueError:
        return False


def _parts(batch: Batch, names: Sequence[str], tensors: Sequence[Tensor]) -> Parts:
    """Return the numbers of tensors as parts of the batch."""
    return batch.scores(**dict(zip(names, to_arrays(tensors), strict=True)))


def _weighted(names: Sequence[str], parts: Parts, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Return parts as tensors like the given ones."""
    arrays = [
        parts.batch.layout(name).summed(parts[name], tuple(tensor.shape), array_type(tensor.dtype))
        for name, tensor in zip(names, tensors, strict=True)
    ]
    return to_tensors(arrays, tensors)


def _column(weights: Tensor) -> Array:
    """Return a number per instance as a column."""
    return to_arrays([weights])[0].astype(np.float64)[:, None]


def _type(tensors: Sequence[Tensor]) -> torch.dtype:
    """Return the type to which the types of tensors are promoted."""
    return reduce(torch.promote_types, [tensor.dtype for tensor in tensors])


def _like(tensors: Sequence[Tensor]) -> Tensor:
    """Return an empty tensor of the common type and the device of tensors."""
    return torch.empty(0, dtype=_type(tensors), device=tensors[0].device)


def _padded(batch: Batch, views: Mapping[str, Array], like: Tensor) -> Any:
    """Return views of outputs, shape (..., positions), as padded tensors."""
    layout, empty = batch.variable_layout, torch.empty(0, dtype=torch.int64, device=like.device)
    arrays = []
    for view in views.values():
        copies = view.shape[: view.ndim - 1 - len(layout.cells)]
        rows = view.reshape(-1, layout.positions, *layout.cells)
        padded = np.stack([layout.padded(row, -1) for row in rows])
        arrays.append(padded.reshape(*copies, *padded.shape[1:]))
    found = to_tensors(arrays, [empty] * len(arrays))
    return found if len(found) > 1 else found[0]


def _gold(batch: Batch, gold: Any) -> Gold:
    """Return gold outputs of a batch, given tensors of integers."""
    if isinstance(gold, Gold):
        return gold
    make: Any = getattr(batch, "gold", None)
    if make is None:
        name = type(batch.graph).__name__
        raise ArgumentError(f"cannot be read for {name}.", parameter="gold", value=gold)
    if isinstance(gold, Mapping):
        gold = make(**{name: _integers(batch, one) for name, one in gold.items()})
    else:
        gold = make(_integers(batch, gold))
    assert isinstance(gold, Gold)
    return gold


def _integers(batch: Batch, tensor: Any) -> Any:
    if not isinstance(tensor, Tensor):
        return tensor
    if tensor.is_floating_point() or tensor.is_complex():
        raise ArgumentError("must be integers or booleans.", parameter="gold", value=tensor.dtype)
    array = tensor.detach().cpu().numpy()
    if array.dtype == bool or not isinstance(batch, (LabelBatch, TreeBatch)):
        return array
    return np.where(array == IGNORED, -1, array)
