"""Mixtures of the states that passes over shards lead to, and how states are packed to be sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from structopt.core.optimizer_state import State, values_of
from structopt.core.scorer import Scorer
from structopt.kernels.waist.record import Array

SHARE = 0.75
"""A weight moves by the sum of the moves of n shards, divided by n to this power: a mean of n steps
is too short a step.
"""


class PackedState(NamedTuple):
    """An optimizer's state as it is sent to shards and back: of its weights, only those that may
    move.

    Attributes
    ----------
    values : dict
    weights : tuple of str
        The arrays that were compressed.
    """

    values: dict[str, Any]
    weights: tuple[str, ...]

    @classmethod
    def of(cls, state: State, scorer: Scorer, over_weights: Sequence[str] = ()) -> PackedState:
        """Pack a state, given the names of its arrays over the weights; without any, arrays that
        look like weights are taken for them.
        """
        values = values_of(state)
        arrays = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
        known = over_weights or tuple(arrays)
        weights = tuple(name for name in arrays if name in known and scorer.covers(arrays[name]))
        return cls(values | {name: scorer.compress(arrays[name]) for name in weights}, weights)

    def opened(self, scorer: Scorer) -> dict[str, Any]:
        """Return the values of the state, in new arrays."""
        arrays = {
            name: np.array(value)
            for name, value in self.values.items()
            if isinstance(value, np.ndarray)
        }
        return self.values | arrays | {name: scorer.expand(arrays[name]) for name in self.weights}


class Mixture:
    """The mixture of states, which are added one by one, in the order of the shards; entries other
    than floats are alike in all.

    x_j + n_j^-3/4 sum_s (x_sj - x_j), over the n_j shards that read weight j and moved it or a
    statistic of it (`structopt.learning.mixing.Mixed`); numbers are averaged over all.

    Parameters
    ----------
    start : PackedState
        The state that all began with.
    scorer : Scorer
    """

    def __init__(self, start: PackedState, scorer: Scorer) -> None:
        self.start, self.scorer = start, scorer
        self.moves: dict[str, Array] = {}
        # by length: entries of arrays as long as each other are of the same weights
        self.movers: dict[int, Array] = {}
        self._last, self._floats = start, [dict[str, float]()]
        self._mean_moves: Array | None = None

    def add(
        self, packed: PackedState, mean: Array | None = None, coordinates: Array | None = None
    ) -> None:
        """Add a state, and the mean of the iterates that led to it.

        Parameters
        ----------
        packed : PackedState
        mean : float64 vector or None
        coordinates : int64 vector or None
            Of the weights that may move, the numbers of those that the shard reads: others move in
            it by the regulariser alone, and are left to the shards that read them. None for all.
        """
        if packed.weights != self.start.weights:  # an array moved outside the weights that may move
            self._open()
            packed = PackedState(packed.opened(self.scorer), ())
        self._last = packed
        self._floats.append(
            {name: value for name, value in packed.values.items() if isinstance(value, float)}
        )
        moves = {
            name: value - self.start.values[name]
            for name, value in packed.values.items()
            if _averaged(value)
        }
        moved = {
            length: _any_moved(moves, length) for length in {len(move) for move in moves.values()}
        }
        if (
            coordinates is not None
            and packed.weights
            and (length := len(packed.values[packed.weights[0]])) in moved
        ):
            moved[length] &= _mask(length, coordinates)
        for name, move in moves.items():
            self.moves[name] = self.moves.get(name, 0.0) + np.where(moved[len(move)], move, 0.0)
        for length, mask in moved.items():
            self.movers[length] = self.movers.get(length, 0) + mask.astype(np.int32)
        if mean is not None:
            theta = self.start.values["theta"]
            mean = mean if len(mean) == len(theta) else self.scorer.expand(mean)
            mask = moved[len(mean)]
            self._mean_moves = (0.0 if self._mean_moves is None else self._mean_moves) + np.where(
                mask, mean - theta, 0.0
            )

    def mean(self) -> Array | None:
        """The mixture of the means of the iterates; None where there are none."""
        if self._mean_moves is None or len(self._floats) == 2:
            return None
        moves = self._mean_moves / self._shares()[len(self._mean_moves)]
        mixture = self.start.values["theta"] + moves
        return self.scorer.expand(mixture) if self.start.weights else mixture

    def state(self) -> dict[str, Any]:
        """Return the values of the mixture."""
        floats = {
            name: _mean([shard[name] for shard in self._floats[1:]]) for name in self._floats[-1]
        }
        if len(self._floats) == 2:  # one shard: its state to the last bit
            return self._last.opened(self.scorer)
        shares = self._shares()
        arrays = {
            name: self.start.values[name] + move / shares[len(move)]
            for name, move in self.moves.items()
        }
        return PackedState({**self._last.values, **arrays, **floats}, self.start.weights).opened(
            self.scorer
        )

    def _shares(self) -> dict[int, Array]:
        """By what the sums of moves are divided."""
        return {length: np.maximum(count, 1) ** SHARE for length, count in self.movers.items()}

    def _open(self) -> None:
        """Keep all weights from here on, also those that may not move."""
        opened = PackedState(self.start.opened(self.scorer), ())
        self.moves |= {
            name: self.scorer.expand(self.moves[name])
            for name in self.start.weights
            if name in self.moves
        }
        if self._mean_moves is not None:
            self._mean_moves = self.scorer.expand(self._mean_moves)
        lengths = {
            len(self.start.values[name]): len(opened.values[name]) for name in self.start.weights
        }
        self.movers |= {
            full: self.scorer.expand(self.movers.pop(length))
            for length, full in lengths.items()
            if length in self.movers
        }
        self.start = opened


def _averaged(value: Any) -> bool:
    """Whether a value of a state is an array of floats."""
    return isinstance(value, np.ndarray) and value.dtype.kind == "f"


def _any_moved(moves: Mapping[str, Array], length: int) -> Array:
    """Which entries moved in one of the arrays of a length."""
    moved: Array = np.logical_or.reduce(
        [move != 0 for move in moves.values() if len(move) == length]
    )
    return moved


def _mask(length: int, coordinates: Array) -> Array:
    """True at some coordinates."""
    mask = np.zeros(length, bool)
    mask[coordinates] = True
    return mask


def _mean(values: Sequence[float]) -> float:
    """Return the mean; of equal values the value itself, to the last bit."""
    return values[0] if len(set(values)) == 1 else sum(values) / len(values)
