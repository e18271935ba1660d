"""Compile kernels before they are needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from structopt.core.ability import Ability
from structopt.core.inference import Inference
from structopt.core.loss import Loss
from structopt.core.parts.batch import Batch
from structopt.errors import ArgumentError
from structopt.verbs.given_scores import solver_of
from structopt.verbs.inferring import infer
from structopt.verbs.losses import value_and_gradient
from structopt.verbs.outputs import argmax, k_best


def compile(
    batch: Batch,
    inference: Inference | None = None,
    loss: Loss | None = None,
    *,
    threads: int = 1,
) -> None:
    """Compile the kernels that functions of scores use on such batches, or read them from disk.

    The functions are called once with scores of 0, so that a small batch of the same graph is
    enough.

    Parameters
    ----------
    batch : Batch
    inference : Inference or None
        None: exact inference.
    loss : Loss or None
        Also compile `value_and_gradient` of the loss.
    threads : int
        Calls with several threads have drivers of their own.

    Raises
    ------
    ArgumentError
        If the inference does not work on the graph.
    """
    if not isinstance(batch, Batch) or not len(batch.kept):
        raise ArgumentError(
            "must be a batch with an instance that is not empty.", parameter="batch"
        )
    if threads > 1:  # which divide batches larger than this one may be
        import_module("structopt.kernels.passes.together")
    zeros = batch.scores()
    provided = solver_of(batch, inference, Ability(0)).provides
    if Ability.MARGINALS in provided:
        infer(zeros, inference, temperature=1.0, threads=threads)
    if Ability.K_BEST in provided:
        k_best(zeros, 1, inference, threads=threads)
    best = argmax(zeros, inference, threads=threads)
    if loss is not None:
        own: Any = batch
        gold = own.gold(*best.views.values())
        value_and_gradient(loss, zeros, gold, inference, threads=threads)
