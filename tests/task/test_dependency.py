"""The task of dependency trees on its own: encoding, decoding, state, in-memory input, predictions
and pictures.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from structopt import datasets as shipped
from structopt.config.schema import of_class
from structopt.core.data.encoded import EncodedTrees
from structopt.errors import ConfigError, DataError
from structopt.formats.trees.dependency_trees import Arc
from structopt.task.dependency import Dependency
from tests.messages import raises

TEXT = """\
# sent_id = 1
1	Dogs	dog	NOUN	NNS	Number=Plur	2	nsubj	_	_
2	bark	bark	VERB	VBP	_	0	root	_	_
3	!	!	PUNCT	.	_	2	punct	_	_

1	Stop	stop	VERB	VB	_	0	root	_	_
"""
FEATURES = {"templates": ["h.upos & m.upos", "h.form"], "labels": ["m.feat(Number)"]}
GOLD = [[Arc(2, "nsubj"), Arc(0, "root"), Arc(2, "punct")], [Arc(0, "root")]]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "a.conllu").write_text(TEXT)
    return tmp_path / "a.conllu"


@pytest.fixture
def fitted(path: Path) -> tuple[Dependency, EncodedTrees]:
    task = Dependency(features=FEATURES)
    return task, task.fit(task.read(path))


def test_fit(fitted: tuple[Dependency, EncodedTrees]) -> None:
    task, encoded = fitted
    assert (task.labels, encoded.labels) == (("nsubj", "punct", "root"),) * 2
    assert (encoded.offsets.tolist(), encoded.tables, encoded.candidates) == ([0, 3, 4], {}, None)
    assert encoded.columns == ("upos", "form", "feat(Number)")
    assert encoded.codes.tolist() == [[2, 3, 2], [4, 5, 1], [3, 2, 1], [4, 4, 1]]
    assert encoded.heads.tolist() == [1, 1, 1, 0]  # a word's own position is the root
    assert (encoded.gold.tolist(), encoded.heads.dtype, encoded.gold.dtype) == (
        [0, 2, 1, 2],
        np.int32,
        np.int32,
    )


def test_encode(fitted: tuple[Dependency, EncodedTrees], path: Path) -> None:
    task, _ = fitted
    path.write_text(TEXT.replace("nsubj", "nsubj:pass").replace("Dogs", "Cats"))
    encoded = task.encode(task.read(path))
    assert (encoded.gold.tolist(), encoded.codes[0].tolist()) == ([-1, 2, 1, 2], [2, 0, 2])
    unlabelled = task.encode(task.read(path, labelled=False))
    assert unlabelled.gold is None and unlabelled.heads is None


def test_decode_and_scores(fitted: tuple[Dependency, EncodedTrees], path: Path) -> None:
    task, encoded = fitted
    chosen = np.array([[2, 0], [0, 2], [2, 1], [0, 2]], np.int32)
    outputs = task.decode(encoded, chosen)
    assert outputs == task.written(outputs) == GOLD
    assert task.decode(encoded, np.array([[2, -1], [0, -1], [1, -1], [0, -1]]))[0] == [
        Arc(2),
        Arc(0),
        Arc(1),
    ]
    gold = task.read(path)
    names = [
        "uas",
        "uas_nopunct",
        "las",
        "las_nopunct",
        "las_universal",
        "las_universal_nopunct",
        "exact",
    ]
    assert task.evaluate(gold, outputs) == dict.fromkeys(names, 1.0)
    assert task.main_metric in task.evaluate(gold, outputs)
    assert "right heads (UAS)      100.00" in task.report(gold, outputs)
    assert (
        Dependency(punctuation="none").evaluate(gold, [[Arc(2), Arc(0), Arc(1)], [Arc(0)]])[
            "uas_nopunct"
        ]
        == 0.75
    )


def test_state(fitted: tuple[Dependency, EncodedTrees], path: Path) -> None:
    task, encoded = fitted
    values, arrays = task.state()
    again = Dependency()
    again.restore(json.loads(json.dumps(values)), arrays)
    same = again.encode(again.read(path))
    assert (same.labels, same.columns) == (encoded.labels, encoded.columns)
    assert (same.codes == encoded.codes).all() and (same.gold == encoded.gold).all()


@pytest.mark.parametrize(
    ("instances", "columns"),
    [
        ([["Dogs", "bark"], ["Stop"]], ["form"]),
        (
            [[("Dogs", "dog", "NOUN"), ["bark", "bark", "VERB"]], [("Stop", "stop", "VERB")]],
            ["form", "lemma", "upos"],
        ),
        (
            [
                {"upos": ["NOUN", "VERB"], "form": ["Dogs", "bark"], "head": "x"},
                {"form": ["Stop"], "upos": [""]},
            ],
            ["form", "upos"],
        ),
        ([{"form": ["Dogs", "bark"], "upos": ["NOUN", "VERB"]}, ["Stop"]], ["form"]),
    ],
)
def test_sentences_in_memory(
    fitted: tuple[Dependency, EncodedTrees], instances: Any, columns: list[str]
) -> None:
    task, _ = fitted
    trees = task.corpus(instances)
    assert (trees.offsets.tolist(), list(trees.cells), trees.cells["form"]) == (
        [0, 2, 3],
        columns,
        ["Dogs", "bark", "Stop"],
    )
    encoded = task.encode(trees)
    assert encoded.codes[:, 1].tolist() == [3, 5, 4]
    assert encoded.codes[0, 0] == (2 if "upos" in columns else 1)
    assert task.missing_columns(trees) == [
        name for name in ("upos", "feats") if name not in columns
    ]
    assert "" not in sum(trees.cells.values(), [])


@pytest.mark.parametrize(
    ("sentence", "message"),
    [
        (
            "Dogs bark",
            "<memory>:2: a sentence is one string, 'Dogs bark'. Give a list of sentences, each a "
            "list of words: ",
        ),
        ({"upos": ["X"]}, r"<memory>:2: the sentence has no words \(column 'form'\)"),
        (
            {"form": ["a"], "upos": ["X", "Y"]},
            "<memory>:2: the column 'upos' has 2 cells for 1 words",
        ),
        (
            {"form": ["a"], "upso": ["X"]},
            "<memory>:2: there is no column 'upso'; the columns are .* Did you mean 'upos'?",
        ),
        ([("a", "b"), ("c",)], "<memory>:2: the words have 1 to 2 cells"),
        (["a", 1], "<memory>:2: 1 in 'form' is not a string"),
    ],
)
def test_sentences_that_are_refused(sentence: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        Dependency().corpus([["a"], sentence])


@pytest.mark.parametrize(
    ("options", "fields"),
    [
        ({"limit": 0}, {"parameter": "task.limit", "value": 0}),
        ({"dev": "x"}, {"match": "task.train is missing"}),
        ({"features": {"template": []}}, {"match": "Did you mean 'templates'?"}),
        ({"features": {"min_count": 0}}, {"parameter": "features.min_count", "value": 0}),
        (
            {"features": {"labels": ["m.tag"]}},
            {"match": "features.labels: in the template 'm.tag': there is no column 'tag'"},
        ),
    ],
)
def test_options_that_are_refused(options: dict[str, Any], fields: dict[str, Any]) -> None:
    with raises(ConfigError, **fields):
        Dependency(**options)


def test_given_heads_are_the_candidates(
    fitted: tuple[Dependency, EncodedTrees], path: Path
) -> None:
    task, _ = fitted
    read = task.read(path, labelled=False)
    given = task.given_labels(read)
    known = [(arc.heads, task.labels[arc.relation]) for arc in given if arc.relation is not None]
    assert known == [
        ((int(head),), relation)
        for head, relation in zip(read.cells["head"], read.relations, strict=True)
    ]
    arcs, heads = task.encode(read, given).candidates or ((), ())
    assert (np.diff(arcs) == 1).all() and len(heads) == int(read.offsets[-1])
    read.cells["head"][0] = "_"
    assert task.given_labels(read)[0].heads is None
    arcs, _ = task.encode(read, task.given_labels(read)).candidates or ((), ())
    assert int(arcs[1]) == int(read.offsets[1])
    for cell in ("x", "-1", "99"):
        read.cells["head"][0] = cell
        with pytest.raises(
            DataError, match=f"the given head '?{cell}'? of word 1 is not an integer from 0"
        ):
            task.given_labels(read)


def test_files_and_parameters() -> None:
    assert Dependency().files == {part: shipped.path(part, "conllu") for part in shipped.SPLITS}
    assert Dependency(train="a", test="b").files == {"train": Path("a"), "test": Path("b")}
    assert list(of_class(Dependency)) == [
        "train",
        "dev",
        "test",
        "limit",
        "encoding",
        "format",
        "punctuation",
        "default_C",
        "features",
        "default_C_by",
        "partial",
        "missing",
        "max_words",
    ]
    assert Dependency().attribute_names() == []


def test_predictions(
    fitted: tuple[Dependency, EncodedTrees],
    path: Path,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    task, _ = fitted
    read = task.read(path, labelled=False)
    task.write_outputs(read, tmp_path / "out", GOLD)
    assert (tmp_path / "out").read_text() == TEXT
    assert not caplog.records
    tables = [np.full((n, n + 1), 0.5) for n in (3, 1)]
    task.write_outputs(
        read,
        tmp_path / "out",
        [[Arc(0)] * 3, [Arc(0)]],
        tables,
        [[(1.0, [Arc(0)] * 3)], [(0.5, [Arc(0)])]],
    )
    lines = (tmp_path / "out").read_text().split("\n")
    assert "have a new head, but keep DEPREL" in caplog.text
    assert lines[:3] == ["# sent_id = 1", "# k_best = 1", "# score = 1.000000"]
    assert lines[3] == "1\tDogs\tdog\tNOUN\tNNS\tNumber=Plur\t0\tnsubj\t_\tp=0.500"


def test_pictures(fitted: tuple[Dependency, EncodedTrees], path: Path, tmp_path: Path) -> None:
    task, _ = fitted
    read = task.read(path, labelled=False)
    task.write_picture(read, 1, tmp_path / "a.svg", [[Arc(2, "nsubj"), Arc(0), Arc(1)], GOLD[1]])
    picture = (tmp_path / "a.svg").read_text()
    assert "Dogs" in picture and "NOUN" in picture and "nsubj" in picture and "Stop" not in picture
    assert "#c0392b" in picture  # the wrong head of the last word
    task.write_picture(
        task.corpus([["Stop", "it"]]), 1, tmp_path / "b.svg", [[Arc(0), Arc(1)]], [np.eye(2, 3)]
    )
    assert (
        "it</text>" in (tmp_path / "b.svg").read_text()
        and "#c0392b" not in (tmp_path / "b.svg").read_text()
    )
    with pytest.raises(
        DataError, match="there is no sentence 3 to draw: the file has 2, counted from 1"
    ):
        task.write_picture(read, 3, tmp_path / "c.svg", GOLD)


BOUND = "this sentence has 4 words, and task.max_words=3 is the bound"


def test_long_sentences_are_refused_before_memory_is_allocated() -> None:
    task = Dependency(max_words=3)
    task.fit(task.labelled([["a"]], [[0]]))
    fields = {"where": "<memory>:2", "problem": BOUND}
    with raises(DataError, **fields):
        task.encode(task.corpus([["a"] * 3, ["b"] * 4]))
    with raises(ConfigError, parameter="task.max_words", value=0):
        Dependency(max_words=0)
