"""Every optimizer with every loss and every inference: it trains, or it is refused before data is
read, with what to do.
"""

from functools import cache
from math import isfinite

import numpy as np
import pytest

from structopt.config import pairs, registry
from structopt.config.composition import compose, validate
from structopt.errors import CompatibilityError
from structopt.factor_graph import kinds
from structopt.run.components import make_components
from structopt.testing.problems import make_problem, random_encoded, random_graphs, random_trees

pytestmark = pytest.mark.nightly("pairs")

GRAPHS = {
    "linear_chain": ("exact", "enumeration"),
    "single": ("exact", "enumeration"),
    "arc_factored": ("exact", "enumeration"),
    "second_order": ("ad3", "enumeration", "ilp", "loopy_bp", "lp", "trw_bp"),
    "pairwise": ("ad3", "enumeration", "ilp", "kept/mplp", "loopy_bp", "lp", "mplp", "trw_bp"),
}
KINDS = {
    "linear_chain": kinds.CHAIN,
    "single": kinds.SINGLE,
    "arc_factored": kinds.ARBORESCENCE,
    "second_order": kinds.LOOPY,
    "pairwise": kinds.LOOPY,
}
TEMPLATES = {
    "templates": ["bias", "h.upos & m.upos", "m.form"],
    "siblings": ["s.upos & m.upos"],
    "grandparents": ["g.upos & m.upos"],
    "hash_bits": 10,
}
LOSSES = ("crf", "family", "perceptron", "ramp", "risk", "softmax_margin", "svm")
OPTIMIZERS = tuple(
    name
    for name, one in registry.installed("optimizer").items()
    if one.distribution == "structopt-trainer"
)


@cache
def verdicts(graph):
    return pairs.verdicts(graph)


def encoded_for(graph):
    if graph in ("arc_factored", "second_order"):
        return random_trees(1, (1, 2, 3, 4))
    if graph == "pairwise":
        return random_graphs(1, (1, 2, 3, 4))
    return random_encoded(
        1, (1,) * 8 if graph == "single" else (1, 2, 3, 4), values=graph == "single"
    )


COMBINATIONS = [
    (graph, inference, loss)
    for graph, inferences in GRAPHS.items()
    for inference in inferences
    # one of each kind: these are the slowest
    for loss in (LOSSES if not KINDS[graph].loopy else ("crf", "risk", "svm"))
]


@pytest.mark.parametrize(("graph", "inference", "loss"), COMBINATIONS)
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_every_combination_trains_or_is_refused(optimizer, graph, inference, loss):
    verdict = verdicts(graph)[optimizer, loss, inference]
    if verdict:
        assert (
            f"optimizer={optimizer}" in verdict or "optimizer." in verdict or "loss.beta" in verdict
        )
        assert any(word in verdict for word in ("Type ", "take ", "Add ", "Leave ", " come from: "))
        return
    method, member, made = (
        pairs.preset("optimizer", optimizer),
        pairs.preset("loss", loss),
        pairs.preset("factor_graph", graph),
    )
    positional = method.needs(member, made).positional
    problem = make_problem(
        encoded_for(graph),
        made,
        member,
        pairs.preset("inference", inference),
        method.C,
        variant=method.plan.variant,
        positional=positional,
        options=TEMPLATES if graph in ("arc_factored", "second_order") else None,
    )
    state = method.init(problem, np.zeros(problem.dimension))
    for _ in range(2):
        state, report = method.step(problem, state)
        assert isfinite(report.loss)
    assert np.isfinite(method.weights(state)).all()


TASKS = tuple(
    name
    for name, one in registry.installed("task").items()
    if one.distribution == "structopt-trainer"
)


LOOPY = ("grid", "multilabel", "synthetic")
CUTTING = ("cutting_plane", "online_cutting_plane", "sdca")
TASK_KINDS = {
    "multiclass": kinds.SINGLE,
    "coreference": kinds.INDEPENDENT,
    "dependency": kinds.ARBORESCENCE,
    "constituency": kinds.GRAMMAR,
    "summarization": kinds.LOOPY,
    **dict.fromkeys(LOOPY, kinds.LOOPY),
}
REFUSED = (
    {("dependency", "smo"): "optimizer=smo needs marginals of every position in closed form"}
    | {
        ("coreference", name): f"optimizer={name} needs gold outputs that are known in full"
        for name in ("eg", "sdca", "smo")
    }
    | {("coreference", name): r"Type optimizer\.tolerance=0\." for name in CUTTING[:2]}
    | {
        (task, "dlpw"): "optimizer=dlpw keeps messages along the edges of loopy graphs"
        for task in TASKS
        if task not in LOOPY
    }
    | {("summarization", "dlpw"): "inference=mplp passes messages along tables over two variables"}
    | {(task, name): f"optimizer={name} needs a convex value" for task in LOOPY for name in CUTTING}
    | {
        (task, name): f"optimizer={name} needs marginals, but inference=ad3 only"
        for task in LOOPY
        for name in ("eg", "lbfgs")
    }
    | {
        (task, "smo"): "optimizer=smo needs an exact value, but inference=ad3 only maximises"
        for task in LOOPY
    }
    | {
        ("summarization", name): f"optimizer={name} needs marginals, but inference=ilp only"
        for name in ("eg", "lbfgs")
    }
    | {("summarization", "smo"): "optimizer=smo needs"}
)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("task", TASKS)
def test_every_task_composes_with_every_optimizer(task, optimizer):
    """With the defaults that each brings, the components fit together; or the optimizer's reason is
    told.
    """
    config = validate(compose([f"task={task}", f"optimizer={optimizer}", "tracker=none"]))
    if (task, optimizer) in REFUSED:
        with pytest.raises(CompatibilityError, match=REFUSED[task, optimizer]):
            make_components(config)
        return
    parts = make_components(config)
    assert type(parts.optimizer) is registry.load("optimizer", optimizer)
    assert parts.graph.kind == TASK_KINDS.get(task, kinds.CHAIN)


@pytest.mark.parametrize("graph", GRAPHS)
def test_inferences_are_all_here(graph):
    assert pairs.preset("factor_graph", graph).kind == KINDS[graph]
    assert {inference for _, _, inference in verdicts(graph)} == set(GRAPHS[graph])


def test_losses_are_all_here():
    assert {
        loss for _, loss, _ in verdicts("linear_chain") if loss in registry.installed("loss")
    } >= set(LOSSES)


def test_table():
    found = {
        ("a", "x", "exact"): "",
        ("a", "x", "ilp"): "no",
        ("a", "y", "exact"): "",
        ("a", "y", "ilp"): "",
    }
    found |= {("b", loss, inference): "no" for loss in "xy" for inference in ("exact", "ilp")}
    assert pairs.table(found).splitlines() == [
        "| optimizer | x | y |",
        "|---|---|---|",
        "| a | exact | yes |",
        "| b | no | no |",
    ]
