"""What the block *attribute x configuration* asks the memory for before the visit of an instance
reads it.

Instances that are visited in a random order lie far apart, and each of their first reads would wait
for memory, one after the other: where the positions of an instance begin, where the attributes of
these begin, and the attributes. So each is asked for in a visit of its own, the first three visits
before they are needed.
"""

from __future__ import annotations

from structopt.kernels.features.attributes.record import list_of, open_rows, positions_of
from structopt.kernels.waist.signatures import PREFETCH, kernel
from structopt.kernels.waist.views import prefetch, prefetch_run


@kernel(PREFETCH)
def prefetch_instances(features, order, n):
    """Ask for where order[n + 3] begins, for the list and the offsets of order[n + 2], and for the
    attributes of order[n + 1].
    """
    x, left = open_rows(features), len(order) - n
    stride = len(x.positions) // len(x.widths)
    for t in range(len(x.widths)):
        if x.attributes[t] == x.attributes[t + 1]:
            continue
        if left > 3:
            prefetch(x.positions, t * stride + order[n + 3])
            prefetch(x.lists, t * stride + order[n + 3])
        if left > 2:
            listed = list_of(x, t, order[n + 2])
            prefetch_run(listed, 0, len(listed))
            first, last = positions_of(x, t, order[n + 2])
            prefetch_run(x.offsets, x.starts[t] + first, x.starts[t] + last + 1)
        if left > 1:
            first, last = positions_of(x, t, order[n + 1])
            prefetch_run(x.ids, x.offsets[x.starts[t] + first], x.offsets[x.starts[t] + last])
