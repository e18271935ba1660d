"""A driver is compiled once, whatever it is composed of."""

import subprocess
import sys
from importlib import import_module
from math import inf
from pkgutil import walk_packages

import numpy as np
import pytest

from structopt import kernels
from structopt.factor_graph.linear_chain import LinearChain
from structopt.inference.exact import Exact
from structopt.kernels.learn import dca
from structopt.kernels.waist import passes
from structopt.kernels.waist.record import EMPTY
from structopt.loss.family import LossFamily
from structopt.optimizer.dca import DualCoordinateAscent
from structopt.testing.problems import make_problem, random_encoded

MODULES = [import_module(module.name) for module in walk_packages(kernels.__path__, "structopt.kernels.") if not module.ispkg]
KERNELS = [
    one
    for module in MODULES
    for one in vars(module).values()
    if hasattr(one, "py_func") and one.py_func.__module__ == module.__name__ and not one._can_compile
]


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


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: f"{kernel.py_func.__module__}.{kernel.py_func.__name__}")
def test_every_kernel_has_one_signature(kernel):
    assert len(kernel.signatures) == 1


def test_kernels_are_found():
    assert len(KERNELS) > 50
    assert dca.dca_pass in KERNELS


@pytest.mark.slow
def test_optimizers_name_the_modules_that_their_steps_import():
    """In a new process, a step imports no kernels but those that the optimizer names and those that they import."""
    code = (
        "import sys, importlib, numpy as np\n"
        "from structopt.config import pairs\n"
        "from structopt.testing.problems import make_problem, random_encoded\n"
        "method, loss = pairs.preset('optimizer', sys.argv[1]), pairs.preset('loss', sys.argv[2])\n"
        "graph = pairs.preset('factor_graph', 'linear_chain')\n"
        "positional = method.needs(loss, graph).positional\n"
        "problem = make_problem(random_encoded(), graph, loss, pairs.preset('inference', 'exact'), positional=positional)\n"
        "problem.gradient(np.zeros(problem.dimension))\n"
        "for name in method.plan.kernel_modules: importlib.import_module(name)\n"
        "before = set(sys.modules)\n"
        "method.step(problem, method.init(problem, np.zeros(problem.dimension)))\n"
        "late = {name for name in set(sys.modules) - before if name.startswith('structopt.kernels')}\n"
        "sys.exit(f'{sys.argv[1]} imports {sorted(late)}' if late else 0)"
    )
    for name, loss in [("dca", "crf"), ("sdca", "crf"), ("sdca", "svm"), ("online_cutting_plane", "svm"), ("adagrad", "svm")]:
        done = subprocess.run([sys.executable, "-c", code, name, loss], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def test_records_have_one_type():
    import numba

    structure = LinearChain(2).build(random_encoded())
    assert numba.typeof(structure.record) == numba.typeof(structure.work) == numba.typeof(EMPTY)
