"""The record of linear chains of order k, and the work record of inference on them.

Parts of an instance of n positions and L labels, in this order: n x L label parts; then for j =
1..k the (j+1)-gram parts, L^j histories x L labels, *tied* (one table an instance, whose marginals
are expected counts) or *anchored* (n - j tables). A (j+1)-gram part is active at every position
that has j labels before it.
"""

from __future__ import annotations

from typing import NamedTuple

from structopt.kernels.waist.fields import Flag, Floats, Int, Ints, Longs
from structopt.kernels.waist.layout import RecordLayout


class Chain(NamedTuple):
    """The structure record, opened; m instances.

    Attributes
    ----------
    labels, order : L and k
    anchored : whether n-gram parts have a table per position
    tokens : (m + 1,) where the positions of each instance begin
    forbidden_starts, forbidden_ends : label numbers
    forbidden_transitions : numbers u * L + y of forbidden bigrams
    excluded_offsets, excluded : per instance, further label parts that are forbidden (partially
    labelled input)
    """

    labels: Int
    order: Int
    anchored: Flag
    tokens: Longs
    forbidden_starts: Ints
    forbidden_ends: Ints
    forbidden_transitions: Ints
    excluded_offsets: Longs
    excluded: Ints


CHAIN = RecordLayout(Chain)
open_chain = CHAIN.compiled


class Scratch(NamedTuple):
    """The work record, opened: forward and backward tables, potentials, scores, scales, back
    pointers.

    Arrays whose rows are padded to whole vectors stand first: the buffer begins at a cache line,
    and their rows at whole vectors.
    """

    temporary: Floats
    alpha: Floats
    beta: Floats
    node: Floats
    potential: Floats
    table: Floats
    scale: Floats
    back: Ints


SCRATCH = RecordLayout(Scratch)
open_scratch = SCRATCH.compiled
