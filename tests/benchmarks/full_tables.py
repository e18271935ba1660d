"""The linear relaxation as other packages hand it over: full tables, a new program at every
visit.
"""

from __future__ import annotations

import numpy as np

from structopt.inference.local_polytope import local_polytope


def full_polytope(structure, parts: int):
    """The full description of the only instance of a structure."""
    return local_polytope(structure.record, 0, parts)


def milp_value(polytope, s) -> float:
    """The relaxation's value by `scipy.optimize.milp`, from scratch."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    rows = LinearConstraint(polytope.matrix, polytope.lower, polytope.upper)
    costs = np.zeros(polytope.matrix.shape[1])
    costs[: len(s)] = -s
    return -milp(costs, bounds=Bounds(0.0, 1.0), constraints=rows).fun
