"""Constituent trees as binary trees with one unary step a span, and back.

A span has a *bottom* symbol, then exactly one unary step, then a *top* symbol. The step is a chain
of labels: of one label, where nothing stands above the bottom (the identity), else all labels of a
chain of constituents with one child each. A constituent with more than two children is split in two
again and again; the symbols between, ``@X``, say what it is split from: its label, and of the
children that were split off before, the labels of the last `horizontal` ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

Direction = Literal["left", "right", "head"]
Chain = tuple[str, ...]
"""The symbols of a unary step, top first; the last is the bottom."""
BETWEEN = "@"
"""Begins the symbols that binarization makes."""
CHILDREN = "["
"""Stands in symbols between, before the labels of children that they remember."""
PARENT = "^"
"""Stands between a label and those above that it remembers."""


class Tree(NamedTuple):
    """A constituent with its children, or a word (by its position) with its tag.

    Attributes
    ----------
    label : str
    children : tuple of Tree
        Empty for a word.
    begin, end : int
        Its words, by their positions.
    """

    label: str
    children: tuple[Tree, ...]
    begin: int
    end: int


class Span(NamedTuple):
    """A span of a binary tree.

    Attributes
    ----------
    chain : tuple of str
        The symbols of its unary step.
    left, right : Span or None
        None over a single word.
    begin, end : int
    """

    chain: Chain
    left: Span | None
    right: Span | None
    begin: int
    end: int

    @property
    def top(self) -> str:
        """The symbol above the unary step."""
        return self.chain[0]

    @property
    def bottom(self) -> str:
        """The symbol below it."""
        return self.chain[-1]

    def spans(self) -> Iterator[Span]:
        """The span and all within, parents first."""
        stack = [self]
        while stack:
            span = stack.pop()
            yield span
            stack.extend(child for child in (span.right, span.left) if child is not None)


def _last(_label: str, children: Sequence[str]) -> int:
    return len(children) - 1


@dataclass(frozen=True)
class Binarization:
    """How constituents with more than two children are split, and what symbols remember.

    Attributes
    ----------
    direction : {"left", "right", "head"}
        ``right``: the first child is split off, then the next; ``left``: the last; ``head``: the
        last until the head child is the last, then the first, so that every symbol between contains
        the head.
    horizontal : int
        Labels of split-off children that a symbol between remembers.
    vertical : int
        Labels of the constituents above that a label remembers, itself included: 1 for none.
    head : callable
        Label, and labels of the children, to the index of the head child; for ``head`` only.
    """

    direction: Direction = "head"
    horizontal: int = 0
    vertical: int = 1
    head: Callable[[str, Sequence[str]], int] = _last

    def binary(self, tree: Tree) -> Span:
        """Return the binary tree of a tree.

        The symbol of the root is never a bottom. A root with several children has a step to a
        symbol between, such as ``@ROOT``, which has the children.
        """
        span = self._span(tree, ())
        if len(tree.children) > 1:
            span = span._replace(chain=(span.top, f"{BETWEEN}{span.top}"))
        return span

    def _span(self, tree: Tree, above: tuple[str, ...]) -> Span:
        chain: list[str] = []
        while True:
            chain.append(self._annotated(tree, above))
            above = (tree.label, *above)[: self.vertical - 1]
            if len(tree.children) != 1:
                break
            tree = tree.children[0]
        if not tree.children:
            return Span(tuple(chain), None, None, tree.begin, tree.end)
        left, right = self._halves(tree, chain[-1], above)
        return Span(tuple(chain), left, right, tree.begin, tree.end)

    def _annotated(self, tree: Tree, above: Sequence[str]) -> str:
        """A label with those above; tags remember none."""
        return PARENT.join([tree.label, *above]) if tree.children else tree.label

    def _halves(self, tree: Tree, symbol: str, above: tuple[str, ...]) -> tuple[Span, Span]:
        """The two spans below a constituent of two children or more."""
        children = [self._span(child, above) for child in tree.children]
        labels = [child.label for child in tree.children]
        order = self._order(tree.label, labels)
        first, last = 0, len(children)
        # what is split off, from which side, and the symbol of the rest
        halves: list[tuple[bool, Span, str]] = []
        seen: tuple[str, ...] = ()
        for from_left in order:
            child = children[first] if from_left else children[last - 1]
            seen = (*seen, labels[first] if from_left else labels[last - 1])
            first, last = first + from_left, last - (not from_left)
            remembered = ",".join(seen[len(seen) - self.horizontal :]) if self.horizontal else ""
            halves.append(
                (
                    from_left,
                    child,
                    f"{BETWEEN}{symbol}" + (f"{CHILDREN}{remembered}]" if remembered else ""),
                )
            )
        rest = children[first]
        for depth in range(len(halves) - 1, -1, -1):
            from_left, child, _ = halves[depth]
            pair = (child, rest) if from_left else (rest, child)
            if depth == 0:
                return pair
            rest = Span((halves[depth - 1][2],), *pair, pair[0].begin, pair[1].end)
        raise AssertionError("a constituent with one child is a unary step")

    def _order(self, label: str, children: Sequence[str]) -> list[bool]:
        """For each child that is split off in turn, whether it is the first; one child is left."""
        n = len(children)
        if self.direction != "head":
            return [self.direction == "right"] * (n - 1)
        head = self.head(label, children)
        return [False] * (n - 1 - head) + [True] * head


def unbinarized(span: Span) -> Tree:
    """The tree of a binary tree: symbols between are gone, and what labels remember of those
    above.
    """
    (tree,) = _trees(span)
    return tree


def _trees(span: Span) -> tuple[Tree, ...]:
    children: tuple[Tree, ...] = ()
    if span.left is not None and span.right is not None:
        children = (*_trees(span.left), *_trees(span.right))
    trees = children
    if not span.bottom.startswith(BETWEEN):
        label = span.bottom.partition(PARENT)[0] if children else span.bottom
        trees = (Tree(label, children, span.begin, span.end),)
    for symbol in reversed(span.chain[:-1]):
        trees = (Tree(symbol.partition(PARENT)[0], trees, span.begin, span.end),)
    return trees


def coarse(symbol: str) -> str:
    """What a symbol is without what it remembers: its symbol in a grammar with horizontal=0 and
    vertical=1.
    """
    return (
        symbol.partition(PARENT)[0].partition(CHILDREN)[0]
        if symbol.startswith(BETWEEN)
        else symbol.partition(PARENT)[0]
    )
