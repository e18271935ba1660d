"""Sentences for constituency: trees in brackets, words with tags, or words alone; read, and written
with predicted trees.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from structopt.errors import DataError
from structopt.formats.in_memory.instances import MEMORY, Form, shown
from structopt.formats.in_memory.sentences import columns_of
from structopt.formats.text_files import check_limit, read_text, write_text
from structopt.formats.trees.penn import EXAMPLE, Node, escaped, parse, relabelled, words_of

COLUMNS = ("tokens", "tags")
BRACKETS = re.compile(r"\s*\((?=[^\s_]|\s*\()")
"""How a file of trees begins: a bracket, and its label or a further bracket."""
BLANKS = re.compile(r"[ \t\r\f\v]+")
TAGGED = re.compile(r"(.+)_([^_]+)")
FORM = Form(
    "sentence",
    "Give a list of sentences, each a list of words: [['Ann', 'slept']], of pairs: [[('Ann', "
    "'NNP'), ('slept', 'VBD')]], "
    "of columns: [{'tokens': ['Ann', 'slept'], 'tags': ['NNP', 'VBD']}], or a tree: ['(S (NP "
    "(NNP Ann)) (VP (VBD slept)))'].",
)


@dataclass(frozen=True)
class Treebank:
    """Sentences, with trees or without.

    Attributes
    ----------
    path : str
        The file, for errors.
    trees : tuple of Node, or None
        As the file has them; None where it has words only.
    words, tags : list of list of str
        Of every sentence, without empty elements; brackets as the treebank writes them (``-LRB-``).
        A tag is empty where there is none.
    lines : list of int
        Where each sentence begins in its file, from 1; in memory its number.
    tagged : bool
        Whether every word has a tag.
    matrices : mapping of str to sequence
        Matrices that came with sentences in memory, by key: one matrix per sentence.
    """

    path: str
    trees: tuple[Node, ...] | None
    words: list[list[str]]
    tags: list[list[str]]
    lines: list[int]
    tagged: bool
    matrices: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    def subset(self, first: int, last: int) -> Treebank:
        """Return the sentences first <= i < last."""
        return self._selected(range(first, last))

    def up_to(self, length: int) -> Treebank:
        """The sentences of at most so many words.

        Raises
        ------
        DataError
            Where there are none.
        """
        kept = [i for i, words in enumerate(self.words) if len(words) <= length]
        if not kept:
            raise DataError(
                self.path,
                None,
                f"no sentence has at most {length} words.",
                remedy="Raise task.max_length.",
            )
        return self._selected(kept)

    def _selected(self, kept: Sequence[int]) -> Treebank:
        trees = None if self.trees is None else tuple(self.trees[i] for i in kept)
        words, tags = ([column[i] for i in kept] for column in (self.words, self.tags))
        return replace(
            self,
            trees=trees,
            words=words,
            tags=tags,
            lines=[self.lines[i] for i in kept],
            matrices={key: [every[i] for i in kept] for key, every in self.matrices.items()},
        )

    def __len__(self) -> int:
        """Number of sentences."""
        return len(self.words)


def read(
    path: str | Path, limit: int | None = None, labelled: bool = True, encoding: str = "utf8"
) -> Treebank:
    """Return the sentences of a file, of trees or, where they need not be `labelled`, of words.

    A file holds trees if it begins with a bracket that is followed by its label or by a further
    bracket. Any other file has a sentence a line, its words divided by blanks; lines without words
    are left out. Its words have tags if every token of the file is written ``word_TAG``, with a tag
    that has no lower-case letter; the last ``_`` divides. Otherwise ``_`` belongs to words, so that
    ``snake_case`` is never cut, nor is any word of a file in which one has no tag.

    Raises
    ------
    DataError
        Malformed brackets, no sentence, words where trees must be given, or what `read_text`
        refuses.
    """
    check_limit(limit)
    text = read_text(path, encoding)
    if BRACKETS.match(text):
        return _of_trees(str(path), parse(text, path, limit))
    lines = [[token for token in BLANKS.split(line) if token] for line in text.split("\n")]
    sentences = [(number, tokens) for number, tokens in enumerate(lines, 1) if tokens]
    if labelled:
        number, tokens = sentences[0] if sentences else (None, [""])
        raise DataError(path, number, f"{shown(tokens[0])} begins no tree in brackets. {EXAMPLE}")
    return _of_tokens(str(path), sentences, limit)


def _of_trees(path: str, trees: Sequence[Node]) -> Treebank:
    leaves = [words_of(tree) for tree in trees]
    words, tags = (
        [[leaf.word for leaf in one] for one in leaves],
        [[leaf.label for leaf in one] for one in leaves],
    )
    return Treebank(path, tuple(trees), words, tags, [tree.line for tree in trees], True)


def _of_tokens(path: str, sentences: list[tuple[int, list[str]]], limit: int | None) -> Treebank:
    """Sentences of words; the whole file, whatever the limit, tells whether they have tags."""
    shares = [[TAGGED.fullmatch(token) for token in tokens] for _, tokens in sentences]
    tagged = all(
        share is not None and share[2] == share[2].upper() for line in shares for share in line
    )
    if tagged:
        words = [[escaped(share[1]) for share in line if share] for line in shares]
        tags = [[escaped(share[2]) for share in line if share] for line in shares]
    else:
        words = [[escaped(token) for token in tokens] for _, tokens in sentences]
        tags = [[""] * len(tokens) for _, tokens in sentences]
    return Treebank(
        path, None, words[:limit], tags[:limit], [number for number, _ in sentences[:limit]], tagged
    )


def in_memory(instances: Iterable[Any]) -> Treebank:
    """Make a corpus of sentences in memory.

    Parameters
    ----------
    instances : iterable of sentences
        Each a list of words, a list of pairs (word, tag), a mapping with ``tokens`` and perhaps
        ``tags`` (an empty tag is none), a `Node`, or a tree in brackets. Where all are trees the
        corpus has them.

    Raises
    ------
    DataError
        Another form, malformed brackets, or a word that is empty or has white space; its
        ``line`` is the number of the sentence, from 1.
    """
    trees: list[Node | None] = []
    columns: list[dict[str, list[str]]] = []
    for number, instance in enumerate(FORM.listed(instances), 1):
        tree = _tree(instance, number)
        columns.append(_columns(instance if tree is None else _pairs(tree), number))
        trees.append(tree)
    numbers = list(range(1, len(columns) + 1))
    given = tuple(tree for tree in trees if tree is not None)
    words, tags = [one["tokens"] for one in columns], [one["tags"] for one in columns]
    return Treebank(
        MEMORY,
        given if len(given) == len(trees) and all(words) else None,
        words,
        tags,
        numbers,
        all(map(all, tags)),
    )


def with_trees(sentences: Treebank, trees: Sequence[Any]) -> Treebank:
    """Return sentences in memory with trees over their words, each a `Node` or text in brackets.

    Tags are those of the sentences, where they have any, else those of the trees.

    Raises
    ------
    DataError
        What is no tree, or a tree over other words; its ``line`` is the number of the sentence,
        from 1.
    """
    nodes = []
    for number, (tree, words) in enumerate(zip(trees, sentences.words, strict=True), 1):
        node = _tree(tree, number)
        if node is None:
            raise FORM.refused(number, f"the output {shown(tree)} is no tree")
        if not words:
            raise FORM.refused(number, "the sentence has no words, and no tree: leave it out")
        if (own := [leaf.word for leaf in words_of(node)]) != words:
            other, sentence = shown(" ".join(own)), shown(" ".join(words))
            raise FORM.refused(
                number, f"the tree is over the words {other}, and the sentence is {sentence}"
            )
        nodes.append(node)
    tags = [
        [tag or leaf.label for tag, leaf in zip(own, words_of(node), strict=True)]
        for own, node in zip(sentences.tags, nodes, strict=True)
    ]
    return replace(sentences, trees=tuple(nodes), tags=tags, tagged=True)


def _tree(instance: Any, number: int) -> Node | None:
    """The tree of an instance in memory that is one, or its brackets."""
    if isinstance(instance, Node):
        return instance
    if not isinstance(instance, str) or not BRACKETS.match(instance):
        return None
    try:
        trees = parse(instance, MEMORY)
    except DataError as error:
        raise FORM.refused(number, str(error).partition(": ")[2].rstrip(".")) from None
    if len(trees) > 1:
        raise FORM.refused(number, f"a sentence is {len(trees)} trees")
    return trees[0]


def _pairs(tree: Node) -> list[tuple[str, str]]:
    if not tree.children and not tree.word:  # the tree of an empty sentence
        return []
    return [(leaf.word, leaf.label) for leaf in words_of(tree)]


def _columns(sentence: Any, number: int) -> dict[str, list[str]]:
    """Words and tags of a sentence, brackets escaped."""
    columns = columns_of(sentence, number, COLUMNS)
    words = columns["tokens"]
    for word in words:
        if not word or BLANKS.search(word) or "\n" in word:
            raise FORM.refused(
                number,
                f"{shown(word)} is no word: brackets cannot hold an empty one, nor white space",
            )
    tags = columns.get("tags") or [""] * len(words)
    return {"tokens": list(map(escaped, words)), "tags": list(map(escaped, tags))}


def write(
    treebank: Treebank,
    target: str | Path,
    outputs: Sequence[Node],
    probabilities: Sequence[Mapping[tuple[str, int, int], float]] | None = None,
    ranked: Sequence[Sequence[tuple[float, Node]]] | None = None,
    encoding: str = "utf8",
) -> None:
    """Write predicted trees in brackets, one per line.

    Lines without words before a sentence of words are written as empty lines, so that sentences
    keep their places.

    Parameters
    ----------
    treebank : Treebank
        The sentences.
    target : str or Path
        The file that is replaced.
    outputs : sequence of Node
        The best tree of each sentence.
    probabilities : sequence of mapping, or None
        Of each sentence, by label, first word, and the word after the last (from 0): every label of
        a constituent is followed by ``:0.9731``; one that the mapping lacks has 0.
    ranked : sequence, or None
        Of each sentence the best trees with their scores, best first. Then each line is ``score TAB
        tree``, and an empty line follows each sentence.

    Raises
    ------
    DataError
        The outputs are of other sentences, or the file cannot be written.
    """
    if len(outputs) != len(treebank):
        raise DataError(
            treebank.path,
            None,
            f"{len(outputs)} predicted trees for {len(treebank)} sentences: predict this file.",
        )
    tables: Sequence[Mapping[tuple[str, int, int], float] | None] = probabilities or [None] * len(
        outputs
    )
    lines: list[str] = []
    for i, (blank, table) in enumerate(zip(_blank_lines(treebank), tables, strict=True)):
        lines += [""] * blank
        if ranked is None:
            lines.append(_written(outputs[i], table))
        else:
            lines += [*(f"{score:.6f}\t{_written(tree, table)}" for score, tree in ranked[i]), ""]
    write_text(target, "".join(f"{line}\n" for line in lines), encoding)


def _blank_lines(treebank: Treebank) -> list[int]:
    """The number of lines without words before each sentence; 0 for trees."""
    if treebank.trees is not None:
        return [0] * len(treebank)
    before = [0, *treebank.lines]
    return [line - last - 1 for last, line in pairwise(before)]


def _written(tree: Node, table: Mapping[tuple[str, int, int], float] | None) -> str:
    """A tree in brackets; with probabilities, every label but that of a root without one has its
    own.
    """
    if table is None:
        return str(tree)
    return str(
        relabelled(
            tree,
            lambda label, begin, end: (
                label and f"{label}:{table.get((label, begin, end), 0.0):.4f}"
            ),
        )
    )
