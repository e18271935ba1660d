"""Images of snakes: the colour of every cell shows the direction of the next one; its label is its
number from the head.

Source: Nowozin et al. (2011).
"""

from __future__ import annotations

from random import Random

import numpy as np

from structopt.kernels.waist.record import Array

LENGTH = 10
BACKGROUND = (0, 0, 255)
COLOURS = {(-1, 0): (255, 0, 0), (1, 0): (0, 255, 0), (0, -1): (255, 255, 0), (0, 1): (0, 255, 255)}
"""Colour of a cell by the step, (down, right), to the next one; the last cell has the colour of the
step to itself.
"""


def snakes(count: int, seed: str) -> list[tuple[Array, Array]]:
    """Draw images, uint8 of shape (rows, columns, 3), with labels, int8 of shape (rows, columns): 1
    to 10 along a snake, else 0.

    A snake crosses neither itself nor the border, which is one cell wide. Equal seeds give equal
    images on every machine.
    """
    generator = Random(seed)
    return [_image(_path(generator)) for _ in range(count)]


def _path(generator: Random) -> list[tuple[int, int]]:
    """Cells of a random walk that visits no cell twice; a walk that cannot go on is begun anew."""
    steps = list(COLOURS)
    while True:
        cells = [(0, 0)]
        while len(cells) < LENGTH:
            row, column = cells[-1]
            free = [(row + a, column + b) for a, b in steps if (row + a, column + b) not in cells]
            if not free:
                break
            cells.append(free[generator.randrange(len(free))])
        if len(cells) == LENGTH:
            return cells


def _image(cells: list[tuple[int, int]]) -> tuple[Array, Array]:
    positions = np.array(cells) - np.min(cells, axis=0) + 1
    rows, columns = positions.max(axis=0) + 2
    pixels, labels = (
        np.full((rows, columns, 3), BACKGROUND, np.uint8),
        np.zeros((rows, columns), np.int8),
    )
    steps = [*map(tuple, np.diff(positions, axis=0).tolist())]
    for number, ((row, column), step) in enumerate(
        zip(positions.tolist(), [*steps, steps[-1]], strict=True), 1
    ):
        pixels[row, column], labels[row, column] = COLOURS[step], number
    return pixels, labels
