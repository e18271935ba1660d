"""Attributes of tokens by templates: codes are joined to keys, and looked up among known keys."""

from __future__ import annotations

from typing import NamedTuple

from numba import types

from structopt.kernels.waist.fields import Ints, Longs
from structopt.kernels.waist.layout import RecordLayout
from structopt.kernels.waist.record import Record
from structopt.kernels.waist.signatures import INTS, LONGS, VECTOR, embedded, kernel

NONE = -1


class Templates(NamedTuple):
    """Fitted templates, opened: T templates.

    A key is the codes of a template's terms in mixed radix. Before some terms the key so far is
    replaced by its number among `prefixes`, so that keys stay below 2^62.

    Attributes
    ----------
    terms : (T + 1,) where the terms of each template begin
    views, offsets, widths : of each term, its view, the distance of its token, how many codes it
    has
    prefix_lists : of each term, the number of its list of prefixes; -1: none
    prefix_starts, prefixes : where each list begins, and all lists, each ascending
    starts, keys : (T + 1,) where the keys of each template begin, and all keys, each ascending
    numbers : the attribute of each key
    """

    terms: Longs
    views: Ints
    offsets: Ints
    widths: Longs
    prefix_lists: Ints
    prefix_starts: Longs
    prefixes: Longs
    starts: Longs
    keys: Longs
    numbers: Ints


TEMPLATES = RecordLayout(Templates)
open_templates = TEMPLATES.compiled


@embedded
def place_of(keys, begin, end, key):
    """Return the index of a key among the ascending keys[begin:end]; -1 if it is not there."""
    if begin == end:
        return NONE
    guess = begin + key - keys[begin]  # right if no key below is missing, as in most unigrams
    if begin <= guess < end and keys[guess] == key:
        return guess
    first, count = begin, end - begin
    while count > 1:  # without branches, which could not be predicted
        half = count >> 1
        first += half * (keys[first + half - 1] < key)
        count -= half
    return first if keys[first] == key else NONE


@embedded
def key_of(x, k, t, first, last, rows, codes, starts, columns, outside):
    """Return the key of template k at token t of the sentence first <= t < last; -1 if a term has
    no value, or if training has no such prefix.
    """
    key = 0
    for j in range(x.terms[k], x.terms[k + 1]):
        view, token = x.views[j], t + x.offsets[j]
        code = outside[view]
        if first <= token < last:
            code = codes[starts[view] + rows[columns[view], token]]
        if code < 0:
            return NONE
        if x.prefix_lists[j] >= 0:
            begin, end = x.prefix_starts[x.prefix_lists[j]], x.prefix_starts[x.prefix_lists[j] + 1]
            key = place_of(x.prefixes, begin, end, key)
            if key < 0:
                return NONE
            key -= begin
        key = key * x.widths[j] + code
    return key


@kernel(
    types.int64(
        INTS,
        LONGS,
        VECTOR,
        LONGS,
        LONGS,
        types.int64[:, ::1],
        INTS,
        LONGS,
        INTS,
        INTS,
        INTS,
        LONGS,
    )
)
def attributes(ints, longs, floats, at, bounds, rows, codes, starts, columns, outside, ids, ends):
    """List the known attributes of each token, in the order of the templates; return how many.

    Parameters
    ----------
    ints, longs, floats, at : the record of `Templates`
    bounds : (sentences + 1,) where the sentences begin
    rows : (columns, tokens) number of each token's value in each column
    codes, starts : codes of the values of a view, from starts[view] on
    columns, outside : the column of each view, and its code beyond the sentence
    ids, ends : the result; ends[t] is where the attributes of token t begin
    """
    x = open_templates(Record(ints, longs, floats, at))
    count = 0
    for i in range(len(bounds) - 1):
        for t in range(bounds[i], bounds[i + 1]):
            ends[t] = count
            for k in range(len(x.terms) - 1):
                key = key_of(
                    x, k, t, bounds[i], bounds[i + 1], rows, codes, starts, columns, outside
                )
                place = place_of(x.keys, x.starts[k], x.starts[k + 1], key)
                if place >= 0:
                    ids[count] = x.numbers[place]
                    count += 1
    ends[bounds[len(bounds) - 1]] = count
    return count
