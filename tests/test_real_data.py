"""Dual and batch methods on real sentences: they prove the same optimum."""

import os
from pathlib import Path

import pytest

import structopt

DATA = os.environ.get("STRUCTOPT_DATA")
pytestmark = [
    pytest.mark.nightly("data"),
    pytest.mark.skipif(DATA is None, reason="STRUCTOPT_DATA is not set: no real data to train on"),
]

METHODS = {
    "crf": [
        "sdca",
        "sdca optimizer.sampling=gap",
        "lbfgs optimizer.epochs=400",
        "eg optimizer.epochs=400",
    ],
    "svm": [
        "cutting_plane",
        "online_cutting_plane optimizer.epochs=300",
        "smo optimizer.epochs=400 optimizer.steps=3",
    ],
}


@pytest.mark.parametrize("loss", METHODS)
def test_methods_prove_the_same_optimum(tmp_path: Path, loss: str) -> None:
    bounds = []
    for number, method in enumerate(METHODS[loss]):
        name, *rest = method.split()
        words = [
            f"task.train={DATA}/conll2003/eng.train.gz",
            "task.limit=60",
            f"loss={loss}",
            f"optimizer={name}",
            *rest,
        ]
        folder = tmp_path / str(number)
        structopt.train(
            ["task=ner", "tracker=none", "optimizer.C=0.1", "optimizer.tolerance=5e-3", *words],
            folder=folder,
        )
        rows = certified_passes(folder)
        primal, gap = rows[-1]["primal"], rows[-1]["gap"]
        assert gap <= 5e-3 * primal, method
        bounds.append((max(row["dual"] for row in rows), primal))
    assert max(dual for dual, _ in bounds) <= min(primal for _, primal in bounds) * (1 + 1e-9)


def certified_passes(folder: Path) -> list[dict[str, float]]:
    from structopt.run.history import read

    return [row for row in read(folder / "history.csv") if row["dual"] is not None]
