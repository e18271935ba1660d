"""The task on both kinds of files: encoding, scores, state, and a model from training to the
command line.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import structopt
from structopt import datasets as corpus
from structopt.command import main
from structopt.config import registry
from structopt.errors import ConfigError, DataError
from structopt.task.multilabel import Multilabel
from tests.messages import raises

LIBSVM = "b,a 1:3 20:4\n9:1\na 3:2 9:5\nc,a 1:1 3:1\n"
ARFF = """@relation r
@attribute x numeric
@attribute y numeric
@attribute z {0,1}
@attribute b {0,1}
@attribute a {0,1}
@data
1,2,0,1,1
3,4,1,0,1
5,6.5,0,0,0
"""
QUICK = [
    "task=multilabel",
    "tracker=none",
    "optimizer=adagrad",
    "optimizer.epochs=3",
    "inference.passes=50",
    "objective_every=0",
]


@pytest.fixture
def svm(tmp_path: Path) -> Path:
    (tmp_path / "train.svm").write_text(LIBSVM)
    return tmp_path / "train.svm"


@pytest.fixture
def arff(tmp_path: Path) -> Path:
    (tmp_path / "train.arff").write_text(ARFF)
    (tmp_path / "train.xml").write_text("<labels><label name='b'/><label name='a'/></labels>")
    return tmp_path / "train.arff"


def fitted(path: Path, **options: object):
    task = Multilabel(**options)
    return task, task.fit(task.read(path))


def table_of(encoded):
    table = encoded.tables["label"]
    values = None if table.values is None else table.values.tolist()
    return table.offsets.tolist(), table.ids.tolist(), values, table.size


def test_fit(svm: Path) -> None:
    task, encoded = fitted(svm)
    assert (task.names, task.labels, encoded.labels) == (("a", "b", "c"), ("0", "1"), ("0", "1"))
    assert (encoded.wide, set(encoded.tables)) == (True, {"label"})
    assert task.attribute_names() == ["1", "3", "9", "20", "bias"]
    assert (task.attribute_names("edge"), task.missing_columns(task.read(svm))) == ([], [])
    assert encoded.offsets.tolist() == [0, 3, 6, 9, 12]
    assert encoded.gold.tolist() == [1, 1, 0, 0, 0, 0, 1, 0, 0, 1, 0, 1]
    offsets, pairs = encoded.edges
    assert (offsets.tolist(), pairs.shape) == ([0] * 5, (0, 2))
    assert (offsets.dtype, pairs.dtype, encoded.gold.dtype) == (np.int64, np.int32, np.int32)
    assert table_of(encoded) == (
        [0, 3, 5, 8, 11],
        [0, 3, 4, 2, 4, 1, 2, 4, 0, 1, 4],
        [3, 4, 1, 1, 1, 2, 5, 1, 1, 1, 1],
        5,
    )


def test_every_two_labels_are_joined_unless_typed_otherwise(svm: Path) -> None:
    from structopt.config.composition import compose
    from structopt.config.validation import validate

    for words, edges, parts in (
        ([], "complete", 6 + 12),
        (["factor_graph.edges=none", "optimizer=dlpw"], "none", 6),
    ):
        node = validate(compose(["task=multilabel", *words]))["factor_graph"]
        assert node == {"name": "pairwise", "edges": edges}
        assert registry.create("factor_graph", node).build(fitted(svm)[1]).parts.tolist() == list(
            range(0, 5 * parts, parts)
        )


def test_one_label_has_no_edges(svm: Path) -> None:
    _, encoded = fitted(svm, most_frequent=1)
    assert encoded.gold.tolist() == [1, 0, 1, 1]
    for edges in ("task", "complete", "none"):
        node = {"name": "pairwise", "edges": edges}
        assert registry.create("factor_graph", node).build(encoded).parts.tolist() == [
            0,
            2,
            4,
            6,
            8,
        ]


def test_most_frequent_labels(svm: Path) -> None:
    task, encoded = fitted(svm, most_frequent=2)
    assert (task.names, encoded.gold.tolist()) == (("a", "b"), [1, 1, 0, 0, 1, 0, 1, 0])
    assert task.evaluate(task.read(svm), [["a", "b"], [], ["a"], ["a"]])["subset_accuracy"] == 1.0


def test_arff(arff: Path) -> None:
    task, encoded = fitted(arff, features={"bias": False})
    assert (task.names, task.attribute_names(), encoded.gold.tolist()) == (
        ("b", "a"),
        ["x", "y", "z"],
        [1, 1, 0, 1, 0, 0],
    )
    assert table_of(encoded) == ([0, 2, 5, 7], [0, 1, 0, 1, 2, 0, 1], [1, 2, 3, 4, 1, 5, 6.5], 3)
    arff.with_suffix(".xml").unlink()  # the model knows its labels
    assert task.encode(task.read(arff)).gold.tolist() == encoded.gold.tolist()
    assert fitted(arff, labels=1)[0].names == ("a",)


def test_the_format_may_be_named(svm: Path, arff: Path, tmp_path: Path) -> None:
    svm.rename(tmp_path / "x.arff")
    arff.rename(tmp_path / "y.txt")
    assert fitted(tmp_path / "x.arff", format="libsvm")[0].names == ("a", "b", "c")
    assert fitted(tmp_path / "y.txt", format="arff", labels=2)[0].names == ("b", "a")


def test_instances_in_memory(svm: Path, arff: Path) -> None:
    task, _ = fitted(svm, features={"bias": False})
    encoded = task.encode(task.corpus([{1: 2, "20": 3, 99: 1}, np.array([7.0, 0, 8])]))
    assert table_of(encoded) == ([0, 2, 4], [0, 3, 0, 1], [2, 3, 7, 8], 4)
    task, encoded = fitted(arff, features={"bias": False})
    rows = task.corpus([[1, 2, 0], {"x": 3, "y": 4, "z": 1}, np.array([5, 6.5, 0])])
    assert table_of(task.encode(rows)) == (
        [0, 2, 5, 7],
        [0, 1, 0, 1, 2, 0, 1],
        [1, 2, 3, 4, 1, 5, 6.5],
        3,
    )
    assert task.encode(rows).gold is None
    with pytest.raises(
        DataError, match="^<memory>:2: the row has 2 values for 3 attributes. Give a list"
    ):
        task.corpus([[1, 2, 3], [1, 2]])
    with pytest.raises(
        DataError, match="^<memory>:1: an instance is 3.0. Give a list of instances, each a mapping"
    ):
        task.corpus([3.0])


def test_attributes_must_be_left(svm: Path) -> None:
    assert fitted(svm, features={"min_count": 9})[0].attribute_names() == ["bias"]
    with pytest.raises(
        ConfigError,
        match=r"features\.min_count leaves no attribute, and features\.bias=false no constant",
    ):
        fitted(svm, features={"min_count": 9, "bias": False})


def test_configurations_have_names(svm: Path) -> None:
    task, encoded = fitted(svm)
    structure = registry.create("factor_graph", {"name": "pairwise", "edges": "complete"}).build(
        encoded
    )
    for group in structure.groups:
        assert len(set(task.configuration_names(group.name))) == group.width
    assert task.configuration_names()[:3] == [(("a", "0"),), (("a", "1"),), (("b", "0"),)]
    assert task.configuration_names("edge")[5] == (("a", "0"), ("c", "1"))
    svm.write_text(LIBSVM)
    other = Multilabel()
    other.names = ("c", "a")
    # the same pair in another order
    assert other.configuration_names("edge")[2] == (("a", "0"), ("c", "1"))


def test_decode(svm: Path) -> None:
    task, encoded = fitted(svm)
    assert task.decode(encoded, encoded.gold) == [["a", "b"], [], ["a"], ["a", "c"]]
    assert task.written([["a"]]) == [["a"]]


def test_scores(svm: Path) -> None:
    task, _ = fitted(svm)
    vectors = task.read(svm)
    predicted = [["a"], ["c"], ["a"], ["a", "c"]]
    assert task.evaluate(vectors, predicted) == {
        "micro_f1": pytest.approx(8 / 10),
        "macro_f1": pytest.approx((1 + 0 + 2 / 3) / 3),
        "subset_accuracy": 0.5,
        "hamming_loss": pytest.approx(2 / 12),
        "accuracy": pytest.approx(10 / 12),
    }
    assert task.main_metric in task.evaluate(vectors, predicted)
    assert task.report(vectors, predicted).startswith(
        "4 instances; Hamming loss: 16.67%; subset accuracy: 50.00%; micro F1"
    )


def test_labels_that_training_never_shows(svm: Path, caplog: pytest.LogCaptureFixture) -> None:
    task, _ = fitted(svm)
    svm.write_text("a,new 1:1\n")
    vectors = task.read(svm)
    assert task.encode(vectors).gold.tolist() == [1, 0, 0]
    assert f"{svm}: labels that training never shows are not scored: new." in caplog.text
    assert task.evaluate(vectors, [["a"]])["hamming_loss"] == 0.0


@pytest.mark.parametrize("kind", ["svm", "arff"])
def test_state(kind: str, request: pytest.FixtureRequest) -> None:
    path = request.getfixturevalue(kind)
    options = {
        "features": {"bias": False, "normalize": "unit", "standardize": "columns"},
        "most_frequent": 1,
    }
    task, _ = fitted(path, **options)
    other = Multilabel()
    other.restore(*task.state())
    assert (other.names, other.attribute_names()) == (task.names, task.attribute_names())
    one, two = (each.encode(each.read(path)) for each in (task, other))
    assert (table_of(one), one.gold.tolist()) == (table_of(two), two.gold.tolist())
    rows = [[1.0, 2.0, 3.0]]
    assert table_of(other.encode(other.corpus(rows))) == table_of(task.encode(task.corpus(rows)))
    assert json.loads(json.dumps(task.state()[0])) == task.state()[0]


@pytest.mark.parametrize(
    ("options", "fields"),
    [
        ({"most_frequent": 0}, {"parameter": "task.most_frequent", "value": 0}),
        ({"labels": 0}, {"parameter": "task.labels", "value": 0}),
        ({"features": {"min_count": 0}}, {"parameter": "features.min_count", "value": 0}),
        ({"features": {"standardise": "columns"}}, {"match": "Did you mean 'standardize'"}),
    ],
)
def test_options_that_are_refused(options: dict[str, Any], fields: dict[str, Any]) -> None:
    with raises(ConfigError, **fields):
        Multilabel(**options)


def test_input_that_is_refused(svm: Path, arff: Path) -> None:
    task, _ = fitted(svm)
    with pytest.raises(
        DataError,
        match="train.arff: the model was trained on LIBSVM's text, whose attributes have numbers",
    ):
        task.read(arff)
    with pytest.raises(
        DataError,
        match="train.svm: the model was trained on ARFF, whose attributes have names: give an ARFF",
    ):
        fitted(arff)[0].read(svm)
    unlabelled = task.corpus([{1: 1}])
    for act in (task.evaluate, task.report):
        with pytest.raises(DataError, match="<memory>: has no labels to compare with"):
            act(unlabelled, [["a"]])
    with pytest.raises(
        ConfigError, match="task=multilabel predicts everything.*Leave out partial=true"
    ):
        task.given_labels(unlabelled)
    for text, message in (
        ("1:1\n2:1\n", "no instance has a label"),
        ("a\nb 1:0\n", "no instance has a value other than 0"),
    ):
        svm.write_text(text)
        with pytest.raises(DataError, match=f"train.svm: {message}"):
            fitted(svm)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("multilabel")
    assert (
        main.main([*QUICK, "features.normalize=unit", "task.limit=500", f"hydra.run.dir={folder}"])
        == 0
    )
    return folder


@pytest.mark.nightly("runs")
def test_the_shipped_corpus_is_learnt(run: Path) -> None:
    scores = json.loads((run / "metrics.json").read_text())
    assert set(scores["test"]) == {
        "micro_f1",
        "macro_f1",
        "subset_accuracy",
        "hamming_loss",
        "accuracy",
    }
    for part in ("dev", "test"):
        task = Multilabel()
        task.fit(task.read(corpus.path("train", "multilabel")))
        vectors = task.read(corpus.path(part, "multilabel"))
        always = task.evaluate(vectors, [["LOC", "ORG", "PER"]] * len(vectors))
        assert scores[part]["micro_f1"] > always["micro_f1"] + 0.05
        assert scores[part]["hamming_loss"] < always["hamming_loss"] - 0.05


def test_the_cost_is_normalised_unless_it_is_typed() -> None:
    from structopt.config.composition import compose
    from structopt.config.validation import validate

    for words in ([], ["loss=crf"], ["loss=softmax_margin"], ["optimizer=pegasos"]):
        config = validate(compose(["task=multilabel", *words]))
        assert (config["loss"]["cost"], config["factor_graph"]["name"]) == (
            "hamming_normalized",
            "pairwise",
        )
        assert config["loss"]["name"] == (
            words[0].removeprefix("loss=") if words and "loss" in words[0] else "svm"
        )
    assert compose(["task=multilabel", "loss.cost=hamming"])["loss"]["cost"] == "hamming"


def test_evaluate(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main.main(["evaluate", f"model={run}", f"input={corpus.path('test', 'multilabel')}"]) == 0
    )
    lines = capsys.readouterr().out.splitlines()
    found = json.loads(lines[-1])
    assert 0.0 <= found.pop("proved_optimal") <= 1.0
    assert found == json.loads((run / "metrics.json").read_text())["test"]
    assert [line.split()[0] for line in lines[2:6]] == ["LOC", "MISC", "ORG", "PER"]


def test_predict(run: Path, tmp_path: Path) -> None:
    source, target = tmp_path / "in.svm", tmp_path / "out.svm"
    source.write_text(
        "# two instances, one of them without a label\nsport,LOC 4:1 7:1\n\n30:2 31:1.50\n"
    )
    assert main.main(["predict", f"model={run}", f"input={source}", f"output={target}"]) == 0
    lines = [line.split(" ") for line in target.read_text().splitlines()]
    assert [[cell for cell in line if ":" in cell] for line in lines] == [
        ["4:1", "7:1"],
        ["30:2", "31:1.50"],
    ]
    vectors = [line[0].split(",") if ":" not in line[0] else [] for line in lines]
    assert vectors == structopt.load(run).predict([{4: 1, 7: 1}, {30: 2, 31: 1.5}])


def test_probabilities_want_an_inference_that_has_them(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Refused before the input is read, with what to type; which then gives them, of the same
    weights.
    """
    source, target = tmp_path / "in.svm", tmp_path / "out.svm"
    words = ["predict", f"model={run}", f"input={source}", f"output={target}"]
    for option, needs, names in (
        (
            "probabilities=true",
            "marginals, but inference=ad3 only maximises",
            "enumeration, exact, loopy_bp, trw_bp",
        ),
        (
            "k_best=3",
            "the k best outputs, but inference=ad3 gives only the best output",
            "enumeration, exact",
        ),
    ):
        assert main.main([*words, option]) == 2
        error = capsys.readouterr().err
        assert error.startswith(f"structopt: {option} needs {needs}") and error.count("\n") == 1
        assert f"come from: {names}. Set inference=NAME" in error
    source.write_text("sport 4:1 7:1\n30:2\n")
    assert main.main([*words, "inference=enumeration", "probabilities=true", "k_best=2"]) == 0
    first, *lines = target.read_text().splitlines()
    names = first.removeprefix("# labels ").split()
    for line, second in zip(lines[::2], lines[1::2], strict=True):
        head, _, comment = line.partition(" # ")
        assert all(0 <= float(p) <= 1 for p in comment.split()) and len(comment.split()) == len(
            names
        )
        assert second.startswith("# 2 ")
        assert set(second.split()[3].split(",") if len(second.split()) > 3 else []) != set(
            head.split()[0].split(",")
        )


def test_predict_refuses_partial_labels(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [
        f"model={run}",
        f"input={corpus.path('dev', 'multilabel')}",
        f"output={tmp_path / 'out.txt'}",
        "partial=true",
    ]
    assert main.main(["predict", *words]) == 2
    assert (
        "task=multilabel predicts everything and keeps nothing that is given"
        in capsys.readouterr().err
    )
    assert not (tmp_path / "out.txt").exists()


@pytest.mark.nightly("rest")
def test_a_model_of_arff_needs_no_xml_to_predict(arff: Path, tmp_path: Path) -> None:
    words = [f"task.train={arff}", "optimizer.epochs=200", "optimizer.C=1000"]
    model = structopt.train([*QUICK, *words], tmp_path / "run")
    assert model.evaluate(arff)["subset_accuracy"] == 1.0
    source, target = tmp_path / "in.arff", tmp_path / "out.arff"
    source.write_text(
        "@attribute y real\n@attribute x real\n@attribute z {0,1}\n@data\n2,1,0\n{0 4,1 3,2 1}\n"
        "6.5,5,0\n"
    )
    assert (
        main.main(["predict", f"model={tmp_path / 'run'}", f"input={source}", f"output={target}"])
        == 0
    )
    assert target.read_text().splitlines()[3:] == [
        "@attribute b {0,1}",
        "@attribute a {0,1}",
        "@data",
        "2,1,0,1,1",
        "{0 4,1 3,2 1,4 1}",
        "6.5,5,0,0,0",
    ]


def test_probabilities_take_the_place_of_labels(arff: Path, tmp_path: Path) -> None:
    words = [f"task.train={arff}", "loss=crf", "inference=loopy_bp", "optimizer.C=10"]
    model = structopt.train([*QUICK, *words], tmp_path / "run")
    vectors = model.task.read(arff)
    examples = model.examples(vectors)
    tables = model.view_marginals(examples)
    model.task.write_outputs(vectors, tmp_path / "out.arff", model.best_outputs(examples), tables)
    lines = (tmp_path / "out.arff").read_text().splitlines()
    assert lines[4:6] == ["@attribute b numeric", "@attribute a numeric"]
    for table in tables:
        np.testing.assert_allclose(table.sum(axis=1), 1.0, atol=1e-6)
    assert [line.split(",")[3:] for line in lines[7:]] == [
        [f"{p:.4f}" for p in table[:, 1]] for table in tables
    ]
    # the first instance has the label, the last one has none
    assert tables[0][1, 1] > tables[2][1, 1]


def test_malformed_files_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bad.svm").write_text("a 1:1\na,,b 1:1\n")
    assert (
        main.main(
            [*QUICK, f"task.train={tmp_path / 'bad.svm'}", f"hydra.run.dir={tmp_path / 'run'}"]
        )
        == 2
    )
    error = capsys.readouterr().err
    assert (
        error.startswith(f"structopt: {tmp_path / 'bad.svm'}:2: 'a,,b' has a comma with no label")
        and error.count("\n") == 1
    )


REAL = {  # instances, attributes, labels
    "yeast": (1500, 103, 14),
    "scene": (1211, 294, 6),
    "emotions": (391, 72, 6),
    "enron": (1123, 1001, 53),
    "medical": (333, 1449, 45),
    "bibtex": (4880, 1836, 159),
}


def real(*parts: str) -> Path:
    if not os.environ.get("STRUCTOPT_DATA"):
        pytest.skip("STRUCTOPT_DATA is not set")
    return Path(os.environ["STRUCTOPT_DATA"], "multilabel", *parts)


@pytest.mark.nightly("data")
@pytest.mark.parametrize("name", REAL)
def test_real_arff(name: str) -> None:
    vectors = Multilabel().read(real(name, f"{name}-train.arff.gz"))
    assert (len(vectors), len(vectors.attributes), len(vectors.names)) == REAL[name]
    counts = np.bincount([len(labels) for labels in vectors.labels])
    assert counts[1:].sum() > 0.9 * len(vectors) and len(counts) <= 30
    assert np.isfinite(vectors.values).all()


@pytest.mark.nightly("data")
def test_real_libsvm() -> None:
    task = Multilabel(most_frequent=30)
    path = real("rcv1subset1", "rcv1subset1_train.svm.gz")
    encoded = task.fit(task.read(path))
    table = encoded.tables["label"]
    assert (len(encoded), len(task.names), len(table.ids)) == (3000, 30, 229997 + 3000)
    assert max(int(name) for name in task.attribute_names()[:-1]) <= 47236
    datasets = pytest.importorskip("sklearn.datasets")
    x, y = datasets.load_svmlight_file(str(path), multilabel=True)
    assert x.nnz == 229997
    assert encoded.gold.sum() == sum(
        str(int(label)) in task.names for labels in y for label in labels
    )
