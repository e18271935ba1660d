"""Input without columns that a model's features read, by every route."""

import io
import json
import re
import sys
from types import SimpleNamespace

import pytest

import structopt
from structopt import DependencyParser, SequenceTagger
from structopt.command import main
from structopt.errors import ConfigError, DataError
from structopt.formats.conll_layouts import OF_TEXTS
from tests.messages import raises

TRAIN = "Ann NNP B-PER\nslept VBD O\n\nOslo NNP B-LOC\nran VBD O\n"
QUICK = ("task=ner", "optimizer=perceptron", "optimizer.epochs=1", "tracker=none")
WORDS, TAGGED = [["Ann", "ran"]], [[("Ann", "NNP"), ("ran", "VBD")]]
MESSAGE = "missing columns: pos. The model's features read the columns word, pos."
REMEDY = "Give all of them, or set task.missing=pad to read missing columns as empty."


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("columns")
    (folder / "train.txt").write_text(TRAIN)
    (folder / "words.txt").write_text("Ann\nran\n")
    (folder / "wide.txt").write_text("Ann NNP B-PER O O\n")
    (folder / "words.jsonl").write_text('{"tokens": ["Ann", "ran"]}\n')
    for name, templates in {"tagged": "[word,pos]", "words": "[word]"}.items():
        words = [*QUICK, f"task.train={folder / 'train.txt'}", f"features.templates={templates}"]
        structopt.train(words, folder=folder / name)
    return folder


@pytest.fixture(scope="module")
def model(folder):
    return structopt.load(folder / "tagged")


ROUTES = {
    "memory": lambda model, folder: model.predict(WORDS),
    "mappings": lambda model, folder: model.predict([{"word": WORDS[0]}]),
    "marginals": lambda model, folder: model.marginals(WORDS),
    "scores": lambda model, folder: model.scores(WORDS),
    "explain": lambda model, folder: model.explain(WORDS),
    "file": lambda model, folder: model.predict(folder / "words.txt"),
    "fields": lambda model, folder: model.predict(folder / "words.jsonl"),
}


@pytest.mark.parametrize("route", ROUTES)
def test_input_without_a_column_is_refused(model, folder, route):
    with raises(DataError, match=MESSAGE, remedy=REMEDY):
        ROUTES[route](model, folder)


def test_tables_without_a_column_are_refused(model):
    """Programs that serve the model read in its schema that the column is required."""
    for predict in (model.predict_table, model.predict_columns):
        with raises(DataError, match="there is no column 'pos'. The columns are: tokens "):
            predict({"tokens": WORDS})
    assert model.predict_table({"tokens": WORDS, "pos": [["NNP", "VBD"]]}) == {
        "labels": model.predict(TAGGED)
    }
    assert [column.required for column in model.task.input_schema] == [True, True]


def test_the_command_names_the_columns(folder, capsys, caplog, monkeypatch):
    words = ["predict", f"model={folder / 'tagged'}", f"output={folder / 'out.txt'}"]
    assert main.main([*words, f"input={folder / 'words.txt'}"]) == 2
    assert MESSAGE in capsys.readouterr().err
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"Ann\n\n")))
    assert main.main([*words, "input=-"]) == 2
    assert f"<stdin>: {MESSAGE}" in capsys.readouterr().err
    assert main.main([*words, f"input={folder / 'words.txt'}", "task.missing=pad"]) == 0
    assert "has no column 'pos'; the model reads it as padding." in caplog.messages[-1]


def test_missing_columns_may_be_empty(model, folder):
    padded = structopt.load(folder / "tagged", task={"missing": "pad"})
    assert padded.predict(WORDS) == model.predict([[("Ann", ""), ("ran", "")]])
    assert padded.task.needed_columns == ("word",)
    with raises(ConfigError, parameter="task.missing", value="pda"):
        structopt.load(folder / "tagged", task={"missing": "pda"})
    with raises(ConfigError, match="task.scheme cannot change when a model of task=ner is applied"):
        structopt.load(folder / "tagged", task={"scheme": "iob1"})


def test_the_templates_decide(folder):
    """The training file has a column that these templates do not read."""
    model = structopt.load(folder / "words")
    assert model.predict(WORDS) == model.predict(folder / "words.txt") == model.predict(TAGGED)
    assert model.task.needed_columns == ("word",)


def test_labelled_files_of_another_width(folder):
    """The layout of their width has the label, and the columns that the features read."""
    (folder / "labelled.txt").write_text("Ann B-PER\nran O\n")
    gold = {"accuracy": 1.0}
    words = structopt.load(folder / "words").evaluate(folder / "labelled.txt")
    assert words.items() >= gold.items()
    model = structopt.load(folder / "tagged", task={"missing": "pad"})
    assert model.evaluate(folder / "labelled.txt").items() >= gold.items()
    with raises(DataError, line=1, match=r"set task.missing=pad .*\(pos\)"):
        structopt.load(folder / "tagged").evaluate(folder / "labelled.txt")


def test_training_prints_the_columns(folder, capsys, tmp_path):
    words = [*QUICK, "features.columns=all", f"task.train={folder / 'train.txt'}"]
    assert main.main([*words, f"hydra.run.dir={tmp_path / 'run'}"]) == 0
    assert "prediction needs the columns: word, pos\n" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["tagged", "words"])
def test_a_line_with_more_columns_than_training_is_refused(folder, name):
    with raises(DataError, line=1, match="5 columns, and the widest training layout has 4."):
        structopt.load(folder / name).predict(folder / "wide.txt")


RAW = ["Ann slept in Oslo .", "Ann ran ."]


@pytest.mark.parametrize("lines", [RAW, RAW[::-1]])
def test_raw_text_is_refused_with_a_remedy_that_works(folder, lines, tmp_path):
    model, raw = structopt.load(folder / "words"), tmp_path / "raw.txt"
    raw.write_text("\n".join(lines))
    with raises(DataError) as refused:
        model.predict(raw)
    assert refused.value.remedy.endswith(OF_TEXTS)
    form = json.loads(re.search(r"\{.*\}", OF_TEXTS)[0])
    (tmp_path / "texts.jsonl").write_text(
        "\n".join(json.dumps(dict.fromkeys(form, line)) for line in lines)
    )
    raw.write_text("\n\n".join(line.replace(" ", "\n") for line in lines))
    labels = model.predict([line.split() for line in lines])
    assert model.predict(raw) == model.predict(tmp_path / "texts.jsonl") == labels


def test_columns_that_were_set_by_number_have_the_width_of_training(folder):
    words = [*QUICK, f"task.train={folder / 'train.txt'}", "task.columns={word: 0, tag: -1}"]
    model = structopt.train(words, folder=folder / "typed")
    assert len(model.predict(folder / "words.txt")) == 1
    with raises(DataError, line=1, match="5 columns, and the widest training layout has 3."):
        model.predict(folder / "wide.txt")


def test_estimators_refuse_missing_columns():
    X, y = [[("Ann", "NNP"), ("ran", "VBD")]], [["B-PER", "O"]]
    options = {"templates": ["word", "pos"], "optimizer": "perceptron", "epochs": 1}
    with raises(DataError, match=MESSAGE):
        SequenceTagger(**options).fit(X, y).predict(WORDS)
    padded = SequenceTagger(**options, overrides={"task.missing": "pad"})
    assert len(padded.fit(X, y).predict(WORDS)[0]) == 2


def test_parsers_need_the_columns_of_training():
    """Templates read parts of speech, which a parser that has learned from words does without."""
    heads = [[(0, "root")]]
    options = {"optimizer": "perceptron", "epochs": 1}
    words = DependencyParser(**options).fit([["ran"]], heads)
    assert len(words.predict([["Ann"]])) == 1
    tagged = DependencyParser(**options).fit([{"form": ["ran"], "upos": ["VERB"]}], heads)
    with raises(DataError, match="missing columns: upos."):
        tagged.predict([["Ann"]])
    assert tagged.predict([[]]) == [[]]
