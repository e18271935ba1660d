"""Alternating directions dual decomposition: the linear relaxation of factor graphs, one factor at a time.

Every factor f has a copy q_f of the variables' parts it links, that lies in the convex hull of its configurations, and the
copies are to agree with u. With s_v / d_v for the share of a part's score that each of its d_v copies gets:

    q_f = argmax  sum_v (s_v / d_v + lambda_fv) q_fv + s_p^T p_f - eta/2 ||q_f - u||^2      every factor alone
    u_v = mean of the q_fv;     lambda_fv -= eta (q_fv - u_v)

At any lambda that sums to zero over the copies of every part,  sum_f max_y (s_v / d_v + lambda_fv)^T y + s_p^T p  is an
upper bound on the best score (and on the relaxation's value, to which it converges). Where all maximisers agree they are
the best output, and there is no gap.

Martins, Figueiredo, Aguiar, Smith and Xing (2011; 2015, algorithm 2). The copies are over-relaxed before the step of u and
lambda, and eta is balanced between the two residuals (Boyd et al. 2011, sections 3.4.1 and 3.4.3).
"""

from __future__ import annotations

from math import inf, nan, sqrt
from typing import NamedTuple

import numpy as np

from structopt.kernels.active_set import Scratch, open_set, set_size, solve_quadratic
from structopt.kernels.automaton import row_start
from structopt.kernels.factor_kinds import first_width, linked_parts, local_max
from structopt.kernels.factors import AUTOMATON, BUDGET, EXACTLY_ONE, PAIRS, TABLE, TREE, open_factors, private_start
from structopt.kernels.projections import joint_mass, project_onto_budget, project_onto_sum, project_pair
from structopt.kernels.signatures import SOLVE, inlined, kernel
from structopt.kernels.target import product

RELAXATION = 1.5  # of the copies, towards what lies beyond them
BALANCED = 10  # passes between two looks at the bound and at eta
UNMOVED = 1e-12  # what the input of a factor may change by without being solved again
UNEVEN = 5.0  # ratio of the residuals at which eta is doubled or halved
SETTLED = 500  # passes after which eta stays, so that the copies converge
RANGE = 16.0  # how far eta may go from where it began


class Work(NamedTuple):
    """The work record, opened. C copies, P parts of variables, N parts, F factors in the largest instance.

    Attributes
    ----------
    passes : most passes over the factors
    exact : whether to branch until the best output is proved
    tolerance : root mean square of disagreement and movement of the copies at which the passes end; times eta where that
        is above the root mean square of the scores
    eta : first penalty, in units of the root mean square of the scores
    part : (C,) the part that each copy is of
    counts : (F,) configurations in the active sets
    fixed : (P,) parts that are fixed while branching, by depth
    state : (P,) at each depth: the value that is tried, plus 2 where it is the second
    multipliers, copies, asked : (C,) lambda, q, and the input that q answers
    share, degree, mean, sums : (P,) s_v / d_v, d_v, u, and sums over copies
    best : (N,) the best output while branching
    scores : (N,) scores in which parts are fixed
    sets, members : floats and ints of the active sets, one after the other
    scratch : of the quadratic problems and of `local_max`
    """

    passes: int
    exact: bool
    tolerance: float
    eta: float
    part: np.ndarray
    counts: np.ndarray
    fixed: np.ndarray
    state: np.ndarray
    multipliers: np.ndarray
    copies: np.ndarray
    asked: np.ndarray
    share: np.ndarray
    degree: np.ndarray
    mean: np.ndarray
    sums: np.ndarray
    best: np.ndarray
    scores: np.ndarray
    sets: np.ndarray
    members: np.ndarray
    scratch: Scratch


@inlined
def open_work(work):
    """Open the work record, packed by `structopt.inference.ad3`."""
    i, n, f, at = work.ints, work.longs, work.floats, work.at
    b = at[9:]
    scratch = Scratch(
        f[b[11] : b[12]], f[b[12] : b[13]], f[b[13] : b[14]], f[b[14] : b[15]], f[b[15] : b[16]], f[b[16] : b[17]],
        i[at[4] : at[5]],
    )  # fmt: skip
    return Work(
        n[at[6]], n[at[6] + 1] != 0, f[b[0]], f[b[0] + 1],
        i[at[0] : at[1]], n[at[7] : at[8]], i[at[1] : at[2]], i[at[2] : at[3]],
        f[b[1] : b[2]], f[b[2] : b[3]], f[b[3] : b[4]], f[b[4] : b[5]], f[b[5] : b[6]], f[b[6] : b[7]], f[b[7] : b[8]],
        f[b[8] : b[9]], f[b[9] : b[10]], f[b[10] : b[11]], i[at[3] : at[4]], scratch,
    )  # fmt: skip


@inlined
def gather(f, i, w):
    """List the part that each copy is of, and count the copies of each part; how many copies there are."""
    before, c = f.variables[i], 0
    w.degree[: f.shared[i]] = 0.0
    for link in range(f.links[f.factors[i]], f.links[f.factors[i + 1]]):
        v = before + f.linked[link]
        for part in range(f.starts[v], f.starts[v] + f.widths[v]):
            w.part[c] = part
            w.degree[part] += 1.0
            c += 1
    return c


@inlined
def divide(f, i, s, w, z):
    """Divide the scores among the copies; the value of the variables without factors, whose best states go to z."""
    value = 0.0
    for part in range(f.shared[i]):
        w.share[part] = s[part] / max(1.0, w.degree[part])
    for v in range(f.variables[i], f.variables[i + 1]):
        first, width = f.starts[v], f.widths[v]
        if w.degree[first] > 0.0:
            continue
        states = s[first : first + width]
        z[first : first + width] = 0.0
        best = np.argmax(states)
        if width > 1 or states[0] > 0.0:
            z[first + best] = 1.0
            value += states[best]
    return value


@inlined
def private_parts(f, i, factor):
    """First private part of a factor, and the one after its last."""
    first = private_start(f, i, factor)
    return first, first + f.privates[factor + 1] - f.privates[factor]


@inlined
def bound(f, i, s, w, z):
    """Upper bound of the factors at the present lambda, and whether their maximisers agree.

    Private parts of the maximisers go to z; w.sums counts the copies of each part that are on.
    """
    value, agreed, c, shared = 0.0, True, 0, f.shared[i]
    w.sums[:shared] = 0.0
    x = w.scratch
    for factor in range(f.factors[i], f.factors[i + 1]):
        k = linked_parts(f, i, factor)
        first, last = private_parts(f, i, factor)
        for r in range(k):
            x.residual[r] = w.share[w.part[c + r]] + w.multipliers[c + r]
        value += local_max(f, i, factor, x.residual[:k], s[first:last], x.vector[:k], z[first:last], x.floats, x.ints)
        if value == -inf:
            return value, False
        for r in range(k):
            w.sums[w.part[c + r]] += x.vector[r]
        c += k
    for part in range(shared):
        agreed = agreed and (w.sums[part] == 0.0 or w.sums[part] == w.degree[part])
    return value, agreed


@inlined
def solve_factor(f, i, factor, a, p, eta, slot, member, w, q):
    """Fill q with the best copy of one factor, a = u + (s / d + lambda) / eta."""
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
        solve_quadratic(f, i, factor, a, p, eta, x, w.scratch, q)


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
def uses_set(f, factor, k, p):
    """Whether a factor's problem is solved by an active set."""
    kind = f.kinds[factor]
    return kind in (TREE, AUTOMATON) or (kind == TABLE and not (k == 4 and np.isfinite(p).all()))


@inlined
def factor_pass(f, i, s, eta, again, w):
    """Solve the problem of every factor; those whose input has not moved keep their answer, unless `again`."""
    c, slot, member = 0, 0, 0
    for factor in range(f.factors[i], f.factors[i + 1]):
        k = linked_parts(f, i, factor)
        a, q = w.asked[c : c + k], w.copies[c : c + k]
        moved = again
        for r in range(k):
            part = w.part[c + r]
            wanted = w.mean[part] + (w.share[part] + w.multipliers[c + r]) / eta
            if wanted != a[r] and not abs(wanted - a[r]) <= UNMOVED:
                moved, a[r] = True, wanted
        first, last = private_parts(f, i, factor)
        if moved:
            solve_factor(f, i, factor, a, s[first:last], eta, slot, member, w, q)
        floats, ints = set_size(f.kinds[factor], k)
        c, slot, member = c + k, slot + floats, member + ints


@inlined
def step(f, i, copies, eta, w):
    """Move u to the mean of the over-relaxed copies, and lambda; root mean squares of disagreement and of movement."""
    shared, disagreement, movement = f.shared[i], 0.0, 0.0
    w.sums[:shared] = 0.0
    for c in range(copies):
        w.sums[w.part[c]] += w.copies[c]
    for c in range(copies):
        part = w.part[c]
        if w.share[part] > -inf:
            before, mean = w.mean[part], w.sums[part] / w.degree[part]
            w.multipliers[c] -= eta * RELAXATION * (w.copies[c] - mean)
            disagreement += (w.copies[c] - mean) ** 2
            movement += (mean - before) ** 2
    for part in range(shared):
        if w.degree[part] > 0.0:
            w.mean[part] += RELAXATION * (w.sums[part] / w.degree[part] - w.mean[part])
    size = max(1, copies)
    return sqrt(disagreement / size), sqrt(movement / size)


@inlined
def score_unit(s):
    """Root mean square of the scores, 1 where they are all 0."""
    total, count = 0.0, 0
    for r in range(len(s)):
        if s[r] > -inf:
            total, count = total + s[r] * s[r], count + 1
    return sqrt(total / count) if total > 0.0 else 1.0


@inlined
def balance(eta, first, disagreement, movement):
    """Double eta where the copies disagree much more than they move, halve it in the other case; up to RANGE times the first."""
    if disagreement > UNEVEN * movement:
        return min(2.0 * eta, RANGE * first)
    if movement > UNEVEN * disagreement:
        return max(eta / 2.0, first / RANGE)
    return eta


@inlined
def write_answer(f, i, s, w, z):
    """Write u, and the private parts: the best ones given u where these have a closed form, else the active set's."""
    c, slot, member = 0, 0, 0
    for part in range(f.shared[i]):
        if w.degree[part] > 0.0:
            z[part] = min(1.0, max(0.0, w.mean[part]))
    for factor in range(f.factors[i], f.factors[i + 1]):
        k = linked_parts(f, i, factor)
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
        c, slot, member = c + k, slot + floats, member + ints


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


@inlined
def relax(f, i, s, memory, worthless, w, z):
    """Upper bound on the best score under s, and whether z is the best output; the bound may stop at `worthless`.

    Where z is no output it is u, with private parts near a factor's own solution; where the bound is -inf, z is zero.
    """
    copies, shared = gather(f, i, w), f.shared[i]
    alone = divide(f, i, s, w, z)
    recalled = len(memory) > 0 and memory[len(memory) - 1] != 0.0
    w.multipliers[:copies] = 0.0
    if recalled:
        w.multipliers[:copies] = memory[:copies]
    w.counts[: f.factors[i + 1] - f.factors[i]] = 0
    value, agreed = bound(f, i, s, w, z)
    value += alone
    if value == -inf:
        z[:] = 0.0
        return value, False
    for part in range(shared):
        if w.degree[part] > 0.0:
            w.mean[part] = memory[copies + part] if recalled else w.sums[part] / w.degree[part]
    unit = score_unit(s)
    eta, again, t = w.eta * unit, True, 0
    while not agreed and value > worthless and t < w.passes:
        factor_pass(f, i, s, eta, again, w)
        disagreement, movement = step(f, i, copies, eta, w)
        again, t = False, t + 1
        done = max(disagreement, movement) * max(1.0, eta / unit) < w.tolerance  # a large eta hides that lambda still moves
        if done or t == w.passes or t % BALANCED == 0:
            lower, agreed = bound(f, i, s, w, z)
            value = min(value, lower + alone)
            if done:
                break
            before, eta = eta, balance(eta, w.eta * unit, disagreement, movement * eta / unit) if t <= SETTLED else eta
            again = eta != before
    if agreed:
        for part in range(shared):
            if w.degree[part] > 0.0:
                w.mean[part] = z[part] = 1.0 if w.sums[part] > 0.0 else 0.0
        value = product(z, s)
    else:
        write_answer(f, i, s, w, z)
    remember(copies, shared, w, memory)
    return value, agreed


@inlined
def remember(copies, shared, w, memory):
    """Keep lambda and u for the next visit."""
    if len(memory) > 0:
        memory[:copies] = w.multipliers[:copies]
        memory[copies : copies + shared] = w.mean[:shared]
        memory[copies + shared] = 1.0


@inlined
def complete_output(f, i, s, w, z):
    """Score of the output that u rounds to, -inf where it is none; its parts go to z."""
    c, x = 0, w.scratch
    for part in range(f.shared[i]):
        if w.degree[part] > 0.0:
            z[part] = 1.0 if w.mean[part] > 0.5 else 0.0
            if z[part] > 0.0 and s[part] == -inf:
                return -inf
    weight = 1.0
    for r in range(len(s)):
        if s[r] > -inf:
            weight += abs(s[r])
    for factor in range(f.factors[i], f.factors[i + 1]):
        k = linked_parts(f, i, factor)
        first, last = private_parts(f, i, factor)
        for r in range(k):
            x.residual[r] = weight if z[w.part[c + r]] > 0.0 else -weight
        value = local_max(f, i, factor, x.residual[:k], s[first:last], x.vector[:k], z[first:last], x.floats, x.ints)
        if value == -inf:
            return value
        for r in range(k):
            if x.vector[r] != z[w.part[c + r]]:
                return -inf
        c += k
    return product(z, s)


@inlined
def most_fractional(f, i, depth, w):
    """The part whose u is nearest to 1/2 among those that are not fixed yet; -1 where all are."""
    found, least = -1, inf
    for part in range(f.shared[i]):
        distance = abs(w.mean[part] - 0.5)
        if w.degree[part] > 0.0 and w.scores[part] > -inf and distance < least:
            free = True
            for j in range(depth):
                free = free and w.fixed[j] != part
            if free:
                found, least = part, distance
    return found


@inlined
def fix(s, w, depth, length, weight):
    """Scores at the first fixed parts: -inf for those that are off; those that are on get more than anything could cost.

    What they get too much is returned.
    """
    w.scores[:length] = s
    given = 0.0
    for j in range(depth):
        if w.state[j] % 2 == 1:
            w.scores[w.fixed[j]] += weight
            given += weight
        else:
            w.scores[w.fixed[j]] = -inf
    return given


@inlined
def branch(f, i, s, memory, w, z):
    """Depth-first branch and bound: the score of the best output, and its parts."""
    N = len(s)
    incumbent, depth, weight = -inf, 0, 1.0
    w.best[:N] = 0.0
    for r in range(N):
        if s[r] > -inf:
            weight += abs(s[r])
    while True:
        given = fix(s, w, depth, N, weight)
        slack = 1e-10 * max(1.0, abs(incumbent)) if incumbent > -inf else 0.0
        kept = memory[: len(memory) if depth == 0 else 0]
        value, agreed = relax(f, i, w.scores[:N], kept, incumbent + slack + given, w, z)
        part = -1
        if value - given > incumbent + slack:
            part = most_fractional(f, i, depth, w)
            output = product(z, s) if agreed else complete_output(f, i, s, w, z)
            if output > incumbent:
                incumbent = output
                w.best[:N] = z[:N]
            if agreed:
                part = -1
        if part >= 0:
            w.fixed[depth], w.state[depth] = part, 1 if w.mean[part] > 0.5 else 0
            depth += 1
            continue
        while depth > 0 and w.state[depth - 1] >= 2:
            depth -= 1
        if depth == 0:
            z[:N] = w.best[:N]
            return incumbent
        w.state[depth - 1] = 3 - w.state[depth - 1]


@kernel(SOLVE)
def solve(structure, i, s, temperature, z, memory, work):
    """Upper bound on max_z s^T z over the outputs of instance i; z is near the maximiser of the linear relaxation.

    Where z is integral it is the best output and the value its score; the option `exact` branches until it is. -inf and zero
    where a factor has no configuration left, nan at temperatures other than 0.
    """
    f, w = open_factors(structure), open_work(work)
    if temperature != 0.0:
        z[:] = nan
        return nan
    if w.exact:
        return branch(f, i, s, memory, w, z)
    return relax(f, i, s, memory, -inf, w, z)[0]
