"""What the block *attribute x configuration* asks the memory for before the visit of an instance reads it.

Instances that are visited in a random order lie far apart, and each of their first reads would wait for memory, one after the
other: where the positions of an instance begin, where the attributes of these begin, and the attributes. So each is asked for
in a visit of its own, the first three visits before they are needed.
"""

from __future__ import annotations

from structopt.kernels.features.attributes.record import list_of, open_rows
from structopt.kernels.waist.signatures import PREFETCH, embedded, kernel
from structopt.kernels.waist.views import prefetch, prefetch_run


@embedded
def offsets_of(x, g, i):
    """Return the indices in `x.offsets` of the positions of instance i in group g: of the first, and the one behind the last."""
    at = g * (len(x.positions) // len(x.widths)) + i
    return x.starts[g] + x.positions[at], x.starts[g] + x.positions[at + 1]


@kernel(PREFETCH)
def prefetch_instances(features, order, n):
    """Ask for where order[n + 3] begins, for the list and the offsets of order[n + 2], and for the attributes of order[n + 1]."""
    x, left = open_rows(features), len(order) - n
    stride = len(x.positions) // len(x.widths)
    for g in range(len(x.widths)):
        if x.attributes[g] == x.attributes[g + 1]:
            continue
        if left > 3:
            prefetch(x.positions, g * stride + order[n + 3])
            prefetch(x.lists, g * stride + order[n + 3])
        if left > 2:
            listed = list_of(x, g, order[n + 2])
            prefetch_run(listed, 0, len(listed))
            first, last = offsets_of(x, g, order[n + 2])
            prefetch_run(x.offsets, first, last + 1)
        if left > 1:
            first, last = offsets_of(x, g, order[n + 1])
            prefetch_run(x.ids, x.offsets[first], x.offsets[last])
