r"""Lines ``label TAB attribute[:value] TAB ...`` as numbers of their strings.

A string is a label, the name of an attribute, or the text of a value: its *kind*. Strings of a kind
are numbered together with all others in the order in which they first occur, and stand one after
the other in a *store*, without the escapes ``\:`` and ``\\`` of names and labels. They are found
again in a table with open addressing; a place of it holds half of the hash, which tells most
strings apart without a look at their bytes, and the number + 1.

The fields of a line are looked up together: the memory of each that may be its string is asked for
before any is waited for.
"""

from __future__ import annotations

import numpy as np
from numba import types

from structopt.kernels.text.words import (
    HALF,
    NEWLINE,
    SEED,
    byte_of,
    copy,
    equal,
    first_place,
    hash_of,
    hash_to_end,
    hash_with,
    places_of,
    word_at,
)
from structopt.kernels.waist.halting import halted
from structopt.kernels.waist.signatures import INTS, LONGS, inlined, kernel, merged
from structopt.kernels.waist.views import part, prefetch

LABEL, NAME, VALUE = 0, 1, 2
TOKENS, SENTENCES, ENTRIES, VALUED, STRINGS, STORED, FAULT, PLACES, SCRATCH, COUNTS = range(10)
"""Indices into the counts that `scan` leaves, and how many they are.

STORED are the bytes of all strings, FAULT is the line, from 1, that has no label, after which it
stops (0: none). PLACES are those of the table, SCRATCH the numbers of other scratch.
"""
SMALLEST = 1 << 10  # places of a table
TOGETHER = 64  # fields that are looked up at a time, at most
ESCAPED = -1  # instead of the length of a field that has backslashes
TAB, COLON, BACKSLASH = np.uint8(9), np.uint8(58), np.uint8(92)
LOW = np.uint64(0xFFFFFFFF)  # the half of a word that is a number

TEXT = types.Array(types.uint8, 1, "C", readonly=True)
BYTES = types.uint8[::1]


@merged
def is_space(c):
    """Whether a byte is white space to `str.isspace`."""
    return c == 32 or 9 <= c <= 13 or 28 <= c <= 31


@merged
def ends_field(text, q, kind):
    """Whether the text, or a field of this kind, ends at place q."""
    return q >= len(text) or text[q] in (TAB, NEWLINE) or (kind == NAME and text[q] == COLON)


@merged
def field(text, q, kind):
    """Return where the field at place q ends, the hash of its bytes and kind, and whether a
    backslash came before its end.

    A name ends before its colon, too. Where a backslash came, place and hash are of no use.
    """
    h = SEED ^ np.uint64(kind)
    while True:
        word = word_at(text, q)
        stops = stops_of(word, kind)
        if stops != 0:
            break
        h = hash_with(h, word)
        q += 8
    n = first_place(stops)
    return q + n, hash_to_end(h, word, n), kind != VALUE and byte_of(word, n) == BACKSLASH


@merged
def stops_of(word, kind):
    """The places of a word at which a field may end."""
    stops = places_of(word, TAB) | places_of(word, NEWLINE)
    if kind != VALUE:
        stops |= places_of(word, BACKSLASH)
    if kind == NAME:
        stops |= places_of(word, COLON)
    return stops


@inlined
def after_escapes(text, q, kind):
    """Return where a name or a label with backslashes ends that begins at place q."""
    while not ends_field(text, q, kind):
        q += 1 + is_escape(text, q)
    return q


@inlined
def unescaped(text, q, kind, store, end):
    """Write such a name or label to place `end` of the store; return how many bytes it has."""
    begin = end
    while not ends_field(text, q, kind):
        q += is_escape(text, q)
        store[end] = text[q]
        end += 1
        q += 1
    return end - begin


@merged
def is_escape(text, q):
    r"""Whether ``\:`` or ``\\`` stands at a place of the text."""
    return text[q] == BACKSLASH and q + 1 < len(text) and text[q + 1] in (COLON, BACKSLASH)


@merged
def home(h, places):
    """The place of the table at which the search for a hash begins."""
    return (h >> HALF) & np.uint64(len(places) - 1)


@merged
def number_of(source, begin, length, h, kind, count, places, store, starts, kinds):
    """Return the number of a string: `count`, how many there are, where it is new, and is added to
    them.
    """
    last, half, number = np.uint64(len(places) - 1), h >> HALF, count
    at = home(h, places)
    while places[at] != 0:
        if places[at] >> HALF == half:
            other = np.int64(places[at] & LOW) - 1
            start = starts[other]
            same = kinds[other] == kind and starts[other + 1] - start == length
            if same and equal(store, start, source, begin, length):
                number = other
                break
        at = (at + np.uint64(1)) & last
    if number == count:
        places[at] = (half << HALF) | np.uint64(count + 1)
        copy(source, begin, store, starts[count], length)
        kinds[count], starts[count + 1] = kind, starts[count] + length
    return number


@merged
def candidate(h, places):
    """Return the number of the string that a hash leads to first; that of another one where none
    has this hash.
    """
    place = places[home(h, places)]
    return np.int64(place & LOW) - 1 if place != 0 and place >> HALF == h >> HALF else np.int64(0)


@inlined
def enlarged(places):
    """Return a table with four times the places, and all that stands in this one."""
    larger = np.zeros(4 * len(places), np.uint64)
    last = np.uint64(len(larger) - 1)
    for place in places:
        if place != 0:
            at = home(place, larger)
            while larger[at] != 0:
                at = (at + np.uint64(1)) & last
            larger[at] = place
    return larger


@kernel(types.void(TEXT, LONGS))
def count(text, counts):
    """Count the tabs, the ends of lines and the colons of a text."""
    tabs, line_ends, colons = 0, 0, 0
    for c in text:
        tabs += c == TAB
        line_ends += c == NEWLINE
        colons += c == COLON
    counts[0], counts[1], counts[2] = tabs, line_ends, colons


@kernel(
    types.void(
        TEXT, types.int64, BYTES, BYTES, LONGS, INTS, LONGS, LONGS, LONGS, INTS, LONGS, INTS, LONGS
    )
)
def scan(
    data,
    limit,
    room,
    kind_of,
    start_of,
    labels,
    lines,
    ends,
    sentences,
    ids,
    valued,
    values,
    counts,
):
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
    # of fields that have no number yet: place, length, kind, candidate, hash
    scratch = np.empty(5 * TOGETHER, np.int64)
    begins, lengths = part(scratch, 0, TOGETHER), part(scratch, TOGETHER, 2 * TOGETHER)
    waiting_kinds, candidates = (
        part(scratch, 2 * TOGETHER, 3 * TOGETHER),
        part(scratch, 3 * TOGETHER, 4 * TOGETHER),
    )
    hashes = part(scratch.view(np.uint64), 4 * TOGETHER, 5 * TOGETHER)
    table = np.zeros(SMALLEST, np.uint64)
    places = part(table, 0, len(table))
    tokens, before, closed, entries, with_value, strings = 0, 0, 0, 0, 0, 0
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
        q, kind, within = begin, LABEL, True
        if text[q] == TAB:
            counts[FAULT] = line
        while within:
            if 2 * (strings + TOGETHER) >= len(places):
                table = enlarged(table)
                places = part(table, 0, len(table))
            waiting = 0
            while within and waiting < TOGETHER:
                stop, h, escaped = field(text, q, kind)
                begins[waiting], lengths[waiting], waiting_kinds[waiting] = q, stop - q, kind
                if escaped:
                    stop = after_escapes(text, q, kind)
                    lengths[waiting] = ESCAPED
                else:
                    hashes[waiting] = h
                    prefetch(places, np.int64(home(h, places)))
                waiting += 1
                q = stop
                if kind == NAME and q < len(text) and text[q] == COLON:
                    kind = VALUE
                    q += 1
                    continue
                kind = NAME
                while q < len(text) and text[q] == TAB:
                    q += 1
                within = q < len(text) and text[q] != NEWLINE
            for j in range(waiting):
                candidates[j] = candidate(hashes[j], places)
                prefetch(starts, candidates[j])
            for j in range(waiting):
                prefetch(store, starts[candidates[j]])
            for j in range(waiting):
                source, a, length, h, of = text, begins[j], lengths[j], hashes[j], waiting_kinds[j]
                if length == ESCAPED:
                    length = unescaped(text, a, of, store, starts[strings])
                    source, a = store, starts[strings]
                    h = hash_of(store, a, a + length, SEED ^ np.uint64(of))
                number = number_of(source, a, length, h, of, strings, places, store, starts, kinds)
                strings += number == strings
                if of == NAME:
                    ids[entries] = number
                    entries += 1
                elif of == LABEL:
                    labels[tokens] = number
                else:
                    valued[with_value], values[with_value] = entries - 1, number
                    with_value += 1
        lines[tokens], ends[tokens] = line, entries
        tokens += 1
        q += 1
        line += 1
    if tokens > before:
        sentences[closed] = tokens
        closed += 1
    counts[TOKENS], counts[SENTENCES], counts[ENTRIES], counts[VALUED] = (
        tokens,
        closed,
        entries,
        with_value,
    )
    counts[STRINGS], counts[STORED] = strings, starts[strings]
    # which keeps both as long as the views of them
    counts[PLACES], counts[SCRATCH] = len(table), len(scratch)
