"""Names of installed components that would do where a chosen one does not: what messages advise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from structopt.config import registry
from structopt.core.ability import Ability
from structopt.core.factor_graph import FactorGraph
from structopt.core.loss import Loss
from structopt.core.needs import met
from structopt.core.structure_kind import StructureKind
from structopt.errors import StructoptError


def with_defaults(kind: str) -> dict[str, Any]:
    """The installed components of a kind, created without options; those that cannot be created are
    left out.
    """
    components = {}
    for name in registry.installed(kind):
        try:
            components[name] = registry.create(kind, {"name": name})
        except StructoptError:
            continue
    return components


def factor_graphs(fits: Callable[[Any], bool]) -> str:
    """Names of the factor graphs that fit, with the switch that makes them fit where one does."""
    names = []
    for name, graph in with_defaults("factor_graph").items():
        switches = [
            one.name for one in registry.schema(type(graph)).values() if one.default is False
        ]
        if fits(graph):
            names.append(name)
        else:
            names += [
                f"{name} with factor_graph.{switch}=true"
                for switch in switches
                if fits(registry.create("factor_graph", {"name": name, switch: True}))
            ]
    return _listed(names)


def inferences(ability: Ability, kind: StructureKind) -> list[str]:
    """Names of the inferences that have an ability on a kind of structure, if need be by
    ``exact=true``.
    """
    names = []
    for name in registry.installed("inference"):
        if ability in _provided(kind, name=name):
            names.append(name)
        elif ability in _provided(kind, name=name, exact=True):
            names.append(f"{name} with inference.exact=true")
    return names


def solvers(kind: StructureKind) -> str:
    """Names of the inferences that solve a kind of structure at all."""
    return _listed([name for name in registry.installed("inference") if _provided(kind, name=name)])


def costs(graph: FactorGraph) -> str:
    """Names of the costs that count in parts that the graph has."""
    return ", ".join(
        name for name, cost in with_defaults("cost").items() if cost.role in graph.roles
    )


def optimizers_of_any_scorer(loss: Loss, graph: FactorGraph) -> str:
    """Names of the optimizers that work with every scorer, and with this loss and this graph."""
    needs = {
        name: optimizer.needs(loss, graph) for name, optimizer in with_defaults("optimizer").items()
    }
    exact = registry.create("inference", {"name": "exact"})
    return ", ".join(
        name
        for name, own in needs.items()
        if own.features == "any"
        and all(met(demand.asks, loss, graph, exact) for demand in own.demands)
    )


def divided_optimizers() -> str:
    """Names of the optimizers whose passes can be divided among shards, to be mixed or added up."""
    plans = {name: optimizer.plan for name, optimizer in with_defaults("optimizer").items()}
    return ", ".join(name for name, plan in plans.items() if plan.mixable or plan.additive)


def _provided(kind: StructureKind, **node: Any) -> Ability:
    """The abilities of an inference with these parameters; none where it cannot be imported, or has
    other parameters.
    """
    try:
        provided: Ability = registry.create("inference", node).provides(kind)
    except StructoptError:
        return Ability(0)
    return provided


def _listed(names: list[str]) -> str:
    return ", ".join(names) or "none is installed"
