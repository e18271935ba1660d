"""Arithmetic of rows against expressions of NumPy, for lengths with and without whole vectors of
lanes.
"""

from __future__ import annotations

from math import inf, nan
from typing import Any

import numba
import numpy as np
import pytest
from numba.core.errors import TypingError

from structopt.kernels.arrays import row_tables, rows
from tests.covering import covering

LENGTHS = [0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 33, 45, 63]
WORD = 0x5A96_C3F0_5A96_C3F1


@numba.njit
def changed(R, word, x):
    """Change a row by every function that writes one; the last two rows are read only."""
    a, b = R[14], R[15]
    rows.add_row(R[0], a)
    rows.add_row(R[1], R[1])
    rows.add_scaled(R[2], x, a)
    rows.set_scaled(R[3], x, a)
    rows.set_scaled(R[4], x, R[4])
    rows.set_shifted(R[5], a, x, 3.0)
    rows.set_product(R[6], a, b)
    rows.keep_bits(R[7], word)
    rows.add_scaled_to_both(R[8], R[9], x, 3.0, a)
    rows.set_scaled_difference(R[10], x, a, b)
    R[11, :] = np.nan
    rows.set_zero(R[11])
    R[12, :] = np.nan
    rows.set_row(R[12], a)
    rows.add_four_scaled(R[13], x, a, 3.0, b, x, b, -2.0, a)


@numba.njit
def changed_by_tables(R, M, N, weights, ids, listed, places):
    """Change rows and a table N by every function that takes a table."""
    row_tables.set_combined(R[0], weights, M)
    row_tables.set_maximised(R[1], places, weights, M)
    row_tables.add_listed(R[2], M, listed, ids)
    row_tables.add_beginning(R[4], M.reshape(-1), ids.astype(np.int64))
    row_tables.add_to_each(N[:5], ids, R[3])
    row_tables.add_outer(N[5:], weights, R[3])


@numba.njit
def told(a, b):
    """What the functions say that write nothing."""
    return rows.largest(a), rows.highest(a), rows.total(a), rows.product(a, b)


def some_rows(length: int) -> Any:
    return np.random.default_rng(length).normal(size=(16, length))


@pytest.mark.parametrize("length", LENGTHS)
def test_rows_change_as_numpy_says(length: int) -> None:
    before = some_rows(length)
    after, plain = before.copy(), before.copy()
    changed(after, WORD, 0.3)
    changed.py_func(plain, WORD, 0.3)
    a, b = before[14], before[15]
    bits = np.array([WORD >> y & 1 for y in range(length)])
    expected = [
        before[0] + a,
        2.0 * before[1],
        before[2] + 0.3 * a,
        0.3 * a,
        0.3 * before[4],
        (a - 0.3) * 3.0,
        a * b,
        before[7] * bits,
        before[8] + 0.3 * a,
        before[9] + 3.0 * a,
        0.3 * (a - b),
        0.0 * a,
        a,
        before[13] + ((0.3 * a + 3.0 * b) + (0.3 * b + -2.0 * a)),
        a,
        b,
    ]
    assert np.array_equal(after, np.array(expected))  # to the bit: there are no sums
    assert np.array_equal(plain, after)


@pytest.mark.parametrize(("length", "count"), covering(LENGTHS, [0, 1, 3, 4, 6, 9], strength=1))
def test_tables(length: int, count: int) -> None:
    generator = np.random.default_rng(count)
    R, M, N, weights = (
        some_rows(length)[:5],
        *(generator.normal(size=(n, length)) for n in (7, 12)),
        generator.normal(size=7),
    )
    listed = np.array([6, 0, 3, 3, 1], np.int32)
    ids = generator.integers(5, size=count).astype(np.int32)
    results = []
    for change in (changed_by_tables, changed_by_tables.py_func):
        r, n, places = R.copy(), N.copy(), np.full(length, 99, np.int32)
        change(r, M, n, weights, ids, listed, places)
        results.append((r, n, places))
    sums = weights[:, np.newaxis] + M
    beginning = sum((M.ravel()[j : j + length] for j in ids), np.zeros(length))
    expected = np.array(
        [weights @ M, sums.max(axis=0), R[2] + M[listed[ids]].sum(axis=0), R[3], R[4] + beginning]
    )
    each = np.array([np.sum(ids == j) for j in range(5)])
    for r, n, places in results:
        np.testing.assert_allclose(r, expected, rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(n, N + np.outer([*each, *weights], R[3]), rtol=1e-12, atol=1e-13)
        assert np.array_equal(places, sums.argmax(axis=0))


def test_the_first_of_equals_and_no_path() -> None:
    M = np.array([[1.0, -inf, 0.0], [2.0, -inf, 0.0], [2.0, -inf, 0.0]])
    weights = np.ones(3)
    for change in (changed_by_tables, changed_by_tables.py_func):
        r, places = np.zeros((5, 3)), np.full(3, 99, np.int32)
        change(
            r, M, np.zeros((8, 3)), weights, np.zeros(0, np.int32), np.zeros(0, np.int32), places
        )
        assert r[1].tolist() == [3.0, -inf, 1.0]
        assert places.tolist() == [1, 0, 0]


@pytest.mark.parametrize("length", LENGTHS)
def test_sums_and_maxima(length: int) -> None:
    a, b = some_rows(length)[14:]
    expected = (max(abs(a), default=0.0), max(a, default=-inf), sum(a), sum(a * b))
    assert told(a, b) == pytest.approx(expected, rel=1e-12, abs=1e-14)
    assert told.py_func(a, b) == pytest.approx(expected, rel=1e-12, abs=1e-14)


def test_sums_have_one_order() -> None:
    a = some_rows(7)[10] * 10.0 ** np.arange(7)
    rest = 0.0 + (a[4] + a[5])
    assert told(a, a)[2] == ((a[0] + a[2]) + (a[1] + a[3])) + (rest + a[6])


def test_signs_and_numbers_that_are_none() -> None:
    assert told(np.array([-3.0, 2.0]), np.zeros(2))[:2] == (3.0, 2.0)
    assert told(np.full(9, -inf), np.zeros(9))[1] == -inf
    for place in range(9):
        a = np.ones(9)
        a[place] = nan
        assert np.isnan(told(a, a)[2])
        row = a.copy()
        masked = np.zeros((16, 9))
        masked[7] = row
        changed(masked, ~(1 << place), 0.0)
        assert np.array_equal(masked[7], np.where(np.arange(9) == place, 0.0, 1.0))  # not nan * 0


def test_neighbours_stay_as_they_are() -> None:
    """A row is the middle of a longer vector, at any place of a cache line."""
    for begin in range(9):
        whole = np.ones(40)
        middle = whole[begin : begin + 9]
        _double(middle)
        assert whole.sum() == 49.0
        assert middle.sum() == 18.0


def test_rows_are_contiguous() -> None:
    with pytest.raises(TypingError, match="contiguous"):
        _double(np.ones(8)[::2])


@numba.njit
def _double(row):
    rows.add_row(row, row)
