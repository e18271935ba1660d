"""How the labels of tokens say where segments begin and end, so that a labelling has one segmentation and no more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from structopt.plugin import Array

PREFIXES = "BIES"


class SegmentLabels(NamedTuple):
    """What segments a label begins; all arrays are int32 of shape (labels,). A segment is named by its first token's label.

    Attributes
    ----------
    shortest, longest : tokens of the segments that a label begins, none where shortest > longest; a label of longest 0 stands
        within segments only
    inner, last : the labels of such a segment's tokens after the first, and of its last token if it has two or more
    runs : whether a segment is a run of one label; then only a segment of `max_length` tokens is followed by one of its label
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

    ``B-X I-X I-X`` (IOB2), or ``B-X I-X E-X`` and ``S-X`` (BIOES), are one segment, and every ``O`` is a segment of one token.
    Labels without such prefixes: runs of one label, cut into segments of `max_length` tokens and what is left.

    Parameters
    ----------
    labels : sequence of str
    max_length : int
        Tokens of the longest segment.
    """
    numbers = {label: y for y, label in enumerate(labels)}
    named = [label for label in labels if label != "O"]
    own, ones = np.arange(len(labels), dtype=np.int32), np.ones(len(labels), np.int32)
    if not named or not all(label[1:2] == "-" and label[0] in PREFIXES and len(label) > 2 for label in named):
        return SegmentLabels(ones, max_length * ones, own, own, runs=True)
    bioes = any(label[0] in "ES" for label in named)
    found = SegmentLabels(ones, ones.copy(), own.copy(), own.copy(), runs=False)
    for y, label in enumerate(labels):
        if label[0] in "IE":
            found.longest[y] = 0
        elif label[0] == "B":
            inner = numbers.get(f"I{label[1:]}", -1)
            last = numbers.get(f"E{label[1:]}", -1) if bioes else inner
            found.shortest[y] = 1 + bioes
            found.longest[y] = min(max_length, 1 if last < 0 else max_length if inner >= 0 else 2)
            found.inner[y], found.last[y] = max(inner, 0), max(last, 0)
    return found


def segmentation(known: SegmentLabels, max_length: int, offsets: Array, labels: Array) -> Segmentation:
    """Cut labellings into segments, whether these are allowed or not (`mistakes`).

    Parameters
    ----------
    known : SegmentLabels
    max_length : int
    offsets : int64, shape (instances + 1,)
        Where the tokens of each instance begin.
    labels : int, shape (tokens,)
    """
    starts, tokens = np.zeros(len(labels), bool), np.arange(len(labels))
    starts[offsets[:-1]] = True
    if known.runs:
        starts[1:] |= labels[1:] != labels[:-1]
        since = tokens - np.maximum.accumulate(np.where(starts, tokens, 0))
        starts |= since % max_length == 0
    else:
        starts |= known.longest[labels] > 0
    begins = np.flatnonzero(starts)
    return Segmentation(begins, np.append(begins[1:], len(labels)), labels[begins].astype(np.int64))


def mistakes(known: SegmentLabels, found: Segmentation, labels: Array) -> Array:
    """Which segments are none: bool, shape (segments,). Those that are only too long are not among them."""
    own = np.repeat(np.arange(len(found.labels)), found.ends - found.begins)
    first, tokens = found.labels[own], np.arange(len(labels))
    expected = np.where(tokens == found.ends[own] - 1, known.last[first], known.inner[first])
    expected = np.where(tokens == found.begins[own], first, expected)
    wrong = np.bincount(own, expected != labels, len(found.labels)) > 0
    short = found.ends - found.begins < known.shortest[found.labels]
    return np.asarray(wrong | short | (known.longest[found.labels] == 0))
