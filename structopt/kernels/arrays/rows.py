"""Arithmetic of rows: short runs of numbers, one a label, of which kernels add up millions.

A compiler turns a loop over a number of labels that it does not know into vector instructions for
16 numbers or so, and goes through the rest, which here is often all there is, one by one; sums it
does not touch. The functions here are compiled to vector instructions for any length
(`structopt.kernels.waist.lanes`); un-compiled they are the NumPy of their bodies.

Compiled ones check no bounds: every row must be as long as the first. Rows of one call may be the
same row, but must not overlap otherwise.
"""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np
from llvmlite import ir

from structopt.kernels.waist.lanes import LONG, MANY, Run, Value, folded, rowwise


def _plus(build: Any, a: Value, b: Value) -> Value:
    return build.fadd(a, b)


def _larger(build: Any, a: Value, b: Value) -> Value:
    return build.select(build.fcmp_ordered("<", a, b), b, a)


def _plus_scaled(run: Run, t: Value, scale: Value, a: Value) -> Value:
    return run.build.fadd(t, run.build.fmul(scale, a))


def _plus_four_scaled(run: Run, t: Value, *scaled: Value) -> Value:
    a, b, c, d = (run.build.fmul(scaled[q], scaled[q + 1]) for q in range(0, 8, 2))
    return run.build.fadd(t, run.build.fadd(run.build.fadd(a, b), run.build.fadd(c, d)))


def _keep_bits(run: Run, t: Value, word: Value) -> Value:
    """Keep the lanes whose bits are set; those of lane 0 begin at bit `run.first`."""
    bits = ir.Constant(
        run.type(LONG), 1 if run.lanes == 1 else [1 << lane for lane in range(run.lanes)]
    )
    found = run.build.and_(run.build.lshr(word, run.spread(run.first)), bits)
    return run.build.select(run.build.icmp_unsigned("==", found, bits), t, run.constant(0.0))


@rowwise(lambda run, t, a: run.build.fadd(t, a))
def add_row(target, a):
    """target += a."""
    target += a


@rowwise(lambda run, t, a: a)
def set_row(target, a):
    """target = a."""
    target[:] = a


@rowwise(_plus_scaled)
def add_scaled(target, scale, a):
    """target += scale * a."""
    target += scale * a


@rowwise(_plus_four_scaled)
def add_four_scaled(target, scale, a, scale_b, b, scale_c, c, scale_d, d):
    """target += (scale * a + scale_b * b) + (scale_c * c + scale_d * d): the target is loaded and
    stored once.
    """
    target += (scale * a + scale_b * b) + (scale_c * c + scale_d * d)


@rowwise(
    lambda run, t, u, scale, share, a: [
        _plus_scaled(run, t, scale, a),
        _plus_scaled(run, u, share, a),
    ],
    written=2,
)
def add_scaled_to_both(target, other, scale, share, a):
    """target += scale * a, other += share * a."""
    target += scale * a
    other += share * a


@rowwise(lambda run, t: run.constant(0.0))
def set_zero(target):
    """target = 0, whatever it was."""
    target[:] = 0.0


@rowwise(lambda run, t, scale, a: run.build.fmul(scale, a))
def set_scaled(target, scale, a):
    """target = scale * a."""
    target[:] = scale * a


@rowwise(lambda run, t, a, shift, scale: run.build.fmul(run.build.fsub(a, shift), scale))
def set_shifted(target, a, shift, scale):
    """target = (a - shift) * scale."""
    target[:] = (a - shift) * scale


@rowwise(lambda run, t, scale, a, b: run.build.fmul(scale, run.build.fsub(a, b)))
def set_scaled_difference(target, scale, a, b):
    """target = scale * (a - b)."""
    target[:] = scale * (a - b)


@rowwise(lambda run, t, a, b: run.build.fmul(a, b))
def set_product(target, a, b):
    """target[y] = a[y] * b[y]."""
    target[:] = a * b


@rowwise(_keep_bits)
def keep_bits(target, word):
    """Set target[y] = 0 where bit y of a 64-bit word is 0, y < 64, whatever it was."""
    bits = np.arange(len(target), dtype=np.uint64)
    target[(np.uint64(int(word) % 2**64) >> bits) % np.uint64(2) == 0] = 0.0


@folded(lambda run, a: _larger(run.build, a, run.build.fsub(run.constant(0.0), a)), _larger)
def largest(a):
    """Return max_y |a_y|, 0 of no numbers."""
    return float(np.max(np.abs(a), initial=0.0))


@folded(lambda run, a: a, _larger, nothing=-inf)
def highest(a):
    """Return max_y a_y, -inf of no numbers."""
    return float(np.max(a, initial=-np.inf))


@folded(lambda run, a: a, _plus)
def total(a):
    """Return sum_y a_y."""
    return float(np.sum(a))


@folded(lambda run, a, b: run.build.fmul(a, b), _plus, most=MANY)
def product(a, b):
    """Return a^T b."""
    return float(a @ b)
