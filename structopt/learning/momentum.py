"""Momentum of dual ascent on shards: what the shards' steps of the last pass change in the starts
of the next one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, sqrt
from typing import NamedTuple

import numpy as np

from structopt.core.optimizer_state import State, WrapperState
from structopt.kernels.waist.record import Array


@dataclass(kw_only=True)
class AddedState(WrapperState):
    """The state of a dual method, and its momentum if there is any.

    Attributes
    ----------
    shard_moves : float64, shape (shards, weights that may move), or None
        The last moves of all shards.
    momentum : float or None
        Nesterov's t.
    dual_reached : float or None
        D after the last pass.
    """

    shard_moves: Array | None = None
    momentum: float | None = None
    dual_reached: float | None = None


class Momentum(NamedTuple):
    """What Nesterov's method keeps of the passes before, for shards whose dual steps are added up.

    Pass k over the shards is a proximal step of the dual -D(z) = sum_s h_s(z_s) + ||sum_s A_s
    z_s||^2 / (2 lambda), whose quadratic form is bounded by that of the shards apart, S sum_s ||A_s
    (z_s - y_s)||^2 / (2 lambda), around a point y that momentum takes beyond the last iterate:

        y = z_k + beta_k (z_k - z_{k-1}),      beta_k = (t_{k-1} - 1)/t_k,      t_k = (1 + sqrt(1 +
        4 t_{k-1}^2))/2

    The step evaluates h_s at dual points alone, never at y, which need not be one. In the weights,
    with v_s the move of the weights to which shard s has led in the last pass, the shard starts at

        theta + beta_k (sum_r v_r - S v_s)

    instead of theta: moves of the others are expected again, and its own ones are no longer
    resisted. What changes weights of a shard and, the other way, those of another one, so that the
    whole stays as it is, is slow without this. Where D falls, the momentum is dropped.

    Attributes
    ----------
    moves : float64 matrix, a row a shard, or None
        v_s, at the weights that may move; None before the first pass, and where the momentum was
        dropped.
    t : float
        t_{k-1}.
    dual : float
        D after the last pass.

    Notes
    -----
    Nesterov (1983); Beck and Teboulle (2009), "A fast iterative shrinkage-thresholding algorithm",
    for proximal steps; O'Donoghue and Candes (2015) for beginning anew where the function rises.
    """

    moves: Array | None = None
    t: float = 1.0
    dual: float = -inf

    @classmethod
    def of(cls, state: AddedState, shards: int) -> Momentum:
        """Return the momentum in a state; none if it has that of another number of shards."""
        moves, t, dual = state.shard_moves, state.momentum, state.dual_reached
        if moves is None or t is None or dual is None or len(moves) != shards:
            return cls()
        return cls(moves, t, dual)

    def added(self, inner: State) -> AddedState:
        """Return the state of a method with this momentum."""
        if self.moves is None:
            return AddedState(inner=inner)
        return AddedState(
            inner=inner, shard_moves=self.moves, momentum=self.t, dual_reached=self.dual
        )

    def starts(self, theta: Array, shards: int) -> list[Array]:
        """Where each shard starts, given the weights of the whole that may move."""
        if self.moves is None:
            return [theta] * shards
        beta = (self.t - 1) / _next(self.t)
        ahead = theta + beta * self.moves.sum(axis=0)
        return [ahead - (beta * shards) * move for move in self.moves]

    def after(self, moves: Sequence[Array], dual: float | None) -> Momentum:
        """The momentum after a pass in which the shards made these moves, and D became `dual`;
        None: D is not known.
        """
        if len(moves) == 1 or dual is None or dual < self.dual:
            return Momentum()
        return Momentum(np.array(moves), _next(self.t), dual)


def _next(t: float) -> float:
    """The t of the next pass."""
    return (1 + sqrt(1 + 4 * t * t)) / 2
