"""A driver is compiled once, whatever it is composed of."""

import subprocess
import sys
from importlib import import_module
from math import inf
from pkgutil import walk_packages

import numpy as np
import pytest
from numba import types
from numba.core.errors import NumbaError
from numba.core.runtime import _nrt_python, rtsys

from structopt import kernels
from structopt.config import pairs
from structopt.factor_graph.linear_chain import LinearChain
from structopt.inference.exact import Exact
from structopt.kernels.learn import dca
from structopt.kernels.passes import losses
from structopt.kernels.waist.record import EMPTY
from structopt.kernels.waist.signatures import VECTOR, driven, driver, kernel
from structopt.kernels.waist.views import part
from structopt.loss.family import LossFamily
from structopt.optimizer.dca import DCA
from structopt.testing.problems import make_problem, random_encoded


def all_kernels():
    """Yield the compiled functions of all modules."""
    for found in walk_packages(kernels.__path__, "structopt.kernels."):
        module = import_module(found.name)
        for one in vars(module).values():
            own = not isinstance(one, type) and hasattr(one, "py_func")
            if own and one.py_func.__module__ == module.__name__ and not one._can_compile:
                yield one


def test_a_kernel_has_as_many_signatures_as_are_listed():
    """Plugins may declare several, as for float32 and float64."""
    listed = [types.float32(types.float32), types.float64(types.float64)]
    double = kernel(listed)(lambda x: x + x)
    assert len(double.signatures) == 2


def test_drivers_are_compiled_once():
    for order, anchored, beta, variant in [
        (1, False, 1.0, "max_loss"),
        (2, False, inf, "max_loss"),
        (1, True, 1.0, "max_loss"),
        (1, False, inf, "prediction"),
    ]:
        encoded = random_encoded(0, anchored=anchored)
        problem = make_problem(
            encoded, LinearChain(order), LossFamily(beta, 1.0), Exact(), variant=variant
        )
        method = DCA()
        state, _ = method.step(problem, method.init(problem, np.zeros(problem.dimension)))
        problem.objective(method.weights(state))
    assert len(dca.dca_pass.signatures) == 1
    assert len(losses.loss_pass.signatures) == 1


def makes_an_array(kernels, data, space, x):
    x[0] = np.zeros(3)[1]


def copies_by_a_slice(kernels, data, space, x):
    x[:3] = x[3:6]


@driven
def first_three(space):
    return part(space.scores, 0, 3)


def takes_a_view(kernels, data, space, x):
    x[0] = first_three(space)[0]


@pytest.mark.parametrize("function", [makes_an_array, copies_by_a_slice, takes_a_view])
def test_drivers_own_no_arrays(function):
    with pytest.raises(NumbaError) as caught:
        driver(types.void, VECTOR)(function)
    assert caught.value.__notes__ == [
        f"{function.__name__} is a driver, which owns no arrays: let its callers hand it those "
        "that it needs, copy by "
        "set_row(target, source), and return no views."
    ]


def test_other_errors_of_drivers_are_numbas_alone():
    with pytest.raises(NumbaError) as caught:
        driver(types.void, VECTOR)(lambda kernels, data, space, x: x.nothing)
    assert not hasattr(caught.value, "__notes__")


@pytest.mark.parametrize(
    "member, name",
    [
        ("crf", "dca"),
        ("crf", "sgd"),
        ("crf", "eg"),
        ("crf", "sdca"),
        ("crf", "mira"),
        ("crf", "adagrad"),
        ("crf", "adadelta"),
        ("svm", "sdca"),
        ("svm", "mira"),
        ("svm", "smo"),
        ("svm", "perceptron"),
        ("svm", "pegasos"),
        ("svm", "online_cutting_plane"),
        ("svm", "cutting_plane"),
        ("crf", "lbfgs"),
    ],
)
def test_passes_keep_no_memory(member, name):
    """Drivers count no references, so none of an array that another kernel has made may be left to
    them.
    """
    loss, method = pairs.preset("loss", member), pairs.preset("optimizer", name)
    graph, exact = pairs.preset("factor_graph", "linear_chain"), pairs.preset("inference", "exact")
    problem = make_problem(
        random_encoded(), graph, loss, exact, positional=method.needs(loss, graph).positional
    )
    state, _ = method.step(problem, method.init(problem, np.zeros(problem.dimension)))
    enabled = _nrt_python.memsys_stats_enabled()
    _nrt_python.memsys_enable_stats()
    try:
        before = rtsys.get_allocation_stats()
        method.step(problem, state)
        after = rtsys.get_allocation_stats()
    finally:
        if not enabled:
            _nrt_python.memsys_disable_stats()
    assert after.mi_alloc - before.mi_alloc == after.mi_free - before.mi_free


def test_every_kernel_has_one_signature():
    found = list(all_kernels())
    assert len(found) > 50
    assert dca.dca_pass in found
    assert [one.py_func.__qualname__ for one in found if len(one.signatures) != 1] == []


@pytest.mark.nightly("rest")
def test_optimizers_name_the_modules_that_their_steps_import():
    """In a new process, a step imports no kernels but those that the optimizer names and those that
    they import.
    """
    code = (
        "import sys, importlib, numpy as np\n"
        "from structopt.config import pairs\n"
        "from structopt.testing.problems import make_problem, random_encoded\n"
        "method, loss = pairs.preset('optimizer', sys.argv[1]), pairs.preset('loss', sys.argv[2])\n"
        "graph = pairs.preset('factor_graph', 'linear_chain')\n"
        "positional = method.needs(loss, graph).positional\n"
        "problem = make_problem(random_encoded(), graph, loss, pairs.preset('inference', "
        "'exact'), positional=positional)\n"
        "problem.gradient(np.zeros(problem.dimension))\n"
        "for name in method.plan.kernel_modules: importlib.import_module(name)\n"
        "before = set(sys.modules)\n"
        "method.step(problem, method.init(problem, np.zeros(problem.dimension)))\n"
        "late = {name for name in set(sys.modules) - before if "
        "name.startswith('structopt.kernels')}\n"
        "sys.exit(f'{sys.argv[1]} imports {sorted(late)}' if late else 0)"
    )
    for name, loss in [
        ("dca", "crf"),
        ("sdca", "crf"),
        ("sdca", "svm"),
        ("online_cutting_plane", "svm"),
        ("adagrad", "svm"),
    ]:
        done = subprocess.run(
            [sys.executable, "-c", code, name, loss], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr


def test_records_have_one_type():
    import numba

    structure = LinearChain(2).build(random_encoded())
    assert numba.typeof(structure.record) == numba.typeof(structure.work) == numba.typeof(EMPTY)
