"""Attributes of the cells of images and of the edges between them: the pixels there and around
them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from structopt.core.data.attribute_table import AttributeTable
from structopt.core.data.dense_table import DenseTable
from structopt.core.data.saved_state import SavedState
from structopt.errors import ConfigError
from structopt.formats.labelled_images import Images
from structopt.kernels.waist.record import Array

MOST_SYMBOLS = 64
DIRECTIONS = ("right", "down")
LARGEST_RADIUS = 100


class Attributes(NamedTuple):
    """Attributes of positions, and the channels of pixels around them, where values of channels are
    attributes.
    """

    table: AttributeTable
    dense: tuple[DenseTable, ...]


class GridFeatures:
    """Makes tables of attributes of images.

    Parameters
    ----------
    radius : int
        How far away the cells are whose pixels are attributes of a cell: 1 for its eight
        neighbours.
    pixels : str
        ``symbols`` (every colour of the training images is an attribute), ``values`` (every channel
        is one, divided by its largest in training), or ``auto`` (symbols, where there are at most
        64).
    edges : str
        ``directions`` (an edge has an attribute for going right or down), or ``pixels`` (and the
        pixels at its ends).
    """

    def __init__(self, radius: int, pixels: str, edges: str) -> None:
        if not 0 <= radius <= LARGEST_RADIUS:
            raise ConfigError(
                f"must be from 1 to {LARGEST_RADIUS}, or 0 for the cell alone.",
                parameter="task.radius",
                value=radius,
            )
        self.radius, self.pixels, self.edge_features = radius, pixels, edges
        self.symbols, self.scale = np.zeros((0, 1)), np.ones(1)

    def fit(self, images: Images, earlier: GridFeatures | None = None) -> None:
        """Learn the colours, or largest values, of the training images; those of `earlier` features
        are kept.
        """
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
        """Keep the colours of earlier features, and the values they divide by."""
        if len(earlier.scale) != len(self.scale):
            message = (
                f"{images.path}: pixels have {len(self.scale)} channels, but those of the model "
                "of warm_start"
            )
            raise ConfigError(
                f"{message} {len(earlier.scale)}.",
                remedy="Give images of the same kind.",
            )
        self.symbols = np.unique(
            np.concatenate([earlier.symbols.reshape(-1, len(self.scale)), self.symbols]), axis=0
        )
        self.scale = earlier.scale

    def cells(self, images: Images) -> Attributes:
        """Return the attributes of every cell: for each cell around it its pixel, or that it is
        outside; and a bias.
        """
        (row, column, rows, columns), colours = _cell_positions(images), self._colours(images)
        reach, ids, around = range(-self.radius, self.radius + 1), [], []
        # attributes of a cell around another: its colour, or that it is outside
        own = len(self.symbols) + 1
        for block, (down, right) in enumerate((a, b) for a in reach for b in reach):
            inside = (
                (row + down >= 0)
                & (row + down < rows)
                & (column + right >= 0)
                & (column + right < columns)
            )
            cell = np.where(inside, np.arange(len(row)) + down * columns + right, -1)
            around.append(cell)
            ids.append(np.where(inside, -1, (block + 1) * own - 1))
            if colours is not None:
                ids.append(np.where(inside & (colours[cell] >= 0), colours[cell] + block * own, -1))
        size = len(reach) ** 2 * own
        ids.append(np.full(len(row), size))
        return Attributes(
            _table(np.stack(ids, axis=1), size + 1),
            self._channels(images, np.stack(around, axis=1)),
        )

    def edges(self, images: Images, ends: Array, directions: Array) -> Attributes:
        """Return the attributes of every edge.

        Parameters
        ----------
        images : Images
        ends : int64, shape (edges, 2)
            The cells at the ends of each, numbered over the corpus.
        directions : int64, shape (edges,)
            Indices into ``DIRECTIONS``.
        """
        if self.edge_features == "directions":
            return Attributes(_table(directions[:, None], len(DIRECTIONS)), ())
        ids, colours, own = [directions], self._colours(images), len(self.symbols)
        if colours is not None:
            for end in range(2):
                first, at_end = (
                    len(DIRECTIONS) + (2 * directions + end) * own,
                    colours[ends[:, end]],
                )
                ids.append(np.where(at_end >= 0, at_end + first, -1))
        slots = np.full((len(ends), 2 * len(DIRECTIONS)), -1)
        for end in range(2):
            slots[np.arange(len(ends)), 2 * directions + end] = ends[:, end]
        table = _table(np.stack(ids, axis=1), len(DIRECTIONS) * (1 + 2 * own))
        return Attributes(table, self._channels(images, slots))

    def example(self) -> list[float]:
        """Return the channels of a pixel of the training images, or their largest values."""
        return [float(value) for value in (self.symbols[0] if len(self.symbols) else self.scale)]

    def names(self, group: str) -> list[str]:
        """Return readable names of the attributes of ``label`` or ``edge``, those of channels
        behind the others.
        """
        colours = ["/".join(f"{value:g}" for value in symbol) for symbol in self.symbols.tolist()]
        channels = (
            [f"channel{c}" for c in range(len(self.scale))] if self.pixels == "values" else []
        )
        if group == "edge":
            ends = [f"{way}.{end}" for way in DIRECTIONS for end in ("first", "second")]
            at_ends = [
                f"{end}={pixel}" for one in (colours, channels) for end in ends for pixel in one
            ]
            return [*DIRECTIONS, *(at_ends if self.edge_features == "pixels" else [])]
        reach = range(-self.radius, self.radius + 1)
        cells = [f"[{a},{b}]" for a in reach for b in reach]
        around = [f"{cell}={pixel}" for cell in cells for pixel in [*colours, "outside"]]
        return [*around, "bias", *(f"{cell}={channel}" for cell in cells for channel in channels)]

    def state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return all that `fit` learnt, and the options."""
        values = {
            "pixels": self.pixels,
            "edges": self.edge_features,
            "radius": self.radius,
            "channels": "behind",
        }
        return values, {"symbols": self.symbols, "scale": self.scale}

    def restore(self, state: SavedState) -> None:
        """Restore what `state` returned."""
        self.pixels = state.string("pixels", ("symbols", "values"))
        self.edge_features = state.string("edges", ("directions", "pixels"))
        # models of version 0.1.0 have the channels of each cell before that it is outside
        if self.pixels == "values":
            state.string("channels", ("behind",))
        self.radius, self.scale = (
            state.whole("radius", 0, LARGEST_RADIUS),
            state.array("scale", np.float64),
        )
        self.symbols = state.array("symbols", np.float64, (None, len(self.scale)))
        if not len(self.scale) or (self.scale <= 0).any():
            state.refuse_array("scale", "above 0, one number a channel")
        if len(np.unique(self.symbols, axis=0)) < len(self.symbols):
            state.refuse_array("symbols", "distinct colours")

    def _colours(self, images: Images) -> Array | None:
        """The number of every cell's colour, -1 for one that training does not have; None where
        values are attributes.
        """
        pixels = images.pixels.astype(np.float64)
        channels = len(self.scale)
        if len(pixels) and pixels.shape[1] != channels:
            message = (
                f"{images.path}: pixels have {pixels.shape[1]} channels, but those of the "
                f"training images {channels}."
            )
            raise ConfigError(message + " Give images of the same kind.")
        if self.pixels == "values":
            return None
        known = {tuple(symbol): number for number, symbol in enumerate(self.symbols.tolist())}
        distinct, which = np.unique(pixels, axis=0, return_inverse=True)
        numbers = np.array([known.get(tuple(symbol), -1) for symbol in distinct.tolist()], np.int64)
        return np.asarray(numbers[which.ravel()]) if len(numbers) else np.zeros(0, np.int64)

    def _channels(self, images: Images, cells: Array) -> tuple[DenseTable, ...]:
        """The channels of the cells at every position, -1 for none; nothing where colours are
        attributes.
        """
        if self.pixels != "values":
            return ()
        matrix = (images.pixels.astype(np.float64) / self.scale).astype(np.float32)
        return (DenseTable(cells.astype(np.int32), matrix),)


def grid_edges(images: Images) -> tuple[tuple[Array, Array], Array]:
    """Return the edges of every image to the right and downwards, in the form of
    `EncodedGraphs.edges`, and their directions.
    """
    (row, column, rows, columns), offsets = _cell_positions(images), images.offsets
    cell = row * columns + column
    ends = np.stack(
        [np.stack([cell, cell + 1], axis=1), np.stack([cell, cell + columns], axis=1)], axis=1
    )
    inside = np.stack([column + 1 < columns, row + 1 < rows], axis=1)
    before = np.concatenate([[0], np.cumsum(inside.sum(axis=1))]).astype(np.int64)
    return (before[offsets], ends[inside].astype(np.int32)), np.nonzero(inside)[1]


def _cell_positions(images: Images) -> tuple[Array, Array, Array, Array]:
    """Row and column of every cell, and the numbers of rows and columns of its image."""
    counts = images.shapes.prod(axis=1)
    rows, columns = np.repeat(images.shapes, counts, axis=0).T
    in_image = np.arange(len(rows)) - np.repeat(images.offsets[:-1], counts)
    return in_image // columns, in_image % columns, rows, columns


def _table(ids: Array, size: int) -> AttributeTable:
    """A table without the entries -1."""
    kept = ids >= 0
    offsets = np.concatenate([[0], np.cumsum(kept.sum(axis=1))]).astype(np.int64)
    return AttributeTable(offsets, ids[kept].astype(np.int32), None, size)
