"""Gold entities in memory: for every document a list of entities, each a list of mentions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from operator import index
from typing import Any

import numpy as np

from structopt.formats.coreference.documents import Documents
from structopt.formats.in_memory.instances import shown
from structopt.kernels.waist.record import Array
from structopt.task.gold.lists import gold_elements
from structopt.task.outputs_in_memory import GOLD

FORM = "[[[[0, 1], [4, 5]], [[2, 3]]]]"
ADVICE = (
    "Write a list of entities, each a list of mentions, first word and the one after the last: "
    f"{FORM}."
)

Span = tuple[int, int]
Entities = list[list[Span]]


def gold_entities(outputs: Any, count: int) -> list[Entities]:
    """Return the entities of every document.

    Raises
    ------
    DataError
        What is no list of entities for each of `count` documents, an entity without a mention, a
        mention that is not two whole numbers or stands twice.
    """
    return [
        _entities(output, number)
        for number, output in enumerate(GOLD.listed(outputs, count, FORM), 1)
    ]


def with_mentions(documents: Sequence[Any], entities: Sequence[Entities]) -> list[Any]:
    """Return documents of which those that name no mentions have the mentions of their entities."""
    return [
        {**document, "mentions": [span for entity in own for span in entity]}
        if isinstance(document, Mapping) and "mentions" not in document
        else document
        for document, own in zip(documents, entities, strict=True)
    ]


def entity_numbers(corpus: Documents, entities: Sequence[Entities]) -> Array:
    """Return the number of every mention's entity within its document, int32, from 0 in the order
    of first mentions.

    Raises
    ------
    DataError
        A mention of the document that is in no entity, or one of an entity that the document does
        not have.
    """
    numbers: list[int] = []
    bounds = zip(
        corpus.documents[:-1].tolist(), pairwise(corpus.offsets.tolist()), entities, strict=True
    )
    for number, (begin, (a, b), own) in enumerate(bounds, 1):
        spans: list[Span] = [(first, end) for first, end in (corpus.mentions[a:b] - begin).tolist()]
        owner = {span: entity for entity, mentions in enumerate(own) for span in mentions}
        if unknown := sorted(owner.keys() - set(spans)):
            message = (
                f"the mention {list(unknown[0])} of an entity is none of the document's. Add it "
                "to its 'mentions'."
            )
            raise GOLD.refused(number, message)
        if alone := [span for span in spans if span not in owner]:
            message = (
                f"the mention {list(alone[0])} is in no entity. Give it one, of its own if there "
                "is no other."
            )
            raise GOLD.refused(number, message)
        order: dict[int, int] = {}
        numbers += [order.setdefault(owner[span], len(order)) for span in spans]
    return np.array(numbers, np.int32)


def _entities(output: Any, number: int) -> Entities:
    """The entities of a document."""
    entities: Entities = []
    seen: set[Span] = set()
    for entity in gold_elements(output, number, "entities", ADVICE):
        mentions = [
            _span(mention, number) for mention in gold_elements(entity, number, "mentions", ADVICE)
        ]
        if not mentions:
            raise GOLD.refused(number, f"an entity has no mention. {ADVICE}")
        for span in mentions:
            if span in seen:
                raise GOLD.refused(
                    number,
                    f"the mention {list(span)} stands twice in the entities. Keep one of them.",
                )
            seen.add(span)
        entities.append(mentions)
    return entities


def _span(mention: Any, number: int) -> Span:
    """The first word of a mention, and the one after its last."""
    try:
        first, end = map(index, mention)
    except (TypeError, ValueError):
        raise GOLD.refused(
            number, f"the mention {shown(mention)} is not two whole numbers. {ADVICE}"
        ) from None
    return first, end
