"""Small random documents with mentions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from structopt.core.data.encoded import EncodedMentions


def random_documents(
    seed: int = 0, mentions: Sequence[int] = (3, 1, 5, 0, 4), values: int = 3
) -> EncodedMentions:
    """Documents with so many mentions, of random entities, columns and sentences; mention m is word
    m.
    """
    generator = np.random.default_rng([seed, *mentions])
    offsets = np.cumsum([0, *mentions]).astype(np.int64)
    count = int(offsets[-1])
    entities, sentences = np.zeros(count, np.int32), np.zeros(count, np.int32)
    for a, b in zip(offsets[:-1], offsets[1:], strict=True):
        drawn = generator.integers(0, max(1, (b - a) // 2 + 1), b - a)
        first = {entity: number for number, entity in enumerate(dict.fromkeys(drawn.tolist()))}
        entities[a:b] = [first[entity] for entity in drawn.tolist()]
        sentences[a:b] = np.sort(generator.integers(0, 4, b - a))
    words = np.arange(count) - np.repeat(offsets[:-1], mentions)
    return EncodedMentions(
        offsets,
        {},
        ("new", "link"),
        entities,
        columns=("a", "b", "type"),
        codes=generator.integers(0, values, (count, 3)).astype(np.int32),
        compared_columns=("a", "text"),
        compared=generator.integers(-1, 2, (count, 2)).astype(np.int32),
        sentences=sentences,
        spans=np.stack([words, words + 1], axis=1).astype(np.int32),
    )
