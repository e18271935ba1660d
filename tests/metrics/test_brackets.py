"""Scores of trees, counted by hand: a case for each rule of EVALB."""

from __future__ import annotations

import numpy as np
import pytest

from structopt.errors import DataError
from structopt.formats.trees.penn import Node, parse
from structopt.metrics import brackets


def tree(text: str) -> Node:
    (parsed,) = parse(text, "tree")
    return parsed


def counts(gold: str, predicted: str) -> dict[str, float]:
    """The totals of one sentence."""
    totals = brackets.outcomes([tree(gold)], [tree(predicted)]).totals()
    return dict(zip(brackets.COUNTS, totals.tolist(), strict=False))


def brackets_counted(gold: str, predicted: str) -> tuple[float, float, float]:
    """Right, predicted and gold brackets."""
    n = counts(gold, predicted)
    return n["right"], n["predicted"], n["gold"]


@pytest.mark.parametrize(
    ("rule", "gold", "predicted", "expected"),
    [
        ("equal trees", "(S (NP (N a)) (VP (V b)))", "(S (NP (N a)) (VP (V b)))", (3, 3, 3)),
        ("a wrong label", "(S (NP (N a)) (VP (V b)))", "(S (NP (N a)) (PP (V b)))", (2, 3, 3)),
        ("tags are no brackets", "(S (N a) (V b))", "(S (X a) (Y b))", (1, 1, 1)),
        ("labels are cut at -", "(S (NP-SBJ-1 (N a)) (V b))", "(S (NP (N a)) (V b))", (2, 2, 2)),
        ("labels are cut at =", "(S (NP=2 (N a)) (V b))", "(S (NP-SBJ (N a)) (V b))", (2, 2, 2)),
        ("a root without label", "( (S (N a) (V b)))", "(S (N a) (V b))", (1, 1, 1)),
        ("roots are no brackets", "(ROOT (S (N a)))", "(TOP (S (N a)))", (1, 1, 1)),
        ("nor is S1", "(S1 (S (N a)))", "(S (N a))", (1, 1, 1)),
        ("ADVP is PRT", "(S (ADVP (N a)) (V b))", "(S (PRT (N a)) (V b))", (2, 2, 2)),
        (
            "ADVP is PRT the other way",
            "(S (PRT (N a)) (V b))",
            "(S (ADVP-TMP (N a)) (V b))",
            (2, 2, 2),
        ),
        ("ADVP|PRT is neither", "(S (ADVP|PRT (N a)) (V b))", "(S (ADVP (N a)) (V b))", (1, 2, 2)),
        ("X over X stays in gold", "(NP (NP (N a)))", "(NP (N a))", (1, 1, 2)),
        ("and in the prediction", "(NP (N a))", "(NP (NP (N a)))", (1, 2, 1)),
        ("a multiset", "(S (NP (NP (N a))) (V b))", "(S (NP (NP (NP (N a)))) (V b))", (3, 4, 3)),
        ("unary chains in any order", "(S (VP (V a)))", "(VP (S (V a)))", (2, 2, 2)),
        (
            "empty elements",
            "(S (NP (-NONE- *)) (VP (V a) (NP (-NONE- t))))",
            "(S (VP (V a)))",
            (2, 2, 2),
        ),
        (
            "emptied parents, all up",
            "(S (SBAR (-NONE- 0) (S (-NONE- *))) (V a))",
            "(S (V a))",
            (1, 1, 1),
        ),
        (
            "punctuation is deleted",
            "(S (NP (N a) (, ,)) (V b) (. .))",
            "(S (NP (N a)) (, ,) (V b) (. .))",
            (2, 2, 2),
        ),
        (
            "constituents of punctuation vanish",
            "(S (PRN (: --)) (N a))",
            "(S (: --) (NP (N a)))",
            (1, 2, 1),
        ),
        (
            "quotes are punctuation",
            "(S (`` ``) (N a) ('' ''))",
            "(S (NP (`` ``) (N a) ('' '')))",
            (1, 2, 1),
        ),
        ("? and ! are", "(S (NP (N a)) (? ?) (! !))", "(S (NP (N a) (? ?)) (! !))", (2, 2, 2)),
        (
            "by gold tags on both sides",
            "(S (NP (N a)) (, ,) (V b))",
            "(S (NP (N a) (CC ,)) (V b))",
            (2, 2, 2),
        ),
        (
            "a predicted comma is a word",
            "(S (NP (N a)) (N x) (V b))",
            "(S (NP (N a) (, x)) (V b))",
            (1, 2, 2),
        ),
        (
            "a mistagged comma goes with its word",
            "(S (NP (, Wa) (N a)) (V b))",
            "(S (N Wa) (NP (N a)) (V b))",
            (2, 2, 2),
        ),
        ("$ stays", "(S (NP ($ $) (CD 1)) (V b))", "(S ($ $) (NP (CD 1)) (V b))", (1, 2, 2)),
        ("# stays", "(S (NP (# #) (CD 1)) (V b))", "(S (# #) (NP (CD 1)) (V b))", (1, 2, 2)),
        (
            "-LRB- stays",
            "(S (NP (-LRB- -LRB-) (N a)) (V b))",
            "(S (-LRB- -LRB-) (NP (N a)) (V b))",
            (1, 2, 2),
        ),
        ("HYPH stays", "(S (NP (HYPH -) (N a)) (V b))", "(S (HYPH -) (NP (N a)) (V b))", (1, 2, 2)),
        (
            "empty elements need not agree",
            "(S (N a) (-NONE- *) (, ,) (NP (N b)))",
            "(S (N a) (, ,) (NP (N b)))",
            (2, 2, 2),
        ),
    ],
)
def test_brackets(
    rule: str, gold: str, predicted: str, expected: tuple[float, float, float]
) -> None:
    assert brackets_counted(gold, predicted) == expected, rule


def test_the_older_list_of_punctuation_keeps_question_marks() -> None:
    gold, predicted = [tree("(S (NP (N a)) (? ?))")], [tree("(S (NP (N a) (? ?)))")]
    assert brackets.outcomes(gold, predicted).scores()["bracket_f1"] == 1
    assert (
        brackets.outcomes(gold, predicted, punctuation=brackets.COLLINS).scores()["bracket_f1"]
        == 0.5
    )


def test_crossing_brackets() -> None:
    gold = "(S (A (N a) (N b)) (B (N c) (N d)))"
    n = counts(gold, "(S (N a) (X (Y (N b) (N c))) (N d))")
    assert (n["crossing"], n["without_crossing"]) == (2, 0)  # X and Y cross A and B, each once
    assert counts(gold, "(S (N a) (X (N b) (N c) (N d)))")["crossing"] == 1
    n = counts(gold, "(S (A (N a) (N b)) (C (N c)) (N d))")
    assert (n["crossing"], n["without_crossing"], n["complete"]) == (0, 1, 0)


def test_complete_match_is_of_brackets_without_tags() -> None:
    n = counts("(S (NP (N a)) (. .))", "(S (NP (X a)) (. .))")
    assert (n["complete"], n["words"], n["tags"]) == (1, 1, 0)


def test_tags_are_compared_without_punctuation() -> None:
    n = counts("(S (N a) (V b) (, ,) (X c))", "(S (N a) (N b) (V ,) (X c))")
    assert (n["words"], n["tags"]) == (3, 2)


def test_other_numbers_of_words_are_errors_and_nothing_else() -> None:
    n = counts("(S (N a) (N b))", "(S (N a))")
    assert n == dict.fromkeys(brackets.COUNTS, 0.0) | {"sentences": 1, "errors": 1}


def sentence(words: int) -> str:
    return "(S " + " ".join("(N a)" for _ in range(words - 1)) + " (. .))"


def test_scores_of_a_corpus_and_of_its_short_sentences() -> None:
    gold = [sentence(40), sentence(41), "(S (NP (N a)) (V b) (-NONE- *))", "(S (N a) (N b))"]
    predicted = [
        sentence(40),
        sentence(41).replace("(S", "(X"),
        "(S (N a) (VP (N b)))",
        "(S (N a))",
    ]
    outcomes = brackets.outcomes(list(map(tree, gold)), list(map(tree, predicted)))
    scores = outcomes.scores()
    assert len(outcomes) == 4
    expected = {
        "bracket_f1": 2 / 4,
        "bracket_precision": 2 / 4,
        "bracket_recall": 2 / 4,
        "complete_match": 1 / 3,
        "crossing": 0.0,
        "no_crossing": 1.0,
        "tag_accuracy": (39 + 40 + 1) / (39 + 40 + 2),
        "bracket_f1_40": 2 / 3,
        "bracket_precision_40": 2 / 3,
        "bracket_recall_40": 2 / 3,
        "complete_match_40": 1 / 2,
        "crossing_40": 0.0,
        "no_crossing_40": 1.0,
        "tag_accuracy_40": 40 / 41,
    }
    assert scores == pytest.approx(expected, abs=1e-15)
    assert brackets.table(outcomes) == (
        "                                   all  up to 40 words\n"
        "sentences                            4               3\n"
        "left out: other words                1               1\n"
        "labelled brackets (F1)           50.00           66.67\n"
        "precision                        50.00           66.67\n"
        "recall                           50.00           66.67\n"
        "whole trees                      33.33           50.00\n"
        "crossing brackets a sentence      0.00            0.00\n"
        "sentences without any           100.00          100.00\n"
        "tags                             98.77           97.56\n"
    )


def test_a_sentence_is_a_unit_that_can_be_drawn_again() -> None:
    gold, predicted = ["(S (N a))", "(S (NP (N a)) (V b))"], ["(S (N a))", "(S (N a) (V b))"]
    outcomes = brackets.outcomes(list(map(tree, gold)), list(map(tree, predicted)))
    assert outcomes.scores(np.array([2, 0]))["bracket_recall"] == 1
    assert outcomes.scores(np.array([0, 3]))["bracket_recall"] == 0.5


def test_no_sentences() -> None:
    assert brackets.outcomes([], []).scores()["bracket_f1"] == 0


def test_other_numbers_of_trees_are_refused() -> None:
    with pytest.raises(
        DataError, match="gold.mrg: 0 predicted trees for 1 sentences: predict this file."
    ):
        brackets.outcomes([tree("(S (N a))")], [], "gold.mrg")
