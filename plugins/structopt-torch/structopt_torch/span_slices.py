"""The scores of anchored rules by operations of PyTorch, sentence by sentence: for devices other
than the CPU.

The same sums as those of `structopt_torch.span_kernels`, in another order. What is gathered for one
sentence has the size of its edges times the units, and is given up with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from structopt_torch.modules import on


class Slice(NamedTuple):
    """A sentence.

    Of its anchors begin, end and split, as places of the batch, and whether there is a split, shape
    (anchors, 1); of its edges the anchor, the row, and the part.
    """

    begin: Tensor
    end: Tensor
    split: Tensor
    divided: Tensor
    anchor: Tensor
    row: Tensor
    part: Tensor


def sentences(batch: Any, like: Tensor) -> Iterator[Slice]:
    """The sentences of a batch, on the device of a tensor."""
    offsets, places, starts, rows, parts = batch.anchors
    for i, first, out in zip(
        batch.instances.tolist(), batch.firsts.tolist(), batch.outs.tolist(), strict=False
    ):
        own = slice(offsets[i], offsets[i + 1])
        edges = slice(starts[offsets[i]], starts[offsets[i + 1]])
        counts = np.diff(starts[offsets[i] : offsets[i + 1] + 1])
        begin, end, split = places[own].astype(np.int64).T + first
        anchor, divided = np.repeat(np.arange(len(begin)), counts), places[own, 2:] >= 0
        columns = (
            begin,
            end,
            np.maximum(split, 0),
            divided,
            anchor,
            rows[edges].astype(np.int64),
            parts[edges] + out,
        )
        yield Slice(*(on(column, like) for column in columns))


def hidden(x: Slice, summands: Tensor) -> Tensor:
    """Hidden vectors of the anchors of a sentence, shape (anchors, units)."""
    return torch.relu(summands[x.begin, 0] + summands[x.end, 1] + summands[x.split, 2] * x.divided)


def add_rows(total: Tensor, rows: Tensor, values: Tensor) -> Tensor:
    """Add values to rows in place, in an order that depends only on the rows.

    `Tensor.index_add_` adds atomically on CUDA, in any order.
    """
    return total.index_put_((rows,), values, accumulate=True)


def scores(batch: Any, summands: Tensor, outputs: Tensor, constants: Tensor) -> Tensor:
    """Part scores, shape (parts,)."""
    flat = summands.new_zeros(int(batch.outs[-1]))
    for x in sentences(batch, summands):
        flat[x.part] = (hidden(x, summands)[x.anchor] * outputs[x.row]).sum(1) + constants[x.row]
    return flat


def slopes(
    batch: Any, summands: Tensor, outputs: Tensor, constants: Tensor, residuals: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """The slopes of r^T s by all three, given the residuals r."""
    by_summands, by_outputs, by_constants = (
        torch.zeros_like(one) for one in (summands, outputs, constants)
    )
    for x in sentences(batch, summands):
        h, amount = hidden(x, summands), residuals[x.part]
        add_rows(by_constants, x.row, amount)
        add_rows(by_outputs, x.row, amount[:, None] * h[x.anchor])
        dh = add_rows(torch.zeros_like(h), x.anchor, amount[:, None] * outputs[x.row]) * (h > 0)
        for role, (place, weight) in enumerate(((x.begin, 1), (x.end, 1), (x.split, x.divided))):
            add_rows(by_summands[:, role], place, dh * weight)
    return by_summands, by_outputs, by_constants
