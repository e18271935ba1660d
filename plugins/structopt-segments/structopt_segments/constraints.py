"""Hard constraints of the corpus as parts of a semi-Markov chain that no output has."""

from __future__ import annotations

import numpy as np

from structopt.plugin import Array, ConfigError, Encoded
from structopt_segments.labels import SegmentLabels


def excluded_parts(encoded: Encoded) -> tuple[Array, Array]:
    """Label parts that the corpus forbids (starts, ends, partial labels): where those of each instance begin, and the parts."""
    tokens, L = int(encoded.offsets[-1]), len(encoded.labels)
    allowed = np.ones((tokens, L), bool) if encoded.allowed is None else encoded.allowed.copy()
    allowed[np.ix_(encoded.offsets[:-1], list(encoded.forbidden_starts))] = False
    allowed[np.ix_(encoded.offsets[1:] - 1, list(encoded.forbidden_ends))] = False
    token, label = np.nonzero(~allowed)
    instance = np.searchsorted(encoded.offsets, token, side="right") - 1
    offsets = np.searchsorted(instance, np.arange(len(encoded) + 1)).astype(np.int64)
    return offsets, ((token - encoded.offsets[instance]) * L + label).astype(np.int32)


def forbidden_pairs(known: SegmentLabels, encoded: Encoded) -> tuple[SegmentLabels, Array]:
    """The labels with runs that the corpus forbids left out, and the numbers u * L + y of its forbidden transitions.

    Pairs of neighbouring labels that tag schemes forbid are in no segmentation anyway. Where segments are runs of one label, any
    pair can be forbidden: a pair of the same label leaves runs of one token.

    Raises
    ------
    ConfigError
        For pairs with prefixes that segmentations do have.
    """
    L, pairs = len(encoded.labels), encoded.forbidden_transitions
    if not known.runs:
        for u, y in pairs:
            if _possible(known, u, y):
                raise ConfigError(
                    f"factor_graph=segments cannot forbid {encoded.labels[y]} after {encoded.labels[u]}: its transitions are "
                    "between segments. Leave the constraint out, or take factor_graph=linear_chain."
                )
        return known, np.zeros(0, np.int32)
    longest = known.longest.copy()
    longest[[y for u, y in pairs if u == y]] = 1
    return known._replace(longest=longest), np.array([u * L + y for u, y in pairs], np.int32)


def _possible(known: SegmentLabels, u: int, y: int) -> bool:
    """Whether label y stands behind label u in any segmentation."""
    longest = np.where(known.longest >= known.shortest, known.longest, 0)
    ends = (longest[u] > 0 and known.shortest[u] == 1) or ((known.last == u) & (longest > 1)).any()
    inner, last = known.inner == y, known.last == y
    begun = (longest[u] > 1 and last[u]) or (longest[u] > 2 and inner[u])
    within = (known.inner == u) & ((inner & (longest > 3)) | (last & (longest > 2)))
    return bool((ends and longest[y] > 0) or begun or within.any())
