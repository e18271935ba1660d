"""The record of the block *attribute x configuration*, its sparse gradient, and views of both.

A position of part group g with attributes a (values v_a) has the scores  s[p, :] = sum_a v_a W_g[a,
:].  Node features are a group of this kind (one position a token, a row of label weights an
attribute), transition features another (a row of label-pair weights), and tied transitions a third:
one position an instance with one attribute that is always on.

Most attributes occur with one configuration or two, and only the weights for these may move. So a
group has a table of the attributes that have rows, and may have a second one behind it, of
*singles*: weights that stand alone, whose numbers in the table are those of attributes
(`structopt.kernels.features.attributes.singles`). There are T tables in all.

Parts of a group without attributes have the score 0; its positions need no offsets. A gradient of
the block is sparse by attributes: `touched` ones, and one row, or one number, for each of them.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from structopt.kernels.arrays.rows import largest
from structopt.kernels.waist.fields import Floats, Ints, Longs, Wide, Words
from structopt.kernels.waist.layout import RecordLayout
from structopt.kernels.waist.signatures import embedded, inlined
from structopt.kernels.waist.views import part, table

SMALLEST = 1e-9  # a residual row below this is taken for zero: its gradient would drown in rounding


class Rows(NamedTuple):
    """The record of the features, opened. T tables, m instances.

    Attributes
    ----------
    widths : (T,) configurations of a position
    lengths : (T,) weights of an attribute: as many, or 1 where they are singles
    listed : the attributes of each instance, each once, table by table
    lists : (T * (m + 1),) where those of each instance begin in `listed`, table by table
    ids : attributes of all positions of all tables, as indices into the list of their instance; of
    singles, where they occur weights : (T + 1,) where each table's weights begin in theta
    attributes : (T + 1,) where each table's attributes begin in a numbering over all tables
    positions : (T * (m + 1),) where the positions of each instance begin, table by table; singles
    have one an instance starts : (T,) where the offsets of each table begin in `offsets` offsets :
    where the attributes of each position begin in `ids` values : the attributes' values, or empty
    when all are 1 support : one bit a weight, set when it may move, and one word more; or empty
    when all may move dense : (T + 1,) where each table's blocks begin in `blocks` blocks : (blocks,
    5) the first attribute, numbers of a row of M, rows a position, where its `slots` and its M
    begin slots : rows of M of all positions of all blocks; -1: zeros bits : the matrices, row by
    row, as the bits of float32
    """

    widths: Ints
    lengths: Ints
    listed: Ints
    ids: Ints
    weights: Longs
    attributes: Longs
    positions: Longs
    lists: Longs
    starts: Longs
    offsets: Longs
    values: Floats
    support: Words
    dense: Longs
    blocks: Annotated[Longs, Wide(5)]
    slots: Ints
    bits: Ints


ROWS = RecordLayout(Rows)
open_rows = ROWS.compiled


class RowGradient(NamedTuple):
    """A sparse gradient, opened.

    Attributes
    ----------
    slot : row of every attribute in the list of an instance, among the touched of its table; -1:
    none touched : touched attributes, table by table counts : how many of each table are touched
    rows : their rows, one after the other; of singles, their numbers
    """

    slot: Ints
    touched: Ints
    counts: Longs
    rows: Floats


GRADIENT = RecordLayout(RowGradient)
open_gradient = GRADIENT.compiled


@inlined
def rows_of(vector, start, count, width):
    """View `count` rows of `width` that begin at `start`; rows, unlike sums of indices, let inner
    loops be vectorised.
    """
    return table(vector, start, count, width)


@embedded
def list_of(x, t, i):
    """View the attributes of instance i in table t, each once."""
    at = t * (len(x.lists) // len(x.widths)) + i
    return part(x.listed, x.lists[at], x.lists[at + 1])


@embedded
def positions_of(x, t, i):
    """Return the first position of instance i in table t, and the one behind its last."""
    at = t * (len(x.positions) // len(x.widths)) + i
    return x.positions[at], x.positions[at + 1]


@inlined
def large(row):
    """Whether a row of residuals is not taken for zero."""
    return largest(row) >= SMALLEST
