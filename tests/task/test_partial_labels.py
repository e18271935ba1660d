"""Training files that leave labels or heads open: what is read, what is learnt from it, what is
refused.
"""

from pathlib import Path

import numpy as np
import pytest

import structopt
from structopt import datasets
from structopt.command import main
from structopt.core.data.in_memory import is_open
from structopt.errors import DataError
from structopt.formats.tag_schemes import convert
from structopt.task.attributes import AttributeLabelling
from structopt.task.dependency import Dependency
from structopt.task.multilabel import Multilabel
from structopt.task.partial_labels import alternatives, certain_labels, known_runs
from structopt.task.sequence_labelling import SequenceLabelling

COLUMNS = {"word": 0, "tag": 1}


def written(folder: Path, cells: str, name: str = "train.txt") -> Path:
    """A column file of one-letter words, from labels parted by blanks, sentences by slashes."""
    path = folder / name
    path.write_text(
        "\n\n".join("\n".join(f"w {cell}" for cell in part.split()) for part in cells.split("/"))
        + "\n"
    )
    return path


def fitted(path: Path, **options):
    task = SequenceLabelling(str(path), columns=COLUMNS, partial=True, **options)
    return task, task.fit(task.read(path))


def sets_of(task, encoded) -> list[str]:
    """The labels that each token may have; * where it may have all."""
    return [
        "*"
        if row.all()
        else "|".join(label for label, may in zip(task.labels, row, strict=True) if may)
        for row in encoded.gold_sets
    ]


def test_cells():
    assert [alternatives(cell) for cell in ("_", "?", "A", "A|B")] == [(), (), ("A",), ("A", "B")]
    assert [is_open(cell) for cell in ("_", "?", "A", "A|B", "B-A")] == [
        True,
        True,
        False,
        True,
        False,
    ]


def test_open_labels(tmp_path):
    task, encoded = fitted(written(tmp_path, "A _ B|C / C A"))
    assert task.labels == ("A", "B", "C")
    assert sets_of(task, encoded) == ["A", "*", "B|C", "C", "A"]
    assert encoded.gold.tolist() == [0, 0, 1, 2, 0]  # the first that each may have


def test_labels_of_another_scheme(tmp_path):
    """I- of iob1 begins an entity, or goes on with one, wherever what stands before it is open."""
    cells = "I-PER I-PER O _ I-PER I-PER O / _ I-ORG / O I-ORG B-ORG"
    task, encoded = fitted(written(tmp_path, cells), scheme="iob1")
    assert sets_of(task, encoded) == [
        "B-PER",
        "I-PER",
        "O",
        "*",
        "B-PER|I-PER",
        "I-PER",
        "O",
        "*",
        "B-ORG|I-ORG",
        "O",
        "B-ORG",
        "B-ORG",
    ]


def test_last_labels_of_a_scheme_with_ends(tmp_path):
    """Whether an entity ends here, the next token says."""
    task, encoded = fitted(
        written(tmp_path, "B-PER I-PER _ / B-PER _ / B-PER O"), target_scheme="bioes"
    )
    assert sets_of(task, encoded) == ["B-PER", "E-PER|I-PER", "*", "B-PER|S-PER", "*", "S-PER", "O"]


def test_schemes_are_told_from_known_runs():
    assert known_runs([["I-A", "_", "I-A", "O", "A|B"], ["O"]]) == [["I-A"], ["O"], ["O"]]
    iob2 = [["O", "B-A", "I-A", "_", "I-A"]]
    assert known_runs(iob2) == [["O", "B-A", "I-A"], []]


def test_settled_labels():
    scores = certain_labels(
        ["I-A", "I-A", "_", "I-A", "O"], lambda run: convert(run, "iob1", "iob2")
    )
    # the second might be the last of bioes; the fourth may go on
    assert list(scores) == [(0, "B-A"), (4, "O")]
    assert list(certain_labels(["_", "_"], list)) == []


def test_without_open_labels_nothing_changes(tmp_path):
    path = written(tmp_path, "A B / C")
    _, encoded = fitted(path)
    assert encoded.gold_sets is None
    plain = SequenceLabelling(str(path), columns=COLUMNS)
    np.testing.assert_array_equal(plain.fit(plain.read(path)).gold, encoded.gold)


def test_some_labels_must_be_given(tmp_path):
    with pytest.raises(
        DataError, match=r"train.txt: no label is given in this file: task.partial=true learns"
    ):
        fitted(written(tmp_path, "_ _ / ?"))


def test_attribute_text(tmp_path):
    path = tmp_path / "train.crfsuite"
    path.write_text("A\tx\n_\ty\n\nA|B\tx\nB\ty\n")
    task = AttributeLabelling(str(path), partial=True)
    assert sets_of(task, task.fit(task.read(path))) == ["A", "*", "*", "B"]


def test_subsets_keep_open_labels(tmp_path):
    _, encoded = fitted(written(tmp_path, "A _ / B|C A"))
    np.testing.assert_array_equal(encoded.subset(1, 2).gold_sets, encoded.gold_sets[2:])


CONLLU = (
    "1\ta\ta\tX\tX\t_\t{}\t{}\t_\t_\n2\tb\tb\tX\tX\t_\t{}\t{}\t_\t_\n"
    "3\tc\tc\tX\tX\t_\t{}\t{}\t_\t_\n\n"
)


def test_open_heads_and_relations(tmp_path):
    path = tmp_path / "train.conllu"
    path.write_text(
        CONLLU.format("_", "_", 0, "root", 2, "_") + CONLLU.format(2, "a", 0, "root", 2, "b")
    )
    task = Dependency(str(path), partial=True)
    encoded = task.fit(task.read(path))
    assert task.labels == ("a", "b", "root")
    assert sets_of(task, encoded) == ["*", "root", "*", "a", "root", "b"]
    assert encoded.free_heads.tolist() == [True, False, False, False, False, False]
    assert encoded.heads.tolist() == [0, 1, 1, 1, 1, 1]
    second = encoded.subset(1, 2)
    assert not second.free_heads.any()


def test_heads_that_are_known_must_be_arcs_of_a_tree(tmp_path):
    path = tmp_path / "train.conllu"
    path.write_text(CONLLU.format(2, "a", 1, "a", "_", "_"))
    task = Dependency(str(path), partial=True)
    with pytest.raises(
        DataError, match=r"train.conllu:1: the heads go round in a circle, 1 -> 2 -> 1"
    ):
        task.read(path)
    path.write_text(CONLLU.format(7, "a", 1, "a", "_", "_"))
    with pytest.raises(
        DataError, match=r"train.conllu:1: the head 7 of word 1 is beyond the sentence"
    ):
        task.read(path)


def test_open_heads_are_refused_without_the_option(tmp_path):
    path = tmp_path / "train.conllu"
    path.write_text(CONLLU.format("_", "_", 0, "root", 2, "a"))
    with pytest.raises(
        DataError, match=r"train.conllu:1: the head of word 1 is missing .* set task.partial=true"
    ):
        Dependency(str(path)).read(path)
    gold = Dependency(str(path), partial=True).read(path)
    with pytest.raises(
        DataError,
        match=r"train.conllu:1: the head is missing \(_\): scores need the head of every word",
    ):
        gold.gold_heads()


def test_open_labels_of_vectors(tmp_path):
    path = tmp_path / "train.txt"
    path.write_text("a,?b 1:1\n? 2:1\na,c 1:2\n1:3 2:1\nb,? 1:1\n")
    task = Multilabel(str(path), partial=True)
    read = task.read(path)
    assert (read.names, read.labels) == (("a", "b", "c"), [("a",), (), ("a", "c"), (), ("b",)])
    assert read.unknown == [("b",), ("a", "b", "c"), (), (), ("a", "c")]
    encoded = task.fit(read)
    free = encoded.gold_sets.all(axis=1).reshape(5, 3)
    assert free.tolist() == [[0, 1, 0], [1, 1, 1], [0, 0, 0], [0, 0, 0], [1, 0, 1]]
    # names like others, without the option
    assert Multilabel(str(path)).read(path).names == ("?", "?b", "a", "b", "c")


ARFF = (
    "@relation r\n@attribute x numeric\n@attribute a {0,1}\n@attribute b {0,1}\n@data\n1,1,?\n"
    "2,0,1\n"
)


def test_open_labels_of_arff(tmp_path):
    path = tmp_path / "train.arff"
    path.write_text(ARFF)
    task = Multilabel(str(path), labels=2, partial=True)
    read = task.read(path)
    assert (read.labels, read.unknown) == ([("a",), ("b",)], [("b",), ()])
    assert task.fit(read).gold_sets.all(axis=1).tolist() == [False, True, False, False]
    with pytest.raises(
        DataError, match=r"train.arff:6: the label 'b' is missing \(\?\).* set task.partial=true"
    ):
        Multilabel(str(path), labels=2).read(path)
    with pytest.raises(
        DataError,
        match=r"leaves labels open \(\?\). Give a file with the labels of every instance",
    ):
        task.evaluate(read, [("a",), ("b",)])


def half_open(source: Path, target: Path, cell: str) -> None:
    """Take the labels of the tokens of every second entity away."""
    entity, lines = 0, []
    for line in source.read_text().split("\n"):
        cells = line.split()
        if cells and cells[-1] != "O":
            entity += cells[-1].startswith("B-")
            cells[-1] = cell if entity % 2 else cells[-1]
        lines.append(" ".join(cells))
    target.write_text("\n".join(lines))


@pytest.mark.nightly("runs")
def test_what_is_open_is_better_left_open(tmp_path):
    """Half the entities: a CRF on what is known of the labels against one that takes the unknown
    ones for O.
    """
    scores = {}
    for name, cell in (("open", "_"), ("other", "O")):
        path = tmp_path / f"{name}.txt"
        half_open(datasets.path("train", "conll"), path, cell)
        words = [
            f"task.train={path}",
            f"task.dev={datasets.path('dev', 'conll')}",
            "task.partial=true",
            "optimizer.epochs=3",
        ]
        model = structopt.train(
            [*words, "task=ner", "tracker=none", f"hydra.run.dir={tmp_path / name}"]
        )
        scores[name] = model.evaluate(datasets.path("dev", "conll"))["f1"]
    assert scores["open"] > scores["other"] + 0.3
    assert scores["open"] > 0.8


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["optimizer=sdca"],
            "optimizer=sdca needs gold outputs that are known in full, and task.partial=true "
            "leaves some open",
        ),
        (["optimizer=eg"], "optimizer=eg needs gold outputs that are known in full"),
        (["optimizer=smo"], "optimizer=smo needs gold outputs that are known in full"),
        (
            ["optimizer=cutting_plane"],
            "optimizer.tolerance stops at a certified gap, but the losses of task.partial=true",
        ),
        (
            ["optimizer=sgd", "optimizer.certificate=true"],
            "optimizer.certificate=true needs gold outputs that are known in full",
        ),
        (
            ["optimizer=lbfgs", "optimizer.tolerance=0.1"],
            "optimizer.tolerance stops at a certified gap, but the losses of",
        ),
    ],
)
def test_learners_that_need_points_refuse(tmp_path, capsys, words, message):
    assert (
        main.main(
            ["task=ner", "task.partial=true", "tracker=none", f"hydra.run.dir={tmp_path}", *words]
        )
        == 2
    )
    assert message in capsys.readouterr().err


def test_runs_go_on_to_the_same_bits(tmp_path):
    path = tmp_path / "open.txt"
    half_open(datasets.path("train", "conll"), path, "_")
    words = ["task=ner", "task.partial=true", f"task.train={path}", "task.limit=60", "tracker=none"]
    assert main.main([*words, "optimizer.epochs=4", f"hydra.run.dir={tmp_path / 'straight'}"]) == 0
    assert main.main([*words, "optimizer.epochs=2", f"hydra.run.dir={tmp_path / 'parts'}"]) == 0
    assert main.main([f"resume={tmp_path / 'parts'}", "optimizer.epochs=4"]) == 0
    one, other = (
        tmp_path / name / "model" / "weights.safetensors" for name in ("straight", "parts")
    )
    assert one.read_bytes() == other.read_bytes()
