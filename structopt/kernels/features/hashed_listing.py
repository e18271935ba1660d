"""The weights that scores of hashed templates read, listed with a note, and scores by this note.

See `structopt.kernels.features.template_notes`.
"""

from __future__ import annotations

import numpy as np

from structopt.kernels.features.hashed_scores import scores
from structopt.kernels.features.template_gradient import clear, open_gradient
from structopt.kernels.features.template_notes import note_sentence, score_noted
from structopt.kernels.features.template_parts import open_hashed
from structopt.kernels.waist.signatures import SCORES, SPANS, kernel


@kernel(SPANS)
def spans(features, i, starts, widths, scratch):
    """List the weights that may move and that the scores of instance i read, rows once; all as one
    run if they are too many.

    A note in the scratch names the cell of each (`structopt.kernels.features.template_notes`).
    """
    x, g = open_hashed(features), open_gradient(scratch)
    clear(g)
    runs = note_sentence(x, i, g, starts, widths)
    if runs >= 0:
        return runs
    starts[0] = 0
    widths[0] = (np.int64(1) << x.hash_bits) + (np.int64(1) << x.label_bits) * x.labels
    return 1


@kernel(SCORES)
def listed_scores(features, theta, i, s, scratch):
    """Fill s as `scores` does, up to the order of sums, from what `spans` has just noted of
    instance i.
    """
    g = open_gradient(scratch)
    if g.counts[0] < 0:
        scores(features, theta, i, s, scratch)
    else:
        score_noted(open_hashed(features), g, theta, i, s)
