"""Pictures of trees: well-formed XML with one path an arc, drawn as it should be."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np

from structopt.formats.trees.tree_picture import MISSED, OTHER, RIGHT, WRONG, draw

SVG = "{http://www.w3.org/2000/svg}"


def arcs(text: str) -> list[tuple[str, float, float, bool, str]]:
    """Colour, opacity, width, whether dashed, and path of every arc."""
    found = []
    for group in ElementTree.fromstring(text).iter(f"{SVG}g"):
        path = group.findall(f"{SVG}path")[0]
        looks = group.get("stroke"), float(group.get("opacity")), float(path.get("stroke-width"))
        found.append((*looks, path.get("stroke-dasharray") is not None, path.get("d")))
    return found


def texts(text: str) -> list[str]:
    return [element.text for element in ElementTree.fromstring(text).iter(f"{SVG}text")]


def top(path: str) -> float:
    return min(float(y) for y in re.findall(r"[MVQ](?:[-\d.]+,)?([-\d.]+)", path))


def test_words_are_escaped() -> None:
    words = ["<b>&\"'", "a\x00b", "日本", "é"]
    found = texts(draw(words, ["X"] * 4, [0, 1, 1, 1], relations=["root", "a<b", "", ""]))
    assert (
        found[-8::2] == ["<b>&\"'", "a\ufffdb", "日本", "é"] and "a<b" in found and "root" in found
    )


def test_one_arc_a_word() -> None:
    found = arcs(draw(["a", "b", "c", "d"], ["X"] * 4, [2, 0, 2, 3]))
    assert len(found) == 4 and {looks[:4] for looks in found} == {(RIGHT, 1.0, 2.5, False)}


def test_longer_arcs_go_over_shorter_ones() -> None:
    heights = sorted(top(path) for *_, path in arcs(draw(list("abcd"), ["X"] * 4, [4, 1, 2, 0])))
    assert len(set(heights)) == 3  # the root's, 4 -> 1, and two short ones side by side


def test_marginals_and_gold() -> None:
    marginals = np.array([[0.2, 0.0, 0.8, 0.0], [0.96, 0.04, 0.0, 0.0], [0.2, 0.4, 0.4, 0.0]])
    found = arcs(draw(["a", "b", "c"], ["X"] * 3, [2, 0, 1], marginals, gold=[2, 0, 2]))
    assert sorted(looks[:4] for looks in found) == [
        (RIGHT, 0.85, 2.16, False),
        (RIGHT, 0.97, 2.43, False),
        (MISSED, 0.55, 1.48, True),
        (OTHER, 0.4, 1.14, True),  # root -> 1; 1 -> 2 is below 5 %
        (OTHER, 0.4, 1.14, True),  # root -> 3
        (WRONG, 0.55, 1.48, False),
    ]


def test_arrows_end_at_the_modifier() -> None:
    text = draw(["first", "second"], ["X", "X"], [0, 1])
    positions = {
        element.text: float(element.get("x"))
        for element in ElementTree.fromstring(text).iter(f"{SVG}text")
    }
    (root, arc) = sorted((path for *_, path in arcs(text)), key=lambda path: "H" in path)
    assert root.startswith(f"M{positions['first']:.1f},")
    assert f" {positions['second']:.1f}," in arc
    assert abs(float(arc[1 : arc.index(",")]) - positions["first"]) < 10
