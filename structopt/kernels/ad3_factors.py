"""The quadratic problems of dual decomposition, factor by factor, and the private parts that belong to u."""

from __future__ import annotations

from math import nan

import numpy as np

from structopt.kernels.active_set import open_set, set_size, solve_quadratic
from structopt.kernels.ad3_work import copies_of, private_parts
from structopt.kernels.automaton import row_start
from structopt.kernels.factor_kinds import first_width
from structopt.kernels.factors import AUTOMATON, BUDGET, EXACTLY_ONE, PAIRS, TABLE, TREE
from structopt.kernels.projections import joint_mass, project_onto_budget, project_onto_sum, project_pair
from structopt.kernels.signatures import inlined

UNMOVED = 0.01  # times the tolerance: what the input of a factor may change by without being solved again


@inlined
def solve_factor(f, i, factor, a, p, eta, slot, member, w, q):
    """Fill q with the best copy of one factor, a = u + (s / d + lambda) / eta; whether it is the best already."""
    kind, k, number = f.kinds[factor], len(a), factor - f.factors[i]
    if kind == EXACTLY_ONE:
        project_onto_sum(a, 1.0, q)
    elif kind == BUDGET:
        project_onto_budget(a, float(f.extra[f.extras[factor]]), q)
    elif kind == PAIRS:
        for r in range(len(p)):
            q[2 * r], q[2 * r + 1] = project_pair(a[2 * r], a[2 * r + 1], p[r] / eta)
    elif kind == TABLE and k == 4 and np.isfinite(p).all():
        project_small_table(a, p, eta, q)
    else:
        x = open_set(w.sets[slot:], w.members[member:], w.counts[number : number + 1], kind, k)
        return solve_quadratic(f, i, factor, a, p, eta, x, w.scratch, q)
    return True


@inlined
def project_small_table(a, p, eta, q):
    """Two variables of two states are a pair of binary ones, on in their first states; every square counts twice."""
    x, y = project_pair(
        (a[0] - a[1] + 1.0 + (p[1] - p[3]) / eta) / 2,
        (a[2] - a[3] + 1.0 + (p[2] - p[3]) / eta) / 2,
        (p[0] - p[1] - p[2] + p[3]) / (2 * eta),
    )
    q[0], q[1], q[2], q[3] = x, 1.0 - x, y, 1.0 - y


@inlined
def factor_pass(f, i, s, eta, again, w):
    """Solve the problem of every factor; those whose input has not moved keep their answer, unless `again`.

    Returns whether all are solved; others go on in the next pass.
    """
    slot, member, solved, unmoved = 0, 0, True, UNMOVED * w.tolerance
    for factor in range(f.factors[i], f.factors[i + 1]):
        c, k = copies_of(f, i, factor, w)
        a, q = w.asked[c : c + k], w.copies[c : c + k]
        moved = again
        for r in range(k):
            part = w.part[c + r]
            wanted = w.mean[part] + (w.share[part] + w.multipliers[c + r]) / eta
            if wanted != a[r] and not abs(wanted - a[r]) <= unmoved:
                moved, a[r] = True, wanted
        first, last = private_parts(f, i, factor)
        if moved and not solve_factor(f, i, factor, a, s[first:last], eta, slot, member, w, q):
            solved, a[0] = False, nan  # the next pass finds it moved
        floats, ints = set_size(f.kinds[factor], k)
        slot, member = slot + floats, member + ints
    return solved


@inlined
def uses_set(f, factor, k, p):
    """Whether a factor's problem is solved by an active set."""
    kind = f.kinds[factor]
    return kind in (TREE, AUTOMATON) or (kind == TABLE and not (k == 4 and np.isfinite(p).all()))


@inlined
def write_answer(f, i, s, w, z):
    """Write u, and the private parts: the best ones given u where these have a closed form, else the active set's."""
    slot, member = 0, 0
    for part in range(f.shared[i]):
        if w.degree[part] > 0.0:
            z[part] = min(1.0, max(0.0, w.mean[part]))
    for factor in range(f.factors[i], f.factors[i + 1]):
        c, k = copies_of(f, i, factor, w)
        first, last = private_parts(f, i, factor)
        p, private = s[first:last], z[first:last]
        if f.kinds[factor] == PAIRS:
            for r in range(len(p)):
                private[r] = joint_mass(z[w.part[c + 2 * r]], z[w.part[c + 2 * r + 1]], p[r])
        elif uses_set(f, factor, k, p):
            x = open_set(w.sets[slot:], w.members[member:], w.counts[factor - f.factors[i] :], f.kinds[factor], k)
            private[:] = 0.0
            for j in range(x.count[0]):
                add_private(f, i, factor, x.members[j * k : j * k + x.sizes[j]], k, x.weights[j], private)
        elif f.kinds[factor] == TABLE:
            on, also = z[w.part[c]], z[w.part[c + 2]]
            private[0] = joint_mass(on, also, p[0] - p[1] - p[2] + p[3])
            private[1], private[2] = on - private[0], also - private[0]
            private[3] = 1.0 - on - also + private[0]
        floats, ints = set_size(f.kinds[factor], k)
        slot, member = slot + floats, member + ints


@inlined
def add_private(f, i, factor, on, k, weight, private):
    """Add the private parts of a configuration of k linked parts, given which are on, times its weight."""
    if f.kinds[factor] == AUTOMATON:
        before = 0
        for j in on:
            private[row_start(k, before) + j + 1] += weight
            before = j + 1
        private[row_start(k, before) + k + 1] += weight
    elif f.kinds[factor] == TABLE:
        K = first_width(f, i, factor)
        private[on[0] * (k - K) + on[1] - K] += weight
