"""The k best labels where an instance is one variable."""

from __future__ import annotations

from math import inf

import numpy as np

from structopt.kernels.waist.signatures import K_BEST, kernel


@kernel(K_BEST)
def k_best(structure, i, s, k, values, offsets, parts, counts, work):
    """Sort the labels by score, best first; among equals the first label; those at -inf are left
    out.
    """
    order = np.argsort(-s, kind="mergesort")
    listed, offsets[0] = 0, 0
    for y in order[:k]:
        if s[y] == -inf:
            break
        values[listed], parts[listed], counts[listed] = s[y], y, 1.0
        listed += 1
        offsets[listed] = listed
    return listed
