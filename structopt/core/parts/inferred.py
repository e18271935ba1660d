"""Values and marginals of scores, with the guarantee of the inference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from structopt.core.ability import Ability
from structopt.core.parts.parts import Parts
from structopt.kernels.waist.record import Array


@dataclass(frozen=True)
class Inferred:
    """Result of `infer`.

    Attributes
    ----------
    value : float64, shape (instances,)
        V(s); 0 of an empty instance.
    marginals : Parts
        mu(s); expected counts in tied groups.
    guarantee : str
        ``exact``: the value is V(s). ``upper``: it is V(s) or more. ``none``: it may be less.
    """

    value: Array
    marginals: Parts
    guarantee: Literal["exact", "upper", "none"]


def guarantee_of(abilities: Ability) -> Literal["exact", "upper", "none"]:
    """Return the guarantee of an inference with these abilities."""
    if Ability.EXACT in abilities:
        return "exact"
    return "upper" if Ability.UPPER in abilities else "none"
