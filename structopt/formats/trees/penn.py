"""Constituent trees in the brackets of the Penn Treebank: read with the line of every node, and
written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from structopt.errors import DataError, line_name

TOKEN = re.compile(r"\n|[()]|[^ \t\r\n\f\v()]+")
EMPTY = "-NONE-"
"""The label of elements without a word: traces, and zeros."""
ESCAPES = {"(": "-LRB-", ")": "-RRB-", "[": "-LSB-", "]": "-RSB-", "{": "-LCB-", "}": "-RCB-"}
"""How brackets are written that are words."""


class Node(NamedTuple):
    """A constituent, or a word with its tag.

    Attributes
    ----------
    label : str
        As the file writes it, function tags included; empty for a root without a label.
    children : tuple of Node
        Empty for a word.
    word : str
        Empty for a constituent.
    line : int
        Where it begins in its file, from 1.
    """

    label: str
    children: tuple[Node, ...] = ()
    word: str = ""
    line: int = 0

    def leaves(self) -> Iterator[Node]:
        """The words of the constituent with their tags, from left to right."""
        stack = [self]
        while stack:
            node = stack.pop()
            if node.children:
                stack.extend(reversed(node.children))
            else:
                yield node

    def __str__(self) -> str:
        """The tree in brackets, on one line."""
        written: list[str] = []
        stack: list[Node | str] = [self]
        while stack:
            item = stack.pop()
            if isinstance(item, str):
                written.append(item)
            elif item.children:
                written.append(f"({item.label}")
                stack.append(")")
                for child in reversed(item.children):
                    stack += [child, " "]
            else:
                written.append(f"({item.label} {item.word})")
        return "".join(written)


@dataclass
class _Open:
    """A bracket that is not closed yet."""

    line: int
    words: list[str]
    children: list[Node]


EXAMPLE = "Write a tree as (S (NP (NN rain)) (VP (VBZ falls)))."


def parse(text: str, path: str | Path, limit: int | None = None) -> list[Node]:
    """Return the trees of a text, any number of lines a tree and of trees a line; O(characters).

    A node is ``(LABEL word)`` or ``(LABEL node node ...)``; only the outermost may have no label:
    ``( (S ...))``.

    Parameters
    ----------
    text : str
    path : str or Path
        The file, for errors.
    limit : int or None
        Trees to read.

    Raises
    ------
    DataError
        Brackets that do not match, text outside of all brackets, a node without label or without
        words, a node with several words or with words beside nodes.
    """
    trees: list[Node] = []
    stack: list[_Open] = []
    line = 1
    for match in TOKEN.finditer(text):
        token = match.group()
        if token == "\n":
            line += 1
        elif token == "(":
            stack.append(_Open(line, [], []))
        elif token != ")":
            if not stack:
                raise DataError(path, line, f"{token!r} stands outside of all brackets. {EXAMPLE}")
            stack[-1].words.append(token)
        else:
            if not stack:
                raise DataError(
                    path,
                    line,
                    "this ) closes no bracket.",
                    remedy="Remove it, or add the ( that is missing before it.",
                )
            bracket = stack.pop()
            node = _closed(bracket, path, stack[0].line if stack else None)
            if stack:
                stack[-1].children.append(node)
            else:
                trees.append(node)
                if len(trees) == limit:
                    return trees
    if stack:
        missing = "a closing bracket" if len(stack) == 1 else f"{len(stack)} closing brackets"
        raise DataError(path, stack[0].line, f"the tree that begins here lacks {missing}.")
    return trees


def _closed(bracket: _Open, path: str | Path, outermost: int | None) -> Node:
    """The node of a bracket that is complete; `outermost` is the line of the bracket around all,
    where it is another one.
    """
    line, words, children = bracket.line, bracket.words, bracket.children
    if children:
        if len(words) > 1:
            message = f"the constituent {words[0]} has the word {words[1]!r} beside constituents"
            raise DataError(
                path,
                line,
                f"{message}.",
                remedy=f"Give the word a tag: (TAG {words[1]}).",
            )
        if not words and outermost is not None:
            message = "a constituent within a tree has no label. Write (LABEL ...)"
            raise DataError(
                path,
                line,
                f"{message}, or close the tree that begins in line "
                f"{line_name(path, outermost, line)} before it.",
            )
        return Node(words[0] if words else "", tuple(children), "", line)
    if len(words) == 2:
        return Node(words[0], (), words[1], line)
    if len(words) > 2:
        shown = " ".join(words[:4]) + (" ..." if len(words) > 4 else "")
        raise DataError(
            path, line, f"({shown}) has {len(words) - 1} words. A tag has one: (TAG word)."
        )
    what = f"({words[0]}) has no word" if words else "() is empty"
    raise DataError(
        path,
        line,
        f"{what}.",
        remedy="Write (TAG word), or (LABEL ...) around constituents.",
    )


def bare_label(text: str) -> str:
    """A label without function tags and indices: cut at the first ``-`` or ``=``; labels that begin
    so stay: ``-LRB-``.
    """
    if text.startswith("-"):
        return text
    cuts = [cut for cut in (text.find("-", 1), text.find("=", 1)) if cut > 0]
    return text[: min(cuts)] if cuts else text


def words_of(tree: Node) -> list[Node]:
    """The words of a tree with their tags, without empty elements."""
    return [leaf for leaf in tree.leaves() if leaf.label != EMPTY]


def escaped(word: str) -> str:
    """A word as brackets can hold it: ``-LRB-`` for every ``(``, and ``-LSB-`` for a word that is
    ``[``; the rest stays.
    """
    return ESCAPES.get(word) or word.replace("(", ESCAPES["("]).replace(")", ESCAPES[")"])


def relabelled(tree: Node, label_of: Callable[[str, int, int], str]) -> Node:
    """The tree with new labels of constituents, each a function of label, first word, and the word
    after the last (from 0).
    """
    word = 0
    # a node, and where it begins once its children are complete
    stack: list[tuple[Node, int]] = [(tree, -1)]
    complete: list[Node] = []
    while stack:
        node, begin = stack.pop()
        if begin >= 0:
            first = len(complete) - len(node.children)
            children = tuple(complete[first:])
            complete[first:] = [
                node._replace(label=label_of(node.label, begin, word), children=children)
            ]
        elif node.children:
            stack.append((node, word))
            stack.extend((child, -1) for child in reversed(node.children))
        else:
            word += node.label != EMPTY
            complete.append(node)
    return complete[0]
