"""Small random problems, and slow, direct computations on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isqrt
from typing import Any, Literal, NamedTuple

import numpy as np

from structopt.core import checks
from structopt.core.data.attribute_table import AttributeTable
from structopt.core.data.encoded import Encoded, EncodedGraphs, EncodedTrees
from structopt.core.factor_graph import FactorGraph
from structopt.core.inference import Inference
from structopt.core.loss import Loss
from structopt.core.scorer import Scorer
from structopt.core.weights.penalty import RIDGE, Penalty
from structopt.features.attribute_rows import AttributeRows
from structopt.features.hashed_templates import HashedTemplates
from structopt.kernels.waist.record import Array
from structopt.objective.problem import Problem, Settings


class Outputs(NamedTuple):
    """All allowed outputs of one instance.

    Attributes
    ----------
    vertices : float64, shape (outputs, parts)
        Part indicators chi(y).
    features : float64, shape (parts, dimension)
        F(x)^T, restricted to the weights that may move.
    gold : float64, shape (parts,)
    costs : float64, shape (outputs,)
        cost(y', y), its constant included: 0 for the gold output.
    """

    vertices: Array
    features: Array
    gold: Array
    costs: Array


def random_encoded(
    seed: int = 0,
    lengths: Sequence[int] = (1, 2, 3, 4),
    labels: int = 3,
    attributes: int = 6,
    values: bool = False,
    anchored: bool = False,
    constrained: bool = False,
    partial: bool = False,
) -> Encoded:
    """Make a random corpus of sequences.

    Parameters
    ----------
    seed : int
    lengths : sequence of int
        Tokens of each instance.
    labels, attributes : int
        Sizes of the label set and of the vocabulary.
    values : bool
        Whether attributes have random values (else they are 1).
    anchored : bool
        Whether there are features on transitions.
    constrained : bool
        Whether a start, an end and a transition are forbidden.
    partial : bool
        Whether some tokens may take only some of the labels; the gold output stays possible.
    """
    generator = np.random.default_rng([seed, labels, sum(lengths)])
    offsets = np.cumsum([0, *lengths]).astype(np.int64)
    table = _random_table(generator, int(offsets[-1]), attributes, values)
    tables = {"label": table}
    if anchored:
        tables["transition"] = _random_table(
            generator, int(offsets[-1]) - len(lengths), attributes, values
        )
    last, forbidden = labels - 1, labels > 1 and constrained
    starts, pairs = ((last,), ((last, last),)) if forbidden else ((), ())
    ends = (0,) if forbidden and labels > 2 else ()
    gold = np.concatenate(
        [
            np.zeros(0, np.int32),
            *(_gold(generator, n, labels, starts, ends, pairs) for n in lengths),
        ]
    )
    allowed = None
    if partial:
        allowed = generator.random((len(gold), labels)) < 0.6
        allowed[np.arange(len(gold)), gold] = True
    names = tuple(f"y{k}" for k in range(labels))
    return Encoded(offsets, tables, names, gold.astype(np.int32), allowed, starts, ends, pairs)


def random_trees(
    seed: int = 0,
    lengths: Sequence[int] = (1, 2, 3, 4),
    labels: int = 2,
    columns: Sequence[str] = ("form", "upos"),
    candidates: bool = False,
    projective: bool = False,
    single_root: bool = True,
) -> EncodedTrees:
    """Make a random corpus of dependency trees.

    Parameters
    ----------
    seed : int
    lengths : sequence of int
        Tokens of each sentence.
    labels : int
        Size of the set of relations.
    columns : sequence of str
        Names of the columns; each has five values, the empty one among them.
    candidates : bool
        Whether tokens may take some of the heads only; the gold trees stay possible.
    projective, single_root : bool
        Whether all gold trees are so; else they need not be.
    """
    generator = np.random.default_rng([seed, labels, sum(lengths)])
    offsets = np.cumsum([0, *lengths]).astype(np.int64)
    draw = _projective_tree if projective else _tree
    heads = np.concatenate(
        [np.zeros(0, np.int32), *(draw(generator, n, single_root) for n in lengths)]
    ).astype(np.int32)
    codes = generator.integers(1, 6, (len(heads), len(columns))).astype(np.int32)
    gold = generator.integers(0, labels, len(heads)).astype(np.int32)
    kept = None
    if candidates:
        tokens = zip(heads.tolist(), np.repeat(lengths, lengths).tolist(), strict=True)
        rows = [
            np.flatnonzero((generator.random(n) < 0.6) | (np.arange(n) == head))
            for head, n in tokens
        ]
        listed = np.concatenate([np.zeros(0, np.int32), *rows]).astype(np.int32)
        kept = np.cumsum([0, *map(len, rows)]).astype(np.int64), listed
    names = tuple(f"r{k}" for k in range(labels))
    return EncodedTrees(
        offsets, {}, names, gold, columns=tuple(columns), codes=codes, heads=heads, candidates=kept
    )


def random_graphs(
    seed: int = 0,
    sizes: Sequence[int] = (2, 3, 4),
    labels: int = 2,
    edges: Literal["complete", "chain", "grid"] = "complete",
    attributes: int = 5,
    wide: bool = False,
    values: bool = False,
    edge_attributes: int = 0,
) -> EncodedGraphs:
    """Make a random corpus of graphs.

    Parameters
    ----------
    seed : int
    sizes : sequence of int
        Variables of each instance; all the same where the graphs are wide.
    labels : int
        States of every variable.
    edges : str
        ``complete``: between every two variables; ``chain``: between neighbours; ``grid``: between
        neighbours in a grid, row by row, as nearly square as it can be, whose last row may be
        short.
    attributes : int
        Size of the vocabulary.
    wide : bool
        Whether every variable and edge has weights of its own.
    values : bool
        Whether attributes have random values (else they are 1).
    edge_attributes : int
        Size of the vocabulary of the table ``edge``; 0: there is none.
    """
    generator = np.random.default_rng([seed, labels, sum(sizes), len(sizes)])
    offsets = np.cumsum([0, *sizes]).astype(np.int64)
    listed = [_graph_edges(n, edges) for n in sizes]
    begin = np.cumsum([0, *map(len, listed)]).astype(np.int64)
    joined = np.array([edge for some in listed for edge in some], np.int32).reshape(-1, 2)
    tables = {
        "label": _random_table(
            generator, len(sizes) if wide else int(offsets[-1]), attributes, values
        )
    }
    if edge_attributes:
        tables["edge"] = _random_table(
            generator, len(sizes) if wide else len(joined), edge_attributes, values
        )
    gold = generator.integers(0, labels, int(offsets[-1])).astype(np.int32)
    names = tuple(f"y{k}" for k in range(labels))
    return EncodedGraphs(offsets, tables, names, gold, edges=(begin, joined), wide=wide)


def with_open_gold(encoded: Encoded, seed: int = 0, share: float = 0.6) -> Encoded:
    """Leave some of the gold labels, and of trees some of the heads, open; the gold outputs stay
    among the allowed ones.

    Parameters
    ----------
    encoded : Encoded
    seed : int
    share : float
        Of the variables that are open; of these half may have any label, the others some.
    """
    assert encoded.gold is not None
    generator, labels = np.random.default_rng([seed, len(encoded.gold)]), len(encoded.labels)
    sets = np.arange(labels) == encoded.gold[:, None]
    opened = generator.random(len(sets)) < share
    sets[opened] |= generator.random((int(opened.sum()), labels)) < 0.5
    sets[opened & (generator.random(len(sets)) < 0.5)] = True
    if not isinstance(encoded, EncodedTrees):
        return replace(encoded, gold_sets=sets)
    return replace(encoded, gold_sets=sets, free_heads=generator.random(len(sets)) < share)


def make_problem(
    encoded: Encoded,
    graph: FactorGraph,
    loss: Loss,
    inference: Inference,
    C: float = 1.0,
    seed: int = 0,
    support: Literal["seen", "all"] = "all",
    variant: str = "max_loss",
    positional: bool = False,
    options: Mapping[str, Any] | None = None,
    scorer: Scorer | None = None,
    penalty: Penalty = RIDGE,
) -> Problem:
    """Put an encoded corpus and components together, as a run does.

    Without a `scorer` the features are those of attributes; of trees, templates with the `options`.
    """
    features: Scorer = AttributeRows(support)
    if isinstance(encoded, EncodedTrees):
        features = HashedTemplates(support, **(options or {}))
    return Problem.of(
        encoded,
        graph,
        loss,
        inference,
        (scorer or features).fit,
        Settings(C, seed, variant, penalty),
        positional,
    )


def random_weights(problem: Problem, seed: int = 0, scale: float = 1.0) -> Array:
    """Normal weights, zero where a weight may not move."""
    weights = scale * np.random.default_rng(seed).normal(size=problem.dimension)
    support = problem.examples.scorer.support
    return weights if support is None else weights * support


def _parts_of(problem: Problem, i: int) -> int:
    """Return the number of parts of an instance; refuse an index that does not exist."""
    checks.integers("i", i, 0, problem.m - 1, ())
    return int(problem.structure.parts[i + 1] - problem.structure.parts[i])


def instance_scores(problem: Problem, weights: Array, i: int) -> Array:
    """Part scores F(x_i)^T theta.

    Raises
    ------
    ArgumentError
        If the instance does not exist, or the weights have another length, type or layout, or NaN.
    """
    s = np.zeros(_parts_of(problem, i))
    problem.examples.check_weights(weights)
    data, theta = problem.examples.scored(problem.data, weights, (i, i + 1))
    problem.kernels.scores(data.features, theta, i, s, problem.space.gradient)
    return s


def residual(problem: Problem, s: Array, i: int) -> tuple[float, Array]:
    """Loss of instance i at the given part scores, and its gradient by them.

    Raises
    ------
    ArgumentError
        If the instance does not exist, or the scores have another shape or are NaN or +inf.
    """
    checks.floats("s", s, (_parts_of(problem, i),), allow_minus_inf=True)
    if not problem.loss.has_kernel:
        return problem.loss_at(i, s)
    k, data, r = problem.kernels, problem.data, np.zeros(len(s))
    messages = data.messages[data.memory[i] : data.memory[i + 1]]
    work = problem.space.work
    scratch = np.zeros(len(s)), np.zeros(len(s))
    value = k.evaluate(
        k.solve,
        data.structure,
        data.target,
        data.parameters,
        i,
        s.copy(),
        r,
        *scratch,
        messages,
        work,
    )
    return float(value), r


def loss_and_gradient(problem: Problem, weights: Array, i: int) -> tuple[float, Array]:
    """L_i and its gradient as a dense vector."""
    k, gradient, features = problem.kernels, problem.space.gradient, problem.data.features
    value, r = residual(problem, instance_scores(problem, weights, i), i)
    k.pullback(features, i, r, gradient)
    dense = np.zeros(problem.dimension)
    k.add(features, dense, gradient, 1.0)
    return value, dense


def outputs(problem: Problem, i: int) -> Outputs:
    """List the outputs of one instance, with its features and costs as dense arrays."""
    structure, size = problem.structure, _parts_of(problem, i)
    assert structure.kind.vertices is not None
    vertices = structure.kind.vertices(structure.record, i, size, 100_000)
    identity = np.eye(problem.dimension)
    columns = [instance_scores(problem, unit, i) for unit in identity]
    support = problem.examples.scorer.support
    features = np.stack(columns, axis=1) * (1.0 if support is None else support)
    gold, cost = gold_and_cost(problem, i, size)
    return Outputs(vertices, features, gold, vertices @ cost - gold @ cost)


def gold_and_cost(problem: Problem, i: int, size: int) -> tuple[Array, Array]:
    """Gold indicators and costs of one instance as dense vectors."""
    from structopt.kernels.waist.target import TARGET

    t = TARGET.open(problem.data.target)
    gold, cost = np.zeros(size), np.zeros(size)
    inside, charged = slice(*t.gold_offsets[i : i + 2]), slice(*t.cost_offsets[i : i + 2])
    np.add.at(gold, t.gold_parts[inside], t.gold_values[inside])
    np.add.at(cost, t.cost_parts[charged], t.cost_values[charged])
    return gold, cost


def _random_table(
    generator: np.random.Generator, positions: int, size: int, values: bool
) -> AttributeTable:
    counts = generator.integers(0, 4, positions)
    ids = generator.integers(0, size, int(counts.sum())).astype(np.int32)
    offsets = np.cumsum([0, *counts]).astype(np.int64)
    return AttributeTable(offsets, ids, generator.normal(size=len(ids)) if values else None, size)


def _graph_edges(n: int, shape: str) -> list[tuple[int, int]]:
    """Edges of a complete graph, a chain or a grid of n variables, in lexicographic order."""
    if shape == "complete":
        return [(i, j) for i in range(n) for j in range(i + 1, n)]
    if shape == "chain":
        return [(i, i + 1) for i in range(n - 1)]
    width = max(1, isqrt(n))
    right = [(i, i + 1) for i in range(n - 1) if (i + 1) % width]
    return sorted(right + [(i, i + width) for i in range(n - width)])


def _tree(generator: np.random.Generator, n: int, single_root: bool) -> Array:
    """Heads of a random tree: the tokens, in random order, choose one of those before them, or the
    root.
    """
    order, heads = generator.permutation(n), np.arange(n)
    for k in range(1, n):
        chosen = int(generator.integers(0, k + (not single_root)))
        if chosen < k:
            heads[order[k]] = order[chosen]
    return heads


def _projective_tree(generator: np.random.Generator, n: int, single_root: bool) -> Array:
    """Heads of a random projective tree."""
    heads = np.arange(n)

    def attach(begin: int, end: int, head: int | None) -> None:
        """Divide the tokens begin..end - 1 into runs, each with a modifier of `head` above its
        other tokens.
        """
        while begin < end:
            cut = (
                end if head is None and single_root else int(generator.integers(begin + 1, end + 1))
            )
            m = int(generator.integers(begin, cut))
            heads[m] = m if head is None else head
            attach(begin, m, m)
            attach(m + 1, cut, m)
            begin = cut

    attach(0, n, None)
    return heads


def _gold(
    generator: np.random.Generator, n: int, labels: int, starts: Any, ends: Any, pairs: Any
) -> Array:
    while True:
        y = generator.integers(0, labels, n)
        broken = (
            y[0] in starts
            or y[-1] in ends
            or any((int(a), int(b)) in pairs for a, b in zip(y[:-1], y[1:], strict=True))
        )
        if not broken:
            return np.asarray(y, dtype=np.int32)
