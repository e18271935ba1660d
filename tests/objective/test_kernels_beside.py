"""Kernels are compiled beside a run, once; whatever fails there, the run goes on."""

import subprocess
import sys

import pytest

from structopt.config.composition import compose
from structopt.kernels.waist import disk_cache
from structopt.objective import kernels_beside
from structopt.run.components import make_components


@pytest.fixture(scope="module")
def config():
    return compose(["task=ner", "optimizer=perceptron", "tracker=none"])


@pytest.fixture
def note(tmp_path, monkeypatch):
    monkeypatch.setattr(kernels_beside, "_note", lambda config, of: tmp_path / "run.ready")
    monkeypatch.setattr(kernels_beside, "_cores", lambda: 2)
    return tmp_path / "run.ready"


def refuse(*_):
    raise AssertionError("processes were started")


def test_loaded_in_other_processes_and_noted(config, note, monkeypatch):
    done = []
    with kernels_beside.compiling(config, make_components(config).composed, alone=True):
        done.append("reading")
        assert not note.exists()
    assert done and note.read_text() == disk_cache.core_state()
    monkeypatch.setattr(kernels_beside, "Helpers", refuse)
    with kernels_beside.compiling(config, make_components(config).composed, alone=True):
        done.append("reading again")
    note.write_text("the kernels of other sources")
    components = make_components(config).composed
    with pytest.raises(AssertionError, match="started"), kernels_beside.compiling(config, components, alone=True):
        pass


@pytest.mark.parametrize(("cores", "alone"), [(1, True), (2, False)])
def test_not_beside_other_jobs_or_on_one_core(cores, alone, config, note, monkeypatch):
    monkeypatch.setattr(kernels_beside, "Helpers", refuse)
    monkeypatch.setattr(kernels_beside, "_cores", lambda: cores)
    with kernels_beside.compiling(config, make_components(config).composed, alone):
        pass
    assert not note.exists()


def test_dead_processes_cost_nothing_but_time(config, note, monkeypatch):
    monkeypatch.setattr(kernels_beside, "SERVE", "raise SystemExit(1)")
    with kernels_beside.compiling(config, make_components(config).composed, alone=True):
        pass
    assert not note.exists()


def test_errors_of_the_run_end_the_processes(config, note, monkeypatch):
    started = []
    popen = subprocess.Popen
    monkeypatch.setattr(kernels_beside, "SERVE", "import time; time.sleep(600)")
    monkeypatch.setattr(kernels_beside.subprocess, "Popen", lambda *a, **k: started.append(popen(*a, **k)) or started[-1])
    with pytest.raises(KeyError), kernels_beside.compiling(config, make_components(config).composed, alone=True):
        raise KeyError
    assert len(started) == 2 and all(one.poll() is not None for one in started)
    assert not note.exists()


def test_loading_that_fails_is_not_tried_again(config, note):
    wrong = {**config, "loss": {**config["loss"], "name": "family", "beta": 1.0}}  # of which the prediction variant has no kernel
    wrong["optimizer"] = {**config["optimizer"], "name": "mira", "variant": "prediction"}
    helpers = kernels_beside.Helpers({**wrong, "optimizer": {"name": "mira", "C": 1.0, "variant": "prediction"}}, 3, 1)
    helpers.wait()
    helpers.end()
    assert helpers.complete and helpers.progress == "3 of 3"


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_run_compiles_nothing_itself(tmp_path, monkeypatch):
    """From an empty cache."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "kernels"))
    code = (
        "import sys\n"
        "from structopt.kernels.waist import compiling\n"
        "from structopt.objective import kernels_beside\n"
        "from structopt.command.main import main\n"
        "kernels_beside._cores = lambda: 2\n"
        "code = main(sys.argv[1:])\n"
        "sys.exit(code or (f'{compiling.STATE.compiled} kernels' if compiling.STATE.compiled > 5 else 0))"
    )
    words = [
        "task=multilabel",
        "tracker=none",
        "optimizer=perceptron",
        "optimizer.epochs=1",
        "task.limit=20",
        "hydra.run.dir=run",
    ]
    done = subprocess.run([sys.executable, "-c", code, *words], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
