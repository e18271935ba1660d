"""Graphs that lack what a task reads or a cost counts, and partial labels where nothing completes
them, are refused by name.
"""

from math import inf

import pytest

from structopt.config import registry
from structopt.config.compatibility import check, check_task
from structopt.core.needs import Goal
from structopt.errors import CompatibilityError
from structopt.loss.family import LossFamily

LABELED = "arc_factored with factor_graph.labeled=true"
SVM = {"beta": inf, "gamma": 1.0}


PARTIAL = "task.partial=true"


def made(kind, name, **options):
    return registry.create(kind, {"name": name, **options})


def refused(graph, inference="exact", loss="svm", optimizer="dca", open_gold="", **options):
    with pytest.raises(CompatibilityError) as caught:
        chosen = (
            made("inference", inference),
            made("loss", loss, **SVM, **options),
            made("optimizer", optimizer),
        )
        check(graph, *chosen, open_gold)
    return str(caught.value)


@pytest.mark.parametrize(
    ("task", "graph", "message"),
    [
        (
            "dependency",
            "linear_chain",
            "task=dependency reads the heads of outputs, but factor_graph=linear_chain offers "
            "labels. "
            "Factor graphs that offer heads: arc_factored, second_order.",
        ),
        (
            "ner",
            "second_order",
            "task=ner reads the labels of outputs, but factor_graph=second_order offers heads. "
            "Factor graphs that offer labels: linear_chain, pairwise, single.",
        ),
    ],
)
def test_a_graph_offers_the_view_of_the_task(task, graph, message):
    with pytest.raises(CompatibilityError) as caught:
        check_task(made("task", task), made("factor_graph", graph), task)
    assert str(caught.value) == message


def test_tasks_and_their_own_graphs_fit():
    for task, graph in (
        ("ner", "linear_chain"),
        ("multiclass", "single"),
        ("multilabel", "pairwise"),
    ):
        check_task(made("task", task), made("factor_graph", graph))
    for graph in ("arc_factored", "second_order"):
        check_task(made("task", "dependency"), made("factor_graph", graph))


@pytest.mark.parametrize(
    ("graph", "cost", "others", "graphs"),
    [
        ("linear_chain", "labeled_arcs", "hamming, hamming_normalized, weighted", LABELED),
        ("arc_factored", "labeled_arcs", "arcs, hamming, hamming_normalized, weighted", LABELED),
        ("single", "arcs", "hamming, hamming_normalized, weighted", "arc_factored, second_order"),
    ],
)
def test_a_graph_has_what_a_cost_counts(graph, cost, others, graphs):
    role = {"arcs": "arc", "labeled_arcs": "labeled_arc"}[cost]
    assert refused(made("factor_graph", graph), cost=cost) == (
        f"This loss counts its cost in parts of the role {role}, which factor_graph={graph} does "
        "not have. "
        f"Set loss.cost=NAME with one of {others}; or take a factor graph that has the role: "
        f"{graphs}."
    )


def test_a_graph_with_labels_on_its_arcs_has_both_roles():
    graph = made("factor_graph", "arc_factored", labeled=True)
    for cost in ("hamming", "arcs", "labeled_arcs"):
        check(
            graph,
            made("inference", "exact"),
            made("loss", "svm", **SVM, cost=cost),
            made("optimizer", "dca"),
        )


@pytest.mark.parametrize("optimizer", ["sdca", "smo", "eg"])
def test_duals_need_gold_outputs_that_are_known_in_full(optimizer):
    graph = made("factor_graph", "linear_chain")
    check(
        graph, made("inference", "exact"), made("loss", "svm", **SVM), made("optimizer", optimizer)
    )
    said = refused(graph, optimizer=optimizer, open_gold=PARTIAL)
    assert said.startswith(f"optimizer={optimizer} needs gold outputs that are known in full")
    assert said.endswith(
        "dca, mira, perceptron, pegasos, sgd, adagrad, adadelta, lbfgs, cutting_plane, "
        "online_cutting_plane."
    )


def test_optimizers_that_complete_gold_outputs():
    graph, inference = made("factor_graph", "linear_chain"), made("inference", "exact")
    cutting = ("cutting_plane", "online_cutting_plane")
    for name in (
        "dca",
        "mira",
        "perceptron",
        "pegasos",
        "sgd",
        "adagrad",
        "adadelta",
        "lbfgs",
        *cutting,
    ):
        members = {"perceptron": {"beta": inf, "gamma": 0.0}, "lbfgs": {"beta": 1.0, "gamma": 0.0}}
        check(
            graph,
            inference,
            made("loss", "family", **members.get(name, SVM)),
            made("optimizer", name),
            PARTIAL,
        )


def test_partial_labels_have_no_certified_gap_and_no_kept_messages():
    chain, pairwise = made("factor_graph", "linear_chain"), made("factor_graph", "pairwise")
    with pytest.raises(
        CompatibilityError, match=r"not convex, and have none\. Set optimizer\.tolerance=0\."
    ):
        check(
            chain,
            made("inference", "exact"),
            made("loss", "crf"),
            made("optimizer", "lbfgs"),
            PARTIAL,
            goal=Goal(tolerance=0.01),
        )
    kept = made("inference", "mplp", warm_start=True, passes=5)
    with pytest.raises(
        CompatibilityError,
        match=r"keeps the messages of the last answer\. Set inference\.warm_start=false\.",
    ):
        check(pairwise, kept, made("loss", "svm", **SVM), made("optimizer", "dca"), PARTIAL)


def test_losses_of_single_outputs_refuse_partial_labels():
    class Single(LossFamily):
        takes_sets = False

    parts = (
        made("factor_graph", "linear_chain"),
        made("inference", "exact"),
        Single(),
        made("optimizer", "dca"),
    )
    check(*parts)
    with pytest.raises(
        CompatibilityError, match=r"loss=Single takes single ones only\. Take a loss of the family"
    ):
        check(*parts, PARTIAL)
