"""Maximum flow through an undirected graph, from nodes with an excess to nodes with a deficit.

Dinic's algorithm with float64 capacities: every path saturates an arc, an excess or a deficit
exactly, so that rounding changes the flow by no more than the sums of its terms do. Dinic (1970);
O(nodes^2 edges), and near linear on the graphs of images.
"""

from __future__ import annotations

from typing import NamedTuple

from structopt.kernels.waist.fields import Float, Floats, Ints, Long, Longs
from structopt.kernels.waist.halting import halted
from structopt.kernels.waist.layout import RecordLayout
from structopt.kernels.waist.signatures import inlined


class Cut(NamedTuple):
    """The work record, opened. The two arcs of an edge are 2 e and 2 e + 1.

    Attributes
    ----------
    truncate : 1 if moves replace terms that are not submodular
    noise : relative size of a pair's weight below which it counts as 0
    arcs : last arc of each node; -1: it has none
    following : next arc of the same node; -1: there is none
    heads : node that an arc leads to
    residual : capacity that is left of each arc
    excess : flow that a node still emits; below 0: that it still takes in
    levels : arcs on the shortest path from a node with an excess; -1: not reached
    queue, current, path : scratch of the search
    unary : gain of each variable in state 1
    weights : gain of each pair in (1, 1), in addition to its shares of `unary`
    states : of each variable; as `structopt.kernels.cut.binary` and `expansion` say
    former : states before a move
    fault : a factor that is refused, and three states of its variables
    report : the factor of the guarantee of expansion moves, and the number of truncated terms
    """

    truncate: Long
    noise: Float
    arcs: Longs
    following: Longs
    heads: Ints
    residual: Floats
    excess: Floats
    levels: Ints
    queue: Ints
    current: Longs
    path: Longs
    unary: Floats
    weights: Floats
    states: Ints
    former: Ints
    fault: Longs
    report: Floats


CUT = RecordLayout(Cut)
open_cut = CUT.compiled


@inlined
def join(edge, a, b, capacity, x):
    """Add an edge between two nodes, which takes so much flow in either direction."""
    for side in range(2):
        arc, v = 2 * edge + side, b if side else a
        x.heads[arc] = a if side else b
        x.residual[arc] = capacity
        x.following[arc] = x.arcs[v]
        x.arcs[v] = arc


@inlined
def maximum_flow(nodes, x):
    """Send as much flow as there is capacity for; x.levels >= 0 are then the side of the sources
    of a minimum cut.
    """
    while find_levels(nodes, x) and not halted():
        x.current[:nodes] = x.arcs[:nodes]
        for v in range(nodes):
            while x.excess[v] > 0.0 and send_path(v, x):
                pass


@inlined
def find_levels(nodes, x):
    """Search from all nodes with an excess; return whether a node with a deficit was reached."""
    count, front, deepest = 0, 0, -1
    for v in range(nodes):
        x.levels[v] = -1
        if x.excess[v] > 0.0:
            x.levels[v] = 0
            x.queue[count] = v
            count += 1
    while front < count:
        v = x.queue[front]
        front += 1
        if x.levels[v] == deepest:
            return True
        arc = x.arcs[v]
        while arc >= 0:
            u = x.heads[arc]
            if x.residual[arc] > 0.0 and x.levels[u] < 0:
                x.levels[u] = x.levels[v] + 1
                x.queue[count] = u
                count += 1
                if x.excess[u] < 0.0:
                    deepest = x.levels[u]
            arc = x.following[arc]
    return deepest >= 0


@inlined
def send_path(source, x):
    """Send flow along one shortest path from the source; return whether there was one."""
    depth, v = 0, source
    while not x.excess[v] < 0.0:
        arc = x.current[v]
        while arc >= 0 and not (
            x.residual[arc] > 0.0 and x.levels[x.heads[arc]] == x.levels[v] + 1
        ):
            arc = x.following[arc]
        x.current[v] = arc
        if arc >= 0:
            x.path[depth] = arc
            depth, v = depth + 1, x.heads[arc]
        elif depth == 0:
            return False
        else:
            depth -= 1
            v = x.heads[x.path[depth] ^ 1]
            x.current[v] = x.following[x.path[depth]]
    amount = min(x.excess[source], -x.excess[v])
    for step in range(depth):
        amount = min(amount, x.residual[x.path[step]])
    x.excess[source] -= amount
    x.excess[v] += amount
    for step in range(depth):
        x.residual[x.path[step]] -= amount
        x.residual[x.path[step] ^ 1] += amount
    return True
