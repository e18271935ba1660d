"""Attributes of the cells of images and of the edges between them: what the cells there, and around them, look like."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from structopt.core.data.attribute_table import AttributeTable
from structopt.errors import ConfigError
from structopt.formats.labelled_images import Images
from structopt.kernels.waist.record import Array

MOST_SYMBOLS = 64
WAYS = ("right", "down")


class Look(NamedTuple):
    """What each cell looks like by itself: `size` attributes, of which it has those of `ids` (-1: none), with `values`."""

    ids: Array
    values: Array | None
    size: int


class GridFeatures:
    """From images to tables of attributes.

    Parameters
    ----------
    radius : int
        How far around it a cell sees, 1 for its eight neighbours.
    pixels : str
        ``symbols`` (every colour of the training images is an attribute), ``values`` (every channel is one, divided by its
        largest in training), or ``auto`` (symbols, where there are at most 64).
    edges : str
        ``directions`` (an edge knows whether it goes right or down), or ``pixels`` (and what the cells at its ends look like).
    """

    def __init__(self, radius: int, pixels: str, edges: str) -> None:
        if radius < 0:
            raise ConfigError(f"task.radius={radius} must be at least 1, or 0 for the cell alone.")
        self.radius, self.pixels, self.edges = radius, pixels, edges
        self.symbols, self.scale = np.zeros((0, 1)), np.ones(1)

    def fit(self, images: Images, earlier: GridFeatures | None = None) -> None:
        """Learn colours, or the largest values, of the training images; of `earlier` features, all that they know is kept."""
        if earlier is not None and self.pixels == "auto":
            self.pixels = earlier.pixels
        self.symbols = np.unique(images.pixels.astype(np.float64), axis=0)
        largest = np.abs(images.pixels.astype(np.float64)).max(axis=0)
        self.scale = np.where(largest > 0, largest, 1.0)
        if self.pixels == "auto":
            self.pixels = "symbols" if len(self.symbols) <= MOST_SYMBOLS else "values"
        if earlier is not None and self.pixels == earlier.pixels:
            self._keep(earlier, images)
        if self.pixels == "values":
            self.symbols = self.symbols[:0]

    def _keep(self, earlier: GridFeatures, images: Images) -> None:
        """Add the colours that earlier features know, or divide as they do."""
        if len(earlier.scale) != len(self.scale):
            found = f"{images.path}: pixels have {len(self.scale)} channels, but those of the model of warm_start"
            raise ConfigError(f"{found} {len(earlier.scale)}. Give images of the same kind.")
        self.symbols = np.unique(np.concatenate([earlier.symbols.reshape(-1, len(self.scale)), self.symbols]), axis=0)
        self.scale = earlier.scale

    def cells(self, images: Images) -> AttributeTable:
        """Attributes of every cell: for each place around it what stands there, or that it is outside; and a constant."""
        look, (row, column, rows, columns) = self._look(images), _places(images)
        reach = range(-self.radius, self.radius + 1)
        ids, values = [], []
        for block, (down, right) in enumerate((a, b) for a in reach for b in reach):
            inside = (row + down >= 0) & (row + down < rows) & (column + right >= 0) & (column + right < columns)
            cell = np.where(inside, np.arange(len(row)) + down * columns + right, 0)
            first = block * (look.size + 1)
            there = np.where(inside[:, None] & (look.ids[cell] >= 0), look.ids[cell] + first, -1)
            ids.append(np.hstack([there, np.where(inside, -1, first + look.size)[:, None]]))
            if look.values is not None:
                values.append(np.hstack([look.values[cell], np.ones((len(row), 1))]))
        size = len(reach) ** 2 * (look.size + 1)
        ids.append(np.full((len(row), 1), size))
        values.append(np.ones((len(row), 1)))
        return _table(np.hstack(ids), np.hstack(values) if look.values is not None else None, size + 1)

    def between(self, images: Images, joined: Array, ways: Array) -> AttributeTable:
        """Attributes of every edge, given the cells that it joins, counted over the corpus, and its way."""
        if self.edges == "directions":
            return _table(ways[:, None], None, len(WAYS))
        look = self._look(images)
        ids, values = [ways[:, None]], [np.ones((len(ways), 1))]
        for end in range(2):
            own, first = look.ids[joined[:, end]], len(WAYS) + (2 * ways + end)[:, None] * look.size
            ids.append(np.where(own >= 0, own + first, -1))
            values.append(np.ones(own.shape) if look.values is None else look.values[joined[:, end]])
        return _table(np.hstack(ids), np.hstack(values) if look.values is not None else None, len(WAYS) * (1 + 2 * look.size))

    def example(self) -> list[float]:
        """The channels of a pixel that training has shown, or of the largest values."""
        return [float(value) for value in (self.symbols[0] if len(self.symbols) else self.scale)]

    def names(self, group: str) -> list[str]:
        """Readable names of the attributes of ``label`` and ``edge``."""
        looks = self._look_names()
        if group == "edge":
            of_ends = [f"{way}.{end}={look}" for way in WAYS for end in ("first", "second") for look in looks]
            return [*WAYS, *(of_ends if self.edges == "pixels" else [])]
        reach = range(-self.radius, self.radius + 1)
        around = [f"[{a},{b}]={look}" for a in reach for b in reach for look in [*looks, "outside"]]
        return [*around, "bias"]

    def state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """All that `fit` learnt, and the options."""
        values = {"pixels": self.pixels, "edges": self.edges, "radius": self.radius}
        return values, {"symbols": self.symbols, "scale": self.scale}

    def restore(self, values: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
        """Take back what `state` gave."""
        self.pixels, self.edges, self.radius = (values[key] for key in ("pixels", "edges", "radius"))
        self.symbols, self.scale = arrays["symbols"].reshape(-1, len(arrays["scale"])), arrays["scale"]

    def _look(self, images: Images) -> Look:
        pixels = images.pixels.astype(np.float64)
        channels = len(self.scale)
        if len(pixels) and pixels.shape[1] != channels:
            found = f"{images.path}: pixels have {pixels.shape[1]} channels, but those of the training images {channels}."
            raise ConfigError(found + " Give images of the same kind.")
        if self.pixels == "values":
            return Look(np.tile(np.arange(channels), (len(pixels), 1)), pixels / self.scale, channels)
        known = {tuple(symbol): number for number, symbol in enumerate(self.symbols.tolist())}
        distinct, which = np.unique(pixels, axis=0, return_inverse=True)
        numbers = np.array([known.get(tuple(symbol), -1) for symbol in distinct.tolist()], np.int64)
        return Look(numbers[which.ravel()].reshape(-1, 1), None, len(known))

    def _look_names(self) -> list[str]:
        if self.pixels == "values":
            return [f"channel{c}" for c in range(len(self.scale))]
        return ["/".join(f"{value:g}" for value in symbol) for symbol in self.symbols.tolist()]


def grid_edges(images: Images) -> tuple[tuple[Array, Array], Array]:
    """Edges of every image to the right and downwards, as `EncodedGraphs.edges` has them, and the way of each (0, 1)."""
    (row, column, rows, columns), offsets = _places(images), images.offsets
    cell = row * columns + column
    joined = np.stack([np.stack([cell, cell + 1], axis=1), np.stack([cell, cell + columns], axis=1)], axis=1)
    there = np.stack([column + 1 < columns, row + 1 < rows], axis=1)
    before = np.concatenate([[0], np.cumsum(there.sum(axis=1))]).astype(np.int64)
    return (before[offsets], joined[there].astype(np.int32)), np.nonzero(there)[1]


def _places(images: Images) -> tuple[Array, Array, Array, Array]:
    """Row and column of every cell, and how many of them its image has."""
    counts = images.shapes.prod(axis=1)
    rows, columns = np.repeat(images.shapes, counts, axis=0).T
    inside = np.arange(len(rows)) - np.repeat(images.offsets[:-1], counts)
    return inside // columns, inside % columns, rows, columns


def _table(ids: Array, values: Array | None, size: int) -> AttributeTable:
    """Rows of attributes, where those of id -1 and of value 0 are left out."""
    kept = ids >= 0 if values is None else (ids >= 0) & (values != 0.0)
    offsets = np.concatenate([[0], np.cumsum(kept.sum(axis=1))]).astype(np.int64)
    return AttributeTable(offsets, ids[kept].astype(np.int32), None if values is None else values[kept], size)
