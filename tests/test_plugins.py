"""The plugins of this repository, built and installed as distributions, and used on the command
line.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import pytest

PLUGINS = Path(__file__).resolve().parents[1] / "plugins"
DISTRIBUTIONS = (
    "structopt-arow",
    "structopt-knapsack",
    "structopt-numpy-scorer",
    "structopt-segments",
    "structopt-squared-hinge",
)
NEEDED = ("hatchling", "pip")

pytestmark = [
    pytest.mark.nightly("plugins"),
    pytest.mark.skipif(
        not all(map(find_spec, NEEDED)),
        reason="needs pip and hatchling to build the plugins without a network (extra: dev)",
    ),
]

Command = Callable[..., "subprocess.CompletedProcess[str]"]


def call(
    environment: dict[str, str], folder: Path, *words: str
) -> subprocess.CompletedProcess[str]:
    """Run a module of Python in a folder."""
    command = [sys.executable, "-m", *words]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, env=environment, check=False
    )


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds the plugins as pip installs them."""
    folder = tmp_path_factory.mktemp("plugins") / "site"
    flags = (
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--no-index",
        "--disable-pip-version-check",
        "--no-input",
    )
    sources = [str(PLUGINS / name) for name in DISTRIBUTIONS]
    done = call(
        dict(os.environ), folder.parent, "pip", "install", *flags, "--target", str(folder), *sources
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="session")
def command(site: Path) -> Command:
    """Run a module of Python in a folder, with the plugins installed."""
    paths = [str(site), *filter(None, [os.environ.get("PYTHONPATH")])]
    return partial(call, {**os.environ, "PYTHONPATH": os.pathsep.join(paths)})


def trained(done: subprocess.CompletedProcess[str], folder: Path) -> float:
    """Dev F1 of a run that must have succeeded."""
    assert done.returncode == 0, done.stderr
    return float(
        json.loads((folder / "run" / "metrics.json").read_text(encoding="utf8"))["dev"]["f1"]
    )


def test_distributions_hold_code_and_config(site: Path) -> None:
    assert (site / "structopt_arow" / "conf" / "optimizer" / "arow.yaml").is_file()
    assert (site / "structopt_knapsack" / "conf" / "task" / "knapsack.yaml").is_file()
    assert (site / "structopt_knapsack" / "corpus" / "train.jsonl").is_file()
    assert (site / "structopt_segments" / "conf" / "factor_graph" / "segments.yaml").is_file()
    assert (site / "structopt_squared_hinge" / "conf" / "loss" / "squared_hinge.yaml").is_file()
    assert (site / "structopt_numpy_scorer" / "conf" / "features" / "tanh_layer.yaml").is_file()
    assert not (site / "tests").exists()
    assert not (site / "structopt").exists()


def test_components_lists_them_with_their_package(command: Command, tmp_path: Path) -> None:
    done = command(tmp_path, "structopt", "components")
    assert done.returncode == 0, done.stderr
    rows = {tuple(line.split()[:3]): line for line in done.stdout.splitlines()}
    arow = rows["optimizer", "arow", "structopt-arow"]
    assert "r: float = 1.0, epochs: int = " in arow
    assert {
        (kind, "knapsack", "structopt-knapsack") for kind in ("task", "factor_graph", "factor_kind")
    } <= set(rows)
    assert "max_length: int = 8" in rows["factor_graph", "segments", "structopt-segments"]
    assert "gamma: float = 1.0" in rows["loss", "squared_hinge", "structopt-squared-hinge"]
    assert ("optimizer", "dca", "structopt-trainer") in rows


def test_help_lists_them(command: Command, tmp_path: Path) -> None:
    done = command(tmp_path, "structopt", "--help")
    groups = dict(line.strip().split(": ", 1) for line in done.stdout.splitlines() if ": " in line)
    assert "arow" in groups["optimizer"].split(", ")
    assert "knapsack" in groups["task"].split(", ")
    assert "segments" in groups["factor_graph"].split(", ")
    assert "squared_hinge" in groups["loss"].split(", ")


@pytest.fixture(scope="session")
def arow_run(command: Command, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A folder in which `optimizer=arow` was run, and what was printed."""
    folder = tmp_path_factory.mktemp("arow")
    words = (
        "optimizer=arow",
        "task.limit=300",
        "optimizer.epochs=3",
        "tracker=none",
        "hydra.run.dir=run",
    )
    done = command(folder, "structopt", *words)
    assert trained(done, folder) > 0.5
    return folder, done.stdout


def test_optimizer_trains_with_the_loss_that_its_config_chose(arow_run: tuple[Path, str]) -> None:
    assert "ner-arow-svm: 300 instances" in arow_run[1]
    assert "svm (beta=inf, gamma=1)" in arow_run[1]


def test_model_of_a_plugin_loads_without_it(arow_run: tuple[Path, str]) -> None:
    """A model does not contain its optimizer: predictions need the core alone."""
    loaded = "import structopt; print(structopt.load('run').predict([['Ann', 'slept', '.']]))"
    done = subprocess.run(
        [sys.executable, "-c", loaded], cwd=arow_run[0], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("optimizer", ["dca", "arow"])
def test_loss_in_plain_python_trains(optimizer: str, command: Command, tmp_path: Path) -> None:
    """A typed loss overrides the one that a plugin's config chooses."""
    words = ("loss=squared_hinge", f"optimizer={optimizer}", "task.limit=100", "optimizer.epochs=2")
    done = command(tmp_path, "structopt", *words, "tracker=none", "hydra.run.dir=run")
    assert trained(done, tmp_path) > 0.3
    assert f"ner-{optimizer}-squared_hinge: 100 instances" in done.stdout


def test_typo_names_the_plugin(command: Command, tmp_path: Path) -> None:
    done = command(tmp_path, "structopt", "optimizer=arrow")
    assert done.returncode == 2
    assert "optimizer 'arrow' is not installed. Did you mean 'arow'?" in done.stderr
    assert "arow (structopt-arow)" in done.stderr


def test_unknown_parameter_of_a_plugin(command: Command, tmp_path: Path) -> None:
    done = command(tmp_path, "structopt", "optimizer=arow", "optimizer.tolerance=0")
    assert done.returncode == 2
    assert "optimizer=arow has no parameter 'tolerance'." in done.stderr


def test_page_shows_the_code_of_segments() -> None:
    """The lines of code in the walk-through are lines of the plugin."""
    page = (PLUGINS.parent / "docs" / "plugins.md").read_text(encoding="utf8")
    section = page.partition("\n## A kind of structure\n")[2].partition("\n## ")[0]
    shown = {line.strip() for line in section.splitlines() if line.startswith("    ")}
    files = (PLUGINS / "structopt-segments").rglob("*.py")
    assert len(shown) > 20
    assert shown <= {
        line.strip() for file in files for line in file.read_text(encoding="utf8").splitlines()
    }


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_tests_of_the_plugin(name: str, command: Command, tmp_path: Path) -> None:
    done = command(
        tmp_path, "pytest", "-q", f"--basetemp={tmp_path / 'inner'}", str(PLUGINS / name / "tests")
    )
    assert done.returncode == 0, done.stdout + done.stderr
