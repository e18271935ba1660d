"""Which weights the scores of a sentence are made of; and the scratch of a thread, where this is
noted.

A visit scores a sentence and then pulls a residual back to the same weights. To find them takes
longer than all that is done with them, and does not depend on their values. So they are found once,
and noted in the scratch of the thread; where it has no room for them, they are found anew.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structopt.kernels.features.anchored.hashes import fill_weights
from structopt.kernels.features.anchored.sums import OF_EDGE, features_of, sums_of
from structopt.kernels.features.template_gradient import SparseGradient
from structopt.kernels.waist.fields import Ints, Longs
from structopt.kernels.waist.layout import RecordLayout
from structopt.kernels.waist.signatures import inlined


class AnchoredScratch(NamedTuple):
    """The scratch of a thread, opened.

    Attributes
    ----------
    gradient : SparseGradient
    noted : (3,) number of the sentence that is noted + 1, or 0; how many sums, and how many
    features its sums have edges, parts, starts, weights : room for `Notes`, flat
    """

    gradient: SparseGradient
    noted: Longs
    edges: Ints
    parts: Ints
    starts: Ints
    weights: Ints


SCRATCH = RecordLayout(AnchoredScratch)
open_scratch = SCRATCH.compiled


class Notes(NamedTuple):
    """The sums of the edges of one sentence, and the weights that each adds up. E edges.

    Attributes
    ----------
    edges : int32, shape (E, OF_EDGE)
        The sums of each edge: see `structopt.kernels.features.anchored.sums`.
    parts : int32, shape (sums, 4)
        Other sums, each of a lower number, that are added to a sum.
    starts : int32, shape (sums + 1,)
        Where the weights of each sum begin.
    weights : int32
        Their numbers; -1 for a feature that has none.
    """

    edges: np.ndarray
    parts: np.ndarray
    starts: np.ndarray
    weights: np.ndarray


@inlined
def room(kept, size):
    """The beginning of an array that is kept, if it is long enough; else a new array."""
    return kept[:size] if size <= len(kept) else np.empty(size, np.int32)


@inlined
def nothing_noted():
    """A scratch that has no room."""
    i, f = np.empty(0, np.int32), np.empty(0)
    return AnchoredScratch(
        SparseGradient(i, i, i, i, np.empty(0, np.int64), f, f), np.zeros(3, np.int64), i, i, i, i
    )


@inlined
def notes_of(x, i, scratch):
    """The notes of sentence i: those in the scratch if they are of this sentence; else new ones,
    which replace them.
    """
    h, E = (
        open_scratch(scratch) if len(scratch.longs) > 0 else nothing_noted(),
        x.forest.edges[i + 1] - x.forest.edges[i],
    )
    edges = room(h.edges, E * OF_EDGE).reshape((E, OF_EDGE))
    if h.noted[0] == i + 1:
        sums = h.noted[1]
        return Notes(
            edges,
            h.parts[: 4 * sums].reshape((sums, 4)),
            h.starts[: sums + 1],
            h.weights[: h.noted[2]],
        )
    h.noted[0] = 0
    y, codes = sums_of(x, i, edges)
    sums = y.count[0]
    starts, z = features_of(x, codes, y, np.ones(sums))
    notes = Notes(edges, y.parts[:sums], starts, room(h.weights, len(z)))
    fill_weights(x, z, notes.weights)
    if edges.size <= len(h.edges) and len(z) <= len(h.weights) and 4 * sums <= len(h.parts):
        h.parts[: 4 * sums], h.starts[: sums + 1] = notes.parts.reshape(4 * sums), starts
        h.noted[0], h.noted[1], h.noted[2] = i + 1, sums, len(z)
    return notes
