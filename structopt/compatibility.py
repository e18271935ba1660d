"""What a loss or an optimizer requires must be among what the inference provides; the errors name components that would do."""

from __future__ import annotations

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


def check(task: Any, factor_graph: Any, inference: Any, loss: Any, optimizer: Any, structure_kind: str) -> None:
    """Raise where the chosen components cannot work together.

    Parameters
    ----------
    task, factor_graph, inference, loss, optimizer : components
        Whichever of them has an attribute ``requires`` (an `Ability`) is heard; an optimizer with a method
        ``check_loss(loss)`` may also refuse a loss itself.
    structure_kind : str
        The kind of structure that the factor graph builds.

    Raises
    ------
    CompatibilityError
        Naming who needs what, what the inference does instead, and the inferences that would do.
    """
    provided = inference.provides(structure_kind)
    name = f"inference={name_of('inference', inference)}"
    if not provided:
        others = _able(structure_kind)
        raise CompatibilityError(f"{name} cannot solve structures of kind {structure_kind}. Those that can: {others}.")
    wanting = {"loss": loss, "optimizer": optimizer, "factor_graph": factor_graph, "task": task}
    for kind, component in wanting.items():
        for ability in getattr(component, "requires", Ability(0)) & ~provided:
            needs, does = f"{_who(kind, component)} needs {NEEDS[ability]}", f"{name} {_what_it_does(provided)}"
            raise CompatibilityError(f"{needs}, but {does}. {_advice(ability, structure_kind)}")
    if hasattr(optimizer, "check_loss"):
        optimizer.check_loss(loss)
    if getattr(optimizer, "tolerance", 0.0) > 0 and not provided & (Ability.EXACT | Ability.UPPER):
        raise CompatibilityError(
            f"optimizer.tolerance stops at a certified gap, which needs values that are exact or upper bounds, but {name} "
            f"gives neither. Type optimizer.tolerance=0. {_advice(Ability.UPPER, structure_kind)}"
        )
    positional(optimizer, loss, factor_graph)


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


def _what_it_does(provided: Ability) -> str:
    if Ability.MARGINALS not in provided:
        return "only maximises"
    return "gives only " + ", ".join(NEEDS[ability] for ability in provided)


def _advice(ability: Ability, structure_kind: str) -> str:
    names = able(ability, structure_kind)
    if names:
        return f"With this factor graph, {SOURCES[ability]}: {', '.join(names)}."
    remedy = " Type loss.beta=inf, which needs none." if ability is Ability.MARGINALS else ""
    return f"With this factor graph, no installed inference gives {NEEDS[ability]}.{remedy}"


def able(ability: Ability, structure_kind: str) -> list[str]:
    """Return the names of the installed inferences that have an ability on a kind of structure."""
    return [name for name in registry.installed("inference") if ability in _provided(name, structure_kind)]


def _provided(name: str, structure_kind: str) -> Ability:
    try:
        provided: Ability = registry.create("inference", {"name": name}).provides(structure_kind)
    except StructoptError:  # it cannot be imported, or needs parameters: then it is no advice either
        return Ability(0)
    return provided


def _able(structure_kind: str) -> str:
    names = [name for name in registry.installed("inference") if _provided(name, structure_kind)]
    return ", ".join(names) or "none is installed"
