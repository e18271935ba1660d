"""Instances in memory that are no instances: every task refuses them in one line that shows the
right form.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from structopt.errors import DataError
from structopt.formats.labelled_images import Image
from structopt.task.attributes import AttributeLabelling
from structopt.task.dependency import Dependency
from structopt.task.grid import Grid
from structopt.task.multiclass import Multiclass
from structopt.task.multilabel import Multilabel
from structopt.task.sequence_labelling import SequenceLabelling
from structopt.task.synthetic import Synthetic

WORDS = (
    "Give a list of sentences, each a list of words: [['Ann', 'slept']], or of columns: "
    "[{'word': ['Ann', 'slept'], 'pos': [...]}]."
)
TREES = (
    "Give a list of sentences, each a list of words: [['Ann', 'slept']], or of columns: "
    "[{'form': ['Ann', 'slept'], 'lemma': "
)
TOKENS = (
    "Give a list of sentences, each a list of tokens, each a list of attributes: [[['word=Ann', "
    "'upper'], ['word=slept']]]"
)
VECTORS = (
    "Give a list of instances, each a mapping from index to value: [{1: 0.5, 7: 2.0}], or a row "
    "of values: "
)
IMAGES = "Give a list of images, each an array of numbers of shape (rows, columns, channels)"
SAMPLES = "Give a list of samples, each a row of numbers, one a variable: "

TASKS: dict[str, tuple[Any, str]] = {
    "sequence": (lambda: SequenceLabelling(columns={"word": 0, "pos": 1, "tag": -1}), WORDS),
    "dependency": (Dependency, TREES),
    "attributes": (AttributeLabelling, TOKENS),
    "multiclass": (Multiclass, VECTORS),
    "multilabel": (Multilabel, VECTORS),
    "grid": (Grid, IMAGES),
    "synthetic": (lambda: Synthetic(variables=2), SAMPLES),
}


def refused(task: Any, instances: Any) -> str:
    with pytest.raises(DataError) as error:
        task.corpus(instances)
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize("name", TASKS)
@pytest.mark.parametrize(
    ("instances", "text"),
    [
        ("a b c", "<memory>: the instances are one string, 'a b c'. "),
        (
            {"word": ["a"], "pos": ["X"]},
            "<memory>: the instances are one mapping, of 'word', 'pos'. ",
        ),
        (3, "<memory>: the instances are 3, which is no list. "),
        (["a b c"], "<memory>:1: "),
        (["a", "b"], "<memory>:1: "),
        ([3], "<memory>:1: "),
        ([None], "<memory>:1: "),
    ],
)
def test_what_is_no_list_of_instances(name: str, instances: Any, text: str) -> None:
    make, advice = TASKS[name]
    message = refused(make(), instances)
    assert message.startswith(text) and advice in message


@pytest.mark.parametrize(
    ("sentence", "text"),
    [
        ("a b c", "a sentence is one string, 'a b c'"),
        ({"pos": ["X"]}, "the sentence has no words (column 'word')"),
        ({"word": ["a", "b"], "pos": ["X"]}, "the column 'pos' has 1 cells for 2 words"),
        (
            {"word": ["a"], "poss": ["X"]},
            "there is no column 'poss'; the columns are word, pos. Did you mean 'pos'? Give",
        ),
        ({"word": "a b"}, "a column 'word' is one string, 'a b'"),
        ([1, 2], "1 in 'word' is not a string"),
        (["a", None], "None in 'word' is not a string"),
        ([b"a"], "b'a' in 'word' is not a string"),
        ({"word": ["a"], "pos": [7]}, "7 in 'pos' is not a string"),
        ([("a", "X"), ("b",)], "the words have 1 to 2 cells, where the columns are word, pos"),
        ([("a", "X", "O", "?")], "the words have 4 cells, where the columns are word, pos"),
        ([("a", "X"), "b"], "'b' stands among words that are tuples of cells"),
    ],
)
def test_sentences(sentence: Any, text: str) -> None:
    make, advice = TASKS["sequence"]
    message = refused(make(), [["a"], sentence])
    assert message.startswith(f"<memory>:2: {text}") and message.endswith(advice)


@pytest.mark.parametrize(
    ("name", "instance", "text"),
    [
        ("attributes", ["word=a"], "a token is one string, 'word=a'"),
        ("attributes", [[3]], "3 in 'attributes' is not a string"),
        ("attributes", [{3: 1.0}], "3 in 'attributes' is not a string"),
        ("attributes", [{"a": float("inf")}], "the value inf of 'a' is not a finite number"),
        ("attributes", {"a": 1.0}, "a sentence is one mapping, {'a': 1.0}"),
        ("multiclass", {"word": ["a"]}, "the value ['a'] of index word is not a finite number"),
        ("grid", {"pixels": 1}, "an image is not numbers of such a shape, but object of shape ()"),
        ("grid", [[1, 2], [3]], "an image has rows of different lengths"),
        ("grid", [1, 2], "an image is not numbers of such a shape, but int64 of shape (2,)"),
        ("synthetic", ["a", "b"], "the value 'a' of x0 is not a finite number"),
        ("synthetic", [1.0, float("nan")], "the value nan of x1 is not a finite number"),
        ("synthetic", {"x": 1}, "a sample is one mapping, {'x': 1}"),
        ("synthetic", [1.0], "a sample has 1 values, but there are 2 variables"),
    ],
)
def test_other_instances(name: str, instance: Any, text: str) -> None:
    make, advice = TASKS[name]
    message = refused(make(), [instance])
    assert message.startswith(f"<memory>:1: {text}") and advice in message


def test_one_image_is_no_list() -> None:
    message = refused(Grid(), Image(np.zeros((2, 2, 1)), np.zeros((2, 2), np.int32)))
    assert message.startswith("<memory>: the instances are one image. Give a list of images")


@pytest.mark.parametrize(
    "instances",
    [
        [],
        [[]],
        [["a", "b"], ("c",)],
        [np.array(["a", "b"])],
        [{"word": ("a", "b")}],
        ({"word": ["a"], "pos": ["X"], "tag": ["O"]},),
        [[("a", "X"), ["b", "Y"]]],
        [[("a", "X", "O")]],
        (one for one in [["a"]]),
    ],
)
def test_sentences_that_are_taken(instances: Any, tmp_path: Path) -> None:
    corpus = TASKS["sequence"][0]().corpus(instances)
    assert corpus.cells["word"] == ["a", "b", "c"][: len(corpus.cells["word"])]
    assert "tag" not in corpus.cells
