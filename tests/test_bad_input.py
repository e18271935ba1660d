"""What users get wrong, and corners of what they may ask for, through the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

import structopt
from structopt.command import main
from structopt.formats import tag_schemes
from tests.parts import gate_cases

GOOD = "Jan NNP B-NP B-PER\nslept VBD B-VP O\n\nOslo NNP B-NP B-LOC\n"
QUICK = ["task=ner", "task.limit=60", "optimizer.epochs=2", "tracker=none"]


def failed(capsys: pytest.CaptureFixture[str], folder: Path, *words: str) -> str:
    assert main.main(["tracker=none", f"hydra.run.dir={folder / 'run'}", *words]) == 2
    *before, error = capsys.readouterr().err.splitlines()
    notes = (" columns, read as {", ": the tags are ")
    assert error.startswith("structopt: ")
    assert all(any(note in line for note in notes) for line in before)
    return error.removeprefix("structopt: ").strip()


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"Jan NNP B-NP B-PER\nslept VBD O\n", ":2: this line has 3 columns"),
        (b"Jan NNP B-NP B-PER\n\nOslo NNP B-NP X-LOC\n", ":3: tag 'X-LOC' is neither O nor"),
        (b"Jan NNP B-NP B-PER\nJ\xe9 NNP B-NP O\n", ":2: the bytes e9"),
        (b"", ": the file is empty"),
        (b"\n\n-DOCSTART- -X- O O\n", ": the file has no sentences"),
    ],
)
def test_files(tmp_path: Path, capsys: pytest.CaptureFixture[str], data: bytes, text: str) -> None:
    path = tmp_path / "train.txt"
    path.write_bytes(data)
    assert failed(capsys, tmp_path, f"task.train={path}", "task.scheme=iob2").startswith(
        f"{path}{text}"
    )


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["optimizer=nope"], "optimizer 'nope' is not installed."),
        (["+optimizer.nope=1"], "optimizer=dca has no parameter 'nope'."),
        (["optimizer.epochs=x"], "optimizer.epochs=x is not an int."),
        (["optimizer.epochs=-1"], "optimizer.epochs=-1"),
        (["task.train=/nowhere/x"], "/nowhere/x: there is no such file."),
        (["task.scheme=iob3"], "task.scheme=iob3"),
        (["task.target_scheme=iob3"], "task.target_scheme=iob3"),
        (["task.limit=0"], "task.limit=0 must be at least 1"),
        (
            ["optimizer.variant=prediction", "loss.beta=1"],
            "optimizer.variant=prediction needs loss.beta=inf",
        ),
        (["loss.cost=weighted"], "loss.cost=weighted needs loss.cost_weights"),
        (
            ["loss.cost=weighted", "loss.cost_weights={FOO: 2}"],
            "loss.cost_weights has the label 'FOO'",
        ),
        (["loss.beta=0"], "loss.beta=0"),
        (["warm_start=/nowhere"], "/nowhere: does not exist."),
    ],
)
def test_config(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], text: str
) -> None:
    assert failed(capsys, tmp_path, "task.limit=60", *words).startswith(text)


def test_one_token(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("Oslo NNP B-NP B-LOC\n")
    model = structopt.train([*QUICK, f"task.train={tmp_path / 'train.txt'}"], tmp_path / "run")
    assert model.predict([["Oslo"]]) == [["B-LOC"]]


def test_labels_that_training_never_shows(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "train.txt").write_text(GOOD)
    (tmp_path / "dev.txt").write_text(GOOD.replace("B-LOC", "B-MISC"))
    words = [f"task.{part}={tmp_path / part}.txt" for part in ("train", "dev")]
    model = structopt.train(
        [*QUICK, "keep=last", "optimizer.C=10", "optimizer.epochs=20", *words], tmp_path / "run"
    )
    assert "1 tokens have a label that the training split never shows" in caplog.text
    assert model.evaluate(tmp_path / "train.txt")["accuracy"] == 1.0
    assert model.evaluate(tmp_path / "dev.txt")["accuracy"] == pytest.approx(2 / 3)


@pytest.mark.parametrize("scheme", ["iob1", "iob2", "bioes"])
def test_valid_tags(tmp_path: Path, scheme: str) -> None:
    words = ["task.valid_tags=true", f"task.target_scheme={scheme}", "optimizer.epochs=1"]
    model = structopt.train([*QUICK, *words], tmp_path)
    sentences = [
        ["Jan", "von", "Purnman", "visited", "Oslo"],
        ["Oslo"],
        ["the", "New", "Jan", "Council", "of", "Oslo", "."],
    ] * 4
    assert all(tag_schemes.valid(output, "iob2") is None for output in model.predict(sentences))


@pytest.mark.parametrize(
    "words",
    gate_cases(
        [
            ["loss.beta=inf", "loss.gamma=1"],
            ["loss.beta=3", "loss.gamma=1"],
            ["loss=svm", "optimizer.variant=prediction"],
            ["loss=svm", "loss.cost=weighted", "loss.cost_weights={O: 0.5}"],
            ["loss=softmax_margin", "loss.cost=hamming_normalized"],
            ["factor_graph.order=2", "task.target_scheme=bioes", "task.valid_tags=true"],
            ["features.transitions=[bias, word]"],
            ["features.support=all"],
            ["task=attributes"],
            ["task=tagging", "optimizer.average=false"],
        ],
        "runs",
        3,
    ),
)
def test_what_trains(tmp_path: Path, words: list[str]) -> None:
    model = structopt.train([*QUICK[1:], *words], tmp_path)
    assert model.weights.any() and all(map(bool, map(len, model.labels)))
    assert structopt.load(tmp_path).evaluate(model.task.files["dev"])["accuracy"] > 0.3
