"""The walk over the features of hashed templates at the parts of a sentence, which hands their
weights to a sink.
"""

from __future__ import annotations

import numpy as np

from structopt.kernels.features.hashing import add_hashes, finish, rotated
from structopt.kernels.features.template_gradient import DENSE, allowed, put, put_rows, put_weights
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
from structopt.kernels.waist.signatures import inlined

SMALLEST = 1e-9  # a residual below this is taken for zero: its gradient would drown in rounding


@inlined
def put_tokens(x, sink, sums, role, tokens):
    """Add tokens[slot, v], sums of residuals over arcs of variant v, to the weights of the
    templates of one token.
    """
    shift, filled = np.uint64(64 - x.hash_bits), np.int64(0)
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
                    sink.indices[filled] = w
                    sink.amounts[filled] = tokens[slot, v]
                    filled += 1
            if filled > CHUNK:
                put_weights(sink, filled)
                filled = 0
    put_weights(sink, filled)


@inlined
def walk_parts(x, kind, sink, codes, every_a, every_b, every_c, every_r):
    """Hand every feature of the arcs, siblings or grandparents of a sentence to the sink, with the
    residual of its part.
    """
    moved, r = moving(every_r, np.int64(1))
    a, b, c = chosen(every_a, moved), chosen(every_b, moved), chosen(every_c, moved)
    sums, variants = sums_of(x, kind, codes), variants_of(x, kind, a, b, c)
    slots = sums.partials.shape[2]
    first, second = np.zeros((slots, 16)), np.zeros((slots, 16))
    for e in range(len(r)):
        first[a[e], variants[e]] += r[e]
        second[b[e], variants[e]] += r[e]
    put_tokens(x, sink, sums, HEAD, first)
    put_tokens(x, sink, sums, MODIFIER, second)
    hashes, v, amount, t = (
        np.empty(CHUNK, np.uint64),
        np.empty(CHUNK, np.uint64),
        np.empty(CHUNK),
        np.int64(sums.bounds[BOTH]),
    )
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
def moving(r, width):
    """Return the parts whose rows of residuals are not nearly zero, and their first residuals."""
    parts, count = np.empty(len(r) // width, np.int64), 0
    first = np.empty(len(parts))
    for p in range(len(parts)):
        largest = 0.0
        for y in range(p * width, (p + 1) * width):
            largest = max(largest, abs(r[y]))
        parts[count] = p
        first[count] = r[p * width]
        count += largest >= SMALLEST
    return parts[:count], first[:count]


@inlined
def chosen(slots, parts):
    """Slots of the chosen parts."""
    out = np.empty(len(parts), np.int32)
    for k in range(len(parts)):
        out[k] = slots[parts[k]]
    return out


@inlined
def put_token_rows(x, sink, sums, role, rows):
    """Add rows[slot, v], sums over arcs of variant v, to the rows of weights of the templates of
    one token.
    """
    shift, L, filled, owner = (
        np.uint64(64 - x.label_bits),
        x.labels,
        np.int64(0),
        np.empty(len(sink.indices), np.int64),
    )
    for slot in range(len(rows)):
        for v in range(1, 4):
            for y in range(L + 1):
                rows[slot, 0, y] += rows[slot, v, y]
    for t in range(sums.bounds[role], sums.bounds[role + 1]):
        for slot in range(len(rows)):
            z = finish(sums.partials[role, t, slot] + sums.constants[t]) >> shift
            for v in range(4):
                if rows[slot, v, L] > 0.0:
                    sink.indices[filled] = rotated(z, np.uint64(v), ROWS)
                    owner[filled] = 4 * slot + v
                    filled += 1
            if filled > CHUNK:
                put_rows(x, sink, filled, owner, rows.reshape((4 * len(rows), L + 1)))
                filled = 0
    put_rows(x, sink, filled, owner, rows.reshape((4 * len(rows), L + 1)))


@inlined
def walk_labels(x, sink, codes, every_a, every_b, r):
    """Hand every feature of the labels on the arcs of a sentence to the sink, with the row of
    residuals of its arc.
    """
    L = x.labels
    R, shift = r.reshape((len(r) // L, L)), np.uint64(64 - x.label_bits)
    moved, _ = moving(r, L)
    a, b = chosen(every_a, moved), chosen(every_b, moved)
    sums, variants = sums_of(x, LABEL, codes), variants_of(x, LABEL, a, b, b)
    slots = sums.partials.shape[2]
    # the last of a row: how many arcs
    first, second = np.zeros((slots, 4, L + 1)), np.zeros((slots, 4, L + 1))
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
    hashes, owner, t = (
        np.empty(CHUNK, np.uint64),
        np.empty(len(sink.indices), np.int64),
        np.int64(sums.bounds[BOTH]),
    )
    while t < sums.bounds[SHAPES]:
        entries, end = entries_of(x, LABEL, codes, sums, t, a, b, b)
        for begin in range(0, len(entries.parts), CHUNK):
            cut = slice(begin, min(begin + CHUNK, len(entries.parts)))
            parts = entries.parts[cut]
            for u in range(t, end):
                add_hashes(sums, u, entries.a[cut], entries.b[cut], entries.c[cut], hashes)
                for k in range(len(parts)):
                    z = hashes[k] >> shift
                    sink.indices[2 * k] = z
                    sink.indices[2 * k + 1] = rotated(z, variants[parts[k]], ROWS)
                    owner[2 * k] = owner[2 * k + 1] = moved[parts[k]]
                put_rows(x, sink, 2 * len(parts), owner, R)
        t = end


@inlined
def walk(x, i, r, sink):
    """Hand every feature of sentence i to the sink, group by group; r are the residuals of its
    parts.
    """
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
