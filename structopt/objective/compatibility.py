"""Whether a graph, an inference, a loss and an optimizer work together."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, NoReturn

from structopt.core.ability import NEEDS, Ability
from structopt.core.factor_graph import FactorGraph
from structopt.core.inference import Inference, Messages
from structopt.core.loss import Loss
from structopt.core.needs import MINIMUM, OF_GRAPH, Demand, Goal, Needs, met, of_fit, unmet
from structopt.errors import ArgumentError

if TYPE_CHECKING:
    from structopt.core.optimizer import Optimizer


class Reason(Enum):
    """Why components do not work together."""

    DEMAND = "the optimizer demands a property"
    ROLE = "the loss counts its cost in parts that the graph lacks"
    REFUSED = "the inference refuses the graph"
    UNSOLVED = "the inference cannot solve structures of the graph"
    ABILITY = "the inference lacks an ability"
    SINGLE_TARGETS = "the loss takes no sets of outputs"
    KEPT_MESSAGES = "the inference keeps the messages of the last answer"
    SETS_HAVE_NO_GAP = "losses of sets of outputs have no certified gap"
    NO_GAP = "the inference certifies no gap"
    FOLLOWS_EPOCH = "it converges to the minimum of one P, and the loss changes every epoch"
    PENALTY = "the optimizer minimises P with other penalties"


@dataclass(frozen=True)
class Misfit:
    """The first reason why components do not work together.

    Attributes
    ----------
    reason : Reason
    who : str
        Kind of the component that asks: ``loss``, ``optimizer`` or ``inference``.
    ability : Ability
        For the reason ABILITY: the one that the inference lacks.
    demand : Demand or None
        For the reason DEMAND.
    text : str
        For the reason REFUSED: the words of the inference.
    """

    reason: Reason
    who: str
    ability: Ability = Ability(0)
    demand: Demand | None = None
    text: str = ""


def certifies(provided: Ability) -> bool:
    """Return whether P - D bounds the distance of P from its minimum: computed losses are exact or
    too large, and their planes lie below them.
    """
    return Ability.CONVEX in provided and bool(provided & (Ability.EXACT | Ability.UPPER))


def unsolved(inference: Inference, graph: FactorGraph) -> Misfit | None:
    """Return why an inference does not solve structures of a graph, or None."""
    if reason := inference.refusal(graph):
        return Misfit(Reason.REFUSED, "inference", text=reason)
    if not inference.provides(graph.kind):
        return Misfit(Reason.UNSOLVED, "inference")
    return None


def first_misfit(
    graph: FactorGraph,
    inference: Inference,
    loss: Loss,
    optimizer: Optimizer | None = None,
    points: bool = True,
    equal: bool = True,
    goal: Goal = MINIMUM,
) -> Misfit | None:
    """Return the first reason why components do not work together, or None.

    Parameters
    ----------
    graph, inference, loss : components
    optimizer : Optimizer or None
        None: none is chosen yet.
    points : bool
        Whether gold outputs are known in full.
    equal : bool
        Whether instances have equal weights.
    goal : Goal
        Goal of the fit.
    """
    missed, asked, gap = list[Demand](), Needs(), goal.tolerance > 0
    if optimizer is not None:
        asked = of_fit(optimizer.needs(loss, graph), goal)
        facts = loss, graph, inference, points, equal
        missed = [demand for demand in asked.demands if not met(demand.asks, *facts)]
    if loss.follows_epoch and optimizer is not None and optimizer.plan.converges:
        return Misfit(Reason.FOLLOWS_EPOCH, "optimizer")
    if of_graph := [demand for demand in missed if demand.asks in OF_GRAPH]:
        return Misfit(Reason.DEMAND, "optimizer", demand=of_graph[0])
    if loss.role not in graph.roles:
        return Misfit(Reason.ROLE, "loss")
    found = unsolved(inference, graph) or _lacking(inference, graph, loss.requires, asked)
    if found is None and missed:
        return Misfit(Reason.DEMAND, "optimizer", demand=missed[0])
    if found is None and not points:
        found = _open_gold(inference, loss, gap)
    provided = inference.reports(graph) if goal.certificate else inference.provides(graph.kind)
    if found is None and gap and not certifies(provided):
        return Misfit(Reason.NO_GAP, "optimizer")
    if found is None and optimizer and not optimizer.plan.minimizes_with(goal.penalty):
        return Misfit(Reason.PENALTY, "optimizer")
    return found


def _lacking(
    inference: Inference, graph: FactorGraph, of_loss: Ability, of_optimizer: Needs
) -> Misfit | None:
    provided, reported = inference.provides(graph.kind), inference.reports(graph)
    for who, lacking in (
        ("loss", of_loss & ~provided),
        ("optimizer", of_optimizer.abilities & ~provided),
        ("optimizer", of_optimizer.reported & ~reported),
    ):
        for ability in lacking:
            return Misfit(Reason.ABILITY, who, ability)
    return None


def _open_gold(inference: Inference, loss: Loss, gap: bool) -> Misfit | None:
    if not loss.takes_sets:
        return Misfit(Reason.SINGLE_TARGETS, "loss")
    if inference.messages is Messages.KEPT:
        return Misfit(Reason.KEPT_MESSAGES, "inference")
    return Misfit(Reason.SETS_HAVE_NO_GAP, "optimizer") if gap else None


def refuse(
    found: Misfit,
    graph: FactorGraph,
    inference: Inference,
    loss: Loss,
    optimizer: Optimizer | None = None,
    goal: Goal = MINIMUM,
) -> NoReturn:
    """Refuse components by the names of their classes.

    Raises
    ------
    ArgumentError
        Its parameter is the component that asks.
    """
    names = {"loss": loss.member, "inference": type(inference).__name__}
    names["optimizer"] = type(optimizer).__name__
    if found.reason is Reason.PENALTY and optimizer is not None:
        accepted = {"l1 or l2": "L1() or L2()"}.get(optimizer.plan.penalties, "L2() only")
        raise ArgumentError(
            f"is {goal.penalty}, and {names['optimizer']} minimises P with the penalty {accepted}.",
            parameter="penalty",
            remedy="Use LBFGS(), or L2().",
        )
    on, remedy = f"on {type(graph).__name__}", None
    if found.demand is not None:
        all_needs = of_fit(optimizer.needs(loss, graph), goal) if optimizer else Needs()
        asked = [demand.asks for demand in all_needs.demands]
        needs, because, other = unmet(found.demand, loss, inference, names["inference"], asked)
        text = f"{names['optimizer']} {needs}{found.demand.because or because}."
        remedy = found.demand.remedy or other
    elif found.reason is Reason.ABILITY:
        text = f"{names[found.who]} needs {NEEDS[found.ability]}, which {names['inference']} does "
        text += f"not give {on}."
    elif found.reason is Reason.REFUSED:
        text = found.text
    elif found.reason is Reason.UNSOLVED:
        text = f"{names['inference']} does not work {on}."
    elif found.reason is Reason.ROLE:
        text = f"{names['loss']} counts costs in parts of the role {loss.role}, and "
        text += f"{type(graph).__name__} has the roles {', '.join(graph.roles)}."
        remedy = f"Use a cost that counts one of these, or a graph that has the role {loss.role}."
    else:
        text = f"{names[found.who]}: {found.reason.value}."
    raise ArgumentError(text, parameter=found.who, remedy=remedy)
