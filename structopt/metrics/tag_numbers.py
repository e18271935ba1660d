"""Tags of whole corpora as numbers, their entities as arrays: what scores after every pass are
counted from.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from structopt.formats.tag_schemes import closes, kind_of, opens
from structopt.kernels.waist.record import Array

OUTSIDE = "O"


class Entities(NamedTuple):
    """Entities of a corpus whose sentences stand one after the other, each with one more ``O``
    behind it, in their order.

    Attributes
    ----------
    starts, ends : int64, shape (entities,)
        First token of each, and the token after its last one.
    kinds : int64, shape (entities,)
        The number of its type.
    """

    starts: Array
    ends: Array
    kinds: Array


class TagNumbers:
    """Numbers of tags, ``O`` is 0, the same for all corpora that are compared; and of the types of
    entity in them.
    """

    def __init__(self) -> None:
        self._numbers = {OUTSIDE: 0}

    def of(self, sentences: Sequence[Sequence[str]]) -> Array:
        """Return the tags of sentences one after the other, with ``O`` behind each sentence;
        int64.
        """
        behind = (OUTSIDE,)
        tags = list(
            chain.from_iterable(
                chain.from_iterable(zip(sentences, [behind] * len(sentences), strict=True))
            )
        )
        for tag in dict.fromkeys(tags):
            self._numbers.setdefault(tag, len(self._numbers))
        return np.fromiter(map(self._numbers.__getitem__, tags), np.int64, len(tags))

    def entities(self, tags: Array) -> Entities:
        """Return the entities of `structopt.formats.tag_schemes.spans` in what `of` returned."""
        names, before = list(self._numbers), np.append(0, tags[:-1])
        at = np.flatnonzero(before | tags)  # between two O nothing opens or closes
        pairs, which = np.unique(before[at] * len(names) + tags[at], return_inverse=True)
        neighbours = [
            (names[first], names[second])
            for first, second in zip(*divmod(pairs, len(names)), strict=True)
        ]
        opening = np.array([opens(*pair) for pair in neighbours], bool)[which]
        closing = np.array([closes(*pair) for pair in neighbours], bool)[which]
        starts, bounds = at[opening], at[opening | closing]
        # an O closes what the sentence leaves open
        ends = bounds[np.searchsorted(bounds, starts, side="right")]
        number_of = {kind: number for number, kind in enumerate(self.kinds)}
        kinds = np.array([number_of[kind_of(name)] for name in names], np.int64)
        return Entities(starts, ends, kinds[tags[ends - 1]])

    @property
    def kinds(self) -> list[str]:
        """The types that the tags name, sorted; their numbers are their places."""
        return sorted({kind_of(tag) for tag in self._numbers})
