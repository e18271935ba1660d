"""The weights that the scores of a sentence read, listed with a note of what each counts to, so
that nothing is hashed twice.

A feature's weight counts to a *cell*. That is a part; or, where the feature looks at one token of
arcs alone, the sum over all arcs with the same token in this role, and of the same variant. Scores
are sums over the cells, in another order than that of `structopt.kernels.features.template_scores`.
For each group of parts come their cells, then those of heads (slots x 16), then those of modifiers.

Rows of label weights are listed but not noted, and labels are scored as ever: most of that time
goes to the additions.
"""

from __future__ import annotations

import numpy as np

from structopt.kernels.features.hashing import add_hashes, finish, rotated
from structopt.kernels.features.template_gradient import place_of_row
from structopt.kernels.features.template_parts import (
    BOTH,
    CHUNK,
    GROUP,
    HEAD,
    LABEL,
    MODIFIER,
    ROWS,
    SHAPES,
    cells_of_tokens,
    entries_of,
    parts_of,
    sums_of,
    variants_of,
)
from structopt.kernels.features.template_scores import score_labels
from structopt.kernels.waist.bits import lowest_bit
from structopt.kernels.waist.signatures import embedded, inlined

ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


@inlined
def note_sentence(x, i, g, starts, widths):
    """List the runs of weights that may move and that the scores of sentence i read, and note them
    in g: return how many.

    Weights of features are noted, and listed as often as they are read; rows of label weights are
    listed once. Returns -1, which is also noted, where there is no room for all.
    """
    codes, stride = (
        x.codes[x.tokens[i] : x.tokens[i + 1]],
        len(x.positions) // max(len(x.groups), 1),
    )
    noted, cell = np.int64(0), np.int64(0)
    for k in range(len(x.groups)):
        kind = np.int64(x.groups[k])
        if kind != LABEL and noted >= 0:
            a, b, c = parts_of(
                x, kind, x.positions[k * stride + i], x.positions[k * stride + i + 1]
            )
            noted = note_parts(x, kind, g, codes, a, b, c, cell, noted)
            cell += len(a) + cells_of_tokens(codes)
    runs = noted if noted <= len(starts) else -1
    for j in range(runs):
        starts[j], widths[j] = g.touched[j], 1
    for k in range(len(x.groups)):
        if x.groups[k] == LABEL and runs >= 0:
            a, b, _ = parts_of(
                x, LABEL, x.positions[k * stride + i], x.positions[k * stride + i + 1]
            )
            runs = list_labels(x, g, codes, a, b, starts, widths, runs)
    g.counts[0] = runs
    g.counts[3] = noted
    return runs


@inlined
def note_parts(x, kind, g, codes, a, b, c, cell, noted):
    """Note what the features of the arcs, siblings or grandparents of a sentence read; their cells
    begin at `cell`.

    `noted` weights are noted before; returns how many are afterwards, -1 where there is no room.
    """
    sums, variants = sums_of(x, kind, codes), variants_of(x, kind, a, b, c)
    tokens = cell + len(a)
    noted = note_tokens(x, g, sums, HEAD, variants_at(a, variants, codes), tokens, noted)
    noted = note_tokens(
        x,
        g,
        sums,
        MODIFIER,
        variants_at(b, variants, codes),
        tokens + cells_of_tokens(codes) // 2,
        noted,
    )
    hashes, v, cells, t = (
        np.empty(CHUNK, np.uint64),
        np.empty(CHUNK, np.uint64),
        np.empty(CHUNK, np.int32),
        np.int64(sums.bounds[BOTH]),
    )
    while t < sums.bounds[SHAPES]:
        entries, end = entries_of(x, kind, codes, sums, t, a, b, c)
        for begin in range(0, len(entries.parts), CHUNK):
            cut = slice(begin, min(begin + CHUNK, len(entries.parts)))
            parts = entries.parts[cut]
            for k in range(len(parts)):
                v[k] = variants[np.uint64(parts[k])]
                cells[k] = cell + parts[k]
            for u in range(t, end):
                if noted < 0 or noted + 2 * len(parts) > len(g.touched):
                    return -1
                add_hashes(sums, u, entries.a[cut], entries.b[cut], entries.c[cut], hashes)
                noted = note_features(
                    x.hash_bits, x.support, hashes, v, cells[: len(parts)], g.touched, g.slot, noted
                )
        t = end
    return noted


@inlined
def note_features(hash_bits, support, hashes, variants, cells, weights, places, noted):
    """Note the weights of features, plain and of a variant, which count to the given cells, those
    that may move: return how many.

    Each is written, and kept by counting it. There is room for all.
    """
    shift, n, every = np.uint64(64 - hash_bits), np.uint64(noted), len(support) == 0
    for k in range(len(cells)):
        z = hashes[k] >> shift
        y = rotated(z, variants[k], GROUP)
        # a group of weights has its bits in one word
        word = ALL if every else support[z >> np.uint64(6)]
        weights[n] = z
        places[n] = cells[k]
        n += (word >> (z & np.uint64(63))) & np.uint64(1)
        weights[n] = y
        places[n] = cells[k]
        n += (word >> (y & np.uint64(63))) & np.uint64(1)
    return np.int64(n)


@inlined
def variants_at(slots, variants, codes):
    """Return for each slot the variants of the arcs with that token, as bits; bit 0, of plain
    weights, where there are any.
    """
    out = np.zeros(cells_of_tokens(codes) // (2 * np.int64(GROUP)), np.uint64)
    for e in range(len(slots)):
        out[slots[e]] |= np.uint64(1) | (np.uint64(1) << variants[e])
    return out


@inlined
def note_tokens(x, g, sums, role, variants, cell, noted):
    """Note what the templates of one token read, of the variants at each slot; see `note_parts`."""
    shift, size, below = (
        np.uint64(64 - x.hash_bits),
        np.uint64(GROUP),
        np.uint64(GROUP) - np.uint64(1),
    )
    weights, places, supported, full = (
        g.touched,
        g.slot,
        len(x.support) > 0,
        (np.uint64(1) << np.uint64(GROUP)) - np.uint64(1),
    )
    for t in range(sums.bounds[role], sums.bounds[role + 1]):
        for slot in range(len(variants)):
            z = finish(sums.partials[role, t, slot] + sums.constants[t]) >> shift
            first, turn = z & ~below, z & below
            movable = x.support[z >> np.uint64(6)] >> (first & np.uint64(63)) if supported else full
            left = movable & full & ((variants[slot] << turn) | (variants[slot] >> (size - turn)))
            while left != np.uint64(0):
                at = np.uint64(lowest_bit(left))
                if noted < 0 or noted == len(weights):
                    return -1
                weights[noted] = first + at
                places[noted] = cell + slot * np.int64(size) + np.int64((at - turn) & below)
                noted += 1
                left &= left - np.uint64(1)
    return noted


@embedded
def list_rows(x, g, rows, starts, widths, runs):
    """List the weights that may move of rows that are not in the set of g, and add them to it: see
    `list_labels`.

    Of a row of many labels few may move, and each weight that is listed costs a look at three
    arrays.
    """
    L, words = x.labels, (x.labels + 63) // 64
    for k in range(len(rows)):
        w = rows[k]
        _, new = place_of_row(g, w)
        if not new:
            continue
        if runs < 0 or runs + L > len(starts):
            return -1
        begin = (np.int64(1) << x.hash_bits) + w * L
        if len(x.row_support) == 0:
            starts[runs], widths[runs] = begin, L
            runs += 1
            continue
        for c in range(words):
            word = x.row_support[w * words + c]
            while word != np.uint64(0):
                starts[runs], widths[runs] = begin + 64 * c + lowest_bit(word), 1
                runs += 1
                word &= word - np.uint64(1)
    return runs


@inlined
def list_labels(x, g, codes, a, b, starts, widths, runs):
    """List the rows of weights of labels on the arcs of a sentence behind the first runs: return
    how many; -1 without room.
    """
    shift, sums, variants = (
        np.uint64(64 - x.label_bits),
        sums_of(x, LABEL, codes),
        variants_of(x, LABEL, a, b, b),
    )
    rows, hashes, t = (
        np.empty(2 * CHUNK, np.int64),
        np.empty(CHUNK, np.uint64),
        np.int64(sums.bounds[BOTH]),
    )
    for role in range(HEAD, BOTH):
        seen = variants_at(a if role == HEAD else b, variants, codes)
        for u in range(sums.bounds[role], sums.bounds[role + 1]):
            filled = 0
            for slot in range(len(seen)):
                z = finish(sums.partials[role, u, slot] + sums.constants[u]) >> shift
                for v in range(4):
                    rows[filled] = np.int64(rotated(z, np.uint64(v), ROWS))
                    filled += np.int64((seen[slot] >> np.uint64(v)) & np.uint64(1))
                if filled > CHUNK or slot == len(seen) - 1:
                    runs = list_rows(x, g, rows[:filled], starts, widths, runs)
                    filled = 0
    while t < sums.bounds[SHAPES]:
        entries, end = entries_of(x, LABEL, codes, sums, t, a, b, b)
        for begin in range(0, len(entries.parts), CHUNK):
            cut = slice(begin, min(begin + CHUNK, len(entries.parts)))
            parts = entries.parts[cut]
            for u in range(t, end):
                add_hashes(sums, u, entries.a[cut], entries.b[cut], entries.c[cut], hashes)
                for k in range(len(parts)):
                    z = hashes[k] >> shift
                    rows[2 * k] = np.int64(z)
                    rows[2 * k + 1] = np.int64(rotated(z, variants[np.uint64(parts[k])], ROWS))
                runs = list_rows(x, g, rows[: 2 * len(parts)], starts, widths, runs)
        t = end
    return runs


@inlined
def score_noted(x, g, theta, i, s):
    """Fill s with the part scores of sentence i, whose weights are noted in g."""
    codes, stride = (
        x.codes[x.tokens[i] : x.tokens[i + 1]],
        len(x.positions) // max(len(x.groups), 1),
    )
    W = theta[np.int64(1) << x.hash_bits :].reshape((-1, max(x.labels, 1)))
    size = 0
    for k in range(len(x.groups)):
        if x.groups[k] != LABEL:
            size += (
                x.positions[k * stride + i + 1]
                - x.positions[k * stride + i]
                + cells_of_tokens(codes)
            )
    cells, weights, places = np.zeros(size), g.touched, g.slot
    for k in range(g.counts[3]):
        cells[np.uint64(places[k])] += theta[np.uint64(weights[k])]
    part, cell = 0, 0
    for k in range(len(x.groups)):
        kind = np.int64(x.groups[k])
        first, last = x.positions[k * stride + i], x.positions[k * stride + i + 1]
        a, b, c = parts_of(x, kind, first, last)
        if kind == LABEL:
            end = part + (last - first) * x.labels
            score_labels(x, W, codes, a, b, s[part:end].reshape((last - first, x.labels)))
        else:
            end, own = part + last - first, cell + last - first
            cell = own + cells_of_tokens(codes)
            tokens = cells[own:cell].reshape((2, -1, np.int64(GROUP)))
            add_tokens(
                s[part:end],
                cells[own - len(a) : own],
                tokens[0],
                tokens[1],
                a,
                b,
                variants_of(x, kind, a, b, c),
            )
        part = end


@inlined
def add_tokens(s, own, heads, modifiers, a, b, variants):
    """Add to the sums of each part's own features those of its tokens, of its variant and of all
    variants.
    """
    for e in range(len(s)):
        p, q, v = np.uint64(a[e]), np.uint64(b[e]), variants[e]
        s[e] = own[e] + (heads[p, v] + heads[p, 0]) + (modifiers[q, v] + modifiers[q, 0])
