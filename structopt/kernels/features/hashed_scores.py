"""Scores of hashed templates; see `structopt.kernels.features.hashed_templates`."""

from __future__ import annotations

import numpy as np

from structopt.kernels.features.template_parts import LABEL, open_hashed, parts_of
from structopt.kernels.features.template_scores import score_labels, score_parts
from structopt.kernels.waist.signatures import SCORES, kernel


@kernel(SCORES)
def scores(features, theta, i, s, scratch):
    """Fill s with the part scores F(x_i)^T theta; theta must be zero wherever a weight may not
    move.
    """
    x = open_hashed(features)
    codes = x.codes[x.tokens[i] : x.tokens[i + 1]]
    W = theta[np.int64(1) << x.hash_bits :].reshape((-1, max(x.labels, 1)))
    stride, part = len(x.positions) // max(len(x.groups), 1), 0
    for k in range(len(x.groups)):
        kind = np.int64(x.groups[k])
        first, last = x.positions[k * stride + i], x.positions[k * stride + i + 1]
        end = part + (last - first) * (x.labels if kind == LABEL else 1)
        a, b, c = parts_of(x, kind, first, last)
        if kind == LABEL:
            score_labels(x, W, codes, a, b, s[part:end].reshape((last - first, x.labels)))
        else:
            score_parts(x, kind, theta, codes, a, b, c, s[part:end])
        part = end
