"""What the tests of the online primal methods share: small problems, their optima, and P along the
way.
"""

from functools import cache
from math import inf

import numpy as np

from structopt.core.weights.penalty import RIDGE
from structopt.factor_graph.linear_chain import LinearChain
from structopt.inference.exact import Exact
from structopt.loss.difference import LossDifference
from structopt.loss.family import LossFamily
from structopt.testing.problems import make_problem, random_encoded
from tests.optimizer.listings import minimum_of

CRF, SVM, MARGIN = (1.0, 0.0), (inf, 1.0), (1.0, 1.0)
MEMBERS = [CRF, SVM, MARGIN]
SHAPES = [
    {},
    {"order": 2},
    {"anchored": True, "values": True},
    {"support": "all", "constrained": True},
]


def problem_of(
    member=CRF, C=1.0, seed=0, order=1, inference=None, support="seen", penalty=RIDGE, **options
):
    encoded = random_encoded(4, **({"lengths": (1, 2, 3, 4, 3, 2)} | options))
    chain, loss = LinearChain(order), LossFamily(*member)
    return make_problem(
        encoded, chain, loss, inference or Exact(), C, seed, support, penalty=penalty
    )


def run(method, problem, passes, weights=None):
    """State and sum of the losses of every pass."""
    state = method.init(problem, np.zeros(problem.dimension) if weights is None else weights)
    losses = []
    for _ in range(passes):
        state, report = method.step(problem, state)
        losses.append(report.loss)
    return state, losses


def trained(method, problem, passes, weights=None):
    return method.weights(run(method, problem, passes, weights)[0])


@cache
def optimum(member, C):
    return minimum_of(problem_of(member, C))


def excess(method, member, C, marks):
    """P/P* - 1 after some numbers of passes."""
    problem, best = problem_of(member, C), optimum(member, C).value
    state, excesses = method.init(problem, np.zeros(problem.dimension)), []
    for epoch in range(1, max(marks) + 1):
        state, _ = method.step(problem, state)
        if epoch in marks:
            excesses.append(problem.objective(method.weights(state)) / best - 1)
    return excesses


RAMP = LossDifference(inf, 1.0)
"""A loss that is not convex."""
