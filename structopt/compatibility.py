"""What a loss or an optimizer requires must be among what the inference provides; the errors name components that would do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from structopt import registry
from structopt.core.protocols import Ability
from structopt.errors import CompatibilityError, StructoptError

NEEDS = {
    Ability.MAP: "the best output",
    Ability.MARGINALS: "marginals",
    Ability.K_BEST: "the k best outputs",
    Ability.EXACT: "an exact value",
    Ability.UPPER: "an upper bound",
    Ability.CONVEX: "a convex value",
}
SOURCES = {
    Ability.MAP: "the best output comes from",
    Ability.MARGINALS: "marginals come from",
    Ability.K_BEST: "the k best outputs come from",
    Ability.EXACT: "exact values come from",
    Ability.UPPER: "upper bounds come from",
    Ability.CONVEX: "convex values come from",
}

MEMBERS = ("input_schema", "output_schema", "instances", "input_example", "output_table", "vocabulary")
"""Members of tasks that were added to their protocol after version 0.1.0."""


def check(task: Any, factor_graph: Any, inference: Any, loss: Any, optimizer: Any, structure_kind: str) -> None:
    """Raise where the chosen components cannot work together.

    Parameters
    ----------
    task, factor_graph, inference, loss, optimizer : components
        Whichever of them has an attribute ``requires`` (an `Ability`) is heard. Optimizers and inferences may refuse others
        themselves, by methods ``check_graph(graph)``, ``check_loss(loss)`` and ``check_inference(inference, name)``.
    structure_kind : str
        The kind of structure that the factor graph builds.

    Raises
    ------
    CompatibilityError
        Naming who needs what, what the inference does instead, and the inferences that would do.
    """
    if hasattr(optimizer, "check_graph"):
        optimizer.check_graph(factor_graph)
    provided, name = check_solves(inference, structure_kind, factor_graph), name_of("inference", inference)
    wanting = {"loss": loss, "optimizer": optimizer, "factor_graph": factor_graph, "task": task}
    for kind, component in wanting.items():
        for ability in getattr(component, "requires", Ability(0)) & ~provided:
            names = able(ability, structure_kind)
            remedy = " Type loss.beta=inf, which needs none." if ability is Ability.MARGINALS and not names else ""
            raise CompatibilityError(_complaint(_who(kind, component), ability, name, provided, names) + remedy)
    if hasattr(optimizer, "check_loss"):
        optimizer.check_loss(loss)
    if hasattr(optimizer, "check_inference"):
        optimizer.check_inference(inference, name)
    if getattr(optimizer, "tolerance", 0.0) > 0 and not certifies(provided):
        raise CompatibilityError(
            "optimizer.tolerance stops at a certified gap, which needs values that are convex and exact or upper bounds, but "
            f"inference={name} {_what_it_does(provided, Ability.CONVEX)}. Type optimizer.tolerance=0. "
            f"{_advice(Ability.CONVEX, able(Ability.CONVEX, structure_kind))}"
        )
    positional(optimizer, loss, factor_graph)


def check_task(task: Any) -> None:
    """Raise `CompatibilityError` where the class of a task lacks members that the program cannot do without."""
    lacking = [member for member in MEMBERS if not hasattr(type(task), member)]
    if lacking:
        raise CompatibilityError(
            f"task={name_of('task', task)} lacks {', '.join(lacking)}, which every task has (structopt.core.protocols). "
            "Update the package that it comes from."
        )


def check_executor(executor: Any, optimizer: Any) -> None:
    """Raise where an executor cannot share out the work of an optimizer.

    Raises
    ------
    CompatibilityError
        For parameters that are to be mixed and cannot be, and for workers elsewhere that would have nothing to do.
    """
    batch, mixable = getattr(optimizer, "batch", False), getattr(optimizer, "mixable", False)
    if mixable and executor.remote and not executor.mixing:
        raise CompatibilityError(
            f"executor.mixing=0 leaves the workers of executor={name_of('executor', executor)} nothing to do, since "
            f"optimizer={name_of('optimizer', optimizer)} goes from instance to instance. Type executor.mixing=null."
        )
    if mixable or (batch if executor.remote else not executor.mixing):
        return
    what = "is exact, and has no passes to be mixed" if batch else "has variables of instances, which cannot be mixed"
    remedy = "executor=threads" if executor.remote else "executor.mixing=null"
    raise CompatibilityError(
        f"executor={name_of('executor', executor)} with executor.mixing={executor.mixing} divides passes among shards and mixes "
        f"their parameters, but optimizer={name_of('optimizer', optimizer)} {what}. Type {remedy}, or take one of the optimizers "
        f"that are mixed: {', '.join(_having('mixable'))}."
    )


def _having(attribute: str) -> list[str]:
    """Names of the optimizers whose class has an attribute."""
    found = []
    for name in registry.installed("optimizer"):
        try:
            found += [name] if getattr(registry.load("optimizer", name), attribute, False) else []
        except StructoptError:  # it cannot be imported: then it is no advice either
            continue
    return found


def certifies(provided: Ability) -> bool:
    """Whether P - D bounds how far P is from its minimum: losses are no less than they are, and their planes lie below them."""
    return Ability.CONVEX in provided and bool(provided & (Ability.EXACT | Ability.UPPER))


def check_solves(inference: Any, structure_kind: str, factor_graph: Any = None) -> Ability:
    """Return what an inference provides on structures of a graph; raise `CompatibilityError` where that is nothing."""
    if factor_graph is not None and hasattr(inference, "check_graph"):
        inference.check_graph(factor_graph)
    provided: Ability = inference.provides(structure_kind)
    if not provided:
        name, others = name_of("inference", inference), _able(structure_kind)
        raise CompatibilityError(f"inference={name} cannot solve structures of kind {structure_kind}. Those that can: {others}.")
    return provided


def check_option(option: str, ability: Ability, inference: Any, structure_kind: str) -> None:
    """Raise where an option of a command needs what a model's inference does not provide.

    Raises
    ------
    CompatibilityError
        Naming the inferences that would do: weights are any inference's, so the command may take another.
    """
    provided, name = check_solves(inference, structure_kind), name_of("inference", inference)
    if ability in provided:
        return
    names = able(ability, structure_kind)
    remedy = " Type inference=NAME with one of them." if names else f" Leave out {option}."
    raise CompatibilityError(_complaint(option, ability, name, provided, names) + remedy)


def positional(optimizer: Any, loss: Any, factor_graph: Any) -> bool:
    """Whether the optimizer needs a structure without tied parts; raises `CompatibilityError` where the graph has none."""
    return bool(optimizer.positional(loss, factor_graph)) if hasattr(optimizer, "positional") else False


def name_of(kind: str, component: Any) -> str:
    """Return the name under which a component's class is installed, its class's name where it is not."""
    cls = type(component)
    value = f"{cls.__module__}:{cls.__qualname__}"
    names = [one.name for one in registry.installed(kind).values() if one.entry_point.value == value]
    return names[0] if names else cls.__name__


def _who(kind: str, component: Any) -> str:
    beta = getattr(component, "beta", None) if kind == "loss" else None
    return f"loss.beta={beta:g}" if beta is not None else f"{kind}={name_of(kind, component)}"


def _what_it_does(provided: Ability, wanted: Ability) -> str:
    if wanted in Ability.MARGINALS | Ability.EXACT and Ability.MARGINALS not in provided:
        return "only maximises"
    return "gives only " + ", ".join(NEEDS[ability] for ability in provided)


def _complaint(who: str, ability: Ability, inference: str, provided: Ability, names: Sequence[str]) -> str:
    does = _what_it_does(provided, ability)
    return f"{who} needs {NEEDS[ability]}, but inference={inference} {does}. {_advice(ability, names)}"


def _advice(ability: Ability, names: Sequence[str]) -> str:
    if names:
        return f"With this factor graph, {SOURCES[ability]}: {', '.join(names)}."
    return f"With this factor graph, no installed inference gives {NEEDS[ability]}."


def able(ability: Ability, structure_kind: str) -> list[str]:
    """Return the names of the installed inferences that have an ability on a kind of structure, if need be by ``exact=true``."""
    found = []
    for name in registry.installed("inference"):
        if ability in _provided(structure_kind, name=name):
            found.append(name)
        elif ability in _provided(structure_kind, name=name, exact=True):
            found.append(f"{name} with inference.exact=true")
    return found


def _provided(structure_kind: str, **node: Any) -> Ability:
    """What an inference with these parameters provides."""
    try:
        provided: Ability = registry.create("inference", node).provides(structure_kind)
    except StructoptError:  # it cannot be imported, or has other parameters: then it is no advice either
        return Ability(0)
    return provided


def _able(structure_kind: str) -> str:
    names = [name for name in registry.installed("inference") if _provided(structure_kind, name=name)]
    return ", ".join(names) or "none is installed"
