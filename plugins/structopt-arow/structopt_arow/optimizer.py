"""Adaptive regularisation of weights, with a diagonal covariance."""

from __future__ import annotations

import numpy as np

from structopt.plugin import (
    Ability,
    Array,
    ConfigError,
    Demand,
    FactorGraph,
    Footprint,
    Loss,
    Needs,
    Objective,
    Optimizer,
    Plan,
    ProblemSizes,
    Property,
    Report,
    State,
)

MARGIN = Demand(
    Property.MAXIMUM,
    because=", a margin between two outputs",
    remedy="Set loss=svm or loss.beta=inf.",
)


class Arow(Optimizer):
    """Online learner that keeps a Gaussian over the weights: mean mu, diagonal covariance Sigma, at
    first (0, 1).

    A visit to an instance with loss L > 0 and gradient g = F (z' - z), z' the most violating
    output, does

        v = sum_f g_f^2 Sigma_f,    mu <- mu - L / (v + r) * Sigma g,    1 / Sigma_f <- 1 / Sigma_f
        + g_f^2 / r,

    so that weights that were often updated move less. One pass costs one inference and O(nnz) an
    instance.

    Parameters
    ----------
    r : float
        Regularisation, greater than 0: with a larger r steps are smaller and variances fall more
        slowly.
    epochs : int
        Passes over the data.
    average : bool
        Return the mean of all iterates (before each update) instead of the last one.
    C : float
        1/(lambda * m) of the objective that is reported beside the passes; the updates do not use
        it.

    Raises
    ------
    ConfigError
        At a parameter out of range.

    Notes
    -----
    Crammer, Kulesza and Dredze (2009), "Adaptive regularization of weight vectors", NIPS 22,
    section 3, with r_1 = r_2 = r and the diagonal of Sigma alone. For sequences, where the most
    violating output takes the place of the wrong class: Mejer and Crammer (2010), "Confidence in
    structured-prediction using confidence-weighted models", EMNLP. With ``loss=svm`` z' maximises
    score plus cost; with ``loss=perceptron``, the score. The perceptron's loss is 0 at mu = 0, so
    that training from zero weights would not move: it needs a warm start.
    """

    def __init__(
        self, r: float = 1.0, epochs: int = 10, average: bool = True, C: float = 1.0
    ) -> None:
        if not 0 < r < np.inf:
            raise ConfigError(f"optimizer.r={r} must be greater than 0 and finite.")
        if not 0 < C < np.inf:
            raise ConfigError(f"optimizer.C={C} must be greater than 0 and finite.")
        if epochs < 0:
            raise ConfigError(f"optimizer.epochs={epochs} must be at least 0.")
        self.r, self.epochs, self.average, self.C = float(r), epochs, average, float(C)

    def needs(self, loss: Loss, graph: FactorGraph) -> Needs:
        """The best output, and a loss whose residual is a difference of two outputs."""
        return Needs(Ability.MAP, (MARGIN,))

    @property
    def plan(self) -> Plan:
        """Passes by the plugin's kernel."""
        weights, numbers = ("mu", "precision", "lag"), ("visits", "epoch")
        return Plan(
            kernel_modules=("structopt_arow.kernel",), weights=weights, numbers=numbers, bound=""
        )

    def footprint(self, sizes: ProblemSizes, loss: Loss) -> Footprint:
        """Mean and precision, and what the mean of the iterates needs."""
        vectors = ("mean", "precision", *(("mean of the iterates",) if self.average else ()))
        return Footprint(dict.fromkeys(vectors, sizes.weight_vector))

    def init(self, problem: Objective, weights: Array) -> State:
        """Start from the initial weights as mean, with unit variances.

        The state holds precision - 1, which is zero for every weight that never moves: checkpoints
        leave these entries out.
        """
        size = problem.dimension
        return {
            "mu": weights.copy(),
            "precision": np.zeros(size),
            "lag": np.zeros(size if self.average else 0),
            "visits": 0.0,
            "epoch": 0,
        }

    def step(self, problem: Objective, state: State) -> tuple[State, Report]:
        """One pass in a random order that depends on the seed and the pass alone."""
        from structopt_arow.kernel import arow_pass

        totals, order = np.zeros(2), problem.order(state["epoch"])
        problem.run(
            arow_pass,
            order,
            state["mu"],
            state["precision"],
            state["lag"],
            state["visits"],
            self.r,
            totals,
        )
        state["visits"] += float(len(order))
        state["epoch"] += 1
        return state, Report(loss=float(totals[0]), negative_losses=int(totals[1]))

    def weights(self, state: State) -> Array:
        """Return mu, or its average over all visits."""
        mu: Array = state["mu"]
        return mu - state["lag"] / state["visits"] if self.average and state["visits"] else mu

    def variances(self, state: State) -> Array:
        """Return the diagonal of Sigma, shape (dimension,): 1 for weights that never moved."""
        variances: Array = 1.0 / (1.0 + state["precision"])
        return variances
