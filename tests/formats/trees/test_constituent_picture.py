"""Pictures of constituents: well-formed XML, labels above their words, probabilities, and what gold
lacks or has.
"""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from structopt.formats.trees.constituent_picture import draw
from structopt.formats.trees.penn import Node, parse
from structopt.formats.trees.svg import MISSED, RIGHT, WRONG

SVG = "{http://www.w3.org/2000/svg}"
TREE = "( (S (NP (DT The) (NN rain)) (VP (VBD seemed) (S (VP (TO to) (VP (VB stop)))))))"


def tree(text: str) -> Node:
    (parsed,) = parse(text, "tree")
    return parsed


def constituents(svg: str) -> list[tuple[str, str, float, list[str]]]:
    """Title, colour, opacity and texts of each, from the outermost."""
    groups = ElementTree.fromstring(svg).iter(f"{SVG}g")
    return [
        (
            group.find(f"{SVG}title").text,
            group.get("fill"),
            float(group.get("opacity")),
            [t.text for t in group.iter(f"{SVG}text")],
        )
        for group in groups
    ]


def words(svg: str) -> dict[str, float]:
    """Middles of words and tags, and of notes."""
    return {
        text.text: float(text.get("x"))
        for text in ElementTree.fromstring(svg).findall(f"{SVG}text")
    }


def test_words_and_tags_stand_below() -> None:
    middles = words(draw(tree(TREE)))
    assert [name for name in middles if name.islower() or name == "The"] == [
        "The",
        "rain",
        "seemed",
        "to",
        "stop",
    ]
    assert list(middles.values()) == sorted(middles.values()) and middles["rain"] == middles["NN"]


def test_constituents_without_the_empty_root() -> None:
    drawn = constituents(draw(tree(TREE)))
    assert [(title, texts) for title, _, _, texts in drawn] == [
        ("S 1-5", ["S"]),
        ("VP 3-5", ["VP"]),
        ("S 4-5", ["S"]),
        ("VP 4-5", ["VP"]),
        ("VP 5-5", ["VP"]),
        ("NP 1-2", ["NP"]),
    ]
    assert {(colour, opacity) for _, colour, opacity, _ in drawn} == {(RIGHT, 1.0)}


def test_parents_stand_above_children() -> None:
    groups = ElementTree.fromstring(draw(tree(TREE))).iter(f"{SVG}g")
    heights = {
        group.find(f"{SVG}title").text: float(group.find(f"{SVG}text").get("y")) for group in groups
    }
    assert (
        heights["S 1-5"]
        < heights["VP 3-5"]
        < heights["S 4-5"]
        < heights["VP 4-5"]
        < heights["VP 5-5"]
    )
    assert heights["NP 1-2"] == heights["VP 5-5"]  # right above the words


def test_probabilities() -> None:
    drawn = constituents(draw(tree("(S (NP (N a)) (V b))"), {("S", 0, 2): 1.0, ("NP", 0, 2): 0.3}))
    assert drawn == [("S 1-2", RIGHT, 1.0, ["S", "1.00"]), ("NP 1-1", RIGHT, 0.35, ["NP", "0.00"])]


def test_gold() -> None:
    gold = tree(
        "(ROOT (S (NP-SBJ (DT The) (NN rain)) (NP (-NONE- *)) (VP (VBD seemed) (S (VP (TO to) "
        "(PP (VB stop)))))))"
    )
    svg = draw(tree(TREE), gold=gold)
    assert [title for title, colour, *_ in constituents(svg) if colour == WRONG] == ["VP 5-5"]
    notes = [
        text
        for text in ElementTree.fromstring(svg).findall(f"{SVG}text")
        if text.get("fill") == MISSED
    ]
    assert [note.text for note in notes] == ["missed: PP over stop"]
    assert "missed" not in draw(tree(TREE), gold=tree(TREE))


@pytest.mark.parametrize(
    "text", ["(S (X a))", "(X a)", "( (VERYLONGLABEL (X a) (Y b)))", "(S (NP (-NONE- *)))"]
)
def test_small_trees(text: str) -> None:
    root = ElementTree.fromstring(draw(tree(text), {}, tree(text)))
    width = float(root.get("width"))
    for element in root.iter(f"{SVG}text"):
        assert 0 < float(element.get("x")) < width


def test_signs_of_xml_are_escaped() -> None:
    svg = draw(Node("A<B", (Node("&", (), "<b>"), Node("X", (), "a\x00b"))))
    assert list(words(svg)) == ["<b>", "&", "a\ufffdb", "X"] and constituents(svg)[0][3] == ["A<B"]
