"""The task on columns: schemes, given labels, files to predict, state."""

from __future__ import annotations

from pathlib import Path

import pytest

from structopt.config import registry
from structopt.config.composition import compose
from structopt.errors import ArgumentError, ConfigError, DataError
from structopt.task.sequence_labelling import SequenceLabelling
from tests.messages import raises

TEXT = "a I-X\nb I-X\nc B-X\n\nd O\ne I-Y\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "t.txt").write_text(TEXT)
    return tmp_path / "t.txt"


@pytest.mark.parametrize(
    ("target", "gold"),
    [
        ("iob1", ["I-X", "I-X", "B-X", "O", "I-Y"]),
        ("iob2", ["B-X", "I-X", "B-X", "O", "B-Y"]),
        ("bioes", ["B-X", "E-X", "S-X", "O", "S-Y"]),
    ],
)
def test_learnt_scheme(path: Path, target: str, gold: list[str]) -> None:
    task = SequenceLabelling(target_scheme=target)
    corpus = task.read(path)
    encoded = task.fit(corpus)
    assert encoded.gold is not None and [task.labels[y] for y in encoded.gold] == gold
    outputs = task.decode(encoded, encoded.gold)
    assert (
        task.gold_outputs(corpus) == task.written(outputs) == [["I-X", "I-X", "B-X"], ["O", "I-Y"]]
    )
    scores = task.evaluate(corpus, outputs)
    assert (scores["f1"], scores["accuracy"]) == (1.0, 1.0)


def test_labels_of_a_scheme_can_be_learnt_as_they_stand(path: Path) -> None:
    task = SequenceLabelling(target_scheme="none")
    corpus = task.read(path)
    outputs = task.decode(task.fit(corpus), task.encode(corpus).gold)
    assert task.written(outputs) == outputs == task.gold_outputs(corpus)
    assert task.evaluate(corpus, outputs)["f1"] == 1.0


def allowed(task: SequenceLabelling, given: list[str]) -> list[set[str]]:
    table = task.encode(task.corpus([["a"] * len(given)]), given).allowed
    assert table is not None
    return [
        {label for label, keep in zip(task.labels, row, strict=True) if keep}
        for row in table.tolist()
    ]


def test_given_labels_in_the_scheme_of_the_files(path: Path) -> None:
    task = SequenceLabelling(target_scheme="bioes")
    task.fit(task.read(path))
    given = allowed(task, ["_", "?", "O", "B-X", "I-X"])
    assert given == [
        set(task.labels),
        set(task.labels),
        {"O"},
        {"B-X", "S-X"},
        {"B-X", "E-X", "S-X"},
    ]
    for cell, label in (("B-Z", "B-Z"), ("X", "X"), ("", ""), ("O|B-Z", "B-Z")):
        with raises(ArgumentError, parameter="given", value=label):
            allowed(task, ["O", cell])


def test_given_labels_in_memory(path: Path) -> None:
    task = SequenceLabelling()
    task.fit(task.read(path))
    corpus = task.corpus([["a"], ["b", "c"]])
    cells = task.kept_outputs(corpus, [None, ["B-X", "O|ZZ"]])
    with raises(ArgumentError, parameter="given", value="ZZ", where="instance 1, position 1"):
        task.encode(corpus, cells)


def test_the_last_column_of_a_file_to_predict_may_be_anything(path: Path, tmp_path: Path) -> None:
    task = SequenceLabelling(
        columns={"word": 0, "pos": 1, "tag": -1},
        features={"templates": ["word", "pos"]},
        scheme="iob1",
    )
    (tmp_path / "train.txt").write_text(TEXT.replace(" ", " P "))
    task.fit(task.read(tmp_path / "train.txt"))
    (tmp_path / "in.txt").write_text("a NN\nb _\n")
    corpus = task.read(tmp_path / "in.txt", labelled=False)
    assert task.missing_columns(corpus) == []
    assert task.encode(corpus).gold is None
    assert task.given_labels(corpus) == ["NN", "_"]


def test_unlabelled_input_has_nothing_to_compare_with(path: Path) -> None:
    task = SequenceLabelling()
    task.fit(task.read(path))
    with pytest.raises(DataError, match="has no labels to compare with"):
        task.gold_outputs(task.corpus([["a"]]))


@pytest.mark.parametrize("columns", [{"word": 0}, {"tag": 0}])
def test_columns_that_are_refused(columns: dict[str, int]) -> None:
    with pytest.raises(ConfigError, match="task.columns needs 'tag'"):
        SequenceLabelling(columns=columns)


@pytest.mark.parametrize(
    ("columns", "read"), [("words", {"word"}), ("all", {"word", "pos", "chunk"})]
)
def test_the_default_templates_of_entities_read_the_words(columns: str, read: set[str]) -> None:
    config = compose(["task=ner", f"features.columns={columns}"])
    task = registry.create(
        "task",
        config["task"],
        features={
            k: v
            for k, v in config["features"].items()
            if k in SequenceLabelling.reading.__annotations__
        },
    )
    assert set(task._templates.columns) == read
