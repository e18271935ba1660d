"""Models as tables: of every task the schemas, what MLflow makes of them, and tables of other forms."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import structopt
from structopt.core.data.table_schema import Column, Schema
from structopt.errors import DataError

FEW = ["optimizer.epochs=1", "objective_every=0"]
TASKS: dict[str, list[str]] = {
    "ner": ["task.limit=60"],
    "chunking": ["task.limit=60"],
    "tagging": ["task.limit=60"],
    "attributes": ["task.limit=60"],
    "constituency": ["task.limit=60"],
    "dependency": ["task.limit=60", "factor_graph.labeled=true", "features.hash_bits=14", "features.label_bits=8"],
    "multiclass": ["task.limit=60"],
    "multilabel": ["task.limit=60", "optimizer=dlpw"],
    "grid": ["task.limit=5", "optimizer=dlpw"],
    "synthetic": ["task.limit=5", "optimizer=dlpw"],
    "summarization": ["task.limit=5", "optimizer=perceptron"],
}
SIGNATURES: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "ner": ({"tokens": "array(string)", "pos": "array(string)?", "chunk": "array(string)?"}, {"labels": "array(string)"}),
    "chunking": ({"tokens": "array(string)", "pos": "array(string)?"}, {"labels": "array(string)"}),
    "tagging": ({"tokens": "array(string)"}, {"labels": "array(string)"}),
    "attributes": ({"tokens": "array(array(string))", "values": "array(array(double))?"}, {"labels": "array(string)"}),
    "constituency": ({"tokens": "array(string)", "tags": "array(string)?"}, {"tree": "string"}),
    "dependency": (
        {"tokens": "array(string)"} | dict.fromkeys(("lemma", "upos", "xpos", "feats"), "array(string)?"),
        {"heads": "array(long)", "relations": "array(string)"},
    ),
    "multiclass": ({"indices": "array(long)", "values": "array(double)?"}, {"labels": "string"}),
    "multilabel": ({"indices": "array(long)", "values": "array(double)?"}, {"labels": "array(string)"}),
    "grid": ({"pixels": "array(array(array(double)))"}, {"labels": "array(array(long))"}),
    "synthetic": ({"x": "array(double)"}, {"labels": "array(long)"}),
    "summarization": ({"sentences": "array(string)"}, {"extract": "array(long)"}),
}  # fmt: skip


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A function from a task to its model and to what MLflow loads of it; each is trained once."""
    import mlflow

    root, known = tmp_path_factory.mktemp("serving"), dict[str, tuple[Any, Any]]()
    uri = f"sqlite:///{root}/mlflow.db"

    def make(task: str) -> tuple[Any, Any]:
        if task not in known:
            words = [*FEW, *TASKS[task], f"tracker.uri={uri}", f"tracker.experiment={task}"]
            model = structopt.train([f"task={task}", *words], folder=root / task)
            mlflow.set_tracking_uri(uri)
            (run,) = mlflow.search_runs(experiment_names=[task]).run_id
            known[task] = model, mlflow.pyfunc.load_model(f"runs:/{run}/model")
        return known[task]

    yield make
    mlflow.set_tracking_uri(None)


def written(columns: Any) -> dict[str, str]:
    """Columns of a signature as text; a question mark where one may be missing."""

    def kind(one: Any) -> str:
        return f"array({kind(one.dtype)})" if hasattr(one, "dtype") else one.name

    return {column.name: kind(column.type) + ("" if column.required else "?") for column in columns}


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
def test_signature_and_example_are_the_task_s(served: Any, task: str) -> None:
    model, loaded = served(task)
    signature = loaded.metadata.signature
    assert (written(signature.inputs), written(signature.outputs)) == SIGNATURES[task]
    example = model.task.input_example()
    found = loaded.predict(pd.DataFrame(example))
    assert found.to_dict("list") == model.predict_table(example) == model.output_table(model.predict_columns(example))
    assert as_a_server(loaded, example) == found.to_dict("list")


def as_a_server(loaded: Any, table: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """What an MLflow server answers to the rows of a table as JSON."""
    from mlflow.pyfunc.scoring_server import invocations

    rows = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
    sent = json.dumps({"dataframe_records": rows})
    answer = invocations(sent, "application/json", loaded, loaded.metadata.get_input_schema())
    return pd.DataFrame(json.loads(answer.response)["predictions"]).to_dict("list")


@pytest.mark.parametrize("task", TASKS)
def test_as_many_outputs_as_inputs(served: Any, task: str) -> None:
    model, _ = served(task)
    example = model.task.input_example()
    made = model.predict_table(example)
    assert list(made) == [column.name for column in model.task.output_schema]
    for column in model.task.output_schema:
        assert len(made[column.name]) == len(next(iter(example.values())))
        if column.like:
            for cell, given in zip(made[column.name], example[column.like], strict=True):
                assert len(cell) == len(given)
                if column.depth == 2:
                    assert list(map(len, cell)) == list(map(len, given))


def test_two_tokens_have_two_labels(served: Any) -> None:
    """A token of task=attributes is a list of attributes; two names are no two tokens."""
    model, loaded = served("attributes")
    sentence = [["w=Ann", "b"], ["w=sleeps"]]
    expected = model.predict([sentence])
    assert len(expected[0]) == 2
    assert loaded.predict(pd.DataFrame({"tokens": [sentence]}))["labels"].tolist() == expected
    assert model.predict_columns({"attributes": [sentence]}) == expected
    values = [[1.0, 0.5], [2.0]]
    valued = model.predict([[{"w=Ann": 1.0, "b": 0.5}, {"w=sleeps": 2.0}]])
    assert model.predict_columns({"tokens": [sentence], "values": [values]}) == valued
    with pytest.raises(DataError) as refused:
        model.predict_columns({"tokens": [["w=Ann", "w=sleeps"]]})
    text = "<table>:1: a cell of 'tokens' must be a list of lists of strings; this one is ['w=Ann', 'w=sleeps']."
    assert str(refused.value) == text


def test_what_other_tables_are_told(served: Any) -> None:
    model, _ = served("ner")
    cases: list[tuple[dict[str, Any], str]] = [
        ({"pos": [["NNP"]]}, "<table>: there is no column 'tokens'. The columns are: tokens (a list of strings), pos (a list of"),
        ({"tokens": ["Ann sleeps"]}, "<table>:1: a cell of 'tokens' must be a list of strings; this one is 'Ann sleeps'."),
        ({"tokens": "Ann"}, "<table>: 'tokens' must have a cell a row, each a list of strings; it is 'Ann'."),
        ({"tokens": [["a"], [["b"]]]}, "<table>:2: a cell of 'tokens' must be a list of strings; this one is [['b']]."),
        ({"tokens": [["a", "b"]], "pos": [["X"]]}, "<table>:1: 'pos' has 1 entries for 2 of 'tokens': there must be as many."),
        ({"tokens": [["a"], ["b"]], "pos": [["X"]]}, "<table>: 'pos' has 1 rows and 'tokens' 2: give as many of both."),
    ]
    for table, text in cases:
        with pytest.raises(DataError) as refused:
            model.predict_table(table)
        assert str(refused.value).startswith(text)
        assert "\n" not in str(refused.value)


def test_images_have_as_many_pixels_in_every_row(served: Any) -> None:
    model, _ = served("grid")
    with pytest.raises(DataError, match="<table>:1: the rows of an image must have as many pixels each"):
        model.predict_columns({"pixels": [[[[0.0] * 3] * 2, [[0.0] * 3]]]})


def test_a_missing_column_is_padding_and_said_once(served: Any, caplog: pytest.LogCaptureFixture) -> None:
    model, loaded = served("ner")
    frame = pd.DataFrame({"tokens": [["Ann", "sleeps"], ["ok"]], "pos": [["NNP", "VBZ"], None]})
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            found = loaded.predict(frame)["labels"].tolist()
    assert len([record for record in caplog.records if "'chunk'" in record.getMessage()]) == 1
    assert found == model.predict([{"word": ["Ann", "sleeps"], "pos": ["NNP", "VBZ"]}, {"word": ["ok"], "pos": [""]}])
    words = [["Ann", "sleeps"], ["ok"]]
    assert model.predict_columns({"word": words, "pos": [["", ""], [""]]}) == model.predict(words)


def test_outputs_of_another_number_are_an_error(served: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    model, _ = served("tagging")
    monkeypatch.setattr(type(model.task), "output_table", lambda self, outputs: {"labels": [["X"] for _ in outputs]})
    with pytest.raises(DataError, match="<table>:1: 'labels' has 1 entries for 2 of 'tokens': there must be as many"):
        model.predict_table({"tokens": [["a", "b"]]})


def test_a_model_without_schema_is_read(served: Any, tmp_path: Path) -> None:
    """Models that were saved by version 0.1.0 have no schema.json."""
    import shutil

    model, _ = served("tagging")
    model.save(tmp_path / "new")
    old = shutil.copytree(tmp_path / "new", tmp_path / "old")
    manifest = json.loads((old / "manifest.json").read_text())
    del manifest["sha256"]["schema.json"]
    (old / "manifest.json").write_text(json.dumps(manifest))
    (old / "schema.json").unlink()
    assert structopt.load(old).predict([["a", "b"]]) == model.predict([["a", "b"]])
    from structopt.tracker.logged_model import ARRAYS, VECTORS  # what the code inside models of that version imports

    assert (VECTORS, ARRAYS) == (("vector",), (("pixels",), ("x",)))


def test_schemas_survive_json() -> None:
    schema = Schema((Column("a", "string", 2, alias="b"), Column("v", "double", 2, False, like="a", filler=1.0)))
    assert Schema.restore(json.loads(json.dumps(schema.state()))) == schema
    filled = schema.checked({"b": [[["x", "y"], []], [["z"]]], "v": [None, [[2]]]})
    assert filled == {"a": [[["x", "y"], []], [["z"]]], "v": [[[1.0, 1.0], []], [[2.0]]]}
