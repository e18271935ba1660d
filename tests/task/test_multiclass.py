"""The task on LIBSVM's text: encoding, scores, state, and a model from training to the command
line.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import structopt
from structopt import datasets
from structopt.command import main
from structopt.errors import ConfigError, DataError
from structopt.task.multiclass import Multiclass
from tests.messages import raises

TEXT = "10 1:3 20:4\n9 1:1\nspam 3:2\n10 1:1 3:1\n"
QUICK = ["task=multiclass", "tracker=none", "optimizer.epochs=3"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "train.svm").write_text(TEXT)
    return tmp_path / "train.svm"


def fitted(path: Path, **features: object):
    task = Multiclass(features=features)
    return task, task.fit(task.read(path))


def table_of(encoded):
    table = encoded.tables["label"]
    values = None if table.values is None else table.values.tolist()
    return table.offsets.tolist(), table.ids.tolist(), values, table.size


def test_fit(path: Path) -> None:
    task, encoded = fitted(path)
    assert (task.labels, task.attribute_names()) == (("9", "10", "spam"), ["1", "3", "20", "bias"])
    assert (encoded.gold.tolist(), encoded.offsets.tolist(), encoded.labels) == (
        [1, 0, 2, 1],
        [0, 1, 2, 3, 4],
        task.labels,
    )
    assert table_of(encoded) == (
        [0, 3, 5, 7, 10],
        [0, 2, 3, 0, 3, 1, 3, 0, 1, 3],
        [3, 4, 1, 1, 1, 2, 1, 1, 1, 1],
        4,
    )
    assert (task.attribute_names("transition"), task.missing_columns(None)) == ([], [])


def test_without_bias(path: Path) -> None:
    task, encoded = fitted(path, bias=False)
    assert (task.attribute_names(), table_of(encoded)[1:]) == (
        ["1", "3", "20"],
        ([0, 2, 0, 1, 0, 1], [3, 4, 1, 2, 1, 1], 3),
    )


def test_unit_vectors_keep_the_bias(path: Path) -> None:
    task, encoded = fitted(path, normalize="unit")
    half = np.sqrt(0.5)
    np.testing.assert_allclose(
        encoded.tables["label"].values, [0.6, 0.8, 1, 1, 1, 1, 1, half, half, 1], rtol=1e-15
    )
    unknown = task.encode(task.corpus([{1: 3, 99: 4}, {}, {1: 3e80, 3: 4e80}, {1: 0}])).tables[
        "label"
    ]
    np.testing.assert_allclose(unknown.values, [0.6, 1, 1, 0.6, 0.8, 1, 0, 1], rtol=1e-15)


def test_values_that_are_all_one_are_left_out(path: Path) -> None:
    task, _ = fitted(path)
    assert table_of(task.encode(task.corpus([{1: 1}, {3: 1.0}]))) == (
        [0, 2, 4],
        [0, 3, 1, 3],
        None,
        4,
    )


def test_rare_and_unknown_attributes(path: Path) -> None:
    task, _ = fitted(path, min_count=2, bias=False)
    assert task.attribute_names() == ["1", "3"]
    assert table_of(task.encode(task.corpus([{20: 1, 3: 5}, {"new": 1}]))) == (
        [0, 1, 1],
        [1],
        [5.0],
        2,
    )


def test_rows_begin_at_the_index_that_training_began_at(path: Path) -> None:
    task, _ = fitted(path, bias=False)
    assert table_of(task.encode(task.corpus(np.array([[7.0, 0, 8.0]]))))[1:3] == (
        [0, 1],
        [7.0, 8.0],
    )
    path.write_text("a 0:1 2:1\n")
    task, _ = fitted(path, bias=False)
    assert table_of(task.encode(task.corpus(np.array([[7.0, 0, 8.0]]))))[1:3] == (
        [0, 1],
        [7.0, 8.0],
    )


def test_state(path: Path) -> None:
    task, _ = fitted(path, bias=False, normalize="unit")
    other = Multiclass()
    other.restore(*task.state())
    assert (other.labels, other.attribute_names()) == (task.labels, task.attribute_names())
    instances = [{1: 2, 3: 1}, {20: 5}]
    one, two = (table_of(each.encode(each.corpus(instances))) for each in (task, other))
    assert one == two
    assert json.loads(json.dumps(task.state()[0])) == task.state()[0]


def test_scores_agree_with_scikit_learn() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    generator = np.random.default_rng(0)
    task, corpus = Multiclass(), Multiclass().corpus([{}] * 200)
    for labels in (["a", "b", "c", "d"], ["1", "2", "10", "only predicted"]):
        gold, predicted = (
            generator.choice(labels[:3], 200).tolist(),
            generator.choice(labels[1:], 200).tolist(),
        )
        corpus.labels[:] = gold
        scores = task.evaluate(corpus, predicted)
        assert scores["accuracy"] == pytest.approx(
            metrics.accuracy_score(gold, predicted), abs=1e-15
        )
        assert scores["macro_f1"] == pytest.approx(
            metrics.f1_score(gold, predicted, average="macro", zero_division=0), abs=1e-15
        )


def test_report(path: Path) -> None:
    task, _ = fitted(path)
    assert task.report(task.read(path), ["10", "10", "spam", "10"]).splitlines() == [
        "4 instances; accuracy: 75.00%; macro F1: 60.00",
        "class  precision  recall      F1   found    gold",
        "    9       0.00    0.00    0.00       0       1",
        "   10      66.67  100.00   80.00       3       2",
        " spam     100.00  100.00  100.00       1       1",
    ]


def test_classes_that_training_never_shows(
    path: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "dev.svm").write_text(TEXT + "ham 1:1\n")
    words = [f"task.train={path}", f"task.dev={tmp_path / 'dev.svm'}", "optimizer.C=10"]
    model = structopt.train([*QUICK, "optimizer.epochs=30", *words], tmp_path / "run")
    assert "1 instances have a label that the training split never shows" in caplog.text
    assert model.evaluate(path)["accuracy"] == 1.0
    assert model.evaluate(tmp_path / "dev.svm")["accuracy"] == pytest.approx(4 / 5)


@pytest.mark.parametrize(
    ("features", "fields"),
    [
        ({"min_count": 0}, {"parameter": "features.min_count", "value": 0}),
        ({"normalize": "l2"}, {"parameter": "features.normalize", "value": "l2"}),
        ({"templates": []}, {"match": "There is no key 'features.templates'"}),
    ],
)
def test_options_that_are_refused(features: dict[str, object], fields: dict[str, Any]) -> None:
    with raises(ConfigError, **fields):
        Multiclass(features=features)


def test_input_that_is_refused(path: Path) -> None:
    task, _ = fitted(path)
    unlabelled = task.corpus([{1: 1}])
    assert task.encode(unlabelled).gold is None
    for act in (task.evaluate, task.report):
        with pytest.raises(DataError, match="<memory>: has no labels to compare with"):
            act(unlabelled, ["10"])
    with pytest.raises(
        ConfigError, match="task=multiclass predicts everything.*Leave out partial=true"
    ):
        task.given_labels(unlabelled)
    path.write_text("5.1,3.5,setosa\n4.9,3.0,setosa\n")
    with pytest.raises(
        DataError, match=r"train\.svm: no line has an index:value pair: write label index:value"
    ):
        fitted(path)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("multiclass")
    assert main.main([*QUICK, "features.normalize=unit", f"hydra.run.dir={folder}"]) == 0
    return folder


def predicted(run: Path, source: Path, target: Path, *words: str) -> list[list[str]]:
    assert (
        main.main(["predict", f"model={run}", f"input={source}", f"output={target}", *words]) == 0
    )
    return [line.split(" ") for line in target.read_text().splitlines()]


def test_the_shipped_corpus_is_learnt(run: Path) -> None:
    scores = json.loads((run / "metrics.json").read_text())
    # the largest class has a fifth
    assert scores["dev"]["accuracy"] > 0.6 and scores["test"]["accuracy"] > 0.6
    assert set(scores["test"]) == {"accuracy", "macro_f1"}


def test_evaluate(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["evaluate", f"model={run}", f"input={datasets.path('test', 'libsvm')}"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert json.loads(lines[-1]) == json.loads((run / "metrics.json").read_text())["test"]
    assert [line.split()[0] for line in lines[2:8]] == [
        "business",
        "courts",
        "culture",
        "politics",
        "sport",
        "weather",
    ]


def test_predict(run: Path, tmp_path: Path) -> None:
    source, model = datasets.path("dev", "libsvm"), structopt.load(run)
    lines = predicted(run, source, tmp_path / "out.txt")
    instances = [
        {int(i): float(v) for i, v in (pair.split(":") for pair in line.split()[1:])}
        for line in source.read_text().splitlines()
    ]
    assert [label for (label,) in lines] == model.predict(instances)
    rows = np.zeros((300, 1 + max(map(max, instances))))
    for row, instance in zip(rows, instances, strict=True):
        row[list(instance)] = list(instance.values())
    assert model.predict(rows[:, 1:]) == model.predict(instances)


def test_predict_with_probabilities_and_k_best(run: Path, tmp_path: Path) -> None:
    source = tmp_path / "in.svm"
    source.write_text("# two instances, one of them without a label\n0 4:1 7:1\n\n30:2 31:1\n")
    header, *lines = predicted(run, source, tmp_path / "out.txt", "probabilities=true", "k_best=8")
    labels = list(structopt.load(run).labels)
    assert (header, len(lines)) == (["labels", *labels], 2)
    for label, *cells in lines:
        p = np.array(cells[:6], float)
        assert p.sum() == pytest.approx(1.0, abs=1e-4)
        # all six, there being no eight
        assert cells[6:] == [labels[y] for y in np.argsort(-p, kind="stable")]
        assert label == cells[6]
    assert [line[1:] for line in predicted(run, source, tmp_path / "out.txt", "k_best=2")] == [
        line[7:9] for line in lines
    ]
    assert [
        line[:7] for line in predicted(run, source, tmp_path / "out.txt", "probabilities=true")[1:]
    ] == [line[:7] for line in lines]


def test_predict_refuses_partial_labels(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [
        f"model={run}",
        f"input={datasets.path('dev', 'libsvm')}",
        f"output={tmp_path / 'out.txt'}",
        "partial=true",
    ]
    assert main.main(["predict", *words]) == 2
    assert (
        "task=multiclass predicts everything and keeps nothing that is given"
        in capsys.readouterr().err
    )
    assert not (tmp_path / "out.txt").exists()


def test_malformed_files_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bad.svm").write_text("a 1:1\nb 1:1 1:2\n")
    assert (
        main.main(
            [*QUICK, f"task.train={tmp_path / 'bad.svm'}", f"hydra.run.dir={tmp_path / 'run'}"]
        )
        == 2
    )
    error = capsys.readouterr().err
    assert (
        error.startswith(f"structopt: {tmp_path / 'bad.svm'}:2: the index 1 stands twice")
        and error.count("\n") == 1
    )
