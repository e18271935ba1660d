"""Run the parts of the nightly tests, and print a table of their results.

Usage::

    .ci/nightly [PART ...] [--list] [--again]

Without arguments all parts run, except those that run only if they are named. The folder
``.cache/nightly`` has a log and a stamp per part and commit. A part that passed on the same commit
is not run again, so that an interrupted run is resumed by the same command; ``--again`` runs it
anyway. A part that cannot run is listed with its reason.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.parts import GATE_SECONDS, NIGHTLY_SECONDS, PARTS  # noqa: E402

FOLDER, ENVIRONMENTS = ROOT / ".cache/nightly", ROOT / ".cache/environments"
PYTHON = sys.executable
PYTHONS = ("3.11", "3.12", "3.13")
PGMPY = ("pgmpy-no-torch==1.0.4", "networkx", "opt-einsum", "statsmodels", "patsy")
"""A build of pgmpy without PyTorch, and the packages that its inference imports."""
TORCH = "torch==2.13.0"
SPACY = "spacy==3.8.18"
PEERS = ("pytorch-crf==0.7.2", "torch-struct==0.5", "skglm==0.5")
"""Packages whose numbers some pages compare with ours."""
TRANSFORMERS = "transformers==5.24.0"
JAX = "jax[cpu]==0.10.2"
OMEGACONF = ("2.3", "2.4")
"""Versions of OmegaConf that prediction supports; Hydra 1.3 excludes 2.4."""
PREDICTION_IN_IMAGE = """
import sys
from structopt.command.main import main
from structopt.kernels.waist.compiling import STATE
assert main(["predict", *sys.argv[1:], "output=-", "probabilities=true", "k_best=2"]) == 0
assert STATE.compiled == 0, f"{STATE.compiled} kernels are not in the image"
"""
BOUNDED = ("numba", "hydra-core", "mlflow")
"""Packages of which the oldest supported versions are tested."""
COMPANIONS = ("sqlalchemy<2.1",)
"""Limits for the dependencies of those versions: MLflow 3.1 allows SQLAlchemy 2.1, but imports a
class that SQLAlchemy 2.1 removed.
"""
CONTRACTS = ("tests/kernels", "tests/learning", "tests/optimizer", "tests/loss", "tests/inference")
INTERPRETER = (
    "tests/core",
    "tests/formats",
    "tests/templates",
    "tests/metrics",
    "tests/datasets",
    "tests/command",
    "tests/config/test_registry.py",
    "tests/test_imports.py",
    "tests/optimizer/test_dca.py",
    "tests/run/test_resumable.py",
)
"""Tests that depend most on the interpreter and on the versions of packages."""


class CannotRunError(Exception):
    """A part cannot run here; the message says why."""


@dataclass(frozen=True)
class Part:
    """A named part of the nightly tests.

    Parameters
    ----------
    about : str
        One line for the list of parts.
    run : callable
        Runs the part, given a function that runs a command; raises `subprocess.CalledProcessError`
        if it fails and `CannotRunError` if it cannot run.
    by_name : bool
        Whether the part runs only if it is named.
    """

    about: str
    run: Callable[[Runner], None]
    by_name: bool = False


class Runner:
    """Runs the commands of one part and writes their output to a log.

    Parameters
    ----------
    log : Path
    """

    def __init__(self, log: Path) -> None:
        self.log = log

    def __call__(self, *command: str, **environment: str) -> None:
        """Run a command in the root of the project, with additional environment variables."""
        with self.log.open("ab") as stream:
            stream.write(f"\n$ {' '.join(command)}\n".encode())
            stream.flush()
            subprocess.run(
                command,
                cwd=ROOT,
                env={**os.environ, **environment},
                stdout=stream,
                stderr=stream,
                check=True,
            )

    def tests(self, *options: str, budget: float, **environment: str) -> None:
        """Run tests; those of a file at more than twice the budget in two of three runs fail."""
        seconds = self.log.with_suffix(".seconds.json")
        self(PYTHON, "-m", "pytest", f"--file-seconds={seconds}", *options, **environment)
        for file in _over(seconds, 2 * budget):
            over = 1
            for _ in range(2):
                chosen = [option for option in options if option.startswith("--nightly")]
                one = ("-m", "pytest", "-n0", f"--file-seconds={seconds}", *chosen, file)
                self(PYTHON, *one, **environment)
                over += bool(_over(seconds, 2 * budget))
                if over == 2:
                    raise SlowError(f"{file} takes more than {2 * budget:g} s in two of three runs")


class SlowError(Exception):
    """A file of tests takes more than twice its budget."""


def _over(seconds: Path, limit: float) -> list[str]:
    measured = json.loads(seconds.read_text(encoding="utf8"))
    return [file for file, took in measured.items() if took > limit]


BUDGETS = {"cluster": 480.0}
"""Seconds per file of parts whose tests wait for other programs, if not `NIGHTLY_SECONDS`."""


def of_suite(name: str, *options: str) -> Callable[[Runner], None]:
    """Run the tests that the marker `nightly` assigns to a part."""
    budget = BUDGETS.get(name, NIGHTLY_SECONDS)
    return lambda run: run.tests(f"--nightly={name}", *options, budget=budget)


def gate(run: Runner) -> None:
    """Run the tests of the gate, to compare the seconds of their files with the budget."""
    run.tests("--nightly=none", budget=GATE_SECONDS)


def data(run: Runner) -> None:
    """Run the tests of real data."""
    if "STRUCTOPT_DATA" not in os.environ:
        raise CannotRunError("STRUCTOPT_DATA is not set")
    run.tests("--nightly=data", "--timeout=3600", budget=1800.0)


def bounds(run: Runner) -> None:
    """Run contract tests with kernels that check the bounds of every access."""
    run.tests(
        *CONTRACTS,
        "--nightly=none",
        "-n2",
        "--timeout=1200",
        budget=10 * NIGHTLY_SECONDS,
        NUMBA_BOUNDSCHECK="1",
    )


def benchmarks(run: Runner) -> None:
    """Run the benchmarks; they print ratios and fail only on errors."""
    run(PYTHON, "-m", "pytest", "tests/benchmarks", "-s", "--timeout=1200")


def mutants(run: Runner) -> None:
    """Run the mutants of the kernels and of the optimizers."""
    if not (ROOT / "tools/mutants.py").exists():
        raise CannotRunError("there is no tools/mutants.py")
    run(PYTHON, "-m", "tools.mutants", f"--jobs={os.cpu_count() or 1}", "run")


def torch(run: Runner) -> None:
    """Run the tests of PyTorch and JAX, in an environment that adds them to this one.

    PyTorch is installed without CUDA's libraries, some gigabytes. A build that needs them cannot be
    imported.
    """
    python = _addition("torch", run)
    needed = [
        "filelock",
        "typing-extensions",
        "sympy",
        "networkx",
        "jinja2",
        "fsspec",
        "setuptools",
    ]
    try:
        _pip(run, python, "--no-deps", TORCH)
        _pip(run, python, *needed, "setuptools")
        run(python, "-c", "import torch")
    except subprocess.CalledProcessError as error:
        raise CannotRunError(f"{TORCH} cannot be installed or imported without CUDA") from error
    _pip(run, python, "--no-deps", *PEERS)
    _install(run, python, TRANSFORMERS, JAX)
    plugin = "plugins/structopt-torch"
    _pip(run, python, "--no-deps", "--no-build-isolation", "--force-reinstall", plugin)
    transformers = "tests/task/dense/test_transformers.py"
    run(python, "-m", "pytest", "-n2", f"{plugin}/tests", "tests/verbs/test_torch.py", transformers)
    pages = "torch.md or from_torch_struct or from_pytorch_crf or jax.md"
    run(python, "-m", "pytest", "-n0", "--nightly=documents", "tests/test_docs.py", "-k", pages)
    run(python, "-m", "pytest", "-n0", "tests/test_peer_pages.py")


def spacy(run: Runner) -> None:
    """Run the tests of the components for spaCy, in an environment that adds it to this one."""
    python, plugin = _addition("spacy", run), "plugins/structopt-spacy"
    _install(run, python, SPACY)
    _pip(run, python, "--no-deps", "--no-build-isolation", "--force-reinstall", plugin)
    run(python, "-m", "pytest", "-n0", f"{plugin}/tests")


def pgmpy(run: Runner) -> None:
    """Compare exact inference with pgmpy, in an environment that adds it to this one."""
    python = _addition("pgmpy", run)
    try:
        _pip(run, python, "--no-deps", *PGMPY)
    except subprocess.CalledProcessError as error:
        raise CannotRunError("pgmpy cannot be installed") from error
    run(python, "-m", "pytest", "-n0", "tests/inference/test_pgmpy.py")


def predict(run: Runner) -> None:
    """Compare saved models in new environments that have the packages of prediction, and pytest."""
    for version in OMEGACONF:
        shutil.rmtree(ENVIRONMENTS / "predict", ignore_errors=True)
        python = _environment("predict", PYTHON, run)
        _install(run, python, "-r", "requirements-predict.txt", f"omegaconf=={version}.*", "pytest")
        _install(run, python, "--no-deps", ".")
        # without pytest's settings and fixtures of this project, which need more packages
        options = ("--noconftest", "-c", os.devnull, f"--rootdir={ROOT}", "-p", "no:cacheprovider")
        run(python, "-m", "pytest", *options, "-k", "predictions", "tests/test_saved_models.py")


def image(run: Runner) -> None:
    """Run the script of the image in a new folder, and predict with the kernels it compiled."""
    target = ENVIRONMENTS / "image"
    shutil.rmtree(target, ignore_errors=True)
    run("tools/image/install", str(target), PYTHON=PYTHON)
    saved = max((ROOT / "tests/saved").iterdir())
    run(
        *(str(target / "environment/bin/python"), "-c", PREDICTION_IN_IMAGE),
        *(f"model={saved}/models/ner", f"input={saved}/inputs/test.conll"),
        NUMBA_CPU_NAME="generic",
        NUMBA_CACHE_DIR=str(target / "kernels"),
        PYTHONSAFEPATH="1",
    )


def of_python(version: str) -> Callable[[Runner], None]:
    """Run the tests that depend most on the interpreter with one version of Python."""

    def run_version(run: Runner) -> None:
        interpreter = _interpreter(version)
        if interpreter is None:
            raise CannotRunError(f"there is no Python {version}")
        python = _environment(f"python{version}", interpreter, run)
        _install(run, python, "-e", ".[dev]")
        run(python, "-m", "pytest", "-n2", "--nightly=none", *INTERPRETER)

    return run_version


def oldest(run: Runner) -> None:
    """Run the same tests with the oldest supported Numba, Hydra and MLflow."""
    constraints = FOLDER / "oldest.txt"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf8"))["project"]
    lowest = [
        f"{found[1]}=={found[2]}"
        for line in project["dependencies"]
        if (found := re.match(r"([\w-]+)>=([\w.]+)", line)) and found[1] in BOUNDED
    ]
    constraints.write_text("\n".join([*lowest, *COMPANIONS]) + "\n", encoding="utf8")
    python = _environment("oldest", _interpreter(PYTHONS[0]) or PYTHON, run)
    _install(run, python, "--constraint", str(constraints), "-e", ".[dev]")
    run(python, "-m", "pytest", "-n2", "--nightly=none", *INTERPRETER, "tests/tracker")


def newest(run: Runner) -> None:
    """Run the same tests with the newest versions of all packages that are allowed."""
    python = _environment("newest", PYTHON, run)
    _install(run, python, "--upgrade", "--upgrade-strategy=eager", "-e", ".[dev]")
    run(python, "-m", "pytest", "-n2", "--nightly=none", *INTERPRETER, "tests/tracker")


def _environment(name: str, interpreter: str, run: Runner) -> str:
    """Return the interpreter of a virtual environment, which is created if it is missing."""
    python = ENVIRONMENTS / name / "bin/python"
    if not python.exists():
        run(interpreter, "-m", "venv", str(python.parents[1]))
    return str(python)


def _addition(name: str, run: Runner) -> str:
    """Return the interpreter of a virtual environment that adds packages to this one."""
    python = _environment(name, PYTHON, run)
    where = "import sysconfig; print(sysconfig.get_path('purelib'))"
    theirs, ours = (
        subprocess.check_output([one, "-c", where], text=True).strip() for one in (python, PYTHON)
    )
    (Path(theirs) / "first_environment.pth").write_text(
        f"import site; site.addsitedir({ours!r})\n", encoding="utf8"
    )
    return python


def _pip(run: Runner, python: str, *arguments: str) -> None:
    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *arguments)


def _install(run: Runner, python: str, *arguments: str) -> None:
    try:
        _pip(run, python, *arguments)
    except subprocess.CalledProcessError as error:
        raise CannotRunError(f"pip install {' '.join(arguments)} failed; see the log") from error


def _interpreter(version: str) -> str | None:
    """Return the first interpreter of a version that runs; shims of pyenv may not."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    candidates = [f"python{version}", *sorted(map(str, pyenv.glob(f"{version}.*/bin/python")))]
    test = f"import sys; sys.exit('%d.%d' % sys.version_info[:2] != {version!r})"
    for candidate in candidates:
        if (
            shutil.which(candidate)
            and not subprocess.run([candidate, "-c", test], capture_output=True).returncode
        ):
            return candidate
    return None


IN_THIS_PROCESS = {"ray", "cluster"}
"""Parts whose tests share a cluster per file, and are not distributed over processes."""

ALL: Mapping[str, Part] = {
    "gate": Part("tests of the gate: seconds per file", gate),
    **{
        name: Part(about, of_suite(name, *(["-n0"] if name in IN_THIS_PROCESS else [])))
        for name, about in PARTS.items()
        if name != "data"
    },
    "bounds": Part("contract tests with bounds-checked kernels", bounds),
    "torch": Part("tests of PyTorch and JAX in an environment of their own", torch),
    "spacy": Part("components of spaCy pipelines in an environment of their own", spacy),
    "pgmpy": Part("exact inference against pgmpy in an environment of its own", pgmpy),
    "predict": Part("prediction with its own packages, OmegaConf 2.3 and 2.4", predict),
    "image": Part("the script of the image in a new environment", image),
    "oldest": Part("oldest supported versions of Numba, Hydra and MLflow", oldest),
    "newest": Part("newest supported versions of all packages", newest),
    **{f"python{one}": Part(f"tests with Python {one}", of_python(one)) for one in PYTHONS},
    "benchmarks": Part("benchmarks, which print ratios", benchmarks),
    "data": Part(PARTS["data"], data, by_name=True),
    "mutants": Part("seeded mutants that tests must detect", mutants, by_name=True),
}


def state() -> str:
    """Return the commit, and a digest of uncommitted changes if there are any."""
    commit = _git("rev-parse", "--short=12", "HEAD").strip()
    changes = _git("diff", "HEAD") + _git("ls-files", "--others", "--exclude-standard")
    digest = hashlib.sha256(changes.encode()).hexdigest()[:8]
    return f"{commit}-{digest}" if changes else commit


def _git(*arguments: str) -> str:
    return subprocess.check_output(["git", *arguments], cwd=ROOT, text=True)


def run_part(name: str, stamp: Path) -> dict[str, object]:
    """Run a part, write its stamp, and return its result."""
    began, reason = time.monotonic(), ""
    log = stamp.with_suffix(".log")
    log.write_text(f"{name}, {date.today()}\n", encoding="utf8")
    try:
        ALL[name].run(Runner(log))
        result = "passed"
    except CannotRunError as error:
        result, reason = "cannot run", str(error)
    except SlowError as error:
        result, reason = "slow", str(error)
    except subprocess.CalledProcessError as error:
        result, reason = "failed", f"exit code {error.returncode}; see {log.relative_to(ROOT)}"
    outcome = {"result": result, "seconds": time.monotonic() - began, "reason": reason}
    stamp.write_text(json.dumps(outcome), encoding="utf8")
    if result in ("failed", "slow"):
        print("\n".join(log.read_text(encoding="utf8", errors="replace").splitlines()[-40:]))
    return outcome


def main(arguments: Sequence[str] | None = None) -> int:
    """Run parts; return 1 if one failed."""
    parser = argparse.ArgumentParser(prog=".ci/nightly", description=__doc__.partition("\n")[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(ALL))
    parser.add_argument("--list", action="store_true", help="list the parts and run nothing")
    parser.add_argument("--again", action="store_true", help="run parts that passed already")
    options = parser.parse_args(arguments)
    if unknown := [name for name in options.parts if name not in ALL]:
        parser.error(f"there is no part {unknown[0]!r}. The parts are: {', '.join(ALL)}.")
    if options.list:
        for name, part in ALL.items():
            print(f"{name:12} {part.about}{' (only if named)' if part.by_name else ''}")
        return 0
    folder = FOLDER / state()
    folder.mkdir(parents=True, exist_ok=True)
    rows = dict[str, Mapping[str, object]]()
    for name, part in ALL.items():
        if name not in options.parts and (options.parts or part.by_name):
            continue
        stamp = folder / f"{name}.json"
        before = json.loads(stamp.read_text(encoding="utf8")) if stamp.exists() else {}
        if before.get("result") == "passed" and not options.again:
            rows[name] = before
        else:
            print(f"{time.strftime('%H:%M:%S')} {name} ...", flush=True)
            rows[name] = run_part(name, stamp)
    print(f"\n{'part':12} {'result':10} {'seconds':>8}  reason")
    for name, row in rows.items():
        print(f"{name:12} {row['result']:10} {row['seconds']:8.0f}  {row['reason']}")
    print(f"{'sum':23} {sum(float(str(row['seconds'])) for row in rows.values()):8.0f}")
    return int(any(row["result"] in ("failed", "slow") for row in rows.values()))


if __name__ == "__main__":
    sys.exit(main())
