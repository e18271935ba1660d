"""Columns through the command line and from Python: what is printed, saved, resumed, and
refused.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import structopt
from structopt import datasets
from structopt.command import main
from structopt.config.composition import compose
from structopt.errors import ConfigError
from structopt.task.columns.template_groups import TemplateGroups

QUICK = [
    "task=ner",
    "features.columns=all",
    "task.limit=40",
    "optimizer.epochs=2",
    "tracker=none",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of two columns, made of the shipped corpus: word, tag."""
    folder_of_files = tmp_path_factory.mktemp("two")
    for part in ("train", "dev"):
        lines = datasets.path(part, "conll").read_text(encoding="utf8").splitlines()[:800]
        rows = [line.split() for line in lines if not line.startswith("-DOCSTART-")]
        (folder_of_files / part).write_text(
            "".join(f"{row[0]} {row[3]}\n" if row else "\n" for row in rows)
        )
    return folder_of_files


@pytest.fixture(scope="module")
def run(folder: Path) -> Path:
    structopt.train(
        [*QUICK, f"task.train={folder / 'train'}", f"task.dev={folder / 'dev'}"], folder / "run"
    )
    return folder / "run"


def test_two_columns(run: Path, folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Loading needs no file; `evaluate` reads the columns that were decided."""
    model = structopt.load(run)
    assert model.columns == ("word",)
    vocabulary = json.loads((run / "model" / "vocabulary.json").read_text())
    assert vocabulary["task"]["columns"] == {"word": 0, "tag": 1}
    assert "pos[-2..2]" not in vocabulary["task"]["templates"]["label"]["templates"]
    assert model.evaluate(folder / "dev") == json.loads((run / "metrics.json").read_text())["dev"]
    assert model.evaluate(datasets.path("dev", "conll"))["f1"] > 0
    layout = "{word: 0, pos: 1, chunk: 2, tag: 3}"
    assert caplog.messages[-1].endswith(
        f"4 columns, but the training file has 2; read as {layout}."
    )


def test_printed_logged_and_resumed(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [*QUICK, f"task.train={folder / 'train'}", f"hydra.run.dir={tmp_path / 'run'}"]
    assert main.main(words) == 0
    printed = capsys.readouterr().err.splitlines()
    assert printed[0] == f"{folder / 'train'}: 2 columns, read as {{word: 0, tag: 1}}."
    left_out = (
        "features.templates: there is no column pos or chunk, so these templates are left out: "
        "'pos[-2..2]', "
    )
    assert printed[1].startswith(left_out)
    log = (tmp_path / "run" / "structopt.log").read_text()
    assert all(log.count(line) == 1 for line in printed[:2])
    assert main.main([f"resume={tmp_path / 'run'}", "optimizer.epochs=3"]) == 0
    again = structopt.train([*words[:-1], "optimizer.epochs=3"], tmp_path / "again")
    assert (structopt.load(tmp_path / "run").weights == again.weights).all()


def test_columns_are_typed_whole() -> None:
    assert compose(["task=ner", "task.columns={word:0,tag:1}"])["task"]["columns"] == {
        "word": 0,
        "tag": 1,
    }
    with pytest.raises(ConfigError) as error:
        compose(["task.columns.tag=3"])
    assert str(error.value) == (
        "'task.columns' has no keys of its own, so 'task.columns.tag' cannot be set. Write it "
        "whole, 'task.columns={tag: VALUE, "
        "...}'. task.columns: Column numbers by name, all of them, from 0 (negative: from the "
        "end), such as {word: 0, pos: 1, "
        "tag: 3}; tag is the label, the first other one the word. None: found from the number of "
        "columns of the training file."
    )
    with pytest.raises(
        ConfigError,
        match="'task.columns.chunk' cannot be set or deleted by itself. Write it whole, ",
    ):
        compose(["task=chunking", "~task.columns.chunk"])
    with pytest.raises(ConfigError, match="so 'optimizer.C.x' cannot be set. optimizer.C: 1/"):
        compose(["optimizer.C.x=3"])


@pytest.mark.parametrize(
    ("task", "columns"),
    [("ner", ["word", "pos", "chunk"]), ("chunking", ["word", "pos"]), ("tagging", ["word"])],
)
def test_the_shipped_corpus_has_a_layout(task: str, columns: list[str]) -> None:
    from structopt.config import feature_keys
    from structopt.config.validation import validate

    config = validate(compose([f"task={task}"]))
    folder_of_files = feature_keys.task_of(config)
    assert list(folder_of_files.columns) == columns


def test_a_word_list_without_a_template_is_reported(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A list that no template names has no effect."""
    (tmp_path / "towns.txt").write_text("Oslo\n")
    keys = {"templates": ["word"], "lists": {"towns": str(tmp_path / "towns.txt")}}
    TemplateGroups.of(keys)
    assert "no template uses the list 'towns'; add one to features.templates" in caplog.text
    caplog.clear()
    TemplateGroups.of({**keys, "transitions": ["list(word, towns)"]})
    assert not caplog.text
