"""The contract of optimizers: init, step and weights over a state; what they need of others, and how a run treats them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from structopt.core.component import Component
from structopt.core.factor_graph import FactorGraph
from structopt.core.loss import Loss
from structopt.core.memory import Footprint, ProblemSizes
from structopt.core.needs import Needs
from structopt.core.objective import Objective
from structopt.kernels.waist.record import Array

State = dict[str, Any]


def copied(state: State) -> State:
    """A copy of a state, whose arrays and scalars a pass may change."""
    return {name: copy(value) for name, value in state.items()}


@dataclass(frozen=True)
class Plan:
    """How a run treats an optimizer.

    Attributes
    ----------
    form : str
        ``passes``: visits of single instances by compiled passes; ``minibatch``: steps on batches of instances, by compiled
        passes where features are sparse, else by one gradient a batch; ``batch``: losses and gradients over all instances.
    mixable : bool
        Whether its state is a point and statistics of the way to it, without dual variables of instances, so that states
        after passes over shards may be averaged.
    variant : str
        Which residual it steps by: ``max_loss``, or ``prediction`` (the output that is best under the scores alone).
    penalty : str
        The regulariser of its P: ``l2`` or ``l1``.
    tolerance : float
        Relative gap at which the trainer stops; 0 never does.
    certificate : bool
        Whether the trainer shall bound the optimum after every pass, since its steps do not.
    shortens : bool
        Whether the length of its steps is a setting: a pass that raises P is then repeated with shorter steps.
    divisible : bool
        Whether a step may visit a window of a pass: it takes the instances of ``problem.order(state["epoch"])``, counts them
        itself, and nothing else in it goes by passes.
    tried : tuple of str
        Parameters that trial passes have chosen, which the run logs: names of state entries.
    kernel_modules : tuple of str
        Modules that its steps import: loaded, and compiled if necessary, before time is measured.
    """

    form: Literal["passes", "minibatch", "batch"] = "passes"
    mixable: bool = False
    variant: str = "max_loss"
    penalty: Literal["l2", "l1"] = "l2"
    tolerance: float = 0.0
    certificate: bool = False
    shortens: bool = False
    divisible: bool = False
    tried: tuple[str, ...] = ()
    kernel_modules: tuple[str, ...] = ()


@dataclass(frozen=True)
class Report:
    """What one step of an optimizer reports.

    Attributes
    ----------
    loss : float
        Sum of the L_i as met during the pass (nats, or cost units at beta = inf).
    negative_losses : int
        How many L_i were below zero (an inference without a bound) and skipped.
    primal : float or None
        P at the weights that would be returned, where the step knows it to the last bit's rounding.
    dual : float or None
        D at a feasible dual point, a lower bound on the minimum of P.
    inference_seconds : float or None
        Time in the inference, where the step measures it.
    evaluations : tuple of float
        Seconds of each evaluation of loss and gradient over all instances.
    finished : str
        Why further steps would change nothing, or the empty string.
    convex_pass : int or None
        The number of this pass among those that minimise the convex loss which training begins with; None for all others.
    repeated : int
        How often the pass was repeated with shorter steps, since it had raised P.
    judging_seconds : float
        Time that the step spent on P, which does not count as time of the optimizer.
    """

    loss: float
    negative_losses: int = 0
    primal: float | None = None
    dual: float | None = None
    inference_seconds: float | None = None
    evaluations: tuple[float, ...] = ()
    finished: str = ""
    convex_pass: int | None = None
    repeated: int = 0
    judging_seconds: float = 0.0


class Optimizer(Component):
    """A learning algorithm as init, step and weights over a state of arrays and scalars.

    Of state arrays of shape (dimension,) that are zero wherever a weight may not move, checkpoints keep the rest only. An
    optimizer never prints, logs, or decides to stop.

    Attributes
    ----------
    epochs : int
        Passes over the data.
    C : float
        1/(lambda m), at which the objective is reported.
    """

    kind_of_component: ClassVar[str] = "optimizer"

    epochs: int
    C: float

    def needs(self, loss: Loss, graph: FactorGraph) -> Needs:
        """What it needs of the other components, given loss and graph; nothing beyond a (sub)gradient by default."""
        return Needs()

    @property
    def plan(self) -> Plan:
        """How a run treats it."""
        return Plan()

    def footprint(self, sizes: ProblemSizes, loss: Loss) -> Footprint:
        """Bytes that it takes, before they are taken: the weights alone by default."""
        return Footprint({"weights": sizes.weight_vector})

    @abstractmethod
    def init(self, problem: Objective, weights: Array) -> State:
        """Return the state before the first pass."""

    @abstractmethod
    def step(self, problem: Objective, state: State) -> tuple[State, Report]:
        """Do one pass over the data, or one batch iteration."""

    def shortened(self, state: State) -> State:
        """Return the state with shorter steps from here on (`Plan.shortens`); the same where steps have no length."""
        return state

    @abstractmethod
    def weights(self, state: State) -> Array:
        """Return the weights that would be returned now (averaged, if so asked)."""

    def verify(self, problem: Objective, state: State, instances: Sequence[int]) -> float | None:
        """Largest difference of its steps from the references', for check=true; None where it solves no programs."""
        return None
