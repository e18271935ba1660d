"""The loss family of Martins et al. (2010)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf, isinf
from typing import Any

import numpy as np

from structopt.core.ability import Ability
from structopt.core.cost import Cost
from structopt.core.data import ranges
from structopt.core.loss import Beginning, Loss
from structopt.errors import ConfigError
from structopt.kernels.waist.record import Array
from structopt.loss.cost.hamming import Hamming

MEMBERS = {
    (1.0, 0.0): "crf",
    (inf, 1.0): "svm",
    (inf, 0.0): "perceptron",
    (1.0, 1.0): "softmax_margin",
}

HAMMING = Hamming()


class LossFamily(Loss):
    r"""L_{beta,gamma}, between conditional random fields and structured SVMs.

        L(theta; x, y) = (1/beta) log sum_y' exp beta( s^T (chi(y') - z) + gamma * cost(y', y) )

    beta = inf is the limit: max_y' s^T (chi(y') - z) + gamma * cost(y', y).

    Parameters
    ----------
    beta : float
        Inverse temperature: from 1e-12 to 1e12, or inf.
    gamma : float
        Weight of the cost: from 0 to 1e12.
    cost : Cost
        What a wrong output costs: in YAML the name of one, such as ``hamming``,
        ``hamming_normalized``, ``weighted``; of trees ``arcs`` or ``labeled_arcs``, of grammars
        ``rules`` or ``brackets``.
    cost_weights : mapping of str to float
        The cost's own numbers, such as the prices of labels of ``weighted``.

    Notes
    -----
    Martins et al. (2010), equations (3), (8) and (9). (1, 0) is the CRF's log-loss, (inf, 1) the
    hinge loss, (inf, 0) the perceptron's and (1, 1) the softmax margin.
    """

    convex = True
    in_family = True
    takes_sets = True

    def __init__(
        self,
        beta: float = 1.0,
        gamma: float = 0.0,
        cost: Cost = HAMMING,
        cost_weights: Mapping[str, float] | None = None,
    ) -> None:
        ranges.check_inverse_temperature("beta", beta)
        ranges.check_at_least("gamma", gamma)
        cost.check(cost_weights or {})
        self.beta, self.gamma, self.cost = float(beta), float(gamma), cost
        self.cost_weights = dict(cost_weights or {})

    @property
    def role(self) -> str:
        """What the cost counts."""
        return self.cost.role

    @property
    def requires(self) -> Ability:
        """Marginals when beta is finite; the maximiser otherwise."""
        return Ability.MAP if isinf(self.beta) else Ability.MARGINALS

    @property
    def temperature(self) -> float:
        """1/beta; 0 means maximise."""
        return 0.0 if isinf(self.beta) else 1.0 / self.beta

    @property
    def member(self) -> str:
        """The name a person would give this member: ``crf (beta=1, gamma=0)``."""
        numbers = f"beta={self.beta:g}, gamma={self.gamma:g}"
        name = MEMBERS.get(
            (self.beta, self.gamma), "svm" if isinf(self.beta) and self.gamma > 0 else "family"
        )
        return f"{name} ({numbers})"

    def begins_with(self, warm: bool) -> Beginning | None:
        """None: a convex loss begins with itself."""
        return None

    def parameters(self) -> Array:
        """Temperature and gamma, as the kernel reads them."""
        return np.array([self.temperature, self.gamma])

    def kernel(self, variant: str = "max_loss") -> Any:
        """Return the compiled loss; variant ``prediction`` takes the mode under the scores alone
        (footnote 7).
        """
        if variant == "prediction" and not isinf(self.beta):
            raise ConfigError(
                f"needs `beta=inf`, and the loss is {self.member}.",
                parameter="variant",
                value=variant,
                remedy="Set beta=inf, or variant='max_loss'.",
                kinds={"variant": "optimizer", "beta": "loss"},
            )
        if variant == "prediction":
            from structopt.kernels.loss.prediction import prediction_based

            return prediction_based
        from structopt.kernels.loss.family import family

        return family

    def variable_costs(self, labels: Sequence[str], gold: Array, lengths: Array) -> Array:
        """See `Cost.of_variables`."""
        return self.cost.of_variables(labels, gold, lengths, self.cost_weights)
