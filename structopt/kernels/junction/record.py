"""Junction trees of graphs of variables and factors, and the scratch of inference on them.

Variables are eliminated one after another. The *bucket* of a variable v has a table over v and the
variables S that share a factor or an earlier bucket with v and are eliminated later. Its *cells*
are the joint states, the state of v fastest, then S in the order of its elimination. A
*term* is a function of some variables of a bucket that include v: the scores of the states of a
variable, or of the joint states of a factor.

As a hypergraph, a bucket has one vertex per joint state of S, with one edge per state of v, so that
its edges are its cells. The tails of an edge are vertices of the buckets below: those whose S
begins with v. A bucket may have two of them. *Joining* buckets combine further ones: they have no
variable of their own, but a first digit with one state. The last bucket of a graph has one vertex,
the root.
"""

from __future__ import annotations

from typing import NamedTuple

from structopt.kernels.waist.fields import Floats, Ints, Longs
from structopt.kernels.waist.layout import RecordLayout


class JunctionTrees(NamedTuple):
    """Section of the work record: the junction trees of G different graphs of m instances.

    Attributes
    ----------
    graph : (m,) which graph each instance has
    buckets : (G + 1,) where the buckets of each graph begin
    vertex, edge : (buckets,) first vertex and first edge of each bucket, counted within its graph
    cells : (buckets,) entries of the table
    left, right : (buckets,) buckets below, counted within the graph; -1: none
    digits : (buckets + 1,) where the variables of the table of each bucket begin
    variables, widths : variable of each digit, counted within the instance (-1: none), and states
    left_strides, right_strides : by how many vertices of the bucket below a step of a digit moves
    terms : (buckets + 1,) where the terms of each bucket begin, in the order of their last digits
    strides : (terms + 1,) where the strides of each term begin, one for each digit to its last one
    stride : by how many joint states of the term a step of a digit moves
    states : (terms,) joint states of each term
    part : (terms,) part of the first joint state, which the others follow; -1: the parts are listed
    lists : (terms + 1,) where the ends of the lists of each term begin: states + 1 entries, or none
    ends, listed : the listed parts of each joint state; -1 forbids it
    """

    graph: Ints
    buckets: Longs
    vertex: Longs
    edge: Longs
    cells: Longs
    left: Ints
    right: Ints
    digits: Longs
    variables: Ints
    widths: Ints
    left_strides: Ints
    right_strides: Ints
    terms: Longs
    strides: Longs
    stride: Ints
    states: Longs
    part: Longs
    lists: Longs
    ends: Longs
    listed: Ints


class Tables(NamedTuple):
    """Section of the work record: the hypergraph of one graph, and vectors over its parts.

    Attributes
    ----------
    known : (1,) 1 + the graph whose hypergraph is below; 0: none yet
    starts, left, right : as of `structopt.kernels.hypergraph.record.Hypergraph`
    scores, marginals : of edges and vertices
    inside : of vertices
    places : a number for each cell of a bucket
    values : a number for each joint state of a term
    state : of each variable
    """

    known: Longs
    starts: Longs
    left: Ints
    right: Ints
    scores: Floats
    marginals: Floats
    inside: Floats
    places: Ints
    values: Floats
    state: Ints


class Work(NamedTuple):
    """The work record, opened."""

    trees: JunctionTrees
    tables: Tables


WORK = RecordLayout(Work)
open_work = WORK.compiled
