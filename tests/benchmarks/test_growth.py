"""Seconds a pass and of features, and peak memory, with 1, 10 and 100 copies of the shipped corpus:
`pytest tests/benchmarks -s`.

Every copy has words of its own, so that attributes and weights grow too; they are as long as those
of the others, and so have as many attributes. Nothing here decides whether the tests pass.
"""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from structopt import datasets

pytestmark = pytest.mark.benchmark
COPIES = (1, 10, 100)
BLOCKS = ["order=blocks", "storage.window=8"]
RUNS = {
    "dca": ["optimizer=dca"],
    "dca in blocks": ["optimizer=dca", *BLOCKS],
    "perceptron": ["optimizer=perceptron", "loss=perceptron"],
    "mira": ["optimizer=mira", "loss=svm"],
    "sgd": ["optimizer=sgd"],
    "lbfgs": ["optimizer=lbfgs"],
}
PASSES = 4


def write_copies(path: Path, copies: int) -> None:
    """Write the corpus so many times; a copy's two letters stand behind the first of every word,
    but not of DOCSTART.
    """
    lines = datasets.path("train").read_text(encoding="utf8").splitlines()
    with path.open("w", encoding="utf8") as out:
        for copy in range(copies):
            mark = "".join(chr(ord("a") + digit) for digit in divmod(copy, 26))
            words = (
                line[:1] + mark + line[1:] if line and not line.startswith("-DOCSTART-") else line
                for line in lines
            )
            out.writelines(word + "\n" for word in words)
            out.write("\n")


def run(folder: Path, train: Path, chosen: list[str]) -> dict[str, float]:
    """Train in a process of its own; return what it needed."""
    words = [
        "task=ner",
        f"task.train={train}",
        "task.dev=null",
        "task.test=null",
        "tracker=none",
        f"hydra.run.dir={folder}",
    ]
    command = [sys.executable, "-m", "structopt", *words, *chosen, f"optimizer.epochs={PASSES}"]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    assert status == 0
    with (folder / "history.csv").open(encoding="utf8", newline="") as lines:
        clock = [float(row["seconds"]) for row in csv.DictReader(lines)]
    facts = json.loads((folder / "metrics.json").read_text(encoding="utf8"))["train"]
    return {
        "pass": min(later - earlier for earlier, later in zip(clock[:-1], clock[1:], strict=True)),
        "featurize": facts["featurize_seconds"],
        "weights": facts["features"],
        "GB": usage.ru_maxrss / 2**20,
    }


@pytest.mark.parametrize("name", RUNS)
def test_growth(tmp_path: Path, name: str) -> None:
    print(
        f"\n{name}: copies, weights, seconds a pass and of features, peak memory (in brackets: "
        "times the first)"
    )
    first: dict[str, float] = {}
    for copies in COPIES:
        train = tmp_path / f"{copies}.conll"
        write_copies(train, copies)
        found = run(tmp_path / f"run_{copies}", train, RUNS[name])
        first = first or found
        shares = {key: found[key] / first[key] for key in found}
        print(
            f"{copies:4d}  {found['weights']:11,.0f}  {found['pass']:8.3f} "
            f"({shares['pass']:6.1f})  "
            f"{found['featurize']:7.2f}  {found['GB']:6.2f} GB ({shares['GB']:5.1f})"
        )
