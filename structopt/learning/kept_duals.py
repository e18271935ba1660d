"""Dual variables and kept outputs of earlier instances, in the state of a problem that has them
among others.

An earlier instance may have more parts than it had, where there are new labels: its dual variables
are zero there.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from structopt.core.objective import Objective
from structopt.core.optimizer import Earlier
from structopt.errors import ConfigError
from structopt.kernels.waist.record import Array


def restore_duals(problem: Objective, state: Any, earlier: Earlier) -> None:
    """Put an earlier state's arrays over instances, over parts and over kept outputs into a new
    one.

    The instances that the earlier state does not have get the largest gap of those that it has, so
    that they are drawn soon.

    Parameters
    ----------
    problem : Objective
    state : DualState
        As `init` makes it: with ``duals``, ``instances`` and the arrays of kept outputs; changed.
    earlier : Earlier

    Raises
    ------
    ConfigError
        If the earlier outputs do not fit where the new state keeps outputs.
    """
    old, kept, parts = earlier.state, earlier.kept, earlier.parts()
    end = int(problem.structure.parts[kept])
    state.duals[:end] = 0.0
    state.duals[parts] = old["duals"]
    state.instances[:, :kept] = old["instances"]
    state.instances[0, kept:] = old["instances"][0].max(initial=0.0)
    rooms, slots = state.kept_rooms, len(old["kept_counts"])
    if not np.array_equal(rooms[: kept + 1], old["kept_rooms"]):
        raise ConfigError(
            "warm_start.state=all: the earlier state has room for other outputs than "
            "those of the first instances of these data.",
            remedy="Give all instances that it has seen, in the same order, and new ones "
            "after them.",
        )
    state.kept_counts[:slots] = old["kept_counts"]
    state.kept_masses[:slots] = old["kept_masses"]
    state.kept_values[: rooms[kept]] = old["kept_values"]
    state.kept_parts[: rooms[kept]] = _renumbered(
        problem, old["kept_parts"], rooms[: kept + 1], parts
    )


def _renumbered(problem: Objective, numbers: Array, rooms: Array, parts: Array) -> Array:
    """Numbers of parts within their instances, given numbers within the earlier instances, and
    where earlier parts are now.
    """
    starts = problem.structure.parts[: len(rooms)]
    counts = np.bincount(np.searchsorted(starts, parts, "right") - 1, minlength=len(rooms) - 1)
    firsts, moved = np.cumsum(counts) - counts, numbers.copy()
    for i, (a, b) in enumerate(pairwise(rooms.tolist())):
        moved[a:b] = parts[firsts[i] + numbers[a:b]] - starts[i]
    return moved
