"""The cache of planes as arrays of an optimizer's state: created, enlarged and limited to a number
of bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from structopt.core.ability import Ability
from structopt.core.memory import ProblemSizes
from structopt.core.needs import MARGINS, Needs
from structopt.core.optimizer_state import OptimizerState, over_instances
from structopt.errors import ConfigError
from structopt.kernels.waist.record import Array

INACTIVE = 10  # rounds after which a plane with alpha = 0 is dropped
PLENTY = 0.75  # share of the allowed bytes to which a full cache is cut down

NEEDS = Needs(Ability.MAP | Ability.CONVEX, MARGINS)
"""What optimizers that keep planes need: losses that are maxima of planes, and that zero weights do
not minimise.

Gold outputs that are left open are completed whenever a plane is made, by the best allowed output
at the weights of the time. The planes then bound the loss for this output, not the loss itself, so
that the dual bounds nothing.
"""


def plane_bytes(sizes: ProblemSizes, each: int) -> int:
    """Bytes of so many planes an instance, whose residuals have twice as many entries as a gold
    output.
    """
    rows = sizes.instances * each
    return _bytes(sizes.instances, rows, rows * each, 2 * each * sizes.gold_parts)


class Plane(NamedTuple):
    """One cached plane of an instance: residual, shape (parts,), offset, and dual variable."""

    residual: Array
    offset: float
    alpha: float


@dataclass(kw_only=True)
class PlaneArrays(OptimizerState):
    """The planes of all instances; None where there are none.

    Attributes
    ----------
    plane_heads : int64, shape (4, instances)
    plane_used : int64, shape (4,)
    plane_rows : int64, shape (3, planes)
    plane_duals : float64, shape (2, planes)
    plane_gram : float64, shape (products,)
    plane_parts, plane_values : int32 and float64, shape (entries of residuals,)
    """

    plane_heads: Array = over_instances(None, rows=4)
    plane_used: Array = over_instances(None)
    plane_rows: Array = over_instances(None, rows=3)
    plane_duals: Array = over_instances(None, rows=2)
    plane_gram: Array = over_instances(None)
    plane_parts: Array = over_instances(None)
    plane_values: Array = over_instances(None)


class PlaneCache:
    """The planes of all instances, as arrays of a state.

    Parameters
    ----------
    state : PlaneArrays
        Holds the arrays; they are replaced when the cache grows.
    parts : int64, shape (m + 1,)
        Offsets of the instances in vectors over all parts.
    limit : int
        Bytes that the arrays may take. While they are rearranged they may take twice that.
    """

    def __init__(self, state: PlaneArrays, parts: Array, limit: int) -> None:
        self.state, self.parts, self.limit = state, parts, limit

    @classmethod
    def create(cls, m: int, cap: float, limit: int) -> dict[str, Any]:
        """Return the arrays of m instances with null planes only, whose dual variables are the
        cap.
        """
        if _bytes(m, 2 * m, 4 * m, 0) > limit:
            raise _too_small(limit, _bytes(m, 3 * m, 9 * m, 8 * m))
        instances, arrays = (
            np.arange(m),
            _empty(m, 2 * m, 4 * m, min(8 * m, (limit - _bytes(m, 2 * m, 4 * m, 0)) // 12)),
        )
        arrays["plane_heads"][:] = np.ones(m), np.full(m, 2), 2 * instances, 4 * instances
        arrays["plane_used"][:2] = 2 * m, 4 * m
        arrays["plane_duals"][0, ::2] = cap
        return arrays

    @property
    def planes(self) -> Any:
        """Return the arrays as the kernels open them."""
        return _open(self.state)

    def visit(self, order: Array, run: Callable[[Array], int]) -> None:
        """Call a function until all of `order` is visited, with larger arrays each time. It returns
        the index of the first instance whose plane lacks a slot.
        """
        done = run(order)
        while done < len(order):
            self.make_room()
            done += run(order[done:])

    def scratch(self) -> Array:
        """Return scratch for two numbers a plane of any instance, after a pass that adds one plane
        to each.
        """
        return np.zeros((2, int(self.planes.counts.max(initial=1)) + 1))

    def rows(self, i: int) -> list[Plane]:
        """List the planes of instance i, the null plane first."""
        p, planes = self.planes, []
        for at in range(p.firsts[i], p.firsts[i] + p.counts[i]):
            residual = np.zeros(int(self.parts[i + 1] - self.parts[i]))
            entries = slice(p.starts[at], p.starts[at] + p.lengths[at])
            residual[p.parts[entries]] = p.values[entries] if p.lengths[at] else 0.0
            planes.append(Plane(residual, float(p.offsets[at]), float(p.alpha[at])))
        return planes

    def gram(self, i: int) -> Array:
        """Return the Gram matrix of the planes of instance i."""
        p, count = self.planes, int(self.planes.counts[i])
        width, corner = int(p.rooms[i]), int(p.corners[i])
        matrix: Array = p.gram[corner : corner + width * width].reshape(width, width)[
            :count, :count
        ]
        return matrix

    def offsets(self) -> float:
        """Return sum_ij alpha_ij b_ij."""
        from structopt.kernels.learn.plane_cache import offsets_in_use

        return float(offsets_in_use(self.planes))

    def grow_older(self) -> None:
        """End a round: drop planes that were inactive for long."""
        from structopt.kernels.learn.plane_cache import drop_all, grow_older

        grow_older(self.planes)
        drop_all(self.planes, INACTIVE)

    def make_room(self) -> None:
        """Make room for the plane that did not fit: by larger arrays, or by fewer planes."""
        wanted = int(self.planes.used[3])
        if self._needed(wanted) > self.limit:
            self._shrink(wanted)
        if self._needed(wanted) > self.limit:
            raise _too_small(self.limit, self._needed(wanted))
        needed = self._needed(wanted)
        growth = min(1.0, (self.limit - needed) / needed)
        self._rebuild(wanted, growth)

    def _needed(self, wanted: int) -> int:
        """Return the bytes of the planes without holes, with a free slot for each instance and so
        many more residual entries.
        """
        return _bytes(len(self.planes.counts), *self._sizes(wanted))

    def _sizes(self, wanted: int) -> tuple[int, int, int]:
        """Return the rows, Gram entries and residual entries for that."""
        from structopt.kernels.learn.plane_cache import entries_in_use

        rooms = self.planes.counts + 1
        return (
            int(rooms.sum()),
            int((rooms * rooms).sum()),
            int(entries_in_use(self.planes)) + wanted,
        )

    def _shrink(self, wanted: int) -> None:
        """Drop planes with alpha = 0, the longest idle first; then merge active ones, first where
        there are most of them.
        """
        from structopt.kernels.learn.plane_cache import drop_all, merge_all

        for least in range(INACTIVE, -1, -1):
            drop_all(self.planes, least)
            if self._needed(wanted) <= PLENTY * self.limit:
                return
        self._rebuild(wanted, 0.0)
        scratch = np.zeros(int(np.diff(self.parts).max(initial=0)))
        for most in range(int(self.planes.counts.max()) - 1, 1, -1):
            merge_all(self.planes, most, scratch)
            if self._needed(wanted) <= PLENTY * self.limit:
                return

    def _rebuild(self, wanted: int, growth: float) -> None:
        """Copy all planes into arrays without holes, which are larger than needed by the share
        `growth`.
        """
        from structopt.kernels.learn.plane_cache import rebuild

        old = self.planes
        fresh = _empty(
            len(old.counts), *(int(size * (1.0 + growth)) for size in self._sizes(wanted))
        )
        rebuild(old, _open(PlaneArrays(**fresh)))
        for name, array in fresh.items():
            setattr(self.state, name, array)


def _empty(m: int, rows: int, gram: int, entries: int) -> dict[str, Array]:
    """Return arrays of some sizes, which hold no instance yet."""
    return {
        "plane_heads": np.zeros((4, m), np.int64),
        "plane_used": np.zeros(4, np.int64),
        "plane_rows": np.zeros((3, rows), np.int64),
        "plane_duals": np.zeros((2, rows)),
        "plane_gram": np.zeros(gram),
        "plane_parts": np.zeros(entries, np.int32),
        "plane_values": np.zeros(entries),
    }


def _open(state: PlaneArrays) -> Any:
    from structopt.kernels.learn.plane_cache import Planes

    rows = (
        state.plane_used,
        *state.plane_rows,
        *state.plane_duals,
        state.plane_gram,
    )
    return Planes(*state.plane_heads, *rows, state.plane_parts, state.plane_values)  # type: ignore[call-arg]


def _bytes(m: int, rows: int, gram: int, entries: int) -> int:
    return 32 * m + 32 + 40 * rows + 8 * gram + 12 * entries


def _too_small(limit: int, needed: int) -> ConfigError:
    return ConfigError(
        f"`cache_mb={limit / 1000000.0:g}` is too small: the planes of all "
        f"instances need {needed / 1000000.0:.3g} MB even when they are merged.",
        remedy="Raise it, use fewer instances (`limit`), or DCA(), which keeps no planes.",
        kinds={"cache_mb": "optimizer", "limit": "task"},
    )
