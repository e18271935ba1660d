"""Images of snakes: every cell of a snake shows where the next one lies, and is labelled with its number from the head."""

from __future__ import annotations

from random import Random

import numpy as np

from structopt.kernels.waist.record import Array

LENGTH = 10
BACKGROUND = (0, 0, 255)
COLOURS = {(-1, 0): (255, 0, 0), (1, 0): (0, 255, 0), (0, -1): (255, 255, 0), (0, 1): (0, 255, 255)}
"""Colour of a cell by the way, (down, right), to the next one; the last cell shows the way that led to it."""


def snakes(count: int, seed: str) -> list[tuple[Array, Array]]:
    """Images, shape (rows, columns, 3), with their labels, shape (rows, columns): 0 around the snake, 1..10 along it.

    A snake crosses neither itself nor the border, which is one cell wide. The same on every machine.
    """
    generator = Random(seed)
    return [_image(_path(generator)) for _ in range(count)]


def _path(generator: Random) -> list[tuple[int, int]]:
    """Cells of a random walk that meets no cell twice; one that runs into itself is begun anew."""
    ways = list(COLOURS)
    while True:
        cells = [(0, 0)]
        while len(cells) < LENGTH:
            row, column = cells[-1]
            free = [(row + a, column + b) for a, b in ways if (row + a, column + b) not in cells]
            if not free:
                break
            cells.append(free[generator.randrange(len(free))])
        if len(cells) == LENGTH:
            return cells


def _image(cells: list[tuple[int, int]]) -> tuple[Array, Array]:
    places = np.array(cells) - np.min(cells, axis=0) + 1
    rows, columns = places.max(axis=0) + 2
    pixels, labels = np.full((rows, columns, 3), BACKGROUND, np.uint8), np.zeros((rows, columns), np.int8)
    ways = [*map(tuple, np.diff(places, axis=0).tolist())]
    for number, ((row, column), way) in enumerate(zip(places.tolist(), [*ways, ways[-1]], strict=True), 1):
        pixels[row, column], labels[row, column] = COLOURS[way], number
    return pixels, labels
