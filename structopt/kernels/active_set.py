"""The quadratic problem of a factor that only its best configurations are known of, by an active set of them.

With the configurations y of a factor as 0/1 vectors over its linked parts, and c_y the score of the private parts of y:

    max_mu  a^T q + c^T mu / eta - ||q||^2 / 2,    q = sum_y mu_y y,    mu >= 0,  sum_y mu_y = 1

Few mu_y are above zero. The method keeps those configurations, solves for their weights as if all could have any sign,
walks there until a weight is zero, whose configuration goes, and once all are positive asks for the best configuration
under the scores a - q: it is added, or there is none better and q is the solution. Martins et al. (2015), section 6.
"""

from __future__ import annotations

from math import inf, sqrt
from typing import NamedTuple

import numpy as np

from structopt.kernels.factor_kinds import local_max
from structopt.kernels.factors import AUTOMATON, TABLE, TREE
from structopt.kernels.signatures import inlined

MOST = 256  # configurations that are kept of a factor
RIDGE = 1e-10  # keeps the system regular where configurations are affinely dependent


class ActiveSet(NamedTuple):
    """Configurations of a factor with k linked parts, N of them at most; they are kept between problems.

    Attributes
    ----------
    count : (1,) how many there are
    sizes : (N,) how many linked parts of each configuration are on
    members : (N * k,) which
    weights : (N,) mu
    values : (N,) c
    root : (N * N,) lower Cholesky factor of the matrix of y^T y' + 1, plus RIDGE on its diagonal; the 1, which changes
        nothing since the weights sum to one, makes it regular where configurations are affinely independent
    """

    count: np.ndarray
    sizes: np.ndarray
    members: np.ndarray
    weights: np.ndarray
    values: np.ndarray
    root: np.ndarray


class Scratch(NamedTuple):
    """Scratch of the method and of `local_max`: target and ones (N,), residual and vector (k,), private, floats, ints."""

    target: np.ndarray
    ones: np.ndarray
    residual: np.ndarray
    vector: np.ndarray
    private: np.ndarray
    floats: np.ndarray
    ints: np.ndarray


@inlined
def capacity(kind, k):
    """N: an affinely independent set has k + 1 at most, and one comes before another goes; 0 for kinds with closed forms."""
    return min(k + 2, MOST) if kind in (TREE, AUTOMATON, TABLE) else 0


@inlined
def set_size(kind, k):
    """Floats and ints of the active set of a factor."""
    N = capacity(kind, k)
    return N * (2 + N), N * (1 + k)


@inlined
def open_set(floats, ints, count, kind, k):
    """Open an active set that lies in the first floats and ints."""
    N = capacity(kind, k)
    return ActiveSet(count, ints[:N], ints[N : N + N * k], floats[:N], floats[N : 2 * N], floats[2 * N : 2 * N + N * N])


@inlined
def solve_system(x, count, b):
    """Replace b by the solution of the system with the factorised matrix."""
    N = len(x.weights)
    forward(x, count, b)
    for j in range(count - 1, -1, -1):
        b[j] /= x.root[j * N + j]
        for m in range(j):
            b[m] -= x.root[j * N + m] * b[j]


@inlined
def forward(x, count, b):
    """Replace b by the solution of the system with the Cholesky factor."""
    N = len(x.weights)
    for j in range(count):
        row, rest = x.root[j * N : j * N + j], b[j]
        for m in range(j):
            rest -= row[m] * b[m]
        b[j] = rest / x.root[j * N + j]


@inlined
def insert(x, vector, value):
    """Add a configuration with the weight 0, if need be in place of the one of least weight; False where it is there already."""
    N, k = len(x.weights), len(vector)
    if x.count[0] == N:
        remove(x, k, np.argmin(x.weights))
    count, size = x.count[0], 0
    for r in range(k):
        if vector[r] != 0.0:
            x.members[count * k + size] = r
            size += 1
    row = x.root[count * N : count * N + count]
    for j in range(count):
        common = 0.0
        for m in range(j * k, j * k + x.sizes[j]):
            common += vector[x.members[m]]
        if common == size and x.sizes[j] == size:
            return False
        row[j] = common + 1.0
    forward(x, count, row)
    rest = size + 1.0 + RIDGE
    for j in range(count):
        rest -= row[j] * row[j]
    x.root[count * N + count] = sqrt(max(rest, RIDGE))
    x.sizes[count], x.weights[count], x.values[count] = size, 0.0, value
    x.count[0] = count + 1
    return True


@inlined
def remove(x, k, gone):
    """Take out a configuration, and rotate the columns of the factor until it is triangular again."""
    N, count = len(x.weights), x.count[0] - 1
    root = x.root
    for j in range(gone, count):
        x.weights[j], x.values[j], x.sizes[j] = x.weights[j + 1], x.values[j + 1], x.sizes[j + 1]
        x.members[j * k : j * k + x.sizes[j]] = x.members[(j + 1) * k : (j + 1) * k + x.sizes[j]]
        root[j * N : j * N + j + 2] = root[(j + 1) * N : (j + 1) * N + j + 2]
    for j in range(gone, count):
        a, b = root[j * N + j], root[j * N + j + 1]
        length = sqrt(a * a + b * b)
        cosine, sine = a / length, b / length
        for row in range(j, count):
            a, b = root[row * N + j], root[row * N + j + 1]
            root[row * N + j], root[row * N + j + 1] = cosine * a + sine * b, cosine * b - sine * a
    x.count[0] = count


@inlined
def walk(x, k, a, eta, target, ones):
    """Move the weights to the best ones of the set, or until one is zero, and drop that; the multiplier, or inf if dropped.

    At the best weights of the set every configuration y in it has y^T(a - q) + c_y / eta = the multiplier.
    """
    count = x.count[0]
    for j in range(count):
        target[j], ones[j] = x.values[j] / eta, 1.0
        for m in range(j * k, j * k + x.sizes[j]):
            target[j] += a[x.members[m]]
    solve_system(x, count, target)
    solve_system(x, count, ones)
    mass, unit = 0.0, 0.0
    for j in range(count):
        mass, unit = mass + target[j], unit + ones[j]
    multiplier = (mass - 1.0) / unit
    step, blocking = 1.0, -1
    for j in range(count):
        target[j] -= multiplier * ones[j]
        if target[j] < 0.0 and x.weights[j] < step * (x.weights[j] - target[j]):
            step, blocking = x.weights[j] / (x.weights[j] - target[j]), j
    total = 0.0
    for j in range(count):
        x.weights[j] = 0.0 if j == blocking else max(0.0, x.weights[j] + step * (target[j] - x.weights[j]))
        total += x.weights[j]
    for j in range(count):
        x.weights[j] /= total
    if blocking >= 0:
        remove(x, k, blocking)
        return inf
    return multiplier + 1.0  # the 1 that the matrix has everywhere


@inlined
def combine(x, k, q):
    """q = sum_y mu_y y."""
    q[:] = 0.0
    for j in range(x.count[0]):
        for m in range(j * k, j * k + x.sizes[j]):
            q[x.members[m]] += x.weights[j]


@inlined
def private_score(p, private):
    """Score of the private parts of a configuration."""
    value = 0.0
    for r in range(len(p)):
        if private[r] != 0.0:
            value += p[r]
    return value


@inlined
def best_vertex(f, i, factor, p, w, k):
    """Score of the best configuration, written to w.vector and w.private: w.residual scores the linked parts, p the others."""
    return local_max(f, i, factor, w.residual[:k], p, w.vector[:k], w.private[: len(p)], w.floats, w.ints)


@inlined
def solve_quadratic(f, i, factor, a, p, eta, x, w, q):
    """Fill q with the solution for one factor that has an output: a of its linked parts, p the scores of its private parts."""
    k = len(a)
    if x.count[0] == 0:
        w.residual[:k] = eta * a
        best_vertex(f, i, factor, p, w, k)
        insert(x, w.vector[:k], private_score(p, w.private[: len(p)]))
        x.weights[0] = 1.0
    for _ in range(8 * MOST):
        multiplier = walk(x, k, a, eta, w.target, w.ones)
        if multiplier == inf:
            continue
        combine(x, k, q)
        for r in range(k):
            w.residual[r] = eta * (a[r] - q[r])
        value = best_vertex(f, i, factor, p, w, k) / eta
        if not value > multiplier + 1e-9 * max(1.0, abs(multiplier)):
            return
        if not insert(x, w.vector[:k], private_score(p, w.private[: len(p)])):
            return
    combine(x, k, q)
