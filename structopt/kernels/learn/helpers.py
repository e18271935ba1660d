"""Drivers of the threads that help another thread with its pass.

Passes in batches of one thread need none of it, so it is compiled only where there are several.
"""

from __future__ import annotations

from typing import Any

from numba import types

from structopt.kernels.learn.answers import ANSWERS, Answers, answer
from structopt.kernels.learn.lazy_regularization import (
    LAZY,
    RULE,
    SLOTS,
    Lazy,
    Rule,
    Slots,
    lazy_visit,
)
from structopt.kernels.waist.record import Array
from structopt.kernels.waist.signatures import LONGS, VECTOR, driver
from structopt.kernels.waist.team import TEAM, wait_and_claim


@driver(types.void, LONGS, LAZY, RULE, SLOTS, TEAM)
def help_lazily(
    k: Any,
    data: Any,
    space: Any,
    order: Array,
    x: Lazy,
    rule: Rule,
    slots: Slots,
    team: Array,
) -> None:
    """Make visits of `structopt.kernels.learn.lazy_regularization.visit_batch`, until the work is
    over.
    """
    j = wait_and_claim(team)
    while j >= 0:
        lazy_visit(k, data, space, order, j, x, rule, slots, team)
        j = wait_and_claim(team)


@driver(types.void, LONGS, VECTOR, ANSWERS, TEAM)
def help_answering(
    k: Any, data: Any, space: Any, order: Array, theta: Array, answers: Answers, team: Array
) -> None:
    """Make visits of `structopt.kernels.learn.answers.answer_all`, until the work is over."""
    j = wait_and_claim(team)
    while j >= 0:
        answer(k, data, space, order, j, theta, answers, team)
        j = wait_and_claim(team)
