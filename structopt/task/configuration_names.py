"""Names of configurations in graphs whose variables and edges have weights of their own; warm
starts match weights by them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product

Configuration = tuple[tuple[str, str], ...]
"""Variables and their states."""


def of_variables(variables: Sequence[str], states: Sequence[str]) -> list[Configuration]:
    """Return the configurations of all variables: variable by variable, state by state."""
    return [(pair,) for pair in product(variables, states)]


def of_edges(variables: Sequence[str], states: Sequence[str]) -> list[Configuration]:
    """Return the configurations of the complete graph's edges, edge by edge; each sorted, whatever
    the order of variables.
    """
    edges, configurations = combinations(variables, 2), list(product(states, repeat=2))
    return [
        tuple(sorted(zip(edge, pair, strict=True))) for edge in edges for pair in configurations
    ]
