"""Wrong labelled brackets of a tree of constituents, counted."""

from __future__ import annotations

from structopt.loss.cost.hamming import Hamming


class Brackets(Hamming):
    """The number of symbols at spans that the gold tree does not have, below the step of a span and
    above.

    Binary trees over n words have 2 (2 n - 1) each: a missing bracket and one that is too many cost
    once together.
    """

    role = "bracket"
