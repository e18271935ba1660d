"""Seconds of the first command ever, of the second, and of tracking: `pytest
tests/benchmarks/test_start_speed.py -s`.

STRUCTOPT_BEFORE names the Python of an environment with another version, whose commands are run in
turn with these. The first command begins without compiled kernels. Nothing here decides whether the
tests pass.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

import pytest

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(1800)]
BEFORE = os.environ.get("STRUCTOPT_BEFORE", "")
COMMAND = ["-m", "structopt", "task=ner", "optimizer=dca", "loss.beta=1"]
REPEATS = 5


def seconds(python: str, folder: Path, kernels: Path, *words: str) -> float:
    """Run a command in a folder, with compiled kernels elsewhere; return what it takes."""
    folder.mkdir(exist_ok=True)
    began = time.perf_counter()
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(kernels)}
    subprocess.run(
        [python, *COMMAND, *words], cwd=folder, env=environment, capture_output=True, check=True
    )
    return time.perf_counter() - began


def test_start(tmp_path: Path) -> None:
    pythons = {"here": sys.executable} | ({"before": BEFORE} if BEFORE else {})
    first: dict[str, float] = {}
    second: dict[str, list[float]] = {name: [] for name in pythons}
    for name, python in pythons.items():
        first[name] = seconds(python, tmp_path / name, tmp_path / f"{name}_kernels")
    for _ in range(REPEATS):
        for name, python in pythons.items():
            second[name].append(seconds(python, tmp_path / name, tmp_path / f"{name}_kernels"))
    for name in pythons:
        print(
            f"\n{name}: first command {first[name]:.1f} s, second {median(second[name]):.2f} s",
            end="",
        )
    if BEFORE:
        ratios = first["here"] / first["before"], median(second["here"]) / median(second["before"])
        print(f"\nhere / before: first {ratios[0]:.2f}, second {ratios[1]:.2f}")


def test_tracking(tmp_path: Path) -> None:
    """A run of half a minute, with MLflow and without, in turn."""
    words = ["optimizer.epochs=1000", "objective_every=0"]
    found: dict[str, list[float]] = {"mlflow": [], "none": []}
    seconds(sys.executable, tmp_path, tmp_path / "kernels")
    for _ in range(3):
        for tracker, times in found.items():
            times.append(
                seconds(
                    sys.executable, tmp_path, tmp_path / "kernels", f"tracker={tracker}", *words
                )
            )
    print(
        f"\nseconds with MLflow {median(found['mlflow']):.1f}, without {median(found['none']):.1f}",
        end=": ",
    )
    print(f"{median(found['mlflow']) / median(found['none']):.3f}")
