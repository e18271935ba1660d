"""Models as tables: of every task the schemas, what MLflow makes of them, and tables of other
forms.
"""

from __future__ import annotations

import json
import logging
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import suppress
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import structopt
from structopt.core.data.table_schema import Column, Schema
from structopt.errors import DataError
from tests.pages import ROOT, blocks
from tests.parts import gate_cases
from tests.stores import EmptyStores
from tests.trained import RUNS, TrainedRuns

FEW = ["optimizer.epochs=1", "objective_every=0"]
TASKS = tuple(RUNS)
SIGNATURES: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "ner": (
        {"tokens": "array(string)", "pos": "array(string)?", "chunk": "array(string)?"},
        {"labels": "array(string)"},
    ),
    "chunking": ({"tokens": "array(string)", "pos": "array(string)?"}, {"labels": "array(string)"}),
    "tagging": ({"tokens": "array(string)"}, {"labels": "array(string)"}),
    "attributes": (
        {"tokens": "array(array(string))", "values": "array(array(double))?"},
        {"labels": "array(string)"},
    ),
    "constituency": ({"tokens": "array(string)", "tags": "array(string)?"}, {"tree": "string"}),
    "dependency": (
        {"tokens": "array(string)"}
        | dict.fromkeys(("lemma", "upos", "xpos", "feats"), "array(string)?"),
        {"heads": "array(long)", "relations": "array(string)"},
    ),
    "multiclass": ({"indices": "array(long)", "values": "array(double)?"}, {"labels": "string"}),
    "multilabel": (
        {"indices": "array(long)", "values": "array(double)?"},
        {"labels": "array(string)"},
    ),
    "grid": ({"pixels": "array(array(array(double)))"}, {"labels": "array(array(long))"}),
    "synthetic": ({"x": "array(double)"}, {"labels": "array(long)"}),
    "coreference": (
        {
            "sentences": "array(array(string))",
            "mentions": "array(array(long))",
            "xpos": "array(array(string))?",
        },
        {"clusters": "array(array(array(long)))"},
    ),
    "summarization": ({"sentences": "array(string)"}, {"extract": "array(long)"}),
}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, empty_store: EmptyStores) -> Any:
    """A function from a task to its model and to what MLflow loads of it; each is trained once."""
    import mlflow

    root, known = tmp_path_factory.mktemp("serving"), dict[str, tuple[Any, Any]]()
    uri = empty_store(root / "mlflow.db")

    def make(task: str) -> tuple[Any, Any]:
        if task not in known:
            words = [*FEW, *RUNS[task], f"tracker.uri={uri}", f"tracker.experiment={task}"]
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


@pytest.mark.nightly("runs")
@pytest.mark.parametrize("task", TASKS)
def test_signature_and_example_are_the_task_s(served: Any, task: str) -> None:
    model, loaded = served(task)
    signature = loaded.metadata.signature
    assert (written(signature.inputs), written(signature.outputs)) == SIGNATURES[task]
    example = model.task.input_example()
    found = loaded.predict(pd.DataFrame(example))
    assert (
        found.to_dict("list")
        == model.predict_table(example)
        == model.output_table(model.predict_columns(example))
    )
    assert as_a_server(loaded, example) == found.to_dict("list")


def as_a_server(loaded: Any, table: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """What an MLflow server answers to the rows of a table as JSON."""
    rows = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
    answer = answered(loaded, {"dataframe_records": rows})
    return pd.DataFrame(answer["predictions"]).to_dict("list")


def answered(loaded: Any, request: dict[str, Any]) -> dict[str, Any]:
    """What an MLflow server answers to a request."""
    from mlflow.pyfunc.scoring_server import invocations

    answer = invocations(
        json.dumps(request), "application/json", loaded, loaded.metadata.get_input_schema()
    )
    found: dict[str, Any] = json.loads(answer.response)
    return found


SERVING = (ROOT / "docs" / "serving.md").read_text(encoding="utf8")


def documented(task: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The request and the answer that docs/serving.md shows for a task."""
    sections = re.split(r"^### (.*)\n", SERVING.partition("\n## Streams")[0], flags=re.MULTILINE)
    (section,) = [
        text
        for head, text in zip(sections[1::2], sections[2::2], strict=True)
        if task in head.split(", ")
    ]
    request, answer = (
        json.loads(block.text) for block in blocks(section) if block.language == "json"
    )
    return request, answer


def shape(value: Any) -> Any:
    """A value of JSON with its labels and numbers left out."""
    return [shape(one) for one in value] if isinstance(value, list) else type(value).__name__


@pytest.mark.nightly("runs")
@pytest.mark.parametrize("task", TASKS)
def test_documented_requests_are_answered(served: Any, task: str) -> None:
    """The request of the page is answered as the model predicts, in the form that the page
    shows.
    """
    model, loaded = served(task)
    request, shown = documented(task)
    rows = request["dataframe_records"]
    answer = answered(loaded, request)["predictions"]
    table = {
        column.name: [row.get(column.name) for row in rows]
        for column in model.task.input_schema
        if column.name in rows[0]
    }
    assert pd.DataFrame(answer).to_dict("list") == model.predict_table(table)
    assert {tuple(row) for row in shown["predictions"]} == {
        tuple(column.name for column in model.task.output_schema)
    }
    for row, example in zip(answer, shown["predictions"], strict=True):
        for name, cell in row.items():
            # how many there are, the model decides
            ragged = task in ("coreference", "summarization", "multilabel")
            found, due = shape(cell), shape(example[name])
            assert found == due if not ragged else isinstance(found, list)


@pytest.mark.nightly("runs")
def test_a_server_answers(served: Any, tmp_path: Path) -> None:
    """`mlflow models serve`, and what it answers to a request that is wrong."""
    model, _ = served("ner")
    import mlflow

    (run,) = mlflow.search_runs(experiment_names=["ner"]).run_id
    port, request = free_port(), documented("ner")[0]
    command = [
        sys.executable,
        "-m",
        "mlflow",
        "models",
        "serve",
        "--env-manager",
        "local",
        "-m",
        f"runs:/{run}/model",
    ]
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    if shutil.which("uvicorn", path=path) is None:
        pytest.skip("MLflow's server needs uvicorn on the path")
    environment = {**os.environ, "PATH": path, "MLFLOW_TRACKING_URI": mlflow.get_tracking_uri()}
    with (
        (tmp_path / "log").open("wb") as log,
        subprocess.Popen(
            [*command, "-p", str(port)],
            env=environment,
            stdout=log,
            stderr=log,
            start_new_session=True,
        ) as server,
    ):
        try:
            wait_for(f"http://127.0.0.1:{port}/ping", server, tmp_path / "log")
            answer = post(port, request)
            assert [row["labels"] for row in answer["predictions"]] == answered_in_memory(
                model, request
            )
            with pytest.raises(urllib.error.HTTPError, match="400"):
                post(port, {"dataframe_records": [{"words": ["Ann"]}]})
        finally:
            with suppress(ProcessLookupError):
                os.killpg(server.pid, signal.SIGTERM)


def answered_in_memory(model: Any, request: dict[str, Any]) -> list[list[str]]:
    rows = request["dataframe_records"]
    table = {name: [row.get(name) for row in rows] for name in ("tokens", "pos", "chunk")}
    labels: list[list[str]] = model.predict_table(table)["labels"]
    return labels


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def wait_for(address: str, server: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(600):
        assert server.poll() is None, log.read_text()
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except OSError:
            time.sleep(0.2)
    raise AssertionError(log.read_text())


def post(port: int, request: dict[str, Any]) -> dict[str, Any]:
    sent = urllib.request.Request(
        f"http://127.0.0.1:{port}/invocations",
        json.dumps(request).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(sent, timeout=60) as answer:
        found: dict[str, Any] = json.load(answer)
    return found


@pytest.mark.parametrize("task", gate_cases(TASKS, "runs", ("ner", "constituency")))
def test_as_many_outputs_as_inputs(trained: TrainedRuns, task: str) -> None:
    model = structopt.load(trained(task))
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


@pytest.mark.nightly("runs")
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
    text = (
        "<table>:1: a cell of 'tokens' must be a list of lists of strings; this one is ['w=Ann', "
        "'w=sleeps']."
    )
    assert str(refused.value) == text


def test_what_other_tables_are_told(trained: TrainedRuns) -> None:
    model = structopt.load(trained("ner"))
    cases: list[tuple[dict[str, Any], str]] = [
        (
            {"pos": [["NNP"]]},
            "<table>: there is no column 'tokens'. The columns are: tokens (a list of strings), "
            "pos (a list of",
        ),
        (
            {"tokens": ["Ann sleeps"]},
            "<table>:1: a cell of 'tokens' must be a list of strings; this one is 'Ann sleeps'.",
        ),
        (
            {"tokens": "Ann"},
            "<table>: 'tokens' must have a cell a row, each a list of strings; it is 'Ann'.",
        ),
        (
            {"tokens": [["a"], [["b"]]]},
            "<table>:2: a cell of 'tokens' must be a list of strings; this one is [['b']].",
        ),
        (
            {"tokens": [["a", "b"]], "pos": [["X"]]},
            "<table>:1: 'pos' has 1 entries for 2 of 'tokens': there must be as many.",
        ),
        (
            {"tokens": [["a"], ["b"]], "pos": [["X"]]},
            "<table>: 'pos' has 1 rows and 'tokens' 2: give as many of both.",
        ),
    ]
    for table, text in cases:
        with pytest.raises(DataError) as refused:
            model.predict_table(table)
        assert str(refused.value).startswith(text)
        assert "\n" not in str(refused.value)


def test_images_have_as_many_pixels_in_every_row(trained: TrainedRuns) -> None:
    model = structopt.load(trained("grid"))
    with pytest.raises(
        DataError, match="<table>:1: the rows of an image must have as many pixels each"
    ):
        model.predict_columns({"pixels": [[[[0.0] * 3] * 2, [[0.0] * 3]]]})


@pytest.mark.nightly("runs")
def test_a_missing_column_is_padding_and_said_once(
    served: Any, caplog: pytest.LogCaptureFixture
) -> None:
    model, loaded = served("ner")
    frame = pd.DataFrame({"tokens": [["Ann", "sleeps"], ["ok"]], "pos": [["NNP", "VBZ"], None]})
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            found = loaded.predict(frame)["labels"].tolist()
    assert len([record for record in caplog.records if "'chunk'" in record.getMessage()]) == 1
    assert found == model.predict(
        [{"word": ["Ann", "sleeps"], "pos": ["NNP", "VBZ"]}, {"word": ["ok"], "pos": [""]}]
    )
    words = [["Ann", "sleeps"], ["ok"]]
    assert model.predict_columns({"word": words, "pos": [["", ""], [""]]}) == model.predict(words)


def test_outputs_of_another_number_are_an_error(
    trained: TrainedRuns, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = structopt.load(trained("tagging"))
    monkeypatch.setattr(
        type(model.task), "output_table", lambda self, outputs: {"labels": [["X"] for _ in outputs]}
    )
    with pytest.raises(
        DataError,
        match="<table>:1: 'labels' has 1 entries for 2 of 'tokens': there must be as many",
    ):
        model.predict_table({"tokens": [["a", "b"]]})


def test_a_model_without_schema_is_read(trained: TrainedRuns, tmp_path: Path) -> None:
    """Models that were saved by version 0.1.0 have no schema.json."""
    import shutil

    model = structopt.load(trained("tagging"))
    model.save(tmp_path / "new")
    old = shutil.copytree(tmp_path / "new", tmp_path / "old")
    manifest = json.loads((old / "manifest.json").read_text())
    del manifest["sha256"]["schema.json"]
    (old / "manifest.json").write_text(json.dumps(manifest))
    (old / "schema.json").unlink()
    assert structopt.load(old).predict([["a", "b"]]) == model.predict([["a", "b"]])
    # what the code inside models of that version imports
    from structopt.tracker.logged_model import ARRAYS, VECTORS

    assert (VECTORS, ARRAYS) == (("vector",), (("pixels",), ("x",)))


def test_schemas_survive_json() -> None:
    schema = Schema(
        (Column("a", "string", 2, alias="b"), Column("v", "double", 2, False, like="a", filler=1.0))
    )
    assert Schema.restore(json.loads(json.dumps(schema.state()))) == schema
    filled = schema.checked({"b": [[["x", "y"], []], [["z"]]], "v": [None, [[2]]]})
    assert filled == {"a": [[["x", "y"], []], [["z"]]], "v": [[[1.0, 1.0], []], [[2.0]]]}
