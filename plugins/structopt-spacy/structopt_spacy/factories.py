"""The components, and the factories by which configs of pipelines name them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, ClassVar

from spacy.language import Language
from spacy.pipeline.dep_parser import parser_score
from spacy.scorer import Scorer, get_ner_prf
from spacy.tokens import Doc, Token
from spacy.training import Example

from structopt import DependencyParser, StructuredEstimator
from structopt_spacy.annotations import set_arcs, set_attribute, set_entities
from structopt_spacy.component import Component
from structopt_spacy.sentences import (
    gold_arcs,
    gold_attributes,
    gold_entities,
    tree,
)


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
        set_entities(doc, groups, outputs)

    def score(self, examples: Iterable[Example], **kwargs: Any) -> dict[str, Any]:
        """Return precision, recall and F1 of entities."""
        scores: dict[str, Any] = get_ner_prf(examples)
        return scores


class Tagger(Component):
    """Sets the tags of tokens, by ``task=tagging``."""

    task: ClassVar[str] = "tagging"
    estimator = partial(StructuredEstimator, task="tagging")
    attribute: ClassVar[str] = "tag"

    def gold(self, example: Example) -> list[str | None]:
        """Return tags."""
        return gold_attributes(example, self.attribute.upper())

    def annotate(
        self, doc: Doc, groups: Sequence[Sequence[Token]], outputs: Sequence[Sequence[str]]
    ) -> None:
        """Set the tags of a document."""
        set_attribute(doc, groups, outputs, self.attribute)

    def score(self, examples: Iterable[Example], **kwargs: Any) -> dict[str, Any]:
        """Return the accuracy of tags."""
        scores: dict[str, Any] = Scorer.score_token_attr(examples, self.attribute)
        return scores


class UniversalTagger(Tagger):
    """Sets the universal tags of tokens, by ``task=tagging``."""

    attribute: ClassVar[str] = "pos"


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
        set_arcs(doc, groups, outputs)

    def score(self, examples: Iterable[Example], **kwargs: Any) -> dict[str, Any]:
        """Return the scores of arcs, without punctuation, and of sentences."""
        scores: dict[str, Any] = parser_score(examples)
        return scores


def _factory(
    factory: str, kind: type[Component], assigns: list[str], weights: dict[str, float | None]
) -> Callable[..., Component]:
    """Register a component, and return its factory."""

    def create(
        nlp: Language,
        name: str,
        optimizer: str | None,
        loss: str | None,
        C: float | None,
        epochs: int | None,
        overrides: list[str],
        columns: dict[str, str],
    ) -> Component:
        settings = {"optimizer": optimizer, "loss": loss, "C": C, "epochs": epochs}
        return kind(nlp, name, settings, overrides, columns)

    empty = dict.fromkeys(("optimizer", "loss", "C", "epochs"))
    Language.factory(
        factory,
        assigns=assigns,
        default_config={**empty, "overrides": [], "columns": {}},
        default_score_weights=weights,
        func=create,
    )
    return create


make_ner = _factory(
    "structopt_ner",
    EntityRecognizer,
    ["doc.ents", "token.ent_iob", "token.ent_type"],
    {"ents_f": 1.0, "ents_p": 0.0, "ents_r": 0.0, "ents_per_type": None},
)
make_tagger = _factory("structopt_tagger", Tagger, ["token.tag"], {"tag_acc": 1.0})
make_pos = _factory("structopt_pos", UniversalTagger, ["token.pos"], {"pos_acc": 1.0})
make_parser = _factory(
    "structopt_parser",
    Parser,
    ["token.dep", "token.head", "token.is_sent_start", "doc.sents"],
    {"dep_uas": 0.5, "dep_las": 0.5, "dep_las_per_type": None},
)
