"""The recall of the references' bigrams, of the gold summary minus that of another."""

from __future__ import annotations

from structopt.loss.cost.hamming import Hamming


class BigramRecall(Hamming):
    r"""The difference of two recalls of the references' bigrams.

        cost(y', y) = sum_b worth_b (c_b - c'_b),   worth_b = sum_r [b is in r] / sum_r |bigrams of
        r|

    c_b and c'_b say whether the gold summary and the other one cover bigram b. So bigrams that only
    the other summary covers reduce the cost. It lies between 0 and 1 if gold is the best extract
    within the budget, and is below 0 for a better summary than gold.

    Notes
    -----
    Kummerfeld et al. (2015), section 3 (summarization); Berg-Kirkpatrick, Gillick and Klein (2011).
    Bigrams are stemmed, count once per reference, and two stopwords are not a bigram; ROUGE-2
    counts repeated bigrams and pairs of stopwords, too.
    """

    role = "bigram"
