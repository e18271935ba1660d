"""Every optimizer with every loss and every inference: each class of combinations trains, and each
combination that is refused is refused before data is read, with advice.
"""

from functools import cache
from itertools import product
from math import inf, isfinite, isinf

import numpy as np
import pytest

from structopt.config import pairs, registry
from structopt.config.composition import compose
from structopt.config.validation import validate
from structopt.core.ability import Ability
from structopt.errors import CompatibilityError, ConfigError
from structopt.factor_graph import kinds
from structopt.run.components import make_components
from structopt.testing.components import check
from structopt.testing.problems import make_problem, random_encoded, random_graphs, random_trees
from tests.factor_graph.random_texts import random_texts
from tests.optimizer.classes import (
    BatchSuite,
    CuttingSuite,
    DualSuite,
    ListedSuite,
    OnlineSuite,
)
from tests.optimizer.listings import minimum_of
from tests.parts import gate_cases

GRAPHS = {
    "linear_chain": ("exact", "enumeration"),
    "single": ("exact", "enumeration"),
    "arc_factored": ("exact", "enumeration"),
    "second_order": (
        "ad3",
        "enumeration",
        "ilp",
        "kept/ad3",
        "kept/mplp",
        "loopy_bp",
        "lp",
        "mplp",
        "trw_bp",
    ),
    "pairwise": (
        "ad3",
        "cut",
        "enumeration",
        "exact",
        "ilp",
        "kept/ad3",
        "kept/mplp",
        "loopy_bp",
        "lp",
        "mplp",
        "trw_bp",
    ),
    "coverage": (
        "ad3",
        "enumeration",
        "greedy",
        "ilp",
        "kept/ad3",
        "kept/mplp",
        "loopy_bp",
        "lp",
        "mplp",
        "trw_bp",
    ),
}
KINDS = {
    "linear_chain": kinds.CHAIN,
    "single": kinds.SINGLE,
    "arc_factored": kinds.ARBORESCENCE,
    "second_order": kinds.LOOPY,
    "pairwise": kinds.TABLES,
    "coverage": kinds.LOOPY,
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


ACCURACY = 2e-6  # of the minimum of P


@cache
def verdicts(graph):
    return pairs.verdicts(graph)


@cache
def preset(kind, name):
    return pairs.preset(kind, name)


def encoded_for(graph):
    if graph in ("arc_factored", "second_order"):
        return random_trees(1, (1, 2, 3, 4))
    if graph == "pairwise":
        return random_graphs(1, (1, 2, 3, 4))
    if graph == "coverage":
        return random_texts(1, (1, 2, 3, 4))
    return random_encoded(
        1, (1,) * 8 if graph == "single" else (1, 2, 3, 4), values=graph == "single"
    )


SUITES = {
    "adadelta": OnlineSuite,
    "adagrad": OnlineSuite,
    "cutting_plane": CuttingSuite,
    "dca": ListedSuite,
    "dlpw": ListedSuite,
    "eg": DualSuite,
    "lbfgs": BatchSuite,
    "mira": ListedSuite,
    "online_cutting_plane": CuttingSuite,
    "pegasos": OnlineSuite,
    "perceptron": ListedSuite,
    "sdca": DualSuite,
    "sgd": OnlineSuite,
    "smo": DualSuite,
}
"""How near to the optimum each optimizer comes."""
FIRST_PASSES, MOST_PASSES = 3, 30  # of combinations whose optimum is not known


@pytest.mark.parametrize(
    "graph", gate_cases(GRAPHS, "pairs", ("linear_chain", "single", "arc_factored"))
)
def test_every_combination_has_a_verdict(graph):
    """A refusal names the setting to blame and what to do; nothing is missing."""
    found = verdicts(graph)
    for key in product(OPTIMIZERS, LOSSES, GRAPHS[graph]):
        verdict, optimizer = found[key], f"optimizer={key[0]}"
        assert (not verdict) == accepts(key[0], graph, key[2], key[1])
        if verdict:
            blamed = (optimizer, "optimizer.", "loss.beta")
            advice = ("Set ", "Use ", "Take ", "take ", "Add ", "Leave ", " come from: ")
            assert any(name in verdict for name in blamed), (key, verdict)
            assert any(word in verdict for word in advice), (key, verdict)


def accepted(optimizer, graphs=tuple(GRAPHS)):
    """Combinations (graph, inference, loss) that an optimizer accepts."""
    return [
        (graph, inference, loss)
        for graph in graphs
        for inference, loss in product(GRAPHS[graph], LOSSES)
        if accepts(optimizer, graph, inference, loss)
    ]


def accepts(optimizer, graph, inference, loss):
    method, member = preset("optimizer", optimizer), preset("loss", loss)
    made, solver = preset("factor_graph", graph), preset("inference", inference)
    try:
        check(made, solver, member, method, goal=pairs.fit_of(optimizer, method).goal)
        member.kernel(method.plan.variant)
    except (CompatibilityError, ConfigError):
        return False
    return True


def classes_of(graph, inference, loss):
    """Classes of a combination: what the inference provides with the shape of the loss, and each
    name.
    """
    provided = preset("inference", inference).provides(KINDS[graph])
    member = preset("loss", loss)
    shape = member.convex, isinf(member.beta)
    return {(provided, shape), ("graph", graph), ("inference", inference), ("loss", loss)}


def covering(optimizer, graphs):
    """A few accepted combinations in which every class of every accepted one occurs."""
    rows = {row: classes_of(*row) for row in accepted(optimizer, graphs)}
    missing, chosen = set().union(*rows.values()), []
    while missing:
        best = max(rows, key=lambda row: len(rows[row] & missing))
        missing -= rows[best]
        chosen.append(best)
    return chosen


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_trains_with_every_class(optimizer):
    """Graphs with exact inference; nightly trains all combinations of all graphs."""
    combinations = covering(optimizer, [graph for graph in GRAPHS if not KINDS[graph].loopy])
    if combinations:
        assert_trains(optimizer, combinations)


@pytest.mark.nightly("pairs")
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_every_combination_trains(optimizer):
    assert_trains(optimizer, accepted(optimizer))


def assert_trains(optimizer, combinations):
    assert combinations
    faults = {row: fault for row in combinations if (fault := fault_of(optimizer, *row))}
    assert not faults


def fault_of(optimizer, graph, inference, loss):
    """Return what is wrong with the weights of a combination; the empty string if nothing is.

    P is compared with its minimum over lists of outputs if it is convex, and inference is exact and
    compiled. Else some pass must reach a lower P than that of zero weights if inference is a convex
    upper bound and the loss is convex or smooth; no P may fall below the minimum.
    """
    method, suite = preset("optimizer", optimizer), SUITES[optimizer]
    C = pairs.fit_of(optimizer, method).C
    problem = problem_of(method, C, graph, inference, loss)
    provided = problem.inference.provides(KINDS[graph])
    best = minimum_of(problem).value if problem.convex and Ability.UPPER in provided else -inf
    # subgradient methods approach the minimum of a loss with kinks slowly
    slow = suite is OnlineSuite and isinf(problem.loss.beta)
    known = best > -inf and inference == "exact" and suite.within is not None and not slow
    state = method.init(problem, np.zeros(problem.dimension))
    start = primal = least = method.objective(problem, state)
    smooth = problem.convex or not isinf(problem.loss.beta)
    # zero weights may be the minimum
    # P of trw_bp is that of messages after some passes, and not yet that of the relaxation
    bounded = Ability.UPPER | Ability.CONVEX in provided and inference != "trw_bp"
    falls = not known and bounded and smooth and start > best + ACCURACY
    most = suite.enough if known else MOST_PASSES if falls else FIRST_PASSES
    for epoch in range(most):
        state, report = method.step(problem, state)
        if not isfinite(report.loss):
            return f"the loss of pass {epoch + 1} is {report.loss}"
        if report.dual is not None and Ability.EXACT in provided and report.dual > best + ACCURACY:
            return f"D={report.dual} is above the minimum {best}"
        if report.finished or not known or epoch + 1 == most:
            primal = method.objective(problem, state)
            least = min(least, primal)
        if report.finished or (falls and epoch + 1 >= FIRST_PASSES and least < start):
            break
    if least < best - ACCURACY:
        return f"P={least} is below the minimum {best}"
    if known and primal > (1 + suite.within) * best + ACCURACY:
        return f"P={primal} is above the minimum {best}"
    if not np.isfinite(method.weights(state)).all():
        return "there are weights that are not finite"
    return f"P stays at {start}" if falls and least >= start else ""


def problem_of(method, C, graph, inference, loss):
    made, member = preset("factor_graph", graph), preset("loss", loss)
    return make_problem(
        encoded_for(graph),
        made,
        member,
        preset("inference", inference),
        C,
        variant=method.plan.variant,
        positional=method.needs(member, made).positional,
        options=TEMPLATES if graph in ("arc_factored", "second_order") else None,
    )


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
    **dict.fromkeys(LOOPY, kinds.TABLES),
}
REFUSED = (
    {("dependency", "smo"): "optimizer=smo needs marginals of every position in closed form"}
    | {
        ("coreference", name): f"optimizer={name} needs gold outputs that are known in full"
        for name in ("eg", "sdca", "smo")
    }
    | {("coreference", name): r"Set optimizer\.tolerance=0\." for name in CUTTING[:2]}
    | {
        (task, "dlpw"): "optimizer=dlpw keeps messages along the edges of loopy graphs"
        for task in TASKS
        if task not in (*LOOPY, "summarization")
    }
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


@pytest.mark.parametrize("task", gate_cases(TASKS, "pairs", 1))
def test_every_task_composes_with_every_optimizer(task):
    """With the defaults of both, the components fit together, or the message names the reason."""
    for optimizer in OPTIMIZERS:
        config = validate(compose([f"task={task}", f"optimizer={optimizer}", "tracker=none"]))
        if (task, optimizer) in REFUSED:
            with pytest.raises(CompatibilityError, match=REFUSED[task, optimizer]):
                make_components(config)
            continue
        parts = make_components(config)
        assert type(parts.optimizer) is registry.load("optimizer", optimizer)
        assert parts.graph.kind == TASK_KINDS.get(task, kinds.CHAIN)


def test_optimizers_are_all_here():
    assert set(SUITES) == set(OPTIMIZERS)


@pytest.mark.parametrize("graph", gate_cases(GRAPHS, "pairs", ("linear_chain",)))
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
