"""Gradients of hashed templates: the walk over the features of a sentence's parts, and what it does with their weights.

A sparse gradient lists the weights that are touched, and their values; a table of their places in the list, as small as they
allow, finds them again: much of it stays in the second cache, where a table of all weights would not. It has open addressing
with linear probing; a weight's number is its hash, since it was made by one. Rows of label weights are a sparse set (Briggs
and Torczon, 1993), which needs no clearing: row w is in it at place q = row_slot[w] if q is below the count and
row_touched[q] = w.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structopt.kernels.features.hashing import add_hashes, finish, rotated
from structopt.kernels.features.template_parts import (
    BOTH,
    CHUNK,
    GROUP,
    HEAD,
    LABEL,
    MODIFIER,
    ROWS,
    SHAPES,
    entries_of,
    parts_of,
    sums_of,
    variants_of,
)
from structopt.kernels.waist.fields import Floats, Ints, Longs
from structopt.kernels.waist.layout import RecordLayout
from structopt.kernels.waist.signatures import inlined

SMALLEST = 1e-9  # a residual below this is taken for zero: its gradient would drown in rounding
FEWEST = 4096  # places of the smallest table
SPARSE, DENSE, LISTED = 0, 1, 2
"""What becomes of the weights: a sparse gradient, a dense one, or a list of runs."""


class SparseGradient(NamedTuple):
    """A sparse gradient, opened: sets of weights and of rows of label weights, and their values.

    Attributes
    ----------
    slot, touched, values : table of the places of weights, -1 where free; weights; their values
    row_slot, row_touched, rows : places of rows, rows, their values one after the other
    counts : (3,) how many weights and rows are in it; how much of the table is in use, a power of 2
    """

    slot: Ints
    touched: Ints
    row_slot: Ints
    row_touched: Ints
    counts: Longs
    values: Floats
    rows: Floats


GRADIENT = RecordLayout(SparseGradient)
open_gradient = GRADIENT.compiled


class Sink(NamedTuple):
    """Where the walk puts weights: in a sparse gradient, in a dense one, or in a list of runs.

    Attributes
    ----------
    mode : SPARSE, DENSE or LISTED
    g : SparseGradient
    dense : all weights
    starts, widths : runs; the count is that of `g`
    place, amount : scratch, weights of a chunk and what comes to each
    """

    mode: int
    g: SparseGradient
    dense: np.ndarray
    starts: np.ndarray
    widths: np.ndarray
    place: np.ndarray
    amount: np.ndarray


@inlined
def put(x, sink, hashes, variants, r):
    """Add each part's residual to its feature's weights, plain and of the part's variant."""
    shift, found = np.uint64(64 - x.hash_bits), 0
    place, amount = sink.place, sink.amount
    if len(x.support) > 0 and sink.mode != DENSE:
        for k in range(len(r)):
            z = hashes[k] >> shift
            y = rotated(z, variants[k], GROUP)
            word = x.support[z >> np.uint64(6)]  # a group of weights has its bits in one word
            place[found] = z
            amount[found] = r[k]
            found += np.int64((word >> (z & np.uint64(63))) & np.uint64(1))
            place[found] = y
            amount[found] = r[k]
            found += np.int64((word >> (y & np.uint64(63))) & np.uint64(1))
    else:
        for k in range(len(r)):
            z = hashes[k] >> shift
            place[found] = z
            amount[found] = r[k]
            place[found + 1] = rotated(z, variants[k], GROUP)
            amount[found + 1] = r[k]
            found += 2
    put_weights(sink, found)


@inlined
def put_weights(sink, found):
    """Add the first amounts of the scratch to their weights."""
    place, amount, g = sink.place, sink.amount, sink.g
    if sink.mode == SPARSE:
        slot, touched, values, count = g.slot, g.touched, g.values, g.counts[0]
        if 2 * (count + found) > g.counts[2]:
            enlarge(g, 2 * (count + found))
        last = np.uint64(g.counts[2] - 1)
        for k in range(found):
            w = place[k]
            at = w & last
            while True:
                q = slot[at]
                if q < 0:
                    slot[at] = count
                    touched[count] = w
                    values[count] = amount[k]
                    count += 1
                    break
                if touched[np.uint64(q)] == np.int64(w):
                    values[np.uint64(q)] += amount[k]
                    break
                at = (at + np.uint64(1)) & last
        g.counts[0] = count
    elif sink.mode == DENSE:
        for k in range(found):
            sink.dense[place[k]] += amount[k]
    else:
        list_runs(sink, found, 0, 1)


@inlined
def clear(g):
    """Empty a sparse gradient."""
    g.counts[0] = g.counts[1] = g.counts[2] = 0


@inlined
def enlarge(g, wanted):
    """Use as much of the table as is wanted, or all of it, which is more than the list may need."""
    size = max(g.counts[2], FEWEST)
    while size < wanted:
        size *= 2
    size = min(size, len(g.slot))
    if size == g.counts[2]:
        return
    g.counts[2] = size
    g.slot[:size] = -1
    for q in range(g.counts[0]):
        at = np.int64(g.touched[q]) & (size - 1)
        while g.slot[at] >= 0:
            at = (at + 1) & (size - 1)
        g.slot[at] = q


@inlined
def put_tokens(x, sink, sums, role, tokens):
    """Add tokens[slot, v], sums of residuals over arcs of variant v, to the weights of the templates that look at one place."""
    shift, found = np.uint64(64 - x.hash_bits), 0
    for slot in range(len(tokens)):
        row = tokens[slot]
        for v in range(1, 16):
            row[0] += row[v]
    for t in range(sums.bounds[role], sums.bounds[role + 1]):
        for slot in range(len(tokens)):
            z = finish(sums.partials[role, t, slot] + sums.constants[t]) >> shift
            for v in range(16):
                w = rotated(z, np.uint64(v), GROUP)
                if tokens[slot, v] != 0.0 and (sink.mode == DENSE or allowed(x.support, w)):
                    sink.place[found] = w
                    sink.amount[found] = tokens[slot, v]
                    found += 1
            if found > CHUNK:
                put_weights(sink, found)
                found = 0
    put_weights(sink, found)


@inlined
def allowed(support, w):
    """Whether a weight may move."""
    return len(support) == 0 or (support[w >> np.uint64(6)] >> (w & np.uint64(63))) & np.uint64(1) == np.uint64(1)


@inlined
def walk_parts(x, kind, sink, codes, every_a, every_b, every_c, every_r):
    """Hand every feature of the arcs, siblings or grandparents of a sentence to the sink, with the residual of its part."""
    moved, r = moving(sink, every_r, 1)
    a, b, c = chosen(every_a, moved), chosen(every_b, moved), chosen(every_c, moved)
    sums, variants = sums_of(x, kind, codes), variants_of(x, kind, a, b, c)
    slots = sums.partials.shape[2]
    first, second = np.zeros((slots, 16)), np.zeros((slots, 16))
    for e in range(len(r)):
        first[a[e], variants[e]] += r[e]
        second[b[e], variants[e]] += r[e]
    put_tokens(x, sink, sums, HEAD, first)
    put_tokens(x, sink, sums, MODIFIER, second)
    hashes, v, amount, t = np.empty(CHUNK, np.uint64), np.empty(CHUNK, np.uint64), np.empty(CHUNK), sums.bounds[BOTH]
    while t < sums.bounds[SHAPES]:
        entries, end = entries_of(x, kind, codes, sums, t, a, b, c)
        for begin in range(0, len(entries.parts), CHUNK):
            cut = slice(begin, min(begin + CHUNK, len(entries.parts)))
            parts = entries.parts[cut]
            for k in range(len(parts)):
                v[k] = variants[np.uint64(parts[k])]
                amount[k] = r[np.uint64(parts[k])]
            for u in range(t, end):
                add_hashes(sums, u, entries.a[cut], entries.b[cut], entries.c[cut], hashes)
                put(x, sink, hashes, v, amount[: len(parts)])
        t = end


@inlined
def moving(sink, r, width):
    """Return the positions whose row of residuals is not all but zero, and the first residual of each."""
    positions, found = np.empty(len(r) // width, np.int64), 0
    first = np.empty(len(positions))
    for p in range(len(positions)):
        largest = 1.0 if sink.mode == LISTED else 0.0
        for y in range(p * width, (p + 1) * width):
            largest = max(largest, abs(r[y]))
        positions[found] = p
        first[found] = 1.0 if sink.mode == LISTED else r[p * width]
        found += largest >= SMALLEST
    return positions[:found], first[:found]


@inlined
def chosen(slots, positions):
    """Slots of the chosen parts."""
    out = np.empty(len(positions), np.int32)
    for k in range(len(positions)):
        out[k] = slots[positions[k]]
    return out


@inlined
def put_rows(x, sink, found, owner, R):
    """Add rows of residuals R[owner[k]], of which the first L count, to the first rows of label weights of the scratch."""
    g, L, place, count = sink.g, x.labels, sink.place, sink.g.counts[1]
    touched, slot = g.row_touched, g.row_slot
    if sink.mode == LISTED:
        list_runs(sink, found, np.int64(1) << x.hash_bits, L)
        return
    rows = g.rows if sink.mode == SPARSE else sink.dense[np.int64(1) << x.hash_bits :]
    for k in range(found):
        w, row = np.int64(place[k]), R[owner[k]]
        if sink.mode == SPARSE:
            q = np.int64(slot[w])
            if q >= count or touched[q] != w:
                q = count
                slot[w] = q
                touched[q] = w
                count += 1
                rows[q * L : (q + 1) * L] = 0.0
            w = q
        target = rows[w * L : (w + 1) * L]
        for y in range(L):
            target[y] += row[y]
    g.counts[1] = count


@inlined
def list_runs(sink, found, start, width):
    """List the first places of the scratch as runs of weights; as long as there is room."""
    count = sink.g.counts[0]
    if count < 0 or count + found > len(sink.starts):
        sink.g.counts[0] = -1
        return
    for k in range(found):
        sink.starts[count + k] = start + np.int64(sink.place[k]) * width
        sink.widths[count + k] = width
    sink.g.counts[0] = count + found


@inlined
def put_token_rows(x, sink, sums, role, rows):
    """Add rows[slot, v], sums over arcs of variant v, to the rows of weights of the templates that look at one place."""
    shift, L, found, owner = np.uint64(64 - x.label_bits), x.labels, 0, np.empty(len(sink.place), np.int64)
    for slot in range(len(rows)):
        for v in range(1, 4):
            for y in range(L + 1):
                rows[slot, 0, y] += rows[slot, v, y]
    for t in range(sums.bounds[role], sums.bounds[role + 1]):
        for slot in range(len(rows)):
            z = finish(sums.partials[role, t, slot] + sums.constants[t]) >> shift
            for v in range(4):
                if rows[slot, v, L] > 0.0:
                    sink.place[found] = rotated(z, np.uint64(v), ROWS)
                    owner[found] = 4 * slot + v
                    found += 1
            if found > CHUNK:
                put_rows(x, sink, found, owner, rows.reshape((4 * len(rows), L + 1)))
                found = 0
    put_rows(x, sink, found, owner, rows.reshape((4 * len(rows), L + 1)))


@inlined
def walk_labels(x, sink, codes, every_a, every_b, r):
    """Hand every feature of the labels on the arcs of a sentence to the sink, with the row of residuals of its arc."""
    L = x.labels
    R, shift = r.reshape((len(r) // L, L)), np.uint64(64 - x.label_bits)
    moved, _ = moving(sink, r, L)
    a, b = chosen(every_a, moved), chosen(every_b, moved)
    sums, variants = sums_of(x, LABEL, codes), variants_of(x, LABEL, a, b, b)
    slots = sums.partials.shape[2]
    first, second = np.zeros((slots, 4, L + 1)), np.zeros((slots, 4, L + 1))  # the last of a row: how many arcs
    for e in range(len(moved)):
        row, target, other = R[moved[e]], first[a[e], variants[e]], second[b[e], variants[e]]
        target[L] += 1.0
        other[L] += 1.0
        for y in range(L):
            target[y] += row[y]
        for y in range(L):
            other[y] += row[y]
    put_token_rows(x, sink, sums, HEAD, first)
    put_token_rows(x, sink, sums, MODIFIER, second)
    hashes, owner, t = np.empty(CHUNK, np.uint64), np.empty(len(sink.place), np.int64), sums.bounds[BOTH]
    while t < sums.bounds[SHAPES]:
        entries, end = entries_of(x, LABEL, codes, sums, t, a, b, b)
        for begin in range(0, len(entries.parts), CHUNK):
            cut = slice(begin, min(begin + CHUNK, len(entries.parts)))
            parts = entries.parts[cut]
            for u in range(t, end):
                add_hashes(sums, u, entries.a[cut], entries.b[cut], entries.c[cut], hashes)
                for k in range(len(parts)):
                    z = hashes[k] >> shift
                    sink.place[2 * k] = z
                    sink.place[2 * k + 1] = rotated(z, variants[parts[k]], ROWS)
                    owner[2 * k] = owner[2 * k + 1] = moved[parts[k]]
                put_rows(x, sink, 2 * len(parts), owner, R)
        t = end


@inlined
def walk(x, i, r, sink):
    """Hand every feature of sentence i to the sink, group by group; r are the residuals of its parts."""
    codes = x.codes[x.tokens[i] : x.tokens[i + 1]]
    stride, part = len(x.positions) // max(len(x.groups), 1), 0
    for k in range(len(x.groups)):
        kind = np.int64(x.groups[k])
        first, last = x.positions[k * stride + i], x.positions[k * stride + i + 1]
        width = x.labels if kind == LABEL else 1
        end = part + (last - first) * width
        a, b, c = parts_of(x, kind, first, last)
        if kind == LABEL:
            walk_labels(x, sink, codes, a, b, r[part:end])
        else:
            walk_parts(x, kind, sink, codes, a, b, c, r[part:end])
        part = end
