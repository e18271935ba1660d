"""Hard constraints of linear chains: forbidden labels and transitions are parts whose score becomes
-inf.
"""

from __future__ import annotations

from math import inf

from structopt.kernels.waist.signatures import embedded


@embedded
def constrain(c, i, n, s):
    """Give every forbidden part the score -inf."""
    L = c.labels
    for y in c.forbidden_starts:
        s[y] = -inf
    for y in c.forbidden_ends:
        s[(n - 1) * L + y] = -inf
    if len(c.forbidden_transitions) > 0:
        tables = n - 1 if c.anchored else 1
        for p in range(tables):
            for q in c.forbidden_transitions:
                s[n * L + p * L * L + q] = -inf
    for j in range(c.excluded_offsets[i], c.excluded_offsets[i + 1]):
        s[c.excluded[j]] = -inf
