"""An upper bound on the log-partition function of a pairwise graph as a convex combination of those of spanning forests.

F forests T of equal weight hold every edge e, in copies_e of them. With s^T_e = s_e F / copies_e on the edges of a forest, and
any potentials s^T_v of its variables of which the mean over the forests is s_v, the mean of the forests' scores is s, and

    T log Z(s)  <=  B  =  (1/F) sum_T T log Z_T(s^T / T),

by convexity, whatever the potentials are; at temperature T = 0 the best scores of the forests take the sums' place, and B is no
less than the linear relaxation's value. A pass minimises B exactly over the potentials of one variable after another: with
m^T_v the messages of all neighbours of v in T, summed,

    b_v = s_v + (1/F) sum_T m^T_v,      s^T_v = b_v - m^T_v,

after which v has the same marginals in all forests. So B never rises; at T > 0 it comes down to its least value over all
potentials, the tree-reweighted free energy (Wainwright et al., 2005), and at T = 0 it may stick above the relaxation.

Every tree has a *front*, the variable that was visited last, towards which all messages are up to date; a visit renews those on
the way from there. Messages are logarithms, not normalised, so that those at the front sum to log Z of the tree. Passes go
through the variables forwards and backwards in turn, in an order in which the ways are short: 2 messages a tree of complete
graphs, one of grids.

The derivative by s at fixed deviations s^T_v - s_v is the mean over the forests of the marginals of the variables, and of those
of an edge over the forests that have it. The deviations are what an instance keeps between visits, in the scores' unit.
A pass of complete graphs and grids costs O(edges K^2), as do the bound and its derivative. Passes in the manner of Kolmogorov
(2006), sequential tree-reweighted message passing, and of Meltzer, Globerson and Weiss (2009).
"""

from __future__ import annotations

from math import exp, inf, log
from typing import NamedTuple

import numpy as np

from structopt.kernels.loopy.factors import private_start
from structopt.kernels.waist.fields import Floats, Int, Ints, Longs
from structopt.kernels.waist.signatures import inlined

PARENT, EDGE, DEPTH, ROOT, CHILD, SIBLING, FIELDS = range(7)
"""Fields of a variable in a forest: its parent and the edge to it, -1 at a root; how far the root is, and which it is; its
first child, and the next child of its parent, -1 where there is none. Then how many fields there are."""
TABLE, FIRST, ROWS, COLUMNS, SPAN = range(5)
"""Fields of an edge: where its table begins, its first variable, and the states of its two."""
LOST = 1e-250
"""Sums of products of exponentials below this may have lost terms that matter, and are computed anew as logarithms."""


class Forests(NamedTuple):
    """The forests of one instance of n variables, and scratch; variable v of forest T is *place* T n + v.

    Attributes
    ----------
    count : F
    order : order to visit the variables in
    copies : in how many forests each edge is
    downwards : the variables of each forest, parents before their children
    nodes : the fields of each place
    front, path : the front of each tree, at the place of its root; variables on the way down to a visited one
    edges : the fields of each edge
    width : W, the most states of a variable
    logs : log Z of each tree as last known, at the place of its root
    state : 3 W numbers a place: the potentials, the message to the parent, and that from it
    table, power : scores s_e F / copies_e / T of the edges, the highest of each taken away, and their exponentials
    scratch : 2 W numbers: of what is sent, and its exponentials
    """

    count: int
    order: np.ndarray
    copies: np.ndarray
    downwards: np.ndarray
    nodes: np.ndarray
    front: np.ndarray
    path: np.ndarray
    edges: np.ndarray
    width: int
    logs: np.ndarray
    state: np.ndarray
    table: np.ndarray
    power: np.ndarray
    scratch: np.ndarray


class Room(NamedTuple):
    """Part of a work record: the forests of G different graphs, and scratch for any of them.

    Attributes
    ----------
    graph : (m,) number of the graph of each instance; -1 where it has no forests
    begins : (G + 1,) where the forests of each graph begin in `packed`
    packed : as `structopt.inference.spanning_forests` packs them
    width, front, path, edges, logs, state, table, power, scratch : as those of `Forests`
    """

    graph: Longs
    begins: Longs
    packed: Ints
    width: Int
    front: Ints
    path: Ints
    edges: Ints
    logs: Floats
    state: Floats
    table: Floats
    power: Floats
    scratch: Floats


@inlined
def open_forests(f, i, x):
    """Open the forests of instance i, which has some, in their room."""
    n, edges, packed = f.variables[i + 1] - f.variables[i], f.factors[i + 1] - f.factors[i], x.packed[x.begins[x.graph[i]] :]
    F = np.int64(packed[0])
    begin = 1 + n + edges
    return Forests(
        F, packed[1 : 1 + n], packed[1 + n : begin], packed[begin : begin + F * n],
        packed[begin + F * n : begin + (1 + FIELDS) * F * n],
        x.front, x.path, x.edges, x.width, x.logs, x.state, x.table, x.power, x.scratch,
    )  # fmt: skip


@inlined
def load(f, i, s, heat, hot, memory, x):
    """Fill x.state, x.edges and the tables: scores over `heat`, and deviations, of which the mean is taken away.

    Return what the tables leave out of B / T.
    """
    F, S, W, before, left_out = x.count, f.shared[i], x.width, f.variables[i], 0.0
    n = f.variables[i + 1] - before
    for v in range(n):
        first = f.starts[before + v]
        for y in range(f.widths[before + v]):
            r, mean = first + y, 0.0
            for q in range(r, len(memory), S):
                mean += memory[q] / F
            for T in range(F):
                own = memory[T * S + r] - mean if len(memory) > 0 else 0.0
                x.state[(T * n + v) * 3 * W + y] = (s[r] + own) / heat
    for e in range(f.factors[i + 1] - f.factors[i]):
        factor = f.factors[i] + e
        p, one, other = private_start(f, i, factor), f.linked[f.links[factor]], f.linked[f.links[factor] + 1]
        fields = x.edges[e * SPAN : (e + 1) * SPAN]
        fields[TABLE], fields[FIRST] = p - S, one
        fields[ROWS], fields[COLUMNS] = f.widths[before + one], f.widths[before + other]
        size = np.int64(fields[ROWS]) * fields[COLUMNS]
        scale, top = F / (x.copies[e] * heat), s[p : p + size].max()
        if top == -inf:
            return -inf
        left_out += top / heat
        for r in range(p, p + size):
            x.table[r - S] = (s[r] - top) * scale
            if hot:
                x.power[r - S] = exp(x.table[r - S])
    return left_out


@inlined
def keep(f, i, s, heat, memory, x):
    """Write the deviations to the memory; 0 for a state that is forbidden, which it is in all forests."""
    S, before = f.shared[i], f.variables[i]
    n = f.variables[i + 1] - before
    for T in range(x.count):
        for v in range(n):
            first = f.starts[before + v]
            for y in range(f.widths[before + v]):
                potential = x.state[(T * n + v) * 3 * x.width + y]
                memory[T * S + first + y] = potential * heat - s[first + y] if potential > -inf else 0.0


@inlined
def gather(nodes, state, W, row, v, without, K, a):
    """Fill a with the potential of v, of K states, and the messages of its neighbours, but for the one `without`."""
    place = row + v
    own, node = place * 3 * W, place * FIELDS
    for y in range(K):
        a[y] = state[own + y]
    if nodes[node + PARENT] >= 0 and nodes[node + PARENT] != without:
        for y in range(K):
            a[y] += state[own + 2 * W + y]
    u = nodes[node + CHILD]
    while u >= 0:
        if u != without:
            message = ((row + u) * 3 + 1) * W
            for y in range(K):
                a[y] += state[message + y]
        u = nodes[(row + u) * FIELDS + SIBLING]


@inlined
def send(nodes, edges, state, table, power, a, W, row, v, u, below, hot):
    """Renew the message of v to its neighbour u; `below` is the lower of the two. a[:W] becomes what v holds without u."""
    node = (row + below) * FIELDS
    e = nodes[node + EDGE] * SPAN
    p, forth, K, L = edges[e + TABLE], edges[e + FIRST] == v, np.int64(edges[e + ROWS]), np.int64(edges[e + COLUMNS])
    step, stride = L, 1  # from a state of v, and of u, to the next
    if not forth:
        K, L, step, stride = L, K, 1, L
    gather(nodes, state, W, row, v, u, K, a)
    top, out = -inf, ((row + below) * 3 + (1 if v == below else 2)) * W
    for y in range(K):
        top = a[y] if a[y] > top else top
    if not hot or top == -inf:
        for w in range(L):
            best = -inf
            for y in range(K):
                score = a[y] + table[p + y * step + w * stride]
                best = score if score > best else best
            state[out + w] = best
        return
    for y in range(K):
        a[W + y] = exp(a[y] - top)
    for w in range(L):
        total = 0.0
        for y in range(K):
            total += a[W + y] * power[p + y * step + w * stride]
        state[out + w] = log(total) + top if total > LOST else log_message(a, K, table, p + w * stride, step)


@inlined
def log_message(a, K, table, p, step):
    """log sum_y exp(a_y + table[p + y step])."""
    top = -inf
    for y in range(K):
        top = max(top, a[y] + table[p + y * step])
    if top == -inf:
        return top
    total = 0.0
    for y in range(K):
        total += exp(a[y] + table[p + y * step] - top)
    return top + log(total)


@inlined
def log_sum(a, K, hot):
    """log sum_y exp a(y), or the highest."""
    top = -inf
    for y in range(K):
        top = a[y] if a[y] > top else top
    if not hot or top == -inf:
        return top
    total = 0.0
    for y in range(K):
        total += exp(a[y] - top)
    return top + log(total)


@inlined
def collect(n, widths, hot, x):
    """Renew all messages to the roots, which become the fronts; return B / T, but for what the tables leave out."""
    nodes, edges, state, table, power, a, W = x.nodes, x.edges, x.state, x.table, x.power, x.scratch, x.width
    total = 0.0
    for row in range(0, x.count * n, n):
        for at in range(row + n - 1, row - 1, -1):
            v = x.downwards[at]
            u = nodes[(row + v) * FIELDS + PARENT]
            if u >= 0:
                send(nodes, edges, state, table, power, a, W, row, v, u, v, hot)
            else:
                K = np.int64(widths[v])
                gather(nodes, state, W, row, v, -1, K, a)
                x.front[row + v], x.logs[row + v] = v, log_sum(a, K, hot)
                total += x.logs[row + v]
    return total / x.count


@inlined
def sweep(n, starts, widths, s, backwards, heat, hot, x):
    """Minimise B over the potentials of one variable after another; return by how much it falls, in units of `heat`.

    inf where nothing is allowed.
    """
    nodes, edges, state, table, power, a, W = x.nodes, x.edges, x.state, x.table, x.power, x.scratch, x.width
    front, path, logs, size = x.front, x.path, x.logs, x.count * n
    fall = 0.0
    for turn in range(n):
        v = x.order[n - 1 - turn if backwards else turn]
        first, K, old, b = starts[v], np.int64(widths[v]), 0.0, 2 * W
        for y in range(K):
            a[b + y] = 0.0
        for row in range(0, size, n):
            root = row + nodes[(row + v) * FIELDS + ROOT]
            old += logs[root]
            one, other, steps = front[root], v, 0
            while one != other:
                if nodes[(row + one) * FIELDS + DEPTH] >= nodes[(row + other) * FIELDS + DEPTH]:
                    u = nodes[(row + one) * FIELDS + PARENT]
                    send(nodes, edges, state, table, power, a, W, row, one, u, one, hot)
                    one = u
                else:
                    path[steps] = other
                    steps += 1
                    other = nodes[(row + other) * FIELDS + PARENT]
            for step in range(steps - 1, -1, -1):
                u = path[step]
                send(nodes, edges, state, table, power, a, W, row, nodes[(row + u) * FIELDS + PARENT], u, u, hot)
            front[root] = v
            own = (row + v) * 3 * W
            for y in range(K):
                state[own + y] = 0.0
            gather(nodes, state, W, row, v, -1, K, a)
            for y in range(K):
                state[own + y] = -a[y]
                a[b + y] += a[y]
        for y in range(K):
            a[y] = s[first + y] / heat + a[b + y] / x.count
        new = log_sum(a, K, hot)
        if new == -inf:
            return inf
        for row in range(0, size, n):
            own = (row + v) * 3 * W
            for y in range(K):
                state[own + y] = state[own + y] + a[y] if a[y] > -inf else -inf
            logs[row + nodes[(row + v) * FIELDS + ROOT]] = new
        fall += old / x.count - new
    return fall


@inlined
def marginals(n, starts, widths, private, z, x):
    """Renew all messages from the roots, those to them being so; add the marginals to z. Those of edges begin at `private`."""
    nodes, edges, state, table, power, a, W = x.nodes, x.edges, x.state, x.table, x.power, x.scratch, x.width
    for row in range(0, x.count * n, n):
        for at in range(row, row + n):
            v = x.downwards[at]
            first, K, parent = starts[v], np.int64(widths[v]), nodes[(row + v) * FIELDS + PARENT]
            b = a[W : 2 * W]
            if parent >= 0:
                send(nodes, edges, state, table, power, a, W, row, parent, v, v, True)
                gather(nodes, state, W, row, v, parent, K, b)
                e = nodes[(row + v) * FIELDS + EDGE]
                p, L = edges[e * SPAN + TABLE], np.int64(edges[e * SPAN + COLUMNS])
                forth, size = edges[e * SPAN + FIRST] == v, np.int64(edges[e * SPAN + ROWS]) * L
                top, total = -inf, 0.0
                for r in range(size):
                    y, w = r // L, r % L
                    score = table[p + r] + (b[y] + a[w] if forth else a[y] + b[w])
                    top = max(top, score)
                for r in range(size):
                    y, w = r // L, r % L
                    total += exp(table[p + r] + (b[y] + a[w] if forth else a[y] + b[w]) - top)
                for r in range(size):
                    y, w = r // L, r % L
                    score = table[p + r] + (b[y] + a[w] if forth else a[y] + b[w])
                    z[private + p + r] += exp(score - top) / (total * x.copies[e])
            gather(nodes, state, W, row, v, -1, K, b)
            top, total = log_sum(b, K, False), 0.0
            for y in range(K):
                b[y] = exp(b[y] - top)
                total += b[y]
            for y in range(K):
                z[first + y] += b[y] / (total * x.count)


@inlined
def best_states(n, starts, widths, private, z, x):
    """Add the indicators of a best configuration of every forest to z, messages to the roots being up to date."""
    nodes, edges, table, a, W = x.nodes, x.edges, x.table, x.scratch, x.width
    for row in range(0, x.count * n, n):
        for at in range(row, row + n):
            v = x.downwards[at]
            K, parent = np.int64(widths[v]), nodes[(row + v) * FIELDS + PARENT]
            e, p, step = nodes[(row + v) * FIELDS + EDGE], 0, 0
            gather(nodes, x.state, W, row, v, parent, K, a)
            if parent >= 0:
                forth, L = edges[e * SPAN + FIRST] == v, np.int64(edges[e * SPAN + COLUMNS])
                p = edges[e * SPAN + TABLE] + x.path[parent] * (1 if forth else L)
                step = L if forth else 1
                for y in range(K):
                    a[y] += table[p + y * step]
            best = 0
            for y in range(1, K):
                best = y if a[y] > a[best] else best
            x.path[v] = best
            z[starts[v] + best] += 1.0 / x.count
            if parent >= 0:
                z[private + p + best * step] += 1.0 / x.copies[e]


@inlined
def solve_forests(f, i, s, temperature, z, memory, passes, tolerance, x):
    """B after the passes; z becomes its derivative by the scores where they ended: -inf and zeros where nothing is allowed.

    Passes end when one lowers the bound by no more than the tolerance. `memory`, where there is any, holds the deviations to
    begin with (their mean over the forests is taken away), and receives those at the end.
    """
    hot, n, begin, end = temperature > 0.0, f.variables[i + 1] - f.variables[i], f.variables[i], f.variables[i + 1]
    starts, widths, heat = f.starts[begin:end], f.widths[begin:end], temperature if hot else 1.0
    z[:] = 0.0
    left_out = load(f, i, s, heat, hot, memory, x)
    if left_out == -inf:
        return -inf
    value = collect(n, widths, hot, x)
    if value == -inf:
        return -inf
    for turn in range(passes):
        fall = sweep(n, starts, widths, s, turn % 2 == 1, heat, hot, x)
        if fall == inf:
            return -inf
        if fall * heat <= tolerance:
            break
    if passes > 0:
        value = collect(n, widths, hot, x)
    if hot:
        marginals(n, starts, widths, f.shared[i], z, x)
    else:
        best_states(n, starts, widths, f.shared[i], z, x)
    if len(memory) > 0:
        keep(f, i, s, heat, memory, x)
    return (value + left_out) * heat
