"""Scores from a note: `SPANS` walks over the features of a sentence and notes them, so that they are not hashed once more.

A feature's weight counts to a *cell*. That is a part; or, where the feature looks at one token of arcs (siblings, grandparents)
alone, the sum over all of these with the same token in this role, and of the same variant. The scores are sums over the cells,
in another order than that of `structopt.kernels.features.template_scores`. First come the cells of the parts of all groups,
then for each group those of heads (slots x 16) and of modifiers.

Rows of label weights are not noted, and labels are scored as ever: most of that time goes to the additions.
"""

from __future__ import annotations

import numpy as np

from structopt.kernels.features.template_parts import GROUP, LABEL, cells_of_tokens, parts_of, variants_of
from structopt.kernels.features.template_scores import score_labels
from structopt.kernels.waist.signatures import inlined


@inlined
def score_noted(x, g, theta, i, s):
    """Fill s with the part scores of sentence i, whose weights are noted in g."""
    codes, stride = x.codes[x.tokens[i] : x.tokens[i + 1]], len(x.positions) // max(len(x.groups), 1)
    W = theta[np.int64(1) << x.hash_bits :].reshape((-1, max(x.labels, 1)))
    cells, weights, places = np.zeros(len(s) + len(x.groups) * cells_of_tokens(codes)), g.touched, g.slot
    for k in range(g.counts[3]):
        cells[np.uint64(places[k])] += theta[np.uint64(weights[k])]
    part, cell = 0, len(s)
    for k in range(len(x.groups)):
        kind = np.int64(x.groups[k])
        first, last = x.positions[k * stride + i], x.positions[k * stride + i + 1]
        a, b, c = parts_of(x, kind, first, last)
        if kind == LABEL:
            end = part + (last - first) * x.labels
            score_labels(x, W, codes, a, b, s[part:end].reshape((last - first, x.labels)))
        else:
            end = part + last - first
            tokens = cells[cell : cell + cells_of_tokens(codes)].reshape((2, -1, np.int64(GROUP)))
            add_tokens(s[part:end], cells[part:end], tokens[0], tokens[1], a, b, variants_of(x, kind, a, b, c))
            cell += cells_of_tokens(codes)
        part = end


@inlined
def add_tokens(s, own, heads, modifiers, a, b, variants):
    """Add to the sums of each part's own features those of its tokens, of its variant and of all variants."""
    for e in range(len(s)):
        p, q, v = np.uint64(a[e]), np.uint64(b[e]), variants[e]
        s[e] = own[e] + (heads[p, v] + heads[p, 0]) + (modifiers[q, v] + modifiers[q, 0])
