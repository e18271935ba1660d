"""Some instances of a corpus are what they were in the whole, for every kind of corpus."""

from dataclasses import dataclass, replace
from functools import partial
from math import inf

import numpy as np
import pytest

from structopt.core.data.attribute_table import AttributeTable
from structopt.core.data.encoded import Encoded, EncodedGraphs
from structopt.errors import ConfigError
from structopt.executor.serial import Serial
from structopt.executor.threads import Threads
from structopt.factor_graph.arc_factored import ArcFactored
from structopt.factor_graph.linear_chain import LinearChain
from structopt.factor_graph.pairwise import Pairwise
from structopt.factor_graph.second_order import SecondOrder
from structopt.factor_graph.single import Single
from structopt.formats.labelled_images import Images
from structopt.inference.exact import Exact
from structopt.inference.loopy_bp import LoopyBP
from structopt.inference.mplp import MPLP
from structopt.inference.trw_bp import TRWBP
from structopt.loss.family import LossFamily
from structopt.task.grid import EncodedImages
from structopt.testing.problems import (
    loss_and_gradient,
    make_problem,
    random_encoded,
    random_graphs,
    random_trees,
    random_weights,
)

LENGTHS = (3, 1, 4, 2, 5, 1, 3)
HASHED = {
    "templates": ["h.form & m.form", "h.upos & m.upos"],
    "hash_bits": 10,
    "label_bits": 4,
    "distances": [1, 2],
}
JOINED = {"siblings": ["h.upos & m.upos & s.upos"], "grandparents": ["g.upos & h.upos & m.upos"]}


def images():
    """Graphs of grids, and pixels to know them by."""
    graphs = random_graphs(5, (4, 6, 4, 6), 2, "grid", edge_attributes=3)
    fields = {
        name: getattr(graphs, name) for name in ("offsets", "tables", "labels", "gold", "edges")
    }
    shapes, cells = np.array([[2, 2], [2, 3], [2, 2], [2, 3]]), np.arange(20)
    return EncodedImages(
        **fields, images=Images("", shapes, cells[:, None], cells.astype(np.int32))
    )


def corpora():
    """Corpora, a graph for each, an inference, beta, and the options of the features."""
    chain, exact = LinearChain(), Exact()
    return {
        "chain": (random_encoded(1, LENGTHS), chain, exact, 1.0, {}),
        "constrained": (random_encoded(1, LENGTHS, constrained=True), chain, exact, 1.0, {}),
        "partial": (random_encoded(2, LENGTHS, partial=True), chain, exact, 1.0, {}),
        "anchored": (random_encoded(3, LENGTHS, anchored=True, values=True), chain, exact, 1.0, {}),
        "second order": (random_encoded(3, LENGTHS), LinearChain(2), exact, 1.0, {}),
        "classes": (random_encoded(4, (1,) * 9), Single(), exact, 1.0, {}),
        "trees": (random_trees(1, LENGTHS), ArcFactored(), exact, 1.0, HASHED),
        "pruned trees": (
            random_trees(1, LENGTHS, candidates=True),
            ArcFactored(),
            exact,
            1.0,
            HASHED,
        ),
        "second-order trees": (
            random_trees(1, LENGTHS, candidates=True),
            SecondOrder(),
            LoopyBP(),
            1.0,
            HASHED | JOINED,
        ),
        "graphs": (
            random_graphs(2, (2, 3, 1, 4), 3, edge_attributes=4),
            Pairwise("task"),
            LoopyBP(),
            1.0,
            {},
        ),
        "complete graphs": (
            random_graphs(2, (2, 3, 1, 4), 3),
            Pairwise("complete"),
            LoopyBP(),
            1.0,
            {},
        ),
        "bounds": (random_graphs(2, (2, 3, 1, 4), 3, "chain"), Pairwise("task"), MPLP(), inf, {}),
        "convex bounds": (
            random_graphs(2, (2, 3, 1, 4), 3),
            Pairwise("complete"),
            TRWBP(),
            1.0,
            {},
        ),
        "wide": (
            random_graphs(3, (3,) * 5, 2, wide=True, edge_attributes=4),
            Pairwise("task"),
            LoopyBP(),
            1.0,
            {},
        ),
        "one variable": (
            random_graphs(3, (1,) * 5, 2, wide=True),
            Pairwise("none"),
            LoopyBP(),
            1.0,
            {},
        ),
        "images": (images(), Pairwise("task"), LoopyBP(), 1.0, {}),
    }


CORPORA = corpora()


def problem_of(name):
    encoded, graph, inference, beta, options = CORPORA[name]
    return make_problem(
        encoded, graph, LossFamily(beta, 1.0), inference, support="seen", options=options
    )


def flat(value):
    """All arrays of a corpus, with their names."""
    if isinstance(value, np.ndarray):
        return [value]
    if isinstance(value, AttributeTable):
        return flat((value.offsets, value.ids, value.values))
    if isinstance(value, dict):
        return [array for key in sorted(value) for array in flat(value[key])]
    if isinstance(value, tuple):
        return [array for one in value for array in flat(one)]
    return flat(tuple(vars(value).values())) if isinstance(value, Images) else []


@pytest.mark.parametrize("name", CORPORA)
def test_losses_and_gradient_are_the_sums_over_instances(name):
    """Over two shards, over more, and over one: the losses and gradients of the instances, one
    after the other.
    """
    problem = problem_of(name)
    weights = random_weights(problem, 1)
    single = [loss_and_gradient(problem, weights, i) for i in range(problem.m)]
    for executor in (Serial(), Serial(shards=2), Serial(shards=1), Threads(2, shards=3)):
        problem.executor = executor
        losses, gradient = problem.gradient(weights)
        assert losses == pytest.approx(sum(loss for loss, _ in single), rel=1e-10)
        np.testing.assert_allclose(gradient, sum(g for _, g in single), atol=1e-10)
        assert len(problem._shards.bounds) == min(executor.shards, problem.m)
    assert np.abs(gradient).max() > 1e-3


@pytest.mark.parametrize("name", CORPORA)
def test_a_subset_of_a_subset(name):
    """Is the same subset; and the whole is the whole."""
    encoded = CORPORA[name][0]
    inner, direct = encoded.subset(1, len(encoded)).subset(1, 3), encoded.subset(2, 4)
    assert len(direct) == 2 and type(direct) is type(encoded)
    for pair in ((inner, direct), (encoded.subset(0, len(encoded)), encoded)):
        found, expected = (flat(tuple(getattr(one, field) for field in vars(one))) for one in pair)
        assert len(found) == len(expected) >= 3
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", ["chain", "trees", "wide", "graphs"])
def test_the_same_bits_with_any_number_of_workers(name):
    found = []
    for executor in (Serial(), Threads(1), Threads(2), Threads(5)):
        problem = problem_of(name)
        problem.executor = executor
        found.append(problem.gradient(random_weights(problem, 1)))
    for losses, gradient in found[1:]:
        assert losses == found[0][0]
        np.testing.assert_array_equal(gradient, found[0][1])


def test_messages_come_back():
    """What the inference leaves in its memory is that of all instances."""
    problem = problem_of("graphs")
    assert not problem.messages.any()
    problem.gradient(random_weights(problem, 1))
    assert len(problem.messages) == problem.m
    assert (problem.messages != 0).all()


@pytest.mark.parametrize("shards", [1, 3])
def test_messages_that_are_kept_are_of_steps_alone(shards):
    """P and its gradient are those of an inference that starts from nothing: neither read what
    steps left, nor change it.
    """
    problem = make_problem(
        CORPORA["bounds"][0],
        Pairwise("task"),
        LossFamily(inf, 1.0),
        MPLP(passes=3, warm_start=True),
    )
    problem.executor = Serial(shards=shards)
    weights = random_weights(problem, 1)
    losses, gradient = problem.gradient(weights)
    assert not problem.messages.any() and len(problem.messages)
    problem.messages[:] = left = np.linspace(-5.0, 5.0, len(problem.messages))
    again, same = problem.gradient(weights)
    assert again == losses
    np.testing.assert_array_equal(same, gradient)
    np.testing.assert_array_equal(problem.messages, left)


@dataclass(frozen=True, kw_only=True)
class Coloured(Encoded):
    colours: np.ndarray


def test_corpora_that_do_not_tell_how_to_divide_them():
    encoded = random_encoded(1, LENGTHS)
    fields = {name: getattr(encoded, name) for name in ("offsets", "tables", "labels", "gold")}
    with pytest.raises(
        ConfigError, match=r"Coloured has data beyond those of Encoded .* give it a method subset"
    ):
        Coloured(**fields, colours=np.zeros(7)).subset(0, 2)
    other = replace(encoded, tables={"triple": encoded.tables["label"]})
    with pytest.raises(
        ConfigError, match="which rows of its table triple belong to which instance"
    ):
        other.subset(0, 2)


def test_problems_without_a_graph_have_one_shard():
    problem = problem_of("chain")
    weights, expected = random_weights(problem, 1), partial(np.testing.assert_allclose, atol=1e-12)
    losses, gradient = problem.gradient(weights)
    problem.examples = replace(problem.examples, graphs=None)
    problem.executor = Threads(2)
    again, same = problem.gradient(weights)
    assert len(problem._shards.bounds) == 1
    assert again == pytest.approx(losses, rel=1e-13)
    expected(same, gradient)


def test_graphs_of_one_variable_have_tables_of_either_kind():
    """Rows a variable and rows an instance are the same then."""
    encoded = CORPORA["one variable"][0]
    assert isinstance(encoded, EncodedGraphs)
    np.testing.assert_array_equal(
        encoded.subset(1, 3).tables["label"].ids, encoded.tables["label"].subset(1, 3).ids
    )
