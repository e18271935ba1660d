"""Small corpora with words, for the tests of this folder."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from structopt.plugin.provisional import DenseTable

WORDS = ("Ann", "slept", "in", "Oslo", "the", "U.N.", "1999", "état")


def with_words(encoded: Any, seed: int = 0) -> Any:
    """The corpus with random words, some of which occur once."""
    drawn = np.random.default_rng([seed, int(encoded.offsets[-1])]).integers(
        0, len(WORDS), int(encoded.offsets[-1])
    )
    return replace(encoded, words=[WORDS[k] for k in drawn])


def with_dense(encoded: Any) -> Any:
    """The corpus with two dense tables for its variables, the second of a window of two rows, some
    of which are missing.
    """
    generator, n = np.random.default_rng(4), int(encoded.offsets[-1])
    tables = tuple(
        DenseTable(
            generator.integers(-1, 3, (n, k)).astype(np.int32),
            generator.normal(size=(3, size)).astype(np.float32),
        )
        for k, size in ((1, 2), (2, 3))
    )
    return replace(encoded, dense={"label": tables})
