"""ROUGE by hand, and against rouge-score on random texts."""

import json
import re
import subprocess
import sys

import numpy as np
import pytest

from structopt.metrics import rouge
from structopt.metrics.rouge import METRICS, rouge_l, rouge_n, scores_of_summary, words_of

WORDS = ["the", "cat", "cats", "running", "ran", "42", "it's", "a-b", "Über", "station", "stations"]


TEXT = "The U.S. team's 3.5-litre engine — naïve, isn't it? e-mail_me@x.org"


def split(text):
    return text.split()


def random_text(generator):
    return [
        " ".join(generator.choice(WORDS, generator.integers(0, 9)))
        for _ in range(generator.integers(1, 5))
    ]


@pytest.fixture(scope="module")
def pairs():
    generator = np.random.default_rng(0)
    return [(random_text(generator), random_text(generator)) for _ in range(1000)]


@pytest.fixture(scope="module")
def theirs(pairs):
    """Scores of the stemmed pairs, and the words of a text, by rouge-score."""
    stemmed = [
        [[" ".join(words_of(one, words="ascii")) for one in text] for text in pair]
        for pair in pairs
    ]
    command = [sys.executable, "-m", "tests.metrics.their_rouge"]
    answer = subprocess.run(
        command,
        input=json.dumps({"pairs": stemmed, "texts": [TEXT]}),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(answer.stdout)


def test_words():
    assert words_of("It's the Stations' 2 cats, isn't it?") == [
        "it",
        "s",
        "the",
        "station",
        "2",
        "cat",
        "isn",
        "t",
        "it",
    ]
    assert words_of("Relational nationalities", stem=False) == ["relational", "nationalities"]
    assert words_of("...") == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Über schöne_Straßen", ["über", "schöne", "straßen"]),
        ("scho\u0308n", ["sch\u00f6n"]),  # a combining diaeresis
        ("Кошка спит.", ["кошка", "спит"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("한국어 문장", ["한국어", "문장"]),
        ("今天很好。GPT4", ["今", "天", "很", "好", "gpt4"]),
        ("東京タワー", ["東", "京", "タ", "ワ", "ー"]),
        ("น้ำดี", ["น้", "ำ", "ดี"]),
        ("café 2024", ["café", "2024"]),
    ],
)
def test_words_of_other_alphabets(text, words):
    assert words_of(text) == words
    assert words_of(text, words="ascii") == re.findall("[a-z0-9]+", text.lower())


def test_unstemmed_words_are_those_of_rouge_score(theirs):
    assert theirs["words"] == [words_of(TEXT, stem=False, words="ascii")]


def test_by_hand():
    """Lin (2004), section 3.1: police killed the gunman; and section 3.2: w1 w2 w3 w4 w5 against
    two sentences.
    """
    reference = split("police killed the gunman")
    assert rouge_n(split("police kill the gunman"), reference, 2) == pytest.approx(
        (1 / 3, 1 / 3, 1 / 3)
    )
    assert rouge_n(split("the gunman kill police"), reference, 2) == pytest.approx(
        (1 / 3, 1 / 3, 1 / 3)
    )
    assert rouge_l([split("police kill the gunman")], [reference]).f1 == pytest.approx(3 / 4)
    assert rouge_l([split("the gunman kill police")], [reference]).f1 == pytest.approx(2 / 4)
    found = rouge_l([split("w1 w2 w6 w7 w8"), split("w1 w3 w8 w9 w5")], [split("w1 w2 w3 w4 w5")])
    assert found.recall == pytest.approx(4 / 5) and found.precision == pytest.approx(4 / 10)


def test_empty_texts():
    assert (
        rouge_n([], ["a"], 1)
        == rouge_n(["a"], [], 1)
        == rouge_n(["a"], ["a"], 2)
        == (0.0, 0.0, 0.0)
    )
    assert rouge_l([], [["a"]]) == rouge_l([[]], [[]]) == (0.0, 0.0, 0.0)
    with pytest.raises(ValueError, match="against one reference or more"):
        scores_of_summary(["a"], [])


def test_against_rouge_score(pairs, theirs):
    for (summary, reference), expected in zip(pairs, theirs["scores"], strict=True):
        ours = scores_of_summary(summary, [reference], words="ascii")
        for metric in METRICS:
            assert ours[metric] == pytest.approx(expected[metric], abs=1e-12), (
                metric,
                summary,
                reference,
            )


def test_over_references():
    references = [["a b c d"], ["a b"], ["x"]]
    each = [scores_of_summary(["a b c"], [one]) for one in references]
    mean, best = (scores_of_summary(["a b c"], references, over=over) for over in ("mean", "best"))
    for metric in METRICS:
        assert mean[metric] == pytest.approx(tuple(np.mean([one[metric] for one in each], axis=0)))
        assert best[metric] == max((one[metric] for one in each), key=lambda score: score.f1)


def test_corpora():
    table = rouge.table_of([["a b"], ["x"]], [[["a b"]], [["y"], ["x"]]])
    counts = rouge.outcomes(table, np.ones((2, 9)))
    scores = counts.scores()
    assert scores["rouge1_recall"] == pytest.approx((1 + 0.5) / 2)
    assert scores["rouge2_f1"] == pytest.approx(0.5)
    assert rouge.outcomes(np.zeros((0, 9)), np.zeros((0, 9))).scores()["rougeL_f1"] == 0.0
