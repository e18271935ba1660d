"""Sentences of documents, their cells, and gold annotations of tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from spacy.tokens import Doc, Token
from spacy.training import Example

Arc = tuple[int, str | None]
"""The head of a token (of a root: the token itself), and the relation to it, if it is known."""


def sentences(doc: Doc, example: Example | None = None) -> list[list[Token]]:
    """Return the tokens of every sentence of a document, without white space.

    A document without sentence boundaries has the gold sentences of `example`, or is one sentence.
    """
    starts: Sequence[bool | None] = ()
    if doc.has_annotation("SENT_START"):
        starts = [token.is_sent_start for token in doc]
    elif example is not None:
        starts = example.get_aligned_sent_starts()
    groups: list[list[Token]] = [[]]
    for token, start in zip(doc, starts or [None] * len(doc), strict=True):
        if start:
            groups.append([])
        if not token.is_space:
            groups[-1].append(token)
    return [group for group in groups if group]


def cells(tokens: Sequence[Token], columns: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the cells of a sentence by column: values of attributes of tokens, `_` if empty."""
    return {
        column: [str(getattr(token, attribute)) or "_" for token in tokens]
        for column, attribute in columns.items()
    }


def gold_entities(example: Example) -> list[str | None]:
    """Return the IOB2 tag of every token; None if it is unknown or not aligned."""
    tags: list[str | None] = example.get_aligned_ner()
    iob = {"L": "I", "U": "B"}
    return [tag and iob.get(tag[0], tag[0]) + tag[1:] for tag in tags]


def gold_attributes(example: Example, attribute: str) -> list[str | None]:
    """Return an attribute of every token; None if it is empty or not aligned."""
    values: list[str | None] = example.get_aligned(attribute, as_string=True)
    return [value or None for value in values]


def gold_arcs(example: Example) -> list[Arc | None]:
    """Return the arc to every token; None if the token or its head has none or is not aligned."""
    x2y, y2x = example.alignment.x2y, example.alignment.y2x
    gold = [list(map(int, x2y[i])) for i in range(len(example.predicted))]
    of = {js[0]: i for i, js in enumerate(gold) if len(js) == 1 and len(y2x[js[0]]) == 1}
    arcs: list[Arc | None] = [None] * len(gold)
    for j, i in of.items():
        token = example.reference[j]
        if token.has_head() and token.head.i in of:
            arcs[i] = of[token.head.i], token.dep_ or None
    return arcs


def tree(tokens: Sequence[Token], arcs: Sequence[Arc | None]) -> list[Arc | None]:
    """Return the arcs of a sentence, with heads from 1 in it, and 0 for the root.

    Heads in other sentences are unknown. So are all roots, if the sentence has several.
    """
    number = {token.i: n for n, token in enumerate(tokens, 1)}
    own: list[Arc | None] = []
    for token in tokens:
        arc = arcs[token.i]
        if arc is not None:
            head = 0 if arc[0] == token.i else number.get(arc[0])
            arc = None if head is None else (head, arc[1])
        own.append(arc)
    roots = [arc for arc in own if arc is not None and arc[0] == 0]
    return own if len(roots) <= 1 else [None if arc and arc[0] == 0 else arc for arc in own]


def spans(labels: Sequence[str]) -> list[tuple[int, int, str]]:
    """Return the entities of labels of any scheme, as conlleval counts them: (first, end, type)."""
    found: list[tuple[int, int, str]] = []
    before, ended = "", True
    for i, label in enumerate(labels):
        prefix, _, kind = label.partition("-")
        if not kind:
            before, ended = "", True
            continue
        if prefix in "BSU" or ended or kind != before:
            found.append((i, i + 1, kind))
        else:
            found[-1] = (found[-1][0], i + 1, kind)
        before, ended = kind, prefix in "ESLU"
    return found
