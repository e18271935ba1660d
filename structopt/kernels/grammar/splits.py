"""Sums and maxima over the splits of all spans of one width, four spans at a time.

In sums a span has the weight ``numbers[j] * 2^exponents[j]``, with an integer exponent of its own;
in maxima it has a score. Tables are flat, with a row of `stride` entries per width: the span b..b +
w of width w is entry w * stride + b. Its split k has the halves k * stride + b and (w - k) * stride
+ k + b, so that neighbouring spans have neighbouring halves.
"""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np
from numba.core import cgutils

from structopt.kernels.arrays.scaled_numbers import BIAS, SHIFT
from structopt.kernels.waist.lanes import LANES, LONG, Run, Value, columnwise


def _power(run: Run, exponents: Value) -> Value:
    """2^d for integers d <= 0, and 0 below -1022: d moves into the exponent bits."""
    build, low = run.build, run.constant(-BIAS)
    bounded = build.select(build.fcmp_ordered("<", exponents, low), low, exponents)
    bits = build.bitcast(build.fadd(bounded, run.constant(SHIFT)), run.type(LONG))
    return build.bitcast(build.shl(bits, run.constant(52, LONG)), run.type())


def _splits(run: Run, width: Value) -> Any:
    """Loop over the splits 1 <= k < width."""
    one = width.type(1)
    return cgutils.for_range_slice(run.build, one, width, one, width.type)


def _halves(run: Run, k: Value, width: Value, stride: Value) -> tuple[Value, Value]:
    """Begin of the left and right halves at split k."""
    build = run.build
    return build.mul(k, stride), build.add(build.mul(build.sub(width, k), stride), k)


def _both(run: Run, table: Any, left: Value, right: Value) -> Value:
    """Sum of the entries of two halves."""
    return run.build.fadd(run.row(table, left), run.row(table, right))


def _highest(run: Run, table: Any, width: Value, stride: Value) -> Value:
    """Largest sum of the entries of two halves."""
    build, highest = run.build, run.variable(run.constant(-inf))
    with _splits(run, width) as (k, _):
        value, top = _both(run, table, *_halves(run, k, width, stride)), build.load(highest)
        build.store(build.select(build.fcmp_ordered("<", top, value), value, top), highest)
    return build.load(highest)


def _set_highest(run: Run, highest: Any, scores: Any, width: Value, stride: Value) -> None:
    run.write(_highest(run, scores, width, stride), highest)


def _share(run: Run, numbers: Any, exponents: Any, top: Value, left: Value, right: Value) -> Value:
    """Weight of the two halves, divided by 2^top."""
    build = run.build
    power = _power(run, build.fsub(_both(run, exponents, left, right), top))
    return build.fmul(build.fmul(run.row(numbers, left), run.row(numbers, right)), power)


def _set_sums(
    run: Run, sums: Any, tops: Any, numbers: Any, exponents: Any, width: Value, stride: Value
) -> None:
    build, total = run.build, run.variable(run.constant(0))
    top = _highest(run, exponents, width, stride)
    with _splits(run, width) as (k, _):
        share = _share(run, numbers, exponents, top, *_halves(run, k, width, stride))
        build.store(build.fadd(build.load(total), share), total)
    run.write(build.load(total), sums)
    run.write(top, tops)


def _add_masses(
    run: Run,
    ratios: Any,
    tops: Any,
    numbers: Any,
    exponents: Any,
    masses: Any,
    width: Value,
    stride: Value,
) -> None:
    build, ratio, top = run.build, run.row(ratios), run.row(tops)
    with _splits(run, width) as (k, _):
        halves = _halves(run, k, width, stride)
        mass = build.fmul(ratio, _share(run, numbers, exponents, top, *halves))
        for half in halves:
            run.write(build.fadd(run.row(masses, half), mass), masses, half)


def _indices(count: int, width: int, stride: int) -> tuple[Any, Any]:
    """Return the entries of the left and right halves, shape (splits, spans)."""
    k, b = np.arange(1, width)[:, np.newaxis], np.arange(count)
    return k * stride + b, (width - k) * stride + k + b


def _products(
    numbers: Any, exponents: Any, count: int, width: int, stride: int
) -> tuple[Any, Any, Any, Any]:
    """Return the left and right halves of all splits, and the products of their weights."""
    left, right = _indices(count, width, stride)
    return left, right, numbers[left] * numbers[right], exponents[left] + exponents[right]


def _divided(products: Any, exponents: Any, tops: Any) -> Any:
    """Return products * 2^exponents / 2^tops."""
    below = np.maximum(exponents - tops, -BIAS)
    return np.where(below > -BIAS, np.ldexp(products, below.astype(np.int64)), 0.0)


@columnwise(_set_highest, LANES)
def set_highest(highest, scores, width, stride):
    """highest[b] = max_k score(left half) + score(right half)."""
    left, right = _indices(len(highest), width, stride)
    highest[:] = (scores[left] + scores[right]).max(axis=0)


@columnwise(_set_sums, LANES)
def set_sums(sums, tops, numbers, exponents, width, stride):
    """sums[b] * 2^tops[b] = sum_k weight(left half) * weight(right half), where tops[b] is the
    largest exponent of a product.
    """
    _, _, products, powers = _products(numbers, exponents, len(sums), width, stride)
    tops[:] = powers.max(axis=0)
    sums[:] = _divided(products, powers, tops).sum(axis=0)


@columnwise(_add_masses, LANES)
def add_masses(ratios, tops, numbers, exponents, masses, width, stride):
    """Add ratios[b] * weight(left half) * weight(right half) / 2^tops[b] to the masses of both
    halves, for each split.
    """
    left, right, products, powers = _products(numbers, exponents, len(tops), width, stride)
    shares = ratios * _divided(products, powers, tops)
    np.add.at(masses, left, shares)
    np.add.at(masses, right, shares)
