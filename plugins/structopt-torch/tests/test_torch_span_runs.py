"""Rules of trees by networks on the command line: training, resume, predictions, losses,
refusals.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="needs PyTorch: pip install structopt-torch")

from structopt.testing.components import run_words

MODEL = (
    "task=constituency",
    "factor_graph=span",
    "features=torch_span",
    "features.hidden=50",
    "tracker=none",
)
ADAMW = (
    "optimizer=torch_adamw",
    "optimizer.schedule=constant",
    "optimizer.warmup=0",
    "optimizer.batch_size=8",
)
WORDS = (*MODEL, *ADAMW)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("span")
    done = run_words(folder, *WORDS, "task.limit=100", "optimizer.epochs=4", "hydra.run.dir=run")
    assert done.code == 0, done.err
    return folder


def metrics(run: Path) -> dict[str, dict[str, float]]:
    splits: dict[str, dict[str, float]] = json.loads(
        (run / "metrics.json").read_text(encoding="utf8")
    )
    return splits


def test_it_learns_the_shipped_corpus(run: Path) -> None:
    splits = metrics(run / "run")
    assert splits["dev"]["bracket_f1"] > 0.6
    assert (splits["train"]["dual"], splits["train"]["gap"]) == (None, None)


def test_a_resumed_run_has_the_same_bits(run: Path) -> None:
    shorter = run_words(run, *WORDS, "task.limit=100", "optimizer.epochs=2", "hydra.run.dir=again")
    assert shorter.code == 0, shorter.err
    done = run_words(run, "resume=again", "optimizer.epochs=4")
    assert done.code == 0, done.err
    one, other = (run / name / "model" / "weights.safetensors" for name in ("run", "again"))
    assert one.read_bytes() == other.read_bytes()


def test_a_saved_model_predicts(run: Path) -> None:
    sentences = "Heavy_JJ snow_NN hit_VBD Bergen_NNP ._.\nBishop_NNP struck_VBD Power_NNP ._.\n"
    (run / "plain.txt").write_text(sentences, encoding="utf8")
    words = ("model=run", "input=plain.txt", "output=trees.mrg", "k_best=2", "threads=2")
    done = run_words(run, "predict", *words)
    assert done.code == 0, done.err
    trees = (run / "trees.mrg").read_text(encoding="utf8")
    assert "(NP (JJ Heavy) (NN snow))" in trees and "(NNP Bergen)" in trees


def test_vectors_of_words_from_a_file(tmp_path: Path) -> None:
    vectors = "\n".join(
        f"{word} {k % 3 - 1} {k % 2} 0.5"
        for k, word in enumerate(("the", "of", "in", "and", ",", "."))
    )
    (tmp_path / "vectors.txt").write_text(vectors + "\n", encoding="utf8")
    options = (
        "task.limit=50",
        "optimizer.epochs=1",
        "features.vectors=vectors.txt",
        "hydra.run.dir=run",
    )
    done = run_words(tmp_path, *WORDS, *options)
    assert done.code == 0, done.err
    (tmp_path / "vectors.txt").unlink()
    (tmp_path / "plain.txt").write_text(
        "Bishop_NNP struck_VBD the_DT Power_NNP ._.\n", encoding="utf8"
    )
    done = run_words(tmp_path, "predict", "model=run", "input=plain.txt", "output=trees.mrg")
    assert done.code == 0, done.err
    assert "(NNP Bishop)" in (tmp_path / "trees.mrg").read_text(encoding="utf8")
    saved = json.loads((tmp_path / "run" / "model" / "vocabulary.json").read_text(encoding="utf8"))
    assert '"classes": [], "tags"' in json.dumps(saved) and '"dense": [3]' in json.dumps(saved)


@pytest.mark.parametrize(
    "words",
    [
        ("loss=svm", "loss.cost=rules"),
        ("loss.beta=3", "loss.gamma=1"),
        ("loss=softmax_margin", "features.dropout=0.2"),
        ("features.sparse=true",),
        ("loss=perceptron",),
        ("features.tag_size=5", "task.tags=free"),
        (
            "optimizer=adadelta",
            "optimizer.rho=0.95",
            "optimizer.epsilon=1e-6",
            "optimizer.batch_size=10",
        ),
    ],
    ids=" ".join,
)
def test_losses_and_optimizers(tmp_path: Path, words: tuple[str, ...]) -> None:
    basis = MODEL if words[0].startswith("optimizer=") else WORDS
    done = run_words(
        tmp_path, *basis, "task.limit=50", "optimizer.epochs=3", "hydra.run.dir=run", *words
    )
    assert done.code == 0, done.err
    history = (tmp_path / "run" / "history.csv").read_text(encoding="utf8").splitlines()
    loss = history[0].split(",").index("loss")
    values = [float(line.split(",")[loss]) for line in history[1:]]
    assert values[-1] < values[0]


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (
            ("optimizer=sdca",),
            "optimizer=sdca needs scores that are linear in the weights, with sparse columns, and "
            "those of ",
        ),
        (("features.hidden=0",), "features.hidden=0 must be a whole number from 1 to 1048576."),
        (
            ("features.sparse=true", "features.hash_bits=40"),
            "features.hash_bits=40 must be an integer from 10 to 30.",
        ),
        (("features.units=3",), "There is no key 'features.units'."),
        (
            ("factor_graph=grammar",),
            "features=torch_span scores rules at their places, which are no parts of this task's "
            "graph.",
        ),
    ],
    ids=str,
)
def test_refusals_on_the_command_line(tmp_path: Path, words: tuple[str, ...], text: str) -> None:
    done = run_words(tmp_path, *MODEL, "optimizer=torch_adamw", "task.limit=20", *words)
    assert done.code == 2
    assert f"structopt: {text}" in done.err
