"""The quadratic problems of dual decomposition, factor by factor, and the private parts that belong
to u.
"""

from __future__ import annotations

from math import nan

from structopt.kernels.ad3 import configuration_set
from structopt.kernels.ad3.active_set import solve_quadratic
from structopt.kernels.ad3.configuration_set import open_set
from structopt.kernels.ad3.projections import (
    joint_mass,
    project_onto_budget,
    project_onto_sum,
    project_pair,
    project_small_table,
    small_table_masses,
)
from structopt.kernels.ad3.table_active_set import solve_table, table_capacity, table_size
from structopt.kernels.ad3.work import copies_of, private_parts
from structopt.kernels.loopy.factors import (
    AUTOMATON,
    BUDGET,
    EXACTLY_ONE,
    FIRST_OPEN,
    PAIRS,
    TABLE,
    TREE,
    extra_numbers,
    first_width,
)
from structopt.kernels.loopy.kinds.automaton import row_start
from structopt.kernels.loopy.open_kinds import extend, open_project, projects
from structopt.kernels.waist.signatures import inlined

# times the tolerance: what the input of a factor may change by without being solved again
UNMOVED = 0.01


@inlined
def set_size(kind, k):
    """Floats and ints of the set of configurations that is kept for a factor of k linked parts;
    none for closed forms.
    """
    if kind == TABLE:
        return table_size(k) if k > 4 else (0, 0)
    return configuration_set.set_size(kind, k)


@inlined
def kept_size(kind, k):
    """Length of a scratch vector that the solution of such a factor needs."""
    return table_capacity(k) + 1 if kind == TABLE else configuration_set.capacity(kind, k)


@inlined
def solve_factor(f, i, factor, a, p, eta, slot, member, w, q):
    """Fill q with the best copy of a factor that is no table, a = u + (s / d + lambda) / eta;
    whether it is the best.
    """
    kind, k, number = f.kinds[factor], len(a), factor - f.factors[i]
    if kind == EXACTLY_ONE:
        project_onto_sum(a, 1.0, q)
    elif kind == BUDGET:
        project_onto_budget(a, float(f.extra[f.extras[factor]]), q)
    elif kind == PAIRS:
        inverse = 1.0 / eta
        for r in range(len(p)):
            q[2 * r], q[2 * r + 1] = project_pair(a[2 * r], a[2 * r + 1], p[r] * inverse)
    elif projects(kind):
        x = w.scratch
        open_project(
            kind, extra_numbers(f, factor), a, p, eta, q, x.private[: len(p)], x.floats, x.ints
        )
    else:
        x = open_set(w.sets[slot:], w.members[member:], w.counts[number : number + 1], kind, k)
        return solve_quadratic(f, i, factor, a, p, eta, x, w.scratch, q)
    return True


@inlined
def update_inputs(first, last, part, mean, share, multipliers, inverse, unmoved, again, inputs):
    """Update the inputs of the copies of one factor; return whether any has moved, or all count as
    moved (`again`).

    Inputs that have hardly moved stay as they were.
    """
    moved = again
    for c in range(first, last):
        r, before = part[c], inputs[c]
        target = mean[r] + (share[r] + multipliers[c]) * inverse
        far = again | ((target != before) & (not abs(target - before) <= unmoved))
        inputs[c] = target if far else before
        moved |= far
    return moved


@inlined
def factor_pass(f, i, s, eta, again, w):
    """Solve the problem of every factor; those whose input has not moved keep their copies, unless
    `again`.

    Returns whether all are solved; others go on in the next pass. The solution of tables, of which
    there are many small ones, is given the arrays it reads: a call with all the arrays of f and w,
    or a view of them, costs more.
    """
    part, mean, share, multipliers, inputs, copies, begins = (
        w.part,
        w.mean,
        w.share,
        w.multipliers,
        w.inputs,
        w.copies,
        w.begins,
    )
    kinds, sets, members, counts, scratch = f.kinds, w.sets, w.members, w.counts, w.scratch
    slot, member, solved, unmoved, inverse = 0, 0, True, UNMOVED * w.tolerance, 1.0 / eta
    begin, private = f.factors[i], f.shared[i] - f.privates[f.factors[i]]
    for factor in range(begin, f.factors[i + 1]):
        c, end, kind = begins[factor - begin], begins[factor - begin + 1], kinds[factor]
        k, first, done = end - c, private + f.privates[factor], True
        if update_inputs(c, end, part, mean, share, multipliers, inverse, unmoved, again, inputs):
            if kind != TABLE:
                p = s[first : private + f.privates[factor + 1]]
                done = solve_factor(
                    f, i, factor, inputs[c:end], p, eta, slot, member, w, copies[c:end]
                )
            elif k == 4:
                project_small_table(inputs, c, s, first, eta, copies)
            else:
                K = first_width(f, i, factor)
                done = solve_table(
                    inputs,
                    c,
                    s,
                    first,
                    K,
                    k - K,
                    eta,
                    sets,
                    slot,
                    members,
                    member,
                    counts,
                    factor - begin,
                    scratch,
                    copies,
                )
            if not done:
                solved, inputs[c] = False, nan  # the next pass finds it moved
        floats, ints = set_size(kind, k)
        slot, member = slot + floats, member + ints
    return solved


@inlined
def write_answer(f, i, s, eta, w, z):
    """Write u, and the private parts: the best ones at u where these have a closed form, else those
    of the factor's copy.
    """
    slot, member = 0, 0
    for part in range(f.shared[i]):
        if w.degree[part] > 0.0:
            z[part] = min(1.0, max(0.0, w.mean[part]))
    for factor in range(f.factors[i], f.factors[i + 1]):
        c, k = copies_of(f, i, factor, w)
        first, last = private_parts(f, i, factor)
        kind, number = f.kinds[factor], factor - f.factors[i]
        p, private = s[first:last], z[first:last]
        if kind == PAIRS:
            for r in range(len(p)):
                private[r] = joint_mass(z[w.part[c + 2 * r]], z[w.part[c + 2 * r + 1]], p[r])
        elif kind == TABLE and k == 4:
            small_table_masses(z[w.part[c]], z[w.part[c + 2]], s, first, z)
        elif kind == TABLE:
            L = k - first_width(f, i, factor)
            private[:] = 0.0
            for j in range(w.counts[number]):
                private[w.members[member + 2 * j] * L + w.members[member + 2 * j + 1]] = w.sets[
                    slot + j
                ]
        elif kind in (TREE, AUTOMATON):
            x = open_set(w.sets[slot:], w.members[member:], w.counts[number : number + 1], kind, k)
            private[:] = 0.0
            if kind == AUTOMATON:
                for j in range(x.count[0]):
                    add_path(x.members[j * k : j * k + x.sizes[j]], k, x.weights[j], private)
        elif projects(kind):
            x, extra = w.scratch, extra_numbers(f, factor)
            open_project(
                kind, extra, w.inputs[c : c + k], p, eta, x.vector[:k], private, x.floats, x.ints
            )
        elif kind >= FIRST_OPEN:
            x = open_set(w.sets[slot:], w.members[member:], w.counts[number : number + 1], kind, k)
            average_private(kind, extra_numbers(f, factor), x, k, w.scratch, private)
        floats, ints = set_size(kind, k)
        slot, member = slot + floats, member + ints


@inlined
def average_private(kind, extra, x, k, scratch, private):
    """Average the private parts of the configurations in a set, for a kind that the core does not
    know.
    """
    states, indicators = scratch.vector[:k], scratch.private[: len(private)]
    private[:] = 0.0
    for j in range(x.count[0]):
        states[:] = 0.0
        for m in range(j * k, j * k + x.sizes[j]):
            states[x.members[m]] = 1.0
        extend(kind, extra, states, indicators)
        for r in range(len(indicators)):
            private[r] += x.weights[j] * indicators[r]


@inlined
def add_path(on, k, weight, private):
    """Add `weight` to the private parts of an AUTOMATON factor's configuration, whose linked parts
    `on`, of k, are on.
    """
    before = 0
    for j in on:
        private[row_start(k, before) + j + 1] += weight
        before = j + 1
    private[row_start(k, before) + k + 1] += weight
