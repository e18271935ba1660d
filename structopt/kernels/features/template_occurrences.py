"""The features of hashed templates that occur in a corpus, and the indices of their weights:
collisions are counted from them.
"""

from __future__ import annotations

import numpy as np
from numba import types

from structopt.kernels.features.hashing import STEP, TOKENS, finish, rotated
from structopt.kernels.features.template_parts import (
    ARC,
    BETWEEN,
    GROUP,
    LABEL,
    ROWS,
    SHAPES,
    add_partials,
    between,
    open_hashed,
    parts_of,
    variants_of,
)
from structopt.kernels.waist.bits import mix
from structopt.kernels.waist.signatures import INTS, LONGS, RECORD, kernel


@kernel(types.int64(RECORD, types.int64, types.int64, LONGS, INTS, types.int64, LONGS, LONGS))
def occurrences(features, k, t, offsets, parts, sample, keys, indices):
    """List the features of template t at chosen parts of group k: 64 bits that identify each, and
    the index of its weight.

    The parts of sentence i are ``parts[offsets[i] : offsets[i + 1]]``, numbered within the
    sentence's group, ascending. Of all features those are listed of which `sample` bits are zero:
    one of 2^sample. Returns how many; `keys` and `indices`, unless they are empty, receive them.
    """
    x, count = open_hashed(features), 0
    kind, stride = np.int64(x.groups[k]), len(x.positions) // len(x.groups)
    shift = np.uint64(64 - (x.label_bits if kind == LABEL else x.hash_bits))
    size, filling = ROWS if kind == LABEL else GROUP, len(keys) > 0
    looks_between = (
        kind <= ARC and x.bounds[kind * SHAPES + BETWEEN] <= t < x.bounds[(kind + 1) * SHAPES]
    )
    for i in range(len(offsets) - 1):
        codes, first = x.codes[x.tokens[i] : x.tokens[i + 1]], x.positions[k * stride + i]
        numbers, last = parts[offsets[i] : offsets[i + 1]], x.positions[k * stride + i + 1]
        P = np.zeros((3, len(codes) + TOKENS), np.uint64)
        constant = add_partials(x, t, codes, P)
        a, b, c = parts_of(x, kind, first, last)
        a, b, c = a[numbers], b[numbers], c[numbers]
        variants = variants_of(x, kind, a, b, c)
        if looks_between:
            entries = between(codes, np.int64(x.templates[t, 3]), a, b)
            a, b, c, variants = entries.a, entries.b, entries.c, variants[entries.parts]
        for e in range(len(a)):
            z = finish(constant + P[0, a[e]] + P[1, b[e]] + P[2, c[e]])
            for variant in (np.uint64(0), variants[e]):
                key = mix(z + STEP * variant)
                if key & ((np.uint64(1) << np.uint64(sample)) - np.uint64(1)) == np.uint64(0):
                    if filling:
                        keys[count] = np.int64(key)
                        indices[count] = np.int64(rotated(z >> shift, variant, size))
                    count += 1
    return count
