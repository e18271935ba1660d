"""Dense attributes: numbers that every position has, of the rows of matrices.

They are those of blocks, behind the other attributes of a group. A block keeps a matrix M of single
precision, and of every position the rows of M that are its numbers, K of them one after the other
(-1: zeros), so that

    s[p, :] += sum_k M[slots[p, k], :] W_g[first + k D : first + (k + 1) D, :]

All dense attributes of a group are touched where any position of it has a residual.
"""

from __future__ import annotations

import numpy as np

from structopt.kernels.arrays.rows import add_row, product, set_row
from structopt.kernels.features.attributes.record import large
from structopt.kernels.waist.signatures import inlined

TOGETHER = 64  # positions of an instance whose dense attributes are multiplied at a time


@inlined
def matrix_of(x, b):
    """View the matrix of block b."""
    D, begin = x.blocks[b, 1], x.blocks[b, 4]
    end = x.blocks[b + 1, 4] if b + 1 < len(x.blocks) else len(x.bits)
    return x.bits[begin:end].view(np.float32).reshape((-1, D))


@inlined
def gather_numbers(x, b, M, position, row):
    """Fill a row with the numbers of block b at a position, zeros where it has none."""
    D, K, start = x.blocks[b, 1], x.blocks[b, 2], x.blocks[b, 3]
    for k in range(K):
        r, out = x.slots[start + position * K + k], row[k * D : (k + 1) * D]
        if r < 0:
            out[:] = 0.0
        else:
            values = M[r]
            for d in range(D):
                out[d] = values[d]


@inlined
def add_dense_scores(x, t, first, S, W):
    """Add the scores by the dense attributes of table t to the rows S of its positions, of which
    `first` is the first.
    """
    for b in range(x.dense[t], x.dense[t + 1]):
        M, size = matrix_of(x, b), x.blocks[b, 1] * x.blocks[b, 2]
        V = W[x.blocks[b, 0] : x.blocks[b, 0] + size]
        X = np.empty((min(len(S), TOGETHER), size))
        for begin in range(0, len(S), TOGETHER):
            count = min(len(S) - begin, TOGETHER)
            for p in range(count):
                gather_numbers(x, b, M, first + begin + p, X[p])
            scores = np.dot(X[:count], V)
            for p in range(count):
                add_row(S[begin + p], scores[p])


@inlined
def add_dense_gradient(x, b, first, R, G):
    """Add to G, a row an attribute of block b, what it has of the residuals R of some positions;
    `first` is the first.
    """
    M, size, width = matrix_of(x, b), x.blocks[b, 1] * x.blocks[b, 2], R.shape[1]
    most, count = min(len(R), TOGETHER), 0
    X, Q = np.empty((most, size)), np.empty((most, width))
    for p in range(len(R)):
        if large(R[p]):
            gather_numbers(x, b, M, first + p, X[count])
            set_row(Q[count], R[p])
            count += 1
        if count == most or (p + 1 == len(R) and count > 0):
            gradient = np.dot(X[:count].T, Q[:count])
            for d in range(size):
                add_row(G[d], gradient[d])
            count = 0


@inlined
def close_dense(x, t, first, R, touched, chosen, G):
    """Add the rows of the dense attributes of table t, which all may move; return how many rows
    there are, and their squares.
    """
    norm = 0.0
    for b in range(x.dense[t], x.dense[t + 1]):
        size = x.blocks[b, 1] * x.blocks[b, 2]
        for d in range(size):
            chosen[touched + d] = x.blocks[b, 0] + d
        block = G[touched : touched + size]
        block[:] = 0.0
        add_dense_gradient(x, b, first, R, block)
        for d in range(size):
            norm += product(block[d], block[d])
        touched += size
    return touched, norm
