"""Entries of word lists as phrases."""

import numpy as np

from structopt.templates.word_lists import Phrases


def test_phrases_stay_within_their_sentence():
    phrases = Phrases([["a", "b", "c"], ["b"], ["a", "b"]])
    codes = np.array(phrases.vocabulary.look_up(list("abcabxab")))
    ends = np.array([2, 2, 8, 8, 8, 8, 8, 8])
    assert phrases.match(codes, ends).tolist() == [1, 2, -1, 1, 2, -1, 1, 2]
    assert Phrases([]).match(codes, ends).tolist() == [-1] * 8
