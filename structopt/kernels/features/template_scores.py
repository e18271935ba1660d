"""Scores of hashed templates: first the hashes of many parts, then their weights, so that many
loads from memory overlap.

The weights of unsupported features are zero and read like others: a test of the support would cost
more than it saves.
"""

from __future__ import annotations

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
    sums_of,
    variants_of,
)
from structopt.kernels.waist.signatures import inlined


@inlined
def score_parts(x, kind, theta, codes, a, b, c, s):
    """Fill s with the scores of the arcs, siblings or grandparents of a sentence, whose slots are
    a, b, c.
    """
    shift, sums, variants = (
        np.uint64(64 - x.hash_bits),
        sums_of(x, kind, codes),
        variants_of(x, kind, a, b, c),
    )
    first, second = (
        token_scores(theta, shift, sums, HEAD),
        token_scores(theta, shift, sums, MODIFIER),
    )
    for e in range(len(s)):
        s[e] = first[np.uint64(a[e]), variants[e]] + second[np.uint64(b[e]), variants[e]]
    hashes, v, total, t = (
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
                total[k] = 0.0
            for u in range(t, end):
                add_hashes(sums, u, entries.a[cut], entries.b[cut], entries.c[cut], hashes)
                for k in range(len(parts)):
                    z = hashes[k] >> shift
                    total[k] += theta[z] + theta[rotated(z, v[k], GROUP)]
            for k in range(len(parts)):
                s[np.uint64(parts[k])] += total[k]
        t = end


@inlined
def token_scores(theta, shift, sums, role):
    """Return the scores that templates of one token give to arcs of each variant, shape (slots,
    16).
    """
    out = np.zeros((sums.partials.shape[2], 16))
    for t in range(sums.bounds[role], sums.bounds[role + 1]):
        for slot in range(len(out)):
            z = finish(sums.partials[role, t, slot] + sums.constants[t]) >> shift
            for v in range(16):
                out[slot, v] += theta[rotated(z, np.uint64(v), GROUP)]
    for slot in range(len(out)):
        for v in range(1, 16):
            out[slot, v] += out[slot, 0]
    return out


@inlined
def score_labels(x, W, codes, a, b, S):
    """Fill S, shape (arcs, L), with the scores of the labels on the arcs of a sentence; W are the
    rows of weights.
    """
    shift, sums, variants = (
        np.uint64(64 - x.label_bits),
        sums_of(x, LABEL, codes),
        variants_of(x, LABEL, a, b, b),
    )
    first, second = token_rows(W, shift, sums, HEAD), token_rows(W, shift, sums, MODIFIER)
    for e in range(len(S)):
        target = S[e]
        target[:] = 0.0
        add_rows(target, first[a[e], variants[e]], second[b[e], variants[e]])
    hashes, t = np.empty(CHUNK, np.uint64), np.int64(sums.bounds[BOTH])
    while t < sums.bounds[SHAPES]:
        entries, end = entries_of(x, LABEL, codes, sums, t, a, b, b)
        for begin in range(0, len(entries.parts), CHUNK):
            cut = slice(begin, min(begin + CHUNK, len(entries.parts)))
            parts = entries.parts[cut]
            for u in range(t, end):
                add_hashes(sums, u, entries.a[cut], entries.b[cut], entries.c[cut], hashes)
                for k in range(len(parts)):
                    z = hashes[k] >> shift
                    add_rows(S[parts[k]], W[z], W[rotated(z, variants[parts[k]], ROWS)])
        t = end


@inlined
def token_rows(W, shift, sums, role):
    """Return the scores that templates of one token give to the labels of arcs of each variant,
    shape (slots, 4, L).
    """
    out, none = np.zeros((sums.partials.shape[2], 4, W.shape[1])), np.zeros(W.shape[1])
    for t in range(sums.bounds[role], sums.bounds[role + 1]):
        for slot in range(len(out)):
            z = finish(sums.partials[role, t, slot] + sums.constants[t]) >> shift
            for v in range(4):
                add_rows(out[slot, v], W[rotated(z, np.uint64(v), ROWS)], none)
    for slot in range(len(out)):
        for v in range(1, 4):
            add_rows(out[slot, v], out[slot, 0], none)
    return out


@inlined
def add_rows(target, first, second):
    """Target += first + second."""
    for y in range(len(target)):
        target[y] += first[y] + second[y]
