"""Wrong rules in a tree of constituents, counted."""

from __future__ import annotations

from structopt.loss.cost.hamming import Hamming


class Rules(Hamming):
    """The number of uses of binary rules and unary steps, at their places, that the gold tree does
    not have.

    Trees over n words have n - 1 rules and 2 n - 1 steps each; a span without a chain of labels
    above it has a step too.

    Notes
    -----
    Kummerfeld et al. (2015) count incorrect rule productions.
    """

    role = "rule"
