"""Files, tables and instances in memory agree: one input has one output, whichever route it takes."""

import json
import logging

import numpy as np
import pytest

import structopt
from structopt.errors import DataError
from structopt.testing.components import run_words
from tests.messages import raises

TRAIN = "Ann NNP B-PER\nslept VBD O\n\nin IN O\nOslo NNP B-LOC\n\n"
QUICK = ["optimizer=perceptron", "optimizer.epochs=3", "tracker=none", "quiet=true"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("routes")
    (folder / "train.txt").write_text(TRAIN, encoding="utf8")
    (folder / "train.crfsuite").write_text("A\tx:2\tx:0.5\ty\nB\ty:3\n\n", encoding="utf8")
    words = ["task=ner", f"task.train={folder}/train.txt", "features.templates=[bias,word,pos]"]
    structopt.train([*words, *QUICK], folder=folder / "ner")
    words = ["task=attributes", f"task.train={folder}/train.crfsuite"]
    structopt.train([*words, *QUICK], folder=folder / "attributes")
    structopt.train(["task=multiclass", "task.limit=20", *QUICK], folder=folder / "multiclass")
    return folder


def test_names_of_data_sets(folder, caplog):
    """In memory as in files; keys that are not columns are noted."""
    model = structopt.load(folder / "ner")
    words, tags = ["Ann", "slept"], ["NNP", "VBD"]
    expected = model.scores([{"word": words, "pos": tags}]).tolist()
    (folder / "new.jsonl").write_text(
        json.dumps({"id": "7", "tokens": words, "pos_tags": tags}) + "\n", encoding="utf8"
    )
    assert model.scores(folder / "new.jsonl").tolist() == expected
    with caplog.at_level(logging.WARNING):
        records = [{"id": "7", "tokens": words, "pos_tags": tags, "ner_tags": [1, 0]}]
        assert model.scores(records).tolist() == expected
    assert "these keys are not columns, and are not read: id. The columns are: word, pos" in (
        caplog.text
    )
    with raises(DataError, match="there is no column 'poss'; .* Did you mean 'pos'?"):
        model.predict([{"tokens": words, "poss": tags}])
    estimator = structopt.SequenceTagger(templates=["word", "pos"], optimizer="perceptron")
    estimator.fit([{"tokens": words, "pos_tags": tags}], [["B-PER", "O"]])
    assert estimator.model_.columns == ("word", "pos")


def test_integers_of_data_sets(folder):
    """Fields of integers have the names that the training file had."""
    names = {"pos_tags": ["NNP", "VBD"], "ner_tags": ["O", "B-PER"]}
    (folder / "names.json").write_text(json.dumps(names), encoding="utf8")
    record = {"tokens": ["Ann", "slept"], "pos_tags": [0, 1], "ner_tags": [1, 0]}
    (folder / "integers.jsonl").write_text(json.dumps(record) + "\n", encoding="utf8")
    words = ["task=ner", f"task.train={folder}/integers.jsonl", f"task.names={folder}/names.json"]
    model = structopt.train(
        [*words, "features.templates=[pos]", *QUICK], folder=folder / "integers"
    )
    expected = model.scores(folder / "integers.jsonl").tolist()
    for pos in ([0, 1], np.array([0, 1]), ["NNP", "VBD"]):
        assert model.scores([record | {"pos_tags": pos}]).tolist() == expected


def test_attributes_that_occur_twice(folder):
    model = structopt.load(folder / "attributes")
    table = {"tokens": [[["x", "x", "y"], ["y"]]], "values": [[[2.0, 0.5, 1.0], [3.0]]]}
    instances = model.task.instances(model.task.input_schema.checked(table))
    expected = model.scores(folder / "train.crfsuite")
    np.testing.assert_allclose(model.scores(instances), expected)
    np.testing.assert_allclose(model.scores([[{"x": 2.5, "y": 1}, {"y": 3}]]), expected)
    model = structopt.load(folder / "multiclass")
    (folder / "twice.libsvm").write_text("? 1:1 1:2\n", encoding="utf8")
    with pytest.raises(DataError, match="twice in this line: keep one of them, or their sum"):
        model.predict(folder / "twice.libsvm")
    with raises(DataError, line=1, remedy="Keep one of them, or their sum."):
        model.predict_table({"indices": [[1, 1]], "values": [[1.0, 2.0]]})


def test_a_line_of_text_is_not_a_token(folder):
    (folder / "text.txt").write_text("Ann slept in Oslo today .\n", encoding="utf8")
    words = ("predict", "model=ner", "input=text.txt", "output=out.txt")
    done = run_words(folder, *words)
    assert done.code == 2
    assert "text.txt:1: this line has 6 columns, and the widest training layout has" in done.err


def test_columns_are_not_attributes(folder):
    """The separator of attribute text is a tab."""
    done = run_words(folder, "task=attributes", "task.train=train.txt", *QUICK)
    assert done.code == 2
    assert "train.txt:1: no line has a tab, and so no token has an attribute" in done.err
