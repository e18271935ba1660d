"""Whether chosen components work together: tasks, graphs, inferences, losses, optimizers, scorers,
executors.

The messages of refusals name installed components that would do (`structopt.config.alternatives`).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import TYPE_CHECKING, NoReturn

from structopt.config import alternatives
from structopt.config.registry import name_of
from structopt.config.wording import keyed
from structopt.core.ability import NEEDS, Ability
from structopt.core.component import Component, parameters_of
from structopt.core.executor import Executor
from structopt.core.factor_graph import FactorGraph
from structopt.core.inference import Inference
from structopt.core.loss import Loss
from structopt.core.needs import KINDS_OF_ARGUMENTS, MINIMUM, Goal, of_fit, refusal, setting
from structopt.core.scorer import Scorer, SparseFeatures
from structopt.core.structure_kind import StructureKind
from structopt.core.task import Task
from structopt.errors import CompatibilityError
from structopt.objective.compatibility import Misfit, Reason, first_misfit, unsolved

if TYPE_CHECKING:
    from structopt.core.optimizer import Optimizer

SOURCES = {
    Ability.MAP: "the best output comes from",
    Ability.MARGINALS: "marginals come from",
    Ability.K_BEST: "the k best outputs come from",
    Ability.EXACT: "exact values come from",
    Ability.UPPER: "upper bounds come from",
    Ability.CONVEX: "convex values come from",
    Ability.ROUNDING: "outputs made of marginals come from",
}


@keyed()
def check(
    factor_graph: FactorGraph,
    inference: Inference,
    loss: Loss,
    optimizer: Optimizer,
    open_gold: str = "",
    weighted: bool = False,
    goal: Goal = MINIMUM,
) -> None:
    """Raise where the chosen components cannot work together.

    Parameters
    ----------
    factor_graph, inference, loss, optimizer : components
        The optimizer's `needs` are compared with what the others are, and what the loss
        ``requires`` with what the inference provides.
    open_gold : str
        The setting that leaves gold outputs open (`structopt.core.task.Task.open_gold`); empty
        where they are known in full.
    weighted : bool
        Whether instances have weights.
    goal : Goal
        Goal of the fit.

    Raises
    ------
    CompatibilityError
        Naming who needs what, what the inference does instead, and the inferences that would do.
    """
    found = first_misfit(
        factor_graph, inference, loss, optimizer, not open_gold, not weighted, goal
    )
    if found is None:
        return
    if found.reason is Reason.FOLLOWS_EPOCH:
        raise CompatibilityError(
            f"converges to the minimum of one P, but loss={name_of('loss', loss)} changes every "
            "epoch.",
            parameter="optimizer",
            value=name_of("optimizer", optimizer),
            remedy="Take an optimizer that follows gradients: sgd, adagrad, adadelta.",
        )
    if found.reason is Reason.ROLE:
        _refuse_role(loss, factor_graph)
    if found.reason in (Reason.REFUSED, Reason.UNSOLVED):
        check_solves(inference, factor_graph)
    provided = inference.provides(factor_graph.kind)
    if found.reason is Reason.ABILITY:
        component: Component = loss if found.who == "loss" else optimizer
        _refuse_ability(found, component, provided, inference, factor_graph.kind)
    if found.demand is not None:
        who, name = name_of("optimizer", optimizer), name_of("inference", inference)
        asked = [
            demand.asks for demand in of_fit(optimizer.needs(loss, factor_graph), goal).demands
        ]
        raise CompatibilityError(
            refusal(found.demand, who, loss, inference, name, asked, open_gold),
            kinds=KINDS_OF_ARGUMENTS,
        )
    if found.reason is Reason.PENALTY:
        penalties = {"l2": "l2 only", "l1 or l2": "l1 or l2"}[optimizer.plan.penalties]
        raise CompatibilityError(
            f"optimizer={name_of('optimizer', optimizer)} minimises P with optimizer.penalty="
            f"{penalties}.",
            remedy="Set optimizer.penalty=l2, or take optimizer=lbfgs.",
        )
    if found.reason is Reason.NO_GAP:
        others = alternatives.inferences(Ability.CONVEX, factor_graph.kind)
        raise CompatibilityError(
            "stops at a certified gap, which needs values that are convex and exact or "
            f"upper bounds, but inference={name_of('inference', inference)} "
            f"{_what_it_does(provided, Ability.CONVEX)}.",
            parameter="optimizer.tolerance",
            remedy=f"Set optimizer.tolerance=0. {_advice(Ability.CONVEX, others)}",
        )
    _refuse_sets(found.reason, open_gold, inference, loss)


def check_task(task: Task, factor_graph: FactorGraph, name: str = "") -> None:
    """Raise where a graph's outputs cannot be read as the task decodes them.

    Parameters
    ----------
    task, factor_graph : components
    name : str
        The task's name, since several may share a class; empty for the first of its class.

    Raises
    ------
    CompatibilityError
        Naming the graphs whose outputs can.
    """
    if task.view in factor_graph.views:
        return
    others = alternatives.factor_graphs(lambda graph: task.view in graph.views)
    raise CompatibilityError(
        f"reads the {task.view} of outputs, but "
        f"factor_graph={name_of('factor_graph', factor_graph)} offers "
        f"{', '.join(factor_graph.views)}. Factor graphs that offer {task.view}: {others}.",
        parameter="task",
        value=name or name_of("task", task),
    )


def check_rounding(task: Task, inference: Inference, factor_graph: FactorGraph) -> None:
    """Raise where a task asks for outputs made of marginals, and the inference makes none."""
    if task.rounds_marginals:
        check_option("task.decoding=max_rule", Ability.ROUNDING, inference, factor_graph)


def _refuse_role(loss: Loss, factor_graph: FactorGraph) -> NoReturn:
    """Refuse a cost in parts that the graph lacks."""
    graphs, costs = (
        alternatives.factor_graphs(lambda graph: loss.role in graph.roles),
        alternatives.costs(factor_graph),
    )
    raise CompatibilityError(
        f"This loss counts its cost in parts of the role {loss.role}, which "
        f"factor_graph={name_of('factor_graph', factor_graph)} does not have.",
        remedy=f"Set loss.cost=NAME with one of {costs}; or take a factor graph that has "
        f"the role: {graphs}.",
    )


def _refuse_sets(reason: Reason, open_gold: str, inference: Inference, loss: Loss) -> NoReturn:
    """Refuse gold outputs that are left open and cannot be completed."""
    if reason is Reason.SINGLE_TARGETS:
        raise CompatibilityError(
            f"{open_gold} makes targets of several outputs, and "
            f"loss={name_of('loss', loss)} takes single ones only.",
            remedy="Take a loss of the family, such as loss=crf or loss=svm.",
        )
    if reason is Reason.KEPT_MESSAGES:
        raise CompatibilityError(
            f"{open_gold} asks twice at every visit, but "
            f"inference={name_of('inference', inference)} keeps the messages of the last "
            "answer.",
            remedy="Set inference.warm_start=false.",
        )
    raise CompatibilityError(
        f"stops at a certified gap, but the losses of {open_gold} are not convex, and have none.",
        parameter="optimizer.tolerance",
        remedy="Set optimizer.tolerance=0.",
    )


def _refuse_ability(
    found: Misfit,
    component: Component,
    provided: Ability,
    inference: Inference,
    kind: StructureKind,
) -> NoReturn:
    """Refuse an inference that does not provide an ability which a component asks for."""
    ability, remedy = found.ability, None
    names = alternatives.inferences(ability, kind)
    if ability is Ability.MARGINALS and not names and isinstance(component, Loss):
        remedy = f"{setting(component, 'beta', 'inf', 'SVM')}, which needs none."
    complaint = _complaint(
        _who(found.who, component), ability, name_of("inference", inference), provided, names
    )
    raise CompatibilityError(complaint, remedy=remedy, kinds=KINDS_OF_ARGUMENTS)


def check_executor(executor: Executor, optimizer: Optimizer) -> None:
    """Raise where an executor cannot share out the work of an optimizer.

    Raises
    ------
    CompatibilityError
        For parameters that are to be mixed and cannot be, and for workers elsewhere that would have
        nothing to do.
    """
    plan = optimizer.plan
    batch, divided = plan.form == "batch", plan.mixable or plan.additive
    if divided and executor.remote and not executor.mixing:
        raise CompatibilityError(
            f"leaves the workers of executor={name_of('executor', executor)} nothing to "
            f"do, since optimizer={name_of('optimizer', optimizer)} goes from instance to "
            "instance.",
            parameter="executor.mixing",
            value=0,
            remedy="Set executor.mixing=null.",
        )
    if divided or (batch if executor.remote else not executor.mixing):
        return
    what = (
        "is exact, and has no passes to be mixed"
        if batch
        else "has variables of instances, which cannot be mixed"
    )
    remedy = "executor=threads" if executor.remote else "executor.mixing=null"
    raise CompatibilityError(
        f"executor={name_of('executor', executor)} with executor.mixing={executor.mixing} "
        "divides passes among shards and mixes their results, but "
        f"optimizer={name_of('optimizer', optimizer)} {what}.",
        remedy=f"Set {remedy}, or take one of the optimizers whose passes can be divided: "
        f"{alternatives.divided_optimizers()}.",
    )


@keyed()
def check_features(
    scorer: Scorer,
    optimizer: Optimizer,
    loss: Loss,
    factor_graph: FactorGraph,
    goal: Goal = MINIMUM,
) -> None:
    """Raise where an optimizer needs sparse features, and the scorer is of another kind.

    Raises
    ------
    CompatibilityError
        Naming the optimizers that would do.
    """
    own = optimizer.needs(loss, factor_graph)
    needs = of_fit(own, goal)
    if needs.features == "any" or isinstance(scorer, SparseFeatures):
        return
    who, name = (
        needs.by or f"optimizer={name_of('optimizer', optimizer)}",
        name_of("features", scorer),
    )
    bounds = ", so that nothing bounds the least objective" if needs.by != own.by else ""
    others = alternatives.optimizers_of_any_scorer(loss, factor_graph)
    if needs.by == "`tolerance`":  # presets may set it
        remedy = "Set `tolerance=0`."
    elif needs.by:
        remedy = f"Leave {needs.by.replace('=True', '')} out."
    else:
        remedy = f"Take one that needs their gradients alone: {others}."
    raise CompatibilityError(
        f"{who} needs scores that are linear in the weights, with sparse columns, and "
        f"those of features={name} are any function of them{bounds}.",
        remedy=remedy,
        kinds=KINDS_OF_ARGUMENTS,
    )


def check_solves(inference: Inference, factor_graph: FactorGraph) -> Ability:
    """Return what an inference provides on structures of a graph; raise `CompatibilityError` where
    that is nothing.
    """
    found = unsolved(inference, factor_graph)
    if found is not None and found.text:
        raise CompatibilityError(found.text)
    if found is not None:
        name, others = name_of("inference", inference), alternatives.solvers(factor_graph.kind)
        raise CompatibilityError(
            f"cannot solve structures of kind {factor_graph.kind}. Those that can: {others}.",
            parameter="inference",
            value=name,
        )
    return inference.provides(factor_graph.kind)


def check_option(
    option: str, ability: Ability, inference: Inference, factor_graph: FactorGraph
) -> Ability:
    """Return what an inference provides; raise where an option of a command needs what it does not.

    Raises
    ------
    CompatibilityError
        Naming the inferences that would do: weights are any inference's, so the command may take
        another.
    """
    provided, name = check_solves(inference, factor_graph), name_of("inference", inference)
    if ability in provided:
        return provided
    names = alternatives.inferences(ability, factor_graph.kind)
    one_of_them = "Set inference=NAME with one of them (from Python: model.with_inference(NAME))."
    remedy = one_of_them if names else f"Leave out {option}."
    raise CompatibilityError(_complaint(option, ability, name, provided, names), remedy=remedy)


def _who(kind: str, component: Component) -> str:
    """The setting that asks for an ability: of a loss that has a beta, this."""
    if isinstance(component, Loss) and "beta" in parameters_of(component):
        return f"loss.beta={1 / component.temperature if component.temperature else inf:g}"
    return f"{kind}={name_of(kind, component)}"


def _what_it_does(provided: Ability, wanted: Ability) -> str:
    if wanted in Ability.MARGINALS | Ability.EXACT and Ability.MARGINALS not in provided:
        return "only maximises"
    return "gives only " + ", ".join(NEEDS[ability] for ability in provided)


def _complaint(
    who: str, ability: Ability, inference: str, provided: Ability, names: Sequence[str]
) -> str:
    does = _what_it_does(provided, ability)
    return (
        f"{who} needs {NEEDS[ability]}, but inference={inference} {does}. {_advice(ability, names)}"
    )


def _advice(ability: Ability, names: Sequence[str]) -> str:
    if names:
        return f"With this factor graph, {SOURCES[ability]}: {', '.join(names)}."
    return f"With this factor graph, no installed inference gives {NEEDS[ability]}."
