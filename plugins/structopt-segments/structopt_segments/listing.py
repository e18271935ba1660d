"""All outputs of semi-Markov chains, listed: slow, and what the algorithms are compared with."""

from __future__ import annotations

from itertools import product
from math import inf

import numpy as np

from structopt.plugin import Array, Record, check_count
from structopt_segments.labels import Segmentation, SegmentLabels, mistakes, segmentation


def active_parts(found: Segmentation, labels: Array, offsets: Array, L: int, most: int) -> tuple[Array, Array]:
    """The parts of labellings that are cut into segments: whose they are, and their numbers, in the order of the groups.

    Parameters
    ----------
    found : Segmentation
    labels : int, shape (tokens,)
        Numbers of the tokens' labels.
    offsets : int64, shape (instances + 1,)
        Where the tokens of each instance begin.
    L, most : int
        Number of labels, and tokens of the longest segment.
    """
    lengths, tokens = np.diff(offsets), np.arange(len(labels))
    owner = np.repeat(np.arange(len(lengths)), lengths)
    own = owner[found.begins]
    segments = (lengths[own] + found.ends - found.begins - 1) * L + found.labels
    joined = np.flatnonzero(own[1:] == own[:-1])
    pairs = (lengths[own[joined]] + most) * L + found.labels[joined] * L + found.labels[joined + 1]
    parts = [(tokens - offsets[owner]) * L + labels, segments, pairs]
    return np.concatenate([owner, own, own[joined]]), np.concatenate(parts)


def segment_vertices(structure: Record, i: int, parts: int, most: int) -> Array:
    """Part vectors of all labellings of instance i that are segmentations, and that the hard constraints allow."""
    from structopt_segments.chain import CHAIN, constrain

    c = CHAIN.open(structure)
    n, L, M = int(c.tokens[i + 1] - c.tokens[i]), c.labels, c.most
    check_count(i, float(L) ** n, f"labellings ({L}^{n})", most)
    labels = np.array(list(product(range(L), repeat=n)), np.int64).ravel()
    offsets = np.arange(0, len(labels) + 1, n)
    known = SegmentLabels(c.shortest, c.longest, c.inner, c.last, c.runs)
    found = segmentation(known, M, offsets, labels)
    wrong = mistakes(known, found, labels) | (found.ends - found.begins > known.longest[found.labels])
    vertices = np.zeros((len(offsets) - 1, parts))
    np.add.at(vertices, active_parts(found, labels, offsets, L, M), 1.0)
    s = np.zeros(parts)
    constrain.py_func(c, i, n, s)
    kept = ~(vertices[:, s == -inf] != 0).any(axis=1)
    kept[found.begins[wrong] // n] = False
    return np.asarray(vertices[kept])
