"""Compiled loops of the scores of anchored rules: every anchor's hidden vector is made once, and
never leaves the cache.

A batch is some sentences of a corpus: `instances` are their numbers, `firsts` where their places
begin among those of the batch, and `outs` where their parts begin among those of the batch. The
corpus is as `structopt_torch.span_corpus.Anchors` has it. X are the three summands of the hidden
vectors at every place, shape (places, 3, units), W the output vectors of the rows, shape (rows,
units), and c their constants. One thread, and sums in one order: the same bits every time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from structopt.plugin.kernels import INTS, LONGS, kernel

PLACES = types.int32[:, ::1]


def _signature(number: Any, *more: Any) -> Any:
    """The arguments of both kernels: the batch, the corpus, X and W; and further ones."""
    return types.void(
        LONGS,
        LONGS,
        LONGS,
        LONGS,
        PLACES,
        LONGS,
        INTS,
        INTS,
        number[:, :, ::1],
        number[:, ::1],
        *more,
    )


def _score_signature(number: Any) -> Any:
    return _signature(number, number[::1], number[::1])


def _slope_signature(number: Any) -> Any:
    return _signature(number, number[::1], number[:, :, ::1], number[:, ::1], number[::1])


@kernel
def hidden(X, begin, end, split, h):
    """h = relu(X[begin, 0] + X[end, 1] + X[split, 2]), without the last where the split is
    negative.
    """
    x, y = X[begin, 0], X[end, 1]
    if split >= 0:
        z = X[split, 2]
        for j in range(len(h)):
            h[j] = max(x[j] + y[j] + z[j], 0)
    else:
        for j in range(len(h)):
            h[j] = max(x[j] + y[j], 0)


@kernel([_score_signature(types.float32), _score_signature(types.float64)])
def score_parts(instances, firsts, outs, anchors, places, starts, rows, parts, X, W, c, s):
    """Fill in the scores of edges: s[part] = W[row] h + c[row]."""
    h = np.empty(X.shape[2], X.dtype)
    for q in range(len(instances)):
        first, out = firsts[q], outs[q]
        for a in range(anchors[instances[q]], anchors[instances[q] + 1]):
            split = np.int64(places[a, 2])
            hidden(
                X,
                first + places[a, 0],
                first + places[a, 1],
                first + split if split >= 0 else split,
                h,
            )
            for p in range(starts[a], starts[a + 1]):
                s[out + parts[p]] = np.dot(W[rows[p]], h) + c[rows[p]]


@kernel([_slope_signature(types.float32), _slope_signature(types.float64)])
def slope_of_parts(
    instances, firsts, outs, anchors, places, starts, rows, parts, X, W, r, dX, dW, dc
):
    """Add the slope of r^T s by X, W and c to dX, dW and dc; anchors whose residuals are all zero
    cost nothing.
    """
    h, dh = np.empty(X.shape[2], X.dtype), np.empty(X.shape[2], X.dtype)
    for q in range(len(instances)):
        first, out = firsts[q], outs[q]
        for a in range(anchors[instances[q]], anchors[instances[q] + 1]):
            at, end = starts[a], starts[a + 1]
            while at < end and r[out + parts[at]] == 0:
                at += 1
            if at == end:
                continue
            begin, last, split = first + places[a, 0], first + places[a, 1], np.int64(places[a, 2])
            split = first + split if split >= 0 else split
            hidden(X, begin, last, split, h)
            dh[:] = 0
            for p in range(at, end):
                amount, row = r[out + parts[p]], rows[p]
                if amount != 0:
                    w, dw = W[row], dW[row]
                    dc[row] += amount
                    for j in range(len(h)):
                        dh[j] += amount * w[j]
                        dw[j] += amount * h[j]
            x, y = dX[begin, 0], dX[last, 1]
            for j in range(len(h)):
                if h[j] <= 0:
                    dh[j] = 0
                x[j] += dh[j]
                y[j] += dh[j]
            if split >= 0:
                z = dX[split, 2]
                for j in range(len(h)):
                    z[j] += dh[j]
