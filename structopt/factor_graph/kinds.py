"""The kinds of structures that the graphs of this package build."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from importlib import import_module

from structopt.core.structure_kind import InferenceKernels, StructureKind
from structopt.factor_graph.grammar.chart_vertices import chart_vertices
from structopt.factor_graph.grammar.forest_vertices import forest_vertices
from structopt.factor_graph.vertices.chains_and_trees import (
    chain_vertices,
    independent_vertices,
    single_vertices,
    tree_vertices,
)
from structopt.factor_graph.vertices.factors import factor_vertices


def _algorithms(module: str) -> InferenceKernels:
    """The algorithms of a module of `structopt.kernels`, which are compiled when they are first
    asked for.
    """
    algorithms = import_module(f"structopt.kernels.{module}")
    return InferenceKernels(algorithms.solve, algorithms.k_best)


def _chains(module: str) -> InferenceKernels:
    """The algorithms on chains, with the lists of all orders."""
    from structopt.kernels.chain.k_best import k_best

    return InferenceKernels(import_module(f"structopt.kernels.chain.{module}").solve, k_best)


def _grammars() -> InferenceKernels:
    """The algorithms on charts of grammars."""
    from structopt.kernels.grammar import grammar

    return InferenceKernels(grammar.solve, grammar.k_best, grammar.max_rule)


def _forests() -> InferenceKernels:
    """The algorithms on packed forests."""
    from structopt.kernels.forest import forest

    return InferenceKernels(forest.solve, forest.k_best, forest.max_rule)


CHAIN = StructureKind("chain", partial(_chains, "linear_chain"), chain_vertices, lists=True)
"""Viterbi, forward-backward, k-best Viterbi, whatever the order."""
FIRST_ORDER_CHAIN = replace(CHAIN, exact=partial(_chains, "first_order_chain"))
"""The same kind. Its algorithms compile in half the time, because they lack higher orders."""
SINGLE = StructureKind(
    "single", partial(_algorithms, "chain.single_variable"), single_vertices, lists=True
)
"""A look at every label."""
INDEPENDENT = StructureKind(
    "independent", partial(_algorithms, "independent.independent"), independent_vertices, lists=True
)
"""The same, variable by variable: any number of them, each with configurations of its own."""
ARBORESCENCE = StructureKind(
    "arborescence", partial(_algorithms, "trees.arborescence"), tree_vertices, lists=True
)
"""Chu-Liu-Edmonds and the matrix-tree theorem."""
PROJECTIVE = StructureKind(
    "projective",
    partial(_algorithms, "trees.projective"),
    partial(tree_vertices, projective=True),
    lists=True,
)
"""Eisner's algorithm, and inside-outside on its chart."""
GRAMMAR = StructureKind(
    "grammar", _grammars, chart_vertices, lists=True, rounds=True, incomplete=True
)
"""CKY, inside-outside, lazy lists of the k best trees; a sentence may have no tree."""
FOREST = StructureKind(
    "forest", _forests, forest_vertices, lists=True, rounds=True, incomplete=True
)
"""The same on packed forests, every use of a rule a part of its own."""
LOOPY = StructureKind("factors", vertices=factor_vertices, loopy=True)
"""Variables and factors of any shape; no algorithm is exact on all of them but a listing."""
TABLES = replace(
    LOOPY, exact=partial(_algorithms, "junction.junction"), lists=True, eliminates=True
)
"""The same kind, of factors over a few variables each: variable elimination, exact if its tables
are small.
"""
