"""The set of configurations that an active-set method keeps of a factor, with a Cholesky factor of
their inner products.

`structopt.kernels.ad3.active_set` has the equations.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from structopt.kernels.arrays.rows import product
from structopt.kernels.loopy.factors import AUTOMATON, FIRST_OPEN, TREE
from structopt.kernels.loopy.open_kinds import projects
from structopt.kernels.waist.fields import Floats, Ints
from structopt.kernels.waist.signatures import inlined, merged
from structopt.kernels.waist.views import part

MOST = 256  # configurations that are kept of a factor
RIDGE = 1e-10  # keeps the system regular where configurations are affinely dependent


class ActiveSet(NamedTuple):
    """Configurations of a factor with k linked parts, N of them at most; they are kept between
    problems.

    Attributes
    ----------
    count : (1,) how many there are
    sizes : (N,) how many linked parts of each configuration are on
    members : (N * k,) which
    weights : (N,) mu
    values : (N,) c
    ones : (N,) L^-1 1, see root
    root : (N * N,) lower Cholesky factor L of the matrix of y^T y' + 1, plus RIDGE on its diagonal;
    the 1, which changes
        nothing since the weights sum to one, makes it regular where configurations are affinely
        independent
    """

    count: np.ndarray
    sizes: np.ndarray
    members: np.ndarray
    weights: np.ndarray
    values: np.ndarray
    ones: np.ndarray
    root: np.ndarray


class Scratch(NamedTuple):
    """Scratch of the method and of `local_max`.

    Attributes
    ----------
    image : (N,) L^-1 of the vector of a^T y + c_y / eta
    target, sines : (N,) the weights to walk to; cosines and sines of rotations
    residual, vector : (k,) scores of the linked parts, and a configuration
    tops, places : (k,) of a table: the best of each column, and where it is
    private, floats, ints : its private parts, and scratch of `local_max`
    """

    image: Floats
    target: Floats
    sines: Floats
    residual: Floats
    vector: Floats
    tops: Floats
    places: Ints
    private: Floats
    floats: Floats
    ints: Ints


@inlined
def capacity(kind, k):
    """N: an affinely independent set has k + 1 at most, and one comes before another goes; 0 for
    other kinds.
    """
    return (
        min(k + 2, MOST)
        if kind in (TREE, AUTOMATON) or (kind >= FIRST_OPEN and not projects(kind))
        else 0
    )


@inlined
def set_size(kind, k):
    """Floats and ints of the active set of a factor."""
    N = capacity(kind, k)
    return N * (3 + N), N * (1 + k)


@inlined
def open_set(floats, ints, count, kind, k):
    """Open an active set that lies in the first floats and ints."""
    N = capacity(kind, k)
    return ActiveSet(
        count,
        ints[:N],
        ints[N : N + N * k],
        floats[:N],
        floats[N : 2 * N],
        floats[2 * N : 3 * N],
        floats[3 * N : 3 * N + N * N],
    )


@merged
def forward(x, count, b):
    """Replace b by L^-1 b."""
    N = len(x.weights)
    for j in range(count):
        b[j] = (b[j] - product(part(x.root, j * N, j * N + j), part(b, 0, j))) / x.root[j * N + j]


@merged
def backward(x, count, b):
    """Replace b by L^-T b."""
    N = len(x.weights)
    for j in range(count - 1, -1, -1):
        row = part(x.root, j * N, j * N + j)
        b[j] /= x.root[j * N + j]
        share = b[j]
        for m in range(j):
            b[m] -= row[m] * share


@merged
def aim(x, j, k, a, eta):
    """a^T y + c_y / eta of configuration j."""
    total = x.values[j] / eta
    for m in range(j * k, j * k + x.sizes[j]):
        total += a[x.members[m]]
    return total


@inlined
def insert(x, a, eta, value, w):
    """Add the configuration w.vector with the weight 0, if need be in place of the one of least
    weight.

    Returns False where it is there already. O(N^2 + N size).
    """
    N, k = len(x.weights), len(a)
    vector = w.vector[:k]
    if x.count[0] == N:
        remove(x, k, np.argmin(x.weights), w)
    count, size = x.count[0], 0
    for r in range(k):
        if vector[r] != 0.0:
            x.members[count * k + size] = r
            size += 1
    row = x.root[count * N : count * N + count]
    for j in range(count):
        common = 0
        for m in range(j * k, j * k + x.sizes[j]):
            common += vector[x.members[m]] != 0.0
        if common == size and x.sizes[j] == size:
            return False
        row[j] = common + 1.0
    forward(x, count, row)
    x.sizes[count], x.weights[count], x.values[count] = size, 0.0, value
    rest, one, image = size + 1.0 + RIDGE, 1.0, aim(x, count, k, a, eta)
    for j in range(count):
        rest -= row[j] * row[j]
        one -= row[j] * x.ones[j]
        image -= row[j] * w.image[j]
    pivot = sqrt(max(rest, RIDGE))
    x.root[count * N + count], x.ones[count], w.image[count] = pivot, one / pivot, image / pivot
    x.count[0] = count + 1
    return True


@inlined
def remove(x, k, gone, w):
    """Take out a configuration, and rotate neighbouring columns of L until it is triangular again;
    O(N^2).
    """
    N, count = len(x.weights), x.count[0] - 1
    cosines, sines = w.target, w.sines
    for row in range(gone, count):
        x.weights[row], x.values[row], x.sizes[row] = (
            x.weights[row + 1],
            x.values[row + 1],
            x.sizes[row + 1],
        )
        x.members[row * k : row * k + x.sizes[row]] = x.members[
            (row + 1) * k : (row + 1) * k + x.sizes[row]
        ]
        old, new = x.root[(row + 1) * N : (row + 2) * N], x.root[row * N : (row + 1) * N]
        new[:gone] = old[:gone]
        left = old[gone]
        for j in range(gone, row):
            new[j], left = (
                cosines[j] * left + sines[j] * old[j + 1],
                cosines[j] * old[j + 1] - sines[j] * left,
            )
        length = sqrt(left * left + old[row + 1] * old[row + 1])
        cosines[row], sines[row], new[row] = left / length, old[row + 1] / length, length
    for vector in (x.ones, w.image):
        for j in range(gone, count):
            a, b = vector[j], vector[j + 1]
            vector[j], vector[j + 1] = cosines[j] * a + sines[j] * b, cosines[j] * b - sines[j] * a
    x.count[0] = count
