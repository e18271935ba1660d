"""The texts of errors that `structopt.objective` raises, in one table."""

import numpy as np
import pytest

from structopt.errors import StructoptError
from structopt.executor.serial import Serial
from structopt.factor_graph.linear_chain import LinearChain
from structopt.inference.exact import Exact
from structopt.loss.family import LossFamily
from structopt.objective import decoding
from structopt.testing.problems import make_problem, random_encoded

PROBLEM = make_problem(random_encoded(labels=2, attributes=2), LinearChain(), LossFamily(), Exact())
OF = PROBLEM.examples, PROBLEM.kernels
WEIGHTS = np.zeros(8)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda: decoding.best_outputs(*OF, np.zeros(3), Serial()),
            "weights must have the shape (8,), and has the shape (3,).",
        ),
        (
            lambda: decoding.best_outputs(*OF, np.full(8, np.nan), Serial()),
            "index 0: weights=nan must be a number below +inf; -inf is allowed.",
        ),
        (
            lambda: PROBLEM.objective(np.zeros(8, np.float32)),
            "weights must be a contiguous, writable array of float64, and is contiguous, of "
            "float32. Give np.array(weights, dtype=float).",
        ),
        (
            lambda: PROBLEM.objective([0.0] * 8),
            "weights must be a NumPy array of floating-point numbers, and is list.",
        ),
        (
            lambda: PROBLEM.examples.scores(WEIGHTS, np.array([7])),
            "index 0: instances=7 must be from 0 to 3.",
        ),
        (
            lambda: decoding.k_best(*OF, WEIGHTS, 0, Serial()),
            "k=0 must be at least 1.",
        ),
        (
            lambda: decoding.log_partitions(*OF, WEIGHTS, Serial(), -1.0),
            "temperature=-1.0 must be above 0.",
        ),
    ],
)
def test_texts(call, text):
    with pytest.raises(StructoptError) as raised:
        call()
    assert str(raised.value) == text
