"""The indices of the parts of an instance in vectors over its parts.

An instance of n tokens, with L labels and segments of at most M tokens, has n x L label parts, then
M x L segment parts (length by label), then L x L transition parts. The functions take integers or
integer arrays, and `structopt_segments.chain` compiles them for the kernels.
"""

from __future__ import annotations

from typing import Any


def label_part(L: Any, t: Any, y: Any) -> Any:
    """Return the part of label y at token t."""
    return t * L + y


def segment_part(L: Any, n: Any, length: Any, y: Any) -> Any:
    """Return the part of a segment of y that has `length` tokens."""
    return (n + length - 1) * L + y


def transition_part(L: Any, M: Any, n: Any, u: Any, y: Any) -> Any:
    """Return the part of a segment of y after a segment of u."""
    return (n + M + u) * L + y
