"""The documents of the corpus as lines of each format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from tools.corpus import views
from tools.corpus.tree import Node


@dataclass(frozen=True)
class Document:
    """A document: its name, its theme and the derivation trees of its sentences."""

    name: str
    theme: str
    trees: list[Node]


def conll_lines(documents: Sequence[Document]) -> list[str]:
    """Return the columns word, tag, chunk, entity."""
    lines = []
    for document in documents:
        lines += ["-DOCSTART- -X- O O", ""]
        for tree in document.trees:
            for leaf, chunk, entity in zip(
                tree.leaves(), views.chunk_tags(tree), views.entity_tags(tree), strict=True
            ):
                lines.append(f"{leaf.word} {leaf.label} {chunk} {entity}")
            lines.append("")
    return lines


def conllu_lines(documents: Sequence[Document]) -> list[str]:
    """Return CoNLL-U with word, universal tag, Penn tag, head and relation."""
    lines = []
    for document in documents:
        for number, tree in enumerate(document.trees, 1):
            lines += [f"# newdoc id = {document.name}"] if number == 1 else []
            lines += [
                f"# sent_id = {document.name}-{number}",
                "# text = " + " ".join(views.words(tree)),
            ]
            rows = zip(
                tree.leaves(), views.universal_tags(tree), views.dependencies(tree), strict=True
            )
            for i, (leaf, tag, (head, relation)) in enumerate(rows, 1):
                lines.append(
                    "\t".join(
                        [
                            str(i),
                            leaf.word,
                            "_",
                            tag,
                            leaf.label,
                            "_",
                            str(head),
                            relation,
                            "_",
                            "_",
                        ]
                    )
                )
            lines.append("")
    return lines


def ptb_lines(documents: Sequence[Document]) -> list[str]:
    """Return one bracketed tree a line."""
    return [views.brackets(tree) for document in documents for tree in document.trees]


def coref_lines(documents: Sequence[Document]) -> list[str]:
    """Return the columns document, part of the document, token number, word, tag, coreference."""
    lines = []
    for document in documents:
        lines.append(f"#begin document ({document.name}); part 000")
        for tree, column in zip(document.trees, views.coreference(document.trees), strict=True):
            for i, (leaf, cell) in enumerate(zip(tree.leaves(), column, strict=True)):
                lines.append(f"{document.name} 0 {i} {leaf.word} {leaf.label} {cell}")
            lines.append("")
        lines.append("#end document")
    return lines


def crfsuite_lines(documents: Sequence[Document]) -> list[str]:
    r"""Return the entity tag and a few attributes of every token; ``\:`` is a colon, ``\\`` a
    backslash.
    """
    lines = []
    for document in documents:
        for tree in document.trees:
            leaves = list(tree.leaves())
            for i, entity in enumerate(views.entity_tags(tree)):
                names = [
                    name.replace("\\", "\\\\").replace(":", "\\:")
                    for name in _attributes(leaves, i)
                ]
                lines.append("\t".join([entity, *names]))
            lines.append("")
    return lines


def _attributes(leaves: Sequence[Node], i: int) -> list[str]:
    word, names = leaves[i].word, ["bias"]
    for distance in (-1, 0, 1):
        if 0 <= i + distance < len(leaves):
            leaf = leaves[i + distance]
            names += [f"w{distance}={leaf.word.lower()}", f"p{distance}={leaf.label}"]
    case = "upper" if word.isupper() else "title" if word[:1].isupper() else "lower"
    return [*names, f"case={case}", f"prefix={word[:3]}", f"suffix={word[-3:]}"]


def libsvm_lines(documents: Sequence[Document], numbers: dict[str, int]) -> list[str]:
    """Return the theme of every sentence, and its words as ``index:count``.

    Parameters
    ----------
    documents : sequence of Document
    numbers : dict of str to int
        The indices of words, from 1; new words are added.
    """
    return [
        " ".join([document.theme, _counts(tree, numbers)])
        for document in documents
        for tree in document.trees
    ]


def multilabel_lines(documents: Sequence[Document], numbers: dict[str, int]) -> list[str]:
    """Return the types of entities and the theme of every sentence, and its words as in
    `libsvm_lines`.
    """
    lines = []
    for document in documents:
        for tree in document.trees:
            kinds = {tag[2:] for tag in views.entity_tags(tree) if tag != "O"}
            lines.append(
                " ".join([",".join([*sorted(kinds), document.theme]), _counts(tree, numbers)])
            )
    return lines


def _counts(tree: Node, numbers: dict[str, int]) -> str:
    counts = Counter(
        numbers.setdefault(word.lower(), len(numbers) + 1) for word in views.words(tree)
    )
    return " ".join(f"{index}:{count}" for index, count in sorted(counts.items()))
