"""Lists of strings as arrays of bytes and offsets, so that vocabularies are saved and loaded at the
speed of arrays.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from structopt.core.data.saved_state import SavedState
from structopt.kernels.waist.record import Array


def pack_strings(strings: Iterable[str]) -> tuple[Array, Array]:
    """Return the UTF-8 bytes of all strings, uint8, and their offsets, int64, shape (strings +
    1,).
    """
    encoded = [string.encode("utf-8", "surrogatepass") for string in strings]
    offsets = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    return np.frombuffer(b"".join(encoded), dtype=np.uint8), offsets


def unpack_strings(packed: Array, offsets: Array) -> list[str]:
    """Return the strings that `pack_strings` packed."""
    data, bounds = packed.tobytes(), offsets.tolist()
    pairs = zip(bounds[:-1], bounds[1:], strict=True)
    if data.isascii():  # a byte is a character
        text = data.decode("ascii")
        return [text[begin:end] for begin, end in pairs]
    return [data[begin:end].decode("utf-8", "surrogatepass") for begin, end in pairs]


def restored_strings(state: SavedState, stem: str, distinct: bool = True) -> list[str]:
    """Return the strings that were saved in the arrays ``{stem}bytes`` and ``{stem}offsets``, as
    `pack_strings` packed them.

    Raises
    ------
    ModelError
        If the arrays do not belong together, are not UTF-8, or two strings are equal where they
        must be `distinct`.
    """
    packed = state.array(f"{stem}bytes", np.uint8)
    offsets = state.offsets(f"{stem}offsets", len(packed))
    try:
        strings = unpack_strings(packed, offsets)
    except UnicodeDecodeError:
        state.refuse_array(f"{stem}bytes", f"UTF-8 between any two of {stem}offsets")
    if distinct and len(set(strings)) < len(strings):
        state.refuse_array(f"{stem}bytes", "distinct strings")
    return strings
