"""The two decorators of plugins."""

import numpy as np
import pytest
from numba import types

from structopt.kernels.waist.signatures import is_compiled
from structopt.plugin.kernels import VECTOR, driver, kernel
from structopt.testing.components import component
from structopt.testing.problems import make_problem, random_encoded


@kernel
def doubled(x):
    return 2.0 * x


@kernel([types.float64(VECTOR), types.float64(types.float64[::1, :])])
def total(x):
    value = 0.0
    for y in x.flat:
        value += doubled(y)
    return value


@driver
def scaled(k, data, factor):
    return factor * (len(data.parts) - 1)


@driver(types.void, types.float64, VECTOR)
def count(kernels, data, space, factor, out):
    """Write the number of instances, times a factor."""
    out[0] = scaled(kernels, data, factor)


def test_kernels_call_functions_without_a_signature():
    x = np.array([1.0, 2.5])
    assert total(x) == total.py_func(x) == 7.0
    assert total(np.asfortranarray(np.ones((2, 3)))) == 12.0
    assert doubled(np.int64(3)) == 6.0
    assert doubled.py_func(3) == 6.0


def test_signatures_are_kept():
    if is_compiled(total):
        assert len(total.signatures) == 2
        with pytest.raises(TypeError):
            total(1)


def test_drivers_call_functions_without_types():
    graph, inference = component("factor_graph", "linear_chain"), component("inference", "exact")
    problem = make_problem(random_encoded(1), graph, component("loss", "crf"), inference)
    out = np.zeros(1)
    problem.run(count, 3.0, out)
    assert out[0] == 3.0 * problem.m
