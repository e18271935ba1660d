"""How the labels of tokens determine where segments begin and end: each labelling has at most one
segmentation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from structopt.plugin import Array

PREFIXES = "BIES"


class SegmentLabels(NamedTuple):
    """What segments a label begins; all arrays are int32 of shape (labels,). A segment is named by
    its first token's label.

    Attributes
    ----------
    shortest, longest : tokens of the segments that a label begins; none if shortest > longest; a
    label with longest = 0 occurs
        only inside segments
    inner, last : the labels of such a segment's tokens after the first, and of its last token if it
    has two or more runs : whether a segment is a run of one label; then only a segment of
    `max_length` tokens can precede one of the same label
    """

    shortest: Array
    longest: Array
    inner: Array
    last: Array
    runs: bool


class Segmentation(NamedTuple):
    """Segments of a corpus, in order; int64 arrays of shape (segments,).

    Attributes
    ----------
    begins, ends : the first token, and the one after the last, counted over the whole corpus
    labels : number of the first token's label
    """

    begins: Array
    ends: Array
    labels: Array


def segment_labels(labels: Sequence[str], max_length: int) -> SegmentLabels:
    """Read the tag scheme from the labels.

    ``B-X I-X I-X`` (IOB2), or ``B-X I-X E-X`` and ``S-X`` (BIOES), are one segment, and every ``O``
    is a segment of one token. Labels without such prefixes: runs of one label, which are cut every
    `max_length` tokens.

    Parameters
    ----------
    labels : sequence of str
    max_length : int
        Tokens of the longest segment.
    """
    number_of = {label: y for y, label in enumerate(labels)}
    named = [label for label in labels if label != "O"]
    numbers, ones = np.arange(len(labels), dtype=np.int32), np.ones(len(labels), np.int32)
    if not named or not all(
        label[1:2] == "-" and label[0] in PREFIXES and len(label) > 2 for label in named
    ):
        return SegmentLabels(ones, max_length * ones, numbers, numbers, runs=True)
    bioes = any(label[0] in "ES" for label in named)
    scheme = SegmentLabels(ones, ones.copy(), numbers.copy(), numbers.copy(), runs=False)
    for y, label in enumerate(labels):
        if label[0] in "IE":
            scheme.longest[y] = 0
        elif label[0] == "B":
            inner = number_of.get(f"I{label[1:]}", -1)
            last = number_of.get(f"E{label[1:]}", -1) if bioes else inner
            scheme.shortest[y] = 1 + bioes
            scheme.longest[y] = min(max_length, 1 if last < 0 else max_length if inner >= 0 else 2)
            scheme.inner[y], scheme.last[y] = max(inner, 0), max(last, 0)
    return scheme


def segmentation(
    scheme: SegmentLabels, max_length: int, offsets: Array, labels: Array
) -> Segmentation:
    """Cut labellings into segments; `mistakes` says which of them are not allowed.

    Parameters
    ----------
    scheme : SegmentLabels
    max_length : int
    offsets : int64, shape (instances + 1,)
        First token of each instance.
    labels : int, shape (tokens,)
    """
    starts, tokens = np.zeros(len(labels), bool), np.arange(len(labels))
    starts[offsets[:-1]] = True
    if scheme.runs:
        starts[1:] |= labels[1:] != labels[:-1]
        since = tokens - np.maximum.accumulate(np.where(starts, tokens, 0))
        starts |= since % max_length == 0
    else:
        starts |= scheme.longest[labels] > 0
    begins = np.flatnonzero(starts)
    return Segmentation(begins, np.append(begins[1:], len(labels)), labels[begins].astype(np.int64))


def mistakes(scheme: SegmentLabels, segments: Segmentation, labels: Array) -> Array:
    """Which segments the tag scheme does not allow, bool of shape (segments,); those that are only
    too long are not marked.
    """
    segment = np.repeat(np.arange(len(segments.labels)), segments.ends - segments.begins)
    first, tokens = segments.labels[segment], np.arange(len(labels))
    expected = np.where(
        tokens == segments.ends[segment] - 1, scheme.last[first], scheme.inner[first]
    )
    expected = np.where(tokens == segments.begins[segment], first, expected)
    wrong = np.bincount(segment, expected != labels, len(segments.labels)) > 0
    short = segments.ends - segments.begins < scheme.shortest[segments.labels]
    return np.asarray(wrong | short | (scheme.longest[segments.labels] == 0))
