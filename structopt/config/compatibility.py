"""Whether chosen components work together: tasks, graphs, inferences, losses, optimizers, scorers,
executors.

The messages of refusals name installed components that would do (`structopt.config.alternatives`).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from structopt.config import alternatives
from structopt.config.registry import name_of
from structopt.core.ability import Ability
from structopt.core.component import Component
from structopt.core.executor import Executor
from structopt.core.factor_graph import FactorGraph
from structopt.core.inference import Inference, Messages
from structopt.core.loss import Loss
from structopt.core.needs import OF_GRAPH, Demand, Property, met, refusal, typed
from structopt.core.optimizer import Optimizer
from structopt.core.scorer import Scorer, SparseFeatures
from structopt.core.structure_kind import StructureKind
from structopt.core.task import Task
from structopt.errors import CompatibilityError

NEEDS = {
    Ability.MAP: "the best output",
    Ability.MARGINALS: "marginals",
    Ability.K_BEST: "the k best outputs",
    Ability.EXACT: "an exact value",
    Ability.UPPER: "an upper bound",
    Ability.CONVEX: "a convex value",
    Ability.ROUNDING: "outputs made of marginals",
}
SOURCES = {
    Ability.MAP: "the best output comes from",
    Ability.MARGINALS: "marginals come from",
    Ability.K_BEST: "the k best outputs come from",
    Ability.EXACT: "exact values come from",
    Ability.UPPER: "upper bounds come from",
    Ability.CONVEX: "convex values come from",
    Ability.ROUNDING: "outputs made of marginals come from",
}


def check(
    factor_graph: FactorGraph,
    inference: Inference,
    loss: Loss,
    optimizer: Optimizer,
    open_gold: str = "",
    weighted: bool = False,
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

    Raises
    ------
    CompatibilityError
        Naming who needs what, what the inference does instead, and the inferences that would do.
    """
    needs, kind = optimizer.needs(loss, factor_graph), factor_graph.kind
    facts = loss, factor_graph, inference, not open_gold, not weighted
    missed = [demand for demand in needs.demands if not met(demand.asks, *facts)]
    properties = [demand.asks for demand in needs.demands]
    _refuse(
        [demand for demand in missed if demand.asks in OF_GRAPH],
        optimizer,
        loss,
        inference,
        properties,
        open_gold,
    )
    _check_role(loss, factor_graph)
    provided = check_solves(inference, factor_graph)
    for role, component, asked in (
        ("loss", loss, loss.requires),
        ("optimizer", optimizer, needs.abilities),
    ):
        _check_abilities(role, component, asked, provided, inference, kind)
    _refuse(missed, optimizer, loss, inference, properties, open_gold)
    if open_gold:
        _check_sets(open_gold, inference, loss, optimizer)
    if optimizer.plan.tolerance > 0 and not certifies(provided):
        raise CompatibilityError(
            "stops at a certified gap, which needs values that are convex and exact or "
            f"upper bounds, but inference={name_of('inference', inference)} "
            f"{_what_it_does(provided, Ability.CONVEX)}.",
            parameter="optimizer.tolerance",
            remedy="Set optimizer.tolerance=0. "
            f"{_advice(Ability.CONVEX, alternatives.inferences(Ability.CONVEX, kind))}",
        )


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


def _check_role(loss: Loss, factor_graph: FactorGraph) -> None:
    """Raise where a cost counts what the graph does not have."""
    if loss.role in factor_graph.roles:
        return
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


def _check_sets(open_gold: str, inference: Inference, loss: Loss, optimizer: Optimizer) -> None:
    """Raise where gold outputs that are left open cannot be completed."""
    if not loss.takes_sets:
        raise CompatibilityError(
            f"{open_gold} makes targets of several outputs, and "
            f"loss={name_of('loss', loss)} takes single ones only.",
            remedy="Take a loss of the family, such as loss=crf or loss=svm.",
        )
    if inference.messages is Messages.KEPT:
        raise CompatibilityError(
            f"{open_gold} asks twice at every visit, but "
            f"inference={name_of('inference', inference)} keeps the messages of the last "
            "answer.",
            remedy="Set inference.warm_start=false.",
        )
    if optimizer.plan.tolerance > 0:
        raise CompatibilityError(
            f"stops at a certified gap, but the losses of {open_gold} are not convex, and "
            "have none.",
            parameter="optimizer.tolerance",
            remedy="Set optimizer.tolerance=0.",
        )


def _refuse(
    missed: Sequence[Demand],
    optimizer: Optimizer,
    loss: Loss,
    inference: Inference,
    asked: Sequence[Property],
    open_gold: str,
) -> None:
    """Raise at the first demand of the optimizer that is missed."""
    if missed:
        who, name = name_of("optimizer", optimizer), name_of("inference", inference)
        raise CompatibilityError(refusal(missed[0], who, loss, inference, name, asked, open_gold))


def _check_abilities(
    role: str,
    component: Component,
    asked: Ability,
    provided: Ability,
    inference: Inference,
    kind: StructureKind,
) -> None:
    """Raise at the first ability that a component asks for and the inference does not provide."""
    for ability in asked & ~provided:
        names = alternatives.inferences(ability, kind)
        remedy = None
        if ability is Ability.MARGINALS and not names and isinstance(component, Loss):
            remedy = f"{typed(component, 'beta', 'inf', 'svm')}, which needs none."
        complaint = _complaint(
            _who(role, component), ability, name_of("inference", inference), provided, names
        )
        raise CompatibilityError(complaint, remedy=remedy)


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


def check_features(
    scorer: Scorer, optimizer: Optimizer, loss: Loss, factor_graph: FactorGraph
) -> None:
    """Raise where an optimizer needs sparse features, and the scorer is of another kind.

    Raises
    ------
    CompatibilityError
        Naming the optimizers that would do.
    """
    needs = optimizer.needs(loss, factor_graph)
    if needs.features == "any" or isinstance(scorer, SparseFeatures):
        return
    who, name = (
        needs.by or f"optimizer={name_of('optimizer', optimizer)}",
        name_of("features", scorer),
    )
    bounds = ", so that nothing bounds the least objective" if needs.by else ""
    others = alternatives.optimizers_of_any_scorer(loss, factor_graph)
    remedy = (
        f"Leave {needs.by.partition('=')[0]} out."
        if needs.by
        else f"Take one that needs their gradients alone: {others}."
    )
    raise CompatibilityError(
        f"{who} needs scores that are linear in the weights, with sparse columns, and "
        f"those of features={name} are any function of them{bounds}.",
        remedy=remedy,
    )


def certifies(provided: Ability) -> bool:
    """Whether P - D bounds how far P is from its minimum: losses are no less than they are, and
    their planes lie below them.
    """
    return Ability.CONVEX in provided and bool(provided & (Ability.EXACT | Ability.UPPER))


def check_solves(inference: Inference, factor_graph: FactorGraph) -> Ability:
    """Return what an inference provides on structures of a graph; raise `CompatibilityError` where
    that is nothing.
    """
    if reason := inference.refusal(factor_graph):
        raise CompatibilityError(reason)
    provided: Ability = inference.provides(factor_graph.kind)
    if not provided:
        name, others = name_of("inference", inference), alternatives.solvers(factor_graph.kind)
        raise CompatibilityError(
            f"cannot solve structures of kind {factor_graph.kind}. Those that can: {others}.",
            parameter="inference",
            value=name,
        )
    return provided


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
    """The setting that asks for an ability: of a loss its beta."""
    if isinstance(component, Loss):
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
