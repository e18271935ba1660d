"""The bound of the words per sentence: memory of trees grows with the square of the words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from structopt.errors import ConfigError, DataError
from structopt.kernels.waist.record import Array


def checked_bound(max_words: int) -> int:
    """Return ``task.max_words``.

    Raises
    ------
    ConfigError
        If it is below 1.
    """
    if max_words < 1:
        raise ConfigError("must be at least 1.", parameter="task.max_words", value=max_words)
    return max_words


def check(
    path: str | Path, lengths: Array, max_words: int, line: Callable[[int], int | None]
) -> None:
    """Refuse the first sentence that has more words than ``task.max_words``.

    Parameters
    ----------
    path : str or Path
        The file.
    lengths : int array
        Words of each sentence.
    max_words : int
    line : callable
        Returns the line of a sentence.

    Raises
    ------
    DataError
    """
    if not len(lengths) or (most := int(lengths.max())) <= max_words:
        return
    first = int(np.argmax(lengths > max_words))
    raise DataError(
        path,
        line(first),
        f"this sentence has {lengths[first]} words, and task.max_words={max_words} is the bound",
        remedy=f"divide it into sentences, or set task.max_words={most}; memory grows at least "
        "with the square of the words.",
    )
