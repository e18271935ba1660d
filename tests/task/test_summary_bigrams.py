"""Bigrams of texts, and the best extracts by integer programs against a listing of all."""

from itertools import product

import numpy as np
import pytest

from structopt.task.summarization.bigrams import (
    bigrams_of,
    document_bigrams,
    is_stopword,
    packed_holders,
    worth,
)
from structopt.task.summarization.oracle import best_extract
from tests.factor_graph.random_texts import random_texts


def test_bigrams():
    assert bigrams_of("The rooms of the hotel, clean.") == [
        ("the", "room"),
        ("room", "of"),
        ("the", "hotel"),
        ("hotel", "clean"),
    ]
    assert bigrams_of("of the") == bigrams_of("hotel") == bigrams_of("") == []
    assert is_stopword("the") and is_stopword("veri") and not is_stopword("hotel")


def test_documents():
    found = document_bigrams(["Clean rooms, clean rooms.", "Nothing.", "A clean room."])
    assert found.names == [("room", "clean"), ("clean", "room"), ("a", "clean")]
    assert found.holders == [[0], [0, 2], [2]]
    starts, sentences = packed_holders([found, document_bigrams(["Big beds"])])
    assert starts.tolist() == [0, 1, 3, 4, 5] and sentences.tolist() == [0, 0, 2, 2, 0]


def test_worth_by_hand():
    names = document_bigrams(["Clean rooms and big beds."]).names
    references = [["Clean rooms.", "Clean rooms, big beds."], ["Big beds, small tables."]]
    assert dict(zip(names, worth(names, references), strict=True)) == pytest.approx(
        {("clean", "room"): 1 / 6, ("room", "and"): 0, ("and", "big"): 0, ("big", "bed"): 2 / 6}
    )
    assert worth(names, [["Of the."]]).tolist() == [0.0] * len(names)


@pytest.mark.parametrize("seed", range(5))
def test_best_extracts(seed):
    corpus = random_texts(seed, (1, 4, 10), words=12)
    for i in range(3):
        one = corpus.subset(i, i + 1)
        starts, sentences = one.holders
        held = [sentences[a:b] for a, b in zip(starts, starts[1:], strict=False)]

        def value(y, one=one, held=held):
            covered = sum(
                w for w, own in zip(one.worth, held, strict=True) if np.any(np.array(y)[own])
            )
            return covered, -int(np.dot(y, one.lengths))

        listed = [
            value(y)
            for y in product((0, 1), repeat=len(one.lengths))
            if np.dot(y, one.lengths) <= one.budgets[0]
        ]
        found = best_extract(one.lengths, int(one.budgets[0]), one.holders, one.worth)
        assert value(found.astype(int)) == pytest.approx(max(listed))


def test_nothing_to_cover():
    holders = np.array([0, 1]), np.array([0])
    assert not best_extract(np.array([3, 2]), 5, holders, np.zeros(1)).any()
    assert not best_extract(np.array([3, 2]), 1, holders, np.ones(1)).any()
    assert best_extract(np.array([3, 2]), 5, holders, np.ones(1)).tolist() == [True, False]
