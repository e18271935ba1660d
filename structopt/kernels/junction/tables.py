"""Tables over the variables of a bucket, built and summed out one variable after another.

A table grows by copies of itself, one for each state of the next variable, and a term is added as
soon as the table has all its variables. Since tables grow by factors, a term costs little more than
the largest table that it is added to.
"""

from __future__ import annotations

from math import inf

from structopt.kernels.waist.signatures import inlined


@inlined
def fill_index(widths, strides, first, index):
    """Number the cells of a table: `first` + sum of digit * stride, the first digit fastest."""
    size, index[0] = 1, first
    for d in range(len(strides)):
        for y in range(1, widths[d]):
            shift, begin = y * strides[d], y * size
            for r in range(size):
                index[begin + r] = index[r] + shift
        size *= widths[d]


@inlined
def fill_values(t, term, s, values):
    """Fill in the score of each joint state of a term; -inf: it is forbidden."""
    first, listed, ends = t.part[term], t.listed, t.ends
    if first >= 0:
        for c in range(t.states[term]):
            values[c] = s[first + c]
        return
    begin = t.lists[term]
    for c in range(t.states[term]):
        score = 0.0
        for q in range(ends[begin + c], ends[begin + c + 1]):
            score += s[listed[q]] if listed[q] >= 0 else -inf
        values[c] = score


@inlined
def add_values(t, term, values, z):
    """Add a number for each joint state of a term to its parts."""
    first, listed, ends = t.part[term], t.listed, t.ends
    if first >= 0:
        for c in range(t.states[term]):
            z[first + c] += values[c]
        return
    begin = t.lists[term]
    for c in range(t.states[term]):
        for q in range(ends[begin + c], ends[begin + c + 1]):
            if listed[q] >= 0:
                z[listed[q]] += values[c]


@inlined
def fill_table(t, b, s, table, index, values):
    """Fill the table of a bucket with the sums of its terms."""
    widths = t.widths[t.digits[b] : t.digits[b + 1]]
    term, size, table[0] = t.terms[b], 1, 0.0
    for d in range(len(widths)):
        for begin in range(size, size * widths[d], size):
            for r in range(size):
                table[begin + r] = table[r]
        size *= widths[d]
        while term < t.terms[b + 1] and t.strides[term + 1] - t.strides[term] == d + 1:
            fill_values(t, term, s, values)
            fill_index(widths, t.stride[t.strides[term] : t.strides[term + 1]], 0, index)
            for r in range(size):
                table[r] += values[index[r]]
            term += 1


@inlined
def sum_out(t, b, table, z, index, values):
    """Add the sums of a table over all other variables to the parts of the terms of a bucket; the
    table is overwritten.
    """
    widths = t.widths[t.digits[b] : t.digits[b + 1]]
    term, size = t.terms[b + 1] - 1, t.cells[b]
    for d in range(len(widths) - 1, -1, -1):
        while term >= t.terms[b] and t.strides[term + 1] - t.strides[term] == d + 1:
            values[: t.states[term]] = 0.0
            fill_index(widths, t.stride[t.strides[term] : t.strides[term + 1]], 0, index)
            for r in range(size):
                values[index[r]] += table[r]
            add_values(t, term, values, z)
            term -= 1
        size //= widths[d]
        for begin in range(size, size * widths[d], size):
            for r in range(size):
                table[r] += table[begin + r]
