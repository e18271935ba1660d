"""Runs of factor_graph=second_order: the pruner is trained, reported, saved with the model, and may
be given.
"""

import json
import shutil

import pytest

import structopt
from structopt import datasets
from structopt.command import main

FEATURES = (
    "features.hash_bits=14",
    "features.templates=['h.upos & m.upos', m.form, 'h.upos & between.upos & m.upos']",
)
QUICK = ("task=dependency", "tracker=none", "task.limit=30", *FEATURES)
SECOND = (
    *QUICK,
    "task.missing=pad",
    "factor_graph=second_order",
    "inference=loopy_bp",
    "factor_graph.pruner_epochs=2",
)


def metrics(folder):
    return json.loads((folder / "metrics.json").read_text())


def model_bytes(folder):
    return {path.name: path.read_bytes() for path in sorted((folder / "model").iterdir())}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run") / "made"
    structopt.train([*SECOND, "optimizer.epochs=2"], folder)
    return folder


def test_a_run_reports_what_was_pruned(run, capsys):
    found = metrics(run)
    for role in ("train", "dev", "test"):
        assert 0.8 < found[role]["pruner_recall"] <= 1.0
        assert 1.0 < found[role]["pruner_heads"] <= 12.0
    assert found["dev"]["uas"] > 0.4
    structopt.train(
        [*SECOND, "optimizer.epochs=0", "factor_graph.max_heads=1", "factor_graph.prune_ratio=0"],
        run.parent / "one",
    )
    heads, recall = (
        metrics(run.parent / "one")["dev"][f"pruner_{name}"] for name in ("heads", "recall")
    )
    assert heads < 2.0
    assert (
        f"{heads:.1f} heads a token, {100 * recall:.2f} % of gold arcs on dev"
        in capsys.readouterr().out
    )


def test_a_loaded_model_prunes_as_the_run_did(run):
    model = structopt.load(run)
    dev = datasets.path("dev", "conllu")
    found = {
        name: value for name, value in metrics(run)["dev"].items() if not name.startswith("pruner")
    }
    assert model.evaluate(dev) == found
    trees = model.predict([["Nadia", "told", "Bank", "."], ["Oslo"]])
    assert [len(tree) for tree in trees] == [4, 1]
    assert sum(arc.head == 0 for arc in trees[0]) == 1


@pytest.mark.nightly("runs")
def test_equal_runs_give_equal_models(run, tmp_path):
    structopt.train([*SECOND, "optimizer.epochs=2"], tmp_path)
    assert model_bytes(tmp_path) == model_bytes(run)


@pytest.mark.nightly("runs")
def test_resume(run, tmp_path):
    structopt.train([*SECOND, "optimizer.epochs=1"], tmp_path)
    assert main.main([f"resume={tmp_path}", "optimizer.epochs=2"]) == 0
    assert model_bytes(tmp_path) == model_bytes(run)
    kept = {name for name in metrics(run)["dev"] if name.startswith("pruner")}
    assert {name: metrics(tmp_path)["dev"][name] for name in kept} == {
        name: metrics(run)["dev"][name] for name in kept
    }


@pytest.mark.nightly("runs")
def test_without_pruning(tmp_path):
    words = (
        "task.limit=5",
        "optimizer.epochs=1",
        "factor_graph.max_heads=0",
        "factor_graph.prune_ratio=0",
    )
    model = structopt.train(
        [*SECOND, *words, f"task.train={datasets.path('train', 'conllu')}"], tmp_path
    )
    assert model.pruner is None
    assert "pruner_recall" not in metrics(tmp_path)["train"]


@pytest.mark.nightly("runs")
def test_a_given_pruner(run, tmp_path, capsys):
    structopt.train([*QUICK, "optimizer.epochs=2"], tmp_path / "first")
    given = (*SECOND, "optimizer.epochs=1", f"factor_graph.pruner={tmp_path / 'first'}")
    model = structopt.train(given, tmp_path / "second")
    assert str(tmp_path).encode() not in b"".join(model_bytes(tmp_path / "second").values())
    shutil.rmtree(tmp_path / "first")
    words = [["Nadia", "told", "Bank", "."]]
    assert structopt.load(tmp_path / "second").predict(words) == model.predict(words)
    structopt.train([*QUICK, "optimizer.epochs=1", "task.limit=20"], tmp_path / "first")
    capsys.readouterr()
    assert main.main([*given, f"hydra.run.dir={tmp_path / 'third'}"]) == 2
    assert "numbers words or relations differently" in capsys.readouterr().err
    assert (
        main.main([*SECOND, f"factor_graph.pruner={run}", f"hydra.run.dir={tmp_path / 'third'}"])
        == 2
    )
    assert "is a model of factor_graph=second_order" in capsys.readouterr().err
