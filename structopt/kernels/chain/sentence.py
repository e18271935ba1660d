"""Labels of a few sentences, in one call with few arguments.

A driver takes the records of a corpus, which Python packs, and a tuple of kernels. For one sentence
of a first-order chain with tied transitions the packing takes longer than the inference. So the
record is packed once per model, with room for a block of sentences, and the call itself fills what
depends on each sentence.
"""

from __future__ import annotations

from math import inf
from typing import NamedTuple

from numba import types

from structopt.kernels.chain.constraints import constrain
from structopt.kernels.chain.first_order import first_order_viterbi
from structopt.kernels.chain.record import Chain, Scratch
from structopt.kernels.features.attributes.lists import list_singles, replace_each
from structopt.kernels.features.attributes.record import Rows
from structopt.kernels.features.attributes.row_scores import fill_scores
from structopt.kernels.waist.fields import Floats, Ints, Longs
from structopt.kernels.waist.layout import RecordLayout
from structopt.kernels.waist.record import Record
from structopt.kernels.waist.signatures import INTS, LONGS, VECTOR, embedded, kernel
from structopt.kernels.waist.views import part


class Sentence(NamedTuple):
    """The record, opened: room for N positions with E attributes in all, S single weights.

    Attributes
    ----------
    scratch : Scratch
        Tables of the inference, which begin at a cache line.
    rows : Rows
        The features of one sentence. Its tables are the rows of the label parts, their single
        weights if there are any, and the one row of the transitions.
    chain : Chain
        The graph of one sentence.
    given_ids, given_values, given_counts : (E,), (E,), (N,) attributes of all positions of the
        block, -1 for unknown ones, their values, and how many each position has
    starts : (N + 1,) the first position of each sentence
    ids, values, ends : (E,), (E,), (N + 1,) the same of the known attributes of one sentence
    row_begins, single_begins : (attributes + 1,) the first row, and the first single weight, of
    each attribute; empty if attribute a has row a, and if no weight is single
    configurations : (S,) the label of each single weight
    seen : (S,) -1 between calls
    chosen, chosen_ends, chosen_values : the single weights of all positions, as `ids` lists
    attributes
    bounds : (6,) scratch for the bounds of the one instance
    scores, marginals : (N L + L^2,) of one sentence
    maxima : (N,) the maximum of each sentence
    labels, probabilities : (N,), (N L,) the results of all sentences
    """

    scratch: Scratch
    rows: Rows
    chain: Chain
    given_ids: Ints
    given_values: Floats
    given_counts: Longs
    starts: Longs
    ids: Ints
    values: Floats
    ends: Longs
    row_begins: Ints
    single_begins: Ints
    configurations: Ints
    seen: Longs
    chosen: Ints
    chosen_ends: Longs
    chosen_values: Floats
    bounds: Longs
    scores: Floats
    marginals: Floats
    maxima: Floats
    labels: Ints
    probabilities: Floats


SENTENCE = RecordLayout(Sentence)
open_sentence = SENTENCE.compiled


@embedded
def keep_known(p, first, n, begin, valued):
    """Copy the known attributes of n positions, which begin at an entry; return whether a value is
    not 1, and the end of the entries.
    """
    kept, other = 0, False
    p.ends[0] = 0
    for t in range(n):
        end = begin + p.given_counts[first + t]
        for j in range(begin, end):
            if valued:
                other = other or p.given_values[j] != 1.0
                p.values[kept] = p.given_values[j]
            if p.given_ids[j] >= 0:
                p.ids[kept] = p.given_ids[j]
                kept += 1
        begin, p.ends[t + 1] = end, kept
    return other, begin


@embedded
def list_rows(p, n, valued):
    """Fill the table of the rows; return how many entries it has."""
    x = p.rows
    count = p.ends[n]
    ids, values = part(p.ids, 0, count), part(p.values, 0, count if valued else 0)
    if len(p.row_begins) > 0:
        count = replace_each(
            ids, values, part(p.ends, 0, n + 1), p.row_begins, x.listed, x.values, x.offsets
        )
    else:
        for t in range(n + 1):
            x.offsets[t] = p.ends[t]
        for j in range(count):
            x.listed[j] = ids[j]
        for j in range(len(values)):
            x.values[j] = values[j]
    for j in range(count):
        x.ids[j] = j
    x.positions[1], x.lists[1] = n, count
    return count


@embedded
def add_singles(p, n, valued, count):
    """Fill the table of the single weights, behind `count` entries of the rows.

    Returns how many entries are listed then, and how many numbers there are.
    """
    x, b, entries = p.rows, p.bounds, p.ends[n]
    chosen = replace_each(
        part(p.ids, 0, entries),
        part(p.values, 0, entries if valued else 0),
        part(p.ends, 0, n + 1),
        p.single_begins,
        p.chosen,
        p.chosen_values,
        p.chosen_ends,
    )
    b[0], b[1] = 0, n
    more, numbers = list_singles(
        part(p.chosen, 0, chosen),
        part(p.chosen_values, 0, chosen if valued else 0),
        part(p.chosen_ends, 0, n + 1),
        part(b, 0, 2),
        p.configurations,
        p.chain.labels,
        p.seen,
        part(x.listed, count, len(x.listed)),
        part(b, 2, 4),
        part(b, 4, 6),
        part(x.ids, count, len(x.ids)),
        part(x.values, count, len(x.values)),
    )
    for q in range(count, count + more):
        p.seen[x.listed[q]] = -1
    x.lists[2], x.lists[3] = count, count + more
    x.offsets[n + 1], x.offsets[n + 2] = count, count + numbers
    x.positions[3] = 1
    return count + more, count + numbers


@embedded
def features_of(p, n, valued):
    """Fill the record of the features; return it, without values if all are 1."""
    x, last = p.rows, len(p.rows.widths) - 1
    listed = numbers = list_rows(p, n, valued)
    x.starts[last] = n + 1
    if last > 1:
        x.starts[1] = n + 1
        listed, numbers = add_singles(p, n, valued, listed)
        x.starts[last] = n + 3
    # the transitions have one position, with the attribute 0
    x.listed[listed], x.ids[numbers], x.values[numbers] = 0, 0, 1.0
    x.lists[2 * last], x.lists[2 * last + 1] = listed, listed + 1
    x.positions[2 * last + 1] = 1
    x.offsets[x.starts[last]], x.offsets[x.starts[last] + 1] = numbers, numbers + 1
    return Rows(
        x.widths,
        x.lengths,
        x.listed,
        x.ids,
        x.weights,
        x.attributes,
        x.positions,
        x.lists,
        x.starts,
        x.offsets,
        part(x.values, 0, numbers + 1 if valued else 0),
        x.support,
        x.dense,
        x.blocks,
        x.slots,
        x.bits,
    )


@embedded
def constrained_scores(p, theta, q, begin, valued):
    """Return the scores of the parts of sentence q, -inf if a hard constraint forbids a part, and
    the end of its entries, which begin at `begin`.
    """
    first = p.starts[q]
    n = p.starts[q + 1] - first
    weighted, end = keep_known(p, first, n, begin, valued)
    c = p.chain
    c.tokens[1] = n
    s = part(p.scores, 0, (n + c.labels) * c.labels)
    fill_scores(features_of(p, n, weighted), theta, 0, s)
    constrain(c, 0, n, s)
    return s, end


@kernel(types.boolean(VECTOR, INTS, LONGS, VECTOR, LONGS, types.int64, types.boolean))
def label_sentences(theta, ints, longs, floats, at, count, valued):
    """Write the best label of each position of some sentences.

    The record (`Sentence`) has the attributes, and receives the score of the labels of each
    sentence. Attributes with the number -1 are left out. If not `valued`, all values are 1;
    sums over the attributes of a sentence whose values are 1 take another order (`fill_scores`).
    Returns whether the hard constraints allow a labelling of each sentence.
    """
    p = open_sentence(Record(ints, longs, floats, at))
    L, allowed, end = p.chain.labels, True, 0
    for q in range(count):
        s, end = constrained_scores(p, theta, q, end, valued)
        first, z = p.starts[q], part(p.marginals, 0, len(s))
        n = p.starts[q + 1] - first
        p.maxima[q] = first_order_viterbi(p.chain, n, s, p.scratch, z)
        allowed = allowed and p.maxima[q] > -inf
        for t in range(n):
            for y in range(L):
                if z[t * L + y] > 0.0:
                    p.labels[first + t] = y
    return allowed
