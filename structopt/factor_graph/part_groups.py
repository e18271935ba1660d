"""Which part group a cost counts in."""

from __future__ import annotations

from structopt.core.data import Structure
from structopt.errors import ConfigError

COSTS = {"arc": "arcs", "label": "labeled_arcs"}


def check_cost_group(group: str, structure: Structure) -> None:
    """Refuse a cost that counts in a part group which the structure does not have, or which no tree is made of."""
    names = [one.name for one in structure.groups]
    if group and (group not in names or "arc" not in names):
        cost = COSTS.get(group, group)
        advice = "factor_graph.labeled=true" if "arc" in names else "loss.cost=hamming"
        raise ConfigError(f"loss.cost={cost} counts parts of trees that this factor graph does not have. Type {advice}.")
