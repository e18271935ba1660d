"""Losses in NumPy as the kernels of passes: one call of `Loss.value_and_gradient` per instance.

Passes with such a kernel run as Python. A loss that has proved useful gets a compiled kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal, NamedTuple, NoReturn

import numpy as np

from structopt.core.data.structure import Structure
from structopt.core.inference import Inference
from structopt.core.loss import MAX_LOSS, Loss
from structopt.core.parts.batch import Batch, Gold
from structopt.core.parts.inferred import Inferred, guarantee_of
from structopt.core.parts.parts import Parts
from structopt.errors import ArgumentError
from structopt.kernels.waist.record import Array, Record

REMEDY = "Train it by structopt.fit with the optimizer LBFGS, or give it the method kernel."


class OneInstance:
    """A batch of one instance of a corpus, as far as arithmetic with `Parts` needs it.

    Parameters
    ----------
    parts : int
        Number of parts.
    """

    def __init__(self, parts: int) -> None:
        self.offsets = np.array([0, parts])

    def __len__(self) -> int:
        """One."""
        return 1

    check_same, sums = Batch.check_same, Batch.sums

    def __getattr__(self, name: str) -> NoReturn:
        """Refuse everything else that batches have."""
        _refuse("scores.batch", name)


class OneGold(NamedTuple):
    """The gold output of one instance; see `structopt.core.parts.batch.Gold`."""

    batch: Any
    parts: Parts
    open: Array

    def __getattr__(self, name: str) -> NoReturn:
        """Refuse everything else that gold outputs of batches have."""
        _refuse("gold", name)


def _refuse(owner: str, name: str) -> NoReturn:
    if name.startswith("_"):
        raise AttributeError(name)
    raise ArgumentError(
        "is not available to a loss in NumPy in passes over single instances.",
        parameter=f"{owner}.{name}",
        remedy=REMEDY,
    )


def kernel_of(
    loss: Loss, structure: Structure, inference: Inference, variant: str = MAX_LOSS
) -> Any:
    """Return the kernel of a loss; of a loss in NumPy, a kernel in plain Python.

    Raises
    ------
    ConfigError
        If the loss does not have the variant.
    """
    if loss.has_kernel:
        return loss.kernel(variant)
    loss.check_variant(variant)
    return partial(_evaluate, loss, guarantee_of(inference.provides(structure.kind)))


def _evaluate(  # noqa: PLR0913 - the signature of kernels
    loss: Loss,
    guarantee: Literal["exact", "upper", "none"],
    solve: Any,
    record: Record,
    target: Record,
    _parameters: Array,
    i: int,
    s: Array,
    r: Array,
    _other: Array,
    _answer: Array,
    memory: Array,
    work: Record,
) -> float:
    """Return the loss of an instance at the scores s; r receives its gradient by them."""
    from structopt.kernels.waist.target import add_gold, is_set, open_target

    batch: Any = OneInstance(len(s))
    t, gold = open_target(target), np.zeros(len(s))
    if is_set(t, i):
        raise ArgumentError(
            f"is known in part only, and {loss.member} has no kernel, which takes sets of outputs.",
            parameter="gold",
            remedy=REMEDY,
        )
    add_gold(t, i, 1.0, gold)

    def infer(scores: Parts, *, temperature: float) -> Inferred:
        z = np.zeros(len(s))
        value = solve(record, i, scores.flat.copy(), temperature, z, memory, work)
        return Inferred(np.array([value]), Parts(batch, z), guarantee)

    known: Any = OneGold(batch, Parts(batch, gold), np.zeros(1, bool))
    values, gradient = evaluated(loss, Parts(batch, s.copy(), -np.inf), known, infer)
    r[:] = gradient.flat
    return float(values[0])


def evaluated(
    loss: Loss, scores: Parts, gold: Gold, infer: Callable[..., Any]
) -> tuple[Array, Parts]:
    """Return what `Loss.value_and_gradient` returns, after checks of types and shapes.

    Raises
    ------
    ArgumentError
        If the method returns something else.
    """
    result = loss.value_and_gradient(scores, gold, infer)
    pair = isinstance(result, tuple) and len(result) == 2
    values = np.asarray(result[0], np.float64) if pair else np.zeros(0)
    own = pair and isinstance(result[1], Parts) and result[1].batch is scores.batch
    if not own or values.shape != (len(scores),):
        raise ArgumentError(
            f"{loss.member}.value_and_gradient must return an array of shape ({len(scores)},) and "
            "parts of the batch of the scores.",
            parameter="loss",
        )
    return values, result[1]
