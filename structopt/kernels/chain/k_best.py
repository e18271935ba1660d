"""The k best labellings of linear chains."""

from __future__ import annotations

from structopt.kernels.chain.constraints import constrain
from structopt.kernels.chain.k_best_viterbi import k_best_viterbi
from structopt.kernels.chain.ngram_parts import sum_ngram_scores
from structopt.kernels.chain.record import open_chain, open_scratch
from structopt.kernels.waist.signatures import K_BEST, kernel


@kernel(K_BEST)
def k_best(structure, i, s, count, values, offsets, parts, counts, work):
    """List the `count` best labellings in decreasing score, O(n L^(k+1) count); return how many
    there are.
    """
    c, x = open_chain(structure), open_scratch(work)
    n = c.tokens[i + 1] - c.tokens[i]
    constrain(c, i, n, s)
    if not c.anchored:
        sum_ngram_scores(c, n, s, x.table)
    return k_best_viterbi(c, n, s, count, x, values, offsets, parts, counts)
