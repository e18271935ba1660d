"""Many instances, a few at a time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from structopt.plugin import Array

INSTANCES, PARTS = 128, 4_000_000
"""The most instances of a chunk, and the most parts of a chunk of several."""


def bounds_of(sizes: Array) -> Array:
    """Where runs of these sizes begin, one after the other, and where the last ends: int64, one
    more than there are sizes.
    """
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def chunks(sizes: Array) -> Iterator[Array]:
    """Numbers of instances that are computed together, given how many parts each has.

    They are of like size, since the largest decides how long a chunk takes.
    """
    order, first, total = np.argsort(-sizes, kind="stable"), 0, 0
    for k, number in enumerate(order):
        if k > first and (k - first == INSTANCES or total + sizes[number] > PARTS):
            yield order[first:k]
            first, total = k, 0
        total += sizes[number]
    if first < len(order):
        yield order[first:]
