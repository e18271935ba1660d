"""The squared structured hinge loss, in plain Python: a template for other losses."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Any

from structopt.plugin import HAMMING, Array, ConfigError, Cost, LossFamily
from structopt.plugin.kernels import (
    Record,
    add_cost,
    add_gold,
    gold_score,
    is_set,
    open_target,
    restrict,
)


def squared_hinge(
    solve: Any,
    structure: Record,
    target: Record,
    parameters: Array,
    i: int,
    s: Array,
    r: Array,
    other: Array,
    answer: Array,
    memory: Array,
    work: Record,
) -> float:
    """h^2 / 2 of one instance; `r` becomes h * (z' - z).

    Parameters
    ----------
    solve : kernel of signature SOLVE
        The inference, called at temperature 0.
    structure, target : Record
        The graphs; gold indicators z, or sets of allowed outputs, and costs of all instances.
    parameters : float64, shape (2,)
        Temperature (0) and gamma.
    i : int
        The instance.
    s : float64, shape (parts,)
        Its part scores; they are scratch.
    r : float64, shape (parts,)
        Receives the residual.
    other, answer : float64, shape (parts,)
        Scratch, for a second inference.
    memory, work : scratch of the inference

    Notes
    -----
    The cost vector has no constant, since it cancels against that of the gold output. With partial
    labels the target is the set of all outputs that agree with the known labels, and z is the best
    of them.
    """
    t = open_target(target)
    add_cost(t, i, parameters[1], s)
    if is_set(t, i):
        restrict(t, i, s, other)
        h = float(
            solve(structure, i, s, 0.0, r, memory, work)
            - solve(structure, i, other, 0.0, answer, memory, work)
        )
        r -= answer
    else:
        h = float(solve(structure, i, s, 0.0, r, memory, work) - gold_score(t, i, s))
        add_gold(t, i, -1.0, r)
    h = max(0.0, h)
    r *= h
    return 0.5 * h * h


class SquaredHinge(LossFamily):
    r"""Half the square of the structured hinge loss: differentiable where the hinge reaches 0, and
    steep at large violations.

        L(theta; x, y) = 1/2 h^2,    h = max( 0, max_y' s^T (chi(y') - z) + gamma * cost(y', y) ),
        grad L = h * F (z' - z)

    Parameters
    ----------
    gamma : float
        Weight of the cost, at least 0.
    cost : Cost
        Cost of a wrong output, by its name: ``hamming`` (wrong variables), ``hamming_normalized``
        (their share), ...
    cost_weights : mapping of str to float
        Numbers that the cost reads, such as the prices of labels of ``weighted``.

    Notes
    -----
    The squared slacks of Tsochantaridis, Joachims, Hofmann and Altun (2005), "Large margin methods
    for structured and interdependent output variables", JMLR 6: SVM_2 with margin rescaling. The
    function is plain Python, so the driver runs uncompiled, which is
    slower than with a compiled loss.
    """

    in_family = False  # its dual is not that of the family

    def __init__(
        self,
        gamma: float = 1.0,
        cost: Cost = HAMMING,
        cost_weights: Mapping[str, float] | None = None,
    ) -> None:
        super().__init__(beta=inf, gamma=gamma, cost=cost, cost_weights=cost_weights)

    @property
    def member(self) -> str:
        """``squared_hinge (gamma=1)``."""
        return f"squared_hinge (gamma={self.gamma:g})"

    def kernel(self, variant: str = "max_loss") -> Any:
        """Return the loss as a plain Python function of the form of `structopt.plugin.EVALUATE`.

        Raises
        ------
        ConfigError
            For another variant than ``max_loss``: the square has no form at the mode under the
            scores alone.
        """
        if variant != "max_loss":
            raise ConfigError(
                f"loss=squared_hinge has no variant {variant}. Leave optimizer.variant=max_loss."
            )
        return squared_hinge
