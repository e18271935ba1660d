"""The memory of a run is estimated before it is taken."""

import logging
import subprocess
import sys
from math import inf
from pathlib import Path

import numpy as np
import pytest

from structopt.command.main import main
from structopt.core import memory
from structopt.core.optimizer_state import values_of
from structopt.objective.memory import sizes_of
from structopt.plugin import CompatibilityError, LossFamily
from structopt.run.memory import checkpoint_bytes
from structopt.testing.components import check, component
from structopt.testing.problems import make_problem, random_encoded
from tests.parts import gate_cases

CONF = Path(__file__).parents[2] / "conf" / "optimizer"
# it has the state of pegasos
OPTIMIZERS = sorted(path.stem for path in CONF.glob("*.yaml") if path.stem != "dlpw")
PLANES = {"cutting_plane", "online_cutting_plane"}


def small_problem(optimizer):
    """A problem that it takes: of margins, or else a likelihood."""
    graph, inference = component("factor_graph", "linear_chain"), component("inference", "exact")
    for beta, gamma in ((inf, 1.0), (inf, 0.0), (1.0, 0.0)):
        loss = LossFamily(beta=beta, gamma=gamma)
        try:
            check(graph, inference, loss, optimizer)
            return make_problem(
                random_encoded(2),
                graph,
                loss,
                inference,
                positional=optimizer.needs(loss, graph).positional,
            )
        except CompatibilityError:
            pass
    raise AssertionError("it takes none of them")


@pytest.mark.parametrize("name", gate_cases(OPTIMIZERS, "pairs", ("dca", "lbfgs", "cutting_plane")))
def test_optimizers_declare_their_state(name):
    """Arrays of the first state, and after a pass; of planes it is a bound on what later passes
    add.
    """
    optimizer = component("optimizer", name)
    problem = small_problem(optimizer)
    declared = sum(optimizer.footprint(sizes_of(problem, epochs=2), problem.loss).state.values())
    state = optimizer.init(problem, np.zeros(problem.dimension))
    for _ in range(2):
        taken = sum(
            value.nbytes for value in values_of(state).values() if isinstance(value, np.ndarray)
        )
        assert taken <= 1.05 * declared + 512
        assert name in PLANES or declared <= 1.25 * taken + 512
        state, _ = optimizer.step(problem, state)


def test_wrapped_optimizers_take_copies():
    from structopt.learning.convex_start import ConvexStart
    from structopt.learning.guarded import Guarded
    from structopt.learning.mixing import Mixed

    sgd = component("optimizer", "sgd", average=True)
    problem = small_problem(sgd)
    sizes = sizes_of(problem, epochs=2)
    state = sum(sgd.footprint(sizes, problem.loss).state.values())
    assert state == 2 * sizes.weight_vector
    steps = [
        one.footprint(sizes, problem.loss).step
        for one in (
            Guarded(sgd),
            ConvexStart(sgd, problem, 1),
            Mixed(sgd, 4, lambda *arguments: None),
        )
    ]
    assert steps == [state, state, 7 * state]


def test_a_checkpoint_holds_what_may_move():
    sizes = memory.ProblemSizes(instances=1, weights=100, moving=10, parts=7, gold_parts=1)
    assert checkpoint_bytes({"weights": 800, "duals": 56}, sizes) == 2 * 80 + 56
    assert checkpoint_bytes({"weights": 800}, sizes._replace(moving=100)) == 800


@pytest.fixture
def many_labels(tmp_path, monkeypatch):
    """A corpus whose labels make 64 million trigrams."""
    rows = [f"w{i % 50} T{i % 400}\n" + "\n" * (i % 10 == 9) for i in range(800)]
    (tmp_path / "train.txt").write_text("".join(rows) + "\n")
    monkeypatch.chdir(tmp_path)
    return [
        "task=tagging",
        "task.train=train.txt",
        "task.dev=null",
        "tracker=none",
        "factor_graph.order=2",
    ]


def test_many_labels_of_second_order_are_refused_before_their_tables_are_made(
    many_labels, monkeypatch, capsys
):
    monkeypatch.setattr(memory, "free_bytes", lambda: 2e9)
    assert main(many_labels) == 2
    assert capsys.readouterr().err.endswith(
        "structopt: factor_graph.order=2 with 400 labels has scores of 64,160,000 runs of "
        "labels, which need 2.6 GB of memory, "
        "and 2.0 GB are free. Choose a smaller factor_graph.order, or fewer labels.\n"
    )


def test_a_run_that_does_not_fit_names_amounts_and_settings(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("structopt.run.memory.scratch_bytes", lambda problem: 10**15)
    words = ["tracker=none", "task.limit=5", "optimizer=lbfgs", "loss=crf"]
    assert main(words) == 2
    message = capsys.readouterr().err
    assert "with optimizer=lbfgs (scratch of threads 1000000.0 GB, " in message
    assert "10 steps and changes of the gradient" in message
    assert "Set one or more of these: a greater features.min_count; " in message
    assert "a smaller optimizer.memory" in message
    assert "optimizer.average" not in message


def test_a_run_says_what_it_takes(tmp_path, monkeypatch, caplog):
    monkeypatch.chdir(tmp_path)
    with caplog.at_level(logging.INFO):
        assert main(["tracker=none", "task.limit=5", "optimizer.epochs=1"]) == 0
    log = "".join(path.read_text() for path in tmp_path.glob("outputs/**/*.log"))
    assert "memory: training takes up to " in log


def test_an_allocation_that_fails_in_training_is_one_message(tmp_path, monkeypatch, capsys):
    """The checkpoint of the pass before stays, and the run goes on from it."""
    from structopt.optimizer.dca import DCA

    def fails(self, problem, state):
        if state.epoch == 1:
            np.empty(1 << 45)
        return step(self, problem, state)

    monkeypatch.chdir(tmp_path)
    step = DCA.step
    with monkeypatch.context() as patch:
        patch.setattr(DCA, "step", fails)
        assert (
            main(["tracker=none", "task.limit=5", "optimizer.epochs=2", "hydra.run.dir=run"]) == 2
        )
    error = capsys.readouterr().err
    assert "structopt: There is not enough memory: Unable to allocate" in error
    assert "Traceback" not in error
    assert main(["resume=run"]) == 0


@pytest.mark.skipif(
    sys.platform != "linux", reason="the limit of the address space is kept on Linux"
)
def test_a_limit_of_the_address_space_is_kept(tmp_path):
    """Under `ulimit -v` a run that does not fit is one message."""
    code = (
        "import resource, sys\n"
        "from structopt.command.main import main\n"
        "import numba, numpy\n"
        "taken = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
        "resource.setrlimit(resource.RLIMIT_AS, (taken + 10**9, resource.RLIM_INFINITY))\n"
        "from structopt.core import memory\n"
        "assert 0 < memory.free_bytes() <= 10**9\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
