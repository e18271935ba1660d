"""Names of configurations in graphs whose variables and edges all have weights of their own: warm starts match by them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product

Configuration = tuple[tuple[str, str], ...]
"""Variables and their states."""


def of_variables(variables: Sequence[str], states: Sequence[str]) -> list[Configuration]:
    """The configurations of all variables: variable by variable, state by state."""
    return [(one,) for one in product(variables, states)]


def of_edges(variables: Sequence[str], states: Sequence[str]) -> list[Configuration]:
    """The configurations of the edges of the complete graph, edge by edge; named alike whatever the order of the variables."""
    pairs, both = combinations(variables, 2), list(product(states, repeat=2))
    return [tuple(sorted(zip(pair, chosen, strict=True))) for pair in pairs for chosen in both]
