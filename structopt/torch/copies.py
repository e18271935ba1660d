"""Copies of tensors as NumPy arrays, and back.

Kernels run on the CPU. Tensors of a GPU are copied through pinned memory on a stream of their own:
it waits for the caller's stream before it reads, and the caller's stream waits for the copies back.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from structopt.kernels.waist.record import Array


@cache
def _stream(device: torch.device) -> torch.cuda.Stream:
    """Return the stream for copies of a device."""
    return torch.cuda.Stream(device)


def to_arrays(tensors: Sequence[Tensor]) -> list[Array]:
    """Return the numbers of tensors of one device as arrays of float16, float32 or float64.

    Dimensions that a tensor repeats (`Tensor.expand`) are copied once.
    """
    kept = [_once(tensor.detach()) for tensor in tensors]
    if kept and kept[0].is_cuda:
        kept = _copied(kept)
    arrays = [one.numpy() for one in kept]
    return [np.broadcast_to(a, t.shape) for a, t in zip(arrays, tensors, strict=True)]


def _once(tensor: Tensor) -> Tensor:
    """Return a tensor with one element of each repeated dimension, in a type that NumPy has."""
    steps = zip(tensor.shape, tensor.stride(), strict=True)
    own = tensor[tuple(slice(0, 1) if not step and size else slice(None) for size, step in steps)]
    return own.float() if own.dtype == torch.bfloat16 else own


def _copied(tensors: list[Tensor]) -> list[Tensor]:
    """Return tensors of a GPU in pinned memory."""
    device = tensors[0].device
    stream = _stream(device)
    stream.wait_stream(torch.cuda.current_stream(device))
    copies = []
    with torch.cuda.stream(stream):
        for tensor in tensors:
            copy = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
            copies.append(copy.copy_(tensor, non_blocking=True))
            tensor.record_stream(stream)
    stream.synchronize()
    return copies


def array_type(dtype: torch.dtype) -> type[np.floating[Any]]:
    """Return the type of arrays that become tensors of a type without a conversion if NumPy has it,
    and float64 otherwise.
    """
    types: dict[torch.dtype, type[np.floating[Any]]] = {
        torch.float16: np.float16,
        torch.float32: np.float32,
    }
    return types.get(dtype, np.float64)


def to_tensors(arrays: Sequence[Array], like: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Return arrays as tensors of the types and the device of others. On the CPU, an array that
    owns its memory and has the type becomes the memory of its tensor.
    """
    if not like or not like[0].is_cuda:
        return tuple(
            torch.from_numpy(array if _can_be_given(array) else np.array(array, order="C")).to(
                tensor.dtype
            )
            for array, tensor in zip(arrays, like, strict=True)
        )
    found = [
        # converted on the CPU, into pinned memory: a copy of the type of the result
        torch.empty(array.shape, dtype=tensor.dtype, pin_memory=True).copy_(
            torch.from_numpy(np.ascontiguousarray(array))
        )
        for array, tensor in zip(arrays, like, strict=True)
    ]
    device = like[0].device
    stream, caller = _stream(device), torch.cuda.current_stream(device)
    with torch.cuda.stream(stream):
        copies = tuple(one.to(device, non_blocking=True) for one in found)
    caller.wait_stream(stream)
    for copy in copies:
        copy.record_stream(caller)
    return copies


def _can_be_given(array: Array) -> bool:
    """Whether no other array has the memory of an array."""
    return array.flags.owndata and array.flags.writeable and array.flags.c_contiguous
