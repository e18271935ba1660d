"""An upper bound on the log-partition function of a factor graph that holds at any messages, and its gradient.

Graphs of pairs of variables with two or more states have that of `structopt.kernels.loopy.spanning_forests`, which is much
tighter; what follows is for all others.

With counting numbers c_f >= 0 of which those of the factors at each variable sum to at least 1, H(Y) <= sum_f c_f H(Y_f)
(fractional subadditivity of the entropy). So for all messages d_fi from factors to the variables that they link,

    T log Z(s)  <=  B(d)  =  sum_f c_f T log Z_f( (s_f + share of variables' scores - d_f) / (c_f T) ),

where a factor with c_f = 0, and every factor at T = 0, takes the maximum. The shares of the variables' scores are:

    where the first TREE of an instance covers variable i:  that factor, which has c = 1, holds s_i + sum_f d_fi, others -d_fi;
    elsewhere, in d_i links:                               each holds (s_i + sum_f d_fi) / d_i - d_fi;
    in no link:                                            the variable is a factor of its own, with c = 1.

The messages cancel in every output's score, whatever they are. Factors other than the TREE have c_f = smoothing / d, d the
most links of one of their variables, where it covers all their variables (H(Y) <= H_TREE already); otherwise at least 1 / d_i
for the least d_i of those that it does not cover. Each pair of a PAIRS row is a factor.

B is convex in scores and messages together. Its derivative by the score of a private part is that part's local marginal; by
s_i, z_i: the TREE's marginal or the mean of the local ones; by d_fi, z_i less the local marginal. Messages move against that
derivative, half of the step before added to it (Camerini et al., 1975), as far as Polyak's step goes for a level below the
least bound so far: farther below after a success, nearer after a failure. The least bound is what is reported.
"""

from __future__ import annotations

from math import exp, inf, log
from typing import NamedTuple

import numpy as np

from structopt.kernels.loopy.factor_kinds import linked_parts, local_marginals, local_max
from structopt.kernels.loopy.factors import PAIRS, TREE, open_factors, private_start
from structopt.kernels.loopy.spanning_forests import Room, open_forests, solve_forests
from structopt.kernels.waist.fields import Float, Floats, Ints, Long
from structopt.kernels.waist.layout import RecordLayout
from structopt.kernels.waist.signatures import SOLVE, inlined, kernel

FIRST, GROWTH, DECAY, RETREAT = 0.1, 1.5, 0.7, 0.4
"""Of the level: its first distance as a share of the squared norm of the derivative, and what success, failure, and a failure
by more than the level, after which the messages go back to the best ones, make of it."""
INERTIA = 0.5


class Reweighting(NamedTuple):
    """Of the work record what instances without forests need.

    Attributes
    ----------
    passes, tolerance, smoothing : as the options of the inference
    u : scores of the variables' parts and all messages to them
    z : (sub)gradient of the bound at the messages, over all parts
    degree : links of each variable; -1 less their number where the TREE covers it
    messages, local, direction : messages, local marginals and direction of the last step, over the parts of all links
    kept, kept_local : messages of the least bound, and the derivative there
    n, p : scores that one factor sees
    floats, ints : scratch of one factor
    """

    passes: Long
    tolerance: Float
    smoothing: Float
    u: Floats
    z: Floats
    degree: Ints
    messages: Floats
    local: Floats
    direction: Floats
    kept: Floats
    kept_local: Floats
    n: Floats
    p: Floats
    floats: Floats
    ints: Ints


class Work(NamedTuple):
    """The work record, opened."""

    reweighting: Reweighting
    forests: Room


WORK = RecordLayout(Work)
open_work = WORK.compiled


@inlined
def find_cover(f, i):
    """The first TREE of an instance, or -1."""
    for factor in range(f.factors[i], f.factors[i + 1]):
        if f.kinds[factor] == TREE:
            return factor
    return -1


@inlined
def count_links(f, i, cover, degree):
    """Count the links of every variable, those of the cover apart."""
    before = f.variables[i]
    degree[: f.variables[i + 1] - before] = 0
    for factor in range(f.factors[i], f.factors[i + 1]):
        if factor != cover:
            for v in f.linked[f.links[factor] : f.links[factor + 1]]:
                degree[v] += 1
    if cover >= 0:
        for v in f.linked[f.links[cover] : f.links[cover + 1]]:
            degree[v] = -1 - degree[v]


@inlined
def counting_number(linked, degree, smoothing):
    """c_f of a factor: see the module's docstring."""
    most, c = 1, 0.0
    for v in linked:
        if degree[v] < 0:
            most = max(most, -1 - degree[v])
        else:
            most = max(most, degree[v])
            c = max(c, 1.0 / degree[v])
    return max(c, smoothing / most)


@inlined
def gather(f, i, cover, s, x):
    """Fill x.u with the scores of the variables' parts plus all messages to them."""
    shared, q = f.shared[i], 0
    x.u[:shared] = s[:shared]
    for factor in range(f.factors[i], f.factors[i + 1]):
        if factor != cover:
            for link in range(f.links[factor], f.links[factor + 1]):
                v = f.variables[i] + f.linked[link]
                for r in range(f.starts[v], f.starts[v] + f.widths[v]):
                    x.u[r] += x.messages[q]
                    q += 1


@inlined
def evaluate(f, i, cover, s, temperature, x):
    """B at the messages in x; x.z becomes its (sub)gradient by the scores, and x.local the local marginals."""
    gather(f, i, cover, s, x)
    before, shared = f.variables[i], f.shared[i]
    z = x.z
    z[:shared] = 0.0
    total, q = alone(f, i, temperature, x), 0
    for factor in range(f.factors[i], f.factors[i + 1]):
        linked = f.linked[f.links[factor] : f.links[factor + 1]]
        first = private_start(f, i, factor)
        last = first + f.privates[factor + 1] - f.privates[factor]
        if factor == cover:
            parts = len(linked)
            for j in range(parts):
                x.n[j] = x.u[f.starts[before + linked[j]]]
            out = x.p[:parts]
            total += soft_max(f, i, factor, temperature, x.n[:parts], s[:0], out, z[:0], x)
            for j in range(parts):
                z[f.starts[before + linked[j]]] = out[j]
            continue
        parts = incoming(f, i, factor, x, q)
        out = x.local[q : q + parts]
        if f.kinds[factor] == PAIRS:
            for r in range(len(linked) // 2):
                a, b = x.degree[linked[2 * r]], x.degree[linked[2 * r + 1]]
                most = max(max(a, -1 - a), max(b, -1 - b))  # as `counting_number`
                c = 0.0 if a < 0 and b < 0 else max(1.0 / a if a > 0 else 0.0, 1.0 / b if b > 0 else 0.0)
                if x.smoothing > 0.0:
                    c = max(c, x.smoothing / most)
                total += one_pair(x.n, out, 2 * r, s[first + r], temperature * c, z, first + r)
        else:
            heat = temperature * counting_number(linked, x.degree, x.smoothing)
            p = x.p[: last - first]
            p[:] = s[first:last]
            total += soft_max(f, i, factor, heat, x.n[:parts], p, out, z[first:last], x)
        for link in range(f.links[factor], f.links[factor + 1]):
            v = before + f.linked[link]
            degree = x.degree[f.linked[link]]
            for r in range(f.starts[v], f.starts[v] + f.widths[v]):
                if degree > 0:
                    z[r] += x.local[q] / degree
                q += 1
    return total


@inlined
def alone(f, i, temperature, x):
    """What the variables in no link contribute."""
    total = 0.0
    for v in range(f.variables[i], f.variables[i + 1]):
        if x.degree[v - f.variables[i]] != 0:
            continue
        first, width = f.starts[v], f.widths[v]
        u, best = x.u[first : first + width], first + np.argmax(x.u[first : first + width])
        top = max(x.u[best], 0.0) if width == 1 else x.u[best]
        if temperature == 0.0:
            x.z[best] = 1.0 if width > 1 or x.u[best] > 0.0 else 0.0
        elif top > -inf:
            mass = exp(-top / temperature) if width == 1 else 0.0
            for y in range(width):
                x.z[first + y] = exp((u[y] - top) / temperature)
                mass += x.z[first + y]
            for y in range(width):
                x.z[first + y] /= mass
            top += temperature * log(mass)
        total += top
    return total


@inlined
def incoming(f, i, factor, x, q):
    """Fill x.n with the scores of its linked variables' parts that a factor holds; return how many."""
    count = 0
    for link in range(f.links[factor], f.links[factor + 1]):
        v = f.variables[i] + f.linked[link]
        degree = x.degree[f.linked[link]]
        for r in range(f.starts[v], f.starts[v] + f.widths[v]):
            x.n[count] = (x.u[r] / degree if degree > 0 else 0.0) - x.messages[q + count]
            count += 1
    return count


@inlined
def soft_max(f, i, factor, heat, n, p, out, private_out, x):
    """heat * log Z_f((n + p) / heat), or the maximum where heat is 0; n and p are spoilt."""
    if heat == 0.0:
        return local_max(f, i, factor, n, p, out, private_out, x.floats, x.ints)
    for r in range(len(n)):
        n[r] /= heat
    for r in range(len(p)):
        p[r] /= heat
    return heat * local_marginals(f, i, factor, n, p, out, private_out, x.floats, x.ints)


@inlined
def one_pair(n, out, q, p, heat, z, place):
    """`soft_max` of one pair of a PAIRS row, whose links are q and q + 1 and whose private part is z[place]."""
    u, v = n[q], n[q + 1]
    both = u + v + p
    top = max(max(0.0, both), max(u, v))
    if heat == 0.0:
        on = top > 0.0
        joint = on and top > u and top > v
        out[q] = 1.0 if on and (joint or top == u) else 0.0
        out[q + 1] = 1.0 if on and top > u else 0.0
        z[place] = 1.0 if joint else 0.0
        return top
    a, b, c = exp((u - top) / heat), exp((v - top) / heat), exp((both - top) / heat)
    mass = exp(-top / heat) + a + b + c
    z[place] = c / mass
    out[q], out[q + 1] = (a + c) / mass, (b + c) / mass
    return top + heat * log(mass)


@inlined
def slope(f, i, cover, x):
    """Turn x.local into the derivative by the messages, z_i less the local marginal; return its squared norm."""
    q, norm = 0, 0.0
    for factor in range(f.factors[i], f.factors[i + 1]):
        if factor != cover:
            for link in range(f.links[factor], f.links[factor + 1]):
                v = f.variables[i] + f.linked[link]
                for r in range(f.starts[v], f.starts[v] + f.widths[v]):
                    x.local[q] = x.z[r] - x.local[q]
                    norm += x.local[q] * x.local[q]
                    q += 1
    return norm


@inlined
def turn(derivative, direction):
    """Add the derivative to what inertia leaves of the direction; return the squared norm."""
    norm = 0.0
    for q in range(len(direction)):
        direction[q] = derivative[q] + INERTIA * direction[q]
        norm += direction[q] * direction[q]
    return norm


@kernel(SOLVE)
def solve(structure, i, s, temperature, z, memory, work):
    """The least bound met; z becomes its (sub)gradient by the scores at the messages that gave it.

    `memory`, where there is any, holds the messages to begin with, and receives those of the least bound. Returns -inf, with
    z = 0, where a factor allows nothing. An instance that has a graph among those of the work record takes its forests.
    """
    f, w = open_factors(structure), open_work(work)
    x = w.reweighting
    if w.forests.graph[i] >= 0:
        return solve_forests(f, i, s, temperature, z, memory, x.passes, x.tolerance, open_forests(f, i, w.forests))
    cover = find_cover(f, i)
    count_links(f, i, cover, x.degree)
    links = 0
    for factor in range(f.factors[i], f.factors[i + 1]):
        if factor != cover:
            links += linked_parts(f, i, factor)
    messages, direction = x.messages[:links], x.direction[:links]
    messages[:] = 0.0
    direction[:] = 0.0
    if len(memory) > 0:
        messages[:] = memory[:links]
    value = least = evaluate(f, i, cover, s, temperature, x)
    if not least > -inf:
        z[:] = 0.0
        return -inf
    z[:] = x.z[: len(z)]
    slant = slope(f, i, cover, x)
    level = FIRST * slant
    x.kept[:links], x.kept_local[:links] = messages, x.local[:links]
    for _ in range(x.passes):
        norm = turn(x.local, direction)
        if slant <= x.tolerance * x.tolerance or level <= x.tolerance or norm == 0.0:
            break
        step = (value - least + level) / norm
        for q in range(links):
            messages[q] -= step * direction[q]
        value = evaluate(f, i, cover, s, temperature, x)
        slant = slope(f, i, cover, x)
        if value < least:
            level *= GROWTH if value < least - 0.5 * level else 1.0
            least = value
            z[:] = x.z[: len(z)]
            x.kept[:links], x.kept_local[:links] = messages, x.local[:links]
        elif value > least + DECAY * level:
            level *= RETREAT
            value = least
            messages[:], x.local[:links], direction[:] = x.kept[:links], x.kept_local[:links], 0.0
        else:
            level *= DECAY
    if len(memory) > 0:
        memory[:links] = x.kept[:links]
    return least
