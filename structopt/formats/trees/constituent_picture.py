"""Pictures of constituent trees as SVG: words below, constituents above with their probabilities;
drawn without any library.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate

from structopt.formats.trees.penn import EMPTY, Node, bare_label, words_of
from structopt.formats.trees.svg import (
    MARGIN,
    MISSED,
    RIGHT,
    TEXT,
    WRONG,
    clean,
    opening,
    width_of,
    word_lines,
)

# pixels: between words, between heights of constituents, size of small letters
GAP, LEVEL, SMALL = 16, 44, TEXT - 4
Span = tuple[str, int, int]
"""Label, first word, and the word after the last, from 0."""


@dataclass
class _Drawn:
    """A node as it is drawn: at a height above the words, 0 for a word, from its first to its last
    child's middle.
    """

    label: str
    begin: int
    end: int
    height: int
    children: list[_Drawn]
    middle: float = 0.0


def draw(
    tree: Node, probabilities: Mapping[Span, float] | None = None, gold: Node | None = None
) -> str:
    """Return a picture of a tree as SVG text.

    Parameters
    ----------
    tree : Node
    probabilities : mapping, or None
        By label, first word, and the word after the last (from 0): written below the labels of
        constituents, which are the paler the less probable they are. One that the mapping lacks has
        0.
    gold : Node or None
        The right tree: constituents that it lacks are red, and those of it that the tree lacks are
        listed below in green. Function tags, empty elements and the label of the root do not count.
    """
    words, nodes = words_of(tree), _nodes(tree)
    constituents, leaves = (
        [node for node in nodes if node.height and node.label],
        [node for node in nodes if not node.height],
    )
    notes = [] if gold is None else _missed(tree, gold, [leaf.word for leaf in words])
    right = _place(
        nodes, [max(width_of(leaf.word, TEXT), width_of(leaf.label, SMALL)) + GAP for leaf in words]
    )
    top = MARGIN + LEVEL * max((node.height for node in constituents), default=0)
    width = max([right + MARGIN, *(2 * MARGIN + width_of(note, SMALL) for note in notes)])
    lines = opening(width, top + 3.5 * TEXT + 1.5 * SMALL * len(notes))
    known = None if gold is None else _spans(gold)
    for node in reversed(constituents):
        p = (
            None
            if probabilities is None
            else probabilities.get((node.label, node.begin, node.end), 0.0)
        )
        is_right = (
            known is None
            or node is nodes[-1]
            or (bare_label(node.label), node.begin, node.end) in known
        )
        lines += _constituent(node, top, p, RIGHT if is_right else WRONG)
    for leaf, node in zip(words, leaves, strict=True):
        lines += word_lines(node.middle, top, leaf.word, leaf.label)
    for number, note in enumerate(notes, 1):
        y = top + 3 * TEXT + 1.5 * SMALL * number
        lines.append(
            f'<text x="{MARGIN}" y="{y:.1f}" font-size="{SMALL}" fill="{MISSED}" '
            f'text-anchor="start">{clean(note)}</text>'
        )
    return "\n".join([*lines, "</svg>"]) + "\n"


def _missed(tree: Node, gold: Node, words: list[str]) -> list[str]:
    """A line for every constituent of gold that a tree lacks."""
    spans = sorted(_spans(gold) - _spans(tree), key=lambda span: (span[1], -span[2], span[0]))
    return [f"missed: {label} over {' '.join(words[begin:end])}" for label, begin, end in spans]


def _spans(tree: Node) -> set[Span]:
    """The constituents that are compared."""
    nodes = _nodes(tree)
    return {(bare_label(node.label), node.begin, node.end) for node in nodes[:-1] if node.height}


def _nodes(tree: Node) -> list[_Drawn]:
    """Words and constituents, children before parents, from left to right; those without words are
    left out.
    """
    listed: list[_Drawn] = []
    complete: list[_Drawn] = []
    words = 0
    # a node, where it begins, and how many were complete then
    stack: list[tuple[Node, int, int]] = [(tree, -1, 0)]
    while stack:
        node, begin, before = stack.pop()
        if begin >= 0:
            children = complete[before:]
            if children:
                drawn = _Drawn(
                    node.label, begin, words, 1 + max(child.height for child in children), children
                )
                complete[before:] = [drawn]
                listed.append(drawn)
        elif node.children:
            stack.append((node, words, len(complete)))
            stack.extend((child, -1, 0) for child in reversed(node.children))
        elif node.label != EMPTY:
            complete.append(_Drawn(node.label, words, words + 1, 0, []))
            listed.append(complete[-1])
            words += 1
    return listed


def _place(nodes: list[_Drawn], widths: list[float]) -> float:
    """Set the middles of words of such widths, in pixels, and of constituents above them, and
    return the right edge.
    """
    for node in nodes:
        lack = width_of(node.label, TEXT) + GAP - sum(widths[node.begin : node.end])
        if node.height and lack > 0:
            widths[node.begin : node.end] = [
                width + lack / (node.end - node.begin) for width in widths[node.begin : node.end]
            ]
    edges = list(accumulate(widths, initial=float(MARGIN)))
    for node in nodes:
        ends = (
            [node.children[0].middle, node.children[-1].middle]
            if node.height
            else edges[node.begin : node.end + 1]
        )
        node.middle = sum(ends) / 2
    return edges[-1]


def _constituent(node: _Drawn, top: float, probability: float | None, colour: str) -> Iterator[str]:
    """A label, its probability below it, and lines to the children."""
    y = _line_of(node, top)
    p = 1.0 if probability is None else min(1.0, max(0.0, probability))
    bar, first, last = y + LEVEL / 2, node.children[0].middle, node.children[-1].middle
    path = (
        f"M{node.middle:.1f},{y + (4 if probability is None else SMALL + 4):.1f} V{bar:.1f} "
        f"M{first:.1f},{bar:.1f} H{last:.1f}"
    )
    path += "".join(
        f" M{child.middle:.1f},{bar:.1f} V{_line_of(child, top) - TEXT:.1f}"
        for child in node.children
    )
    yield (
        f'<g fill="{colour}" opacity="{0.35 + 0.65 * p:.2f}"><title>{clean(node.label)} '
        f"{node.begin + 1}-{node.end}</title>"
    )
    yield f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="{0.8 + 0.7 * p:.2f}"/>'
    yield f'<text x="{node.middle:.1f}" y="{y:.1f}">{clean(node.label)}</text>'
    if probability is not None:
        yield f'<text x="{node.middle:.1f}" y="{y + SMALL:.1f}" font-size="{SMALL}">{p:.2f}</text>'
    yield "</g>"


def _line_of(node: _Drawn, top: float) -> float:
    """Where the letters of a node stand, in pixels from above."""
    return top - LEVEL * node.height + TEXT if node.height else top + 1.3 * TEXT
