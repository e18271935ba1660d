"""Fingerprints of training data, by which a checkpoint recognises the data that it belongs to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, is_dataclass
from hashlib import sha256
from typing import Any

import numpy as np

from structopt.formats import durable_files
from structopt.kernels.waist.record import Array


@dataclass(frozen=True)
class Fingerprint:
    """A digest of encoded data, and the sizes of what it consists of.

    Attributes
    ----------
    digest : str
        Of everything that the kernels read: features, graphs, targets and offsets; in hexadecimal.
    layout : mapping of name to int
        How many instances, variables, parts, numbers in messages, and weights there are.
    """

    digest: str
    layout: Mapping[str, int]

    def difference(self, other: Fingerprint) -> str:
        """Say how `other` differs, as ``instances: 60 then, 61 now``; the empty string where it
        does not.
        """
        keys = [
            key
            for key in {**self.layout, **other.layout}
            if self.layout.get(key) != other.layout.get(key)
        ]
        if keys:
            return "; ".join(
                f"{key}: {self.layout.get(key, 0)} then, {other.layout.get(key, 0)} now"
                for key in keys
            )
        return (
            ""
            if self.digest == other.digest
            else "as large as before, but with other contents or in another order"
        )


def arrays_in(value: Any) -> list[Array]:
    """All arrays that a value holds: in dataclasses, mappings and tuples, in their order."""
    if isinstance(value, np.ndarray):
        return [value]
    held = (
        vars(value).values()
        if is_dataclass(value)
        else value.values()
        if isinstance(value, Mapping)
        else ()
    )
    inside = value if isinstance(value, tuple) else held
    return [array for one in inside for array in arrays_in(one)]


def digest_of(arrays: Iterable[Array], values: Any = None) -> str:
    """Digest arrays, with their types and shapes, and a JSON value; O(bytes), without copies of
    contiguous arrays.
    """
    digest = sha256(durable_files.json_bytes(values))
    for array in arrays:
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()
