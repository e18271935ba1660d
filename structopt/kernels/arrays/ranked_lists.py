"""Lists of the best values so far, each with its origin: what k-best searches by dynamic
programming keep.
"""

from __future__ import annotations

from structopt.kernels.waist.signatures import inlined


@inlined
def insert(value, origin, rank, values, origins, ranks):
    """Insert into a list in decreasing value; return False where it does not belong there.

    `origin` is the list from which the value was derived, and `rank` the index there.
    """
    q = len(values) - 1
    if not value > values[q]:
        return False
    while q > 0 and value > values[q - 1]:
        values[q], origins[q], ranks[q] = values[q - 1], origins[q - 1], ranks[q - 1]
        q -= 1
    values[q], origins[q], ranks[q] = value, origin, rank
    return True
