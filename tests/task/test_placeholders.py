"""Columns that are ``_`` throughout: labels are refused, input columns are reported."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from structopt.errors import DataError
from structopt.task.attributes import AttributeLabelling
from structopt.task.coreference.coreference import Coreference
from structopt.task.dependency import Dependency
from structopt.task.sequence_labelling import SequenceLabelling
from tests.messages import raises

FORMATS = {
    "tags.txt": "Ann _\nslept _\n",
    "tags.jsonl": json.dumps({"tokens": ["Ann", "slept"], "tags": ["_", "_"]}) + "\n",
    "tags.csv": "sentence #,tokens,tags\n1,Ann,_\n1,slept,_\n",
}


@pytest.mark.parametrize("name", FORMATS)
def test_labels_are_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(FORMATS[name])
    line = 1 if name != "tags.csv" else 2
    options = {"fields": {"word": ["tokens"], "tag": ["tags"], "sentence": ["sentence #"]}}
    with raises(DataError, line=line, match="every label of this file is '_'"):
        SequenceLabelling(**options).read(path)
    SequenceLabelling(**options).read(path, labelled=False)
    SequenceLabelling(**options, partial=True).read(path)


def test_labels_of_attributes_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "attributes.txt"
    path.write_text("_\tw=Ann\n_\tw=slept\n")
    with raises(DataError, line=1, match="every label of this file is '_'"):
        AttributeLabelling().read(path)
    AttributeLabelling().read(path, labelled=False)


def test_a_label_of_the_training_file_may_be_the_only_one(tmp_path: Path) -> None:
    task, path = SequenceLabelling(scheme="none"), tmp_path / "tags.txt"
    path.write_text("Ann NAME\nslept _\n")
    task.fit(task.read(path))
    path.write_text("slept _\n")
    task.read(path)


def test_input_columns_are_reported(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    path = tmp_path / "tags.txt"
    path.write_text("Ann _ B-PER\nslept _ O\n")
    task = SequenceLabelling(
        columns={"word": 0, "pos": 1, "tag": 2}, features={"templates": ["word", "pos"]}
    )
    task.fit(task.read(path))
    assert f"{path}: pos is '_' in every line, so features of this column are constant." in (
        caplog.messages
    )


def test_columns_of_trees_are_reported(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    path = tmp_path / "trees.conllu"
    rows = [["1", "Ann", "_", "_", "_", "_", "2", "_", "_", "_"]]
    rows += [["2", "slept", "_", "_", "_", "_", "0", "_", "_", "_"]]
    path.write_text("\n".join(map("\t".join, rows)) + "\n\n")
    task = Dependency(features={"templates": ["h.upos & m.form"]})
    task.fit(task.read(path))
    (message,) = caplog.messages
    assert message.startswith(f"{path}: upos, deprel are '_' in every line")


@pytest.mark.parametrize("tag", ["_", "-", "NNP"])
def test_documents_without_tags_are_reported(
    tag: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    path = tmp_path / "a.conll"
    path.write_text(f"#begin document (d); part 000\nd 0 0 Ann {tag} (0)\n\n#end document\n")
    task = Coreference(features={"new": ["m.head_tag"], "links": ["m.head & a.head"]})
    task.fit(task.read(path))
    message = f"{path}: no word has a part-of-speech tag, so features of tags are constant."
    assert (message in caplog.messages) == (tag != "NNP")
