"""Summaries from fractional sentences, in factor graphs whose last factor is a budget and all
others are COVERAGE factors.
"""

from __future__ import annotations

import numpy as np

from structopt.kernels.loopy.factors import open_factors, private_start
from structopt.kernels.waist.signatures import ROUND, kernel


@kernel(ROUND)
def round_summary(structure, i, z, work):
    """Let z be the indicators of a summary: sentences by falling mass, as long as they have any and
    the budget lasts.

    Sentences of the same mass come in their order. An output stays as it is.
    """
    f = open_factors(structure)
    first, budget = f.factors[i], f.factors[i + 1] - 1
    extra = f.extra[f.extras[budget] : f.extras[budget + 1]]
    rest = extra[0]
    for j in np.argsort(-z[: f.shared[i]], kind="mergesort"):
        on = z[j] > 0.0 and extra[1 + j] <= rest
        z[j] = 1.0 if on else 0.0
        rest -= extra[1 + j] if on else 0
    for factor in range(first, budget):
        covered = 0.0
        for link in range(f.links[factor], f.links[factor + 1]):
            covered = max(covered, z[f.linked[link]])
        part = private_start(f, i, factor)
        z[part : part + f.privates[factor + 1] - f.privates[factor]] = covered
