"""A driver is compiled once, whatever it is composed of."""

from math import inf

import numpy as np
import pytest

from structopt.factor_graph.linear_chain import LinearChain
from structopt.inference.exact import Exact
from structopt.kernels import attribute_rows, chain, chain_calculus, dca, loss, passes
from structopt.kernels.record import EMPTY
from structopt.loss.family import LossFamily
from structopt.optimizer.dca import DualCoordinateAscent
from structopt.testing.problems import make_problem, random_encoded

KERNELS = [
    attribute_rows.scores, attribute_rows.pullback, attribute_rows.add, attribute_rows.add_both, attribute_rows.dot, attribute_rows.flatten,
    attribute_rows.accumulate, attribute_rows.spans, attribute_rows.gather, chain.solve, chain.k_best, chain.vertex,
    chain_calculus.entropy, chain_calculus.slope, chain_calculus.conditionals, loss.family, loss.prediction_based,
    passes.loss_pass, passes.residual_pass, passes.output_pass, dca.dca_pass,
]  # fmt: skip


def test_drivers_are_compiled_once():
    for order, anchored, beta, variant in [
        (1, False, 1.0, "max_loss"), (2, False, inf, "max_loss"), (1, True, 1.0, "max_loss"), (1, False, inf, "prediction")
    ]:  # fmt: skip
        encoded = random_encoded(0, anchored=anchored)
        problem = make_problem(encoded, LinearChain(order), LossFamily(beta, 1.0), Exact(), variant=variant)
        method = DualCoordinateAscent()
        state, _ = method.step(problem, method.init(problem, np.zeros(problem.dimension)))
        problem.objective(method.weights(state))
    assert len(dca.dca_pass.signatures) == 1
    assert len(passes.loss_pass.signatures) == 1


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.py_func.__name__)
def test_every_kernel_has_one_signature(kernel):
    assert len(kernel.signatures) == 1


def test_records_have_one_type():
    import numba

    structure = LinearChain(2).build(random_encoded())
    assert numba.typeof(structure.record) == numba.typeof(structure.work) == numba.typeof(EMPTY)
