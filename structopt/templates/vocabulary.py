"""Vocabularies: the values of columns and their functions as integer codes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import repeat

NONE, PADDING = -1, 0


class Vocabulary:
    """The values of one view in training, numbered from 1; 0 is the padding beyond the sentence, -1
    any other value.

    Parameters
    ----------
    values : iterable of str or None
        The distinct values in order; None and repetitions are left out.
    """

    def __init__(self, values: Iterable[str | None] = ()) -> None:
        distinct = dict.fromkeys(values)
        distinct.pop(None, None)
        self.values = [value for value in distinct if value is not None]
        self.codes: dict[str | None, int] = {
            value: code for code, value in enumerate(self.values, 1)
        }

    def __len__(self) -> int:
        """Number of codes, the padding's included."""
        return len(self.values) + 1

    def look_up(self, values: Sequence[str | None]) -> list[int]:
        """Return the codes of values; -1 if a value is None or unknown."""
        return list(map(self.codes.get, values, repeat(NONE)))
