"""The scheme of tags that a task detects, from files and from memory, whole and in blocks."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from structopt.errors import DataError
from structopt.task.attributes import AttributeLabelling
from structopt.task.sequence_labelling import SequenceLabelling
from tests.messages import raises

REGULAR = ["B-PER", "I-PER", "O", "B-LOC", "I-LOC", "O"]


def columns(tags: list[str]) -> str:
    """A file with one sentence per tag, after three regular ones."""
    sentences = [*[REGULAR] * 3, *([tag] for tag in tags)]
    return "\n\n".join("\n".join(f"w\t{tag}" for tag in one) for one in sentences) + "\n"


def attributes(tags: list[str]) -> str:
    """The same sentences in CRFsuite's text."""
    sentences = [*[REGULAR] * 3, *([tag] for tag in tags)]
    return "\n\n".join("\n".join(f"{tag}\tw" for tag in one) for one in sentences) + "\n"


TASKS = {
    "columns": (lambda path, **rest: SequenceLabelling(path, columns=COLUMNS, **rest), columns),
    "attributes": (lambda path, **rest: AttributeLabelling(path, **rest), attributes),
}
COLUMNS = {"word": 0, "tag": 1}
FIRST_LINE = 3 * (len(REGULAR) + 1) + 1


def learned(form: str, folder: Path, tags: list[str], blocks: bool = False, **options: Any) -> Any:
    """A task that has learned from a file."""
    create, text = TASKS[form]
    path = folder / "train.txt"
    path.write_text(text(tags), encoding="utf8")
    task = create(str(path), **options)
    if not blocks:
        task.fit(task.read(path))
        return task
    corpora = list(task.blocks(path))
    learner = task.learner(corpora[0], None)
    for number in range(learner.rounds):
        learner.take(number, [learner.gather(number, corpora)])
    return task


@pytest.mark.parametrize("partial", [False, True])
@pytest.mark.parametrize("blocks", [False, True])
@pytest.mark.parametrize("form", TASKS)
@pytest.mark.parametrize("tag", ["0", "\u039f", "B_PER", "B", "X-LOC"])
def test_one_malformed_tag_is_refused_with_its_line(
    form: str, tag: str, blocks: bool, partial: bool, tmp_path: Path
) -> None:
    where = f"{tmp_path / 'train.txt'}:{FIRST_LINE + 2}"
    with raises(DataError, where=where, value=tag):
        learned(form, tmp_path, ["O", tag], blocks, partial=partial)


@pytest.mark.parametrize("form", TASKS)
def test_a_malformed_alternative_of_an_open_label_is_refused(form: str, tmp_path: Path) -> None:
    with raises(DataError, value="0"):
        learned(form, tmp_path, ["_", "B-PER|0"], partial=True)


@pytest.mark.parametrize("form", TASKS)
def test_tags_outside_a_set_scheme_are_refused(form: str, tmp_path: Path) -> None:
    for partial, tag in ((False, "0"), (True, "B-PER|0")):
        with raises(DataError, line=FIRST_LINE, match="tag '0' is neither O nor begins with"):
            learned(form, tmp_path, [tag], scheme="iob2", partial=partial)


def test_tags_of_a_dev_file_outside_the_scheme_are_refused(tmp_path: Path) -> None:
    """Attributes are not converted to another scheme, which would check them."""
    task = learned("attributes", tmp_path, [])
    dev = tmp_path / "dev.txt"
    dev.write_text("O\tw\n0\tw\n")
    with raises(DataError, where=f"{dev}:2", match="tag '0' is neither"):
        task.outcomes(task.read(dev), [["O", "O"]])


@pytest.mark.parametrize("form", TASKS)
@pytest.mark.parametrize(
    ("tags", "scheme", "line"),
    [
        ([], "iob2", "the tags are iob2 (task.scheme=auto)."),
        (["I-PER"], "iob2", "the tags are iob2 (task.scheme=auto)."),
        (["E-PER", "S-LOC"], "bioes", "the tags are bioes (task.scheme=auto)."),
        (["U-LOC"] * 2, "biluo", "the tags are biluo (task.scheme=auto)."),
        (
            ["NAME"] * 4,
            "none",
            "the labels are plain (task.scheme=none), because 25 % of the labels other than O have "
            "no prefix such as B- or I-.",
        ),
    ],
)
def test_the_scheme_is_printed(
    form: str,
    tags: list[str],
    scheme: str,
    line: str,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING):
        task = learned(form, tmp_path, tags)
    assert task.scheme == scheme
    assert caplog.messages == [f"{tmp_path / 'train.txt'}: {line}"]


@pytest.mark.parametrize("form", TASKS)
def test_valid_tags_without_a_scheme_is_reported(
    form: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    learned(form, tmp_path, [], scheme="none", valid_tags=True)
    assert "task.valid_tags=true has no effect" in caplog.messages[-1]


def test_other_schemes_are_learned_in_the_target_scheme_and_written_back(tmp_path: Path) -> None:
    path = tmp_path / "train.txt"
    for tags, scheme in (
        ("B-A I-A L-A O U-B", "biluo"),
        ("B-A M-A E-A O S-B", "bmes"),
    ):
        path.write_text("".join(f"w\t{tag}\n" for tag in tags.split()))
        task = SequenceLabelling(str(path), columns=COLUMNS)
        corpus = task.read(path)
        encoded = task.fit(corpus)
        assert encoded.gold is not None
        learned_tags = [task.labels[y] for y in encoded.gold]
        assert (task.scheme, learned_tags) == (scheme, ["B-A", "I-A", "I-A", "O", "B-B"])
        assert task.written([learned_tags]) == [tags.split()]
        assert task.evaluate(corpus, [learned_tags]) == {
            name: 1.0
            for name in task.evaluate(corpus, [learned_tags])  # every score
        }


BATCHES = [
    ("only O first", ["O", "O"], ["B-X", "O"], "iob2"),
    ("only O later", ["B-X", "O"], ["O", "O"], "iob2"),
    ("bioes after iob2", ["B-X", "I-X"], ["S-X"], "bioes"),
    ("iob2 after bioes", ["B-X", "E-X", "S-X"], ["B-X", "I-X"], "bioes"),
    ("only I first", ["I-X", "O"], ["I-X", "B-X"], "iob1"),
    ("stray I later", ["B-X", "O"], ["I-X", "O"], "iob2"),
]


@pytest.mark.parametrize(("first", "second", "scheme"), [one[1:] for one in BATCHES])
def test_a_later_batch_continues_the_scheme(
    first: list[str], second: list[str], scheme: str
) -> None:
    """The labels of a batch need not show the scheme of all."""
    earlier, task = AttributeLabelling(), AttributeLabelling()
    earlier.fit(earlier.labelled([[["w"]] * len(first)], [first]))
    task.fit(task.labelled([[["w"]] * len(second)], [second]), earlier)
    assert (task.scheme, task.main_metric) == (scheme, "f1")
    assert set(task.labels) == {*first, *second}


def test_a_later_file_of_o_only_continues_plain_labels(tmp_path: Path) -> None:
    path = tmp_path / "train.txt"
    path.write_text("NAME\tw\nO\tw\n")
    earlier, task = AttributeLabelling(str(path)), AttributeLabelling(str(path))
    earlier.fit(earlier.read(path))
    path.write_text("O\tw\n")
    task.fit(task.read(path), earlier)
    assert (task.scheme, task.main_metric) == ("none", "accuracy")


FOLDS = [["O", "O"], ["B-X", "O"], ["I-X"], ["S-X", "O"], ["NAME", "O"], ["NN", "VB"], ["10", "9"]]


@pytest.mark.parametrize("create", [AttributeLabelling, SequenceLabelling])
@pytest.mark.parametrize("tags", FOLDS, ids="-".join)
def test_the_metric_of_estimators_does_not_depend_on_the_fold(
    tags: list[str], create: type[AttributeLabelling | SequenceLabelling]
) -> None:
    """A fold whose labels are all O scores tags and plain labels, although it has seen neither."""
    task = create()
    sentence = [["w"]] if create is AttributeLabelling else ["w"]
    task.fit(task.labelled([sentence * len(tags)], [tags]))
    assert task.comparable_metric == "f1"
    others = [tags] if tags != ["O", "O"] else FOLDS
    for gold in others:
        corpus = task.labelled([sentence * len(gold)], [gold])
        task.encode(corpus)
        learned_tags = [tag.replace("S-", "B-") for tag in gold]
        right = task.comparable_outcomes(corpus, [learned_tags]).scores()["f1"]
        wrong = task.comparable_outcomes(corpus, [["O"] * len(gold)]).scores()["f1"]
        assert (right, wrong) == (float(gold != ["O", "O"]), 0.0)


def test_a_set_scheme_decides_the_metric_of_estimators() -> None:
    assert AttributeLabelling(scheme="none").comparable_metric == "accuracy"
    assert AttributeLabelling(scheme="iob2").comparable_metric == "f1"
