"""Central differences of marginals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from structopt.core.parts.parts import Parts

STEP = 1e-4
"""Length of the step, relative to the largest entry of an instance's direction."""


def marginal_slope(
    infer: Callable[..., Any], scores: Parts, direction: Parts, temperature: float
) -> Parts:
    """Return Cov(z) v / T, the derivative of the marginals at a temperature T in a direction v.

    Its error is O(h^2), h = 1e-4 times the temperature over the largest entry of v in the instance;
    it takes two inferences.

    Parameters
    ----------
    infer : callable
        ``infer(scores, temperature=T).marginals``.
    scores, direction : Parts
        Vectors over the parts of one batch.
    temperature : float
        Above 0.
    """
    batch = scores.batch
    largest = np.zeros(len(batch))
    if len(batch.kept):
        begins = batch.offsets[batch.kept]
        largest[batch.kept] = np.maximum.reduceat(np.abs(direction.flat), begins)
    if not largest.any():
        return batch.zeros()
    h = (STEP * temperature / np.where(largest > 0.0, largest, 1.0))[:, None]
    above = infer(scores + h * direction, temperature=temperature).marginals
    below = infer(scores - h * direction, temperature=temperature).marginals
    slope: Parts = (above - below) / (2 * h)
    return slope
