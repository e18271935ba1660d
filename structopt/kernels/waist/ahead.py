"""Passes ask the memory for the instances that come next.

Where the order is random, instances lie far apart, and a visit would wait for memory again and
again. Only time depends on what is asked for.
"""

from __future__ import annotations

from structopt.kernels.waist.signatures import PREFETCH, driven, kernel
from structopt.kernels.waist.target import open_target
from structopt.kernels.waist.views import prefetch, prefetch_run


@driven
def ask_ahead(k, data, order, n):
    """Ask the memory for what the visits of the instances behind order[n] will read."""
    if n + 2 < len(order):
        prefetch(data.parts, order[n + 2])
        prefetch(data.memory, order[n + 2])
    prefetch_targets(data.target, order, n)
    k.prefetch(data.features, order, n)


@kernel(PREFETCH)
def prefetch_targets(target, order, n):
    """Ask for where the targets of order[n + 2] begin, and for those of order[n + 1]; not for
    costs, nor for sets.
    """
    t = open_target(target)
    if n + 2 < len(order):
        prefetch(t.sets, order[n + 2])
        prefetch(t.gold_offsets, order[n + 2])
    if n + 1 < len(order):
        first, last = t.gold_offsets[order[n + 1]], t.gold_offsets[order[n + 1] + 1]
        prefetch_run(t.gold_parts, first, last)
        prefetch_run(t.gold_values, first, last)
