"""Lists of all outputs of semi-Markov chains: slow, a reference for the algorithms."""

from __future__ import annotations

from itertools import product
from math import inf

import numpy as np

from structopt.plugin import Array
from structopt.plugin.kernels import Record, check_count
from structopt_segments.labels import Segmentation, SegmentLabels, mistakes, segmentation
from structopt_segments.parts import label_part, segment_part, transition_part


def active_parts(
    segments: Segmentation, labels: Array, offsets: Array, L: int, max_length: int
) -> tuple[Array, Array]:
    """The parts of segmentations: for each part its instance and its number, in the order of the
    groups.

    Parameters
    ----------
    segments : Segmentation
    labels : int, shape (tokens,)
        Numbers of the tokens' labels.
    offsets : int64, shape (instances + 1,)
        First token of each instance.
    L, max_length : int
        Number of labels, and tokens of the longest segment.
    """
    lengths, tokens = np.diff(offsets), np.arange(len(labels))
    instances = np.repeat(np.arange(len(lengths)), lengths)
    instance = instances[segments.begins]
    joined = np.flatnonzero(instance[1:] == instance[:-1])
    first, second = segments.labels[joined], segments.labels[joined + 1]
    parts = [
        label_part(L, tokens - offsets[instances], labels),
        segment_part(L, lengths[instance], segments.ends - segments.begins, segments.labels),
        transition_part(L, max_length, lengths[instance[joined]], first, second),
    ]
    return np.concatenate([instances, instance, instance[joined]]), np.concatenate(parts)


def segment_vertices(structure: Record, i: int, parts: int, most: int) -> Array:
    """Part vectors of all labellings of instance i that are segmentations, and that the hard
    constraints allow.
    """
    from structopt_segments.chain import CHAIN, constrain

    c = CHAIN.open(structure)
    n, L, M = int(c.tokens[i + 1] - c.tokens[i]), c.labels, c.max_length
    check_count(i, float(L) ** n, f"labellings ({L}^{n})", most)
    labels = np.array(list(product(range(L), repeat=n)), np.int64).ravel()
    offsets = np.arange(0, len(labels) + 1, n)
    scheme = SegmentLabels(c.shortest, c.longest, c.inner, c.last, c.runs)
    segments = segmentation(scheme, M, offsets, labels)
    wrong = mistakes(scheme, segments, labels) | (
        segments.ends - segments.begins > scheme.longest[segments.labels]
    )
    vertices = np.zeros((len(offsets) - 1, parts))
    np.add.at(vertices, active_parts(segments, labels, offsets, L, M), 1.0)
    s = np.zeros(parts)
    constrain.py_func(c, i, n, s)
    kept = ~(vertices[:, s == -inf] != 0).any(axis=1)
    kept[segments.begins[wrong] // n] = False
    return np.asarray(vertices[kept])
