"""Arrays from Python are checked before kernels read them; messages name field, place and bound."""

from dataclasses import replace

import numpy as np
import pytest

from structopt.core.data.dense_table import DenseTable
from structopt.core.data.encoded_checks import check_encoded
from structopt.errors import ArgumentError
from structopt.factor_graph.arc_factored import ArcFactored
from structopt.factor_graph.linear_chain import LinearChain
from structopt.factor_graph.pairwise import Pairwise
from structopt.features.attribute_rows import AttributeRows
from structopt.inference.exact import Exact
from structopt.inference.mplp import MPLP
from structopt.loss.family import LossFamily
from structopt.objective.examples import Examples
from structopt.objective.problem import Problem, Settings
from structopt.testing.inference import run
from structopt.testing.problems import (
    instance_scores,
    make_problem,
    random_encoded,
    random_graphs,
    random_trees,
    residual,
)
from tests.messages import raises

IN_MIDDLE = "instance 1, position 0"  # of lengths 2, 3: element 2


def sequences(**changes):
    return replace(random_encoded(lengths=(2, 3), values=True, anchored=True), **changes)


def table(group="label", **changes):
    encoded = sequences()
    tables = dict(encoded.tables)
    tables[group] = replace(tables[group], **changes)
    return replace(encoded, tables=tables)


def graphs(**changes):
    return replace(random_graphs(sizes=(2, 3), labels=2), **changes)


def trees(**changes):
    return replace(random_trees(lengths=(2, 3)), **changes)


def edited(array, index, value):
    array = array.copy()
    array[index] = value
    return array


def edited_table(name, index, value):
    return table(**{name: edited(getattr(sequences().tables["label"], name), index, value)})


def problem_of(encoded):
    """Build the problem of an encoded corpus by the public call."""
    graph, inference = {
        "Encoded": (LinearChain(), Exact()),
        "EncodedGraphs": (Pairwise(), MPLP()),
        "EncodedTrees": (ArcFactored(), Exact()),
    }[type(encoded).__name__]
    loss = LossFamily(beta=float("inf"), gamma=1.0)
    return Problem.of(encoded, graph, loss, inference, AttributeRows("all").fit, Settings(C=1.0))


@pytest.mark.parametrize(
    ("encoded", "fields"),
    [
        (lambda: sequences(offsets=np.array([0, 6, 5])), {"parameter": "offsets", "value": 5}),
        (lambda: sequences(offsets=np.array([0, 2, 50])), {"parameter": "gold"}),
        (lambda: sequences(offsets=np.array([0, 2, 2, 5])), {"where": "instance 1"}),
        (lambda: sequences(offsets=np.array([0.0, 2.0, 5.0])), {"parameter": "offsets"}),
        (lambda: sequences(offsets=[0, 2, 5]), {"parameter": "offsets"}),
        (
            lambda: sequences(gold=np.array([0, 0, 7, 0, 0])),
            {
                "parameter": "gold",
                "value": 7,
                "where": IN_MIDDLE,
                "problem": "must be from 0 to 2.",
            },
        ),
        (lambda: sequences(gold=np.array([0, 0, -1, 0, 0])), {"value": -1, "where": IN_MIDDLE}),
        (lambda: sequences(gold=np.zeros(4, int)), {"parameter": "gold"}),
        (lambda: sequences(gold=None), {"parameter": "gold"}),
        (lambda: sequences(allowed=np.ones((4, 3), bool)), {"parameter": "allowed"}),
        (lambda: sequences(forbidden_starts=(3,)), {"parameter": "forbidden_starts", "value": 3}),
        (
            lambda: sequences(instance_weights=np.array([1.0, -1.0])),
            {"parameter": "instance_weights", "value": -1.0, "where": "instance 1"},
        ),
        (
            lambda: edited_table("ids", 0, 10**6),
            {"parameter": "tables['label'].ids", "value": 10**6, "problem": "must be from 0 to 5."},
        ),
        (lambda: edited_table("ids", 0, -1), {"value": -1, "where": "row 0, element 0"}),
        (lambda: edited_table("values", 0, np.nan), {"parameter": "tables['label'].values"}),
        (lambda: edited_table("offsets", -1, 1000), {"parameter": "tables['label'].ids"}),
        (lambda: edited_table("offsets", 2, 1000), {"parameter": "tables['label'].offsets"}),
        (
            lambda: table(values=np.zeros(1)),
            {"parameter": "tables['label'].values"},
        ),
        (
            lambda: table("transition", offsets=np.zeros(9, np.int64)),
            {"parameter": "tables['transition'].offsets"},
        ),
        (
            lambda: sequences(
                dense={"label": (DenseTable(np.full((5, 1), 9, np.int32), np.zeros((2, 2))),)}
            ),
            {"parameter": "dense['label'][0].rows", "value": 9},
        ),
        (
            lambda: graphs(edges=(np.array([0, 0, 1]), np.array([[0, 3]], np.int32))),
            {"parameter": "edges[1]", "value": 3, "problem": "must be from 0 to 2."},
        ),
        (
            lambda: graphs(edges=(np.array([0, 0, 9]), np.array([[0, 1]], np.int32))),
            {"parameter": "edges[1]"},
        ),
        (
            lambda: trees(heads=np.array([0, 0, 4, 0, 0], np.int32)),
            {"parameter": "heads", "value": 4, "where": IN_MIDDLE},
        ),
        (lambda: trees(codes=np.zeros((5, 9), np.int32)), {"parameter": "codes"}),
    ],
)
def test_a_corpus_is_refused_before_kernels_read_it(encoded, fields):
    with raises(ArgumentError, **fields):
        problem_of(encoded())


def test_prediction_allows_unknown_gold_and_checks_the_rest():
    fitted = make_problem(sequences(), LinearChain(), LossFamily(), Exact())
    unknown = sequences(gold=np.full(5, -1))
    assert len(Examples.build(unknown, LinearChain(), fitted.scorer)) == 2
    with raises(ArgumentError, parameter="tables['label'].ids", value=-3):
        Examples.build(edited_table("ids", 0, -3), LinearChain(), fitted.scorer)


def test_the_helpers_of_structopt_testing_check_scores_and_weights():
    problem = make_problem(sequences(), LinearChain(), LossFamily(), Exact())
    solve = problem.kernels.solve
    with raises(ArgumentError, parameter="s"):
        run(solve, problem.structure, 0, np.zeros(1), 1.0)
    with raises(ArgumentError, parameter="s"):
        residual(problem, np.full(15, np.nan), 0)
    with raises(ArgumentError, parameter="i", value=2):
        instance_scores(problem, np.zeros(problem.dimension), 2)
    for call in (problem.objective, problem.gradient, lambda w: instance_scores(problem, w, 0)):
        with raises(ArgumentError, parameter="weights"):
            call(np.zeros(problem.dimension - 1))


def test_a_table_of_a_memory_map_is_not_read(tmp_path):
    matrix = np.memmap(tmp_path / "m", np.float32, "w+", shape=(2, 2))
    matrix[:] = np.nan
    dense = {"label": (DenseTable(np.zeros((5, 1), np.int32), matrix),)}
    check_encoded(sequences(dense=dense))


def test_valid_corpora_pass():
    for encoded in (sequences(), graphs(), trees(), random_trees(candidates=True)):
        check_encoded(encoded, training=True)
