"""Sentences for constituency: trees, tagged words, words; in files and in memory; written trees."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from structopt.errors import DataError
from structopt.formats.trees import treebank
from structopt.formats.trees.penn import Node, parse
from structopt.metrics import brackets

FILE = "sentences.txt"
TREE = "( (S (NP-SBJ (NNP Ann)) (VP (VBD slept) (NP (-NONE- *T*-1)))))"


def test_trees(make) -> None:
    corpus = treebank.read(make(f"{TREE}\n\n(S\n(-LRB- -LRB-))"))
    assert corpus.words == [["Ann", "slept"], ["-LRB-"]] and corpus.tags == [
        ["NNP", "VBD"],
        ["-LRB-"],
    ]
    assert corpus.trees is not None and str(corpus.trees[0]) == TREE
    assert corpus.lines == [1, 3] and corpus.tagged and len(corpus) == 2
    assert len(treebank.read(make(TREE * 3), limit=2)) == 2
    assert treebank.read(make(TREE), labelled=False) == treebank.read(make(TREE))


def test_plain_words(make) -> None:
    corpus = treebank.read(make("( Ann slept\tf(x) )\n\n   \n[ snake_case 1\\/2\n"), labelled=False)
    assert corpus.words == [
        ["-LRB-", "Ann", "slept", "f-LRB-x-RRB-", "-RRB-"],
        ["-LSB-", "snake_case", "1\\/2"],
    ]
    assert corpus.tags == [[""] * 5, [""] * 3]
    assert corpus.trees is None and not corpus.tagged and corpus.lines == [1, 4]


def test_words_with_tags(make) -> None:
    corpus = treebank.read(make("(_-LRB- snake_case_NN ._.\n[_( Ann_PRP$\n"), labelled=False)
    assert corpus.words == [["-LRB-", "snake_case", "."], ["-LSB-", "Ann"]]
    assert corpus.tags == [["-LRB-", "NN", "."], ["-LRB-", "PRP$"]] and corpus.tagged


@pytest.mark.parametrize(
    "text", ["Ann_NNP slept", "Ann_NNP\nslept _", "snake_case", "a_B c_", "_NN rain_NN"]
)
def test_words_are_not_cut_where_one_has_no_tag(make, text: str) -> None:
    corpus = treebank.read(make(text), labelled=False)
    assert sum(corpus.words, []) == text.split() and not corpus.tagged


def test_the_limit_does_not_change_how_words_are_read(make) -> None:
    corpus = treebank.read(make("Ann_NNP\nslept"), limit=1, labelled=False)
    assert corpus.words == [["Ann_NNP"]] and corpus.lines == [1]


def test_words_are_refused_where_trees_are_needed(make) -> None:
    path = make("\nAnn slept\n")
    with pytest.raises(DataError) as caught:
        treebank.read(path)
    message = (
        "'Ann' begins no tree in brackets. Write a tree as (S (NP (NN rain)) (VP (VBZ falls)))."
    )
    assert str(caught.value) == f"{path}:2: {message}"


def test_malformed_trees_are_no_words(make) -> None:
    with pytest.raises(DataError, match="sentences.txt:1: .* lacks a closing bracket"):
        treebank.read(make("(S (X y)"), labelled=False)


def test_sentences_in_memory() -> None:
    (tree,) = parse(TREE, "t")
    corpus = treebank.in_memory(
        [
            ["Ann", "("],
            [("Ann", "NNP"), ("slept", "VBD")],
            {"tokens": ["Ann"], "tags": [""]},
            {"tokens": ("Ann",)},
            tree,
            TREE,
        ]
    )
    assert corpus.words == [
        ["Ann", "-LRB-"],
        ["Ann", "slept"],
        ["Ann"],
        ["Ann"],
        ["Ann", "slept"],
        ["Ann", "slept"],
    ]
    assert corpus.tags == [["", ""], ["NNP", "VBD"], [""], [""], ["NNP", "VBD"], ["NNP", "VBD"]]
    assert corpus.trees is None and not corpus.tagged and corpus.lines == [1, 2, 3, 4, 5, 6]
    assert treebank.in_memory([tree, TREE]).trees is not None
    assert treebank.in_memory([[("Ann", "NNP")]]).tagged


@pytest.mark.parametrize(
    ("instances", "message"),
    [
        (["Ann slept"], "<memory>:1: a sentence is one string, 'Ann slept'. Give"),
        (["(S (X y)"], "<memory>:1: the tree that begins here lacks a closing bracket. Give"),
        (["(X y) (X y)"], "<memory>:1: a sentence is 2 trees. Give"),
        (
            [["New York"]],
            "<memory>:1: 'New York' is no word: brackets cannot hold an empty one, nor white "
            "space. Give",
        ),
        ([["Ann", ""]], "<memory>:1: '' is no word: brackets cannot hold"),
        (
            [{"tokens": ["Ann"], "tags": []}],
            "<memory>:1: the column 'tags' has 0 cells for 1 words. Give",
        ),
        (
            [{"words": ["Ann"]}],
            "<memory>:1: the sentence has no words (column 'tokens'). Give",
        ),
        ([[1]], "<memory>:1: 1 in 'tokens' is not a string. Give"),
        ("(X y)", "<memory>: the instances are one string, '(X y)'. Give"),
        ([["Ann", ("slept", "VBD")]], "<memory>:1: ('slept', 'VBD') in 'tokens' is not a string"),
    ],
)
def test_malformed_sentences_in_memory(instances: object, message: str) -> None:
    with pytest.raises(DataError) as caught:
        treebank.in_memory(instances)  # type: ignore[arg-type]
    assert str(caught.value).startswith(message)


def written(
    tmp_path: Path, corpus: treebank.Treebank, outputs: list[Node], **options: object
) -> str:
    target = tmp_path / "out.mrg"
    treebank.write(corpus, target, outputs, **options)
    return target.read_text()


def test_a_tree_a_line_is_written(tmp_path: Path) -> None:
    corpus = treebank.in_memory([["Ann", "slept"], ["("]])
    trees = parse(TREE + "(S (-LRB- -LRB-))", "t")
    text = written(tmp_path, corpus, trees)
    assert text == f"{TREE}\n(S (-LRB- -LRB-))\n"
    assert treebank.read(tmp_path / "out.mrg").words == [["Ann", "slept"], ["-LRB-"]]


def test_lines_without_words_keep_their_places(make, tmp_path: Path) -> None:
    corpus = treebank.read(make("\n \na\n\nb\n\n"), labelled=False)
    first, second = parse("(S (X a)) (S (Y b))", "t")
    assert written(tmp_path, corpus, [first, second]) == "\n\n(S (X a))\n\n(S (Y b))\n"
    ranked = [[(1.0, first)], [(2.0, second)]]
    assert written(tmp_path, corpus, [first, second], ranked=ranked) == (
        "\n\n1.000000\t(S (X a))\n\n\n2.000000\t(S (Y b))\n\n"
    )


def test_probabilities_follow_labels(tmp_path: Path) -> None:
    corpus = treebank.in_memory([["Ann", "slept"]])
    trees = parse("( (S (NP (NNP Ann)) (VP (VBD slept))))", "t")
    table = {("S", 0, 2): 1.0, ("NP", 0, 1): 0.97314, ("NP", 1, 2): 0.5}
    text = written(tmp_path, corpus, trees, probabilities=[table])
    assert text == "( (S:1.0000 (NP:0.9731 (NNP Ann)) (VP:0.0000 (VBD slept))))\n"


def test_ranked_trees_are_a_block_a_sentence(tmp_path: Path) -> None:
    corpus = treebank.in_memory([["a"], ["b"]])
    first, second, third = parse("(S (X a)) (NP (X a)) (S (Y b))", "t")
    ranked = [[(2.5, first), (-1.0, second)], [(0.25, third)]]
    text = written(tmp_path, corpus, [first, third], ranked=ranked)
    assert text == "2.500000\t(S (X a))\n-1.000000\t(NP (X a))\n\n0.250000\t(S (Y b))\n\n"
    table = {("S", 0, 1): 0.5}
    assert written(
        tmp_path, corpus, [first, third], ranked=ranked, probabilities=[table, {}]
    ).startswith("2.500000\t(S:0.5000 (X a))\n")


def test_outputs_of_other_sentences_are_refused(tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match="<memory>: 0 predicted trees for 1 sentences: predict this file."
    ):
        written(tmp_path, treebank.in_memory([["a"]]), [])


@pytest.mark.nightly("data")
def test_the_sample_of_the_penn_treebank() -> None:
    folder = os.environ.get("STRUCTOPT_DATA")
    if not folder:
        pytest.skip("STRUCTOPT_DATA is not set")
    archive = f"{folder}/ptb_sample/treebank_combined.tar.gz"
    splits = [
        treebank.read(f"{archive}:wsj_{{{numbers}}}.mrg")
        for numbers in ("0001..0160", "0161..0180", "0181..0199")
    ]
    assert list(map(len, splits)) == [3401, 276, 237]
    assert sum(len(words) for split in splits for words in split.words) == 94_084
    trees = splits[1].trees or ()
    begin = time.perf_counter()
    scores = brackets.outcomes(trees, trees).scores()
    assert time.perf_counter() - begin < 1
    assert (
        scores["bracket_f1"] == scores["complete_match_40"] == scores["tag_accuracy"] == 1
        and scores["crossing"] == 0
    )
    pairs = [
        list(zip(*columns, strict=True))
        for columns in zip(splits[1].words, splits[1].tags, strict=True)
    ]
    again = treebank.in_memory(pairs)
    assert (again.words, again.tags) == (splits[1].words, splits[1].tags)
