"""Span parsing from end to end: every learner, certificates, decodings, saved models, commands."""

import numpy as np
import pytest

import structopt
from structopt import datasets
from structopt.command.main import main
from structopt.errors import CompatibilityError, ConfigError
from structopt.formats.trees import penn
from tests.parts import gate_cases

pytestmark = pytest.mark.nightly("runs")

LEARNERS = {
    "perceptron": [],
    "mira": ["optimizer.k_best=3", "loss=svm"],
    "dca": ["loss=softmax_margin"],
    "sdca": ["loss=crf"],
    "sgd": ["loss=crf"],
    "lbfgs": ["loss=crf", "loss.beta=0.5"],
    "adagrad": ["loss=svm", "loss.cost=brackets"],
    "adadelta": ["loss=svm"],
    "pegasos": ["loss=svm"],
    "cutting_plane": ["loss=svm", "loss.cost=rules"],
    "online_cutting_plane": ["loss=svm"],
    "eg": ["loss=crf"],
    "smo": ["loss=svm"],
}


@pytest.fixture(scope="module")
def short(tmp_path_factory):
    """Settings of a corpus of short sentences: 30 to train on, which are the dev split too."""
    lines = [
        line
        for line in datasets.path("train", "ptb").read_text().splitlines()
        if line.count(" ") <= 14
    ][:30]
    path = tmp_path_factory.mktemp("short") / "short.mrg"
    path.write_text("\n".join(lines) + "\n")
    return [
        "task=constituency",
        "factor_graph=span",
        "features.hash_bits=16",
        f"task.train={path}",
        f"task.dev={path}",
        "optimizer.C=1",
        "tracker=none",
        "quiet=true",
    ]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A model of the shipped treebank, and its run."""
    folder = tmp_path_factory.mktemp("span")
    trained = structopt.train(
        [
            "task=constituency",
            "factor_graph=span",
            "features.hash_bits=18",
            "optimizer.epochs=3",
            "objective_every=0",
            "tracker=none",
            "quiet=true",
            f"hydra.run.dir={folder}",
        ]
    )
    return trained, folder


def rows_of(path):
    names, *rows = (line.split(",") for line in path.read_text().splitlines())
    return [dict(zip(names, row, strict=True)) for row in rows]


@pytest.mark.parametrize("optimizer", gate_cases(LEARNERS, "pairs", ("dca", "adagrad")))
def test_every_learner(optimizer, short, tmp_path):
    trained = structopt.train(
        [
            *short,
            f"optimizer={optimizer}",
            *LEARNERS[optimizer],
            "optimizer.epochs=3",
            f"hydra.run.dir={tmp_path}",
        ]
    )
    history = rows_of(tmp_path / "history.csv")
    assert 1 < len(history) <= 3 and float(history[-1]["dev.bracket_f1"]) > 0.5
    for row in history:
        if row["dual"] and row["primal"]:
            assert float(row["dual"]) <= float(row["primal"]) + 1e-9
    assert np.isfinite(trained.weights).all()


def test_dual_methods_reach_the_optimum_of_the_batch_method(short, tmp_path):
    objectives = {}
    for optimizer in ("sdca", "eg", "lbfgs"):
        structopt.train(
            [
                *short,
                f"optimizer={optimizer}",
                "loss=softmax_margin",
                "loss.cost=rules",
                "optimizer.epochs=60",
                "optimizer.tolerance=1e-4",
                f"hydra.run.dir={tmp_path / optimizer}",
            ]
        )
        rows = rows_of(tmp_path / optimizer / "history.csv")
        objectives[optimizer] = min(float(row["primal"]) for row in rows if row["primal"])
    assert objectives["sdca"] == pytest.approx(objectives["lbfgs"], rel=1e-3)
    assert objectives["eg"] == pytest.approx(objectives["lbfgs"], rel=1e-3)


def test_the_shipped_treebank(model):
    trained, _ = model
    scores = trained.evaluate(datasets.path("dev", "ptb"))
    assert scores["bracket_f1"] > 0.9 and scores["tag_accuracy"] == 1.0


def test_lists_probabilities_and_saved_models(model, tmp_path):
    trained, _ = model
    words = [("Judge", "NNP"), ("froze", "VBD"), ("two", "CD"), ("metres", "NNS"), (".", ".")]
    (ranked,) = trained.predict_k_best([words], 5)
    assert (
        ranked[0].score >= ranked[-1].score
        and len({str(one.output) for one in ranked}) == len(ranked) > 1
    )
    assert 0 < sum(one.probability for one in ranked) <= 1 + 1e-9
    table = trained.marginals([words]).table
    rows = zip(table["label"], table["begin"], table["end"], table["probability"], strict=True)
    assert [p for label, b, e, p in rows if (label, b, e) == ("ROOT", 1, 5)] == [pytest.approx(1.0)]
    trained.save(tmp_path / "model")
    again = structopt.load(tmp_path / "model")
    assert str(again.predict([words])[0]) == str(trained.predict([words])[0])
    plain = [[word for word, _ in words]]
    assert [leaf.word for leaf in again.predict(plain)[0].leaves()] == plain[0]


def test_commands(model, tmp_path):
    _, folder = model
    (tmp_path / "words.txt").write_text("Judge_NNP froze_VBD two_CD metres_NNS ._.\n")
    words = [
        "predict",
        f"model={folder}",
        f"input={tmp_path / 'words.txt'}",
        f"output={tmp_path / 'trees.mrg'}",
    ]
    assert (
        main([*words, "probabilities=true", f"picture={tmp_path / 'tree.svg'}", "sentence=1"]) == 0
    )
    assert (
        "(ROOT:1.0000 " in (tmp_path / "trees.mrg").read_text()
        and "<svg" in (tmp_path / "tree.svg").read_text()
    )
    assert main([*words, "k_best=3"]) == 0
    ranked = [
        line.split("\t") for line in (tmp_path / "trees.mrg").read_text().splitlines() if line
    ]
    assert 1 < len(ranked) <= 3 and all(
        len(list(penn.parse(tree, "f")[0].leaves())) == 5 for _, tree in ranked
    )


def test_tags_may_be_chosen(short, tmp_path):
    trained = structopt.train(
        [*short, "task.tags=free", "optimizer.epochs=3", f"hydra.run.dir={tmp_path}"]
    )
    assert rows_of(tmp_path / "history.csv")[-1]["dev.tag_accuracy"] > "0.8"
    (tree,) = trained.predict([["Judge", "froze", "two", "metres", "."]])
    assert all(leaf.label for leaf in tree.leaves())


def test_decodings_and_refusals(short, tmp_path):
    structopt.train(
        [
            *short,
            "task.decoding=viterbi",
            "optimizer.epochs=2",
            f"hydra.run.dir={tmp_path / 'viterbi'}",
        ]
    )
    with pytest.raises(CompatibilityError, match="task.decoding=max_rule"):
        structopt.train([*short, "inference=enumeration", f"hydra.run.dir={tmp_path / 'a'}"])
    with pytest.raises(
        ConfigError, match="features.splits: in the template 'left.wrd': there is no column 'wrd'"
    ):
        structopt.train([*short, "features.splits=[left.wrd]", f"hydra.run.dir={tmp_path / 'b'}"])
    with pytest.raises(
        ConfigError, match="features=anchored_templates are features of rules at their places"
    ):
        structopt.train(
            [
                *short,
                "factor_graph=grammar",
                "features=anchored_templates",
                f"hydra.run.dir={tmp_path / 'c'}",
            ]
        )
