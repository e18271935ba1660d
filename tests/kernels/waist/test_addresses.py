"""Kernels handed to drivers by their addresses: those that Numba would find, read again by compiled
code.
"""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor
from ctypes import c_ssize_t
from threading import Barrier

import numpy as np
import pytest
from numba import types
from numba.core.compiler_lock import global_compiler_lock
from numba.experimental.function_type import _get_jit_address, _get_wrapper_address

from structopt.kernels.waist import addresses, signatures
from structopt.kernels.waist.signatures import (
    ENTROPY,
    KERNELS,
    RECORD,
    VECTOR,
    Kernels,
    driver,
    is_compiled,
    kernel,
)
from structopt.plugin.kernels import visit
from structopt.testing.components import component
from structopt.testing.problems import make_problem, random_encoded


@pytest.fixture
def problem():
    graph, inference = component("factor_graph", "linear_chain"), component("inference", "exact")
    return make_problem(random_encoded(3), graph, component("loss", "crf"), inference)


@kernel([ENTROPY, types.float64(RECORD, types.int32, VECTOR)])
def sevenfold(structure, i, z):
    return 7.0 * z.sum() + i


compiled_only = pytest.mark.skipif(not is_compiled(sevenfold), reason="nothing is compiled")


@driver(types.float64, VECTOR)
def entropy_of(k, data, space, z):
    """Call one kernel."""
    return k.entropy(data.structure, 2, z)


@driver(types.float64, VECTOR)
def loss_of(kernels, data, space, theta):
    """Sum the losses, with the kernels opened as a tuple."""
    k, total = Kernels(*kernels), 0.0
    for i in range(len(data.parts) - 1):
        total += visit(k, data, space, i, theta)
    return total


@compiled_only
def test_addresses_are_those_that_numba_finds(problem):
    kernels = problem.kernels
    memory = (c_ssize_t * (3 * len(kernels))).from_address(kernels.address)
    expected = [
        address
        for one, kind in zip(kernels, KERNELS.types, strict=True)
        for address in (
            _get_wrapper_address(one, kind.signature),
            id(one),
            _get_jit_address(one, kind.signature),
        )
    ]
    assert list(memory) == expected


def test_a_kernel_of_several_signatures_is_called_by_the_right_one(problem):
    problem.kernels = problem.kernels._replace(entropy=sevenfold)
    assert problem.run(entropy_of, np.ones(3)) == 23.0


def test_drivers_that_open_the_kernels_as_a_tuple_still_work(problem):
    theta = np.linspace(-1.0, 1.0, problem.dimension)
    assert problem.run(loss_of, theta) == pytest.approx(problem.gradient(theta)[0], rel=1e-12)


@compiled_only
@pytest.mark.parametrize(
    "other_signature",
    [types.float64(RECORD, types.int32, VECTOR), types.int64(RECORD, types.int64, VECTOR)],
)
def test_a_kernel_of_another_signature_is_refused(problem, other_signature):
    @kernel(other_signature)
    def other(structure, i, z):
        return 1

    problem.kernels = problem.kernels._replace(entropy=other)
    with pytest.raises(TypeError, match="other, the kernel `entropy`, is not compiled for"):
        problem.run(entropy_of, np.ones(3))


@compiled_only
@pytest.mark.parametrize(
    "copied", [copy.copy, lambda one: one._replace(), lambda one: Kernels(*one)]
)
def test_copies_have_the_same_addresses(problem, copied):
    other = copied(problem.kernels)
    assert other == problem.kernels
    assert "_addresses" not in vars(other)
    assert other.address == problem.kernels.address


@compiled_only
def test_numbas_lock_is_not_taken(problem):
    with global_compiler_lock, ThreadPoolExecutor(1) as pool:
        found = pool.submit(addresses.addresses_of, problem.kernels, KERNELS)
        assert len(found.result(timeout=60)) == 3 * len(problem.kernels)


@compiled_only
def test_threads_that_come_first_together_get_the_same_addresses(problem, monkeypatch):
    together, look_up = Barrier(2), addresses.addresses_of

    def slow(*arguments):
        together.wait(timeout=60)
        return look_up(*arguments)

    monkeypatch.setattr(addresses, "addresses_of", slow)
    signatures._addresses.cache_clear()
    kernels = problem.kernels._replace()
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda _: kernels.address, range(2)))
    assert found == [kernels.address] * 2


def test_what_is_sent_to_other_processes_has_no_addresses():
    kernels = Kernels(*[len] * len(Kernels._fields))
    assert not kernels.compiled
    sent = pickle.loads(pickle.dumps(kernels))
    assert sent == kernels
    assert "compiled" not in vars(sent)


@compiled_only
def test_one_function_that_is_not_compiled_makes_the_call_fail(problem):
    kernels = problem.kernels._replace(entropy=sevenfold.py_func)
    with pytest.raises(AttributeError, match="no attribute 'overloads'"):
        entropy_of(kernels, problem.data, problem.space, np.ones(3))
