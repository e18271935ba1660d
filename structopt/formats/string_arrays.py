"""Lists of strings as arrays of bytes and offsets, so that vocabularies are saved and loaded at the
speed of arrays.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from structopt.core.data.saved_state import SavedState
from structopt.kernels.waist.record import Array

ASCII_BYTES = ("utf-8", "utf8", "latin-1")
"""Encodings in which a character of ASCII is a byte."""


def pack_strings(strings: Iterable[str], encoding: str = "utf-8") -> tuple[Array, Array]:
    """Return the bytes of all strings, uint8, and their offsets, int64, shape (strings + 1,)."""
    listed = list(strings)
    text = "".join(listed)
    if text.isascii() and encoding in ASCII_BYTES:
        data, lengths = text.encode("ascii"), map(len, listed)
    else:
        encoded = [string.encode(encoding, "surrogatepass") for string in listed]
        data, lengths = b"".join(encoded), map(len, encoded)
    offsets = np.cumsum([0, *lengths], dtype=np.int64)
    return np.frombuffer(data, dtype=np.uint8), offsets


def unpack_strings(packed: Array, offsets: Array, encoding: str = "utf-8") -> list[str]:
    """Return the strings that `pack_strings` packed."""
    data, bounds = packed.tobytes(), offsets.tolist()
    pairs = zip(bounds[:-1], bounds[1:], strict=True)
    if data.isascii() and encoding in ASCII_BYTES:
        text = data.decode("ascii")
        return [text[begin:end] for begin, end in pairs]
    return [data[begin:end].decode(encoding, "surrogatepass") for begin, end in pairs]


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
