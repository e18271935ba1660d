"""Options of a fit that change the epochs of an optimizer."""

from __future__ import annotations

from structopt.core.loss import Beginning
from structopt.core.optimizer import Optimizer
from structopt.learning.added_duals import AddedDuals
from structopt.learning.convex_start import ConvexStart
from structopt.learning.guarded import Guarded
from structopt.learning.mixing import Mixed
from structopt.objective.dual_shards import DualAscents
from structopt.objective.pass_shards import Passes
from structopt.objective.problem import Problem


def optioned(
    optimizer: Optimizer,
    problem: Problem,
    shards: int = 0,
    guard: bool = False,
    beginning: Beginning | None = None,
    certificate: bool = False,
) -> Optimizer:
    """Return an optimizer that makes the epochs of another one with options.

    Parameters
    ----------
    optimizer : Optimizer
    problem : Problem
    shards : int
        Divide each epoch among so many shards of the instances: the states of online methods are
        mixed afterwards (`Mixed`), and the dual steps of SDCA are added up (`AddedDuals`). 0: none.
    guard : bool
        Undo epochs that raise P much, and make them again with shorter steps (`Guarded`). Only of
        optimizers whose steps have a length, and of losses that are the same in all epochs.
    beginning : Beginning or None
        The convex loss that is minimised first (`ConvexStart`).
    certificate : bool
        Bound the minimum of P after each epoch that is guarded.
    """
    plan = optimizer.plan
    if shards and plan.mixable:
        optimizer = Mixed(optimizer, shards, Passes)
    elif shards and plan.additive:
        optimizer = AddedDuals(optimizer, shards, DualAscents)
    if guard and plan.shortens and not problem.loss.follows_epoch:
        optimizer = Guarded(optimizer, certificate)
    if beginning:
        convex = problem.with_loss(beginning.loss)
        optimizer = ConvexStart(optimizer, convex, beginning.passes)
    return optimizer
