"""What is listed before training: the attributes of every instance, each once, and the weights that gold outputs have."""

from __future__ import annotations

from structopt.kernels.waist.signatures import inlined


@inlined
def list_once(ids, offsets, positions, last, listed, starts, indices):
    """List the attributes of every instance of a group, each once; return how many entries `listed` has.

    Instance i has the positions positions[i] <= p < positions[i + 1]. `starts` receives where its list begins, `indices` the
    index of every occurrence in the list of its instance. `last`, one entry an attribute, is -1 everywhere.
    """
    entries = 0
    for i in range(len(positions) - 1):
        starts[i] = entries
        for j in range(offsets[positions[i]], offsets[positions[i + 1]]):
            a = ids[j]
            if last[a] < starts[i]:
                last[a] = entries
                listed[entries] = a
                entries += 1
            indices[j] = last[a] - starts[i]
    starts[len(positions) - 1] = entries
    return entries


@inlined
def mark_support(support, offsets, ids, positions, configurations, width):
    """Set support[a, c] = 1 for every attribute a of each of the positions, c its gold configuration."""
    for k in range(len(positions)):
        p = positions[k]
        for j in range(offsets[p], offsets[p + 1]):
            support[ids[j] * width + configurations[k]] = 1.0
