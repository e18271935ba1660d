"""Hard constraints of the corpus as parts of a semi-Markov chain that no output has."""

from __future__ import annotations

import numpy as np

from structopt.plugin import Array, ConfigError
from structopt.plugin.provisional import Encoded
from structopt_segments.labels import SegmentLabels
from structopt_segments.parts import label_part


def excluded_parts(encoded: Encoded) -> tuple[Array, Array]:
    """Label parts that the corpus forbids (starts, ends, partial labels): the offset of each
    instance, and the parts.
    """
    tokens, L = int(encoded.offsets[-1]), len(encoded.labels)
    allowed = np.ones((tokens, L), bool) if encoded.allowed is None else encoded.allowed.copy()
    allowed[np.ix_(encoded.offsets[:-1], list(encoded.forbidden_starts))] = False
    allowed[np.ix_(encoded.offsets[1:] - 1, list(encoded.forbidden_ends))] = False
    token, label = np.nonzero(~allowed)
    instance = np.searchsorted(encoded.offsets, token, side="right") - 1
    offsets = np.searchsorted(instance, np.arange(len(encoded) + 1)).astype(np.int64)
    return offsets, label_part(L, token - encoded.offsets[instance], label).astype(np.int32)


def forbidden_pairs(scheme: SegmentLabels, encoded: Encoded) -> tuple[SegmentLabels, Array]:
    """The scheme without the runs that the corpus forbids, and the numbers u * L + y of its
    forbidden transitions.

    No segmentation has pairs of neighbouring labels that its tag scheme forbids. If segments are
    runs of one label, any pair can be forbidden; if a pair of equal labels is forbidden, the runs
    of that label have one token.

    Raises
    ------
    ConfigError
        For pairs of labels with prefixes that a segmentation may have.
    """
    L, pairs = len(encoded.labels), encoded.forbidden_transitions
    if not scheme.runs:
        for u, y in pairs:
            if _possible(scheme, u, y):
                raise ConfigError(
                    f"factor_graph=segments cannot forbid {encoded.labels[y]} after "
                    f"{encoded.labels[u]}: its transitions are "
                    "between segments. Leave the constraint out, or take factor_graph=linear_chain."
                )
        return scheme, np.zeros(0, np.int32)
    longest = scheme.longest.copy()
    longest[[y for u, y in pairs if u == y]] = 1
    return scheme._replace(longest=longest), np.array([u * L + y for u, y in pairs], np.int32)


def _possible(scheme: SegmentLabels, u: int, y: int) -> bool:
    """Whether label y follows label u in any segmentation."""
    longest = np.where(scheme.longest >= scheme.shortest, scheme.longest, 0)
    ends = (longest[u] > 0 and scheme.shortest[u] == 1) or (
        (scheme.last == u) & (longest > 1)
    ).any()
    inner, last = scheme.inner == y, scheme.last == y
    begun = (longest[u] > 1 and last[u]) or (longest[u] > 2 and inner[u])
    within = (scheme.inner == u) & ((inner & (longest > 3)) | (last & (longest > 2)))
    return bool((ends and longest[y] > 0) or begun or within.any())
