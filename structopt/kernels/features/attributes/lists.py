"""What is listed before training: the attributes of every instance, each once, and the weights that
gold outputs have.
"""

from __future__ import annotations

import numpy as np

from structopt.kernels.waist.signatures import inlined


@inlined
def list_once(ids, offsets, positions, last, listed, starts, indices):
    """List the attributes of every instance of a group, each once; return how many entries `listed`
    has.

    Instance i has the positions positions[i] <= p < positions[i + 1]. `starts` receives where its
    list begins, `indices` the index of every occurrence in the list of its instance. `last`, one
    entry an attribute, is -1 everywhere.
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
def replace_each(ids, values, offsets, begins, replaced, own, new_offsets):
    """List begins[a] <= n < begins[a + 1] instead of each attribute a, with its value if there are
    any, and where those of a position begin; return how many.
    """
    valued, count = len(values) > 0, 0
    for p in range(len(offsets) - 1):
        new_offsets[p] = count
        for j in range(offsets[p], offsets[p + 1]):
            for n in range(begins[ids[j]], begins[ids[j] + 1]):
                replaced[count] = n
                if valued:
                    own[count] = values[j]
                count += 1
    new_offsets[len(offsets) - 1] = count
    return count


@inlined
def list_singles(
    ids,
    values,
    offsets,
    positions,
    configurations,
    width,
    last,
    listed,
    starts,
    begins,
    numbers,
    own,
):
    """List the singles of every instance, each once, and fill `numbers` with where they occur;
    return how many entries both have.

    `structopt.kernels.features.attributes.singles` says what these are. `ids`, `offsets` and
    `positions` are as those of `list_once`, `configurations` those of all singles. `starts` and
    `begins` receive where the list and the numbers of each instance begin, `own` the values of the
    occurrences where there are any.
    """
    again, entries, end = np.empty((len(ids), 3), np.int64), 0, 0
    for i in range(len(positions) - 1):
        starts[i], begins[i], repeated = entries, end, 0
        most = 0
        for p in range(positions[i], positions[i + 1]):
            most = max(most, offsets[p + 1] - offsets[p])
        # the first of every position, then the second: neighbours add to different scores
        for n in range(most):
            for p in range(positions[i], positions[i + 1]):
                j = offsets[p] + n
                if j >= offsets[p + 1]:
                    continue
                a, place = ids[j], (p - positions[i]) * width + configurations[ids[j]]
                if last[a] < starts[i]:
                    last[a], listed[entries], numbers[end] = entries, a, place
                    if len(values) > 0:
                        own[end] = values[j]
                    entries += 1
                    end += 1
                else:
                    again[repeated, 0], again[repeated, 1], again[repeated, 2] = (
                        place,
                        last[a] - starts[i],
                        j,
                    )
                    repeated += 1
        for n in range(repeated):
            numbers[end + n], numbers[end + repeated + n] = again[n, 0], again[n, 1]
            if len(values) > 0:
                own[end + n], own[end + repeated + n] = values[again[n, 2]], 1.0
        end += 2 * repeated
    starts[len(positions) - 1], begins[len(positions) - 1] = entries, end
    return entries, end


@inlined
def mark_support(support, offsets, ids, positions, configurations, width):
    """Set support[a, c] = 1 for every attribute a of each of the positions, c its gold
    configuration.
    """
    for k in range(len(positions)):
        p = positions[k]
        for j in range(offsets[p], offsets[p + 1]):
            support[ids[j] * width + configurations[k]] = 1.0
