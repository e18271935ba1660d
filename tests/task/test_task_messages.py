"""The texts of errors that `structopt.task` raises, in one table."""

import numpy as np
import pytest

from structopt.errors import StructoptError
from structopt.task.key_checks import check_keys
from structopt.task.outputs_in_memory import GIVEN, GOLD
from structopt.task.sentence_lengths import check
from structopt.task.split_files import checked_paths
from structopt.task.synthetic import Synthetic


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda: checked_paths(None, None, None, 0),
            "task.limit=0 must be at least 1, or null for all instances.",
        ),
        (
            lambda: checked_paths(None, "dev.txt", None, None),
            "task.train is missing, and task.dev or task.test is set. Set task.train, too.",
        ),
        (
            lambda: check_keys("features", ["min_cout"], ["min_count", "bias"]),
            "There is no key 'features.min_cout'. Did you mean 'min_count'? Keys: min_count, bias.",
        ),
        (
            lambda: check("a.txt", np.array([1, 3]), 2, lambda sentence: 5),
            "a.txt:5: this sentence has 3 words, and task.max_words=2 is the bound: divide it "
            "into sentences, or set task.max_words=3; memory grows at least with the square of "
            "the words.",
        ),
        (
            lambda: Synthetic(states=1),
            "task.states=1 must be at least 2.",
        ),
        (
            lambda: Synthetic(noise=1.5),
            "task.noise=1.5 must be from 0 to 1.",
        ),
        (
            lambda: Synthetic(held_out=-1),
            "task.held_out=-1 must be at least 1, or 0 for no dev and test splits.",
        ),
        (
            lambda: GOLD.listed("O", 1, "[[...], ...]"),
            "<outputs>: 'O' is not a list of outputs. Give one for every instance: [[...], ...].",
        ),
        (
            lambda: GOLD.listed([], 2, "[[...], ...]"),
            "<outputs>: there are 0 outputs for 2 instances. Give one for every instance: "
            "[[...], ...].",
        ),
        (
            lambda: GIVEN.cells(["O"], 2, 1, "tokens"),
            "<given>:1: the output has 1 cells for 2 tokens. Give one cell for each, and None "
            "for open ones.",
        ),
        (
            lambda: GOLD.cells({"O"}, 1, 1, "tokens"),
            "<outputs>:1: the output is a set, which has no order. Give a list of 1 cells.",
        ),
    ],
)
def test_texts(call, text):
    with pytest.raises(StructoptError) as raised:
        call()
    assert str(raised.value) == text
