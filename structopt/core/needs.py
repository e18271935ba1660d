"""What optimizers need of the other components, as data; and the messages for needs that are not
met.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from enum import Enum
from inspect import signature
from typing import Literal, NamedTuple

from structopt.core.ability import Ability
from structopt.core.factor_graph import FactorGraph
from structopt.core.inference import Inference, Messages
from structopt.core.loss import Loss
from structopt.core.weights.penalty import RIDGE, Penalty

GRADIENTS = "take an optimizer that follows gradients alone: SGD(), AdaGrad(), AdaDelta()"


class Property(Enum):
    """Properties of a loss, a factor graph or an inference that an optimizer may require.

    Of the loss: CONVEX; FAMILY (a member of L_{beta,gamma}, whose dual is known); MAXIMUM (beta =
    inf); SMOOTH (beta < inf); COST (gamma > 0); LOSS_AT_ZERO (P(0) > 0); PERCEPTRON (beta = inf and
    gamma = 0). Of the graph: CLOSED_FORMS of the marginals of positional structures; LOOPS, along
    whose edges messages are passed. Of the inference: KEPT_MESSAGES, from visit to visit;
    SAME_FUNCTION at every visit, so none that are kept. Of the data: POINTS, gold outputs that are
    known in full, without which no loss is convex and no dual is known; EQUAL_WEIGHTS, instances
    that all count the same.
    """

    CONVEX = "convex"
    FAMILY = "family"
    MAXIMUM = "maximum"
    SMOOTH = "smooth"
    COST = "cost"
    LOSS_AT_ZERO = "loss at zero"
    PERCEPTRON = "perceptron"
    CLOSED_FORMS = "closed forms"
    LOOPS = "loops"
    KEPT_MESSAGES = "kept messages"
    SAME_FUNCTION = "same function"
    POINTS = "points"
    EQUAL_WEIGHTS = "equal weights"


KINDS_OF_ARGUMENTS = {
    **dict.fromkeys(("certificate", "tolerance", "gradient_tolerance", "initial"), "optimizer"),
    **dict.fromkeys(("inner", "k_best"), "optimizer"),
    **dict.fromkeys(("beta", "gamma"), "loss"),
    **dict.fromkeys(("warm_start", "passes"), "inference"),
    "order": "factor_graph",
}
"""Kind of component by argument that the words on demands name in backquotes."""

KEPT = "MPLP(passes=10, warm_start=True)"
"""An inference that continues with the messages of the last visit."""

OF_GRAPH = frozenset({Property.LOOPS})
"""Properties that are checked before the abilities of the inference."""


class Demand(NamedTuple):
    """A property that an optimizer asks for, and words for the message where it is missing.

    Attributes
    ----------
    asks : Property
    by : str
        What asks, where it is an option and not the optimizer as such:
        `certificate=True`.
    because : str
        Why, where that is not the property's usual reason; it follows the words on what is needed.
    remedy : str
        What to type, where that is not the property's usual remedy.
    """

    asks: Property
    by: str = ""
    because: str = ""
    remedy: str = ""


MARGINS: tuple[Demand, ...] = (
    Demand(Property.FAMILY),
    Demand(Property.MAXIMUM),
    Demand(Property.COST),
)
"""Of methods with margins: a loss of the family at beta = inf, with a cost, without which zero
weights have no loss.
"""
FAMILY: tuple[Demand, ...] = (Demand(Property.FAMILY),)
"""Of methods that use the dual of the loss family."""
UNWEIGHTED: tuple[Demand, ...] = (Demand(Property.EQUAL_WEIGHTS),)
"""Of methods that do not ask for losses by `structopt.kernels.waist.visit.visit`, which weighs
them.
"""
DUAL: tuple[Demand, ...] = (*FAMILY, Demand(Property.POINTS), *UNWEIGHTED)
"""Of dual methods: a loss whose dual is known, gold outputs that are known in full, and instances
that count the same.
"""
CONVEX: tuple[Demand, ...] = (Demand(Property.CONVEX),)
"""Of methods that use tangents of the loss as lower bounds."""


@dataclass(frozen=True)
class Needs:
    """Properties of other components that an optimizer needs; compared with theirs by
    `structopt.objective.compatibility`.

    Attributes
    ----------
    abilities : Ability
        Of the inference, beyond what the loss needs.
    demands : tuple of Demand
        Properties of loss, factor graph and inference; the first that is missed is in the message.
    positional : bool
        Whether it needs a structure without tied parts: every factor has parts of its own.
    features : str
        ``sparse``: the contract `SparseFeatures`, scores that are linear in the weights with
        kernels for compiled passes; ``any``: that of every `Scorer`, scores and their gradient.
    by : str
        What asks for sparse features, where it is an option and not the optimizer as such.
    reported : Ability
        Abilities of the inference by which P is computed (`Inference.reports`).
    """

    abilities: Ability = Ability(0)
    demands: tuple[Demand, ...] = ()
    positional: bool = False
    features: Literal["sparse", "any"] = "sparse"
    by: str = ""
    reported: Ability = Ability(0)


CERTIFIED: tuple[Demand, ...] = (
    Demand(
        Property.CONVEX,
        "`certificate=True`",
        ": its tangents are no bounds",
        "Set `certificate=False`.",
    ),
    Demand(Property.POINTS, "`certificate=True`", remedy="Set `certificate=False`."),
)
"""Demands of a fit that bounds the minimum of P by tangents."""
STOPPED: tuple[Demand, ...] = (
    Demand(
        Property.CONVEX,
        "`tolerance`",
        ": others have no certified gap",
        "Set `tolerance=0`; `gradient_tolerance` stops at a stationary point.",
    ),
)
"""Demands of a fit that stops at a gap."""


class Goal(NamedTuple):
    """Which P a fit minimises, and how it bounds the minimum.

    Attributes
    ----------
    penalty : Penalty
        The penalty of P.
    tolerance : float
        Gap, relative to P, at which the fit stops; 0: none.
    certificate : bool
        Whether each epoch bounds the minimum by tangents, which needs scores that are linear in
        the weights.
    """

    penalty: Penalty = RIDGE
    tolerance: float = 0.0
    certificate: bool = False


MINIMUM = Goal()
"""Goal of a fit with the penalty L2() and without bounds."""


def of_fit(needs: Needs, goal: Goal) -> Needs:
    """Return the needs of an optimizer, with the needs of a fit that bounds the minimum of P."""
    for asked, by, abilities, demands in (
        (goal.certificate, "`certificate=True`", Ability.UPPER | Ability.CONVEX, CERTIFIED),
        (goal.tolerance > 0, "`tolerance`", Ability(0), STOPPED),
    ):
        if asked:
            needs = replace(
                needs,
                reported=needs.reported | abilities,
                demands=(*needs.demands, *demands),
                features="sparse",
                by=by if needs.features == "any" else needs.by,
            )
    return needs


def met(
    asked: Property,
    loss: Loss,
    graph: FactorGraph,
    inference: Inference,
    points: bool = True,
    equal: bool = True,
) -> bool:
    """Whether the components, and data whose gold outputs are `points` and whose weights are
    `equal` or not, have a property.
    """
    facts = {
        Property.CONVEX: loss.convex,
        Property.FAMILY: loss.in_family,
        Property.MAXIMUM: loss.temperature == 0.0,
        Property.SMOOTH: loss.temperature > 0.0,
        Property.COST: loss.gamma > 0.0,
        Property.LOSS_AT_ZERO: not (
            loss.in_family and loss.temperature == 0.0 and loss.gamma == 0.0
        ),
        Property.PERCEPTRON: loss.temperature == 0.0 and loss.gamma == 0.0,
        Property.CLOSED_FORMS: graph.traits.closed_forms,
        Property.LOOPS: graph.traits.kind.loopy,
        Property.KEPT_MESSAGES: inference.messages is Messages.KEPT,
        Property.SAME_FUNCTION: inference.messages is not Messages.KEPT,
        Property.POINTS: points,
        Property.EQUAL_WEIGHTS: equal,
    }
    return facts[asked]


def refusal(
    demand: Demand,
    optimizer: str,
    loss: Loss,
    inference: Inference,
    name: str,
    asked: Collection[Property] = (),
    open_gold: str = "",
) -> str:
    """Say what an optimizer needs and does not get, and what to type.

    Parameters
    ----------
    demand : Demand
    optimizer : str
        Its name.
    loss, inference, name, asked, open_gold
        As of `unmet`.
    """
    words = f"inference={name}"
    needs, because, remedy = unmet(demand, loss, inference, words, asked, open_gold)
    who = demand.by or f"optimizer={optimizer}"
    return f"{who} {needs}{demand.because or because}. {demand.remedy or remedy}"


def unmet(
    demand: Demand,
    loss: Loss,
    inference: Inference,
    name: str,
    asked: Collection[Property] = (),
    open_gold: str = "the data",
) -> tuple[str, str, str]:
    """Return the words on a demand that is not met: the need, its reason, and a remedy.

    Parameters
    ----------
    demand : Demand
    loss : Loss
    inference : Inference
    name : str
        The words that name the inference.
    asked : collection of Property
        All that the optimizer asks for, so that nothing is named that it refuses as well.
    open_gold : str
        What leaves gold outputs open (`structopt.core.task.Task.open_gold`).
    """
    member = loss.member
    return {
        Property.CONVEX: (
            f"needs a convex loss, which {member} is not",
            "",
            f"Use CRF(), SVM() or another member of the family, or {GRADIENTS}.",
        ),
        Property.FAMILY: (
            f"climbs the dual of the loss family, of which {member} is no member",
            "",
            f"Use {_members(asked)}, or {GRADIENTS}.",
        ),
        Property.MAXIMUM: (
            "needs `beta=inf`",
            f", a maximum over outputs (this is {member})",
            "Use SVM().",
        ),
        Property.SMOOTH: (
            "needs a differentiable loss, `beta` < inf",
            f" (this is {member})",
            f"{setting(loss, 'beta', '1', 'CRF')}, or {GRADIENTS}.",
        ),
        Property.COST: (
            "needs `gamma` > 0",
            f": without a cost, zero weights have no loss (this is {member})",
            f"{setting(loss, 'gamma', '1', 'SVM')}.",
        ),
        Property.LOSS_AT_ZERO: (
            "needs a loss at zero weights",
            f", the size of its ball, and {member} has none: P(0) = 0",
            f"{setting(loss, 'gamma', '1', 'SVM')}.",
        ),
        Property.PERCEPTRON: (
            "takes the best output without its cost, `beta=inf` and `gamma=0`",
            f" (this is {member})",
            "Use PerceptronLoss(), or MIRA() for a cost, DCA() for a temperature.",
        ),
        Property.CLOSED_FORMS: (
            "needs marginals of every position in closed form",
            ", which this factor graph has not",
            "Take another optimizer, such as SDCA() or DCA().",
        ),
        Property.LOOPS: (
            "keeps messages along the edges of loopy graphs",
            ", and this factor graph has an exact inference, without any",
            "Use Pegasos(), which takes the same steps with it.",
        ),
        Property.KEPT_MESSAGES: _kept(inference, name),
        Property.SAME_FUNCTION: (
            "needs losses that stay the same functions from visit to visit",
            ", and messages that are kept change them",
            "Set `warm_start=False`; or take an online method, such as DCA(), SGD() or DLPW().",
        ),
        Property.POINTS: (
            "needs gold outputs that are known in full",
            f", and {open_gold} leaves some open: their losses are not convex, and their dual is "
            "not known",
            "Take an optimizer that completes them as it goes: DCA(), MIRA(), Perceptron(), "
            "Pegasos(), SGD(), AdaGrad(), AdaDelta(), LBFGS(), CuttingPlane(), "
            "OnlineCuttingPlane().",
        ),
        Property.EQUAL_WEIGHTS: (
            "takes all instances to count the same",
            ", and these have weights",
            "Leave the weights out; or take an optimizer that weighs losses: LBFGS(), DCA(), "
            "SGD(), AdaGrad(), AdaDelta(), Pegasos(), Perceptron(), CuttingPlane(), "
            "OnlineCuttingPlane().",
        ),
    }[demand.asks]


def _members(asked: Collection[Property]) -> str:
    """The losses of the family that an optimizer takes."""
    if Property.PERCEPTRON in asked:
        return "PerceptronLoss()"
    return "SVM()" if Property.MAXIMUM in asked else "CRF(), SVM() or LossFamily()"


def setting(loss: Loss, parameter: str, value: str, other: str) -> str:
    """Return how to set a parameter of the loss, or to take another loss if it has no such
    parameter.
    """
    return (
        f"Set `{parameter}={value}`"
        if parameter in signature(type(loss)).parameters
        else f"Use {other}()"
    )


def _kept(inference: Inference, name: str) -> tuple[str, str, str]:
    """How an inference without messages, or with new ones at every visit, is refused."""
    needs = "goes on with the messages of the last visit"
    if inference.messages is Messages.NONE:
        instead = f"Use {KEPT}, or Pegasos(), which learns by {name}."
        return needs, f", and {name} has none", instead
    instead = "Set `warm_start=True` and few `passes`, such as 10."
    return needs, f", which {name} does not keep as it is", instead
