"""What every factor graph promises: a layout of parts, gold indicators that are an output's, and
costs that are zero there.
"""

from __future__ import annotations

from dataclasses import replace
from math import isclose
from typing import Any
from unittest import SkipTest

import numpy as np

from structopt.core.data.encoded import Encoded, EncodedTrees
from structopt.core.data.sparse_vectors import SparseVectors
from structopt.core.data.structure import Structure, part_offsets
from structopt.core.factor_graph import FactorGraph
from structopt.errors import ConfigError
from structopt.kernels.waist.record import Array
from structopt.testing.promises import default, promises, required


def dense(vectors: SparseVectors, i: int, size: int) -> Array:
    """Sparse vector of instance i, in full."""
    own, full = slice(*vectors.offsets[i : i + 2]), np.zeros(size)
    np.add.at(full, vectors.parts[own], vectors.values[own])
    return full


@promises("factor graph")
class FactorGraphSuite:
    """Override two fixtures: `graph` returns the factor graph under test, `encoded` a small corpus
    with gold outputs. Parametrise them for more.
    """

    @required
    def graph(self) -> Any:
        """Return the factor graph under test."""

    @required
    def encoded(self) -> Any:
        """Return a small corpus with gold outputs: an `Encoded`, such as
        `structopt.testing.problems.random_encoded(0)`.

        All outputs of its instances are listed, so keep each to a few variables.
        """

    @default
    def structure(self, graph: FactorGraph, encoded: Encoded) -> Structure:
        """Build the graphs."""
        built: Structure = graph.build(encoded)
        return built

    def outputs(self, structure: Structure, i: int) -> Array:
        """Return the part indicators of all outputs of instance i, shape (outputs, parts)."""
        if structure.kind.vertices is None:
            raise SkipTest(f"structures of kind {structure.kind} do not list their outputs")
        return structure.kind.vertices(
            structure.record, i, int(np.diff(structure.parts)[i]), 100_000
        )

    def test_layout(self, graph: FactorGraph, encoded: Encoded, structure: Structure) -> None:
        """The part groups, in order, are the part vector; names are distinct; the kind is the
        graph's.

        Give `build` the kind of `traits`, one `PartGroup` a name, with offsets for every instance
        (steps of 1 in tied groups), and `parts=part_offsets(groups)`.
        """
        assert structure.kind == graph.kind
        assert len(structure) == len(encoded)
        np.testing.assert_array_equal(structure.parts, part_offsets(structure.groups))
        assert len({group.name for group in structure.groups}) == len(structure.groups)
        for group in structure.groups:
            assert len(group.offsets) == len(encoded) + 1
            if group.tied:
                np.testing.assert_array_equal(np.diff(group.offsets), 1)

    def test_lists(self, graph: FactorGraph) -> None:
        """The kind says of its exact algorithms whether they list the k best outputs.

        Pass `lists=True` to `StructureKind` where, and only where, the exact algorithms that it
        names have a `k_best` kernel.
        """
        assert graph.kind.lists == (
            graph.kind.exact is not None and graph.kind.exact().lists is not None
        )

    def test_building_again_gives_the_same(
        self, graph: FactorGraph, encoded: Encoded, structure: Structure
    ) -> None:
        """A graph keeps nothing of a corpus.

        Do not keep anything of a corpus in `self`, and draw no random numbers in `build`.
        """
        again = graph.build(encoded)
        for a, b in zip(structure.record, again.record, strict=True):
            np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(structure.parts, again.parts)

    def test_gold_is_an_output(
        self, graph: FactorGraph, encoded: Encoded, structure: Structure
    ) -> None:
        """The gold indicators are those of one of the outputs.

        Compare what `gold` returns with the list of the kind (`StructureKind.vertices`): all parts
        of the gold output, of every group, counted from the first part of their instance, with the
        right counts in tied groups.
        """
        gold = graph.gold(encoded, structure)
        for i, size in enumerate(np.diff(structure.parts)):
            z, vertices = dense(gold, i, int(size)), self.outputs(structure, i)
            assert (vertices == z).all(axis=1).sum() == 1

    def test_views(self, graph: FactorGraph, encoded: Encoded, structure: Structure) -> None:
        """A view is read from an untied group, and outputs that differ in the parts of the group
        have different views.

        Name in `views` an untied group, and read all of its parts in `view`.
        """
        groups = {group.name: group for group in structure.groups}
        for name, group in graph.views.items():
            assert not groups[group].tied
            vertices = self.outputs(structure, 0)
            begins, offsets = structure.spans(group)
            own = vertices[:, begins[0] : begins[0] + offsets[1]]
            views = [
                self._view_of_first(graph, name, encoded, structure, vertex)
                for vertex in vertices[:200]
            ]
            assert len({str(view) for view in views}) == len(np.unique(own[:200], axis=0))

    def test_view_of_gold_is_gold(
        self, graph: FactorGraph, encoded: Encoded, structure: Structure
    ) -> None:
        """The view of the gold output is what the corpus says, where views are labels or heads.

        `view` must undo `gold`: label numbers for `labels`, head and relation for `heads`.
        """
        gold = graph.gold(encoded, structure)
        if "labels" in graph.views:
            np.testing.assert_array_equal(
                graph.view("labels", encoded, structure, gold), encoded.gold
            )
        if (
            "heads" in graph.views
            and isinstance(encoded, EncodedTrees)
            and encoded.heads is not None
        ):
            heads, relations = graph.view("heads", encoded, structure, gold).T
            np.testing.assert_array_equal(heads, self._gold_heads(encoded))
            np.testing.assert_array_equal(relations, encoded.gold if graph.traits.labeled else -1)

    def test_outputs_survive_their_views(
        self, graph: FactorGraph, encoded: Encoded, structure: Structure
    ) -> None:
        """A corpus whose gold is the view of an output has the gold parts of this output.

        `view` and `gold` must agree: the gold parts of a corpus whose gold is a view are those of
        the output that was viewed.
        """
        sets = {"labels": self._with_labels, "heads": self._with_heads}
        for name in graph.views.keys() & sets.keys():
            vertices = self.outputs(structure, 0)
            for vertex in vertices[:: max(1, len(vertices) // 100)]:
                view = np.asarray(self._view_of_first(graph, name, encoded, structure, vertex))
                again = graph.gold(sets[name](encoded, view), structure)
                np.testing.assert_array_equal(dense(again, 0, len(vertex)), vertex)

    def test_gold_that_is_known_in_part(
        self, graph: FactorGraph, encoded: Encoded, structure: Structure
    ) -> None:
        """The allowed outputs are those that agree with what is known; a variable that does not
        costs its weight.

        Return from `allowed` the parts of each variable and those of them that gold may have; raise
        ConfigError where the graph cannot.
        """
        generator, count = np.random.default_rng(1), int(encoded.offsets[-1])
        assert encoded.gold is not None
        allowed = generator.random((count, len(encoded.labels))) < 0.5
        allowed[np.arange(count), encoded.gold] = True
        allowed[generator.random(count) < 0.3] = True
        free: Any = (
            {"free_heads": generator.random(count) < 0.5}
            if isinstance(encoded, EncodedTrees)
            else {}
        )
        partial = replace(encoded, gold_sets=allowed, **free)
        try:
            targets = graph.targets(partial, structure)
        except ConfigError:
            raise SkipTest("gold must be known in full") from None
        weights, view = generator.uniform(0.5, 2.0, count), next(iter(graph.views))
        gold, cost = graph.gold(encoded, structure), graph.cost(partial, structure, weights)
        restricted, n = targets.allowed, int(encoded.offsets[1])
        size = int(structure.parts[1])
        least = dense(cost, 0, size) @ dense(gold, 0, size)
        for vertex in self.outputs(structure, 0)[:500]:
            right = self._agrees(
                partial, np.asarray(self._view_of_first(graph, view, encoded, structure, vertex))
            )[:n]
            missed = weights[:n][~right].sum()
            found = vertex @ dense(cost, 0, size) - least
            assert isclose(found, missed, rel_tol=0.0, abs_tol=1e-12)
            if not targets.sets[0]:
                assert right.all() == (vertex == dense(targets.points, 0, size)).all()
                continue
            outside = np.zeros(size, bool)
            for v in range(restricted.variables[0], restricted.variables[1]):
                outside[restricted.starts[v] : restricted.ends[v]] = True
                outside[restricted.parts[restricted.offsets[v] : restricted.offsets[v + 1]]] = False
            assert right.all() == (vertex[outside] == 0).all()

    def _agrees(self, encoded: Encoded, view: Array) -> Array:
        """Of every variable whether its label, or its head and relation, is one that gold may
        have.
        """
        assert encoded.gold_sets is not None
        if not isinstance(encoded, EncodedTrees):
            return np.asarray(encoded.gold_sets[np.arange(len(view)), view])
        assert encoded.free_heads is not None
        heads, relations = view.T
        known = (relations < 0) | encoded.gold_sets[np.arange(len(view)), relations]
        return np.asarray(known & (encoded.free_heads | (heads == self._gold_heads(encoded))))

    def _gold_heads(self, encoded: EncodedTrees) -> Array:
        """Gold heads as views have them: 0 for the root, else counted from 1."""
        assert encoded.heads is not None
        position = np.arange(len(encoded.heads)) - np.repeat(
            encoded.offsets[:-1], np.diff(encoded.offsets)
        )
        return np.where(encoded.heads == position, 0, encoded.heads + 1)

    def _with_labels(self, encoded: Encoded, view: Array) -> Encoded:
        return replace(encoded, gold=view.astype(np.int32))

    def _with_heads(self, encoded: Encoded, view: Array) -> Encoded:
        position = np.arange(len(view)) - np.repeat(encoded.offsets[:-1], np.diff(encoded.offsets))
        heads, relations = np.where(view[:, 0] == 0, position, view[:, 0] - 1), view[:, 1]
        assert isinstance(encoded, EncodedTrees) and encoded.gold is not None
        gold = np.where(relations < 0, encoded.gold, relations)
        return replace(encoded, heads=heads.astype(np.int32), gold=gold.astype(np.int32))

    def _view_of_first(
        self, graph: FactorGraph, name: str, encoded: Encoded, structure: Structure, vertex: Array
    ) -> Any:
        """The view of one output of the first instance, beside the gold outputs of all others."""
        gold, parts = graph.gold(encoded, structure), np.flatnonzero(vertex)
        offsets = np.concatenate([[0], gold.offsets[1:] - gold.offsets[1] + len(parts)])
        after = slice(int(gold.offsets[1]), None)
        outputs = SparseVectors(
            offsets,
            np.concatenate([parts, gold.parts[after]]).astype(np.int32),
            np.concatenate([vertex[parts], gold.values[after]]),
        )
        view = graph.view(name, encoded, structure, outputs)
        return (
            [np.asarray(one).tolist() for one in view]
            if isinstance(view, tuple)
            else np.asarray(view).tolist()
        )

    def test_active(self, structure: Structure) -> None:
        """No output has more parts than the structure says.

        Set `active` of the `Structure` to the most parts that an output has, or leave it None.
        """
        for i in range(len(structure)):
            assert (self.outputs(structure, i) != 0).sum(axis=1).max() <= structure.most_active

    def test_cost(self, graph: FactorGraph, encoded: Encoded, structure: Structure) -> None:
        """Outputs that miss the gold part of some units, by default variables, cost the sum of
        their weights, gold nothing.

        Compare `cost` with the role's gold parts: an output costs the weights of the units, as
        `counted` lists them, whose gold part it misses, gold nothing.
        """
        ends = np.cumsum([0, *graph.counted("variable", encoded).lengths])
        weights = np.random.default_rng(0).uniform(0.5, 2.0, int(ends[-1]))
        gold, cost = graph.gold(encoded, structure), graph.cost(encoded, structure, weights)
        for i, size in enumerate(np.diff(structure.parts)):
            z, p, vertices = (
                dense(gold, i, int(size)),
                dense(cost, i, int(size)),
                self.outputs(structure, i),
            )
            costs, most = vertices @ p - z @ p, weights[slice(*ends[i : i + 2])].sum()
            assert isclose(costs.min(), 0.0, rel_tol=0.0, abs_tol=1e-12)
            assert costs.max() <= most + 1e-12
            np.testing.assert_allclose(costs[(vertices == z).all(axis=1)], 0.0, atol=1e-12)

    def test_positional(self, graph: FactorGraph, encoded: Encoded, structure: Structure) -> None:
        """Where it has closed forms, asked for positions it ties no parts, and the gold output is
        still one.

        Set `closed_forms` in `traits` where, and only where, `calculus` is given; and tie no parts
        where `build` is asked for positions.
        """
        assert graph.traits.closed_forms == (graph.calculus is not None)
        if graph.calculus is None:
            raise SkipTest("no closed forms")
        apart = graph.build(encoded, positional=True)
        assert not any(group.tied for group in apart.groups)
        self.test_gold_is_an_output(graph, encoded, apart)
