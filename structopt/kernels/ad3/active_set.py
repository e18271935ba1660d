"""The quadratic problem of a factor of which only best configurations can be computed, by an active
set of them.

With the configurations y of a factor as 0/1 vectors over its linked parts, and c_y the score of the
private parts of y:

    max_mu  a^T q + c^T mu / eta - ||q||^2 / 2,    q = sum_y mu_y y,    mu >= 0,  sum_y mu_y = 1

Few mu_y are above zero. The method keeps those configurations, solves for their weights as if all
could have any sign, walks there until a weight is zero, whose configuration goes, and once all are
positive asks for the best configuration under the scores a - q: it is added, or there is none
better and q is the solution. Martins et al. (2015), section 6. A visit makes few such steps, each
O(N^2) for N configurations: the next one, whose a is near, goes on from the set.
"""

from __future__ import annotations

from math import inf

from structopt.kernels.ad3.configuration_set import aim, backward, forward, insert, remove
from structopt.kernels.loopy.factors import AUTOMATON, TREE, extra_numbers
from structopt.kernels.loopy.kinds.automaton import automaton_max
from structopt.kernels.loopy.kinds.tree import tree_max
from structopt.kernels.loopy.open_kinds import open_max
from structopt.kernels.waist.signatures import inlined, merged
from structopt.kernels.waist.views import part

CALLS = 4  # best configurations that one visit computes
STEPS = 20  # walks of one visit


@merged
def walk(x, k, w):
    """Move the weights to the best ones of the set, or until one is zero, and drop that; the
    multiplier, or inf if dropped.

    At the best weights of the set every configuration y in it has y^T(a - q) + c_y / eta = the
    multiplier.
    """
    count, target = x.count[0], w.target
    mass, unit = 0.0, 0.0
    for j in range(count):
        mass, unit = mass + w.image[j] * x.ones[j], unit + x.ones[j] * x.ones[j]
    multiplier = (mass - 1.0) / unit
    for j in range(count):
        target[j] = w.image[j] - multiplier * x.ones[j]
    backward(x, count, target)
    step, blocking = 1.0, -1
    for j in range(count):
        if target[j] < 0.0 and x.weights[j] < step * (x.weights[j] - target[j]):
            step, blocking = x.weights[j] / (x.weights[j] - target[j]), j
    total = 0.0
    for j in range(count):
        x.weights[j] = (
            0.0 if j == blocking else max(0.0, x.weights[j] + step * (target[j] - x.weights[j]))
        )
        total += x.weights[j]
    for j in range(count):
        x.weights[j] /= total
    if blocking >= 0:
        remove(x, k, blocking, w)
        return inf
    return multiplier + 1.0  # the 1 that the matrix has everywhere


@merged
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
def best_vertex(kind, extra, s, p, out, private, floats, ints):
    """Score of the best configuration of a factor without a closed form; its indicators go to `out`
    and `private`.
    """
    out[:] = 0.0
    private[:] = 0.0
    if kind == TREE:
        return tree_max(extra, s, out, floats, ints)
    if kind == AUTOMATON:
        return automaton_max(s, p, out, private, floats, ints)
    return open_max(kind, extra, s, p, out, private, floats, ints)


@inlined
def solve_quadratic(f, i, factor, a, p, eta, x, w, q):
    """Fill q with the solution for one factor that has an output: a of its linked parts, p the
    scores of its private parts.

    Returns False where CALLS or STEPS ended the visit before: q is then the best so far, and the
    next visit goes on from it.
    """
    k, calls, kind, extra = len(a), 0, f.kinds[factor], extra_numbers(f, factor)
    residual, vertex, private = (
        part(w.residual, 0, k),
        part(w.vector, 0, k),
        part(w.private, 0, len(p)),
    )
    floats, ints = w.floats, w.ints
    for j in range(x.count[0]):
        w.image[j] = aim(x, j, k, a, eta)
    forward(x, x.count[0], w.image)
    if x.count[0] == 0:
        for r in range(k):
            residual[r] = eta * a[r]
        best_vertex(kind, extra, residual, p, vertex, private, floats, ints)
        insert(x, a, eta, private_score(p, private), w)
        x.weights[0] = 1.0
    for _ in range(STEPS):
        multiplier = walk(x, k, w)
        if multiplier == inf:
            continue
        combine(x, k, q)
        if calls == CALLS:
            return False
        calls += 1
        for r in range(k):
            residual[r] = eta * (a[r] - q[r])
        value = best_vertex(kind, extra, residual, p, vertex, private, floats, ints) / eta
        if not value > multiplier + 1e-9 * max(1.0, abs(multiplier)):
            return True
        if not insert(x, a, eta, private_score(p, private), w):
            return True
    combine(x, k, q)
    return False
