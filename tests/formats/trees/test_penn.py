"""Trees in brackets: every form that treebanks have is read, written again, or refused with its
line.
"""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structopt.errors import DataError
from structopt.formats.trees.penn import Node, bare_label, escaped, parse, relabelled, words_of

TRACE = """( (S
    (NP-SBJ-1 (DT The) (NN rain) )
    (VP (VBD seemed)
      (S
        (NP-SBJ (-NONE- *-1) )
        (VP (TO to)
          (VP (VB stop) ))))
    (. .) ))
"""


def test_a_tree_over_many_lines() -> None:
    (tree,) = parse(TRACE, "wsj.mrg")
    assert tree.label == "" and [child.label for child in tree.children] == ["S"]
    assert [(leaf.label, leaf.word, leaf.line) for leaf in tree.leaves()] == [
        ("DT", "The", 2),
        ("NN", "rain", 2),
        ("VBD", "seemed", 3),
        ("-NONE-", "*-1", 5),
        ("TO", "to", 6),
        ("VB", "stop", 7),
        (".", ".", 8),
    ]
    assert [leaf.word for leaf in words_of(tree)] == ["The", "rain", "seemed", "to", "stop", "."]
    assert tree.children[0].children[0].label == "NP-SBJ-1"


def test_several_trees_a_line_and_their_lines() -> None:
    trees = parse("(A (B c)) (D (E f))\n\n(G (H i))", "t")
    assert [(str(tree), tree.line) for tree in trees] == [
        ("(A (B c))", 1),
        ("(D (E f))", 1),
        ("(G (H i))", 3),
    ]
    # the rest is not read
    assert list(map(str, parse("(A (B c)) (D (E f)) (", "t", limit=2))) == [
        "(A (B c))",
        "(D (E f))",
    ]


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("( (S (X y)))", "( (S (X y)))"),
        ("(ROOT(S(X y)))", "(ROOT (S (X y)))"),
        ("(X y)", "(X y)"),  # a tree that is one word
        ("(X\n   y\n)", "(X y)"),  # a leaf broken over lines
        (
            "(PRN (-LRB- -LRB-) (CD 1\\/2) (-RRB- -RRB-))",
            "(PRN (-LRB- -LRB-) (CD 1\\/2) (-RRB- -RRB-))",
        ),
        ("(NP (SYM [) (X (IN @)))", "(NP (SYM [) (X (IN @)))"),
        # a blank that is no white space of brackets
        ("(NP=2 (NN-x a\u00a0b))", "(NP=2 (NN-x a\u00a0b))"),
        ("(S\r\n\t(X y)\r\n)", "(S (X y))"),
    ],
)
def test_forms(text: str, written: str) -> None:
    assert list(map(str, parse(text, "t"))) == [written]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("(S (X y)", 1, "the tree that begins here lacks a closing bracket."),
        ("\n(S\n(X (Y z", 2, "the tree that begins here lacks 3 closing brackets."),
        (
            "(S (X y))\n)",
            2,
            "this ) closes no bracket. Remove it, or add the ( that is missing before it.",
        ),
        (
            "(S (X y))\nword",
            2,
            "'word' stands outside of all brackets. Write a tree as (S (NP (NN rain)) (VP (VBZ "
            "falls))).",
        ),
        ("(S\n(X y z))", 2, "(X y z) has 2 words. A tag has one: (TAG word)."),
        ("(X a b c d e)", 1, "(X a b c ...) has 5 words. A tag has one: (TAG word)."),
        ("(S\n()\n)", 2, "() is empty. Write (TAG word), or (LABEL ...) around constituents."),
        ("(S (X))", 1, "(X) has no word. Write (TAG word), or (LABEL ...) around constituents."),
        (
            "(S word (X y))",
            1,
            "the constituent S has the word 'word' beside constituents. Give the word a tag: "
            "(TAG word).",
        ),
        (
            "( (S (X y))\n( (S (X y)))\n)",
            2,
            "a constituent within a tree has no label. Write (LABEL ...), or close the tree that "
            "begins in line 1 before it.",
        ),
    ],
)
def test_malformed(text: str, line: int, message: str) -> None:
    with pytest.raises(DataError) as caught:
        parse(text, "bad.mrg")
    assert str(caught.value) == f"bad.mrg:{line}: {message}"


def test_deep_trees_need_no_stack() -> None:
    depth = 20_000
    text = "(S " * depth + "(X y)" + ")" * depth
    (tree,) = parse(text, "deep")
    assert str(tree) == text
    assert str(relabelled(tree, lambda label, begin, end: f"{label}{begin}{end}")).startswith(
        "(S01 (S01 "
    )


NAMES = st.text("abcXYZ-=|@$.\\/*'é", min_size=1, max_size=4)
TREES = st.recursive(
    st.builds(lambda tag, word: Node(tag, (), word), NAMES, NAMES),
    lambda nodes: st.builds(
        lambda label, children: Node(label, tuple(children)),
        NAMES,
        st.lists(nodes, min_size=1, max_size=4),
    ),
    max_leaves=12,
)


@given(st.lists(TREES, max_size=3))
def test_what_is_written_is_read_again(trees: list[Node]) -> None:
    without_lines = [str(tree) for tree in parse("\n".join(map(str, trees)), "t")]
    assert without_lines == [str(tree) for tree in trees]


@pytest.mark.parametrize(
    ("label", "bare"),
    [
        ("NP-SBJ-1", "NP"),
        ("NP=2", "NP"),
        ("ADVP|PRT-CLR", "ADVP|PRT"),
        ("-LRB-", "-LRB-"),
        ("-NONE-", "-NONE-"),
        ("", ""),
        ("S", "S"),
    ],
)
def test_bare_labels(label: str, bare: str) -> None:
    assert bare_label(label) == bare


def test_words_that_are_brackets_are_escaped() -> None:
    words = ["(", ")", "[", "}", "f(x)", "[a]", "1\\/2", "-LRB-", "rain"]
    assert list(map(escaped, words)) == [
        "-LRB-",
        "-RRB-",
        "-LSB-",
        "-RCB-",
        "f-LRB-x-RRB-",
        "[a]",
        "1\\/2",
        "-LRB-",
        "rain",
    ]


def test_labels_of_spans() -> None:
    (tree,) = parse("(S (NP (-NONE- *)) (VP (X a) (NP (Y b))))", "t")
    written = str(relabelled(tree, lambda label, begin, end: f"{label}{begin}{end}"))
    assert written == "(S02 (NP00 (-NONE- *)) (VP02 (X a) (NP12 (Y b))))"


@pytest.mark.nightly("data")
def test_the_trees_of_gum() -> None:
    folder = os.environ.get("STRUCTOPT_DATA")
    if not folder:
        pytest.skip("STRUCTOPT_DATA is not set")
    text = gzip.decompress((Path(folder) / "gum" / "const.train.ptb.gz").read_bytes()).decode()
    trees = parse(text, "gum")
    assert len(trees) == 10_224 and sum(len(words_of(tree)) for tree in trees) == 177_410
    assert {tree.label for tree in trees} == {"ROOT"} and {
        len(tree.children) for tree in trees
    } == {1}
