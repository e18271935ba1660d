"""From weights to the scores of edges, and from the residuals of edges to the weights, by way of
their sums.
"""

from __future__ import annotations

import numpy as np

from structopt.kernels.features.anchored.notes import notes_of
from structopt.kernels.features.anchored.sums import OF_EDGE, features_of, sums_of
from structopt.kernels.features.template_gradient import SPARSE, Sink, enlarge, put_weights
from structopt.kernels.waist.signatures import inlined

SMALLEST = 1e-9
"""A residual below this is taken for zero in sparse gradients: its gradient would drown in
rounding.
"""
CHUNK = 512


@inlined
def fill_scores(x, theta, i, s, scratch):
    """Fill s with the scores of the edges of sentence i, and zeros for its vertices."""
    notes = notes_of(x, i, scratch)
    edges, parts, starts, weights, values = (
        notes.edges,
        notes.parts,
        notes.starts,
        notes.weights,
        np.zeros(len(notes.parts)),
    )
    t = np.int64(0)
    for q in range(1, len(values)):
        total, end = 0.0, np.int64(starts[q + 1])
        while t < end:  # unsigned indices spare the look whether they count from the end
            w = weights[np.uint64(t)]
            if w >= 0:
                total += theta[np.uint64(w)]
            t += 1
        for j in range(4):
            total += values[np.uint64(parts[q, j])]
        values[q] = total
    s[len(edges) :] = 0.0
    for edge in range(len(edges)):
        total = 0.0
        for j in range(OF_EDGE):
            total += values[np.uint64(edges[edge, j])]
        s[edge] = total


@inlined
def amounts_of(edges, parts, r, least):
    """The residual of each sum, given those of edges, of which those up to `least` count as
    zero.
    """
    amounts = np.zeros(len(parts))
    for edge in range(len(edges)):
        amount = r[edge]
        if abs(amount) > least:
            for j in range(OF_EDGE):
                amounts[np.uint64(edges[edge, j])] += amount
    for q in range(len(amounts) - 1, 0, -1):
        if amounts[q] != 0.0:
            for j in range(4):
                amounts[np.uint64(parts[q, j])] += amounts[q]
    return amounts


@inlined
def sink_of(mode, gradient, dense, starts, widths):
    """Make a sink, with scratch for a chunk of features."""
    return Sink(mode, gradient, dense, starts, widths, np.empty(CHUNK, np.uint64), np.empty(CHUNK))


@inlined
def walk(x, i, r, sink, scratch):
    """Hand every feature of sentence i to the sink, with the sum of the residuals of the edges that
    have it.
    """
    notes = notes_of(x, i, scratch)
    amounts = amounts_of(notes.edges, notes.parts, r, SMALLEST if sink.mode == SPARSE else 0.0)
    starts, weights, waiting, indices, waiting_amounts = (
        notes.starts,
        notes.weights,
        0,
        sink.indices,
        sink.amounts,
    )
    if sink.mode == SPARSE:
        features = 0
        for q in range(1, len(amounts)):
            if amounts[q] != 0.0:
                features += starts[q + 1] - starts[q]
        enlarge(sink.g, 2 * features)
    for q in range(1, len(amounts)):
        amount = amounts[q]
        if amount == 0.0:
            continue
        for t in range(starts[q], starts[q + 1]):
            if weights[t] >= 0:
                if waiting == CHUNK:
                    put_weights(sink, waiting)
                    waiting = 0
                indices[np.uint64(waiting)], waiting_amounts[np.uint64(waiting)] = (
                    weights[t],
                    amount,
                )
                waiting += 1
    put_weights(sink, waiting)


@inlined
def list_hashes(x, i, r, found):
    """List the hashes of the features of edges whose residual is not 0, some perhaps more than
    once; return how many.
    """
    y, codes = sums_of(
        x, i, np.empty((x.forest.edges[i + 1] - x.forest.edges[i], OF_EDGE), np.int32)
    )
    _, z = features_of(x, codes, y, amounts_of(y.edges, y.parts[: y.count[0]], r, 0.0))
    found[: len(z)] = z.view(np.int64)
    return len(z)
