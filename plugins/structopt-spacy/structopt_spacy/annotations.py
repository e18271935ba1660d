"""Set annotations of documents from outputs of their sentences; white space gets none."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from spacy.attrs import DEP, HEAD
from spacy.tokens import Doc, Span, Token

from structopt_spacy.sentences import Arc, spans

WHITE_SPACE = {"tag": "_SP", "pos": "SPACE"}
"""The values by which spaCy marks tokens of white space."""

Groups = Sequence[Sequence[Token]]
"""The tokens of every sentence, as `sentences` returns them."""


def set_entities(doc: Doc, groups: Groups, outputs: Sequence[Sequence[str]]) -> None:
    """Replace the entities of a document by labels of any scheme."""
    entities = [
        Span(doc, tokens[first].i, tokens[end - 1].i + 1, label=kind)
        for tokens, labels in zip(groups, outputs, strict=True)
        for first, end, kind in spans(labels)
    ]
    doc.set_ents(entities, default="outside")


def set_attribute(
    doc: Doc, groups: Groups, outputs: Sequence[Sequence[str]], attribute: str
) -> None:
    """Set ``tag`` or ``pos`` of the tokens of a document."""
    for token in doc:
        if token.is_space:
            setattr(token, f"{attribute}_", WHITE_SPACE[attribute])
    for tokens, labels in zip(groups, outputs, strict=True):
        for token, label in zip(tokens, labels, strict=True):
            setattr(token, f"{attribute}_", label)


def set_arcs(doc: Doc, groups: Groups, outputs: Sequence[Sequence[Arc]]) -> None:
    """Set the heads and relations of a document; white space depends on its neighbour."""
    if not len(doc):
        return
    heads, names = list(range(len(doc))), ["dep"] * len(doc)
    for tokens, arcs in zip(groups, outputs, strict=True):
        for token, (head, relation) in zip(tokens, arcs, strict=True):
            heads[token.i] = tokens[head - 1].i if head else token.i
            names[token.i] = relation or ("dep" if head else "ROOT")
    begins = {token.i for token in doc if token.is_sent_start} | {0}
    first = {max(i for i in begins if i <= tokens[0].i): tokens[0].i for tokens in groups}
    for token in doc:
        if token.is_space:
            heads[token.i] = first.get(token.i, token.i - (token.i not in begins))
    offsets = (np.array(heads) - np.arange(len(doc))).astype(np.uint64)
    relations = np.array([doc.vocab.strings.add(name) for name in names], np.uint64)
    doc.from_array([HEAD, DEP], np.stack([offsets, relations], axis=1))
