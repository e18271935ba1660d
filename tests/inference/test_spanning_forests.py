"""Spanning forests: every edge in one at least, no cycles, and the shapes that complete graphs,
grids and trees must have.
"""

from itertools import pairwise

import numpy as np
import pytest

from structopt.inference.spanning_forests import spanning_forests
from structopt.kernels.loopy.forests.layout import CHILD, DEPTH, EDGE, FIELDS, PARENT, ROOT, SIBLING


def complete(n):
    return np.stack(np.triu_indices(n, 1), axis=1)


def grid(rows, columns):
    cells = np.arange(rows * columns).reshape(rows, columns)
    right, down = (
        np.stack([a.ravel(), b.ravel()], 1)
        for a, b in ((cells[:, :-1], cells[:, 1:]), (cells[:-1], cells[1:]))
    )
    edges = np.concatenate([right, down])
    return edges[np.random.default_rng(0).permutation(len(edges))]


def some_of(n, count, seed=0):
    edges = complete(n)
    return edges[np.sort(np.random.default_rng(seed).choice(len(edges), count, replace=False))]


CYCLE = np.array([*pairwise(range(8)), (0, 7)])
TREE = np.array([(0, 3), (1, 3), (2, 5), (3, 6), (5, 6)])
TWICE = np.array([(0, 1), (0, 1), (1, 2)])
NONE = np.zeros((0, 2), int)
GRAPHS = {f"complete {n}": (n, complete(n)) for n in (2, 3, 4, 5, 8, 13, 14)} | {
    "grid": (12, grid(3, 4)),
    "two by two": (4, grid(2, 2)),
    "tree": (7, TREE),
    "cycle": (8, CYCLE),
    "none": (3, NONE),
    "nothing": (0, NONE),
    "one": (1, NONE),
    "twice": (3, TWICE),
    "sparse": (20, some_of(20, 30)),
    "dense": (12, some_of(12, 50)),
    "in parts": (14, np.concatenate([complete(5), 5 + CYCLE])),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_what_forests_are(name):
    """Trees with their roots: parents, depths, children and the order downwards agree; edges join
    what they should.
    """
    n, edges = GRAPHS[name]
    forests = spanning_forests(n, edges)
    assert sorted(forests.order.tolist()) == list(range(n))
    for nodes, downwards in zip(forests.nodes, forests.downwards, strict=True):
        assert sorted(downwards.tolist()) == list(range(n))
        place = np.argsort(downwards)
        for v, node in enumerate(nodes):
            parent = node[PARENT]
            if parent < 0:
                assert (node[EDGE], node[DEPTH], node[ROOT]) == (-1, 0, v)
            else:
                assert sorted((parent, v)) == sorted(edges[node[EDGE]].tolist())
                assert (node[DEPTH], node[ROOT]) == (nodes[parent][DEPTH] + 1, nodes[parent][ROOT])
                assert place[parent] < place[v]
            children, u = [], node[CHILD]
            while u >= 0:
                children.append(u)
                u = nodes[u][SIBLING]
            assert sorted(children) == np.flatnonzero(nodes[:, PARENT] == v).tolist()
    used = forests.nodes[..., EDGE]
    assert np.bincount(used[used >= 0], minlength=len(edges)).tolist() == forests.copies.tolist()
    assert (forests.copies >= 1).all()
    assert len(forests.packed()) == 1 + n + len(edges) + (FIELDS + 1) * forests.downwards.size


@pytest.mark.parametrize("n", [4, 6, 14])
def test_even_complete_graphs_are_half_as_many_paths(n):
    forests = spanning_forests(n, complete(n))
    assert len(forests.nodes) == n // 2
    assert (forests.copies == 1).all()
    assert max(np.bincount(row[row >= 0]).max() for row in forests.nodes[..., PARENT]) == 1


def test_odd_complete_graphs_have_one_path_more_than_a_half():
    forests = spanning_forests(13, complete(13))
    assert len(forests.nodes) == 7
    assert sorted(forests.copies.tolist()) == [1] * 72 + [2] * 6


@pytest.mark.parametrize(("rows", "columns"), [(3, 4), (4, 3), (2, 2), (5, 2)])
def test_grids_are_rows_and_columns(rows, columns):
    forests = spanning_forests(rows * columns, grid(rows, columns))
    assert (forests.copies == 1).all()
    roots = [len(np.unique(nodes[:, ROOT])) for nodes in forests.nodes]
    assert roots == [rows, columns]


def test_no_cycles_no_second_forest():
    assert len(spanning_forests(7, TREE).nodes) == 1
    assert len(spanning_forests(3, NONE).nodes) == 1


def test_other_forests_are_as_large_as_can_be():
    """So an edge that is in no cycle is in all of them."""
    n, edges = 9, np.concatenate([CYCLE, [(7, 8)]])
    forests = spanning_forests(n, edges)
    assert forests.copies[-1] == len(forests.nodes)
    assert (np.sum(forests.nodes[..., PARENT] < 0, axis=1) == 1).all()


@pytest.mark.parametrize("edges", [complete(14), complete(13), grid(6, 5)])
def test_ways_between_visits_are_short(edges):
    """A pass forwards renews two messages a variable and forest at most, on the mean."""
    n = int(edges.max()) + 1
    forests = spanning_forests(n, edges)
    steps = 0
    for nodes in forests.nodes:
        front = {}
        for v in forests.order.tolist():
            u, root = front.get(nodes[v][ROOT], v), nodes[v][ROOT]
            front[root] = v
            while u != v:
                steps += 1
                if nodes[u][DEPTH] >= nodes[v][DEPTH]:
                    u = nodes[u][PARENT]
                else:
                    v = nodes[v][PARENT]
    assert steps <= 2 * n * len(forests.nodes)
