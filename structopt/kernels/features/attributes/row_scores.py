"""Scores of the block *attribute x configuration*; see the module `rows`."""

from __future__ import annotations

import numpy as np

from structopt.kernels.arrays.row_tables import add_listed
from structopt.kernels.arrays.rows import add_scaled
from structopt.kernels.features.attributes.dense import add_dense_scores
from structopt.kernels.features.attributes.record import list_of, positions_of, rows_of
from structopt.kernels.features.attributes.singles import add_single_scores
from structopt.kernels.waist.signatures import merged
from structopt.kernels.waist.views import part, prefetch_run

# rows of weights that are asked for before they are needed, so that the processor waits for many at
# the same time
AHEAD = 128


@merged
def fill_scores(x, theta, i, s):
    """Fill s with the part scores of instance i, given the opened record of the features."""
    valued = len(x.values) > 0
    begin = above = 0
    for t in range(len(x.widths)):
        width, start = np.int64(x.widths[t]), x.starts[t]
        first, last = positions_of(x, t, i)
        if x.lengths[t] < width:
            add_single_scores(x, t, i, theta, part(s, above, begin))
            continue
        above = begin
        if x.attributes[t] == x.attributes[t + 1]:
            s[begin : begin + (last - first) * width] = 0.0
            begin += (last - first) * width
            continue
        W = rows_of(theta, x.weights[t], x.attributes[t + 1] - x.attributes[t], width)
        S = rows_of(s, begin, last - first, width)
        listed = list_of(x, t, i)
        asked = 0
        for p in range(last - first):
            offset = start + first + p
            # positions have met no more of the list, in its order
            met = x.offsets[offset + 1] - x.offsets[start + first]
            until = min(met + AHEAD, len(listed))
            for q in range(asked, until):
                line = x.weights[t] + listed[q] * width
                prefetch_run(theta, line, line + width)
            asked = until
            row = S[p]
            row[:] = 0.0
            if valued:
                for j in range(x.offsets[offset], x.offsets[offset + 1]):
                    add_scaled(row, x.values[j], W[listed[x.ids[j]]])
            else:
                add_listed(row, W, listed, part(x.ids, x.offsets[offset], x.offsets[offset + 1]))
        if x.dense[t] < x.dense[t + 1]:
            add_dense_scores(x, t, first, S, W)
        begin += (last - first) * width
