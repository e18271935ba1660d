"""The trainer of word vectors in tools/: what it counts, and vectors that features can read."""

import subprocess
import sys
from math import log
from pathlib import Path
from random import Random

import numpy as np
import pytest

from structopt import datasets
from structopt.formats.vectors.word_vectors import read_word_vectors
from tools import train_vectors

FILE = "text.txt"
SCRIPT = Path(train_vectors.__file__)
DAYS, PLACES, VERBS = (
    ["monday", "tuesday", "friday"],
    ["rome", "oslo", "lima"],
    ["rained", "snowed", "thundered"],
)


def sample(sentences=400):
    """Sentences in which the words of a list may stand for each other."""
    generator = Random(0)
    forms = [
        lambda c: f"on {c(DAYS)} it {c(VERBS)} a lot",
        lambda c: f"they flew to {c(PLACES)} last {c(DAYS)}",
        lambda c: f"in {c(PLACES)} nothing ever {c(VERBS)} before",
    ]
    return "".join(generator.choice(forms)(generator.choice) + "\n" for _ in range(sentences))


def neighbours(path, words, number):
    """Of every word the nearest ones by cosine."""
    found = read_word_vectors(path, words)
    known = list(found.numbers)
    matrix = found.matrix[[found.numbers[word] for word in known]]
    matrix = matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
    nearest = np.argsort(-(matrix @ matrix.T), axis=1)[:, 1 : number + 1]
    return {word: {known[k] for k in row} for word, row in zip(known, nearest, strict=True)}


@pytest.mark.parametrize("output", ["a.txt", "a.vec.gz", "a.npy"])
def test_words_in_the_same_places_are_near(make, tmp_path, output):
    path = make(sample())
    train_vectors.main(
        [str(path), "--output", str(tmp_path / output), "--dimensions", "8", "--window", "3"]
    )
    words = {*sample().split()}
    nearest = neighbours(tmp_path / output, words, 2)
    assert nearest.keys() == words
    for group in (DAYS, PLACES, VERBS):
        for word in group:
            assert nearest[word] == {*group} - {word}


@pytest.mark.nightly("rest")
def test_script(tmp_path):
    """On two files, as the command line does it; equal seeds give equal bytes."""
    files = [str(datasets.path(split)) for split in ("dev", "test")]
    for name, seed in (("a.txt", "1"), ("b.txt", "1")):
        command = [
            sys.executable,
            SCRIPT,
            "--format",
            "conll",
            "--dimensions",
            "20",
            "--seed",
            seed,
            "--lower",
            "--unit",
        ]
        run = subprocess.run(
            [*command, "--output", tmp_path / name, *files],
            capture_output=True,
            text=True,
            check=True,
        )
    assert (
        run.stdout.startswith(f"{tmp_path / 'b.txt'}: ")
        and "words in 20 dimensions, of" in run.stdout
    )
    assert (tmp_path / "a.txt").read_bytes() == (tmp_path / "b.txt").read_bytes()
    found = read_word_vectors(tmp_path / "a.txt", ["the", "The", "."])
    assert found.numbers.keys() == {"the", "."} and found.matrix.shape == (2, 20)
    np.testing.assert_allclose(np.linalg.norm(found.matrix, axis=1), 1, atol=1e-4)


@pytest.mark.parametrize(
    ("form", "kind"), [("conll", "conll"), ("conllu", "conllu"), ("penn", "ptb")]
)
def test_formats(form, kind):
    sentences = train_vectors.sentences_of(str(datasets.path("dev", kind)), form)
    assert len(sentences) == 300 and [words[0] for words in sentences] == [
        words[0] for words in train_vectors.sentences_of(str(datasets.path("dev")), "conll")
    ]


def test_counts():
    sentences = [["a", "b", "rare", "a", "c d"], ["b"]]
    words = train_vectors.vocabulary_of(sentences, 2)
    assert words == ["a", "b"] and train_vectors.vocabulary_of(sentences, 1) == ["a", "b", "rare"]
    counts = train_vectors.neighbours(sentences, words, 2).toarray()  # of a b a, and b
    np.testing.assert_allclose(counts, [[2 * 0.5, 2], [2, 0]])
    with_unknown = train_vectors.vocabulary_of(sentences, 2, "?")
    assert with_unknown == ["a", "b", "?"] and train_vectors.vocabulary_of(
        [["a", "a"]], 2, "?"
    ) == ["a"]
    # of a b ? a ?, and b
    counts = train_vectors.neighbours(sentences, with_unknown, 2, "?").toarray()
    np.testing.assert_allclose(counts, [[0, 1 + 0.5, 0.5 + 2], [1.5, 0, 1], [2.5, 1, 2 * 0.5]])


def test_mutual_information():
    counts = train_vectors.neighbours([["a", "b"], ["a", "b"], ["a", "c"]], ["a", "b", "c"], 1)
    matrix = train_vectors.mutual_information(counts, smoothing=1.0).toarray()
    np.testing.assert_allclose(matrix, [[0, log(2), log(2)], [log(2), 0, 0], [log(2), 0, 0]])
    smoothed = 3**0.5 + 2**0.5 + 1
    shifted = train_vectors.mutual_information(counts, smoothing=0.5, shift=1.2).toarray()
    assert shifted[1, 0] == pytest.approx(log(smoothed / 3**0.5 / 1.2))
    assert shifted[0, 2] == pytest.approx(log(1 / 3 * smoothed / 1.2)) and shifted[1, 1] == 0


def test_decomposition():
    counts = train_vectors.neighbours(
        [line.split() for line in sample(50).splitlines()], [*DAYS, *PLACES, *VERBS, "on", "to"], 3
    )
    matrix = train_vectors.mutual_information(counts)
    vectors = train_vectors.decompose(matrix, 4, power=1.0)
    left, singular, _ = np.linalg.svd(matrix.toarray())
    np.testing.assert_allclose(np.abs(vectors), np.abs(left[:, :4] * singular[:4]), atol=1e-5)
    np.testing.assert_allclose(
        train_vectors.decompose(matrix, 4, power=1.0, seed=7), vectors, atol=1e-5
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--dimensions", "0"], "--dimensions must be at least 1."),
        (["--shift", "nan"], "--shift must be at least 1e-12."),
        (
            ["--dimensions", "50"],
            "too few for 50 dimensions. Give more text, or lower --dimensions.",
        ),
        (["--format", "penn"], "begins no tree in brackets"),
        (["--encoding", "utf9"], "is not an encoding Python knows"),
    ],
)
def test_refusals(make, tmp_path, capsys, options, message):
    with pytest.raises(SystemExit) as stopped:
        train_vectors.main([str(make(sample(20))), "--output", str(tmp_path / "a.txt"), *options])
    assert stopped.value.code == 2 and message in capsys.readouterr().err
    assert not (tmp_path / "a.txt").exists()
