"""The reweighted upper bound of a factor graph at any messages, and its derivatives by scores and
by messages.

`structopt.kernels.loopy.trw_bp` has the equation.
"""

from __future__ import annotations

from math import exp, inf, log

import numpy as np

from structopt.kernels.arrays.rows import set_row
from structopt.kernels.loopy.factor_kinds import local_marginals, local_max
from structopt.kernels.loopy.factors import PAIRS, TREE, private_start
from structopt.kernels.waist.signatures import inlined, merged


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
    set_row(x.u[:shared], s[:shared])
    for factor in range(f.factors[i], f.factors[i + 1]):
        if factor != cover:
            for link in range(f.links[factor], f.links[factor + 1]):
                v = f.variables[i] + f.linked[link]
                for r in range(f.starts[v], f.starts[v] + f.widths[v]):
                    x.u[r] += x.messages[q]
                    q += 1


@inlined
def evaluate(f, i, cover, s, temperature, x):
    """B at the messages in x; x.z becomes its (sub)gradient by the scores, and x.local the local
    marginals.
    """
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
            total += pairs_bound(linked, x.degree, x.n, out, s, first, temperature, x.smoothing, z)
        else:
            heat = temperature * counting_number(linked, x.degree, x.smoothing)
            p = x.p[: last - first]
            set_row(p, s[first:last])
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
    """Contribution to the bound of the variables in no link."""
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
    """Fill x.n with the shares of its linked variables' scores that a factor holds, less its
    messages; return how many.
    """
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
    """heat * log Z_f((n + p) / heat), or the maximum where heat is 0; n and p are overwritten."""
    if heat == 0.0:
        return local_max(f, i, factor, n, p, out, private_out, x.floats, x.ints)
    for r in range(len(n)):
        n[r] /= heat
    for r in range(len(p)):
        p[r] /= heat
    return heat * local_marginals(f, i, factor, n, p, out, private_out, x.floats, x.ints)


@inlined
def pairs_bound(linked, degree, n, out, s, first, temperature, smoothing, z):
    """`soft_max` of every pair of a PAIRS row, whose private parts begin at s[first] and z[first];
    their sum.
    """
    total = 0.0
    for r in range(len(linked) // 2):
        a, b, c = degree[linked[2 * r]], degree[linked[2 * r + 1]], 0.0
        if a >= 0 or b >= 0 or smoothing > 0.0:  # as `counting_number`
            most = max(max(a, -1 - a), max(b, -1 - b))
            c = (
                0.0
                if a < 0 and b < 0
                else max(1.0 / a if a > 0 else 0.0, 1.0 / b if b > 0 else 0.0)
            )
            c = max(c, smoothing / most)
        if temperature * c == 0.0:
            total += best_of_pair(n, out, 2 * r, s[first + r], z, first + r)
        else:
            total += soft_pair(n, out, 2 * r, s[first + r], temperature * c, z, first + r)
    return total


@merged
def best_of_pair(n, out, q, p, z, index):
    """Best score of a pair whose links are q and q + 1 and whose private part is z[index]; there
    are no branches.
    """
    u, v = n[q], n[q + 1]
    both = u + v + p
    top = max(max(0.0, both), max(u, v))
    second = (top > 0.0) & (top > u)
    joint = second & (top > v)
    out[q] = 1.0 if joint | ((top > 0.0) & (top == u)) else 0.0
    out[q + 1] = 1.0 if second else 0.0
    z[index] = 1.0 if joint else 0.0
    return top


@merged
def soft_pair(n, out, q, p, heat, z, index):
    """The same for a log-partition function at a temperature of `heat`."""
    u, v = n[q], n[q + 1]
    both = u + v + p
    top = max(max(0.0, both), max(u, v))
    a, b, c = exp((u - top) / heat), exp((v - top) / heat), exp((both - top) / heat)
    mass = exp(-top / heat) + a + b + c
    z[index] = c / mass
    out[q], out[q + 1] = (a + c) / mass, (b + c) / mass
    return top + heat * log(mass)


@inlined
def slope(f, i, cover, x):
    """Turn x.local into the derivative by the messages, z_i less the local marginal; return its
    squared norm.
    """
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
