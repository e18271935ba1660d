"""The upper bound of dual decomposition: the best configurations of all factors at the present
multipliers.
"""

from __future__ import annotations

from math import inf

from structopt.kernels.ad3.table_active_set import best_pair
from structopt.kernels.ad3.work import copies_of, private_parts
from structopt.kernels.loopy.factor_kinds import local_max
from structopt.kernels.loopy.factors import TABLE, first_width
from structopt.kernels.waist.signatures import inlined


@inlined
def bound(f, i, s, w):
    """Upper bound of the factors at the present lambda, and whether their maximisers agree.

    w.sums counts the copies of each part that are on.
    """
    value, agreed, shared = 0.0, True, f.shared[i]
    w.sums[:shared] = 0.0
    x = w.scratch
    residual, tops, places, sums = x.residual, x.tops, x.places, w.sums
    part, share, multipliers, kinds = w.part, w.share, w.multipliers, f.kinds
    private, begin = f.shared[i] - f.privates[f.factors[i]], f.factors[i]
    for factor in range(begin, f.factors[i + 1]):
        if kinds[factor] == TABLE:
            c, end = w.begins[factor - begin], w.begins[factor - begin + 1]
            for r in range(c, end):
                residual[r - c] = share[part[r]] + multipliers[r]
            K = 2 if end - c == 4 else first_width(f, i, factor)
            u, v, top = best_pair(
                residual, s, private + f.privates[factor], K, end - c - K, tops, places
            )
            if top == -inf:
                return top, False
            value += top
            sums[part[c + u]] += 1.0
            sums[part[c + K + v]] += 1.0
            continue
        c, k = copies_of(f, i, factor, w)
        first, last = private_parts(f, i, factor)
        for r in range(k):
            x.residual[r] = w.share[w.part[c + r]] + w.multipliers[c + r]
        p, indicators = s[first:last], x.private[: last - first]
        value += local_max(
            f, i, factor, x.residual[:k], p, x.vector[:k], indicators, x.floats, x.ints
        )
        if value == -inf:
            return value, False
        for r in range(k):
            w.sums[w.part[c + r]] += x.vector[r]
    for part in range(shared):
        agreed = agreed and (w.sums[part] == 0.0 or w.sums[part] == w.degree[part])
    return value, agreed
