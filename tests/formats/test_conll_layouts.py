"""Columns that are typed, chosen by the width of the training file, or refused."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from structopt.errors import ConfigError, DataError
from structopt.formats import conll_reader
from structopt.formats.conll_layouts import Layouts
from structopt.formats.trees.conllu import LAYOUT as CONLLU
from structopt.formats.trees.conllx import LAYOUT as CONLLX
from structopt.formats.trees.penn_columns import LAYOUT as PENN
from structopt.task.sequence_labelling import SequenceLabelling
from tests.messages import raises

FILE = "train.txt"
NER = ["word tag", "word pos tag", "word pos chunk tag"]
TEMPLATES = {"templates": ["bias", "word", "pos[-1..1]", "chunk & word"]}
ROWS = "Ann NNP B-NP B-PER\nslept VBD B-VP O\n\nOslo NNP B-NP B-LOC\n"


def cut(digits: str, rows: str = ROWS) -> str:
    """Some columns of the rows."""
    keep = [int(digit) for digit in digits]
    return "\n".join(
        " ".join(line.split()[k] for k in keep) if line else "" for line in rows.split("\n")
    )


def fitted(path: Path, **options: Any) -> SequenceLabelling:
    task = SequenceLabelling(**{"layouts": NER, "features": TEMPLATES, **options})
    task.fit(task.read(path))
    return task


def templates(task: SequenceLabelling, name: str = "label") -> list[str]:
    values, _ = task.state()
    return values["templates"][name]["templates"]


@pytest.mark.parametrize(
    ("columns", "text"),
    [
        (
            {"word": 0, "pos": 0, "tag": 1},
            "'word' and 'pos' are both column 0: .* as in 'task.columns={word: 0, tag: 1}'",
        ),
        (
            {"word": 0, "tag": -1, "chunk": -1},
            "'tag' and 'chunk' are both column -1: .* as in 'task.columns={word: 0, tag: -1}'",
        ),
        (
            {"word": 0, "tag": 0},
            "'word' and 'tag' are both column 0: give each a column of its own, or leave one "
            "out\\.",
        ),
        (
            {"word": 0},
            "task.columns needs 'tag' and at least one other column. Set all of them, such as "
            "'task.columns={",
        ),
        ({}, "task.columns needs 'tag'"),
    ],
)
def test_typed_columns_that_are_refused(columns: dict[str, int], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        SequenceLabelling(columns=columns)


def test_the_label_is_no_feature(make: Any) -> None:
    """Counted from the end, the label is the column that another name has: refused, with what to
    type.
    """
    path = make("\n" + cut("013"))
    with pytest.raises(DataError) as error:
        fitted(path, columns={"word": 0, "pos": 1, "chunk": 2, "tag": -1})
    assert str(error.value) == (
        f"{path}:2: this line has 3 columns, so that 'chunk' (2) and 'tag' (-1) are one column: "
        "give each a column of its own, "
        "or leave one out: 'task.columns={word: 0, pos: 1, tag: -1}'."
    )
    with pytest.raises(
        ConfigError, match="template 'tag': unknown column 'tag'; the columns are word, pos"
    ):
        fitted(path, features={"templates": ["tag"]})


def test_a_shorter_file_moves_no_column_onto_another(make: Any) -> None:
    """Of unlabelled input, a feature that is counted from the end is absent where another one
    stands; the label is as before.
    """
    path = make("a X\n")
    numbers = {"word": 0, "pos": 1, "chunk": -1, "tag": -2}
    columns_read = conll_reader.read(
        path, numbers, optional=("pos", "chunk", "tag"), shared=("tag",)
    )
    assert columns_read.numbers == {"word": 0, "pos": 1}
    columns_read = conll_reader.read(
        path, {"word": 0, "pos": 1, "tag": -1}, optional=("pos", "tag"), shared=("tag",)
    )
    assert columns_read.numbers == {"word": 0, "pos": 1, "tag": 1}


@pytest.mark.parametrize("layout", [CONLLU, CONLLX, PENN], ids=lambda layout: layout.title)
def test_trees_read_no_answer_as_a_feature(layout: Any) -> None:
    answers = [layout.numbers[name] for name in ("head", "deprel") if name in layout.numbers]
    assert len(set(answers)) == len(answers)
    assert all(
        number not in answers
        for name, number in layout.numbers.items()
        if name not in ("head", "deprel")
    )


@pytest.mark.parametrize(
    ("digits", "columns", "left"),
    [
        ("03", {"word": 0, "tag": 1}, ["bias", "word"]),
        ("013", {"word": 0, "pos": 1, "tag": 2}, ["bias", "word", "pos[-1..1]"]),
        ("0123", {"word": 0, "pos": 1, "chunk": 2, "tag": 3}, TEMPLATES["templates"]),
    ],
)
def test_columns_are_found(
    make: Any,
    caplog: pytest.LogCaptureFixture,
    digits: str,
    columns: dict[str, int],
    left: list[str],
) -> None:
    path = make(cut(digits))
    task = fitted(path, train=str(path))
    assert (task.columns, templates(task)) == (tuple(columns)[:-1], left)
    # before it is read
    assert SequenceLabelling(train=str(path), layouts=NER).columns == task.columns
    first, *rest, scheme = caplog.messages
    assert scheme == f"{path}: the tags are iob2 (task.scheme=auto)."
    shown = ", ".join(f"{name}: {number}" for name, number in columns.items())
    assert first == f"{path}: {len(columns)} columns, read as {{{shown}}}."
    if digits == "03":
        names = "'pos[-1..1]', 'chunk & word'"
        assert rest == [
            "features.templates: there is no column pos or chunk, so these templates are left "
            f"out: {names}."
        ]
    values, arrays = task.state()
    other = SequenceLabelling(layouts=NER)
    other.restore(json.loads(json.dumps(values)), arrays)
    assert (other.columns, other.read(path).cells) == (task.columns, task.read(path).cells)
    del values["width"], values["found"]  # as of models that were saved before
    other.restore(values, arrays)
    assert other.columns == task.columns


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "\na b c d e\n",
            ":2: this line has 5 columns, but layouts are known for 2 (word tag), 3 (word pos "
            "tag), 4 (word pos chunk "
            "tag): set it, such as 'task.columns={word: 0, pos: 1, tag: 4}', or set "
            "task.separator.",
        ),
        ("a\n", ":1: this line has 1 column, but .*: check the file, or set task.separator."),
    ],
)
def test_other_widths_are_asked_for(make: Any, text: str, message: str) -> None:
    path = make(text)
    for ask in (
        lambda: fitted(path),
        lambda: SequenceLabelling(train=str(path), layouts=NER).columns,
    ):
        with pytest.raises(DataError) as error:
            ask()
        start, _, end = message.partition(".*")
        assert str(error.value).startswith(f"{path}{start}") and str(error.value).endswith(end)


def test_what_is_typed_wins(make: Any, caplog: pytest.LogCaptureFixture) -> None:
    task = fitted(make(ROWS), columns={"word": 0, "tag": 3})
    assert (task.columns, templates(task)) == (("word",), ["bias", "word"])
    assert not any("read as" in record.getMessage() for record in caplog.records)
    # of any width that has these columns
    assert task.read(make("Bo x y B-PER z\n", "dev.txt")).cells["tag"] == ["B-PER"]


WIDTHS = (
    "this line has {}, but the training file has 4, read as {{word: 0, pos: 1, chunk: 2, tag: 3}}."
)


def test_labelled_files_of_another_width(make: Any, caplog: pytest.LogCaptureFixture) -> None:
    """They are read by the layout of their width if it has all columns that the features read."""
    task, dev, wide = fitted(make(ROWS)), make(cut("013"), "dev.txt"), make("Bo x y z B-PER\n", "w")
    remedy = "Give labelled files the columns of the training file"
    padded = ", or set task.missing=pad to read missing columns (chunk) as empty."
    with raises(DataError, line=1, problem=WIDTHS.format("3 columns"), remedy=remedy + padded):
        task.read(dev)
    task.missing = "pad"
    assert set(task.read(dev).cells) == {"word", "pos", "tag"}
    words = fitted(make(ROWS), features={"templates": ["word"]})
    caplog.clear()
    corpus = words.read(dev)
    assert corpus.cells["tag"] == words.read(make(ROWS)).cells["tag"]
    assert caplog.messages == [
        f"{dev}: 3 columns, but the training file has 4; read as {{word: 0, pos: 1, tag: 2}}."
    ]
    with raises(DataError, line=1, problem=WIDTHS.format("5 columns"), remedy=f"{remedy}."):
        words.read(wide)


@pytest.mark.parametrize(
    ("digits", "cells", "with_tags", "note"),
    [
        ("0123", {"word", "pos", "chunk"}, True, ""),
        (
            "012",
            {"word", "pos", "chunk"},
            False,
            "3 columns, but the training file has 4; read as {word: 0, pos: 1, chunk: 2}",
        ),
        (
            "01",
            {"word", "pos"},
            False,
            "2 columns, but the training file has 4; read as {word: 0, pos: 1}, without labels.",
        ),
        (
            "0",
            {"word"},
            False,
            "1 column, but the training file has 4; read as {word: 0}, without labels.",
        ),
    ],
)
def test_files_to_predict(
    make: Any,
    caplog: pytest.LogCaptureFixture,
    digits: str,
    cells: set[str],
    with_tags: bool,
    note: str,
) -> None:
    task, path = fitted(make(ROWS)), make(cut(digits), "new.txt")
    caplog.clear()
    corpus = task.read(path, labelled=False)
    assert set(task._inputs(corpus)) == cells
    assert task.given_labels(corpus) == (["B-PER", "O", "B-LOC"] if with_tags else None)
    assert task.encode(corpus).gold is None
    messages = [record.getMessage() for record in caplog.records]
    assert [message.startswith(f"{path}: {note}") for message in messages] == (
        [True] if note else []
    )


@pytest.mark.parametrize("columns", [None, {"word": 0, "pos": 1, "chunk": 2, "tag": -1}])
@pytest.mark.parametrize(("digits", "name", "number"), [("013", "chunk", 2), ("03", "pos", 1)])
def test_labels_are_not_predicted_from(
    make: Any, columns: Any, digits: str, name: str, number: int
) -> None:
    """A file of words and labels, of other columns than the training file, is not taken for one
    without labels.
    """
    features = {"templates": ["bias", "word", "pos", "chunk"]}
    task, path = (
        fitted(make(ROWS), columns=columns, features=features),
        make("\n" + cut(digits), "new.txt"),
    )
    with pytest.raises(DataError) as error:
        task.read(path, labelled=False)
    text = (
        f"'B-PER' is a label, but stands in column {number}, which would be read as '{name}': "
        "give all columns"
    )
    assert str(error.value) == f"{path}:2: {text} (word, pos, chunk, tag), or leave the labels out."
    with pytest.raises(
        DataError, match=f"<memory>:2: 'B-PER' is a label, but stands in column {number}"
    ):
        task.corpus(
            [[("a", "NNP", "B-NP")[: number + 1]], [tuple(cut(digits).split("\n")[0].split())]]
        )


def test_templates_on_transitions(make: Any, caplog: pytest.LogCaptureFixture) -> None:
    path = make(cut("03"))
    task = fitted(path, features={"templates": ["word"], "transitions": ["bias", "pos"]})
    assert templates(task, "transition") == ["bias"]
    task = fitted(path, features={"templates": ["word"], "transitions": ["pos"]})
    assert "transition" not in task.encode(task.read(path)).tables
    assert caplog.messages[-2] == (
        "features.transitions: there is no column pos or chunk, so these templates are left out: "
        "'pos'; none is left, so that "
        "transitions have no features."
    )


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        (
            ["pos"],
            "pos or chunk: 'pos'. Columns: word; set templates on these, such as "
            "'features.templates=\\[word\\]'",
        ),
        (["word", "pso"], "template 'pso': unknown column 'pso'; the columns are word"),
    ],
)
def test_templates_that_are_refused(make: Any, lines: list[str], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        fitted(make(cut("03")), features={"templates": lines})


def test_word_lists_of_templates_that_are_left_out(make: Any, tmp_path: Path) -> None:
    (tmp_path / "tags.txt").write_text("NNP\n")
    features = {
        "templates": ["word", "list(pos, tags)"],
        "lists": {"tags": str(tmp_path / "tags.txt")},
    }
    assert templates(fitted(make(cut("03")), features=features)) == ["word"]


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        (
            ["word"],
            "task.layouts: 'word' is not a layout: name the columns from left to right, each once, "
            "one of them tag",
        ),
        (["word word tag"], "is not a layout"),
        (["_ tag"], "is not a layout"),
        (
            ["word tag", "form tag"],
            "task.layouts: 'word tag' and 'form tag' both have 2 columns: keep one of them.",
        ),
    ],
)
def test_layouts_that_are_refused(lines: list[str], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        Layouts(lines)


def test_columns_that_are_not_read(make: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    task = SequenceLabelling(layouts=["word tag _ _"], scheme="none", target_scheme="none")
    corpus = task.read(make(ROWS))
    assert corpus.cells == {"word": ["Ann", "slept", "Oslo"], "tag": ["NNP", "VBD", "NNP"]}
