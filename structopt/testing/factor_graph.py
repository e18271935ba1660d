"""What every factor graph promises: a layout of parts, gold indicators that are an output's, and costs that are zero there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from structopt.core.data import Encoded, SparseVectors, Structure, part_offsets
from structopt.core.factor_graph import FactorGraph
from structopt.inference.enumeration import OUTPUTS
from structopt.kernels.record import Array


def dense(vectors: SparseVectors, i: int, size: int) -> Array:
    """Sparse vector of instance i, in full."""
    own, full = slice(*vectors.offsets[i : i + 2]), np.zeros(size)
    np.add.at(full, vectors.parts[own], vectors.values[own])
    return full


class FactorGraphSuite:
    """Override `graph` and `encoded`, a small corpus with gold outputs; parametrise the fixtures for more."""

    @pytest.fixture
    def graph(self) -> Any:
        """Make the factor graph under test."""
        raise NotImplementedError

    @pytest.fixture
    def encoded(self) -> Encoded:
        """Make a corpus, such as `structopt.testing.problems.random_encoded`."""
        raise NotImplementedError

    @pytest.fixture
    def structure(self, graph: FactorGraph, encoded: Encoded) -> Structure:
        """Build the graphs."""
        built: Structure = graph.build(encoded)
        return built

    def outputs(self, structure: Structure, i: int) -> Array:
        """Return the part indicators of all outputs of instance i, shape (outputs, parts)."""
        if structure.kind not in OUTPUTS:
            pytest.skip(f"inference=enumeration does not know structures of kind {structure.kind}")
        s = np.zeros(int(np.diff(structure.parts)[i]))
        vertices = OUTPUTS[structure.kind](structure.record, i, s)[1]
        return np.asarray(vertices[~(vertices[:, s == -np.inf] != 0).any(axis=1)])

    def test_layout(self, graph: FactorGraph, encoded: Encoded, structure: Structure) -> None:
        """The part groups, in order, are the part vector; names are distinct; the kind is the graph's."""
        assert structure.kind == graph.kind
        assert len(structure) == len(encoded)
        np.testing.assert_array_equal(structure.parts, part_offsets(structure.groups))
        assert len({group.name for group in structure.groups}) == len(structure.groups)
        for group in structure.groups:
            assert len(group.offsets) == len(encoded) + 1
            if group.tied:
                np.testing.assert_array_equal(np.diff(group.offsets), 1)

    def test_building_again_gives_the_same(self, graph: FactorGraph, encoded: Encoded, structure: Structure) -> None:
        """A graph keeps nothing of a corpus."""
        again = graph.build(encoded)
        for a, b in zip(structure.record, again.record, strict=True):
            np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(structure.parts, again.parts)

    def test_gold_is_an_output(self, graph: FactorGraph, encoded: Encoded, structure: Structure) -> None:
        """The gold indicators are those of one of the outputs."""
        gold = graph.gold(encoded, structure)
        for i, size in enumerate(np.diff(structure.parts)):
            z, vertices = dense(gold, i, int(size)), self.outputs(structure, i)
            assert (vertices == z).all(axis=1).sum() == 1

    def test_outputs_begin_with_their_variables(self, encoded: Encoded, structure: Structure) -> None:
        """Of the configurations of each variable every output has one."""
        if structure.choices is None:
            starts = np.arange(int(encoded.offsets[-1]) + 1) * structure.groups[0].width
        else:
            starts = structure.choices
        for i, begin in enumerate(encoded.offsets[:-1]):
            bounds = starts[begin : int(encoded.offsets[i + 1]) + 1] - starts[begin]
            for first, last in zip(bounds[:-1], bounds[1:], strict=True):
                np.testing.assert_array_equal(self.outputs(structure, i)[:, first:last].sum(axis=1), 1.0)

    def test_cost(self, graph: FactorGraph, encoded: Encoded, structure: Structure) -> None:
        """Outputs that miss the gold part of some variables cost the sum of these variables' weights, the gold output nothing."""
        weights = np.random.default_rng(0).uniform(0.5, 2.0, int(encoded.offsets[-1]))
        gold, cost = graph.gold(encoded, structure), graph.cost(encoded, structure, weights)
        for i, size in enumerate(np.diff(structure.parts)):
            z, p, vertices = dense(gold, i, int(size)), dense(cost, i, int(size)), self.outputs(structure, i)
            found, most = vertices @ p - z @ p, weights[slice(*encoded.offsets[i : i + 2])].sum()
            assert found.min() == pytest.approx(0.0, abs=1e-12)
            assert found.max() <= most + 1e-12
            np.testing.assert_allclose(found[(vertices == z).all(axis=1)], 0.0, atol=1e-12)

    def test_positional(self, graph: FactorGraph, encoded: Encoded, structure: Structure) -> None:
        """Where it has closed forms, asked for positions it ties no parts, and the gold output is still one."""
        if graph.calculus is None:
            pytest.skip("no closed forms")
        apart = graph.build(encoded, positional=True)
        assert not any(group.tied for group in apart.groups)
        self.test_gold_is_an_output(graph, encoded, apart)
