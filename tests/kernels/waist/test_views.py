"""Views that own nothing: the same entries compiled as in plain Python, and writing through
them.
"""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit
from numba.core.errors import TypingError

from structopt.kernels.waist.views import part, prefetch, prefetch_run, table


def add_to_part(array, begin, end, value):  # type: ignore[no-untyped-def]
    view = part(array, begin, end)
    view += value
    return view.sum()


def add_to_table(array, begin, rows, columns, value):  # type: ignore[no-untyped-def]
    view = table(array, begin, rows, columns)
    for row in range(rows):
        for column in range(columns):
            view[row, column] += value * (1 + row)
    return view[rows - 1].sum() + len(view) + view.shape[1]


@pytest.mark.parametrize(
    "make",
    [lambda: np.arange(24.0), lambda: np.arange(24, dtype=np.int32)],
    ids=["float64", "int32"],
)
@pytest.mark.parametrize("shape", [(24,), (4, 6)])
def test_compiled_views_are_those_of_plain_python(make, shape):  # type: ignore[no-untyped-def]
    calls = (
        (add_to_part, (3, 17, 2)),
        (add_to_part, (5, 5, 1)),
        (add_to_table, (2, 3, 5, 3)),
        (add_to_table, (0, 24, 1, 1)),
    )
    for function, arguments in calls:
        plain, compiled = make().reshape(shape), make().reshape(shape)
        assert njit(function)(compiled, *arguments) == function(plain, *arguments)
        assert np.array_equal(plain, compiled)


def test_views_are_of_contiguous_arrays() -> None:
    for columns in (np.ones((3, 4)).T, np.ones((3, 4))[:, 1:3]):
        with pytest.raises(TypingError, match="a view is of a contiguous array"):
            njit(add_to_part)(columns, 0, 2, 1.0)
        with pytest.raises(TypingError, match="a view is of a contiguous array"):
            njit(add_to_table)(columns, 0, 2, 1, 1.0)


@pytest.mark.parametrize("bounds", [(-1, 3), (3, 2), (0, 11)])
def test_plain_parts_refuse_bounds_outside(bounds) -> None:
    with pytest.raises(IndexError, match=f"entries {bounds[0]} to {bounds[1]} of an array with 10"):
        part(np.zeros(10), *bounds)


@pytest.mark.parametrize("shape", [(4, 2, 4), (-1, 1, 1), (0, -1, 2)])
def test_plain_tables_refuse_bounds_outside(shape) -> None:
    with pytest.raises(IndexError, match="of an array with 10 entries"):
        table(np.zeros(10), *shape)


def test_asking_for_a_cache_line_changes_nothing() -> None:
    def ask(array):  # type: ignore[no-untyped-def]
        prefetch(array, len(array) - 1)
        return array[-1]

    assert njit(ask)(np.arange(5.0)) == ask(np.arange(5.0)) == 4.0


@pytest.mark.parametrize("run", [(0, 30), (7, 8), (4, 4)])
def test_asking_for_a_run_changes_nothing(run):  # type: ignore[no-untyped-def]
    def ask(array, begin, end):  # type: ignore[no-untyped-def]
        prefetch_run(array, begin, end)
        return array.sum()

    for array in (np.arange(30.0), np.arange(30, dtype=np.int32)):
        assert njit(ask)(array, *run) == ask(array, *run) == array.sum()
