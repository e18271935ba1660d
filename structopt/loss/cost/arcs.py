"""Wrong heads in a dependency tree, counted."""

from __future__ import annotations

from structopt.loss.cost.hamming import Hamming


class Arcs(Hamming):
    """The number of words whose head is wrong, counted in the parts of arcs."""

    role = "arc"
