"""Small corpora of sentences with entities, tags and trees, as documents and as files."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.training import Example

ADJECTIVES = ["old", "green", "Old", "tall"]
NOUNS = ["dog", "tree", "plan", "watch"]
VERBS = ["saw", "liked", "plan", "watch"]
NAMES = ["Ann", "Ben Old", "Cora", "Dan Green", "Oslo"]
PLACES = ["Oslo", "Rome", "New Delhi", "Dan"]


class Sentence(NamedTuple):
    """Tokens with tags, heads (of a root: itself), relations and IOB2 tags."""

    words: list[str]
    tags: list[str]
    heads: list[int]
    relations: list[str]
    entities: list[str]


def sentences(count: int, seed: int) -> list[Sentence]:
    """Draw sentences whose words are ambiguous, so that models make errors."""
    draw = random.Random(seed)
    return [_sentence(draw) for _ in range(count)]


def _sentence(draw: random.Random) -> Sentence:
    rows: list[tuple[str, str, int | None, str, str]] = []

    def name(choices: Sequence[str], relation: str, head: int | None, kind: str) -> None:
        parts = draw.choice(choices).split()
        last = len(rows) + len(parts) - 1
        for k, part in enumerate(parts):
            mine = (head, relation) if len(rows) == last else (last, "compound")
            rows.append((part, "NNP", *mine, f"{'BI'[k > 0]}-{kind}"))

    def phrase(relation: str, head: int | None) -> None:
        if draw.random() < 0.5:
            name(NAMES, relation, head, "PER" if draw.random() < 0.8 else "ORG")
            return
        long = draw.random() < 0.5
        noun = len(rows) + 1 + long
        rows.append(("the", "DT", noun, "det", "O"))
        if long:
            rows.append((draw.choice(ADJECTIVES), "JJ", noun, "amod", "O"))
        tag = "NN" if draw.random() < 0.8 else "NNS"
        rows.append((draw.choice(NOUNS), tag, head, relation, "O"))

    phrase("nsubj", None)
    verb = len(rows)
    rows.append((draw.choice(VERBS), "VB", verb, "ROOT", "O"))
    phrase("obj", verb)
    if draw.random() < 0.5:
        rows.append(("in", "IN", draw.choice([verb, verb + 1]), "prep", "O"))
        name(PLACES, "pobj", len(rows) - 1, "LOC")
    words, tags, heads, relations, entities = map(list, zip(*rows, strict=True))
    return Sentence(
        words, tags, [verb if one is None else one for one in heads], relations, entities
    )


def document(nlp: Language, several: Sequence[Sentence]) -> Doc:
    """Return gold sentences as one document."""
    words, tags, heads, relations, entities = [], [], [], [], []
    for one in several:
        heads += [len(words) + head for head in one.heads]
        words += one.words
        tags, relations = tags + one.tags, relations + one.relations
        entities += one.entities
    return Doc(nlp.vocab, words=words, tags=tags, heads=heads, deps=relations, ents=entities)


def examples(nlp: Language, corpus: Sequence[Sentence]) -> Callable[[], list[Example]]:
    """Return a function that gives one example per sentence, of gold words without annotations."""
    return lambda: [
        Example(Doc(nlp.vocab, words=one.words), document(nlp, [one])) for one in corpus
    ]


def write_docbin(path: Path, nlp: Language, corpus: Sequence[Sentence]) -> None:
    """Write documents of three sentences each."""
    parts = [corpus[i : i + 3] for i in range(0, len(corpus), 3)]
    DocBin(docs=[document(nlp, part) for part in parts]).to_disk(path)


def write_columns(path: Path, corpus: Sequence[Sentence], field: str) -> None:
    """Write words and their `tags` or `entities`."""
    blocks = [
        "".join(
            f"{word} {label}\n" for word, label in zip(one.words, getattr(one, field), strict=True)
        )
        for one in corpus
    ]
    path.write_text("\n".join(blocks), encoding="utf8")


def write_trees(path: Path, corpus: Sequence[Sentence]) -> None:
    """Write CoNLL-U with words, heads and relations only."""
    blocks = []
    for one in corpus:
        arcs = zip(one.words, one.heads, one.relations, strict=True)
        blocks.append(
            "".join(
                f"{i + 1}\t{word}\t_\t_\t_\t_\t{0 if head == i else head + 1}\t{relation}\t_\t_\n"
                for i, (word, head, relation) in enumerate(arcs)
            )
        )
    path.write_text("\n".join([*blocks, ""]), encoding="utf8")
