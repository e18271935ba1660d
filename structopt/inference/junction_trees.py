"""Junction trees of the different graphs of a corpus, as records for
`structopt.kernels.junction`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from math import prod
from typing import Any, NamedTuple

import numpy as np

from structopt.core.checks import of_instance
from structopt.core.data.structure import Structure
from structopt.core.factor_kind import FactorKind
from structopt.core.factor_kind_table import kind_of
from structopt.core.memory import refuse_what_does_not_fit
from structopt.errors import CompatibilityError
from structopt.inference.elimination import MOST_NEIGHBOURS, Elimination, elimination
from structopt.kernels.loopy.factors import FACTORS, PAIRS, TABLE, Factors
from structopt.kernels.waist.record import Array, Record

FORBIDDEN = -1
CELL_BYTES, VERTEX_BYTES = 24, 32
"""Bytes of an edge (tails, score, marginal) and of a vertex (begin of its edges, score, marginal,
inside score) of a hypergraph.
"""

VALUES = (
    *("vertex", "edge", "cells", "left", "right"),
    *("variables", "widths", "left_strides", "right_strides"),
    *("stride", "states", "part", "listed"),
)
ENDS = ("buckets", "digits", "terms", "strides", "lists")
"""Fields of `JunctionTrees`: numbers, and where the rows of other fields begin."""


class Term(NamedTuple):
    """A function of a few variables.

    Attributes
    ----------
    scope : tuple of int
        The variables, the last with the fastest state.
    part : int
        Part of the first joint state, which the others follow; -1: they are listed.
    lists : list of list of int
        Otherwise the parts of each joint state; only `FORBIDDEN` if it is not allowed.
    """

    scope: tuple[int, ...]
    part: int = -1
    lists: list[list[int]] | None = None


class Bucket(NamedTuple):
    """A table; see `structopt.kernels.junction.record`.

    Attributes
    ----------
    variable : int
        The variable that it eliminates; -1 of a joining one.
    above : list of int
        The other variables of the table, in the order of their elimination.
    below : list of int
        Buckets whose tables it joins, at most two.
    """

    variable: int
    above: list[int]
    below: list[int]


class JunctionTree(NamedTuple):
    """The buckets of one graph, and the terms of each."""

    states: list[int]
    buckets: list[Bucket]
    terms: list[list[Term]]


def with_junction_trees(structure: Structure, most: int) -> Structure:
    """Return a structure of variables and factors with the junction tree of every different graph,
    and scratch for the largest.

    Parameters
    ----------
    structure : Structure
    most : int
        The most entries of a table.

    Raises
    ------
    CompatibilityError
        If a table would have more.
    """
    f = FACTORS.open(structure.record)
    graph, trees = np.zeros(len(structure), np.int32), list[JunctionTree]()
    numbers: dict[tuple[bytes, ...], int] = {}
    for i in range(len(structure)):
        key = _key(f, i)
        if key not in numbers:
            numbers[key] = len(trees)
            trees.append(_junction_tree(f, i, most))
        graph[i] = numbers[key]
    return replace(structure, work=_packed(graph, trees))


def _key(f: Factors, i: int) -> tuple[bytes, ...]:
    """The variables and factors of an instance; equal for equal graphs."""
    variables, factors = slice(*f.variables[i : i + 2]), slice(*f.factors[i : i + 2])
    spans = [
        array[f.factors[i] : f.factors[i + 1] + 1] for array in (f.links, f.privates, f.extras)
    ]
    arrays: list[Array] = [f.widths[variables], f.starts[variables], f.kinds[factors]]
    arrays += [np.diff(span) for span in spans]
    arrays += [f.linked[spans[0][0] : spans[0][-1]], f.extra[spans[2][0] : spans[2][-1]]]
    return tuple(array.tobytes() for array in arrays)


def _junction_tree(f: Factors, i: int, most: int) -> JunctionTree:
    """Eliminate the variables of an instance."""
    widths = f.widths[f.variables[i] : f.variables[i + 1]].tolist()
    states = [max(2, width) for width in widths]
    found = elimination(states, list(_scopes(f, i)), most)
    if found.largest > most:
        _refuse(found, i, most)
    place = {v: rank for rank, v in enumerate(found.order)}
    owned: list[list[Term]] = [[] for _ in states]
    for term in _terms(f, i, widths):
        owned[min(map(place.__getitem__, term.scope), default=0)].append(term)
    buckets, terms = list[Bucket](), list[list[Term]]()
    waiting: dict[int, list[int]] = {}
    for rank, (v, above) in enumerate(zip(found.order, found.above, strict=True)):
        below = waiting.pop(v, [])
        _join(buckets, below, states, place, 2)
        terms += [[] for _ in range(len(buckets) - len(terms))]
        buckets.append(Bucket(v, above, below))
        terms.append(owned[rank])
        waiting.setdefault(above[0] if above else -1, []).append(len(buckets) - 1)
    _join(buckets, waiting.get(-1, []), states, place, 1)
    terms += [[] for _ in range(len(buckets) - len(terms))]
    return JunctionTree(states, buckets, terms)


def _join(
    buckets: list[Bucket], below: list[int], states: list[int], place: dict[int, int], most: int
) -> None:
    """Join the smallest buckets below until at most so many are left."""

    def size(b: int) -> int:
        return prod(states[v] for v in buckets[b].above)

    while len(below) > most:
        below.sort(key=size)
        pair = below[:2]
        above = sorted({v for b in pair for v in buckets[b].above}, key=place.__getitem__)
        buckets.append(Bucket(-1, above, pair))
        below[:2] = [len(buckets) - 1]


def _refuse(found: Elimination, i: int, most: int) -> None:
    # an order that has ended early may lead to larger tables
    at_least = "at least " if found.width > MOST_NEIGHBOURS else ""
    entries = f"{found.largest:,}" if found.largest < 10**12 else f"{found.largest:.1e}"
    raise CompatibilityError(
        f"is too small for exact inference: the largest table has {at_least}{entries} entries "
        f"(one variable and {found.width} neighbours: width {found.width}).",
        parameter="max_table",
        value=most,
        where=of_instance((i,)),
        remedy="Use AD3(), LP() or ILP() for the best output, LoopyBP() or TRWBP() for "
        "marginals, or a larger `max_table`.",
        kinds={"max_table": "inference"},
    )


def _linked(f: Factors, factor: int) -> list[int]:
    linked: list[int] = f.linked[f.links[factor] : f.links[factor + 1]].tolist()
    return linked


def _scopes(f: Factors, i: int) -> Iterator[tuple[int, ...]]:
    """List the variables of each factor of an instance, and of each pair of PAIRS."""
    for factor in range(f.factors[i], f.factors[i + 1]):
        linked = _linked(f, factor)
        if f.kinds[factor] == PAIRS:
            yield from zip(linked[::2], linked[1::2], strict=True)
        else:
            yield tuple(linked)


def _terms(f: Factors, i: int, widths: list[int]) -> Iterator[Term]:
    """The terms of the variables and factors of an instance."""
    starts = f.starts[f.variables[i] : f.variables[i + 1]].tolist()
    for v, (start, width) in enumerate(zip(starts, widths, strict=True)):
        yield Term((v,), start) if width > 1 else Term((v,), lists=[[], [start]])
    first = int(f.shared[i])
    begin = int(f.privates[f.factors[i]])
    for factor in range(f.factors[i], f.factors[i + 1]):
        linked, private = _linked(f, factor), first + int(f.privates[factor]) - begin
        if f.kinds[factor] == TABLE:
            yield Term((linked[0], linked[1]), private)
        elif f.kinds[factor] == PAIRS:
            for r, (a, b) in enumerate(zip(linked[::2], linked[1::2], strict=True)):
                scope = (a, b) if a != b else (a,)
                nothing: list[list[int]] = [[] for _ in range(2 ** len(scope) - 1)]
                yield Term(scope, lists=[*nothing, [private + r]])
        else:
            count = int(f.privates[factor + 1] - f.privates[factor])
            extra = f.extra[f.extras[factor] : f.extras[factor + 1]]
            kind = kind_of(int(f.kinds[factor]))
            yield _listed(kind, linked, widths, private, count, extra)


def _listed(
    kind: FactorKind, linked: list[int], widths: list[int], first: int, count: int, extra: Array
) -> Term:
    """List the private parts of every joint state that a factor allows."""
    scope = tuple(dict.fromkeys(linked))
    lists = []
    for joint in product(*(range(max(2, widths[v])) for v in scope)):
        chosen = dict(zip(scope, joint, strict=True))
        x = np.concatenate(
            [
                np.array([float(chosen[v])]) if widths[v] == 1 else np.eye(widths[v])[chosen[v]]
                for v in linked
            ]
        )
        private = np.zeros(count)
        allowed = kind.extend(x, private, np.array([widths[v] for v in linked]), extra)
        lists.append((first + np.flatnonzero(private)).tolist() if allowed else [FORBIDDEN])
    return Term(scope, lists=lists)


class _Arrays:
    """The arrays of `JunctionTrees` of several graphs, gathered bucket by bucket."""

    def __init__(self) -> None:
        self.values: dict[str, list[int]] = {name: [] for name in VALUES}
        self.ends: dict[str, list[int]] = {name: [0] for name in ENDS}
        self.listed_ends: list[int] = []

    def add_graph(self, tree: JunctionTree) -> tuple[int, int]:
        """Add the buckets of a graph; return how many edges and vertices its hypergraph has."""
        edges, vertices = 0, 0
        for bucket, terms in zip(tree.buckets, tree.terms, strict=True):
            own = 1 if bucket.variable < 0 else tree.states[bucket.variable]
            widths = [own, *(tree.states[v] for v in bucket.above)]
            digits = {v: d for d, v in enumerate([bucket.variable, *bucket.above])}
            self._add("edge", edges)
            self._add("vertex", vertices)
            self._add("cells", prod(widths))
            edges, vertices = edges + prod(widths), vertices + prod(widths[1:])
            for side, b in zip(("left", "right"), [*bucket.below, -1, -1], strict=False):
                self._add(side, b)
                above = tree.buckets[b].above if b >= 0 else []
                self._add(f"{side}_strides", *_strides(above[::-1], tree.states, digits))
            self._add("variables", *digits)
            self._add("widths", *widths)
            self.ends["digits"].append(len(self.values["widths"]))
            self._add_terms(terms, tree.states, digits)
        self.ends["buckets"].append(len(self.values["cells"]))
        return edges, vertices

    def _add_terms(self, terms: list[Term], states: list[int], digits: dict[int, int]) -> None:
        last = [max((digits[v] for v in term.scope), default=0) for term in terms]
        for at in sorted(range(len(terms)), key=last.__getitem__):
            term = terms[at]
            self._add("stride", *_strides(term.scope, states, digits)[: last[at] + 1])
            self.ends["strides"].append(len(self.values["stride"]))
            self._add("states", prod(states[v] for v in term.scope))
            self._add("part", term.part)
            if term.lists is not None:
                listed = self.values["listed"]
                self.listed_ends.append(len(listed))
                for parts in term.lists:
                    listed += parts
                    self.listed_ends.append(len(listed))
            self.ends["lists"].append(len(self.listed_ends))
        self.ends["terms"].append(len(self.values["states"]))

    def _add(self, name: str, *values: int) -> None:
        self.values[name] += values

    def packed(self) -> dict[str, Any]:
        """The fields of the record."""
        fields = {**self.values, **self.ends, "ends": self.listed_ends}
        return {name: np.array(values, np.int64) for name, values in fields.items()}


def _strides(scope: Any, states: list[int], digits: dict[int, int]) -> list[int]:
    """By how many joint states of a scope, whose last variable is the fastest, a step of each digit
    of a table moves.
    """
    strides, step = [0] * len(digits), 1
    for v in reversed(scope):
        strides[digits[v]] = step
        step *= states[v]
    return strides


def _packed(graph: Array, trees: list[JunctionTree]) -> Record:
    """Pack the trees, and scratch for the largest."""
    from structopt.kernels.junction.record import WORK

    arrays, edges, vertices = _Arrays(), 0, 0
    for tree in trees:
        sizes = arrays.add_graph(tree)
        edges, vertices = max(edges, sizes[0]), max(vertices, sizes[1])
    fields = arrays.packed()
    refuse_what_does_not_fit(
        CELL_BYTES * edges + VERTEX_BYTES * vertices,
        f"Exact inference on the largest graph, with tables of {edges:,} entries,",
        "Use AD3(), LP() or ILP(), or a smaller `max_table`.",
        {"max_table": "inference"},
    )
    tables = {
        "known": 1,
        "starts": vertices + 1,
        "left": edges,
        "right": edges,
        "scores": edges + vertices,
        "marginals": edges + vertices,
        "inside": vertices,
        "places": int(fields["cells"].max(initial=0)),
        "values": int(fields["states"].max(initial=0)),
        "state": max((len(tree.states) for tree in trees), default=0),
    }
    return WORK.pack(trees=fields | {"graph": graph}, tables=tables)
