"""A driver over instances whose scores are given, for several threads.

Calls of one thread need none of it, so it is compiled only where there are several.
"""

from __future__ import annotations

from typing import Any

from numba import types

from structopt.kernels.passes.given_scores import infer_one, loss_one
from structopt.kernels.waist.crew import (
    ARRIVED,
    CREW,
    THREADS,
    hand_over,
    handed_over,
    is_worth_it,
    now,
    own,
    start,
    unowned,
    wait_for,
)
from structopt.kernels.waist.halting import halted
from structopt.kernels.waist.record import Array
from structopt.kernels.waist.signatures import FROZEN, VECTOR, driven, driver, thread
from structopt.kernels.waist.team import LIMIT, add, claim


@driven
def visit_one(k, data, space, i, losses, temperature, scores, values, vectors):
    """Write the numbers of one instance."""
    if losses:
        loss_one(k, data, space, i, scores, values, vectors)
    else:
        infer_one(k, data, space, i, temperature, scores, values, vectors)


@driver(types.void, types.boolean, types.float64, FROZEN, VECTOR, VECTOR, CREW, types.boolean)
def visit_together(
    k: Any,
    data: Any,
    space: Any,
    losses: bool,
    temperature: float,
    scores: Array,
    values: Array,
    vectors: Array,
    crew: Array,
    large: bool,
) -> None:
    """Write values and marginals, or losses and residuals, of all instances.

    Parameters
    ----------
    k, data
    space : Space
        Scratch of all threads (`structopt.kernels.waist.crew.tiled`).
    losses : bool
    temperature : float
    scores, vectors : float64 vectors
        Over the parts of all instances.
    values : float64, shape (instances,)
    crew : int64 vector
        `structopt.kernels.waist.crew.new_crew`.
    large : bool
        Start other threads at once.
    """
    begin, alone, helper = now(crew), True, 0
    hand_over(crew, (k, data, space, losses, temperature, scores, values, vectors, crew))
    bare, mine, done = unowned(data), own(space, 0, crew[THREADS]), 0
    while not halted():
        if alone and (large or (done > 0 and is_worth_it(begin, now(crew), done, crew[LIMIT]))):
            alone, helper = False, start(crew)
        i = claim(crew)
        if i < 0:
            break
        visit_one(k, bare, mine, i, losses, temperature, scores, values, vectors)
        done += 1
    wait_for(crew, helper)


@thread
def help_together(address: int) -> None:
    """Visit instances that nobody has claimed, with the arguments of `visit_together`."""
    k, data, space, losses, temperature, scores, values, vectors, crew = handed_over(address)
    bare = unowned(data)
    mine = own(space, add(crew, ARRIVED, 1) + 1, crew[THREADS])
    i, helper = claim(crew), 0
    if i >= 0:
        helper = start(crew)
    while i >= 0 and not halted():
        visit_one(k, bare, mine, i, losses, temperature, scores, values, vectors)
        i = claim(crew)
    wait_for(crew, helper)
