"""The settings under which CRFsuite minimises the same objective over the same weights."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import structopt
from structopt import datasets
from tests.parts import gate_cases

pycrfsuite = pytest.importorskip(
    "pycrfsuite", reason="python-crfsuite is the peer to compare with (extra: dev)"
)

C2 = 0.25
COMPARABLE: dict[str, Any] = {
    "c2": C2,
    "feature.possible_transitions": True,
    "feature.minfreq": -1e9,
}
PRECISE = {"max_iterations": 2000, "epsilon": 1e-9, "delta": 1e-12, "num_memories": 10}
Sentence = tuple[list[dict[str, float]], list[str]]


@pytest.fixture(scope="module")
def sentences() -> list[Sentence]:
    """Attributes with values of both signs; the label C never follows itself, and some attributes
    have negative sums only.
    """
    generator = np.random.default_rng(0)
    drawn: list[Sentence] = []
    for length in generator.integers(2, 7, 25).tolist():
        labels: list[str] = []
        for _ in range(length):
            labels.append(
                str(generator.choice(["A", "B", "C"] if labels[-1:] != ["C"] else ["A", "B"]))
            )
        tokens = [
            {
                "bias": 1.0,
                f"is{label if generator.random() < 0.7 else 'X'}": round(
                    float(generator.normal()), 2
                ),
            }
            | {f"w{generator.integers(6)}": -round(float(generator.random()) + 0.1, 2)}
            for label in labels
        ]
        drawn.append((tokens, labels))
    return drawn


@pytest.fixture(scope="module")
def path(sentences: list[Sentence], tmp_path_factory: pytest.TempPathFactory) -> Path:
    blocks = []
    for tokens, labels in sentences:
        lines = [
            "\t".join([y, *(f"{name}:{value}" for name, value in x.items())])
            for x, y in zip(tokens, labels, strict=True)
        ]
        blocks.append("\n".join(lines) + "\n")
    file = tmp_path_factory.mktemp("crfsuite") / "train.txt"
    file.write_text("\n".join(blocks))
    return file


def theirs(sentences: list[Sentence], model: Path, **settings: Any) -> tuple[float, int]:
    """The sum of losses plus c2 times the squared norm at CRFsuite's optimum, and its number of
    weights.
    """
    trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
    trainer.set_params(PRECISE | settings)
    for tokens, labels in sentences:
        trainer.append(pycrfsuite.ItemSequence(tokens), labels)
    trainer.train(str(model))
    return trainer.logparser.last_iteration["loss"], trainer.logparser.featgen_num_features


def ours(path: Path, support: str, tmp_path: Path) -> tuple[float, int]:
    """m P at our optimum, and the number of weights."""
    words = [
        "task=attributes",
        f"task.train={path}",
        "loss=crf",
        "optimizer=lbfgs",
        f"optimizer.C={1 / (2 * C2)}",
    ]
    words += [
        f"features.support={support}",
        "optimizer.epochs=1000",
        "optimizer.gradient_tolerance=1e-8",
        "tracker=none",
    ]
    structopt.train(words, folder=tmp_path / "run")
    train = json.loads((tmp_path / "run" / "metrics.json").read_text())["train"]
    return train["objective"] * train["instances"], train["features"]


@pytest.mark.nightly("optima")
@pytest.mark.parametrize("support", gate_cases(["seen", "all"], "optima", 1))
def test_the_same_optimum(
    support: str, sentences: list[Sentence], path: Path, tmp_path: Path
) -> None:
    """m P(theta) = 1/(2C) ||theta||^2 + sum of L: C = 1/(2 c2)."""
    expected, features = theirs(
        sentences, tmp_path / "m", **COMPARABLE, **{"feature.possible_states": support == "all"}
    )
    objective, weights = ours(path, support, tmp_path)
    assert weights == features
    assert objective == pytest.approx(expected, rel=1e-6)


SPARSE = {
    "feature.possible_transitions": True,
    "feature.possible_states": True,
    "epsilon": 1e-6,
    "delta": 1e-9,
}


@pytest.mark.nightly("optima")
@pytest.mark.parametrize(("c1", "c2"), [(1.0, 0.0), (0.3, 0.05)])
def test_the_same_sparse_optimum(c1: float, c2: float, tmp_path: Path) -> None:
    """m P(theta) = c1 ||theta||_1 + c2 ||theta||^2 + sum of L, on sentences of the shipped corpus:
    as many weights are not 0.
    """
    blocks = (
        datasets.path("train", "crfsuite").read_text(encoding="utf8").strip().split("\n\n")[:40]
    )
    (tmp_path / "train.txt").write_text("\n\n".join(blocks) + "\n")
    trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
    trainer.set_params(PRECISE | SPARSE | {"c1": c1, "c2": c2})
    for block in blocks:
        rows = [line.split("\t") for line in block.split("\n")]
        trainer.append([row[1:] for row in rows], [row[0] for row in rows])
    trainer.train(str(tmp_path / "theirs"))
    last = trainer.logparser.last_iteration
    words = [
        "task=attributes",
        f"task.train={tmp_path / 'train.txt'}",
        "loss=crf",
        "features.support=all",
        "quiet=true",
    ]
    words += [
        "optimizer=lbfgs",
        "optimizer.epochs=2000",
        "optimizer.gradient_tolerance=1e-6",
        "tracker=none",
    ]
    penalty = (
        ["optimizer.penalty=l1"] if c2 == 0 else ["optimizer.penalty=elastic", f"optimizer.c2={c2}"]
    )
    model = structopt.train([*words, *penalty, f"optimizer.c1={c1}"], folder=tmp_path / "run")
    train = json.loads((tmp_path / "run" / "metrics.json").read_text())["train"]
    assert train["objective"] * train["instances"] == pytest.approx(last["loss"], rel=1e-5)
    count = np.count_nonzero(model.weights)
    assert abs(count - last["active_features"]) <= 0.01 * count
    assert count < 0.2 * len(model.weights)


@pytest.mark.nightly("optima")
@pytest.mark.parametrize("left_at_default", ["feature.minfreq", "feature.possible_transitions"])
def test_at_its_defaults_crfsuite_has_fewer_weights(
    left_at_default: str, sentences: list[Sentence], tmp_path: Path
) -> None:
    """Pairs whose values sum to less than 0, and transitions that training does not show: a higher
    optimum.
    """
    expected, features = theirs(sentences, tmp_path / "m", **COMPARABLE)
    settings = {name: value for name, value in COMPARABLE.items() if name != left_at_default}
    objective, fewer = theirs(sentences, tmp_path / "m", **settings)
    assert fewer < features and objective > 1.0001 * expected
