"""Missing labels of tokens: open with ``task.partial=true``, otherwise refused, in every format."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from structopt.errors import DataError
from structopt.task.attributes import AttributeLabelling
from structopt.task.dependency import Dependency
from structopt.task.multiclass import Multiclass
from structopt.task.multilabel import Multilabel
from structopt.task.partial_labels import MISSING
from structopt.task.sequence_labelling import GIVEN, SequenceLabelling
from tests.messages import raises

FIELDS = {
    "word": ["tokens", "word"],
    "tag": ["ner_tags", "tag"],
    "sentence": ["sentence"],
}
FIRST = {"tokens": ["Bo", "met"], "ner_tags": ["B-PER", "O"]}


def json_lines(labels: Any) -> str:
    rows = [FIRST, {"tokens": ["Ann", "slept"], "ner_tags": labels}]
    return "".join(json.dumps(row) + "\n" for row in rows)


def spacy(label: Any) -> str:
    sentences = [
        {"tokens": [{"orth": "Bo", "ner": "U-PER"}, {"orth": "met", "ner": "O"}]},
        {"tokens": [{"orth": "Ann", "ner": "U-PER"}, {"orth": "slept", "ner": label}]},
    ]
    return json.dumps([{"paragraphs": [{"sentences": sentences}]}])


FILES: list[tuple[str, str, int, list[str]]] = [
    ("null.jsonl", json_lines(["B-PER", None]), 2, ["B-PER", "_"]),
    ("empty.jsonl", json_lines(["B-PER", ""]), 2, ["B-PER", "_"]),
    ("whole.jsonl", json_lines(None), 2, ["_", "_"]),
    (
        "rows.csv",
        "sentence,word,tag\n1,Bo,B-PER\n1,met,O\n2,Ann,B-PER\n2,slept,\n",
        5,
        ["B-PER", "_"],
    ),
    (
        "lists.csv",
        'tokens,ner_tags\n"[""Bo"", ""met""]","[""B-PER"", ""O""]"\n'
        '"[""Ann"", ""slept""]","[""B-PER"", null]"\n',
        3,
        ["B-PER", "_"],
    ),
    ("whole.csv", "tokens,ner_tags\nBo met,B-PER O\nAnn slept,\n", 3, ["_", "_"]),
    ("dash.json", spacy("-"), 1, ["B-PER", "_"]),
    ("null.json", spacy(None), 1, ["B-PER", "_"]),
    ("empty.json", spacy(""), 1, ["B-PER", "_"]),
    ("tabs.txt", "Bo\tB-PER\nmet\tO\n\nAnn\tB-PER\nslept\t\n", 5, ["B-PER", "_"]),
    ("blank.txt", "Bo\tB-PER\nmet\tO\n\nAnn\tB-PER\nslept\t \n", 5, ["B-PER", "_"]),
    (
        "texts.jsonl",
        '{"text": "Bo met", "entities": [[0, 2, "PER"]]}\n{"text": "Ann slept", "entities": null}\n',
        2,
        ["_", "_"],
    ),
]


def task_of(name: str, path: Path, **options: Any) -> SequenceLabelling:
    separator = "\t" if name.endswith(".txt") else None
    return SequenceLabelling(
        str(path), layouts=["word tag"], separator=separator, fields=FIELDS, **options
    )


@pytest.mark.parametrize(("name", "text", "line", "cells"), FILES, ids=[one[0] for one in FILES])
def test_files(name: str, text: str, line: int, cells: list[str], tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf8")
    with raises(DataError, where=f"{path}:{line}", problem=MISSING):
        task_of(name, path).read(path)
    task = task_of(name, path, partial=True)
    corpus = task.read(path)
    words = [word.replace("S-", "B-") for word in corpus.sentences("tag")[1]]
    assert words == cells
    encoded = task.fit(corpus)
    free = encoded.gold_sets[2:].all(axis=1).tolist()
    assert free == [cell == "_" for cell in cells]
    assert task.read(path, labelled=False).sentences(GIVEN)[1][1] == "_"


@pytest.mark.parametrize("labels", [["B-PER", None], ["B-PER", ""], None])
def test_parquet(labels: Any, tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "train.parquet"
    rows = [FIRST, {"tokens": ["Ann", "slept"], "ner_tags": labels}, FIRST]
    parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    with raises(DataError, where=f"{path}:2", problem=MISSING):
        task_of("train.parquet", path).read(path)
    cells = task_of("train.parquet", path, partial=True).read(path).sentences("tag")
    assert cells == [
        FIRST["ner_tags"],
        ["B-PER", "_"] if labels else ["_", "_"],
        FIRST["ner_tags"],
    ]


NAN = [float("nan"), np.float32("nan"), pd.NA, pd.NaT]
"""Values that stand for a missing one."""


@pytest.mark.parametrize("label", [None, "", " ", *NAN], ids=repr)
def test_missing_classes_and_labels_of_vectors_are_refused(label: Any) -> None:
    rows = [[1.0, 2.0], [1.0, 0.0]]
    with raises(DataError, line=2, match="the instance has no class"):
        Multiclass().labelled(rows, ["a", label])
    with raises(DataError, line=2, match="the instance has a label without a name"):
        Multilabel().labelled(rows, [["a"], ["a", label]])


@pytest.mark.parametrize("label", [None, *NAN], ids=repr)
def test_missing_heads_and_relations_are_open(label: Any) -> None:
    """A head that is missing is -1."""
    task = Dependency(partial=True)
    outputs = [[(0, "root"), (1, label)], [(2, "obj"), label]]
    corpus = task.labelled([["Ann", "slept"]] * 2, outputs)
    assert corpus.heads is not None
    assert (corpus.heads.tolist(), corpus.relations) == ([0, 1, 2, -1], ["root", "_", "obj", "_"])
    with raises(DataError, match="the head of word 2 is missing"):
        Dependency().labelled([["Ann", "slept"]], [[0, label]])


@pytest.mark.parametrize(
    "labels", [None, *(["B-PER", label] for label in (None, "", *NAN))], ids=repr
)
@pytest.mark.parametrize(
    "create",
    [
        lambda **options: SequenceLabelling(layouts=["word tag"], **options),
        AttributeLabelling,
    ],
)
def test_labels_in_memory(labels: Any, create: Callable[..., Any]) -> None:
    attributes = create is AttributeLabelling
    sentences: Any = [[["w"], ["v"]]] * 2 if attributes else [["w", "v"]] * 2
    outputs = [["B-PER", "O"], labels]
    with raises(DataError, line=2, problem=MISSING):
        create().labelled(sentences, outputs)
    task = create(partial=True)
    encoded = task.fit(task.labelled(sentences, outputs))
    assert encoded.gold_sets[2:].all(axis=1).tolist() == [labels is None, True]


def test_blocks(tmp_path: Path) -> None:
    path = tmp_path / "train.txt"
    path.write_text("Bo\tO\nAnn\t\n")
    with raises(DataError, where=f"{path}:2", problem=MISSING):
        list(task_of("train.txt", path).blocks(path))
