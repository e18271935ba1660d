"""Targets and costs of a training corpus, made of as many of its instances at a time as fit into
memory.
"""

from __future__ import annotations

from structopt.core.cost import cost_vectors
from structopt.core.data.encoded import Encoded
from structopt.core.data.sparse_vectors import GrowingVectors, SparseVectors
from structopt.core.data.structure import Structure
from structopt.core.data.targets import Targets
from structopt.core.factor_graph import FactorGraph
from structopt.core.loss import Loss


def gold_and_costs(
    encoded: Encoded, graph: FactorGraph, loss: Loss, structure: Structure, positional: bool
) -> tuple[Targets, SparseVectors]:
    """Gold outputs, or sets of allowed ones, and the costs p of all instances.

    Parameters
    ----------
    encoded : Encoded
        In files, its gold outputs are known in full.
    graph, loss : components
    structure : Structure
        Its graphs.
    positional : bool
        As it was built.
    """
    ranges = encoded.storage.ranges(len(encoded))
    if len(ranges) == 1:
        return _of(encoded, graph, loss, structure)
    points, costs = GrowingVectors(encoded.storage), GrowingVectors(encoded.storage)
    for bounds in ranges:
        some = encoded.subset(*bounds)
        targets, cost = gold_and_costs_of_some(graph, loss, positional, some)
        points.add(targets.points)
        costs.add(cost)
    return Targets.of_points(points.vectors()), costs.vectors()


def gold_and_costs_of_some(
    graph: FactorGraph, loss: Loss, positional: bool, encoded: Encoded
) -> tuple[Targets, SparseVectors]:
    """Targets and costs of some instances in memory, whose gold outputs are known in full: those
    that the whole corpus has.
    """
    return _of(encoded, graph, loss, graph.build(encoded, positional))


def _of(
    encoded: Encoded, graph: FactorGraph, loss: Loss, structure: Structure
) -> tuple[Targets, SparseVectors]:
    targets = graph.targets(encoded, structure)
    return targets, cost_vectors(
        graph, encoded, structure, loss.role, loss.variable_costs, targets.points
    )
