"""The record of anchored templates: forests, templates sorted by what they look at, and the index
of the weights.

A template of a span looks at places: its begin, its end, its split, all its words. Templates are
sorted into *groups* by the places that they look at, because anchored rules share places: the value
of a template of the group BEGIN is the same for all spans that begin at the same word. So the
weights of a rule (or of a label) with such templates are looked up once for each word where spans
with the rule begin, not once for each span.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from structopt.kernels.forest.record import Forests
from structopt.kernels.waist.fields import Int, Ints, Wide, Words
from structopt.kernels.waist.layout import RecordLayout

NOTHING, BEGIN, END, LENGTH, SPLIT, LEFT, RIGHT, SPAN, ANCHOR, WORD = range(10)
"""Groups: no place at all; one place; lengths of the span and of its halves; several places of the
span; the split among several places; the word of a tag.
"""
SINGLE = SPAN
"""Groups before this one have one value a place; LEFT and RIGHT are of lengths."""
GROUPS = 10
(
    FIRST_WORD,
    LAST_WORD,
    BEFORE,
    AFTER,
    LEFT_WORD,
    RIGHT_WORD,
    EVERY_WORD,
    TAGGED,
    LENGTH_OF,
    LEFT_LENGTH,
    RIGHT_LENGTH,
) = range(11)
"""Roles of atoms; the last three are measures."""
WITH_RULE, WITH_PARENT = 1, 2


class Anchored(NamedTuple):
    """The record of the features, opened. m sentences, T templates.

    Attributes
    ----------
    forest : Forests
        Of the same sentences.
    hash_bits : features are hashed to 2^hash_bits places, of which those of gold features are
    marked gold, others : number of weights of gold features, and after them of bins for all other
    features joined : WITH_RULE, WITH_PARENT or both: what templates are joined with columns : of
    the codes seen : (2^hash_bits / 64, 2) one bit a place, set where a gold feature is; and how
    many bits are set before the word bounds : (GROUPS + 1,) where the templates of each group begin
    templates : (T, 3) number in the hash, first atom, last atom + 1 atoms : (atoms, 3) role,
    column, offset bins : bin of each length, the last for all greater ones codes : (tokens,
    columns)
    """

    forest: Forests
    hash_bits: Int
    gold: Int
    others: Int
    joined: Int
    columns: Int
    seen: Annotated[Words, Wide(2)]
    bounds: Ints
    templates: Annotated[Ints, Wide(3)]
    atoms: Annotated[Ints, Wide(3)]
    bins: Ints
    codes: Annotated[Ints, Wide("columns")]


ANCHORED = RecordLayout(Anchored)
open_anchored = ANCHORED.compiled
