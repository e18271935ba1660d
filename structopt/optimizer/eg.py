"""Exponentiated gradient for the whole loss family."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import Any, Literal

import numpy as np

from structopt.core import checks
from structopt.core.ability import Ability
from structopt.core.data import ranges
from structopt.core.data.ranges import LARGEST
from structopt.core.factor_graph import FactorGraph
from structopt.core.loss import Loss
from structopt.core.memory import Footprint, ProblemSizes
from structopt.core.needs import DUAL, MARGINS, Demand, Needs, Property
from structopt.core.objective import Objective
from structopt.core.optimizer import Optimizer, Plan, Report
from structopt.core.optimizer_state import absent, copied, over_instances, over_weights
from structopt.errors import ArgumentError
from structopt.kernels.waist.record import Array
from structopt.learning.part_duals import dual_at, gold_residuals, refuse_weights, weights_at
from structopt.optimizer.smo import SMOState, pass_over

ROUNDING = 1e-13  # a fall of D by less than this, relative to D, is rounding
LEAST_ETA = 1e-18  # of the initial eta: below it a step cannot change anything
# of an instance's step length from visit to visit, with eta a number or auto
GROWTH = {False: 1.05, True: 1.5}
LONGEST = 1000.0  # eta C of eta=auto: such a step leaves e^-1000 of an output that is worse by 1
# initial potentials that initial=auto tries
STARTS = (0.0, -1.0, -2.0, -3.0, -4.0, -6.0, -8.0, -12.0)


@dataclass(kw_only=True)
class EGState(SMOState):
    """A dual point by its potentials.

    Attributes
    ----------
    eta : float
        Length of the next step.
    dual : float or None
        D; None while SMO makes the steps.
    potentials : float64, shape (parts,), or None
        Potentials, in the dual form.
    etas, entropies : float64, shape (instances,), or None
        Length of steps and entropy of each instance, for online steps.
    exponents : float64, shape (dimension,), or None
        Weights that make the potentials F_i^T exponents + kappa gamma p_i, in the primal form.
    kappa : float or None
    residuals : float64, shape (parts,), or None
        mu_i - z_i, for SMO and online steps.
    reached : float or None
        D after the last pass of SMO.
    first : float or None
        D at the start, with ``eta="theorem"``.
    distance : float or None
        2.5 (B + lambda) KL / (C m) of Theorem 2, with ``eta="theorem"``.
    """

    residuals: Array = over_instances(None)
    eta: float
    dual: float = absent()
    potentials: Array = over_instances(None)
    etas: Array = over_instances(None)
    entropies: Array = over_instances(None)
    exponents: Array = over_weights(None)
    kappa: float = absent()
    reached: float = absent()
    first: float = absent()
    distance: float = absent()


class EG(Optimizer):
    """Dual ascent by multiplicative updates of one distribution over the outputs of each instance.

    The distribution of instance i is the Gibbs distribution of potentials v_ir over its parts, mu_i
    its marginals:

        theta = C sum_i F_i (z_i - mu_i),      v_ir <- (1 - eta C/beta) v_ir + eta C (gamma p_ir +
        theta^T phi_ir)

    where the factor is 1 at beta = inf. D never falls: a step that would lower it is not made, and
    eta is halved until one does not. Step lengths that are safe for any data, eta <= 1/(C/beta +
    C^2 R^2) online and 1/(C/beta + m C^2 R^2) in batch, are small. Longer steps, of which only a
    fall of D is excluded, may drive the distributions to single outputs, from which multiplicative
    updates return slowly; short ones converge slowly, as at beta = inf and T passes m (D* - D) <=
    KL(mu* || mu_1) / (eta C T). ``eta=auto`` finds the step length of every instance instead, the
    longest at which the step satisfies the condition by which safe steps are proved to ascend:

        C/2 ||F_i d||^2 + KL(mu' || mu)/beta <= KL(mu' || mu) / (eta C),    d = mu' - mu

    ``eta=theorem`` is the step length of Theorem 2 for batch steps at beta = inf:

        eta = 0.4 / (B + lambda),    B = 2 (m C^2 R^2 + C max_iy l_iy),    lambda = m C^2 R^2
        D* - D_T <= (2.5 (B + lambda) KL / (C m) + 1.5 (D_T - D_1)) / T    after T passes

    KL is the largest sum_i KL(u_i || mu_i) from the start, and R^2 = max ||F_i (chi(y) - z_i)||^2,
    or an upper bound. The paper's lambda is the largest eigenvalue of a matrix over all outputs of
    all instances. In the proof (Lemma 3) it bounds ||C sum_i E (X_i - E X_i) Phi_i||^2 <= lambda
    sum_i var X_i, which also holds for m C^2 R^2, by the inequality of Cauchy and Schwarz.

    The loss that is reported is its lower bound at mu. Weights of a warm start are refused: no dual
    point belongs to them.

    Parameters
    ----------
    form : str
        ``dual`` keeps the potentials of all parts of all instances; ``primal`` (batch only) keeps a
        second weight vector instead, since potentials that begin at 0 are linear in scores and
        costs at all times.
    online : bool
        Update theta after every instance, or after all (batch).
    eta : float, from 1e-12 to 1e12, or "auto" or "theorem"
        The largest step length: halved for one instance (online, where it grows back by 5 % a
        visit) or for all (batch) when D would fall by a step. No more than beta/C is used, at which
        the factor of the old potentials is 0. ``auto``: begins at 1/C; online that of an instance
        is halved where its step is not safe in the sense above, and grows by half where it is.
        ``theorem``: the value above, and the bound of the theorem is reported (batch, beta = inf).
    initial : float from -1e12 to 1e12, or "smo" or "auto"
        Potential of the parts that are not gold, that of gold parts being 0 (0 is the uniform
        distribution, whose D is very low at beta = inf and large C; negative values lean to gold).
        In primal form the potential of a part is this number times its cost, at z_1 = 0. ``auto``:
        of 0, -1, -2, -3, -4, -6, -8 and -12 the one with the largest D, which takes eight
        inferences an instance (0 in primal form); or ``smo``: begin with passes of factored SMO,
        which climbs fast and slows down early (beta = inf, gamma > 0 only).
    smo_passes : int, or "auto"
        How many of the passes are SMO's where ``initial`` is smo. ``auto``: SMO continues as long
        as its pass raises D at least as much as the second pass of EG after the same passes of SMO.
        The first one mostly undoes `mixing`. From the second pass on both methods try.
    mixing : float
        Share of the uniform distribution that is then mixed in, in (0, 1): SMO leaves zeros, which
        no multiplicative update leaves.

    Notes
    -----
    Bartlett, Collins, Taskar and McAllester (2004), Figure 2, section 3 (primal form), section 4
    (Theorem 2) and section 5 (online; after SMO). beta < inf and the halving online: Collins et al.
    (2008). The check of eta=auto is the condition under which a proximal step of the entropy
    ascends and its rate holds (Beck and Teboulle 2003), checked for the step in question instead of
    all.
    """

    state_type = EGState

    def __init__(
        self,
        form: Literal["dual", "primal"] = "dual",
        online: bool = True,
        eta: float | Literal["auto", "theorem"] = "auto",
        initial: float | Literal["smo", "auto"] = "auto",
        smo_passes: int | Literal["auto"] = 5,
        mixing: float = 0.0001,
    ) -> None:
        if eta != "auto" and eta != "theorem":
            ranges.check_positive("eta", eta)
        if smo_passes != "auto":
            ranges.check_at_least("smo_passes", smo_passes, 1)
        _check_start(form, online, initial, mixing)
        _check_theorem(eta, online, initial)
        self.form, self.online, self.initial = form, online, initial
        self.eta: float | Literal["auto", "theorem"] = (
            eta if eta == "auto" or eta == "theorem" else float(eta)
        )
        self.smo_passes, self.mixing = smo_passes, mixing

    def needs(self, loss: Loss, graph: FactorGraph) -> Needs:
        """A dual of the loss; for potentials of all parts, parts at every position, and their
        marginals in closed form.
        """
        abilities, demands, positional = (
            Ability.MARGINALS | Ability.EXACT,
            DUAL,
            self.form == "dual" or self.eta == "theorem",
        )
        if self.eta == "theorem":
            abilities |= Ability.MAP
            demands += (Demand(Property.MAXIMUM, "EG(eta='theorem')"),)
        if self.initial == "smo":
            abilities |= Ability.MAP
            demands += tuple(Demand(one.asks, "EG(initial='smo')") for one in MARGINS)
        if positional and (self.initial == "smo" or not graph.traits.anchored):
            demands += (Demand(Property.CLOSED_FORMS),)
        return Needs(abilities, demands, positional)

    @property
    def plan(self) -> Plan:
        """Passes that keep potentials of every instance."""
        return Plan(
            converges=True,
            kernel_modules=(
                "structopt.kernels.learn.eg",
                *(("structopt.kernels.learn.eg_rate",) if self.eta == "theorem" else ()),
                "structopt.kernels.learn.smo",
                "structopt.kernels.features.bundles",
            ),
            bound="its potentials are of the outputs of the data that they were made with",
        )

    def footprint(self, sizes: ProblemSizes, loss: Loss) -> Footprint:
        """The weights; potentials and, online, marginals of all parts, or in primal form weights
        again.
        """
        weights, parts = sizes.weight_vector, sizes.part_vector
        if self.form == "primal":
            return Footprint({"weights": weights, "exponents": weights}, step=2 * weights)
        state = {"weights": weights, "potentials": parts}
        state |= (
            {"dual variables": parts, "numbers of the instances": 16 * sizes.instances}
            if self.online
            else {}
        )
        tries = "auto" in (self.initial, self.smo_passes)  # a start next to the best so far
        beside = 3 if tries else 1
        vectors = "potentials", "dual variables"
        return Footprint(
            state, step=2 * weights, gradients=True, mapped=vectors, mapped_step=beside * parts
        )

    def init(self, problem: Objective, weights: Array) -> EGState:
        """Start from the Gibbs distributions of the initial potentials, or for SMO from the gold
        outputs.
        """
        checks.check_vector("weights", weights, problem.dimension, writable=False)
        refuse_weights("eg", weights)
        eta = min(self._first_eta(problem), self._full(problem))
        state = EGState(theta=np.zeros(problem.dimension), eta=eta)
        if self.initial == "smo":
            return replace(state, residuals=gold_residuals(problem))
        if self.form == "primal":
            kappa = _initial_kappa(problem, self.initial)
            point = self._in_primal_form(problem, np.zeros(problem.dimension), kappa)
            state = replace(state, **point)
        elif self.initial == "auto":
            starts = (
                self._started(problem, state, _initial_potentials(problem, initial))
                for initial in STARTS
            )
            state = max(starts, key=lambda start: start.dual)  # the first of equals
        else:
            state = self._started(problem, state, _initial_potentials(problem, float(self.initial)))
        return self._by_theorem(problem, state) if self.eta == "theorem" else state

    def step(self, problem: Objective, state: EGState) -> tuple[EGState, Report]:
        """One pass; online in a random order that depends on the seed and the pass alone."""
        if self.initial == "smo" and state.dual is None:
            return self._step_of_smo(problem, state)
        return self._step_of_eg(problem, state)

    def _step_of_smo(self, problem: Objective, state: EGState) -> tuple[EGState, Report]:
        """Make a pass of SMO, unless it is EG's turn."""
        if self.smo_passes != "auto" and state.epoch >= self.smo_passes:
            return self._step_of_eg(problem, self._after_smo(problem, state))
        trial, rise = None, 0.0
        if self.smo_passes == "auto" and state.reached is not None:
            trial = self._step_of_eg(problem, self._after_smo(problem, state))
            ahead, _ = self._step_of_eg(problem, copied(trial[0]))
            rise = ahead.dual - trial[0].dual
        report = pass_over(problem, state, 1)
        assert report.dual is not None
        if trial is not None and rise > report.dual - state.reached:
            return trial
        state.reached = report.dual
        state.epoch += 1
        return state, Report(loss=report.loss, dual=report.dual)

    def _step_of_eg(self, problem: Objective, state: EGState) -> tuple[EGState, Report]:
        """Make a pass of EG."""
        finished = ""
        if self.online:
            self._visit_all(problem, state)
        else:
            state, finished = self._climb(problem, state)
        state.epoch += 1
        dual, ridge = state.dual, problem.ridge(state.theta)
        return state, Report(
            loss=problem.m * (dual - ridge),
            dual=dual,
            finished=finished,
            rate_bound=_rate_bound(state),
        )

    def weights(self, state: EGState) -> Array:
        """Return theta(mu)."""
        return state.theta

    def _first_eta(self, problem: Objective) -> float:
        """Return the step length to begin with."""
        return self.eta if isinstance(self.eta, float) else 1 / problem.C

    def _by_theorem(self, problem: Objective, state: EGState) -> EGState:
        """Return the state with the step length of Theorem 2, and the numbers of its bound."""
        from structopt.kernels.learn.eg_rate import rate_pass

        C, gamma, totals = problem.C, problem.loss.gamma, np.zeros(3)
        potentials = state.potentials
        if self.form == "primal":
            potentials = _costs(problem, _initial_kappa(problem, self.initial) * gamma)
        problem.run(rate_pass, gamma, potentials, np.zeros(problem.dimension), totals)
        norm, cost, divergence = totals.tolist()
        curvature = problem.m * C**2 * norm
        speed = 2 * (curvature + C * cost) + curvature
        if not speed > 0:
            return replace(state, first=state.dual, distance=0.0)
        distance = 2.5 * speed * divergence / (C * problem.m)
        return replace(state, eta=0.4 / speed, first=state.dual, distance=distance)

    def _full(self, problem: Objective) -> float:
        """Return beta/C, the step length at which the factor of the old potentials is 0."""
        rate = problem.C * problem.loss.temperature
        return 1 / rate if rate > 0 else inf

    def _visit_all(self, problem: Objective, state: EGState) -> None:
        """Online: visit every instance once."""
        from structopt.kernels.learn.eg import online_pass

        loss, order = problem.loss, problem.order(state.epoch)
        rows = state.etas, state.potentials, state.residuals, state.entropies
        safe = self.eta == "auto"
        largest = min(LONGEST / problem.C, self._full(problem)) if safe else state.eta
        steps = problem.C, loss.temperature, loss.gamma, largest, GROWTH[safe], safe
        total = problem.run(online_pass, order, state.theta, *steps, *rows)
        state.theta = weights_at(problem, state.residuals)
        state.dual = dual_at(problem, state.theta, total)

    def _climb(self, problem: Objective, state: EGState) -> tuple[EGState, str]:
        """Batch: make the largest step, eta being halved again and again, by which D does not
        fall.
        """
        least = state.dual - ROUNDING * max(1.0, abs(state.dual))
        while state.eta > LEAST_ETA * self._first_eta(problem):
            moved = self._moved(problem, state, state.eta)
            if moved["dual"] >= least:
                return replace(state, **moved), ""
            state.eta /= 2
        return state, "no step of the potentials raises the dual objective"

    def _moved(self, problem: Objective, state: EGState, eta: float) -> dict[str, Any]:
        """Return the values of the state after a batch step of length eta."""
        if self.form == "dual":
            return self._in_dual_form(problem, state.theta, eta, state.potentials)
        rate = eta * problem.C
        keep = 1.0 - rate * problem.loss.temperature
        return self._in_primal_form(
            problem, keep * state.exponents + rate * state.theta, keep * state.kappa + rate
        )

    def _in_dual_form(
        self, problem: Objective, theta: Array, eta: float, potentials: Array
    ) -> dict[str, Any]:
        """Return the potentials after a batch step at theta, with their theta and D."""
        from structopt.kernels.learn.eg import batch_pass

        loss, moved, residuals = problem.loss, _no_potentials(problem), _no_potentials(problem)
        entropies = np.zeros(problem.m)
        rows = potentials, moved, residuals, entropies
        total = problem.run(batch_pass, theta, eta * problem.C, loss.temperature, loss.gamma, *rows)
        theta = weights_at(problem, residuals)
        point = {"potentials": moved, "theta": theta, "dual": dual_at(problem, theta, total)}
        return point | {"residuals": residuals, "entropies": entropies} if self.online else point

    def _in_primal_form(self, problem: Objective, exponents: Array, kappa: float) -> dict[str, Any]:
        """Return the potentials F_i^T exponents + kappa gamma p_i, with their theta and D."""
        from structopt.kernels.learn.eg import primal_pass

        loss, theta = problem.loss, np.zeros(problem.dimension)
        total = problem.run(
            primal_pass, exponents, kappa, problem.C, loss.temperature, loss.gamma, theta
        )
        return {
            "exponents": exponents,
            "kappa": kappa,
            "theta": theta,
            "dual": dual_at(problem, theta, total),
        }

    def _started(self, problem: Objective, state: EGState, potentials: Array) -> EGState:
        """Return the state at some potentials, before any step."""
        point = self._in_dual_form(problem, np.zeros(problem.dimension), 0.0, potentials)
        etas: Any = np.full(problem.m, state.eta) if self.online else None
        return EGState(eta=state.eta, epoch=state.epoch, etas=etas, **point)

    def _after_smo(self, problem: Objective, state: EGState) -> EGState:
        """Go from SMO's marginals to potentials that have nearly the same."""
        from structopt.kernels.learn.eg import potentials_pass

        potentials = _no_potentials(problem)
        problem.run(potentials_pass, self.mixing, state.residuals, potentials)
        return self._started(problem, state, potentials)


def _no_potentials(problem: Objective) -> Array:
    """Return zeros over the parts of all instances."""
    return problem.part_vector("potentials and marginals")


def _initial_potentials(problem: Objective, other: float) -> Array:
    """Return potentials that are 0 at the gold parts, `other` elsewhere."""
    from structopt.kernels.waist.target import TARGET

    potentials, t = _no_potentials(problem), TARGET.open(problem.data.target)
    potentials[:] = other
    begins = np.repeat(problem.structure.parts[:-1], np.diff(t.gold_offsets))
    potentials[t.gold_parts + begins] = 0.0
    return potentials


def _costs(problem: Objective, kappa: float) -> Array:
    """Return potentials that are `kappa` times the costs."""
    from structopt.kernels.waist.target import TARGET

    potentials, t = _no_potentials(problem), TARGET.open(problem.data.target)
    begins = np.repeat(problem.structure.parts[:-1], np.diff(t.cost_offsets))
    potentials[t.cost_parts + begins] = kappa * t.cost_values
    return potentials


def _initial_kappa(problem: Objective, initial: float | str) -> float:
    """Return kappa so that kappa gamma p are the initial potentials."""
    if initial in (0, "auto"):
        return 0.0
    if problem.loss.gamma == 0:
        raise ArgumentError(
            "has no effect on potentials that are proportional to costs, at `gamma` = 0.",
            parameter="initial",
            value=initial,
            remedy="Set `initial=0`, or form='dual'.",
        )
    return float(initial) / problem.loss.gamma


def _rate_bound(state: EGState) -> float | None:
    """Return the bound of D* - D by Theorem 2 after the passes of a state."""
    if state.first is None:
        return None
    return float((state.distance + 1.5 * (state.dual - state.first)) / state.epoch)


def _check_theorem(eta: float | str, online: bool, initial: float | str) -> None:
    """Refuse the step length of Theorem 2 for steps that the theorem is not about."""
    if eta != "theorem":
        return
    if online:
        raise ArgumentError(
            "is the step length of batch steps.",
            parameter="eta",
            value=eta,
            remedy="Set online=False.",
        )
    if initial == "smo":
        raise ArgumentError(
            "belongs to steps from the first pass on.",
            parameter="eta",
            value=eta,
            remedy="Set `initial` to auto or a number.",
        )


def _check_start(form: str, online: bool, initial: float | str, mixing: float) -> None:
    """Refuse initial potentials that make no sense, and those that the primal form cannot
    represent.
    """
    if not 0 < mixing < 1:
        raise ArgumentError("must be above 0 and below 1.", parameter="mixing", value=mixing)
    if initial not in ("smo", "auto") and not (
        isinstance(initial, int | float) and abs(initial) <= LARGEST
    ):
        raise ArgumentError(
            f"must be a number from {-LARGEST:g} to {LARGEST:g}, auto or smo.",
            parameter="initial",
            value=initial,
        )
    if form == "primal" and (online or initial == "smo"):
        raise ArgumentError(
            "has one vector for the potentials of all instances, which SMO cannot start and which "
            "has no updates per instance.",
            parameter="form",
            value=form,
            remedy="Set online=False initial=0, or form='dual'.",
        )
