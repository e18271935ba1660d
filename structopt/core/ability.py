"""What inferences can do, as a flag that losses and optimizers ask for."""

from __future__ import annotations

from enum import Flag, auto


class Ability(Flag):
    """Abilities of an inference, which losses and optimizers require.

    EXACT: the value is the maximum, or log Z. UPPER: it is never below. CONVEX: it is a convex
    function of the scores, the same at every visit, and the marginals are a subgradient of it; so
    that their planes lie below the loss. ROUNDING: it makes outputs of its marginals.
    """

    MAP = auto()
    MARGINALS = auto()
    K_BEST = auto()
    EXACT = auto()
    UPPER = auto()
    CONVEX = auto()
    ROUNDING = auto()


NEEDS = {
    Ability.MAP: "the best output",
    Ability.MARGINALS: "marginals",
    Ability.K_BEST: "the k best outputs",
    Ability.EXACT: "an exact value",
    Ability.UPPER: "an upper bound",
    Ability.CONVEX: "a convex value",
    Ability.ROUNDING: "outputs made of marginals",
}
"""Names of abilities in messages."""
