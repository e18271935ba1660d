"""Seconds a pass of adagrad over dependency trees, relative to the perceptron's:
`STRUCTOPT_DATA=... pytest FILE -s`.

1,000 sentences of English EWT with the templates of the task, unlabelled and labelled; the last
three of four passes, five times in turn. The perceptron hardly errs in these, so that its passes
cost scores and search; adagrad's first list and bring up to date what the scores read. Nothing here
decides whether the tests pass.
"""

from __future__ import annotations

import csv
import os
from pathlib import Path

import numpy as np
import pytest

import structopt

FILE = Path(os.environ.get("STRUCTOPT_DATA", "")) / "ud" / "en_ewt-ud-train.conllu.gz"
pytestmark = [
    pytest.mark.benchmark,
    pytest.mark.skipif(
        "STRUCTOPT_DATA" not in os.environ or not FILE.is_file(),
        reason=f"STRUCTOPT_DATA has no {FILE.name}",
    ),
]


def seconds_a_pass(optimizer: str, loss: str, labeled: bool, folder: Path) -> float:
    """Mean seconds of the passes after the first."""
    task = [
        "task=dependency",
        f"task.train={FILE}",
        "task.limit=1000",
        f"factor_graph.labeled={labeled}",
    ]
    rest = [
        f"optimizer={optimizer}",
        f"loss={loss}",
        "optimizer.epochs=4",
        "objective_every=0",
        "tracker=none",
        "quiet=true",
    ]
    structopt.train([*task, *rest], folder=folder)
    with (folder / "history.csv").open() as lines:
        seconds = [float(row["seconds"]) for row in csv.DictReader(lines)]
    return float(np.diff(seconds).mean())


@pytest.mark.parametrize("labeled", [False, True])
def test_adagrad_relative_to_the_perceptron(labeled: bool, tmp_path: Path) -> None:
    ratios = []
    for n in range(5):
        perceptron = seconds_a_pass(
            "perceptron", "perceptron", labeled, tmp_path / f"perceptron-{n}"
        )
        adagrad = seconds_a_pass("adagrad", "svm", labeled, tmp_path / f"adagrad-{n}")
        ratios.append(adagrad / perceptron)
    name = "labelled" if labeled else "unlabelled"
    every = ", ".join(f"{ratio:.1f}" for ratio in ratios)
    print(
        f"\n{name}: adagrad {adagrad:.2f} s a pass, {np.median(ratios):.1f} of the perceptron's, "
        f"the median of {every}"
    )
