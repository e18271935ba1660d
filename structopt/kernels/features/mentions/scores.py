"""Scores of mention templates; see `structopt.kernels.features.mentions.templates`."""

from __future__ import annotations

from structopt.kernels.features.mentions.record import open_mentions
from structopt.kernels.features.mentions.tables import fill_scores
from structopt.kernels.waist.signatures import SCORES, kernel


@kernel(SCORES)
def scores(features, theta, i, s, scratch):
    """Fill s with the part scores F(x_i)^T theta; theta must be zero wherever a weight may not
    move.
    """
    fill_scores(open_mentions(features), theta, i, s)
