"""Losses and residuals of several instances at the same weights, computed by a team of threads."""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np

from structopt.kernels.arrays.rows import set_scaled
from structopt.kernels.waist.ahead import ask_ahead
from structopt.kernels.waist.signatures import driven, inlined
from structopt.kernels.waist.team import announce, claim, report, wait_for_all
from structopt.kernels.waist.views import part
from structopt.kernels.waist.visit import evaluate, size


class Answers(NamedTuple):
    """Slots for the visits j, whose number is j modulo the number of slots.

    Attributes
    ----------
    losses : one a slot
    residuals : as many entries a slot as any instance has parts
    scores : F^T theta, likewise; or empty, if nobody asks for them
    scale : one number, by which theta is multiplied
    """

    losses: np.ndarray
    residuals: np.ndarray
    scores: np.ndarray
    scale: np.ndarray


def empty_answers(slots: int, parts: int, scores: bool) -> Answers:
    """Allocate slots for instances of so many parts, perhaps with their scores; the scale is 1."""
    kept = np.zeros(slots * parts if scores else 0)
    return Answers(np.zeros(slots), np.zeros(slots * parts), kept, np.ones(1))


ANSWERS: Any = numba.typeof(empty_answers(1, 1, False))  # type: ignore[no-untyped-call]


@inlined
def loss_of(answers, j):
    """Return the loss of visit j."""
    return answers.losses[j % len(answers.losses)]


@inlined
def residual_of(answers, j, n):
    """View the residual of visit j, of an instance with n parts."""
    width = len(answers.residuals) // len(answers.losses)
    begin = (j % len(answers.losses)) * width
    return part(answers.residuals, begin, begin + n)


@inlined
def scores_of(answers, j, n):
    """View the scores of visit j, of an instance with n parts."""
    width = len(answers.scores) // len(answers.losses)
    begin = (j % len(answers.losses)) * width
    return part(answers.scores, begin, begin + n)


@driven
def answer(k, data, space, order, j, theta, answers, team):
    """Make visit j of the order: L_i at the weights scale * theta, and its residual."""
    i = order[j]
    n = size(data, i)
    ask_ahead(k, data, order, j)
    s = part(space.scores, 0, n)
    if len(answers.scores) > 0:
        kept = scores_of(answers, j, n)
        k.scores(data.features, theta, i, kept, space.gradient)
        set_scaled(s, answers.scale[0], kept)
    else:
        k.scores(data.features, theta, i, s, space.gradient)
        set_scaled(s, answers.scale[0], s)
    answers.losses[j % len(answers.losses)] = evaluate(
        k, data, space, i, s, residual_of(answers, j, n)
    )
    report(team)


@driven
def answer_all(k, data, space, order, end, theta, answers, team):
    """Make the visits before `end` that are not yet made, with the help of the team."""
    announce(team, end)
    j = claim(team)
    while j >= 0:
        answer(k, data, space, order, j, theta, answers, team)
        j = claim(team)
    wait_for_all(team, end)
