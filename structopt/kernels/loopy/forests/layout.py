"""Spanning forests of one instance: their edges, potentials and messages in arrays, and the work
record that holds them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structopt.kernels.waist.fields import Floats, Int, Ints, Longs
from structopt.kernels.waist.signatures import inlined

PARENT, EDGE, DEPTH, ROOT, CHILD, SIBLING, FIELDS = range(7)
"""Fields of a variable in a forest: its parent and the edge to it, -1 at a root; its depth below
the root, and the root; its first child, and the next child of its parent, -1 where there is none.
Then how many fields there are.
"""
TABLE, FIRST, ROWS, COLUMNS, SPAN = range(5)
"""Fields of an edge: where its table begins, its first variable, and the states of its two."""


class Forests(NamedTuple):
    """The forests of one instance of n variables, and scratch; variable v of forest T has the slot
    T n + v.

    Attributes
    ----------
    count : F
    order : order to visit the variables in
    copies : in how many forests each edge is
    downwards : the variables of each forest, parents before their children
    nodes : the fields of each slot
    front, path : the front of each tree, at the slot of its root; variables on the way down to a
    visited one edges : the fields of each edge width : W, the most states of a variable logs : log
    Z of each tree as last known, at the slot of its root state : 3 W numbers a slot: the
    potentials, the message to the parent, and that from it table, power : scores s_e F / copies_e /
    T of the edges, less the highest of each, and their exponentials scratch : 2 W numbers: of what
    is sent, and its exponentials
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


class ForestWork(NamedTuple):
    """Section of a work record: the forests of G different graphs, and scratch for any of them.

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
    """Open the forests of instance i, which has some."""
    n, edges, packed = (
        f.variables[i + 1] - f.variables[i],
        f.factors[i + 1] - f.factors[i],
        x.packed[x.begins[x.graph[i]] :],
    )
    F = np.int64(packed[0])
    begin = 1 + n + edges
    return Forests(
        F,
        packed[1 : 1 + n],
        packed[1 + n : begin],
        packed[begin : begin + F * n],
        packed[begin + F * n : begin + (1 + FIELDS) * F * n],
        x.front,
        x.path,
        x.edges,
        x.width,
        x.logs,
        x.state,
        x.table,
        x.power,
        x.scratch,
    )
