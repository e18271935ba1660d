"""Classes of the mentions of a document, the values of measures, and the partial hashes of
templates at both.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structopt.kernels.features.hashing import partial
from structopt.kernels.features.mentions.record import DISTANCE, EVERY, MEASURE, SAME, SENTENCES
from structopt.kernels.waist.signatures import inlined


class Document(NamedTuple):
    """The mentions of an instance, after those in reach of its first one, and their classes. n
    mentions, S sets of columns.

    Attributes
    ----------
    begin : the first mention, among those of the corpus
    own : the first mention of the instance, among the n; 0 for a document. The mentions before it
    are antecedents only. Then the instance is one mention, and no class is needed
    of : (S, n) the class of each mention in each set
    counts : (S,) how many classes there are
    examples : (S, n) a mention of each class
    starts : (n + 1,) where the parts of each mention begin in the instance
    """

    begin: int
    own: int
    of: np.ndarray
    counts: np.ndarray
    examples: np.ndarray
    starts: np.ndarray


@inlined
def document_of(x, i):
    """Open a document and find the classes of its mentions; or a single mention. O(mentions log
    mentions) for each column of a set.
    """
    first, end = x.graph.variables[i], x.graph.variables[i + 1]
    own = x.graph.parts[first + 1] - x.graph.parts[first] - 1 if end > first else np.int64(0)
    begin, n, S = x.context + first - own, own + end - first, len(x.sets) - 1
    starts = np.zeros(n + 1, np.int64)
    for v in range(first, end + 1):
        starts[own + v - first] = x.graph.parts[v] - x.graph.parts[first]
    of, counts, examples = (
        np.zeros((S, n), np.int64),
        np.zeros(S, np.int64),
        np.zeros((S, n), np.int64),
    )
    for number in range(S if own == 0 else 0):
        classes = of[number]
        if number == EVERY:
            for m in range(n):
                classes[m] = m
        for at in range(x.sets[number], x.sets[number + 1]):
            column = np.int64(x.set_columns[at])
            keys = classes * (np.int64(1) << np.int64(32))
            for m in range(n):
                keys[m] += np.int64(x.codes[begin + m, column])
            number_values(keys, classes)
        for m in range(n - 1, -1, -1):
            examples[number, classes[m]] = m
            counts[number] = max(counts[number], classes[m] + 1)
    return Document(begin, own, of, counts, examples, starts)


@inlined
def number_values(keys, out):
    """Number the distinct values of keys from 0, in their order."""
    order, number = np.argsort(keys), -1
    for at in range(len(order)):
        if at == 0 or keys[order[at]] != keys[order[at - 1]]:
            number += 1
        out[order[at]] = number


@inlined
def width_of(x, measure):
    """How many values a measure has."""
    if measure == DISTANCE:
        return np.int64(x.distances[len(x.distances) - 1]) + 1
    return np.int64(x.sentences[len(x.sentences) - 1]) + 1 if measure == SENTENCES else np.int64(2)


@inlined
def values_of_table(x, table):
    """How many values the measures of a table have together."""
    values = np.int64(1)
    for at in range(x.measured[table], x.measured[table + 1]):
        values *= width_of(x, x.measures[at])
    return values


@inlined
def measure_pairs(x, d, table, m, first, out):
    """Fill in the value of a table's measures for mention m with each antecedent first <= a < m;
    the last counts fastest.
    """
    out[:] = 0
    current = d.begin + m
    for at in range(x.measured[table], x.measured[table + 1]):
        measure = np.int64(x.measures[at])
        width = width_of(x, measure)
        if measure == DISTANCE:
            bins = x.distances
            for k in range(len(out)):
                out[k] = out[k] * width + bins[min(m - first - k, len(bins) - 1)]
        elif measure == SENTENCES:
            bins, sentence = x.sentences, x.sentence
            for k in range(len(out)):
                apart = sentence[current] - sentence[d.begin + first + k]
                out[k] = out[k] * width + bins[min(apart, len(bins) - 1)]
        else:
            compared, column = x.compared, measure - SAME
            for k in range(len(out)):
                value = compared[current, column]
                out[k] = out[k] * width + (
                    value >= 0 and value == compared[d.begin + first + k, column]
                )


@inlined
def mention_hashes(x, t, role, begin, mentions, out):
    """Partial hashes of a template's atoms of one role at mentions."""
    number = x.templates[t, 0]
    out[:] = np.uint64(0)
    for at in range(x.templates[t, 1], x.templates[t, 2]):
        if x.atoms[at, 0] == role:
            column, atom = np.int64(x.atoms[at, 1]), x.atoms[at, 2]
            for k in range(len(out)):
                out[k] += partial(number, atom, x.codes[begin + mentions[k], column])


@inlined
def measure_hashes(x, t, table, out):
    """Partial hashes of a template and of its atoms on measures, for each value of the measures of
    its table.
    """
    number = x.templates[t, 0]
    out[:] = partial(number, 0, 0)
    for at in range(x.templates[t, 1], x.templates[t, 2]):
        if x.atoms[at, 0] == MEASURE:
            which, after = x.measured[table] + x.atoms[at, 1], np.int64(1)
            for later in range(which + 1, x.measured[table + 1]):
                after *= width_of(x, x.measures[later])
            width = width_of(x, x.measures[which])
            for value in range(len(out)):
                out[value] += partial(number, x.atoms[at, 2], (value // after) % width)
