"""The recall of the references' bigrams that a summary loses against the gold one."""

from __future__ import annotations

from structopt.loss.cost.hamming import Hamming


class BigramRecall(Hamming):
    r"""What the summary covers of the references' bigrams, below what the gold summary covers.

        cost(y', y) = sum_b worth_b (c_b - c'_b),   worth_b the share of the references' bigrams
        that b is

    It lies between 0 and 1 where gold is the best extract within the budget.

    Notes
    -----
    Kummerfeld et al. (2015), section 2; Berg-Kirkpatrick, Gillick and Klein (2011), section 4.
    """

    role = "bigram"
