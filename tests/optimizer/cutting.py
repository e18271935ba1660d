"""What the tests of the cutting-plane methods share: small problems, their optima, and checks of a
whole run.
"""

from functools import cache
from math import inf

import numpy as np

from structopt.core.optimizer_state import values_of
from structopt.factor_graph.linear_chain import LinearChain
from structopt.inference.exact import Exact
from structopt.loss.family import LossFamily
from structopt.run.resumable import Resumable
from structopt.testing.problems import make_problem, outputs, random_encoded
from tests.optimizer.listings import minimum_of

SHAPES = [
    {},
    {"order": 2},
    {"anchored": True, "values": True},
    {"support": "all", "constrained": True},
    {"gamma": 2.5},
]


def problem_of(C=1.0, seed=0, order=1, inference=None, support="seen", gamma=1.0, **options):
    encoded = random_encoded(4, **({"lengths": (1, 2, 3, 4, 3, 2)} | options))
    return make_problem(
        encoded, LinearChain(order), LossFamily(inf, gamma), inference or Exact(), C, seed, support
    )


@cache
def optimum(C, shape=0):
    return minimum_of(problem_of(C, **SHAPES[shape]))


def run(method, problem, passes, weights=None):
    """State and reports; stops where the method says that it has finished."""
    state = method.init(problem, np.zeros(problem.dimension) if weights is None else weights)
    reports = []
    while len(reports) < passes and not (reports and reports[-1].finished):
        state, report = method.step(problem, state)
        reports.append(report)
    return state, reports


def certified(method, problem, passes, best, weights=None, enough=1e-6):
    """Run until the gap is small enough; check D <= P* <= P, and that D never falls, at every pass;
    return the last P and D.
    """
    state = method.init(problem, np.zeros(problem.dimension) if weights is None else weights)
    dual = -inf
    for _ in range(passes):
        state, report = method.step(problem, state)
        primal = problem.objective(method.weights(state))
        assert report.dual <= best.value * (1 + 1e-7)
        assert best.value <= primal * (1 + 1e-7)
        assert report.dual >= dual - 1e-12
        dual = report.dual
        if report.finished or primal - dual <= enough * primal:
            break
    return primal, dual


def dual_by_hand(problem, cache):
    """theta and D from the cached planes alone, with dense vectors."""
    theta, gain = np.zeros(problem.dimension), 0.0
    for i in range(problem.m):
        features = outputs(problem, i).features
        planes = cache.rows(i)
        assert sum(plane.alpha for plane in planes) <= problem.C * (1 + 1e-9)
        for plane in planes:
            assert plane.alpha >= 0
            theta -= plane.alpha * (plane.residual @ features)
            gain += plane.alpha * plane.offset
    return theta, (gain - theta @ theta / 2) / (problem.C * problem.m)


def cache_bytes(cache):
    """Size of the arrays of a cache of planes."""
    return sum(
        array.nbytes for name, array in values_of(cache.state).items() if name.startswith("plane_")
    )


def trained_in_two_runs(make, problem, folder):
    """Weights after eight passes: in one run, and with a stop and a checkpoint between."""
    results = []
    for name, stops in (("whole", (8,)), ("halves", (4, 8))):
        (folder / name).mkdir()
        for epochs in stops:
            trainer = Resumable(problem, make(), epochs, folder=folder / name)
            if not trainer.resume():
                trainer.start(np.zeros(problem.dimension))
            weights = trainer.run()
        results.append(weights)
    return results
