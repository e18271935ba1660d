"""The contract by finite differences; training, resume and predictions on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from structopt_numpy_scorer.scorer import TanhLayer

from structopt.plugin import ConfigError, LossFamily
from structopt.testing.components import component, run_words
from structopt.testing.problems import make_problem, random_encoded, random_trees
from structopt.testing.scorer import ScorerContract


class TestTanhLayer(ScorerContract):
    @pytest.fixture(params=[1, 5])
    def scorer(self, request):
        return TanhLayer(request.param)


def test_the_equation():
    encoded = random_encoded(3, (2, 3), values=True)
    graph, inference = component("factor_graph", "linear_chain"), component("inference", "exact")
    problem = make_problem(encoded, graph, LossFamily(), inference, scorer=TanhLayer(4))
    theta, table = problem.scorer.initial(0) + 0.1, encoded.tables["label"]
    E, W, T = (
        theta[: table.size * 4].reshape(-1, 4),
        theta[table.size * 4 :][:12].reshape(4, 3),
        theta[-9:],
    )
    rows = [
        sum((v * E[a] for a, v in zip(table.ids[b:e], table.values[b:e], strict=True)), np.zeros(4))
        for b, e in zip(table.offsets, table.offsets[1:], strict=False)
    ]
    s = np.tanh(rows) @ W
    scores = problem.examples.scores(theta, np.arange(2))
    np.testing.assert_allclose(
        scores, np.concatenate([s[:2].ravel(), T, s[2:].ravel(), T]), atol=1e-12
    )


def test_refusals():
    with pytest.raises(ConfigError, match=r"features\.units=0 must be at least 1"):
        TanhLayer(0)
    trees, graph = random_trees(), component("factor_graph", "arc_factored")
    structure = graph.build(trees)
    with pytest.raises(
        ConfigError, match="features=tanh_layer needs attributes of what is labelled"
    ):
        TanhLayer().fit(trees, structure, graph.gold(trees, structure))


WORDS = (
    "features=tanh_layer",
    "task=ner",
    "optimizer=adagrad",
    "optimizer.eta=0.3",
    "optimizer.batch_size=4",
    "tracker=none",
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tanh")
    done = run_words(folder, *WORDS, "task.limit=250", "optimizer.epochs=4", "hydra.run.dir=run")
    assert done.code == 0, done.err
    return folder


def metrics(run: Path) -> dict[str, dict[str, float]]:
    splits: dict[str, dict[str, float]] = json.loads(
        (run / "metrics.json").read_text(encoding="utf8")
    )
    return splits


def test_it_learns_the_shipped_corpus_by_adagrad(run: Path) -> None:
    splits = metrics(run / "run")
    assert splits["dev"]["f1"] > 0.75
    assert (splits["train"]["dual"], splits["train"]["gap"]) == (None, None)
    assert "features=tanh_layer" not in (run / "run" / "model" / "config.json").read_text(
        encoding="utf8"
    )


def test_a_resumed_run_has_the_same_bits(run: Path) -> None:
    shorter = run_words(run, *WORDS, "task.limit=250", "optimizer.epochs=2", "hydra.run.dir=again")
    assert shorter.code == 0, shorter.err
    done = run_words(run, "resume=again", "optimizer.epochs=4")
    assert done.code == 0, done.err
    one, other = (run / name / "model" / "weights.safetensors" for name in ("run", "again"))
    assert one.read_bytes() == other.read_bytes()


def test_a_saved_model_predicts(run: Path) -> None:
    (run / "plain.txt").write_text(
        "Ann NNP B-NP\nslept VBD B-VP\n. . O\n\nOslo NNP B-NP\n\n", encoding="utf8"
    )
    words = (
        "model=run",
        "input=plain.txt",
        "output=tagged.txt",
        "probabilities=true",
        "k_best=2",
        "threads=2",
    )
    done = run_words(run, "predict", *words)
    assert done.code == 0, done.err
    assert (run / "tagged.txt").read_text(encoding="utf8").startswith("Ann NNP B-NP ")
    evaluated = run_words(run, "evaluate", "model=run", "input=plain.txt")
    assert evaluated.code in (0, 2), evaluated.err  # the file has no labels


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (
            ("optimizer=sdca",),
            "optimizer=sdca needs scores that are linear in the weights, with sparse columns, and "
            "those of ",
        ),
        (
            ("optimizer.certificate=true",),
            "optimizer.certificate=true needs scores that are linear in the weights",
        ),
        (
            ("features.support=all",),
            "There is no key 'features.support'. features=tanh_layer takes: units; task=ner ",
        ),
        (("features.unit=3",), "There is no key 'features.unit'. Did you mean 'features.units'? "),
        (
            ("features=tanh_layers",),
            "features 'tanh_layers' is not installed. Did you mean 'tanh_layer'? Installed: ",
        ),
        (("features.units=x",), "features.units=x is not an int."),
    ],
)
def test_refusals_on_the_command_line(tmp_path: Path, words: tuple[str, ...], text: str) -> None:
    done = run_words(
        tmp_path, "features=tanh_layer", "optimizer=adagrad", "task=ner", "tracker=none", *words
    )
    assert done.code == 2
    assert f"structopt: {text}" in done.err
