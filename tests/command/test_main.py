"""Subcommands, ``resume=``, exit codes, and what a command imports."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest

from structopt.command import main
from tests.command.commands import Stages, failed, run

ROOT = Path(__file__).resolve().parents[2]


def test_interrupted(stages: Stages, capsys: pytest.CaptureFixture[str]) -> None:
    stages.error = KeyboardInterrupt()
    assert main.main(["tracker=none"]) == 130
    folder = (
        capsys.readouterr().err.rpartition("The run goes on with: structopt resume=")[2].strip()
    )
    # however early: it is named, and can be gone on with
    assert (Path(folder) / ".hydra" / "config.yaml").is_file()
    assert main.main(["--multirun", "tracker=none", "seed=0,1", "hydra.sweep.dir=s"]) == 130
    command = "structopt --multirun tracker=none seed=0,1 hydra.sweep.dir=s sweep.resume=true"
    shown = capsys.readouterr()
    assert shown.err.endswith(f"structopt: interrupted. The sweep goes on with: {command}\n")
    assert "1 job: 1 killed\n" in shown.out
    assert len(stages.calls) == 2


@pytest.mark.parametrize("error", [ValueError("a bug"), ZeroDivisionError("a bug")])
def test_bugs_go_through(stages: Stages, error: Exception) -> None:
    stages.error = error
    with pytest.raises(type(error), match="a bug"):
        main.main(["tracker=none"])


def test_resume(stages: Stages, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "run/.hydra").mkdir(parents=True)
    assert main.main(["optimizer.epochs=9", "resume=run"]) == 0
    assert stages.calls == [("resume", Path("run"), ["optimizer.epochs=9"])]
    assert main.main(["resume=null", "tracker=none"]) == 0
    assert stages.calls[1][0] == "train"
    assert failed(capsys, "resume=nowhere") == (
        "resume=nowhere does not exist. Name the folder that has checkpoint/ and .hydra/."
    )
    assert (
        failed(capsys, "--multirun", "resume=run")
        == "resume=run resumes one run and cannot be combined with --multirun. Leave one of them out."
    )


HEAVY = {"mlflow", "numba", "cvxpy", "scipy", "numpy", "pandas", "matplotlib", "sklearn", "optuna"}


def output_of_light_command(word: str, folder: Path) -> str:
    """Run a command in a process of its own; return what it prints once it is known to have
    imported nothing heavy.
    """
    code = (
        f"import sys\nfrom structopt.command.main import main\ntry:\n    main([{word!r}])\n"
        "except SystemExit:\n    pass\n"
        f"heavy = {HEAVY} & set(sys.modules)\n"
        "sys.exit(f'imported: {sorted(heavy)}' if heavy else 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_components_need_hydra_only(tmp_path: Path) -> None:
    assert output_of_light_command("components", tmp_path).startswith("kind ")


def test_help_needs_hydra_only(tmp_path: Path) -> None:
    shown = output_of_light_command("--help", tmp_path)
    assert "structopt trains linear structured predictors" in shown
    for group in (
        "task: attributes, chunking, constituency, coreference, dependency, grid, multiclass, "
        "multilabel, ner, summarization",
        "optimizer: adadelta, adagrad, cutting_plane, dca, dlpw, eg, lbfgs",
        "loss: crf, family, perceptron, ramp, risk, softmax_margin, svm",
    ):
        assert group in shown
    lines = shown.splitlines()
    assert len(lines) <= 30  # one screen
    first = lines.index("Commands:") + 1
    names = [line.split()[0] for line in lines[first : first + 5]]
    assert names == ["train", "predict", "evaluate", "explain", "components"]
    assert all(name in shown for name in main.COMMANDS)


def test_version_needs_hydra_only(tmp_path: Path) -> None:
    first, second = output_of_light_command("--version", tmp_path).splitlines()
    assert first == f"structopt {version('structopt-trainer')}, Python {platform.python_version()}"
    assert [part.split() for part in second.split(", ")] == [
        [name, version(name)]
        for name in ("numba", "numpy", "scipy", "cvxpy", "mlflow", "hydra-core")
    ]


def test_help_of_subcommands(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["help", "predict"], ["predict", "help"], ["predict", "-h"]):
        assert main.main(words) == 0
        assert capsys.readouterr().out.startswith("usage: structopt predict model=MODEL input=FILE")
    for words in (["help"], ["-h"], ["help", "train"], ["train", "--help"], ["task=ner", "--help"]):
        assert main.main(words) == 0
        assert capsys.readouterr().out.startswith("structopt trains linear structured predictors")


def test_resume_names_the_folder_again(stages: Stages, tmp_path: Path) -> None:
    (tmp_path / "run/.hydra").mkdir(parents=True)
    assert main.main(["resume=run", f"hydra.run.dir={tmp_path}/run", "seed=1"]) == 0
    assert stages.calls == [("resume", Path("run"), ["seed=1"])]


@pytest.mark.parametrize("full", ["0", "1"])
def test_as_a_process(tmp_path: Path, full: str) -> None:
    done = run("--cfg", "job", folder=tmp_path, HYDRA_FULL_ERROR=full)
    assert done.returncode == 0
    assert "factor_graph:\n  name: linear_chain" in done.stdout
    done = run("optimizer=dac", folder=tmp_path, HYDRA_FULL_ERROR=full)
    assert done.returncode == 2
    assert done.stderr.startswith(
        "structopt: optimizer 'dac' is not installed. Did you mean 'dca'? Installed: adadelta ("
    )
    assert done.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.nightly("rest")
def test_wheel_contains_the_config_files(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "build",
        "--wheel",
        "--no-isolation",
        "--outdir",
        str(tmp_path),
        str(ROOT),
    ]
    subprocess.run(command, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("structopt_trainer-*-py3-none-any.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    conf, installed = ROOT / "conf", tmp_path / "site/structopt/conf"
    assert {p.relative_to(conf) for p in conf.rglob("*.yaml")} == {
        p.relative_to(installed) for p in installed.rglob("*.yaml")
    }
    done = run("--info", "searchpath", folder=tmp_path / "site")
    assert str(installed) in done.stdout
    assert (tmp_path / "site/structopt/py.typed").is_file()
    assert (tmp_path / "site/structopt/command/scaffold/loss.txt").is_file()
    shipped = {path.name for path in (tmp_path / "site/structopt/datasets").iterdir()}
    formats = ("conll", "conllu", "crfsuite", "libsvm", "multilabel", "ptb", "coref")
    assert {f"train.{name}" for name in formats} <= shipped


@pytest.mark.parametrize("said", ["", "20"])
def test_threads_of_openblas_sleep_soon_unless_the_user_says_otherwise(said):
    """Once products are made by threads that spin, a process that waits uses a whole core."""
    code = (
        "import structopt.command, os, sys; print(os.environ['OPENBLAS_THREAD_TIMEOUT'], 'numpy' in "
        "sys.modules)"
    )
    environment = {
        name: value for name, value in os.environ.items() if name != "OPENBLAS_THREAD_TIMEOUT"
    }
    environment |= {"OPENBLAS_THREAD_TIMEOUT": said} if said else {}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [said or "16", "False"]


def test_importing_the_package_changes_nothing():
    """Python callers keep their environment, filters of warnings, signals and logging."""
    code = """
import logging, os, signal, warnings
before = dict(os.environ), list(warnings.filters), signal.getsignal(signal.SIGINT)
import structopt
assert before == (dict(os.environ), warnings.filters, signal.getsignal(signal.SIGINT))
assert not logging.getLogger().handlers and not logging.getLogger("structopt").handlers
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
