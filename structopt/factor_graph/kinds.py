"""The kinds of structures that the graphs of this package build."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from structopt.core.structure_kind import StructureKind, algorithms
from structopt.factor_graph.grammar.chart_vertices import chart_vertices
from structopt.factor_graph.grammar.forest_vertices import forest_vertices
from structopt.factor_graph.vertices.chains_and_trees import (
    chain_vertices,
    independent_vertices,
    single_vertices,
    tree_vertices,
)
from structopt.factor_graph.vertices.factors import factor_vertices

CHAIN = StructureKind(
    "chain", partial(algorithms, "chain.linear_chain", "chain.k_best"), chain_vertices, lists=True
)
"""Viterbi, forward-backward, k-best Viterbi, whatever the order."""
FIRST_ORDER_CHAIN = replace(
    CHAIN, exact=partial(algorithms, "chain.first_order_chain", "chain.k_best")
)
"""The same kind. Its algorithms compile in half the time, because they lack higher orders."""
SINGLE = StructureKind(
    "single",
    partial(algorithms, "chain.single_variable", "chain.single_variable_k_best"),
    single_vertices,
    lists=True,
)
"""A look at every label."""
INDEPENDENT = StructureKind(
    "independent",
    partial(algorithms, "independent.independent", "independent.k_best"),
    independent_vertices,
    lists=True,
)
"""The same, variable by variable: any number of them, each with configurations of its own."""
ARBORESCENCE = StructureKind(
    "arborescence",
    partial(algorithms, "trees.arborescence", "trees.arborescence_k_best"),
    tree_vertices,
    lists=True,
)
"""Chu-Liu-Edmonds and the matrix-tree theorem."""
PROJECTIVE = StructureKind(
    "projective",
    partial(algorithms, "trees.projective", "trees.projective_k_best"),
    partial(tree_vertices, projective=True),
    lists=True,
)
"""Eisner's algorithm, and inside-outside on its chart."""
GRAMMAR = StructureKind(
    "grammar",
    partial(algorithms, "grammar.grammar", "grammar.k_best", "max_rule"),
    chart_vertices,
    lists=True,
    rounds=True,
    incomplete=True,
)
"""CKY, inside-outside, lazy lists of the k best trees; a sentence may have no tree."""
FOREST = replace(
    GRAMMAR,
    name="forest",
    exact=partial(algorithms, "forest.forest", "forest.k_best", "max_rule"),
    vertices=forest_vertices,
)
"""The same on packed forests, every use of a rule a part of its own."""
LOOPY = StructureKind("factors", vertices=factor_vertices, loopy=True)
"""Variables and factors of any shape; no algorithm is exact on all of them but a listing."""
TABLES = replace(
    LOOPY,
    exact=partial(algorithms, "junction.junction", "junction.k_best"),
    lists=True,
    eliminates=True,
)
"""The same kind, of factors over a few variables each: variable elimination, exact if its tables
are small.
"""
