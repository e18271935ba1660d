"""The record of mention templates: what the kernels read of a corpus of documents with mentions.

A mention has one part for starting an entity, then one for each mention that may be its antecedent,
from left to right. Templates of links look at *columns* of the mention, columns of the antecedent,
and *measures* of the pair: how far apart the two are, and whether they have equal values. Few pairs
differ in all that a template looks at, so that its weights are looked up once for each combination
that occurs: mentions of a document with equal values in some columns are a *class* for these
columns.

A *table* has one cell for each class of the mention, class of the antecedent and value of the
measures; the templates that look at just these columns and measures fill a table of their own,
which is added to a larger one that tells more apart, so that the score of a pair is a sum over few
tables.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from structopt.kernels.independent.record import Independent
from structopt.kernels.waist.fields import Int, Ints, Wide, Words
from structopt.kernels.waist.layout import RecordLayout

MENTION, ANTECEDENT, MEASURE = 0, 1, 2
"""Roles of atoms."""
DISTANCE, SENTENCES, SAME = 0, 1, 2
"""Measures: bins of the distances in mentions and in sentences; from SAME on, whether a column of
values is equal.
"""
EVERY, NOTHING = 0, 1
"""Sets of columns: all that there is to know of a mention, so that each is a class of its own; and
none, so that all are one.
"""


class Mentions(NamedTuple):
    """The record of the features, opened. M mentions; an instance is a document, or a mention.

    Attributes
    ----------
    graph : Independent
        The mentions of each instance, and their parts.
    context : how many mentions come before the first one of an instance
    hash_bits : features are hashed into 2^hash_bits weights
    columns, values : how many columns of codes, and of values that are compared
    sets, set_columns : where the columns of each set begin in `set_columns`; the sets EVERY and
    NOTHING have none new : (2,) the templates first <= t < last of mentions that start an entity
    tables : (Q, 4) set of the mention's columns, set of the antecedent's, first list of templates
    that is added to it, last + 1 lists : (G, 4) of templates of links: set of the mention's
    columns, of the antecedent's; first template, last + 1 measured, measures : where the measures
    of each table begin in `measures` templates : (T, 3) number in the hash, first atom, last atom +
    1 atoms : (atoms, 3) role; column, or which measure of its table; and its number among the
    template's atoms, from 1 distances, sentences : bin of each distance, the last for all greater
    ones codes : (M, columns) compared : (M, values) numbers of values, -1 where a mention has none
    sentence : (M,) number of each mention's sentence support : one bit a weight, set when it may
    move; or empty when all may
    """

    graph: Independent
    context: Int
    hash_bits: Int
    columns: Int
    values: Int
    sets: Ints
    set_columns: Ints
    new: Ints
    tables: Annotated[Ints, Wide(4)]
    lists: Annotated[Ints, Wide(4)]
    measured: Ints
    measures: Ints
    templates: Annotated[Ints, Wide(3)]
    atoms: Annotated[Ints, Wide(3)]
    distances: Ints
    sentences: Ints
    codes: Annotated[Ints, Wide("columns")]
    compared: Annotated[Ints, Wide("values")]
    sentence: Ints
    support: Words


MENTIONS = RecordLayout(Mentions)
open_mentions = MENTIONS.compiled
