r"""Lines ``label TAB attribute[:value] TAB ...`` as numbers of their strings.

A string is a label, the name of an attribute, or the text of a value: its *kind*. Strings of a kind are numbered together with
all others in the order in which they first occur, and stand one after the other in a *store*, without the escapes ``\:`` and
``\\`` of names and labels. They are found again in a table with open addressing; a place of it holds half of the hash, which
tells most strings apart without a look at their bytes, and the number + 1.
"""

from __future__ import annotations

import numpy as np
from numba import types

from structopt.kernels.waist.bits import mix
from structopt.kernels.waist.halting import halted
from structopt.kernels.waist.signatures import INTS, LONGS, inlined, kernel, merged
from structopt.kernels.waist.views import part

LABEL, NAME, VALUE = 0, 1, 2
TOKENS, SENTENCES, ENTRIES, VALUED, STRINGS, STORED, FAULT, PLACES, COUNTS = range(9)
"""Indices into the counts that `scan` leaves, and how many they are.

STORED are the bytes of all strings, FAULT is the line, from 1, that has no label, after which it stops (0: none), and PLACES are
those of the table.
"""
SMALLEST = 1 << 10  # places of a table
TAB, NEWLINE, COLON, BACKSLASH = np.uint8(9), np.uint8(10), np.uint8(58), np.uint8(92)
SEED, TIMES = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)  # of FNV-1a, 64 bits
LOW, HALF = np.uint64(0xFFFFFFFF), np.uint64(32)

TEXT = types.Array(types.uint8, 1, "C", readonly=True)
BYTES = types.uint8[::1]


@merged
def is_space(c):
    """Whether a byte is white space to `str.isspace`."""
    return c == 32 or 9 <= c <= 13 or 28 <= c <= 31


@merged
def ends_field(text, q):
    """Whether the text, or a field of it, ends at place q."""
    return q >= len(text) or text[q] in (TAB, NEWLINE)


@merged
def copied(text, q, kind, store, end):
    """Copy a string from place q of the text to the end of the store; return where either ends then, and its hash.

    A name ends before its colon, too.
    """
    h = (SEED ^ np.uint64(kind)) * TIMES
    while q < len(text):
        c = text[q]
        if c in (TAB, NEWLINE) or (c == COLON and kind == NAME):
            break
        if kind != VALUE and c == BACKSLASH and q + 1 < len(text) and text[q + 1] in (COLON, BACKSLASH):
            q += 1
            c = text[q]
        store[end] = c
        h = (h ^ np.uint64(c)) * TIMES
        end += 1
        q += 1
    return q, end, mix(h)


@merged
def numbered(kind, h, end, count, places, store, starts, kinds):
    """Return the number of the string that was copied to the end of the store: `count` where it is new."""
    last, begin, half = np.uint64(len(places) - 1), starts[count], h >> HALF
    at = half & last
    while places[at] != 0:
        if places[at] >> HALF == half:
            number = np.int64(places[at] & LOW) - 1
            start = starts[number]
            if kinds[number] == kind and starts[number + 1] - start == end - begin:
                q = np.int64(0)
                while q < end - begin and store[start + q] == store[begin + q]:
                    q += 1
                if q == end - begin:
                    return number
        at = (at + np.uint64(1)) & last
    places[at] = (half << HALF) | np.uint64(count + 1)
    kinds[count], starts[count + 1] = kind, end
    return count


@inlined
def enlarged(places):
    """Return a table with four times the places, and all that stands in this one."""
    larger = np.zeros(4 * len(places), np.uint64)
    last = np.uint64(len(larger) - 1)
    for place in places:
        if place != 0:
            at = (place >> HALF) & last
            while larger[at] != 0:
                at = (at + np.uint64(1)) & last
            larger[at] = place
    return larger


@kernel(types.void(TEXT, LONGS))
def count(text, counts):
    """Count the tabs, the ends of lines and the colons of a text."""
    for c in text:
        counts[0] += c == TAB
        counts[1] += c == NEWLINE
        counts[2] += c == COLON


@kernel(types.void(TEXT, types.int64, BYTES, BYTES, LONGS, INTS, LONGS, LONGS, LONGS, INTS, LONGS, INTS, LONGS))
def scan(data, limit, room, kind_of, start_of, labels, lines, ends, sentences, ids, valued, values, counts):
    """Read the lines of a text, UTF-8, those of the first `limit` sentences alone; O(bytes).

    Parameters
    ----------
    data : uint8
        The text.
    limit : int
        Below 0: all.
    room : uint8, as many as there are of the text
        Receives the strings.
    kind_of, start_of : uint8, int64
        Receive their kinds, and where they begin; one entry of `start_of` more.
    labels, lines, ends : int32, int64, int64
        Receive of every token its label, its line from 1, and where its entries end.
    sentences : int64
        Receives where the sentences end in the tokens.
    ids : int32
        Receives the names of all entries.
    valued, values : int64, int32
        Receive the entries that have a value, and the text of it.
    counts : int64, shape (COUNTS,)
        Receives how many there are of each; zeros before.
    """
    text, store = part(data, 0, len(data)), part(room, 0, len(room))
    kinds, starts = part(kind_of, 0, len(kind_of)), part(start_of, 0, len(start_of))
    table = np.zeros(SMALLEST, np.uint64)
    places = part(table, 0, len(table))
    tokens, before, closed, entries, with_value, strings, end = 0, 0, 0, 0, 0, 0, 0
    line, q = 1, 0
    starts[0] = 0
    while q < len(text) and counts[FAULT] == 0 and not halted():
        begin = q
        while q < len(text) and text[q] != NEWLINE and is_space(text[q]):
            q += 1
        if q == len(text) or text[q] == NEWLINE:
            if tokens > before:
                sentences[closed], before = tokens, tokens
                closed += 1
                if closed == limit:
                    break
            q += 1
            line += 1
            continue
        q, new, h = copied(text, begin, LABEL, store, end)
        if q == begin:
            counts[FAULT] = line
        number = numbered(LABEL, h, new, strings, places, store, starts, kinds)
        if number == strings:
            strings, end = strings + 1, new
        labels[tokens], lines[tokens] = number, line
        while True:
            if 2 * strings >= len(places):
                table = enlarged(table)
                places = part(table, 0, len(table))
            if q == len(text) or text[q] == NEWLINE:
                break
            q += 1  # over the tab
            if ends_field(text, q):
                continue
            q, new, h = copied(text, q, NAME, store, end)
            number = numbered(NAME, h, new, strings, places, store, starts, kinds)
            if number == strings:
                strings, end = strings + 1, new
            ids[entries] = number
            if not ends_field(text, q):  # at a colon
                q, new, h = copied(text, q + 1, VALUE, store, end)
                number = numbered(VALUE, h, new, strings, places, store, starts, kinds)
                if number == strings:
                    strings, end = strings + 1, new
                valued[with_value], values[with_value] = entries, number
                with_value += 1
            entries += 1
        ends[tokens] = entries
        tokens += 1
        q += 1
        line += 1
    if tokens > before:
        sentences[closed] = tokens
        closed += 1
    counts[TOKENS], counts[SENTENCES], counts[ENTRIES], counts[VALUED] = tokens, closed, entries, with_value
    counts[STRINGS], counts[STORED] = strings, end
    counts[PLACES] = len(table)  # which keeps the table as long as the view of it
