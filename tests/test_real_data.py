"""Real data: accuracy as in README and docs/tour.md, and the same optimum by dual and batch methods."""

import json
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

BETWEEN = ("loss.beta=3", "loss.gamma=1", "optimizer.C=0.1")
TREEBANK = f"{DATA}/ptb_sample/treebank_combined.tar.gz"
EWT = f"{DATA}/ud/en_ewt-ud"
FIGURES: dict[str, tuple[list[str], str, float]] = {
    "named entities": (
        [
            "task=ner",
            f"task.train={DATA}/conll2003/eng.train.gz",
            f"task.dev={DATA}/conll2003/eng.testa.gz",
            "optimizer.epochs=50",
            *BETWEEN,
        ],
        "f1",
        0.9095,
    ),
    "dependencies": (
        [
            "task=dependency",
            f"task.train={EWT}-train.conllu.gz",
            f"task.dev={EWT}-dev.conllu.gz",
            "factor_graph.projective=false",
            "optimizer.epochs=10",
            *BETWEEN,
        ],
        "uas_nopunct",
        0.8802,
    ),
    "constituents": (
        [
            "task=constituency",
            f'task.train="{TREEBANK}:wsj_{{0001..0160}}.mrg"',
            f'task.dev="{TREEBANK}:wsj_{{0161..0180}}.mrg"',
            "factor_graph=span",
            "factor_graph.prune_threshold=1.234e-4",
            "loss=svm",
            "optimizer=adagrad",
            "optimizer.epochs=5",
        ],
        "bracket_f1_40",
        0.899,
    ),
    "coreference": (
        [
            "task=coreference",
            f'task.train="{DATA}/litbank/coref_conll.tar.gz:{{1*,2*,3*,4051*,41*,4217*}}.conll"',
            f'task.dev="{DATA}/litbank/coref_conll.tar.gz:{{427*,43*,44*,45*,47*,5*,6*}}.conll"',
            "loss=softmax_margin",
            "loss.cost=coreference",
            "optimizer=adagrad",
            "optimizer.eta=0.03",
            "optimizer.epochs=20",
        ],
        "conll",
        0.774,
    ),
}
"""Overrides, metric and figure of README and docs/tour.md."""
SLACK = 0.003


@pytest.mark.parametrize("name", FIGURES)
def test_accuracy_is_that_of_the_readme(tmp_path: Path, name: str) -> None:
    words, metric, figure = FIGURES[name]
    shared = ["task.test=null", "objective_every=0", "tracker=none", "quiet=true"]
    structopt.train([*words, *shared], folder=tmp_path)
    scores = json.loads((tmp_path / "metrics.json").read_text(encoding="utf8"))["dev"]
    assert scores[metric] >= figure - SLACK


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
