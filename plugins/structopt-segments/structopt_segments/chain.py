"""What inference on semi-Markov chains reads: the record, the scratch, and the scores of
segments.
"""

from __future__ import annotations

from math import inf
from typing import NamedTuple

from structopt.plugin.kernels import Flag, Floats, Int, Ints, Longs, RecordLayout, kernel
from structopt_segments import parts


class Chain(NamedTuple):
    """The structure record, opened.

    Attributes
    ----------
    labels, max_length : L and M
    runs : whether segments are runs of one label
    tokens : (m + 1,) first token of each instance
    first : labels that begin segments
    shortest, longest, inner, last : see `structopt_segments.labels.SegmentLabels`
    forbidden : numbers u * L + y of the transitions that no output has
    excluded_offsets, excluded : per instance, label parts that no output has
    """

    labels: Int
    max_length: Int
    runs: Flag
    tokens: Longs
    first: Ints
    shortest: Ints
    longest: Ints
    inner: Ints
    last: Ints
    forbidden: Ints
    excluded_offsets: Longs
    excluded: Ints


class Scratch(NamedTuple):
    """The work record, opened; the values w, i and a are defined in `structopt_segments.kernels`.

    Attributes
    ----------
    weight, enter, best : w, i and a
    after, full : values of what follows a segment that has fewer than M tokens, and one that has M
    out : values of what begins with a segment, that segment included
    source, length : back pointers of Viterbi
    """

    weight: Floats
    enter: Floats
    best: Floats
    after: Floats
    full: Floats
    out: Floats
    source: Ints
    length: Ints


CHAIN = RecordLayout(Chain)
SCRATCH = RecordLayout(Scratch)
open_chain, open_scratch = CHAIN.compiled, SCRATCH.compiled
label_part, segment_part = kernel(parts.label_part), kernel(parts.segment_part)
transition_part = kernel(parts.transition_part)


@kernel
def transitions(c, n, v):
    """The transition parts of a vector over parts, as a table of labels by labels (from, to)."""
    first = transition_part(c.labels, c.max_length, n, 0, 0)
    return v[first:].reshape(c.labels, c.labels)


@kernel
def constrain(c, i, n, s):
    """Give every forbidden part the score -inf."""
    for j in range(c.excluded_offsets[i], c.excluded_offsets[i + 1]):
        s[c.excluded[j]] = -inf
    first = transition_part(c.labels, c.max_length, n, 0, 0)
    for q in c.forbidden:
        s[first + q] = -inf


@kernel
def weigh(c, n, s, temperature, weight):
    """Fill in w(b, l, y) / temperature at the index (b * L + y) * M + l - 1; -inf where no such
    segment is allowed.
    """
    L, M = c.labels, c.max_length
    scale = 1.0 / temperature if temperature > 0.0 else 1.0
    weight[: n * L * M] = -inf
    for b in range(n):
        for y in c.first:
            base, total = (b * L + y) * M, s[label_part(L, b, y)]
            for length in range(1, min(c.longest[y], n - b) + 1):
                if length > 2:
                    total += s[label_part(L, b + length - 2, c.inner[y])]
                ending = s[label_part(L, b + length - 1, c.last[y])] if length > 1 else 0.0
                if length >= c.shortest[y]:
                    weight[base + length - 1] = (
                        total + ending + s[segment_part(L, n, length, y)]
                    ) * scale


@kernel
def before(c, x, b, u, y):
    """a(b, u); if segments are runs and u = y, the value of the runs of M tokens alone."""
    if c.runs and u == y:
        if b < c.max_length:
            return -inf
        index = (b - c.max_length) * c.labels + y
        return x.enter[index] + x.weight[index * c.max_length + c.max_length - 1]
    return x.best[b * c.labels + u]


@kernel
def mark(c, n, b, length, u, y, z):
    """Add one to the parts of the segment of y that has `length` tokens from b on, after a segment
    of u (-1: it is the first).
    """
    L = c.labels
    z[label_part(L, b, y)] += 1.0
    for t in range(b + 1, b + length):
        z[label_part(L, t, c.last[y] if t == b + length - 1 else c.inner[y])] += 1.0
    z[segment_part(L, n, length, y)] += 1.0
    if u >= 0:
        z[transition_part(L, c.max_length, n, u, y)] += 1.0
