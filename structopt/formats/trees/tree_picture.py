"""Pictures of dependency trees as SVG: arcs above the words, the thicker the more probable; drawn
without any library.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from structopt.formats.trees.svg import (
    MARGIN,
    MISSED,
    OTHER,
    RIGHT,
    TEXT,
    WRONG,
    clean,
    opening,
    width_of,
    word_lines,
)
from structopt.kernels.waist.record import Array

ALTERNATIVE = 0.05
"""Probability from which an arc is drawn that is not in the tree."""

GAP, LEVEL = 22, 26  # pixels: between words, between heights of arcs


@dataclass(frozen=True)
class _Drawn:
    """An arc as it is drawn."""

    head: int
    modifier: int
    colour: str
    probability: float
    dashed: bool
    relation: str


def draw(
    words: Sequence[str],
    tags: Sequence[str],
    heads: Sequence[int],
    marginals: Array | None = None,
    gold: Sequence[int] | None = None,
    relations: Sequence[str] | None = None,
) -> str:
    """Return a picture of a tree as SVG text.

    Parameters
    ----------
    words, tags : sequence of str, each of length n
    heads : sequence of int, of length n
        Heads from 1; 0 for the root.
    marginals : float64, shape (n, n + 1), or None
        Probability of every head, column 0 the root: arcs of the tree are the thicker and darker
        the more probable they are, and others of at least 0.05 are dashed.
    gold : sequence of int, of length n, or None
        The right heads: wrong arcs are red, and the right ones that the tree misses green and
        dashed.
    relations : sequence of str, of length n, or None
        Written above the arcs of the tree.
    """
    arcs = list(_arcs(heads, marginals, gold, relations or [""] * len(words)))
    left = _edges(words, tags, relations or [""] * len(words))
    heights = _heights(arcs)
    top = MARGIN + LEVEL * (max(heights, default=0) + 1) + TEXT
    width, height = left[-1] + MARGIN, top + 4 * TEXT
    lines = opening(width, height)
    # the tree lies over the rest
    order = sorted(range(len(arcs)), key=lambda a: (not arcs[a].dashed, heights[a]))
    middles = [(a + b) / 2 for a, b in zip(left, left[1:], strict=False)]
    lines += [line for a in order for line in _arc(arcs[a], heights[a], middles, top)]
    for middle, word, tag in zip(middles, words, tags, strict=True):
        lines += word_lines(middle, top, word, tag)
    return "\n".join([*lines, "</svg>"]) + "\n"


def _arcs(
    heads: Sequence[int],
    marginals: Array | None,
    gold: Sequence[int] | None,
    relations: Sequence[str],
) -> Iterator[_Drawn]:
    """Arcs of the tree, right ones that it misses, and other probable ones."""
    for m, head in enumerate(heads):
        p = (
            [1.0] * (len(heads) + 1)
            if marginals is None
            else [float(value) for value in np.nan_to_num(marginals[m])]
        )
        wrong = gold is not None and gold[m] != head
        yield _Drawn(head, m, WRONG if wrong else RIGHT, p[head], False, relations[m])
        for other in range(len(heads) + 1):
            missed = gold is not None and other == gold[m]
            if other != head and (missed or (marginals is not None and p[other] >= ALTERNATIVE)):
                yield _Drawn(other, m, MISSED if missed else OTHER, p[other], True, "")


def _edges(words: Sequence[str], tags: Sequence[str], relations: Sequence[str]) -> list[float]:
    """The left edge of each word, and the right edge of the last one, in pixels; O(n)."""
    edges = [float(MARGIN)]
    for word, tag, relation in zip(words, tags, relations, strict=True):
        edges.append(
            edges[-1]
            + GAP
            + max(
                width_of(word, TEXT),
                width_of(tag, TEXT - 4),
                width_of(relation, TEXT - 5),
                2 * TEXT,
            )
        )
    return edges


def _heights(arcs: Sequence[_Drawn]) -> list[int]:
    """Level of every arc from 1: above all arcs that lie under it. Arcs from the root go straight
    up, above all. O(arcs^2).
    """
    heights = [0] * len(arcs)
    spans = [(min(arc.head - 1, arc.modifier), max(arc.head - 1, arc.modifier)) for arc in arcs]
    inner = [a for a, arc in enumerate(arcs) if arc.head]
    for a in sorted(inner, key=lambda a: spans[a][1] - spans[a][0]):
        low, high = spans[a]
        under = [
            heights[b] for b in inner if heights[b] and low < spans[b][1] and spans[b][0] < high
        ]
        heights[a] = 1 + max(under, default=0)
    above = 1 + max(heights, default=0)
    return [height or above for height in heights]


def _arc(arc: _Drawn, level: int, middles: Sequence[float], base: float) -> Iterator[str]:
    """A path with an arrow at the modifier, and the relation above it."""
    side = 0 if arc.head == 0 else 1 if arc.head - 1 > arc.modifier else -1
    y, end = base - LEVEL * level, middles[arc.modifier] + (4 * (side or 1) if arc.dashed else 0)
    p = min(1.0, max(0.0, arc.probability))
    if arc.head:
        begin = middles[arc.head - 1] - 8 * side
        bend = min(12.0, abs(end - begin) / 2) * side
        path = (
            f"M{begin:.1f},{base:.1f} V{y + 12:.1f} Q{begin:.1f},{y:.1f} "
            f"{begin - bend:.1f},{y:.1f} "
        )
        path += f"H{end + bend:.1f} Q{end:.1f},{y:.1f} {end:.1f},{y + 12:.1f} V{base - 5:.1f}"
        label = ((begin + end) / 2, y - 3)
    else:
        path, label = f"M{end:.1f},{y:.1f} V{base - 5:.1f}", (end, y - 3)
    dash = ' stroke-dasharray="4 3"' if arc.dashed else ""
    yield (
        f'<g stroke="{arc.colour}" fill="{arc.colour}" '
        f'opacity="{0.25 + 0.75 * p:.2f}"><title>{p:.3f}</title>'
    )
    yield f'<path d="{path}" fill="none" stroke-width="{0.8 + 1.7 * p:.2f}"{dash}/>'
    yield f'<path d="M{end:.1f},{base:.1f} l-3.5,-7 h7 z" stroke="none"/></g>'
    text = arc.relation or ("" if arc.head or arc.dashed else "root")
    if text:
        yield (
            f'<text x="{label[0]:.1f}" y="{label[1]:.1f}" font-size="{TEXT - 5}" '
            f'fill="{arc.colour}">{clean(text)}</text>'
        )
