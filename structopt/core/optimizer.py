"""The contract of optimizers: init, step and weights over a state; what they need of others, and
how a run treats them.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from inspect import signature
from typing import Any, ClassVar, Literal

from structopt.core.component import Component
from structopt.core.factor_graph import FactorGraph
from structopt.core.loss import Loss
from structopt.core.memory import Footprint, ProblemSizes
from structopt.core.needs import Needs
from structopt.core.objective import Objective
from structopt.core.optimizer_state import OptimizerState, Role, State
from structopt.core.weights.penalty import LASSO, RIDGE, Penalty
from structopt.kernels.waist.record import Array

UNDECLARED = "it does not declare which entries of its state are over the weights"


@dataclass(frozen=True)
class Plan:
    """How a run treats an optimizer.

    Attributes
    ----------
    form : str
        ``passes``: visits of single instances by compiled passes; ``minibatch``: steps on batches
        of instances, by compiled passes where features are sparse, else by one gradient a batch;
        ``batch``: losses and gradients over all instances.
    mixable : bool
        Whether its state is a point and statistics of the way to it, without dual variables of
        instances, so that states after passes over shards may be averaged.
    additive : bool
        Whether its weights are a sum over dual variables of the instances, and its passes climb the
        dual with C as the length of the steps, so that the steps of shards may be added (`share`,
        `united`, `dual`).
    variant : str
        Which residual it steps by: ``max_loss``, or ``prediction`` (the output that is best under
        the scores alone).
    penalties : str
        The penalties with which it minimises P: ``l2``; ``l1 or l2``, one of both; or ``any``.
    shortens : bool
        Whether the length of its steps is a setting: a pass that raises P is then repeated with
        shorter steps.
    divisible : bool
        Whether a step may visit a window of a pass: it takes the instances of
        ``problem.order(state["epoch"])``, counts them itself, and nothing else in it goes by
        passes.
    tried : tuple of str
        Parameters that trial passes have chosen, which the run logs: names of state entries.
    kernel_modules : tuple of str
        Modules of kernels that its steps import: loaded, and compiled if necessary, before time is
        measured.
    sparse_kernel_modules : tuple of str
        Further modules of kernels that its steps import if the penalty has an l1 norm.
    helper_kernel_modules : tuple of str
        Further modules of kernels that its steps import if several threads share their visits.
    converges : bool
        Whether its weights come near the minimum of P, within a known bound or tolerance. Of other
        optimizers a run keeps the epoch that is best on the development part (`keep`), and refuses
        a tolerance without certificates.
    finishes : bool
        Whether its step reports that it has finished (`Report.finished`): a run that makes all its
        epochs before is unfinished.
    minimizes : bool
        Whether its steps lead towards the minimum of P. Otherwise P may rise from epoch to epoch,
        and the plot of a run has a remark about it.
    imports : tuple of str
        Modules without kernels that its steps import, and that take time to load.
    weights : tuple of str
        Names of arrays over the weights in a state that is a dict: of shape (dimension,) or empty,
        zero wherever a weight may not move. Checkpoints keep the weights that may move, and
        training with more labels and attributes appends zeros.
    numbers : tuple of str
        Names of numbers in a state that is a dict, which stay when training continues with other
        data: counts of visits and epochs, a rate.
    bound : str
        Why its state is bound to the data that it was made with, so that training cannot go on from
        it with others (`Earlier`); empty where it can.
    penalty, tolerance, certificate : Penalty, float, bool
        Settings of a fit, for plugins whose constructors take them.
    """

    form: Literal["passes", "minibatch", "batch"] = "passes"
    mixable: bool = False
    additive: bool = False
    variant: str = "max_loss"
    penalties: Literal["l2", "l1 or l2", "any"] = "l2"
    shortens: bool = False
    divisible: bool = False
    converges: bool = False
    finishes: bool = False
    minimizes: bool = True
    tried: tuple[str, ...] = ()
    kernel_modules: tuple[str, ...] = ()
    sparse_kernel_modules: tuple[str, ...] = ()
    helper_kernel_modules: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()
    weights: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    bound: str = UNDECLARED
    penalty: Penalty = RIDGE
    tolerance: float = 0.0
    certificate: bool = False

    def minimizes_with(self, penalty: Penalty) -> bool:
        """Return whether it minimises P with a penalty."""
        own = {"l2": (self.penalty,), "l1 or l2": (RIDGE, LASSO)}
        return penalty in own.get(self.penalties, (penalty,))

    def modules(self, penalty: Penalty, threads: int = 1) -> tuple[str, ...]:
        """Return the modules of kernels that its steps import with a penalty, and with so many
        threads that share visits.
        """
        sparse = self.sparse_kernel_modules if penalty.sparse else ()
        return self.kernel_modules + sparse + (self.helper_kernel_modules if threads > 1 else ())


@dataclass(frozen=True)
class Earlier:
    """The end of an earlier run, from which an optimizer continues with more instances, labels or
    attributes.

    Attributes
    ----------
    state : dict
        The values of its state after its last pass, by name (`values_of`). Its `Plan.weights` are
        over the weights of the new problem: zeros where it had none.
    kept : int
        How many of the first instances of the new problem are those of the earlier one, all of them
        and in its order; 0 where the new problem has none of them.
    parts : callable
        Where the parts of the earlier instances are in a vector over the parts of all instances of
        the new problem, int64, shape (earlier parts,); it raises `ConfigError` where the new
        problem lacks some.
    """

    state: dict[str, Any]
    kept: int
    parts: Callable[[], Array]


@dataclass(frozen=True)
class Report:
    """The report of one step of an optimizer.

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
    failed : bool
        Whether `finished` does not imply that the objective is near its minimum.
    convex_pass : int or None
        The number of this pass among those that minimise the convex loss which training begins
        with; None for all others.
    repeated : int
        How often the pass was repeated with shorter steps, since it had raised P.
    judging_seconds : float
        Time that the step spent on P, which does not count as time of the optimizer.
    rate_bound : float or None
        Upper bound of the distance of `dual` from its maximum, by a proved rate of convergence.
    """

    loss: float
    negative_losses: int = 0
    primal: float | None = None
    dual: float | None = None
    inference_seconds: float | None = None
    evaluations: tuple[float, ...] = ()
    finished: str = ""
    failed: bool = False
    convex_pass: int | None = None
    repeated: int = 0
    judging_seconds: float = 0.0
    rate_bound: float | None = None


def taken(result: Any) -> tuple[Any, Report | None]:
    """Return the state that a step returned, and its report; None if it returned a state only."""
    return result if isinstance(result, tuple) else (result, None)


def informed(optimizer: Optimizer, **settings: Any) -> Optimizer:
    """Return a copy with C, epochs and tolerance of a fit, if its constructor has them."""
    own, parameters = copy(optimizer), signature(type(optimizer)).parameters
    for name in parameters.keys() & settings:
        setattr(own, name, settings[name])
    return own


def reported(optimizer: Optimizer, problem: Objective, result: Any) -> tuple[State, Report]:
    """Return the state that a step returned, and its report; without one, of the losses at the
    weights of the state.
    """
    state, report = taken(result)
    return state, report or Report(problem.losses(optimizer.weights(state)))


class Optimizer(Component):
    """A learning algorithm as init, step and weights over a state of arrays and scalars.

    `plan` says which entries of the state are over the weights. C and the penalty are attributes of
    the problem. An optimizer never prints, logs, or decides to stop.
    """

    kind_of_component: ClassVar[str] = "optimizer"
    state_type: ClassVar[type] = dict
    """The class of its states: dict, an `OptimizerState`, or another dataclass."""

    def needs(self, loss: Loss, graph: FactorGraph) -> Needs:
        """What it needs of the other components, given loss and graph; nothing beyond a
        (sub)gradient by default.
        """
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

    def continued(self, problem: Objective, earlier: Earlier) -> State:
        """Return the state before the first pass over other data than the `earlier` state was made
        with.

        By default the entries that the plan names, which are all of it; a method whose state has
        entries over instances, or numbers that depend on the data, makes those for the new problem.
        It is asked for only where `Plan.bound` is empty.

        Raises
        ------
        KeyError
            If the earlier state lacks an entry.
        ConfigError
            If the new problem is none that it can go on with.
        """
        return self.restored(self._lasting(earlier))

    def _lasting(self, earlier: Earlier) -> dict[str, Any]:
        """Return the values of an earlier state that stay with other data."""
        names = *self.names("weights"), *self.names("numbers")
        return {name: earlier.state[name] for name in names}

    def names(self, role: Role) -> tuple[str, ...]:
        """Return the names of the values of its states that have a role."""
        if issubclass(self.state_type, OptimizerState):
            return self.state_type.names(role)
        return {"weights": self.plan.weights, "numbers": self.plan.numbers}.get(role, ())

    def restored(self, values: Mapping[str, Any]) -> State:
        """Return the state with these arrays and numbers, as a checkpoint has them.

        Raises
        ------
        TypeError
            If values of a state are missing.
        """
        if issubclass(self.state_type, OptimizerState):
            return self.state_type.of(values)
        return self.state_type(**values)

    @abstractmethod
    def step(self, problem: Objective, state: State) -> Any:
        """Do one pass over the data, or one batch iteration.

        Returns
        -------
        (State, Report), or State
            The state only, if nothing is reported.
        """

    def shortened(self, state: State) -> State:
        """Return the state with shorter steps from here on (`Plan.shortens`); the same where steps
        have no length.
        """
        return state

    @abstractmethod
    def weights(self, state: State) -> Array:
        """Return the weights that would be returned now (averaged, if so asked)."""

    def averaged(self, state: State) -> float:
        """Sum of the weights of the iterates whose mean `weights` returns; 0 where it returns the
        last one.

        Where it is not 0, `weights` goes weight by weight, so that it may be asked for some of
        them, in arrays of these alone.
        """
        return 0.0

    def objective(self, problem: Objective, state: State) -> float:
        """P at the weights that would be returned now."""
        return problem.objective(self.weights(state))

    def share(self, problem: Objective, state: State, bounds: tuple[int, int]) -> dict[str, Any]:
        """The values of a state that belong to instances, of some of these, by name
        (`Plan.additive`).
        """
        raise NotImplementedError

    def united(self, state: State, shares: Sequence[Mapping[str, Any]]) -> State:
        """The state after passes over shards, given the values of each without its weights, by name
        (`Plan.additive`).
        """
        raise NotImplementedError

    def dual(self, problem: Objective, state: State) -> float | None:
        """D at the dual point of a state, or at a better one that the state knows; None where it
        knows none (`Plan.additive`).
        """
        raise NotImplementedError

    def verify(self, problem: Objective, state: State, instances: Sequence[int]) -> float | None:
        """Largest difference of its steps from the references', for check=true; None where it
        solves no programs.
        """
        return None
