"""The components, and the factories by which configs of pipelines name them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from spacy.attrs import DEP, HEAD
from spacy.language import Language
from spacy.pipeline.dep_parser import parser_score
from spacy.scorer import Scorer, get_ner_prf
from spacy.tokens import Doc, Span, Token
from spacy.training import Example
from spacy.vocab import Vocab

from structopt import DependencyParser, StructuredEstimator
from structopt_spacy.component import Component
from structopt_spacy.sentences import (
    gold_arcs,
    gold_attributes,
    gold_entities,
    spans,
    tree,
)

SETTINGS: dict[str, Any] = {
    "optimizer": None,
    "loss": None,
    "C": None,
    "epochs": None,
    "overrides": [],
    "columns": {},
}
"""The settings that all factories have: see `structopt_spacy.component.Component`."""
WHITE_SPACE = {"tag": "_SP", "pos": "SPACE"}
"""The values by which spaCy marks tokens of white space."""


class EntityRecognizer(Component):
    """Sets the entities of documents, by ``task=ner``."""

    task: ClassVar[str] = "ner"
    estimator = partial(StructuredEstimator, task="ner")

    def gold(self, example: Example) -> list[str | None]:
        """Return IOB2 tags."""
        return gold_entities(example)

    def defaults(self, y: Sequence[Sequence[Any]]) -> dict[str, str]:
        """Return the scheme of the gold tags, too."""
        return {**super().defaults(y), "task.scheme": "iob2"}

    def label_names(self, labels: Sequence[str]) -> set[str]:
        """Return the types of entities."""
        return {label.partition("-")[2] for label in labels} - {""}

    def annotate(
        self, doc: Doc, groups: Sequence[Sequence[Token]], outputs: Sequence[Sequence[str]]
    ) -> None:
        """Replace the entities of a document."""
        entities = [
            Span(doc, tokens[first].i, tokens[end - 1].i + 1, label=kind)
            for tokens, labels in zip(groups, outputs, strict=True)
            for first, end, kind in spans(labels)
        ]
        doc.set_ents(entities, default="outside")

    def score(self, examples: Iterable[Example], **kwargs: Any) -> dict[str, Any]:
        """Return precision, recall and F1 of entities."""
        scores: dict[str, Any] = get_ner_prf(examples)
        return scores


class Tagger(Component):
    """Sets the tags of tokens, by ``task=tagging``."""

    task: ClassVar[str] = "tagging"
    estimator = partial(StructuredEstimator, task="tagging")

    def __init__(
        self,
        vocab: Vocab,
        name: str,
        settings: Mapping[str, Any],
        overrides: Sequence[str] = (),
        columns: Mapping[str, str] | None = None,
        attribute: str = "tag",
    ) -> None:
        super().__init__(vocab, name, settings, overrides, columns)
        self.attribute = attribute

    def gold(self, example: Example) -> list[str | None]:
        """Return tags."""
        return gold_attributes(example, self.attribute.upper())

    def annotate(
        self, doc: Doc, groups: Sequence[Sequence[Token]], outputs: Sequence[Sequence[str]]
    ) -> None:
        """Set the tags of a document."""
        for token in doc:
            if token.is_space:
                setattr(token, f"{self.attribute}_", WHITE_SPACE[self.attribute])
        for tokens, labels in zip(groups, outputs, strict=True):
            for token, label in zip(tokens, labels, strict=True):
                setattr(token, f"{self.attribute}_", label)

    def score(self, examples: Iterable[Example], **kwargs: Any) -> dict[str, Any]:
        """Return the accuracy of tags."""
        scores: dict[str, Any] = Scorer.score_token_attr(examples, self.attribute)
        return scores


class Parser(Component):
    """Sets heads and relations within sentences, one root each, by ``task=dependency``."""

    task: ClassVar[str] = "dependency"
    word: ClassVar[str] = "form"
    estimator = DependencyParser

    def gold(self, example: Example) -> list[Any]:
        """Return arcs."""
        return gold_arcs(example)

    def outputs(self, tokens: Sequence[Token], gold: Sequence[Any]) -> list[Any]:
        """Return the arcs of a sentence."""
        return tree(tokens, gold)

    def is_partial(self, y: Sequence[Sequence[Any]]) -> bool:
        """Whether some heads are unknown, or the relations of some arcs only."""
        arcs = [arc for outputs in y for arc in outputs]
        known = {arc[1] is not None for arc in arcs if arc is not None}
        return None in arcs or len(known) > 1

    def annotate(
        self, doc: Doc, groups: Sequence[Sequence[Token]], outputs: Sequence[Sequence[Any]]
    ) -> None:
        """Set the heads and relations of a document; white space depends on its neighbour."""
        if not len(doc):
            return
        heads, names = list(range(len(doc))), ["dep"] * len(doc)
        for tokens, arcs in zip(groups, outputs, strict=True):
            for token, (head, relation) in zip(tokens, arcs, strict=True):
                heads[token.i] = tokens[head - 1].i if head else token.i
                names[token.i] = relation or ("dep" if head else "ROOT")
        begins = {token.i for token in doc if token.is_sent_start} | {0}
        for i, token in enumerate(doc):
            if token.is_space:
                heads[i] = i - 1 if i not in begins else _next_word(doc, i, begins)
        offsets = (np.array(heads) - np.arange(len(doc))).astype(np.uint64)
        relations = np.array([doc.vocab.strings.add(name) for name in names], np.uint64)
        doc.from_array([HEAD, DEP], np.stack([offsets, relations], axis=1))

    def score(self, examples: Iterable[Example], **kwargs: Any) -> dict[str, Any]:
        """Return the scores of arcs, without punctuation, and of sentences."""
        scores: dict[str, Any] = parser_score(examples)
        return scores


def _next_word(doc: Doc, first: int, begins: set[int]) -> int:
    """Return the first word of the sentence that begins at a token; that token if it has none."""
    for i in range(first, len(doc)):
        if i > first and i in begins:
            break
        if not doc[i].is_space:
            return i
    return first


@Language.factory(
    "structopt_ner",
    assigns=["doc.ents", "token.ent_iob", "token.ent_type"],
    default_config=SETTINGS,
    default_score_weights={"ents_f": 1.0, "ents_p": 0.0, "ents_r": 0.0, "ents_per_type": None},
)
def make_ner(
    nlp: Language,
    name: str,
    optimizer: str | None,
    loss: str | None,
    C: float | None,
    epochs: int | None,
    overrides: list[str],
    columns: dict[str, str],
) -> EntityRecognizer:
    """Return a component that sets entities."""
    chosen = {"optimizer": optimizer, "loss": loss, "C": C, "epochs": epochs}
    return EntityRecognizer(nlp.vocab, name, chosen, overrides, columns)


@Language.factory(
    "structopt_tagger",
    assigns=["token.tag", "token.pos"],
    default_config={**SETTINGS, "attribute": "tag"},
    default_score_weights={"tag_acc": 1.0},
)
def make_tagger(
    nlp: Language,
    name: str,
    optimizer: str | None,
    loss: str | None,
    C: float | None,
    epochs: int | None,
    overrides: list[str],
    columns: dict[str, str],
    attribute: Literal["tag", "pos"],
) -> Tagger:
    """Return a component that sets tags (`attribute="tag"`) or universal tags (`"pos"`)."""
    chosen = {"optimizer": optimizer, "loss": loss, "C": C, "epochs": epochs}
    return Tagger(nlp.vocab, name, chosen, overrides, columns, attribute)


@Language.factory(
    "structopt_parser",
    assigns=["token.dep", "token.head", "token.is_sent_start", "doc.sents"],
    default_config=SETTINGS,
    default_score_weights={"dep_uas": 0.5, "dep_las": 0.5, "dep_las_per_type": None},
)
def make_parser(
    nlp: Language,
    name: str,
    optimizer: str | None,
    loss: str | None,
    C: float | None,
    epochs: int | None,
    overrides: list[str],
    columns: dict[str, str],
) -> Parser:
    """Return a component that sets heads and relations."""
    chosen = {"optimizer": optimizer, "loss": loss, "C": C, "epochs": epochs}
    return Parser(nlp.vocab, name, chosen, overrides, columns)
