"""What one factor of each kind does: its best configuration, its log-partition function, and its marginals.

Both functions see a factor alone. It is given scores s of the parts of its linked variables, one after the other in the
order of its links, and scores p of its private parts; a configuration y scores the sum over its parts, and scores of -inf
forbid it. What they find goes to `out` and `private_out`, which have the shapes of s and p:

    local_max(f, i, factor, s, p, out, private_out, floats, ints)        max_y s(y) + p(y); the indicators of a maximiser
    local_marginals(f, i, factor, s, p, out, private_out, floats, ints)  log sum_y exp(s(y) + p(y)); the marginals

They return -inf and write zeros where no configuration is allowed. At temperature T, call `local_marginals` with s / T and
p / T and multiply the value by T. `f` is the record of instance i, opened (`structopt.kernels.loopy.factors.open_factors`);
`factor` counts over all instances; `scratch_sizes` tells how long the scratch vectors must be for any factor of a record.

Costs: TREE O(n^3), its best tree O(n^2) where it need not be projective; AUTOMATON O(k^2); BUDGET O(k B); the others linear
in their parts. PAIRS are many independent factors in one row: s and `out` hold two entries a pair, so that a variable which
several of them share stands there several times, and the value is the sum over the pairs. Kinds that do not stand here are
looked up (`structopt.kernels.loopy.open_kinds`).
"""

from __future__ import annotations

from math import exp, inf, log

import numpy as np

from structopt.kernels.chain.any_order import log_add
from structopt.kernels.loopy.automaton import automaton_marginals, automaton_max, row_start
from structopt.kernels.loopy.factors import AUTOMATON, BUDGET, EXACTLY_ONE, FACTORS, FIRST_OPEN, PAIRS, TABLE, TREE, private_start
from structopt.kernels.loopy.open_kinds import extend, open_marginals, open_max, states_of
from structopt.kernels.trees import arborescence, projective
from structopt.kernels.waist.record import Record
from structopt.kernels.waist.signatures import inlined

best_arborescence, sum_arborescences = arborescence.best_tree, arborescence.partition
best_projective, sum_projective = projective.best_tree, projective.partition


def scratch_sizes(record: Record) -> tuple[int, int]:
    """Floats and ints that the functions need for any factor of a record of a kind that stands here."""
    f = FACTORS.open(record)
    links = np.diff(f.links)
    most = int(links.max(initial=0)) + 2
    floats, ints = [3 * most], [most]
    budgets = np.flatnonzero(f.kinds == BUDGET)
    chosen = np.minimum(f.extra[f.extras[budgets]], links[budgets])
    floats.append(int((2 * (links[budgets] + 1) * (chosen + 1)).max(initial=0)))
    first = f.extras[np.flatnonzero(f.kinds == TREE)]
    for n, is_projective in set(zip(f.extra[first].tolist(), f.extra[first + 2].tolist(), strict=True)):
        algorithms = projective if is_projective else arborescence
        floats.append(2 * n * n + algorithms.floats_needed(n))
        ints.append(n + algorithms.ints_needed(n))
    return max(floats), max(ints)


@inlined
def linked_parts(f, i, factor):
    """How many parts the linked variables of a factor have together."""
    total, before = 0, f.variables[i]
    for link in range(f.links[factor], f.links[factor + 1]):
        total += f.widths[before + f.linked[link]]
    return total


@inlined
def first_width(f, i, factor):
    """Parts of the first linked variable of a factor."""
    return np.int64(f.widths[f.variables[i] + f.linked[f.links[factor]]])


@inlined
def extra_numbers(f, factor):
    """The extra numbers of a factor."""
    return f.extra[f.extras[factor] : f.extras[factor + 1]]


@inlined
def local_max(f, i, factor, s, p, out, private_out, floats, ints):
    """max_y s(y) + p(y) over the configurations of a factor; the outs become the indicators of a maximiser."""
    kind, extra = f.kinds[factor], extra_numbers(f, factor)
    out[:] = 0.0
    private_out[:] = 0.0
    if kind == TREE:
        return tree_max(extra, s, out, floats, ints)
    if kind == AUTOMATON:
        return automaton_max(s, p, out, private_out, floats, ints)
    if kind == PAIRS:
        return pairs_max(s, p, out, private_out)
    if kind == EXACTLY_ONE:
        return exactly_one_max(s, out)
    if kind == BUDGET:
        return budget_max(extra[0], s, out)
    if kind == TABLE:
        return table_max(s, p, first_width(f, i, factor), out, private_out)
    return open_max(kind, extra, s, p, out, private_out, floats, ints)


@inlined
def local_marginals(f, i, factor, s, p, out, private_out, floats, ints):
    """log sum_y exp(s(y) + p(y)) over the configurations of a factor; the outs become the marginals of its parts."""
    kind, extra = f.kinds[factor], extra_numbers(f, factor)
    out[:] = 0.0
    private_out[:] = 0.0
    if kind == TREE:
        return tree_marginals(extra, s, out, floats, ints)
    if kind == AUTOMATON:
        return automaton_marginals(s, p, out, private_out, floats)
    if kind == PAIRS:
        return pairs_marginals(s, p, out, private_out)
    if kind == EXACTLY_ONE:
        return exactly_one_marginals(s, out)
    if kind == BUDGET:
        return budget_marginals(extra[0], s, out, floats)
    if kind == TABLE:
        return table_marginals(s, p, first_width(f, i, factor), out, private_out)
    return open_marginals(kind, extra, s, p, out, private_out, floats, ints)


@inlined
def arc_matrix(extra, s, W):
    """Fill W, shape (n * n,), with the scores of the linked arcs, and -inf where there is none."""
    n = np.int64(extra[0])
    W[: n * n] = -inf
    for a in range(len(s)):
        W[extra[3 + 2 * a] * n + extra[4 + 2 * a]] = s[a]


@inlined
def tree_value(extra, W, heads, floats, ints):
    """Value of the best tree of the kind that a TREE factor asks for, and the tree."""
    n, single_root = np.int64(extra[0]), extra[1] != 0
    if extra[2] != 0:
        return best_projective(W, n, single_root, heads, floats, ints)
    return best_arborescence(W, n, single_root, heads, floats, ints)


@inlined
def tree_max(extra, s, out, floats, ints):
    """Write the indicators of the arcs of a best tree; `out` is zero before, here and below."""
    n = np.int64(extra[0])
    W, heads = floats[: n * n], ints[:n]
    arc_matrix(extra, s, W)
    value = tree_value(extra, W, heads, floats[2 * n * n :], ints[n:])
    if value > -inf:
        for a in range(len(s)):
            out[a] = 1.0 if heads[extra[3 + 2 * a]] == extra[4 + 2 * a] else 0.0
    return value


@inlined
def tree_marginals(extra, s, out, floats, ints):
    """Write the marginals of the arcs."""
    n, single_root = np.int64(extra[0]), extra[1] != 0
    W, M = floats[: n * n], floats[n * n : 2 * n * n]
    arc_matrix(extra, s, W)
    if extra[2] != 0:
        value = sum_projective(W, n, single_root, M, floats[2 * n * n :], ints[n:])
    else:
        value = sum_arborescences(W, n, single_root, M, floats[2 * n * n :], ints[n:])
    if value > -inf:
        for a in range(len(s)):
            out[a] = M[extra[3 + 2 * a] * n + extra[4 + 2 * a]]
    return value


@inlined
def pairs_max(s, p, out, private_out):
    """Write the best of the four configurations of every pair; among equals the one with fewer variables on."""
    total = 0.0
    for r in range(len(p)):
        u, v = s[2 * r], s[2 * r + 1]
        best = max(max(0.0, u + v + p[r]), max(u, v))
        total += best
        if best == 0.0:
            continue
        if best == u:
            out[2 * r] = 1.0
        elif best == v:
            out[2 * r + 1] = 1.0
        else:
            out[2 * r] = out[2 * r + 1] = private_out[r] = 1.0
    return total


@inlined
def pairs_marginals(s, p, out, private_out):
    """Write the marginals of every pair: the four configurations weigh 1, e^u, e^v and e^(u + v + p)."""
    total = 0.0
    for r in range(len(p)):
        u, v = s[2 * r], s[2 * r + 1]
        both = u + v + p[r]
        top = max(max(0.0, both), max(u, v))
        first, second, joint = exp(u - top), exp(v - top), exp(both - top)
        mass = exp(-top) + first + second + joint
        total += top + log(mass)
        private_out[r] = joint / mass
        out[2 * r], out[2 * r + 1] = (first + joint) / mass, (second + joint) / mass
    return total


@inlined
def exactly_one_max(s, out):
    """Write the indicator of the best variable."""
    best = np.argmax(s)
    if s[best] > -inf:
        out[best] = 1.0
    return s[best]


@inlined
def exactly_one_marginals(s, out):
    """Write exp(s) in proportion."""
    top = s.max()
    if top == -inf:
        return top
    total = 0.0
    for j in range(len(s)):
        out[j] = exp(s[j] - top)
        total += out[j]
    for j in range(len(s)):
        out[j] /= total
    return top + log(total)


@inlined
def budget_max(budget, s, out):
    """Choose the best variables of positive score, as many as the budget allows."""
    value = 0.0
    for _ in range(min(np.int64(budget), len(s))):
        best = -1
        for j in range(len(s)):
            if out[j] == 0.0 and s[j] > 0.0 and (best < 0 or s[j] > s[best]):
                best = j
        if best < 0:
            break
        out[best] = 1.0
        value += s[best]
    return value


@inlined
def either(a, b, hot):
    """log(exp a + exp b), or where it is not hot max(a, b)."""
    return log_add(a, b) if hot else max(a, b)


@inlined
def budget_tables(budget, s, hot, floats):
    """Fill and return the tables of a BUDGET factor over its k variables, each with B + 1 columns, and B <= k.

    ahead[j * (B + 1) + b]: choosing exactly b of the variables before j; behind: at most b of those from j on. The entries are
    logs of summed weights, or the best scores.
    """
    k = len(s)
    B = min(np.int64(budget), k)
    N = B + 1
    ahead, behind = floats[: (k + 1) * N], floats[(k + 1) * N : 2 * (k + 1) * N]
    ahead[:N] = -inf
    ahead[0] = 0.0
    for j in range(k):
        for b in range(N):
            on = ahead[j * N + b - 1] + s[j] if b > 0 else -inf
            ahead[(j + 1) * N + b] = either(ahead[j * N + b], on, hot)
    behind[k * N : (k + 1) * N] = 0.0
    for j in range(k - 1, -1, -1):
        for b in range(N):
            on = behind[(j + 1) * N + b - 1] + s[j] if b > 0 else -inf
            behind[j * N + b] = either(behind[(j + 1) * N + b], on, hot)
    return ahead, behind, B


@inlined
def budget_marginals(budget, s, out, floats):
    """Write the marginals of choosing at most so many variables."""
    ahead, behind, B = budget_tables(budget, s, True, floats)
    N, value = B + 1, behind[B]
    for j in range(len(s)):
        for b in range(B):
            out[j] += exp(ahead[j * N + b] + s[j] + behind[(j + 1) * N + B - b - 1] - value)
    return value


@inlined
def table_max(s, p, K, out, private_out):
    """Write the indicators of the best pair of states of two variables, of which the first has K."""
    width, best, top = len(s) - K, 0, -inf
    for r in range(len(p)):
        value = s[r // width] + s[K + r % width] + p[r]
        if value > top:
            best, top = r, value
    if top > -inf:
        private_out[best] = out[best // width] = out[K + best % width] = 1.0
    return top


@inlined
def table_marginals(s, p, K, out, private_out):
    """Write the marginals of the states of two variables, and of the pairs of them."""
    width, top, total = len(s) - K, -inf, 0.0
    for r in range(len(p)):
        private_out[r] = s[r // width] + s[K + r % width] + p[r]
        top = max(top, private_out[r])
    if top == -inf:
        private_out[:] = 0.0
        return top
    for r in range(len(p)):
        private_out[r] = exp(private_out[r] - top)
        total += private_out[r]
    for r in range(len(p)):
        private_out[r] /= total
        out[r // width] += private_out[r]
        out[K + r % width] += private_out[r]
    return top + log(total)


@inlined
def fill_private(f, i, z):
    """Write the private parts of an output, given the indicators of its variables in the first parts of z."""
    variables, starts, widths = f.variables[i], f.starts, f.widths
    z[f.shared[i] :] = 0.0
    for factor in range(f.factors[i], f.factors[i + 1]):
        if f.kinds[factor] == TABLE:
            r, link = private_start(f, i, factor), f.links[factor]
            first, second = variables + f.linked[link], variables + f.linked[link + 1]
            for u in range(starts[first], starts[first] + widths[first]):
                for v in range(starts[second], starts[second] + widths[second]):
                    z[r] = z[u] * z[v]
                    r += 1
            continue
        linked = f.linked[f.links[factor] : f.links[factor + 1]]
        private = z[private_start(f, i, factor) :]
        if f.kinds[factor] == AUTOMATON:
            before = 0
            for j in range(1, len(linked) + 2):
                if j > len(linked) or z[f.starts[variables + linked[j - 1]]] > 0.0:
                    private[row_start(len(linked), before) + j] = 1.0
                    before = j
        elif f.kinds[factor] == PAIRS:
            for r in range(len(linked) // 2):
                private[r] = z[f.starts[variables + linked[2 * r]]] * z[f.starts[variables + linked[2 * r + 1]]]
        elif f.kinds[factor] >= FIRST_OPEN:
            fill_open(f, i, factor, z)


@inlined
def fill_open(f, i, factor, z):
    """Write the private parts of a factor of a kind that the core does not know; whether it allows the states in z."""
    first, x = private_start(f, i, factor), np.empty(linked_parts(f, i, factor))
    states_of(f, i, factor, z, x)
    last = first + f.privates[factor + 1] - f.privates[factor]
    return extend(f.kinds[factor], extra_numbers(f, factor), x, z[first:last])
