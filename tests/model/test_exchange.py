"""Models in CRFsuite's files and back, next to python-crfsuite; weights as JSON; attribute files."""

from __future__ import annotations

import json
import logging
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import structopt
from structopt import datasets
from structopt.core.scorer import SparseFeatures
from structopt.errors import ArgumentError, ConfigError, DataError, ModelError
from structopt.formats import crfsuite, crfsuite_models
from structopt.formats.crfsuite_models import FEATURE, ChainWeights
from structopt.model.model import Model
from tests.messages import raises
from tests.parts import gate_cases
from tests.trained import TrainedRuns

pycrfsuite = pytest.importorskip(
    "pycrfsuite", reason="python-crfsuite is the peer to compare with (extra: dev)"
)
DATA = os.environ.get("STRUCTOPT_DATA")
Sentences = list[list[Any]]
SILENT = ["tracker=none", "quiet=true"]


def sentences(path: Path, limit: int | None = None) -> tuple[Sentences, list[list[str]]]:
    """Read attribute text as python-crfsuite takes it: mappings to values, and labels."""
    text = crfsuite.read(path, limit)
    values = [1.0] * len(text.ids) if text.values is None else text.values.tolist()
    names = [text.attributes[k] for k in text.ids.tolist()]
    bounds = text.attribute_offsets.tolist()
    tokens: list[Any] = [
        dict(zip(names[a:b], values[a:b], strict=True))
        for a, b in zip(bounds[:-1], bounds[1:], strict=True)
    ]
    ends = text.offsets.tolist()
    spans = list(zip(ends[:-1], ends[1:], strict=True))
    return [tokens[a:b] for a, b in spans], [text.labels[a:b] for a, b in spans]


def train_theirs(X: Sentences, y: list[list[str]], path: Path, iterations: int = 20) -> Path:
    trainer = pycrfsuite.Trainer("lbfgs", verbose=False)
    trainer.set_params({"c1": 0.05, "c2": 0.1, "max_iterations": iterations})
    for attributes, labels in zip(X, y, strict=True):
        trainer.append(attributes, labels)
    trainer.train(str(path))
    return path


def agree(
    model: Model, X: Sentences, path: Path, instances: Any = None, probabilities: int | None = None
) -> None:
    """Compare the labels of all sentences with those of python-crfsuite, and marginals of some."""
    instances = X if instances is None else instances
    tagger = pycrfsuite.Tagger()
    tagger.open(str(path))
    assert tagger.labels() == list(model.labels)
    theirs = model.task.written([tagger.tag(x) for x in X])  # in the scheme of the files
    assert theirs == model.predict(instances)
    for x, rows in list(zip(X, model.marginals(instances), strict=True))[:probabilities]:
        tagger.set(x)
        others = [[tagger.marginal(label, t) for label in model.labels] for t in range(len(x))]
        assert np.abs(rows - np.array(others)).max() < 1e-6


@pytest.fixture(scope="module")
def dev() -> Sentences:
    return sentences(datasets.path("dev", "crfsuite"), 60)[0]


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("crfsuite") / "theirs.crfsuite"
    return train_theirs(*sentences(datasets.path("train", "crfsuite"), 120), path)


def written(path: Path, chain: ChainWeights) -> Path:
    crfsuite_models.write(path, chain)
    return path


def chain_of(labels: str, attributes: list[str], *features: tuple[int, int, int, float]) -> Any:
    return ChainWeights(list(labels), attributes, np.array(list(features), FEATURE))


def test_an_imported_model_agrees_and_is_exported_byte_by_byte(
    theirs: Path, dev: Sentences, tmp_path: Path
) -> None:
    model = structopt.load(theirs)
    assert list(model.labels) != sorted(model.labels)  # ties go to the first label of the file
    agree(model, dev, theirs)
    model.save(tmp_path / "model")
    saved = structopt.load(tmp_path / "model")
    assert repr(saved) == repr(model)
    saved.export(tmp_path / "again.crfsuite")
    assert (tmp_path / "again.crfsuite").read_bytes() == theirs.read_bytes()
    assert saved.task.scheme == "iob2"
    assert saved.evaluate(datasets.path("dev", "crfsuite"))["f1"] > 0.6


def test_an_imported_model_is_explained(theirs: Path, dev: Sentences) -> None:
    model = structopt.load(theirs)
    tables = {table.title: table for table in model.explain(top=3).tables}
    tagger = pycrfsuite.Tagger()
    tagger.open(str(theirs))
    expected = tagger.info().transitions
    best = tables["transition"].positive[0]
    first, _, second = best.feature.configuration.partition(" → ")
    assert expected[first, second] == pytest.approx(best.weight, abs=1e-6)
    assert "bias" in str(model.explain([dev[0]], top=5))


@pytest.mark.parametrize(
    "words", gate_cases([["loss.beta=2"], ["loss=svm"], ["loss=crf"]], "rest", gate=1)
)
def test_a_model_of_attributes_agrees_at_its_temperature(
    words: list[str], dev: Sentences, tmp_path: Path
) -> None:
    training = ["task=attributes", "task.limit=60", "optimizer.epochs=2", *words, *SILENT]
    model = structopt.train(training, folder=tmp_path / "run")
    path = tmp_path / "ours.crfsuite"
    model.export(path)
    assert model.temperature == (0.5 if words == ["loss.beta=2"] else 1.0)
    agree(model, dev, path)
    agree(structopt.load(path), dev, path)


def test_values_of_attributes(tmp_path: Path) -> None:
    X = [[{"a": 2.0, "b": 0.5}, {"b": -1.5}], [{"a": 0.25}, {"c:d": 3.0}]]
    path = train_theirs(X, [["Y", "X"], ["X", "Y"]], tmp_path / "m")
    agree(structopt.load(path), X, path)


@pytest.mark.parametrize(
    "chain",
    [
        chain_of("A", ["x"], (0, 0, 0, 1.0)),
        chain_of("BA", [], (1, 0, 1, 1.0)),
        chain_of("BA", []),
        chain_of("ZAM", ["x"], (0, 0, 0, 1.0), (0, 0, 1, 1.0)),
        chain_of("ZA", ["", "x"], (0, 0, 1, 1.0)),
    ],
)
def test_small_chains_and_ties(chain: ChainWeights, tmp_path: Path) -> None:
    path = written(tmp_path / "m.crfsuite", chain)
    agree(structopt.load(path), [[["x"], [], ["y"], ["x", "y"]]], path)


@pytest.mark.parametrize("task", gate_cases(["ner", "chunking", "tagging"], "rest", gate=1))
def test_templates_and_a_file_of_their_attributes(
    task: str, trained: TrainedRuns, tmp_path: Path
) -> None:
    model, data = structopt.load(trained(task)), datasets.path("dev", "conll")
    model.export(tmp_path / "m.crfsuite")
    model.export(tmp_path / "dev.txt", "attributes", instances=data)
    X, y = sentences(tmp_path / "dev.txt")
    corpus = model.task.read(data)
    agree(model, X, tmp_path / "m.crfsuite", data, probabilities=20)
    known = {*model.labels}
    gold = model.task._gold_labels(corpus)
    assert sum(y, []) == [label if label in known else "_" for label in gold]


def test_attribute_text_has_escapes_and_values(tmp_path: Path) -> None:
    chain = chain_of("A:", ["c:d\\e", "f"], (0, 0, 0, 1.0), (0, 1, 1, 2.0))
    model = structopt.load(written(tmp_path / "m", chain))
    X = [[{"c:d\\e": 1.0, "f": 0.5}, {}], [{"f": 2.0, "new": 1.0}]]
    model.export(tmp_path / "x.txt", "attributes", instances=X)
    assert (tmp_path / "x.txt").read_text() == "_\tc\\:d\\\\e\tf:0.5\n_\n\n_\tf:2.0\n\n"
    assert sentences(tmp_path / "x.txt")[0] == [X[0], [{"f": 2.0}]]
    (tmp_path / "y.txt").write_text("A\tf\n\\:\tf\nB\tf\n")
    model.export(tmp_path / "z.txt", "attributes", instances=tmp_path / "y.txt")
    assert (tmp_path / "z.txt").read_text() == "A\tf\n\\:\tf\n_\tf\n\n"


REFUSED = {
    "order 2": (["factor_graph.order=2"], "a chain of order 2.*order=1"),
    "hashed": (["features.hash_bits=12"], "no names: attributes are hashed.*hash_bits=null"),
    "constraints": (
        ["task.valid_tags=true"],
        "forbids sequences of labels.*valid_tags=false task.forbidden=",
    ),
    "anchored": (["features.transitions=[bias]"], "pairs of labels have attributes.*transitions"),
    "dense": (["features.dense=[word]"], "dense features are not attributes"),
}


@pytest.mark.parametrize(
    "case", gate_cases(REFUSED, "rest", gate=["order 2", "hashed", "constraints"])
)
def test_other_models_are_refused(case: str, tmp_path: Path) -> None:
    words, match = REFUSED[case]
    train = tmp_path / "train.conll"
    rows = ["1 B-A", "2 I-A", "3 O", "", "3 O", "1 B-A"]
    train.write_text("\n".join(rows) + "\n")
    training = ["task=ner", f"task.train={train}", "optimizer.epochs=1", *words, *SILENT]
    model = structopt.train(training, folder=tmp_path / "run")
    with raises(ConfigError, match=match):
        model.export(tmp_path / "m.crfsuite")
    with raises(ConfigError, match=match):
        model.export(tmp_path / "x.txt", "attributes", instances=train)
    assert not (tmp_path / "m.crfsuite").exists() and not (tmp_path / "x.txt").exists()
    if case == "hashed":
        with raises(ConfigError, match=match):
            model.export(tmp_path / "m.json", "json")
    else:
        model.export(tmp_path / "m.json", "json")


def test_other_tasks_are_refused(trained: TrainedRuns, tmp_path: Path) -> None:
    trees = structopt.load(trained("dependency"))
    with raises(ConfigError, match="factor_graph=arc_factored is another graph"):
        trees.export(tmp_path / "m.crfsuite")
    with raises(ConfigError, match="features=hashed_templates have no names: features are hashed"):
        trees.export(tmp_path / "m.json", "json")


def test_arguments_of_export(theirs: Path, dev: Sentences, tmp_path: Path) -> None:
    model, path = structopt.load(theirs), tmp_path / "m"
    with raises(ArgumentError, parameter="format", match="crfsuite, json, attributes"):
        model.export(path, "onnx")
    with raises(ArgumentError, parameter="instances", match="are needed"):
        model.export(path, "attributes")
    with raises(ArgumentError, parameter="instances", match="have no effect"):
        model.export(path, "json", instances=dev)
    with raises(DataError, match="cannot be written"):
        model.export(tmp_path / "none" / "m")
    for instances in ([[["tab\tx"]]], [[["line\nx"]]], [[[""]]]):
        name = instances[0][0][0]
        other = structopt.load(written(path, chain_of("A", [name], (0, 0, 0, 1.0))))
        with raises(ModelError, match="cannot be written to a text file of CRFsuite"):
            other.export(tmp_path / "x.txt", "attributes", instances=instances)


def test_arguments_of_load(theirs: Path) -> None:
    assert structopt.load(theirs, task={"encoding": "latin-1"}).task.encoding == "latin-1"
    with raises(ConfigError, match="task.scheme cannot change"):
        structopt.load(theirs, task={"scheme": "none"})
    with pytest.raises(ConfigError):
        structopt.load(theirs, features={"vectors": "x.txt"})
    with raises(ModelError, match="Import it first: structopt import model="):
        structopt.train(["task=attributes", f"warm_start.model={theirs}", *SILENT])


def test_scores_that_crfsuite_cannot_exponentiate(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = written(tmp_path / "m.crfsuite", chain_of("AB", ["x"], (0, 0, 0, 760.0)))
    model = structopt.load(path)
    with caplog.at_level(logging.WARNING):
        model.export(tmp_path / "m2")
        model.export(tmp_path / "x.txt", "attributes", instances=[[["x"], ["y"]]])
    assert "20 attributes of this model score up to 760 together" in caplog.messages[0]
    assert "scores near 750, which 1 tokens have" in caplog.messages[1]
    tagger = pycrfsuite.Tagger()
    tagger.open(str(path))
    assert tagger.tag([["x"]]) == model.predict([[["x"]]])[0] == ["A"]
    assert np.isnan(tagger.marginal("A", 0)) and model.marginals([[["x"]]])[0][0, 0] == 1.0


@pytest.mark.parametrize(
    "task",
    gate_cases(["attributes", "ner", "multiclass", "multilabel", "grid"], "rest", gate=1),
)
def test_weights_as_json(task: str, trained: TrainedRuns, tmp_path: Path) -> None:
    model: Model = structopt.load(trained(task))
    model.export(tmp_path / "m.json", "json")
    text = (tmp_path / "m.json").read_text(encoding="ascii")
    data = json.loads(text)
    assert data["format"] == "structopt weights" and data["version"] == 1
    assert data["task"] == task and data["labels"] == list(model.labels)
    assert data["temperature"] == model.temperature
    assert text.count("\n") == len(data["weights"]) + 2
    assert isinstance(model.scorer, SparseFeatures)
    tables = model.scorer.tables_of(model.weights)
    assert tables is not None
    nonzero = [table[table != 0].tolist() for table in tables.values()]
    assert [row["weight"] for row in data["weights"]] == sum(nonzero, [])
    named = {(row["group"], row["attribute"], str(row["configuration"])) for row in data["weights"]}
    assert len(named) == len(data["weights"])
    shown = model.explain(top=5).tables[0].positive[0]
    rows = [row for row in data["weights"] if row["weight"] == shown.weight]
    assert shown.feature.attribute in {row["attribute"] for row in rows}


@pytest.mark.nightly("runs")
def test_training_starts_from_an_imported_model(
    theirs: Path, dev: Sentences, tmp_path: Path
) -> None:
    imported = structopt.load(theirs)
    imported.save(tmp_path / "imported")
    training = ["task=attributes", "task.limit=120", "loss=crf", "optimizer=lbfgs", *SILENT]
    training += ["optimizer.epochs=1", f"warm_start.model={tmp_path / 'imported'}"]
    with pytest.warns(structopt.ConvergenceWarning):
        model = structopt.train(training, folder=tmp_path / "run")
    names = imported.task.attribute_names()
    assert set(names) <= set(model.task.attribute_names())
    pairs = zip(model.predict(dev), imported.predict(dev), strict=True)
    assert np.mean([ours == before for ours, before in pairs]) > 0.5
    model.export(tmp_path / "m.crfsuite")
    agree(model, dev, tmp_path / "m.crfsuite")
    with raises(ConfigError, match="this model has weights only"):
        structopt.partial_fit(imported, ["task.limit=10"])


def test_sklearn_crfsuite_reads_an_exported_model(trained: TrainedRuns, tmp_path: Path) -> None:
    sklearn_crfsuite = pytest.importorskip(
        "sklearn_crfsuite", reason="sklearn-crfsuite is not installed"
    )
    model, path = structopt.load(trained("attributes")), tmp_path / "m.crfsuite"
    model.export(path)
    crf = sklearn_crfsuite.CRF(model_filename=str(path))
    X, _ = sentences(datasets.path("dev", "crfsuite"), 40)
    assert list(crf.predict(X)) == model.predict(X)
    assert crf.modelfile.name == str(path)


@pytest.mark.nightly("rest")
def test_a_million_attributes_in_three_seconds(tmp_path: Path) -> None:
    count, labels = 1_000_000, 9
    state = np.zeros((count, labels))
    state[np.arange(count), np.arange(count) % labels] = 1.0
    state[::3, 2] += 0.5
    names = [f"w[{k % 7}]=word{k}" for k in range(count)]
    chain = crfsuite_models.chain_weights("ABCDEFGHI", names, state, np.ones((labels, labels)))
    path = written(tmp_path / "m.crfsuite", chain)
    structopt.load(written(tmp_path / "small", chain_of("A", [])))  # compiles
    seconds = np.full((3, 2), np.inf)
    for turn in seconds:
        begin = time.process_time()
        model = structopt.load(path)
        turn[0] = time.process_time() - begin
        begin = time.process_time()
        model.export(tmp_path / "again.crfsuite")
        turn[1] = time.process_time() - begin
    assert (tmp_path / "again.crfsuite").read_bytes() == path.read_bytes()
    assert seconds.min(axis=0).max() <= 3.0
    X = [[["w[0]=word0", "w[3]=word999995"], ["w[1]=word1"]]]
    agree(model, X, path)


CORPORA = {
    "CoNLL-2003": ("conll2003/eng.train.gz", "conll2003/eng.testa.gz"),
    "CoNLL-2002": ("conll2002/esp.train.gz", "conll2002/esp.testa.gz"),
}


@pytest.mark.nightly("data")
@pytest.mark.skipif(DATA is None, reason="STRUCTOPT_DATA is not set: no real data to train on")
@pytest.mark.parametrize("corpus", CORPORA)
def test_real_corpora_both_ways(corpus: str, tmp_path: Path) -> None:
    train, dev = CORPORA[corpus]
    files = [f"task.train={DATA}/{train}", f"task.dev={DATA}/{dev}", "task.limit=2000"]
    training = ["task=ner", "loss=crf", "optimizer.epochs=3", *files, *SILENT]
    model = structopt.train(training, folder=tmp_path / "run")
    ours = tmp_path / "ours.crfsuite"
    model.export(ours)
    model.export(tmp_path / "dev.txt", "attributes", instances=f"{DATA}/{dev}")
    X, _ = sentences(tmp_path / "dev.txt")
    agree(model, X, ours, f"{DATA}/{dev}")
    agree(structopt.load(ours), X, ours)
    model.export(tmp_path / "train.txt", "attributes", instances=f"{DATA}/{train}")
    theirs = train_theirs(
        *sentences(tmp_path / "train.txt", 2000), tmp_path / "theirs.crfsuite", 10
    )
    imported = structopt.load(theirs)
    agree(imported, X, theirs)
    imported.export(tmp_path / "again.crfsuite")
    assert (tmp_path / "again.crfsuite").read_bytes() == theirs.read_bytes()
