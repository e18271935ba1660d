"""Scores of anchored templates; see `structopt.kernels.features.anchored.templates`."""

from __future__ import annotations

from structopt.kernels.features.anchored.record import open_anchored
from structopt.kernels.features.anchored.walk import fill_scores
from structopt.kernels.waist.signatures import SCORES, kernel


@kernel(SCORES)
def scores(features, theta, i, s, scratch):
    """Fill s with the part scores F(x_i)^T theta."""
    fill_scores(open_anchored(features), theta, i, s, scratch)
