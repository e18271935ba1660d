"""Arithmetic of rows and tables of rows, some places of all rows at a time, which stay in
registers.

See `structopt.kernels.arrays.rows`.

Tables are contiguous, with rows as long as every other row of the call; compiled functions check no
bounds.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

import numpy as np
from numba.core import cgutils

from structopt.kernels.waist.lanes import INT, LANES, LONG, Run, Value, columnwise

# rows that are added to each other first: a sum that is stored waits for the one before
TOGETHER = 4


def _entry(run: Run, array: Any, j: Value) -> Value:
    """Load entry j of a vector."""
    return run.build.load(run.build.gep(array.data, [j]))


def _index(run: Run, array: Any, j: Value) -> Value:
    """Load entry j of a vector of int32, none below 0."""
    return run.build.zext(_entry(run, array, j), LONG)


def _count(run: Run, array: Any) -> Value:
    return cgutils.unpack_tuple(run.build, array.shape)[0]


def _set_combined(run: Run, target: Any, weights: Any, table: Any) -> None:
    build, sums = run.build, run.variable(run.constant(0.0))
    with cgutils.for_range(build, _count(run, weights)) as loop:
        scaled = build.fmul(
            run.spread(_entry(run, weights, loop.index)), run.row(table, run.begin(loop.index))
        )
        build.store(build.fadd(build.load(sums), scaled), sums)
    run.write(build.load(sums), target)


def _set_maximised(run: Run, target: Any, places: Any, weights: Any, table: Any) -> None:
    build, best, place = (
        run.build,
        run.variable(run.constant(-inf)),
        run.variable(run.constant(0, INT)),
    )
    with cgutils.for_range(build, _count(run, weights)) as loop:
        value = build.fadd(
            run.spread(_entry(run, weights, loop.index)), run.row(table, run.begin(loop.index))
        )
        larger = build.fcmp_ordered(">", value, build.load(best))
        build.store(build.select(larger, value, build.load(best)), best)
        build.store(
            build.select(larger, run.spread(build.trunc(loop.index, INT)), build.load(place)), place
        )
    run.write(build.load(best), target)
    run.write(build.load(place), places, kind=INT)


def _add_outer(run: Run, table: Any, weights: Any, row: Any) -> None:
    build, values = run.build, run.row(row)
    with cgutils.for_range(build, _count(run, weights)) as loop:
        scaled, begin = (
            build.fmul(run.spread(_entry(run, weights, loop.index)), values),
            run.begin(loop.index),
        )
        run.write(build.fadd(run.row(table, begin), scaled), table, begin)


def _add_listed(run: Run, target: Any, table: Any, listed: Any, ids: Any) -> None:
    def row(j: Value) -> Value:
        return run.row(table, run.begin(_index(run, listed, _index(run, ids, j))))

    _add_all(run, target, row, _count(run, ids))


def _add_beginning(run: Run, target: Any, vector: Any, begins: Any) -> None:
    _add_all(run, target, lambda j: run.row(vector, _entry(run, begins, j)), _count(run, begins))


def _add_all(run: Run, target: Any, row: Callable[[Value], Value], count: Value) -> None:
    """target += row(0) + ... + row(count - 1)."""
    build, sums = run.build, run.variable(run.row(target))
    zero, one, size = (count.type(number) for number in (0, 1, TOGETHER))
    whole = build.sub(count, build.srem(count, size))
    with cgutils.for_range_slice(build, zero, whole, size, count.type) as (j, _):
        rows = [row(build.add(j, count.type(q))) for q in range(TOGETHER)]
        while len(rows) > 1:
            rows = [build.fadd(a, b) for a, b in zip(rows[::2], rows[1::2], strict=True)]
        build.store(build.fadd(build.load(sums), rows[0]), sums)
    with cgutils.for_range_slice(build, whole, count, one, count.type) as (j, _):
        build.store(build.fadd(build.load(sums), row(j)), sums)
    run.write(build.load(sums), target)


def _add_to_each(run: Run, table: Any, ids: Any, row: Any) -> None:
    build, values = run.build, run.row(row)
    with cgutils.for_range(build, _count(run, ids)) as loop:
        begin = run.begin(_index(run, ids, loop.index))
        run.write(build.fadd(run.row(table, begin), values), table, begin)


@columnwise(_set_combined)
def set_combined(target, weights, table):
    """target[y] = sum_u weights[u] * table[u, y]."""
    target[:] = weights @ table


@columnwise(_set_maximised, LANES)
def set_maximised(target, places, weights, table):
    """target[y] = max_u weights[u] + table[u, y], places[y] = the first such u, int32; (-inf, 0)
    where all are -inf.
    """
    sums = weights[:, np.newaxis] + table
    target[:], places[: len(target)] = sums.max(axis=0), sums.argmax(axis=0)


@columnwise(_add_outer)
def add_outer(table, weights, row):
    """table[u, y] += weights[u] * row[y]."""
    table += np.outer(weights, row)


@columnwise(_add_listed)
def add_listed(target, table, listed, ids):
    """target += sum_j table[listed[ids[j]]]; the indices are int32."""
    target += table[listed[ids]].sum(axis=0)


@columnwise(_add_beginning)
def add_beginning(target, vector, begins):
    """target[y] += sum_j vector[begins[j] + y]; the indices are int64."""
    target += vector[begins[:, np.newaxis] + np.arange(len(target))].sum(axis=0)


@columnwise(_add_to_each)
def add_to_each(table, ids, row):
    """table[ids[j]] += row for every j, however often a number comes; the indices are int32."""
    np.add.at(table, ids, row)
