"""Wrong heads or relations in a dependency tree, counted."""

from __future__ import annotations

from structopt.loss.cost.hamming import Hamming


class LabeledArcs(Hamming):
    """The number of words whose head or relation is wrong, counted in the parts of labelled
    arcs.
    """

    role = "labeled_arc"
