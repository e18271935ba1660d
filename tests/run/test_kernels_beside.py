"""Kernels are compiled beside a run, once; whatever fails there, the run goes on."""

import ast
import subprocess
import sys
from importlib import import_module

import pytest

from structopt.config import registry
from structopt.config.composition import compose
from structopt.run import kernels_beside
from structopt.run.components import make_components
from tests.parts import gate_cases


@pytest.fixture(scope="module")
def config():
    return compose(["task=ner", "optimizer=perceptron", "tracker=none"])


@pytest.fixture
def cold(monkeypatch):
    """Two cores, and no kernel on disk."""
    monkeypatch.setattr(kernels_beside, "cores", lambda: 2)
    monkeypatch.setattr(kernels_beside, "_on_disk", lambda module: False)


def refuse(*_):
    raise AssertionError("processes were started")


def beside(config, alone=True):
    return kernels_beside.compiling(config, make_components(config).composed, alone)


@pytest.mark.nightly("rest")
def test_all_is_loaded_in_other_processes(config, cold, monkeypatch):
    made = []
    helpers = kernels_beside.Helpers
    monkeypatch.setattr(
        kernels_beside, "Helpers", lambda *given: made.append(helpers(*given)) or made[-1]
    )
    with beside(config):
        pass
    count = len(make_components(config).composed.loaders())
    assert [one.progress for one in made] == [f"{count} of {count}"]


def test_nothing_is_loaded_beside_where_kernels_are_on_disk(config, monkeypatch):
    for loader in make_components(config).composed.loaders():
        loader()
    monkeypatch.setattr(kernels_beside, "cores", lambda: 2)
    monkeypatch.setattr(kernels_beside, "Helpers", refuse)
    with beside(config):
        pass


@pytest.mark.parametrize("name", registry.installed("optimizer"))
def test_modules_that_optimizers_name_have_kernels(name):
    """Else no run would ever find them on disk, and every one would start processes; `Plan.imports`
    names others.
    """
    for module in registry.create("optimizer", {"name": name}).plan.kernel_modules:
        import_module(module)
        assert kernels_beside._on_disk(module), module


@pytest.mark.nightly("rest")
def test_what_is_not_compiled_is_not_on_disk(tmp_path, monkeypatch):
    """A module that has no compiled kernels, and one of a package that changed since."""
    assert kernels_beside._on_disk("structopt.kernels.passes.losses")
    assert not kernels_beside._on_disk("structopt.kernels.waist.layout")
    package = tmp_path / "some_kernels"
    package.mkdir()
    (package / "__init__.py").touch()
    kernel = (
        "from structopt.kernels.waist.signatures import kernel, DOT\n\n\n@kernel(DOT)\n"
        "def dot(features, theta, gradient):\n"
    )
    (package / "one.py").write_text(kernel + "    return 1.0\n")
    load = [sys.executable, "-c", "import some_kernels.one"]
    subprocess.run(load, cwd=tmp_path, check=True)
    monkeypatch.syspath_prepend(tmp_path)
    assert kernels_beside._on_disk("some_kernels.one")
    (package / "one.py").write_text(kernel + "    return 22.0\n")
    fresh = (
        "import sys; from structopt.run.kernels_beside import _on_disk; "
        "sys.exit(_on_disk('some_kernels.one'))"
    )
    subprocess.run([sys.executable, "-c", fresh], cwd=tmp_path, check=True)


@pytest.mark.parametrize(("cores", "alone"), [(1, True), (2, False)])
def test_not_beside_other_jobs_or_on_one_core(cores, alone, config, cold, monkeypatch):
    monkeypatch.setattr(kernels_beside, "Helpers", refuse)
    monkeypatch.setattr(kernels_beside, "cores", lambda: cores)
    with beside(config, alone):
        pass


def test_dead_processes_cost_nothing_but_time(config, cold, monkeypatch):
    monkeypatch.setattr(kernels_beside, "SERVE", "raise SystemExit(1)")
    with beside(config):
        pass


@pytest.mark.nightly("rest")
def test_errors_of_the_run_end_the_processes(config, cold, monkeypatch):
    started = []
    popen = subprocess.Popen
    monkeypatch.setattr(kernels_beside, "SERVE", "import time; time.sleep(600)")
    monkeypatch.setattr(
        kernels_beside.subprocess,
        "Popen",
        lambda *a, **k: started.append(popen(*a, **k)) or started[-1],
    )
    with pytest.raises(KeyError), beside(config):
        raise KeyError
    assert len(started) == 2 and all(one.poll() is not None for one in started)


@pytest.mark.nightly("rest")
def test_loading_that_fails_ends_no_process(config):
    """The loss has no kernel of the variant; the run says so."""
    optimizer = {"name": "mira", "C": 1.0, "variant": "prediction"}
    helpers = kernels_beside.Helpers(
        {**config, "loss": {"name": "family", "beta": 1.0}, "optimizer": optimizer}, 6, 1
    )
    helpers.wait()
    helpers.end()
    assert helpers.progress == "6 of 6"


@pytest.mark.nightly("rest")
def test_a_first_run_compiles_nothing_itself(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "kernels"))
    code = (
        "import sys\n"
        "from structopt.kernels.waist import compiling\n"
        "from structopt.run import kernels_beside\n"
        "from structopt.command.main import main\n"
        "kernels_beside.cores = lambda: 2\n"
        "code = main(sys.argv[1:])\n"
        "sys.exit(code or (f'{compiling.STATE.compiled} kernels' if compiling.STATE.compiled > 5 "
        "else 0))"
    )
    words = [
        "task=ner",
        "tracker=none",
        "optimizer=perceptron",
        "optimizer.epochs=1",
        "task.limit=20",
        "hydra.run.dir=run",
    ]
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


LOADED = """
import sys
from structopt.config.composition import compose
from structopt.run.components import make_components

for load in make_components(compose(sys.argv[1:])).composed.loaders():
    load()
print([name for name in sys.modules if name.startswith("structopt.kernels") and "k_best" in name])
"""


LISTS = [
    ("task=ner optimizer=dca", []),
    ("task=ner optimizer=mira loss=svm optimizer.k_best=3", ["chain"]),
    ("task=dependency", []),
    ("task=constituency", []),
    ("task=coreference", []),
    ("task=multilabel", []),
]


@pytest.mark.parametrize(("command", "lists"), gate_cases(LISTS, "rest", 2))
def test_kernels_of_lists_are_loaded_for_optimizers_that_read_them(command, lists):
    words = [sys.executable, "-c", LOADED, *command.split(), "tracker=none"]
    out = subprocess.run(words, text=True, stdout=subprocess.PIPE, check=True).stdout
    loaded = {name.split(".")[2] for name in ast.literal_eval(out.splitlines()[-1])}
    assert sorted(loaded) == lists
